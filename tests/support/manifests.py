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


def sealed(text):
    """The manifest with the hash of all of its bytes but the hash's own digits."""
    head, tail = re.fullmatch(rb'(.*"hash": ")[0-9a-f]{32}("\n}\n)', text, re.DOTALL).groups()
    found = _xxh3_128(head + tail, len(head + tail))
    return head + b"%016x%016x" % (found.high, found.low) + tail


def edit_manifest(dataset, pattern, replacement):
    """Replaces what a pattern of bytes matches, which must be there, and seals the manifest."""
    path = pathlib.Path(dataset) / "dataset.json"
    text, count = re.subn(pattern, lambda match: match.expand(replacement), path.read_bytes())
    if count == 0:
        raise AssertionError(f"{path}: there is no {pattern}")
    path.write_bytes(sealed(text))
