"""Arguments that several functions take, checked."""

from __future__ import annotations

import operator
import os
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from shale import _shale
from shale.errors import UsageError

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Paths = Union[Path, Sequence[Path]]
Parts = Union[None, str, Tuple[int, int]]
Split = Union[None, Path, Sequence[Path], Mapping[str, Union[float, Path]]]


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


def field_names(value: Any, argument: str = "fields") -> List[str]:
    """Names of fields, or one alone. Errors: UsageError."""
    try:
        names = [value] if isinstance(value, str) else list(value)
    except TypeError:
        raise UsageError(f"{argument} is {value!r}, expected names of fields") from None
    for place, name in enumerate(names):
        text(name, f"a name in {argument}")
        if name in names[:place]:
            raise UsageError(f"{argument} names {name!r} twice")
    return names


def path_list(value: Any, name: str) -> List[bytes]:
    """One path, or several. Errors: UsageError."""
    if is_path(value):
        return [path_bytes(value, name)]
    try:
        paths = list(value)
    except TypeError:
        raise UsageError(f"{name} is {value!r}, expected a path, or a list or mapping of paths") from None
    if not paths:
        raise UsageError(f"{name} is empty, expected a path")
    return [path_bytes(path, name) for path in paths]


def split_words(value: Any, name: str) -> List[bytes]:
    """The lists of a split as the program takes them: ``train=0.7`` or ``train=path`` for each of a mapping. Errors: UsageError."""
    if not isinstance(value, Mapping):
        return path_list(value, name)
    words = []
    for key, each in value.items():
        is_share = isinstance(each, (int, float)) and not is_bool(each)
        shown = repr(float(each)).encode() if is_share else path_bytes(each, f"{name}[{key!r}]")
        words.append(text(key, f"a key of {name}").encode() + b"=" + shown)
    if not words:
        raise UsageError(f"{name} is empty, expected names of lists")
    return words


def inputs(value: Any, name: str) -> List[bytes]:
    """Inputs as the program takes them: paths, or ``column=path`` for each path of a mapping. Errors: UsageError."""
    if not isinstance(value, Mapping):
        return path_list(value, name)
    if not value:
        raise UsageError(f"{name} is empty, expected columns")
    words = []
    for column, paths in value.items():
        if not text(column, f"a column of {name}") or "=" in column:
            raise UsageError(f"{name} names a column {column!r}, expected a name without '='")
        words += [os.fsencode(column) + b"=" + path for path in path_list(paths, f"column {column!r}")]
    return words


def is_bool(value: Any) -> bool:
    """Whether it is True or False, also NumPy's or torch's."""
    return isinstance(value, bool) or str(getattr(value, "dtype", "")) in ("bool", "torch.bool")


def whole_number(value: Any, name: str, least: int = 0, most: int = 2**64 - 1) -> Optional[int]:
    """A number in these bounds, or None. Errors: UsageError, also for True and False: they are numbers to Python, and never what was meant."""
    if value is None:
        return None
    try:
        if is_bool(value):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise UsageError(f"{name} is {value!r}, expected a whole number") from None
    if not least <= number <= most:
        raise UsageError(f"{name} is {number}, expected at {f'least {least}' if number < least else f'most {most}'}")
    return number


def number_text(value: Any, name: str) -> str:
    """A number as the program takes it, or a string such as ``"64MiB"`` or ``"1%"``. Errors: UsageError."""
    return text(value, name) if isinstance(value, str) else str(whole_number(value, name))


def bytes_of(value: Any, name: str) -> int:
    """A size of at least a byte: a number of bytes, or a string as the program takes it, such as ``"64MiB"``. Errors: UsageError."""
    size = _shale.parse_size(text(value, name), name) if isinstance(value, str) else whole_number(value, name)
    if not size:
        raise UsageError(f"{name} is {value!r}, expected at least one byte")
    return size


def part_text(value: Any, name: str) -> str:
    """A part as the program takes it: ``(index, count)``, or a string such as ``"slurm"``. Errors: UsageError."""
    if isinstance(value, str):
        return text(value, name)
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise UsageError(f"{name} is {value!r}, expected a pair (index, count), 'slurm', 'slurm/N' or 'mpi'")
    return "/".join(str(whole_number(number, name) if number is not None else number) for number in value)


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


# Values of an option of image work: for all image fields, or by field.
ImageRules = Union[None, str, int, List[str], Tuple[str, ...], Mapping[str, Union[str, int]]]


def image_rules(value: Any, name: str) -> List[str]:
    if isinstance(value, Mapping):
        return [f"{text(field, name)}:{_rule(rule, name)}" for field, rule in value.items()]
    if isinstance(value, (list, tuple)):
        return [text(rule, name) for rule in value]
    return [_rule(value, name)]


def _rule(value: Union[str, int], name: str) -> str:
    return str(value) if isinstance(value, int) and not is_bool(value) else text(value, name)
