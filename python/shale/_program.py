"""What the commands of the program have in common as functions."""

from __future__ import annotations

import os
import re
from typing import Any, Iterator

from shale.errors import Error

# Arguments that are called otherwise than the options.
_OPTIONS = {"parts": "part"}
_ARGUMENTS = {option: argument for argument, option in _OPTIONS.items()}


class Translation:
    """Messages of the program, with its options as the arguments are called; paths stay as they are.

    Args:
        words: the arguments of the call, by name.
    """

    def __init__(self, words: dict) -> None:
        # Of a column, "x=a.npy", messages name the file alone.
        paths = {os.fsdecode(part) for path in _all_bytes(words) for part in (path, path.partition(b"=")[2]) if part}
        longest_first = sorted(paths, key=len, reverse=True)
        self._paths = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")")
        options = "|".join(_OPTIONS.get(name, name).replace("_", "-") for name in words)
        self._option = re.compile(rf"(?<![^\s(])--({options})(?![\w./-])")

    def __call__(self, message: str) -> str:
        parts = self._paths.split(message)
        parts[::2] = [self._option.sub(lambda match: _ARGUMENTS.get(match[1], match[1].replace("-", "_")), part) for part in parts[::2]]
        return "".join(parts)

    def apply_to(self, error: Error) -> None:
        error.args = (self(str(error.args[0])),)
        error.hint = None if error.hint is None else self(error.hint)


def is_of_the_program(error: Error) -> bool:
    """False for an error that Python code raised, such as a callback: it has frames below the one that caught it."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is None


def _all_bytes(value: Any) -> Iterator[bytes]:
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _all_bytes(part)
