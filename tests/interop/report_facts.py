"""What the tests of `shale report` share: its facts, and parts of them."""

import json

from conftest import run_shale


def facts_of(dataset, *words, code=0):
    return json.loads(run_shale("report", dataset, "--json", *words, code=code).stdout)


def field(facts, name):
    return next(one for one in facts["fields"] if one["name"] == name)


def sheets(facts, kind):
    return [sheet for sheet in facts["sheets"] if sheet["kind"] == kind]


def flip(path, offset):
    content = bytearray(path.read_bytes())
    content[offset] ^= 0x40
    path.write_bytes(content)
