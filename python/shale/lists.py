"""Lists in samples, such as the frames of a video: elements that are chosen before they are read, and lists that read later."""

from __future__ import annotations

import functools
import operator
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable, Iterable, List, Mapping, Optional, Tuple, Union

from shale._arguments import field_names, is_bool, one_of
from shale._decoding import decode_element, decode_list
from shale.errors import MismatchError, UnsupportedError, UsageError
from shale.order import at_least_one
from shale.value_file import Origin, reopened

Choose = Callable[[int, Any], Iterable[int]]
Select = Mapping[Union[str, Tuple[str, ...]], Choose]

_ELEMENTS_AT_ONCE = 64


@dataclass(frozen=True)
class Clip:
    """What ``clip`` returns: ``choose(count, rng)`` is a list of ``length`` indices below ``count``."""

    length: int
    stride: int
    short: str
    start: str

    def __call__(self, count: int, rng: Any) -> List[int]:
        span = (self.length - 1) * self.stride + 1
        if count >= span:
            left = count - span
            begin = rng.randrange(left + 1) if self.start == "random" else left // 2 if self.start == "center" else 0
            return list(range(begin, begin + span, self.stride))
        if count == 0 or self.short == "error":
            raise ValueError(f"{count} elements, and a clip of {self.length} with stride {self.stride} takes {span}")
        numbers = range(0, span, self.stride)
        return [number % count for number in numbers] if self.short == "wrap" else [min(number, count - 1) for number in numbers]


def clip(length: int, stride: int = 1, short: str = "repeat_last", start: str = "random") -> Clip:
    """Chooses a clip of a video for ``Dataset(select=...)``: ``length`` frames, every ``stride``-th.

    Args:
        length: frames of the clip.
        stride: from one frame to the next.
        short: what a video with fewer frames than the clip spans becomes. ``"repeat_last"``: its last frame is repeated.
            ``"wrap"``: it begins again. ``"error"``: ContentError, naming the sample. A video without frames always is an error.
        start: where the clip begins: at ``"random"``, with the ``"first"`` frame, or so that it lies in the ``"center"``.

    Raises:
        shale.errors.UsageError: an argument is invalid.
    """
    short = one_of(short, "short", ("repeat_last", "wrap", "error"))
    return Clip(at_least_one(length, "length"), at_least_one(stride, "stride"), short, one_of(start, "start", ("random", "first", "center")))


class LazyList(Sequence):
    """A list of a sample whose elements are read when they are asked for: what ``Dataset(lazy=["frames"])`` puts into samples.

    ``frames[7]`` is one element, ``frames[2:20:3]`` and ``frames[[7, 1]]`` are several, as ``get_frames_at`` returns them, read
    in one go. ``len(frames)`` reads nothing. It pickles to the arguments of its dataset and the row.
    """

    def __init__(self, dataset: Origin, row: int, field: str, way: Optional[str], count: int) -> None:
        self._dataset, self._row, self._field, self._way, self._count = dataset, row, field, way, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        """One element, or with a slice or a sequence of numbers several.

        Raises:
            IndexError: there is no such element.
        """
        if isinstance(index, slice):
            return self.get_frames_at(range(*index.indices(self._count)))
        if hasattr(index, "__index__") and not getattr(index, "shape", ()):
            return self._read([index], lambda elements: decode_element(self._way, elements[0]))
        return self.get_frames_at(index)

    def get_frames_at(self, indices: Iterable[int]) -> Any:
        """These elements, in this order: a list of ``bytes`` or ``str``, or what ``decode`` makes of it: an array (T, H, W, 3), a tensor (T, 3, H, W) ...

        Raises:
            IndexError: there is no such element.
            shale.errors.ContentError: an image does not decode, or they differ in size.
        """
        return self._read(indices, lambda elements: decode_list(self._way, elements))

    def _read(self, indices: Iterable[int], finish: Callable[[List[bytes]], Any]) -> Any:
        numbers = checked_numbers(indices, self._count)
        elements = self._dataset._reader().elements([(self._row, self._field, numbers)])[0]
        return self._dataset._finished(self._row, self._field, finish, elements)

    def __iter__(self) -> Any:
        for begin in range(0, self._count, _ELEMENTS_AT_ONCE):
            run = range(begin, min(begin + _ELEMENTS_AT_ONCE, self._count))
            yield from self._read(run, lambda elements: [decode_element(self._way, element) for element in elements])

    def __repr__(self) -> str:
        return f"<shale.LazyList: field {self._field!r} of sample {self._row} of {self._dataset.path}, {self._count} elements>"

    def __reduce__(self) -> Tuple:
        dataset = self._dataset
        return _reopen, (dataset._opener(), self._row, self._field, self._way, self._count, dataset._reader().key(self._row))


def _reopen(opener: tuple, row: int, field: str, way: Optional[str], count: int, key: str) -> LazyList:
    dataset = reopened(*opener)
    reader = dataset._reader()
    if row >= len(reader) or reader.key(row) != key or reader.counts([row], field) != [count]:
        raise MismatchError(f"{dataset.path}: sample {row} is another one than the list was made of")
    return LazyList(dataset, row, field, way, count)


class Chosen:
    """Which lists of a dataset are not read as they are: their names, and who says which elements are."""

    def __init__(self, lazy: Any, select: Optional[Select]) -> None:
        self.lazy = [] if lazy is None else field_names(lazy, "lazy")
        self.groups: List[Tuple[Tuple[str, ...], Choose]] = []
        if select is not None and not isinstance(select, Mapping):
            raise UsageError(f"select is {select!r}, expected a mapping of names of fields to functions")
        for names, choose in (select or {}).items():
            if not callable(choose):
                raise UsageError(f"select[{names!r}] is {choose!r}, expected a function of a count and a random number generator")
            self.groups.append((tuple(field_names(names, "select")), choose))
        self.selected = [name for names, _ in self.groups for name in names]
        for place, name in enumerate(self.selected):
            if name in self.selected[:place] or name in self.lazy:
                raise UsageError(f"{name!r} is named twice among lazy and select")

    @property
    def names(self) -> List[str]:
        return [*self.lazy, *self.selected]

    def check(self, kinds: Mapping[str, str], fields: Sequence) -> None:
        for name in self.names:
            if name not in fields or kinds.get(name) != "list":
                raise UsageError(f"{name!r} is not a field of kind list that is read")


def checked_numbers(indices: Any, count: int) -> List[int]:
    """Numbers below ``count``; negative ones count from the end, and of a mask they are the places that are true. Errors: UsageError, IndexError."""
    if isinstance(indices, slice):
        return list(range(*indices.indices(count)))
    try:
        given = list(indices)
        are_flags = list(map(is_bool, given))
        if given and all(are_flags):
            if len(given) != count:
                raise UsageError(f"a mask of {len(given)} elements for a list of {count}")
            return [number for number, flag in enumerate(given) if flag]
        if any(are_flags):
            raise TypeError
        numbers = [operator.index(index) for index in given]
    except TypeError:
        raise UsageError(f"elements are {indices!r}, expected whole numbers") from None
    for number in numbers:
        if not -count <= number < count:
            raise IndexError(f"element {number} of a list of {count}")
    return [number + count if number < 0 else number for number in numbers]


def read_chosen(dataset: Origin, chosen: Chosen, rows: List[int], samples: List[dict], ways: Mapping, given: Optional[Mapping] = None) -> None:
    """Fills the lists of `samples` in: all elements that are wanted are read at once. `given`: elements of fields, for all rows."""
    reader = dataset._reader()
    for name in chosen.lazy:
        if given and name in given:
            continue
        for row, sample, count in zip(rows, samples, reader.counts(rows, name)):
            sample[name] = None if count is None else LazyList(dataset, row, name, ways.get(name), count)
    requests: List[Tuple[int, str, List[int]]] = []
    places: List[dict] = []
    given = given or {}
    left = [(tuple(name for name in names if name not in given), choose) for names, choose in chosen.groups]
    groups: List[Tuple[Tuple[str, ...], Any]] = [(names, choose) for names, choose in left if names]
    groups += [((name,), numbers) for name, numbers in given.items()]
    for names, choose in groups:
        for row, sample, *found in zip(rows, samples, *(reader.counts(rows, name) for name in names)):
            there = [count for count in found if count is not None]
            if len(there) < len(names):
                sample.update(dict.fromkeys(names))
                continue
            numbers = _numbers(dataset, row, names[0], choose, min(there))
            requests += [(row, name, numbers) for name in names]
            places += [sample] * len(names)
    for (row, name, _), sample, elements in zip(requests, places, reader.elements(requests)):
        sample[name] = dataset._finished(row, name, functools.partial(decode_list, ways.get(name)), elements)


def _numbers(dataset: Origin, row: int, name: str, choose: Any, count: int) -> List[int]:
    if not callable(choose):
        return checked_numbers(choose, count)
    try:
        return checked_numbers(choose(count, random), count)
    except UnsupportedError:
        raise
    except Exception as error:
        raise dataset._content_error(row, name, error, "cannot be chosen from") from error
