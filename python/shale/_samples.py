"""What the datasets have in common: `ds[i]`, `ds.__getitems__(indices)`, iteration and `ds + ds`, also in subclasses."""

from __future__ import annotations

import copyreg
from typing import Any, Callable, Iterable, Iterator, Mapping

from shale.errors import UsageError


class SampleSequence:
    """Samples by number, many at a time.

    A subclass may override ``__getitem__``, as with any map-style dataset: DataLoader, Subset and iteration then call it for each
    sample. One that overrides ``__getitems__`` changes ``ds[i]`` too. If it overrides both, both are used as they are.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        # Whichever of the two is overridden later stands for both.
        names = ("__getitem__", "__getitems__")
        one, many = (next(place for place, base in enumerate(cls.__mro__) if name in vars(base)) for name in names)
        if one < many:
            setattr(cls, "__getitems__", _each_by(cls.__getitem__))
        elif many < one and callable(cls.__getitems__):
            setattr(cls, "__getitem__", _one_or_many_by(cls.__getitems__))

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, index: Any) -> Any:
        """The sample of a row; a negative one counts from the end.

        A slice, a sequence of rows or a boolean mask of ``len(self)`` elements returns a list of samples, which are all read
        at once; ``indices=`` makes a dataset of fewer samples without reading any.

        Raises:
            IndexError: there is no such row.
        """
        return self._at(index, self._read)

    def _at(self, index: Any, read: Callable[[Iterable[int]], list]) -> Any:
        if isinstance(index, slice):
            return read(range(*index.indices(len(self))))
        if hasattr(index, "__index__") and not getattr(index, "shape", ()):
            return read([index])[0]
        if isinstance(index, (str, bytes, Mapping)) or not hasattr(index, "__len__"):
            raise TypeError(f"sample {index!r}: expected a row, a slice, or rows")
        return read(rows_of(index, len(self)))

    def __getitems__(self, indices: Iterable[int]) -> list:
        """Samples in the order of ``indices``. They are read in the order of the dataset, many at a time.

        Raises:
            IndexError: an index from ``len(self)`` on, or below ``-len(self)``.
            shale.errors.DamagedError: with file, offset, shard, sample and key as attributes.
        """
        return self._read(indices)

    def _read(self, indices: Iterable[int]) -> list:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        """Every sample in order, read in batches."""
        size = len(self)
        cls = type(self)
        read = cls.__getitems__ if callable(cls.__getitems__) else _each_by(cls.__getitem__)
        for begin in range(0, size, 64):
            yield from read(self, range(begin, min(begin + 64, size)))

    def __add__(self, other: Any) -> Any:
        """Both, one after the other: a torch.utils.data.ConcatDataset, as for any torch dataset."""
        try:
            from torch.utils.data import ConcatDataset
        except ImportError:
            return NotImplemented
        both: Any = [self, other]
        return ConcatDataset(both)

    def _slots(self) -> dict:
        """Values of the slots that a subclass has declared, for pickles."""
        names = copyreg._slotnames(type(self))  # type: ignore[attr-defined]
        return {name: getattr(self, name) for name in names if hasattr(self, name)}


def _each_by(one: Callable[..., Any]) -> Callable[..., list]:
    """The `__getitems__` of a class with this `__getitem__`."""
    return lambda self, indices: [one(self, index) for index in indices]


def _one_or_many_by(many: Callable[..., list]) -> Callable[..., Any]:
    """The `__getitem__` of a class with this `__getitems__`."""
    return lambda self, index: self._at(index, lambda rows: many(self, rows))


def rows_of(chosen: Any, size: int) -> Any:
    """Rows that are named one by one, or by a mask of `size` elements, as a sequence of numbers. Errors: UsageError."""
    import numpy

    if isinstance(chosen, range):
        return chosen
    try:
        array = numpy.asarray(chosen if hasattr(chosen, "__len__") else list(chosen))
    except (TypeError, ValueError) as error:
        raise UsageError(f"rows are {chosen!r}, expected numbers of rows or a boolean mask") from error
    if array.ndim != 1 or (array.size > 0 and array.dtype.kind not in "biu"):
        raise UsageError(f"rows have dtype {array.dtype} and shape {array.shape}, expected whole numbers or bools of one axis")
    if array.dtype.kind != "b":
        return array.astype("<i8") if array.size == 0 else array
    if len(array) != size:
        raise UsageError(f"the mask has {len(array)} elements, but the dataset has {size} samples")
    return numpy.flatnonzero(array)


def chosen_rows(indices: Any, size: int) -> Any:
    """Rows that `indices=` names, from 0 to size - 1, as a range or an int64 array. Errors: UsageError, IndexError."""
    import numpy

    rows = rows_of(indices, size)
    if isinstance(rows, range):
        if not rows or (0 <= rows[0] < size and 0 <= rows[-1] < size):
            return rows
        rows = numpy.arange(rows.start, rows.stop, rows.step)
    wrong = rows[(rows >= size) | (rows < -size)]
    if wrong.size:
        raise IndexError(f"indices name sample {wrong[0]} of {size}")
    rows = rows.astype(numpy.int64)
    return numpy.where(rows < 0, rows + size, rows)
