"""Arguments that several functions take, checked."""

from __future__ import annotations

import os
from typing import Any, List, Optional, Sequence

from shale.errors import UsageError


def is_path(value: Any) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))


def path_bytes(value: Any, name: str) -> bytes:
    """A path as the system takes it. Errors: UsageError."""
    if not is_path(value):
        raise UsageError(f"{name} is {value!r}, expected a path")
    try:
        path = os.fsencode(value)
    except UnicodeEncodeError:
        raise UsageError(f"{name} is {value!r}, which cannot be the name of a file") from None
    if not path or b"\0" in path:
        raise UsageError(f"{name} is {'empty' if not path else repr(value)}, expected a path")
    return path


def text(value: Any, name: str) -> str:
    """A string that can be written as UTF-8. Errors: UsageError."""
    if not isinstance(value, str):
        raise UsageError(f"{name} is {value!r}, expected a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name} is {value!r}, which is not valid Unicode") from None
    return value


def field_names(value: Any) -> List[str]:
    """Names of fields, or one alone. Errors: UsageError."""
    try:
        names = [value] if isinstance(value, str) else list(value)
    except TypeError:
        raise UsageError(f"fields is {value!r}, expected names of fields") from None
    for place, name in enumerate(names):
        text(name, "a name in fields")
        if name in names[:place]:
            raise UsageError(f"fields names {name!r} twice")
    return names


def flag(value: Any, name: str) -> bool:
    """True or False, also numpy's. Errors: UsageError for other values, even if they convert to bool."""
    is_numpy_bool = getattr(getattr(value, "dtype", None), "kind", None) == "b" and value.ndim == 0
    if isinstance(value, bool) or is_numpy_bool:
        return bool(value)
    raise UsageError(f"{name} is {value!r}, expected True or False")


def one_of(value: Any, name: str, choices: Sequence[Optional[str]]) -> Any:
    """One of a few words, or None where that is a choice. Errors: UsageError."""
    if (value is None or isinstance(value, str)) and value in choices:
        return value
    *most, last = map(repr, choices)
    raise UsageError(f"{name} is {value!r}, expected {', '.join(most)} or {last}")
