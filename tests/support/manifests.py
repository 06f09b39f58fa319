"""Changes dataset.json and seals it again with a right hash of its own (docs/manifest.md)."""

import ctypes
import ctypes.util
import pathlib
import re


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
    assert len(content) <= 1 << 20
    return _hex_of(bytes.fromhex(_hex_of(content).decode()))


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
