"""What a dataset is read from: one path, several files that are one set, or inputs with names that are joined."""

from __future__ import annotations

import os
from typing import Any, List, Mapping, Optional, Tuple

from shale._arguments import inputs, one_of, path_bytes, path_list
from shale.errors import UsageError


class JoinedPath(str):
    """Inputs with names: how they are shown, and what opens them."""

    words: Tuple[bytes, ...]  # b"x=/data/x.h5"
    on: Optional[str]
    partners: Optional[str]


def place_of(given: Any, on: Optional[str] = None, partners: Optional[str] = None) -> str:
    """The path, or the one word, that stands for what is given, absolute. Errors: UsageError."""
    if isinstance(given, JoinedPath):
        return given
    if not isinstance(given, Mapping):
        for name, value in (("on", on), ("partners", partners)):
            if value is not None:
                raise UsageError(f"{name} is for inputs that are joined, which a mapping names: {{'x': 'x.h5', 'y': 'y.h5'}}")
        if not isinstance(given, (list, tuple)):
            return os.fsdecode(_absolute(path_bytes(given, "path")))
        return os.fsdecode(_word_of([_absolute(path) for path in path_list(given, "path")]))
    words = [name + b"=" + _absolute(path) for name, _, path in (word.partition(b"=") for word in inputs(given, "path"))]
    if len(words) < 2:
        raise UsageError("path names one input, expected two or more that are joined")
    one_of(on, "on", (None, "row", "key"))
    one_of(partners, "partners", (None, "all", "any"))
    shown = " ".join([*map(os.fsdecode, words), *(f"--{name} {value}" for name, value in (("on", on), ("partners", partners)) if value)])
    path = JoinedPath(shown)
    path.words, path.on, path.partners = tuple(words), on, partners
    return path


def words_of_place(place: str) -> List[bytes]:
    """As the program takes them."""
    return list(place.words) if isinstance(place, JoinedPath) else [os.fsencode(place)]


def _absolute(path: bytes) -> bytes:
    """`@files.txt` is a list of files, and `{/a.h5,/b.h5}` a pattern of absolute paths, unless there is a file of that name."""
    if path.startswith(b"{/") and not os.path.lexists(path):
        return path
    if path.startswith(b"@") and not os.path.lexists(path):
        return b"@" + os.path.abspath(path[1:])
    return os.path.abspath(path)


def _word_of(paths: List[bytes]) -> bytes:
    """A pattern that names each."""
    if not paths:
        raise UsageError("path is empty, expected files")
    if len(paths) == 1:
        return paths[0]
    for path in paths:
        if not {b",", b"{", b"}"}.isdisjoint(path[i : i + 1] for i in range(len(path))):
            raise UsageError(
                f"{os.fsdecode(path)} has a comma or a brace in its name, and is one of several files; list them in a text file, and pass '@files.txt'"
            )
    return b"{" + b",".join(paths) + b"}"
