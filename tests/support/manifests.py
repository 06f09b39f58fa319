"""Changes dataset.json, absurdly too, and seals it again with a right hash of its own (docs/manifest.md)."""

import ctypes
import ctypes.util
import json
import pathlib
import re
import struct

NUMBERS = (b"0", b"1", b"-1", b"2147483648", b"4294967296", b"9223372036854775808", b"18446744073709551615", b"1e308", b"99999999999999999999999")
TEXTS = (
    b'""', b'"../../x"', b'"/etc/passwd"', b'"\\u001b]0;pwn\\u0007"', b'"\\u202e"', b'"' + b"n" * 5000 + b'"', b'"npy"', b'"record"', b'"shard-000000.tfrecord"',
    b'".shale"', b'"dataset.json"', b'"\\u0000"',
)  # fmt: skip
OTHERS = (b"null", b"true", b"[]", b"{}", b"[[[[[[[[[[[[0]]]]]]]]]]]]", b"[" * 100_000, b'{"a":' * 100_000, b" " * 1_000_000 + b"0")
# A member of the top level has a blank before its value, others have none.
NUMBER, TEXT = re.compile(rb"(?:(?<=[:\[,])|(?<=: ))-?\d+"), re.compile(rb'(?:(?<=[:\[,])|(?<=: ))"[^"]*"')
BLOCK_BYTES = 1 << 20


class _Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


# The library that shale is linked to: the machines of CI have no Python package of it.
_xxh3_128 = ctypes.CDLL(ctypes.util.find_library("xxhash")).XXH3_128bits
_xxh3_128.restype, _xxh3_128.argtypes = _Hash128, (ctypes.c_char_p, ctypes.c_size_t)


def _hex_of(content):
    found = _xxh3_128(content, len(content))
    return b"%016x%016x" % (found.high, found.low)


def hash_of_file(content):
    """What a manifest has of a file of this content, up to a block (docs/index.md)."""
    assert len(content) <= BLOCK_BYTES
    return _hex_of(_hash(content))


def hash_of_path(path):
    """The same of a file of any size, which is not held in memory."""
    with open(path, "rb") as file:
        return _hex_of(b"".join(_hash(block) for block in iter(lambda: file.read(BLOCK_BYTES), b"")))


def sealed(text):
    """The manifest with the hash of all of its bytes but the hash's own digits."""
    head, tail = re.fullmatch(rb'(.*"hash": ")[0-9a-f]{32}("\n}\n)', text, re.DOTALL).groups()
    return head + _hex_of(head + tail) + tail


def edit_manifest(dataset, pattern, replacement):
    """Replaces what a pattern of bytes matches, which must be there, and seals the manifest."""
    path = pathlib.Path(dataset) / "dataset.json"
    text, count = re.subn(pattern, lambda match: match.expand(replacement), path.read_bytes())
    if count == 0:
        raise AssertionError(f"{path}: there is no {pattern}")
    path.write_bytes(sealed(text))


def _hash(content):
    found = _xxh3_128(content, len(content))
    return struct.pack(">QQ", found.high, found.low)


def reseal_shards(dataset):
    """Makes every block list and every hash of a shard's files that of the bytes as they are now."""
    dataset = pathlib.Path(dataset)
    text = (dataset / "dataset.json").read_bytes()
    for shard in json.loads(text)["shards"]:
        blocks = {}
        for file in shard["files"] + [shard["index"]]:
            content = (dataset / file["name"]).read_bytes()
            blocks[file["name"]] = [_hash(content[at : at + BLOCK_BYTES]) for at in range(0, len(content), BLOCK_BYTES)]
        listed = b"".join(hash_ for file in shard["files"] for hash_ in blocks[file["name"]])
        path = dataset / shard["blocks"]["name"]
        path.write_bytes(path.read_bytes()[: -len(listed)] + listed)
        blocks[path.name] = [_hash(path.read_bytes())]
        for file in shard["files"] + [shard["index"], shard["blocks"]]:
            text = text.replace(file["xxh3_128"].encode(), _hash(b"".join(blocks[file["name"]])).hex().encode())
    (dataset / "dataset.json").write_bytes(sealed(text))
