"""What the datasets have in common: `ds[i]`, `ds.__getitems__(indices)`, iteration and `ds + ds`, also in subclasses."""

from __future__ import annotations

import copyreg
from typing import Any, Callable, Iterable, Iterator


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
            setattr(cls, "__getitem__", _first_by(cls.__getitems__))

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, index: int) -> Any:
        return self._read([index])[0]

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


def _first_by(many: Callable[..., list]) -> Callable[..., Any]:
    """The `__getitem__` of a class with this `__getitems__`."""
    return lambda self, index: many(self, [index])[0]
