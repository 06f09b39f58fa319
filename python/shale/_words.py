"""Calls as command lines: the program's own parser reads what the functions of this package are asked for."""

from __future__ import annotations

import json
import operator
import os
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np

from shale import _shale
from shale._arguments import (
    field_names,
    flag,
    image_rules,
    inputs,
    is_bool,
    number_text,
    part_text,
    path_bytes,
    split_words,
    text,
    whole_number,
)
from shale.errors import Error, UsageError

Progress = Optional[Callable[[int, int], Any]]


class Option(NamedTuple):
    """A row of the program's table of options (tools/option_table.cpp)."""

    name: str
    argument: str  #: what it is called here
    value: str  #: what its help calls the value: "SIZE", "skip|keep"; "": it is a flag


_OPTIONS: Dict[str, Tuple[Option, ...]] = {}


def options_of(command: str) -> Tuple[Option, ...]:
    if command not in _OPTIONS:
        _OPTIONS[command] = tuple(Option(*row) for row in _shale.options(command))
    return _OPTIONS[command]


def choices(command: str, argument: str) -> Tuple[str, ...]:
    """The words that an option takes."""
    return next(tuple(option.value.split("|")) for option in options_of(command) if option.argument == argument)


# --- values


def _number(value: Any, name: str) -> str:
    return str(whole_number(value, name))


def _sample_count(value: Any, name: str) -> str:
    if value != "all" and (isinstance(value, str) or is_bool(value) or not hasattr(value, "__index__") or operator.index(value) < 1):
        raise UsageError(f"{name} is {value!r}, expected a number of at least 1, or 'all'")
    return value if value == "all" else _number(value, name)


def _joined(value: Any, name: str) -> str:
    return ",".join(field_names(value, name))


def _escaped(piece: Union[str, bytes], delimiter: str) -> Any:
    """A piece of a list as the program reads it: after a backslash a delimiter belongs to the piece."""
    if isinstance(piece, bytes):
        return re.sub(rb"[\\" + delimiter.encode() + rb"]", rb"\\\g<0>", piece)
    return re.sub(rf"[\\{delimiter}]", r"\\\g<0>", piece)


def _fields(value: Any, name: str) -> str:
    names = field_names(value, name)
    if not names or "" in names:
        raise UsageError(f"{name} {'names a field that is empty' if names else 'is empty'}, expected names of fields")
    return ",".join(_escaped(field, ",") for field in names)


def _renamed(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping) or not value:
        raise UsageError(f"{name} is {value!r}, expected a mapping of names to new names")
    pairs = [(text(old, f"a name in {name}"), text(new, f"a new name in {name}")) for old, new in value.items()]
    return ",".join(_escaped(old, ",:") + ":" + _escaped(new, ",:") for old, new in pairs)


def _cast(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping) or not value:
        raise UsageError(f"{name} is {value!r}, expected a mapping of fields to dtypes")

    def named(dtype: Any) -> str:
        if isinstance(dtype, str):
            return dtype
        try:
            return str(np.dtype(dtype).name)
        except TypeError:
            return str(dtype)  # "torch.float32"

    return ",".join(_escaped(text(field, f"a field in {name}"), ",:") + ":" + _escaped(named(dtype), ",:") for field, dtype in value.items())


def axes_text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping) or not value:
        raise UsageError(f"{name} is {value!r}, expected a mapping of names to axes")
    return ",".join(f"{text(array, f'a name in {name}')}={operator.index(axis)}" for array, axis in value.items())


def raw_arguments(raw: Any, offset: Optional[int]) -> Tuple[Optional[str], Optional[int]]:
    if raw is None and offset is not None:
        raise UsageError("raw_offset has no effect without raw")
    return None if raw is None else raw_text(raw, "raw"), offset


def raw_text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    try:
        return str(np.dtype(value).str).lstrip("|")
    except TypeError as error:
        raise UsageError(f"{name} is {value!r}, expected a numpy dtype, or text such as 'uint16,400'") from error


def _pairs(value: Any, name: str) -> List[bytes]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} is {value!r}, expected a mapping of sources to outputs")
    pairs = [(path_bytes(source, f"a source in {name}"), path_bytes(output, f"an output in {name}")) for source, output in value.items()]
    return [_escaped(source, "=") + b"=" + output for source, output in pairs]


# By what the help calls a value: what Python has otherwise than as one string.
_VALUES: Dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("N", "K", "BYTES"), _number),
    **dict.fromkeys(("FILE", "DIR", "DATASET|FILE", "FILE.html", "FILE.npy", "OUT.npy"), path_bytes),
    **dict.fromkeys(("SOURCE", "COPY|SOURCE"), inputs),
    **dict.fromkeys(("[FIELD:]SIZE", "[FIELD:]center=WxH", "[FIELD:]keep|jpeg|png|raw", "[FIELD:]N", "[FIELD:]rgb|gray|keep"), image_rules),
    **dict.fromkeys(("SUFFIX,...", "FIELD,...", "NAME,...", "wids,dali,energon"), _joined),
    "A,B": _fields,
    "OLD:NEW,...": _renamed,
    "FIELD:DTYPE,...": _cast,
    "NAME=AXIS,...": axes_text,
    "DTYPE[,N...]": raw_text,
    "I/N|slurm|slurm/N|mpi": part_text,
    "N|all": _sample_count,
    "NAME=SHARE,...|FILE": split_words,
    **dict.fromkeys(("N|P%", "SIZE", "keep|8|16"), number_text),
    "SRC.npy=OUT.npy": _pairs,
}


def words_of(command: str, operands: Iterable[bytes], arguments: Mapping[str, Any]) -> List[bytes]:
    """The command line that a call stands for. `arguments`: by name; what is None, or not there, was not given. Errors: UsageError."""
    words = [command.encode()]
    for option in options_of(command):
        value = arguments.get(option.argument)
        option_word = b"--" + option.name.encode()
        if not option.value:
            words += [option_word] if option.argument in arguments and flag(value, option.argument) else []
        elif value is not None:
            found = _VALUES.get(option.value, text)(value, option.argument)
            for one in found if isinstance(found, list) else [found]:
                if not one:
                    raise UsageError(f"{option.argument} is empty")
                words.append(option_word + b"=" + (one.encode() if isinstance(one, str) else one))
    return [*words, b"--", *operands]


# --- running


class Translation:
    """Messages of the program, with its options as the arguments are called; paths stay as they are.

    Args:
        words: a command line.
    """

    def __init__(self, words: Iterable[bytes]) -> None:
        command, *rest = words
        self._arguments = {option.name: option.argument for option in options_of(command.decode())}
        self._option = re.compile(rf"(?<![^\s(])--({'|'.join(self._arguments)})(?![\w./-])")
        # Of a column, "x=a.npy", messages name the file alone. Only what looks like an option has to be kept from becoming one.
        values = (re.sub(rb"^--[a-z-]*(=|$)", b"", word) for word in rest)
        paths = {os.fsdecode(tail) for value in values for tail in _tails(value) if b"--" in tail}
        longest_first = sorted(paths, key=len, reverse=True)
        self._paths = re.compile("(" + ("|".join(map(re.escape, longest_first)) or "$.") + ")")

    def __call__(self, message: str) -> str:
        parts = self._paths.split(message)
        parts[::2] = [self._option.sub(lambda match: self._arguments[match[1]], part) for part in parts[::2]]
        return "".join(parts).replace("run the command that was writing it again", "run the program that was writing it again")

    def apply_to(self, error: Error) -> None:
        error.args = (self(str(error.args[0])),)
        error.hint = None if error.hint is None else self(error.hint)


def _tails(word: bytes) -> Iterable[bytes]:
    """`word`, and what follows each "=" in it."""
    while word:
        yield word
        word = word.partition(b"=")[2]


def call(function: Callable, words: List[bytes], *arguments: Any) -> Any:
    """Calls a function below; its errors are in the words of Python."""
    try:
        return function(words, *arguments)
    except Error as error:
        # One that Python code raised, such as a callback, has frames below this one.
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            Translation(words).apply_to(error)
        raise


def run(command: str, operands: Iterable[bytes], arguments: Mapping[str, Any], progress: Progress = None) -> Tuple[Dict[str, Any], Tuple[str, ...]]:
    """Runs a command. Returns what it prints with ``--json``, and its notes."""
    words = words_of(command, operands, arguments)
    printed, notes = call(_shale.run, words, callback(progress))
    return json.loads(printed), tuple(map(Translation(words), notes))


def callback(progress: Progress) -> Progress:
    if progress is not None and not callable(progress):
        raise UsageError(f"progress is {progress!r}, expected a function of (done, total)")
    return progress
