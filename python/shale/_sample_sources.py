"""One dataset or several, whose samples are numbered one after the other."""

from __future__ import annotations

import bisect
import hashlib
import itertools
import os
import sys
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from shale._arguments import is_path
from shale._samples import SampleSequence
from shale.dataset import Dataset
from shale.errors import MismatchError, UnsupportedError, UsageError

_WINDOWS, _WINDOW_BYTES = 17, 4096


class SampleSources:
    """What a loader reads from."""

    def __init__(self, given: Any) -> None:
        self.datasets = [_opened(each) for each in (given if isinstance(given, (list, tuple)) else [given])]
        if not self.datasets:
            raise UsageError("no dataset is given")
        self.sizes = [len(dataset) for dataset in self.datasets]
        self._begins = [0, *itertools.accumulate(self.sizes)]
        self._raw_readers: List[Any] = []

    def place(self, number: int) -> Tuple[int, int]:
        """Which dataset, and the position in it."""
        which = bisect.bisect_right(self._begins, number) - 1
        return which, number - self._begins[which]

    def read(self, numbers: Sequence[int]) -> List[Any]:
        """Samples as the datasets give them, those of one dataset together."""
        return self._read(numbers, lambda which, rows: _items(self.datasets[which], rows))

    def _read(self, numbers: Sequence[int], read: Any) -> List[Any]:
        if len(self.datasets) == 1:
            return read(0, numbers)  # type: ignore[no-any-return]
        samples: List[Any] = [None] * len(numbers)
        places = [self.place(number) for number in numbers]
        for which in sorted({which for which, _ in places}):
            positions = [position for position, place in enumerate(places) if place[0] == which]
            for position, sample in zip(positions, read(which, [places[position][1] for position in positions])):
                samples[position] = sample
        return samples

    def even_fields(self) -> Dict[str, Tuple[Sequence[int], Any]]:
        """The fields whose values are tensors of one shape, with that and torch's dtype, where `read_into` takes them."""
        import numpy
        import torch

        dataset = self.datasets[0]
        found = {}
        if len(self.datasets) == 1 and _reads_itself(dataset):
            for name in dataset.fields:
                field = dataset.schema.get(name, {})
                if field.get("kind") == "tensor" and field["shape"] and None not in field["shape"] and "optional" not in field:
                    try:
                        found[name] = (field["shape"], torch.from_numpy(numpy.empty(0, field["dtype"])).dtype)
                    except (TypeError, ValueError):
                        pass  # a dtype or an order of bytes that torch lacks
        return found

    def described(self) -> Tuple[Dict[str, Dict[str, Any]], Optional[List[str]], bool]:
        """What the datasets say of their fields; the names of all fields, if nothing makes others of them; and whether a transform of a dataset may."""
        found: Dict[str, Dict[str, Any]] = {}
        names: Optional[List[str]] = []
        is_replaced = False
        for dataset in self.datasets:
            parts = list(_parts_of(dataset))
            is_replaced = is_replaced or any(part.transform is not None for part in parts)
            names = None if names is None or not parts or is_replaced else [*names, *(name for part in parts for name in part.fields if name not in names)]
            for part in parts:
                for name in part.fields:
                    found[name] = _both(found.get(name), part.schema.get(name, {}))
        return found, names, is_replaced

    def tuple_names(self) -> Optional[Sequence[str]]:
        """Of the values in the tuples that samples are."""
        names = {part.as_tuple for dataset in self.datasets for part in _parts_of(dataset)}
        return names.pop() if len(names) == 1 else None

    def read_into(self, numbers: Sequence[int], into: Dict[str, List[Any]]) -> List[Any]:
        """As read, with the values of even fields in arrays that are given for each sample."""
        return self.datasets[0]._read_into(numbers, into)  # type: ignore[no-any-return]

    # --- for the order "block": as bytes first, made into samples when they are drawn

    def open_raw(self) -> None:
        """Errors: UsageError for datasets whose samples are not read as bytes."""
        for dataset in self.datasets:
            if not _reads_itself(dataset):
                raise UsageError(f"shuffle='block' reads a shale.Dataset itself, not through {type(dataset).__name__}; shuffle='random' takes any dataset")
        self._raw_readers = [dataset._raw_reader() for dataset in self.datasets]

    def read_raw(self, numbers: Sequence[int]) -> List[Any]:
        return self._read(numbers, lambda which, rows: self._raw_readers[which].read(self.datasets[which]._rows(rows)))

    def finish_raw(self, number: int, sample: Any) -> Any:
        which, row = self.place(number)
        return self.datasets[which]._finish_raw(row, sample)

    def bytes_per_sample(self) -> float:
        """On average, over all datasets."""
        facts = [dataset.info for dataset in self.datasets]
        return float(sum(each.bytes for each in facts) / max(1, sum(each.samples for each in facts)))

    def identity(self, others: Sequence[bytes]) -> str:
        """As below, by what the samples are now: those of an ImageFolder may be set at any time. Errors: MismatchError, if their number changed."""
        for which, (dataset, size) in enumerate(zip(self.datasets, self.sizes)):
            if len(dataset) != size:
                raise MismatchError(f"{self.name(which)} has {len(dataset)} samples, and had {size} when the loader was made; make another loader")
        return identity(self.datasets, others)

    def name(self, which: int) -> str:
        dataset = self.datasets[which]
        return str(getattr(dataset, "path", getattr(dataset, "root", type(dataset).__name__)))


def identity(datasets: Sequence[Any], others: Sequence[bytes] = ()) -> str:
    """A hash that other datasets do not have, nor those that were appended to, nor other choices of their samples. Of what is neither a dataset of
    shale nor a Subset or ConcatDataset of torch, only the length is in it."""
    found = hashlib.blake2b(digest_size=16)
    for part in [*(part for dataset in datasets for part in _facts_of(dataset)), *others]:
        found.update(repr(len(part)).encode() + b":" + part)
    return found.hexdigest()


def _facts_of(dataset: Any) -> Iterator[bytes]:
    torch: Any = sys.modules.get("torch.utils.data")  # without it there are none of its classes
    yield repr(len(dataset)).encode()
    if isinstance(dataset, Dataset):
        reader = dataset._reader()
        yield (_look_of(reader) if reader.file else reader.self_hash).encode()
        yield _bytes_of(dataset.indices)
    elif isinstance(dataset, SampleSequence):  # an ImageFolder
        yield from _facts_of(dataset._dataset)  # type: ignore[attr-defined]
        for pair in dataset._changed_samples() or ():  # type: ignore[attr-defined]
            yield repr(pair).encode()
    elif torch is not None and isinstance(dataset, torch.Subset):
        yield from _facts_of(dataset.dataset)
        yield _bytes_of(dataset.indices)
    elif torch is not None and isinstance(dataset, torch.ConcatDataset):
        for each in dataset.datasets:
            yield from _facts_of(each)


def _bytes_of(rows: Any) -> bytes:
    """The same for a range, a list, an array and a tensor of the same numbers."""
    import numpy

    if isinstance(rows, range) and len(rows) > 1:
        return repr((rows[0], rows[-1], len(rows))).encode()
    try:
        numbers = numpy.asarray(rows)
    except ValueError:  # as indices anything goes that the dataset takes
        return repr(rows).encode()
    if not numbers.size:
        return b""
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
        return bytes(numbers) if hasattr(rows, "__array__") else repr(rows).encode()
    numbers = numbers.astype(numpy.int64)
    steps = numpy.diff(numbers)
    if steps.any() and (steps == steps[0]).all():
        return _bytes_of(range(int(numbers[0]), int(numbers[-1] + steps[0]), int(steps[0])))
    return bytes(numbers)


def _look_of(reader: Any) -> str:
    """What tells a file of another tool from others, without reading it: its fields and size, and some of its bytes. Not its name or its
    times: it may have been copied to another disk. Nor its index, which may have been made since."""
    found = hashlib.blake2b(repr((reader.schema, reader.format)).encode(), digest_size=16)
    with open(reader.file, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        found.update(repr(size).encode())
        for window in range(_WINDOWS):
            file.seek((size - _WINDOW_BYTES) * window // (_WINDOWS - 1) if size > _WINDOW_BYTES else 0)
            found.update(file.read(_WINDOW_BYTES))
    return found.hexdigest()


def _opened(given: Any) -> Any:
    if is_path(given):
        return Dataset(os.fsdecode(given))
    if hasattr(given, "__getitem__") and hasattr(given, "__len__") and not isinstance(given, dict):
        return given
    raise UnsupportedError(f"{given!r} is neither a path nor a dataset with a length and samples by number")


def _reads_itself(dataset: Any) -> bool:
    return isinstance(dataset, Dataset) and type(dataset).__getitems__ is SampleSequence.__getitems__


def _parts_of(dataset: Any) -> Iterator[Any]:
    """The datasets of shale that it is, or is made of; none for others."""
    torch: Any = sys.modules.get("torch.utils.data")
    if isinstance(dataset, Dataset):
        yield dataset
    elif torch is not None and isinstance(dataset, torch.Subset):
        yield from _parts_of(dataset.dataset)
    elif torch is not None and isinstance(dataset, torch.ConcatDataset):
        for each in dataset.datasets:
            yield from _parts_of(each)


def _both(one: Optional[Dict[str, Any]], other: Dict[str, Any]) -> Dict[str, Any]:
    """What holds for a field of two datasets: a value that one of them may lack, a side that differs."""
    if one is None or one == other:
        return other
    made = dict(other)
    if "optional" in one:
        made["optional"] = True
    mine, its = one.get("shape", ()), other.get("shape", ())
    if len(mine) == len(its) and mine != its:
        made["shape"] = tuple(side if side == another else None for side, another in zip(mine, its))
    return made


def _items(dataset: Any, rows: Sequence[int]) -> List[Any]:
    many = getattr(dataset, "__getitems__", None)
    return list(many(rows)) if callable(many) else [dataset[row] for row in rows]
