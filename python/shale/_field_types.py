"""The fields that a writer is given: names that people have for what a field holds, as dictionaries such as Dataset.schema has them."""

from __future__ import annotations

import re
import types
import typing
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from shale import _shale
from shale._arguments import text, whole_number
from shale._raw_dtypes import as_array, dtype_of, name_of, stored_dtype
from shale._values import error_of_sample, image_encoder, json_text
from shale.errors import Error, SchemaError, UsageError

_TYPES: Dict[Any, str] = {bytes: "bytes", bytearray: "bytes", str: "str", int: "int", float: "float", bool: "bool", list: "list", dict: "json"}
_ANY_ARRAY = re.compile(r"(?:(?:numpy|np)\.)?(?:nd)?array\??|tensor\??|torch\.Tensor\??")
_UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))


class InputField(NamedTuple):
    """A field of the samples that are written."""

    described: Optional[Dict[str, Any]]  # None: of the array in the first sample, and all sides are free
    encode: Optional[Callable[[Any], Any]] = None  # what makes of a value what the field holds

    def optional(self) -> InputField:
        return self._replace(described={**(self.described or {}), "optional": True})


def fields_of(schema: Any) -> Optional[Dict[str, InputField]]:
    """None: those of the first sample. Errors: UsageError."""
    if isinstance(schema, Mapping):
        return {text(name, "a field of the schema"): _field(name, kind) for name, kind in schema.items()}
    if isinstance(schema, str) and schema == "first":
        return None
    found = "missing" if schema is None else repr(schema)
    raise UsageError(f'schema is {found}, expected a mapping such as {{"image": "bytes", "label": "int"}}, or "first"')


def _field(name: str, kind: Any) -> InputField:
    if isinstance(kind, (tuple, list)) and len(kind) == 2:
        return InputField(_array(name, *kind))
    encode = image_encoder(name, kind) if isinstance(kind, str) else None
    if encode is not None:
        image = InputField({"kind": "bytes"}, encode)
        return image.optional() if kind.strip().endswith("?") else image
    try:
        if isinstance(kind, Mapping):
            return _field_of_mapping(kind)
        found = _field_of_text(name, kind) if isinstance(kind, str) else _field_of_type(name, kind)
        if found is not None:
            return found
        described = _array(name, kind, ())  # a number: "u1", numpy.float32, torch.int16
        if described["kind"] in ("integer", "real") or _is_number(described["dtype"]):
            return InputField(described)
    except UsageError:
        pass
    raise _hinted(
        UsageError(
            f"field {name!r} of the schema is {kind!r}, expected a type such as 'bytes', 'str', 'int', 'float32', 'float32 (?, 4)', 'list[str]', "
            "'json' or 'jpeg', or a pair (dtype, shape)"
        ),
        kind,
    )


def _field_of_text(name: str, kind: str) -> Optional[InputField]:
    if _ANY_ARRAY.fullmatch(kind.strip()):
        return InputField({"optional": True} if kind.strip().endswith("?") else None)
    try:
        described = _shale.field_of_type(kind)
    except UsageError:
        return None
    return InputField(described, json_text if described.get("format") == "json" else None)


def _field_of_type(name: str, kind: Any) -> Optional[InputField]:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in _UNIONS:
        kinds = [each for each in inner if each is not type(None)]
        return _field(name, kinds[0]).optional() if len(kinds) == 1 and len(inner) == 2 else None
    if isinstance(origin, type) and issubclass(origin, (list, tuple, typing.Sequence)) and inner:
        element = _TYPES.get(inner[0]) or _dtype_name(inner[0])
        return _field_of_text(name, f"list[{element}]") if element else None
    if isinstance(origin, type) and issubclass(origin, dict):
        return _field_of_text(name, "json")
    if getattr(kind, "__module__", "").startswith("PIL.") or getattr(origin or kind, "__name__", "") in ("ndarray", "Tensor"):
        return _field(name, "image" if kind.__module__.startswith("PIL.") else "ndarray")
    return _field_of_text(name, _TYPES[kind]) if isinstance(kind, type) and kind in _TYPES else None


def _dtype_name(kind: Any) -> Optional[str]:
    import numpy

    try:
        return str(numpy.dtype(kind))
    except TypeError:
        return None


def _field_of_mapping(kind: Mapping[str, Any]) -> InputField:
    """An entry of Dataset.schema."""
    known = {"kind": str, "dtype": str, "shape": (tuple, list), "optional": bool, "elements": str, "format": str}
    for key, value in kind.items():
        if key not in known or not isinstance(value, known[key]):  # type: ignore[arg-type]
            raise UsageError(f"{key!r} is not of a field")
    described = {**kind, "shape": tuple(kind["shape"])} if "shape" in kind else dict(kind)
    if described.get("kind") not in ("bytes", "text", "integer", "real", "tensor", "list") or described.get("elements", "text") not in ("text", "bytes"):
        raise UsageError(f"{described.get('kind')!r} is not a kind")
    if described["kind"] == "tensor" and not {"dtype", "shape"} <= described.keys():
        raise UsageError("a tensor without dtype and shape")
    return InputField(described, json_text if described.get("format") == "json" else None)


def _is_number(descr: str) -> bool:
    return len(descr) > 1 and (descr[1] in "biufc" or name_of(dtype_of(descr)) is not None)


_QUALIFIED = re.compile(r"(np|numpy|torch)\.(\w+)")
_OF_TORCH = {"cfloat": "complex64", "float": "float32", "int": "int32"}  # names that mean another dtype to NumPy


def _array(name: str, dtype: Any, shape: Any) -> Dict[str, Any]:
    import numpy

    given = dtype
    named = _QUALIFIED.fullmatch(dtype if isinstance(dtype, str) else str(dtype) if type(dtype).__module__ == "torch" else "")
    if named:
        dtype = _OF_TORCH.get(named[2], named[2]) if named[1] == "torch" else named[2]
    try:
        if dtype is None:  # float64, to NumPy
            raise TypeError("it is missing")
        raw = stored_dtype(dtype) if isinstance(dtype, str) else None
        dtype = numpy.dtype(dtype if raw is None else raw).newbyteorder("<")
        raw = stored_dtype(dtype.name)  # of ml_dtypes
        dtype = dtype if raw is None else raw
    except (TypeError, ValueError) as error:
        raise _hinted(UsageError(f"field {name!r} of the schema has dtype {given!r}: {error}"), given) from None
    if dtype.hasobject:
        raise UsageError(f"field {name!r} of the schema has dtype {dtype}, which holds Python objects")
    sides = shape if isinstance(shape, (tuple, list)) else (shape,)
    is_free = [side is None or (isinstance(side, int) and side == -1) for side in sides]  # -1 as in reshape()
    counted = tuple(None if free else whole_number(side, f"a side of the shape of field {name!r}") for side, free in zip(sides, is_free))
    descr = numpy.lib.format.dtype_to_descr(dtype)
    return _shale.field_of_array(descr if isinstance(descr, str) else repr(descr), counted)


# What other writers call it, or types of values, and what to do here.
_HINTS = {
    **dict.fromkeys(("pickle", "pkl"), "a pickle is 'bytes': pickle.dumps(value)"),
    **dict.fromkeys(("class", "cls", "label"), "a label is 'int'"),
    "image": "declare the field as 'jpeg' or 'png', which encode images",
    "dict": "declare the field as 'json'",
}


def _hinted(error: Any, kind: Any) -> Error:
    name = kind.__name__ if isinstance(kind, type) else str(kind)
    error.hint = _HINTS.get(name.rpartition(".")[2].lower())
    return error  # type: ignore[no-any-return]


def hint_about(value: Any) -> Optional[str]:
    """What to do about a value of a sample that does not fit."""
    return _HINTS["image"] if hasattr(value, "getbands") else _HINTS["dict"] if isinstance(value, dict) else None


def error_of_tensor(sample: Any, number: int) -> Optional[Error]:
    """What is wrong with a tensor in a sample that torch does not hand to NumPy."""
    for name, value in sample.items() if isinstance(sample, dict) else ():
        if hasattr(value, "requires_grad"):
            try:
                as_array(value)
            except (TypeError, RuntimeError) as cause:
                kind, hint = _kind_of_tensor(value)
                why = str(cause).splitlines()[0]
                return error_of_sample(sample, number, f"field {name!r} is {kind}, expected one that NumPy can read: {why}", hint)
    return None


def _kind_of_tensor(value: Any) -> Tuple[str, Optional[str]]:
    """In words, and what to do about it."""
    if value.is_nested:
        return "a nested tensor", "write the tensors of tensor.unbind(), each as a sample or as a field"
    if value.device.type != "cpu":
        hint = "its elements are nowhere: write a tensor with storage" if value.device.type == "meta" else "write tensor.cpu()"
        return f"a tensor on {value.device}", hint
    dense = "write tensor.detach()" if value.requires_grad else "write tensor.to_dense()" if value.layout is not _strided() else None
    return f"a tensor of {value.dtype}" + (" that requires grad" if value.requires_grad else ""), dense


def _strided() -> Any:
    import torch

    return torch.strided


# --- by the first sample


def fields_of_first(sample: Mapping[str, Any], classes: Optional[List[str]]) -> Dict[str, InputField]:
    """Errors: SchemaError."""
    return {name: _guessed(name, value, classes) for name, value in sample.items() if name != "key"}


def with_arrays_of(sample: Mapping[str, Any], fields: Mapping[str, InputField]) -> Dict[str, InputField]:
    """The same fields, those of any array as the array in the first sample is, with all sides free. Errors: SchemaError."""
    made = dict(fields)
    for name, field in fields.items():
        if field.described is not None and "kind" in field.described:
            continue
        value = sample.get(name)
        if value is None:
            raise SchemaError(f"field {name!r} of the first sample is {'None' if name in sample else 'missing'}, expected an array, which says its dtype")
        array = as_array(value)
        described = _array(name, array.dtype, (None,) * array.ndim)
        made[name] = InputField({**described, **(field.described or {})})
    return made


def _guessed(name: Any, value: Any, classes: Optional[List[str]]) -> InputField:
    """The field that a value of the first sample makes."""
    if not isinstance(name, str):
        raise SchemaError(f"a field is called {name!r}, expected a string")
    is_text = isinstance(value, (bytes, str))  # also NumPy's
    if hasattr(value, "dtype") and hasattr(value, "shape") and not is_text:
        array = as_array(value)
        return InputField(_array(name, array.dtype, array.shape))
    if classes is not None and name == "label" and isinstance(value, str):
        return InputField({"kind": "integer"})
    if isinstance(value, (list, tuple)):
        return InputField(_guessed_list(name, value))
    for each, kind in {bytes: "bytes", str: "text", int: "integer", float: "real", bytearray: "bytes", memoryview: "bytes"}.items():
        if isinstance(value, each):
            return InputField({"kind": kind})
    if isinstance(value, dict):
        return InputField({"kind": "text", "format": "json"}, json_text)
    raise SchemaError(
        f"field {name!r} of the first sample is {type(value).__name__}, expected bytes, str, int, float, a dict, an array or a list of bytes, str or numbers"
    )


def _guessed_list(name: str, values: Sequence[Any]) -> Dict[str, Any]:
    if all(isinstance(value, (bytes, bytearray, memoryview)) for value in values) and values:
        return {"kind": "list"}
    if all(isinstance(value, str) for value in values) and values:
        return {"kind": "list", "elements": "text"}
    import numpy

    try:
        array = numpy.asarray(values)
    except ValueError:
        array = numpy.asarray(None)
    if array.size == 0 or array.dtype.kind not in "biuf":
        found = "an empty list, which does not say" if not values else "a list of several types or shapes, expected"
        raise SchemaError(f"field {name!r} of the first sample is {found} what it holds: name it in the schema, such as 'list[int]' or 'list[str]'")
    return _array(name, array.dtype, (None,) * array.ndim)
