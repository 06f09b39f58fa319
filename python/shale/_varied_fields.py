"""Fields whose samples differ in shape or lack the value, in a batch: lists of tensors, padded tensors, or nested ones."""

from __future__ import annotations

import collections
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from shale._raw_dtypes import as_array, as_numbers, dtype_of, name_of, rounded
from shale.errors import UsageError

# Makes a column of values that are alike: what a batch has of any other field.
Even = Callable[[List[Any]], Any]
Empty = Callable[[Sequence[int], Any], Any]  # a tensor of a shape and a dtype of torch


class Replaced:
    """Counts, for each field, the samples of a batch for which a transform made another value."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._counts: Dict[str, int] = collections.Counter()

    def watch(self, sample: Any, transform: Callable[[Any], Any]) -> Any:
        """What the transform makes of the sample."""
        before = {name: sample[name] for name in self._names if name in sample} if isinstance(sample, dict) else {}
        made = transform(sample)
        for name, value in before.items():
            self._counts[name] += not isinstance(made, dict) or made.get(name) is not value
        return made

    def count(self, name: str) -> int:
        return self._counts.get(name, 0)


class VariedFields:
    """What a loader makes of them. Fields that its datasets do not describe are padded, if so requested, and otherwise left alone."""

    def __init__(self, described: Mapping[str, Mapping[str, Any]], names: Optional[Sequence[str]], pad: Any, ragged: str, may_be_replaced: bool) -> None:
        """`names`: of the fields of the samples, where nothing makes others of them."""
        self._described = {name: field for name, field in described.items() if "optional" in field or None in field.get("shape", ())}
        self._all = described
        self._is_nested = ragged == "nested"
        self._may_be_replaced = may_be_replaced
        self._pad: Dict[str, Any] = {} if pad is None else _checked_pad(pad, described, names)

    @property
    def names(self) -> Sequence[str]:
        return [] if self._may_be_replaced else list(self._described)

    def are_any(self) -> bool:
        return bool(self._described or self._pad)

    def lengths(self) -> List[str]:
        """Names of the entries that a batch has besides."""
        return [f"{name}_length" for name in self._pad if self._is_array(name)]

    def _is_array(self, name: str) -> bool:
        return bool(self._all.get(name, {}).get("kind", "tensor") == "tensor")

    def columns(self, replaced: Replaced, name: str, values: List[Any], even: Even, empty: Empty) -> Optional[Dict[str, Any]]:
        """The entries of a batch for the values of a field; None if it is one like any other."""
        import numpy

        if name in self._pad:
            return self._padded(name, values, even, empty)
        field = self._described.get(name)
        if field is None:
            return None
        is_ragged = None in field.get("shape", ())
        if self._may_be_replaced or replaced.count(name) >= (len(values) if is_ragged else 1):
            made = even(_tensors(values))
            return {name: made}
        tensors = _tensors(values)
        is_nested = is_ragged and self._is_nested and field["shape"].count(None) == 1 and field["shape"][0] is None and "optional" not in field
        # Torch lacks the dtypes of dates and texts.
        if is_nested and not any(isinstance(tensor, numpy.ndarray) for tensor in tensors):
            return {name: _nested(tensors, empty)}
        return {name: tensors}

    def _padded(self, name: str, values: List[Any], even: Even, empty: Empty) -> Dict[str, Any]:
        import numpy
        import torch

        fill, field = self._pad[name], self._all.get(name, {})
        if not self._is_array(name):
            number = _fill_of(name, fill, _number_dtype(field)).item()
            return {name: even([number if value is None else value for value in values])}
        arrays = [None if value is None else _array(name, value) for value in values]
        there = [array for array in arrays if array is not None]
        if there:
            dtype, ndim = there[0].dtype, there[0].ndim
        elif "dtype" in field:
            dtype, ndim = dtype_of(field["dtype"]), len(field["shape"])
        else:
            raise UsageError(f"pad names {name!r}, of which no sample of a batch has a value: its dtype is not known")
        for array in there:
            if (array.dtype, array.ndim) != (dtype, ndim):
                raise UsageError(
                    f"pad names {name!r}, whose arrays differ: {dtype} of {ndim} axes, {array.dtype} of {array.ndim}; let the transform make them alike"
                )
        described = field["shape"] if len(field.get("shape", ())) == ndim else (None,) * ndim
        sides = [max([each.shape[axis] for each in there], default=described[axis] or 0) for axis in range(ndim)]
        padded = empty((len(values), *sides), _tensor(numpy.empty(0, dtype)).dtype)
        memory = as_array(padded)
        memory[...] = _fill_of(name, fill, dtype)
        free = [axis for axis in range(ndim) if described[axis] is None] or list(range(ndim))
        lengths = torch.full((len(values), len(free)), -1, dtype=torch.int64)
        for position, array in enumerate(arrays):
            if array is not None:
                memory[position][tuple(map(slice, array.shape))] = array
                lengths[position] = torch.tensor([array.shape[axis] for axis in free], dtype=torch.int64)
        return {name: padded, f"{name}_length": lengths[:, 0] if len(free) == 1 else lengths}


def _checked_pad(pad: Any, described: Mapping[str, Mapping[str, Any]], names: Optional[Sequence[str]]) -> Dict[str, Any]:
    if not isinstance(pad, Mapping):
        raise UsageError(f"pad is {pad!r}, expected a mapping of names of fields to numbers")
    for name, fill in pad.items():
        if isinstance(fill, (str, bytes)) or not (hasattr(fill, "__float__") or isinstance(fill, complex)):
            raise UsageError(f"pad[{name!r}] is {fill!r}, expected a number")
        if names is None:
            continue
        if name not in names:
            raise UsageError(f"pad names {name!r}, which is not a field; the fields are {', '.join(names)}")
        kind = described.get(name, {}).get("kind", "text")
        if kind not in ("tensor", "integer", "real"):
            raise UsageError(f"pad names {name!r} of kind {kind}, expected a field of arrays or numbers")
        if f"{name}_length" in names and kind == "tensor":
            raise UsageError(f"pad names {name!r}, whose lengths would be {name + '_length'!r}, which is a field itself")
        _fill_of(name, fill, dtype_of(described[name]["dtype"]) if kind == "tensor" else _number_dtype(described[name]))
    return dict(pad)


def _number_dtype(field: Mapping[str, Any]) -> Any:
    """Of a column of numbers in a batch."""
    import numpy

    return numpy.dtype("f8" if field["kind"] == "real" else "i8")


def _fill_of(name: str, fill: Any, dtype: Any) -> Any:
    """Errors: UsageError for a number that the dtype does not hold; floats are rounded."""
    import numpy

    if name_of(dtype):
        return rounded(numpy.array(float(fill)), dtype)
    try:
        with numpy.errstate(over="ignore", invalid="ignore"):
            made = numpy.array(fill).astype(dtype)
        fits = numpy.isfinite(made) == numpy.isfinite(fill) if dtype.kind in "fc" else made == numpy.array(fill)
        fits = fits and not (isinstance(fill, complex) and dtype.kind != "c")
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise UsageError(f"pad[{name!r}] is {fill!r}, which {dtype} does not hold; let a transform make another dtype of it")
    return made


def _array(name: str, value: Any) -> Any:
    """As NumPy has it. Errors: UsageError."""
    try:
        return as_array(value.detach() if hasattr(value, "requires_grad") else value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"pad names {name!r}, of which a value is not an array: {error}") from None


def _tensors(values: List[Any]) -> List[Any]:
    """Arrays as tensors, and anything else as it is."""
    import numpy

    made = []
    for value in values:
        try:
            made.append(_tensor(value) if isinstance(value, numpy.ndarray) else value)
        except (TypeError, ValueError):
            made.append(value)  # a dtype that torch lacks, or an array that runs backwards
    return made


def _tensor(array: Any) -> Any:
    import torch

    return as_numbers(array) if name_of(array.dtype) else torch.from_numpy(array)


def _nested(tensors: List[Any], empty: Empty) -> Any:
    """(B, j, ...) of the layout torch.jagged."""
    import numpy
    import torch

    offsets = numpy.cumsum([0, *map(len, tensors)], dtype=numpy.int64)
    together = empty((int(offsets[-1]), *tensors[0].shape[1:]), tensors[0].dtype)
    torch.cat(tensors, out=together)
    return torch.nested.nested_tensor_from_jagged(together, offsets=torch.from_numpy(offsets))
