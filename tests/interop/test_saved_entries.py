"""convert --on-error skip of damaged LMDB files that py-lmdb wrote: whatever page is lost, what comes out is as it was written, under its own key."""

import csv
import pickle
import random
import zlib

import numpy as np
import pytest
import shale
from conftest import run_shale
from lmdb_files import write_lmdb

PAGE = 4096
SKIP = ("--on-error", "skip", "--max-errors", "100%", "--quiet")


def entries(pack):
    dice = random.Random(3)
    return {b"k%05d" % n: pack(n, dice.randbytes(dice.choice((5, 200, 1500, 3000)))) for n in range(150)}


def listed(out):
    return list(csv.reader((out / "skipped.csv").read_text().splitlines()))[1:]


@pytest.mark.parametrize("is_packed", [False, True])
def test_all_entries_of_pages_that_are_whole_come_out(tmp_path, is_packed):
    def pack(number, content):
        return zlib.compress(pickle.dumps({"x": np.arange(number), "b": content})) if is_packed else content

    path, bad, whole = tmp_path / "a.lmdb", tmp_path / "bad.lmdb", tmp_path / "whole"
    written = entries(pack)
    write_lmdb(path, written)
    run_shale("convert", path, whole, "--to", "record", "--quiet")
    fields = "xb" if is_packed else ["value"]

    def samples(out):
        keys = run_shale("ls", out, "--keys", "escaped").stdout.split()
        with shale.Dataset(out) as dataset:
            return {key: [bytes(dataset[row][field]) for field in fields] for row, key in enumerate(keys)}

    everything = samples(whole)
    content = path.read_bytes()
    assert len(everything) == len(written)
    for page in random.Random(5).sample(range(2, len(content) // PAGE), 12):
        if content[page * PAGE + 10] & 1:
            continue  # a branch page: what is below it cannot be reached
        bad.write_bytes(content[: page * PAGE] + bytes(PAGE) + content[(page + 1) * PAGE :])
        out = tmp_path / f"out-{page}"
        done = run_shale("convert", bad, out, "--to", "record", *SKIP, code=(0, 4))
        if done.returncode == 0:
            continue  # a page that is free
        found = samples(out)
        assert found == {key: everything[key] for key in found}
        assert len(found) > len(everything) - 60
        assert listed(out)
