"""Numbers that NumPy has no dtype for: bfloat16, those of 8 bits, complex32.

In a dataset, as in an array of NumPy, each is one column of raw bytes, by whose name it is known: ``[('bfloat16', '|V2')]``. What a
program gets and gives is a tensor of torch, or an array of ml_dtypes.
"""

from __future__ import annotations

import ast
import importlib
from typing import Any, Dict, Optional

from shale import _shale
from shale.errors import UsageError

_MOST_KNOWN = 64
_known: Dict[str, Any] = {}  # what stored_dtype has found: it is asked for every value


def stored_dtype(name: str) -> Any:
    """The dtype of the bytes of such numbers by the name that torch and ml_dtypes have for them; None for any other name."""
    try:
        return _known[name]
    except KeyError:
        pass
    try:
        descr = _shale.field_of_type(f"{name} ()").get("dtype", "")
    except UsageError:
        descr = ""
    found = dtype_of(descr) if descr.startswith("[") else None
    if len(_known) < _MOST_KNOWN:
        _known[name] = found
    return found


def dtype_of(descr: str) -> Any:
    """The numpy.dtype that headers of .npy files name."""
    import numpy

    return numpy.lib.format.descr_to_dtype(ast.literal_eval(descr)) if descr.startswith("[") else numpy.dtype(descr)


def name_of(dtype: Any) -> Optional[str]:
    """Of such numbers, by the dtype of their bytes; None for any other dtype."""
    names = dtype.names or ("",)
    return names[0] if len(names) == 1 and stored_dtype(names[0]) == dtype else None


def text_of(dtype: Any) -> str:
    """As messages have it."""
    return name_of(dtype) or str(dtype)


def as_array(value: Any) -> Any:
    """A tensor, or an array, as NumPy has it, in the same memory where it can be."""
    import numpy

    stored = stored_dtype(str(value.dtype).rpartition(".")[2]) if hasattr(value, "dtype") else None
    if stored is None or getattr(value, "requires_grad", False):
        return numpy.asarray(value)
    if not hasattr(value, "requires_grad"):
        return numpy.asarray(value).view(stored)
    import torch

    value = value.resolve_conj() if value.is_complex() else value
    return numpy.asarray(value.view(getattr(torch, f"int{8 * stored.itemsize}"))).view(stored)


def as_numbers(array: Any) -> Any:
    """Of the bytes of such numbers a tensor of torch in the same memory; without torch, or where it has no such dtype, an array of ml_dtypes; without
    that, the bytes as they are."""
    name = array.dtype.names[0]
    try:
        import torch

        if hasattr(torch, name):
            return torch.from_numpy(array.view(f"i{array.dtype.itemsize}")).view(getattr(torch, name))
    except ImportError:
        pass
    try:
        return array.view(getattr(importlib.import_module("ml_dtypes"), name))
    except (ImportError, AttributeError):
        return array


def rounded(numbers: Any, dtype: Any) -> Any:
    """An array of floats as such numbers, in bytes. Errors: UsageError if neither torch nor ml_dtypes is there, or has them."""
    import numpy

    empty = as_numbers(numpy.empty(0, dtype))
    if hasattr(empty, "requires_grad"):
        import torch

        return as_array(torch.from_numpy(numpy.ascontiguousarray(numbers)).to(empty.dtype))
    if empty.dtype == dtype:
        raise UsageError(f"numbers become {dtype.names[0]} by torch or ml_dtypes; neither has it here: install ml_dtypes")
    return as_array(numbers.astype(empty.dtype))
