"""What a writer makes of values that are not yet what a field holds: lists of numbers, images, JSON."""

from __future__ import annotations

import io
import json
import re
from typing import Any, Callable, Optional

from shale._raw_dtypes import as_numbers, name_of, rounded
from shale.errors import Error, SchemaError, UnsupportedError, UsageError

_IMAGE = re.compile(r"(jpeg|jpg|png|webp|image|pil)(?::([0-9]+))?\??")
# What Pillow calls it, its quality unless another is given, and the modes that it keeps as they are.
_CODECS = {
    "jpeg": ("JPEG", 95, ("RGB", "L", "CMYK")),
    "png": ("PNG", None, ("RGB", "RGBA", "L", "LA", "P", "1", "I;16")),
    "webp": ("WEBP", 90, ("RGB", "RGBA")),
}


def array_of_list(values: Any, dtype: Any, shape: tuple) -> Any:
    """A list of numbers, or of lists of them, as an array of the dtype; or what the list is, as a string, if numbers do not fit into it.

    Integers must be whole and in range; floats are rounded, as NumPy does when it stores. An empty list is an array of any shape with a free side.
    """
    import numpy

    try:
        array = numpy.asarray(values)
    except (TypeError, ValueError):
        return "a list whose rows differ in length"
    if array.size == 0 and None in shape and array.ndim <= len(shape):
        sides = [*array.shape, *(side or 0 for side in shape[array.ndim :])]
        return numpy.empty(sides, dtype)
    wanted, found = "f" if name_of(dtype) else dtype.kind, array.dtype.kind
    if found == "f" and wanted in "iu":
        whole = numpy.asarray(values, dtype=object)  # int8 beside uint64 is float64 to NumPy
        if all(isinstance(value, (int, numpy.integer)) for value in whole.flat):
            array = numpy.array([int(value) for value in whole.flat], dtype=object).reshape(whole.shape)
            try:
                return array.astype(dtype)
            except OverflowError:
                return f"a list of numbers from {array.min()} to {array.max()}"
    if found not in "biuf" or wanted not in "biufc":
        return f"a list of {array.dtype}" if found in "biufcMm" else "a list of other things than numbers"
    if found == "f" and wanted in "biu":
        return "a list of floats"
    with numpy.errstate(over="ignore", invalid="ignore"):
        if name_of(dtype):
            return _raw_of(array.astype("f8"), dtype)
        made = array.astype(dtype)
    if wanted in "biu" and not numpy.array_equal(made, array):
        return f"a list of numbers from {array.min()} to {array.max()}"
    if wanted in "fc" and not numpy.array_equal(numpy.isinf(made), numpy.isinf(array)):
        return f"a list with {array.flat[numpy.argmax(numpy.isinf(made) & ~numpy.isinf(array))]}"
    return made


def _raw_of(numbers: Any, dtype: Any) -> Any:
    """As array_of_list, for numbers that NumPy lacks."""
    import numpy

    made = rounded(numbers, dtype)
    back = as_numbers(made)
    is_finite = numpy.isfinite(numpy.asarray(back.cdouble() if hasattr(back, "requires_grad") else back.astype("f8")))
    lost = numpy.isfinite(numbers) & ~is_finite
    return f"a list with {numbers[lost][0]}" if lost.any() else made


def image_encoder(name: str, kind: str) -> Optional[Callable[[Any], Any]]:
    """What makes bytes of the images of a field of kind "jpeg", "jpeg:95", "png", "webp" ...; None for other kinds. Errors: UsageError."""
    match = _IMAGE.fullmatch(kind.strip())
    if match is None:
        return None
    word = {"jpg": "jpeg", "image": "png", "pil": "png"}.get(match[1], match[1])
    codec, usual, modes = _CODECS[word]
    if match[2] is not None and (usual is None or not 1 <= int(match[2]) <= 100):
        expected = "no quality" if usual is None else "a quality from 1 to 100"
        raise UsageError(f"field {name!r} of the schema is {kind!r}, expected {expected}")
    quality = {} if usual is None else {"quality": int(match[2] or usual)}

    def encode(value: Any) -> Any:
        if value is None or isinstance(value, (bytes, bytearray, memoryview, str)):
            return value
        image = _image_of(value)
        if image is None:
            return value
        if image.mode not in modes:
            error = SchemaError(f"an image of mode {image.mode}, which {codec} does not hold")
            error.hint = 'write image.convert("RGB"), or use "png"' if codec == "JPEG" else 'write image.convert("RGB")'
            raise error
        file = io.BytesIO()
        image.save(file, codec, **quality)
        return file.getvalue()

    return encode


def _image_of(value: Any) -> Any:
    """A PIL image, or of an array (H, W), (H, W, 1), (H, W, 3) or (H, W, 4) of uint8; None for anything else."""
    if hasattr(value, "getbands"):
        return value
    shape = tuple(getattr(value, "shape", ()))
    if not hasattr(value, "dtype") or len(shape) not in (2, 3):
        return None
    import numpy

    array = numpy.asarray(value)
    if array.dtype != numpy.uint8 or (len(shape) == 3 and shape[2] not in (1, 3, 4)) or 0 in shape:
        error = SchemaError(f"an array of {array.dtype} {shape}, expected an image: uint8 (H, W), (H, W, 1), (H, W, 3) or (H, W, 4)")
        error.hint = "write tensor.permute(1, 2, 0)" if array.dtype == numpy.uint8 and shape[0] in (1, 3, 4) else None
        raise error
    try:
        from PIL import Image
    except ImportError:
        raise UnsupportedError("Pillow, which encodes images, is not installed") from None
    return Image.fromarray(numpy.ascontiguousarray(array[:, :, 0] if shape[2:] == (1,) else array))


def json_text(value: Any) -> Any:
    """JSON of a value; a string is JSON already, and None no value."""
    if value is None or isinstance(value, str):
        return value
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"{type(value).__name__}, expected what json.dumps takes: {error}") from None


def encoded(sample: Any, encoders: Any, number: int) -> Any:
    """The sample, with what encoders make of the values of their fields. Errors: SchemaError naming number, key and field."""
    if not isinstance(sample, dict):
        return sample
    made = dict(sample)
    for name, encode in encoders:
        if name not in made:
            continue
        try:
            made[name] = encode(made[name])
        except UnsupportedError:
            raise
        except Error as error:
            raise error_of_sample(sample, number, f"field {name!r} is {error.args[0]}", error.hint) from error
        except OSError as error:  # of Pillow: the file behind an image is damaged
            raise error_of_sample(sample, number, f"field {name!r} is an image that cannot be encoded: {error}") from error
    return made


def error_of_sample(sample: Any, number: int, fact: str, hint: Optional[str] = None) -> SchemaError:
    """With the sample's place, as errors from C++ have it."""
    key = sample.get("key")
    error = SchemaError(f"sample {number}: {fact}" if key is None else f"sample {key!r}: {fact}: sample {number}")
    error.sample, error.key, error.hint = number, key if isinstance(key, str) else None, hint
    return error
