"""Batches out of samples: what has one size becomes one tensor, in memory that is used again when nobody refers to it any more."""

from __future__ import annotations

import collections
import operator
import weakref
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Sequence

from shale.errors import UsageError

_SMALL = 64 << 10  # below it, torch's own memory is as good
_STACKED_AT_ONCE = 4 << 20  # of values that are dropped as they are copied into a batch


class BufferPool:
    """Memory for tensors. A tensor belongs to whoever holds it: its memory comes back when the last reference, a view or an array of it
    included, is gone. Without a lock: finalizers run wherever the last reference goes, in the middle of anything."""

    def __init__(self, most_free: int, is_pinned: bool = False) -> None:
        self._most_free, self._is_pinned = most_free, is_pinned
        self._free: Dict[int, Deque[Any]] = {}

    def empty(self, shape: Sequence[int], dtype: Any, leases: List[weakref.finalize]) -> Any:
        """A tensor of any content. `leases` gets what gives its memory back at once."""
        import numpy
        import torch

        if self._is_pinned:  # torch's own pool of pinned memory knows when a copy to the device is done
            return torch.empty(tuple(shape), dtype=dtype, pin_memory=True)
        count = 1
        for side in shape:
            count *= side
        size = count * dtype.itemsize
        if size < _SMALL:
            return torch.empty(tuple(shape), dtype=dtype)
        # Sizes in steps of an eighth, so that few batches are of a size of their own.
        step = 1 << max(0, size.bit_length() - 4)
        capacity = -(-size // step) * step
        free = self._free.setdefault(capacity, collections.deque())
        try:
            buffer = free.pop()
        except IndexError:
            buffer = numpy.empty(capacity, numpy.uint8)
        lent = buffer[:size]  # torch holds this view as long as it needs the memory
        lease = weakref.finalize(lent, _put_back, free, buffer, self._most_free)
        lease.atexit = False
        leases.append(lease)
        return torch.from_numpy(lent).view(dtype).view(tuple(shape))


def _put_back(free: Deque[Any], buffer: Any, most: int) -> None:
    if len(free) < most:
        free.append(buffer)


class Rows(NamedTuple):
    """A tensor, and its rows as arrays: what is read into them need not be stacked."""

    tensor: Any
    arrays: List[Any]


def empty_rows(count: int, shape: Sequence[int], dtype: Any, pool: BufferPool, leases: List[weakref.finalize]) -> Rows:
    """Of any content, with a dtype of torch."""
    tensor = pool.empty((count, *shape), dtype, leases)
    return Rows(tensor, list(tensor.numpy()))


def why_not_stacked(sample: Any, first: Any) -> str:
    """Why a sample makes no batch with another, which the batch has first: what one has and the other has not would be left out. "": it does."""
    if sample is None:
        return "is None: a transform has to return the sample"
    mine, others = _parts(sample), _parts(first)
    return "" if mine == others else f"has {_shown(mine)}, but others of its batch have {_shown(others)}: to be stacked they must be alike; pass collate_fn for others"


def _parts(sample: Any) -> Any:
    return sample.keys() if isinstance(sample, dict) else len(sample) if isinstance(sample, tuple) else None


def _shown(parts: Any) -> str:
    return "one value" if parts is None else f"{parts} values" if isinstance(parts, int) else f"the fields {', '.join(map(str, parts)) or '(none)'}"


def stack(
    samples: List[Any],
    pool: BufferPool,
    leases: List[weakref.finalize],
    ready: Sequence[Rows] = (),
    varied: Optional[Callable[..., Optional[Dict[str, Any]]]] = None,
) -> Any:
    """A batch: of dictionaries a dictionary, of tuples a tuple, of anything else one column. `varied(name, values, even, empty)` makes the entries of
    some fields of dictionaries.

    `samples` is emptied, and what is copied into the batch is dropped a part after the other, so that a batch does not take its memory twice.
    """

    def column(values: List[Any]) -> Any:
        for rows in ready:
            if all(map(operator.is_, values, rows.arrays)):
                return rows.tensor
        return _column(values, pool, leases)

    first = samples[0]
    if isinstance(first, dict):
        named = {name: [sample[name] for sample in samples] for name in first}
        del first
        samples.clear()
        if varied is None:
            return {name: column(values) for name, values in named.items()}
        batch: Dict[str, Any] = {}
        for name, values in named.items():
            entries = varied(name, values, column, lambda shape, dtype: pool.empty(shape, dtype, leases))
            batch.update({name: column(values)} if entries is None else entries)
        return batch
    if isinstance(first, tuple):
        columns = list(map(list, zip(*samples)))
        del first
        samples.clear()
        return tuple([column(values) for values in columns])
    values = list(samples)
    del first
    samples.clear()
    return column(values)


def _column(values: List[Any], pool: BufferPool, leases: List[weakref.finalize]) -> Any:
    """A tensor if all values are numbers or arrays of one shape and dtype, else the list."""
    import numpy
    import torch

    first = values[0]
    kind = type(first)
    if all(type(value) in _NUMBERS for value in values):
        widest = max((type(value) for value in values), key=list(_NUMBERS).index)
        if widest is int:
            _check_integers(values)
        return torch.tensor(values, dtype=getattr(torch, _NUMBERS[widest]))
    if any(type(value) is not kind for value in values):
        return values
    if isinstance(first, numpy.generic) and first.dtype.kind in "biuf":
        return _column(list(map(numpy.asarray, values)), pool, leases)
    if isinstance(first, numpy.ma.MaskedArray):
        return values  # a tensor has no mask
    if isinstance(first, numpy.ndarray):
        try:
            values[:] = [torch.from_numpy(_forward(value)) for value in values] if _is_even(values) else values
        except (TypeError, ValueError):
            return values  # a dtype that torch lacks
        first = values[0]
    if not isinstance(first, torch.Tensor) or first.layout is not torch.strided or first.is_quantized or not _is_even(values):
        return values
    if first.requires_grad or first.device.type != "cpu":
        return torch.stack(values)
    out = pool.empty((len(values), *first.shape), first.dtype, leases)
    kind, at_once = type(first), max(1, _STACKED_AT_ONCE // max(1, first.nbytes))
    del first
    for begin in range(0, len(values), at_once):
        part = slice(begin, begin + at_once)
        torch.stack([value.as_subclass(torch.Tensor) for value in values[part]], out=out[part])
        values[part] = [None] * len(values[part])
    return out if kind is torch.Tensor else out.as_subclass(kind)


_NUMBERS = {bool: "bool", int: "int64", float: "float64"}  # each holds those before it


def _check_integers(values: List[int]) -> None:
    for value in values:
        if not -(2**63) <= value < 2**63:
            raise UsageError(f"integer {value} does not fit into the 64 bits of a tensor; let the transform make numpy.uint64 or a string of it")


def _forward(array: Any) -> Any:
    """The array, or a copy where it runs backwards in memory, as a flipped one does."""
    return array.copy() if min(array.strides, default=0) < 0 else array


def _is_even(values: List[Any]) -> bool:
    first = values[0]
    return all(value.shape == first.shape and value.dtype == first.dtype for value in values)
