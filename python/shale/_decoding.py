"""What images among the values become: one way of decoding each, and lists of images as one array."""

from __future__ import annotations

import importlib
import io
from typing import Any, Callable, Dict, List, Optional

from shale import _shale
from shale.errors import ContentError, UnsupportedError

# Of ways of decoding for which the bytes of JPEGs are read as pixels: their order.
PIXEL_ORDERS = {"rgb8": "hwc", "torchrgb8": "chw", "tv": "chw"}


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise UnsupportedError("Pillow, which decodes all but JPEGs in RGB, is not installed") from None
    return Image


def _to_pil(value: bytes) -> Any:
    """(H, W) image in mode RGB."""
    with _pillow().open(io.BytesIO(value)) as image:
        return image.convert("RGB")


def _to_rgb8(value: Any) -> Any:
    """(H, W, 3) uint8. A JPEG arrives decoded, any other image as bytes."""
    if not isinstance(value, bytes):
        return value
    import numpy

    return numpy.array(_to_pil(value))


def _to_gray8(value: bytes) -> Any:
    """(H, W) uint8."""
    import numpy

    with _pillow().open(io.BytesIO(value)) as image:
        return numpy.array(image.convert("L"))


def _to_unchanged(value: bytes) -> Any:
    """(H, W) or (H, W, C), in the dtype of the pixels."""
    import numpy

    with _pillow().open(io.BytesIO(value)) as image:
        return numpy.array(image)


def _to_torchrgb8(value: Any) -> Any:
    """(3, H, W) uint8 tensor."""
    import numpy
    import torch

    if isinstance(value, bytes):
        value = numpy.ascontiguousarray(_to_rgb8(value).transpose(2, 0, 1))
    return torch.from_numpy(value)


def tv_tensors() -> Any:
    try:
        return importlib.import_module("torchvision.tv_tensors")
    except Exception as error:  # a build for another torch raises RuntimeError
        raise UnsupportedError(f"decode='tv' and 'tv_mask' take torchvision, which cannot be imported: {error}") from error


def _to_tv(value: Any) -> Any:
    """(3, H, W) uint8 tv_tensors.Image."""
    return tv_tensors().Image(_to_torchrgb8(value))


def _to_tv_mask(value: bytes) -> Any:
    """(H, W) or (C, H, W) tv_tensors.Mask: uint8, bool, or int32 for 16 bits, with which torch computes little."""
    import numpy
    import torch

    pixels = _to_unchanged(value)
    if pixels.dtype == numpy.uint16:
        pixels = pixels.astype(numpy.int32)
    if pixels.ndim == 3:
        pixels = numpy.ascontiguousarray(pixels.transpose(2, 0, 1))
    return tv_tensors().Mask(torch.from_numpy(pixels))


# What makes of a value that is there what each way of decoding gives.
FINISHERS: Dict[str, Callable[[Any], Any]] = {
    "pil": _to_pil,
    "rgb8": _to_rgb8,
    "gray8": _to_gray8,
    "unchanged": _to_unchanged,
    "torchrgb8": _to_torchrgb8,
    "tv": _to_tv,
    "tv_mask": _to_tv_mask,
}
WAYS = (None, *FINISHERS, "file")


def decoder_of_one(way: str) -> Callable[[bytes], Any]:
    """What makes of the bytes of an image what this way of decoding gives; of JPEGs in RGB with the GIL released."""
    order, finish = PIXEL_ORDERS.get(way), FINISHERS[way]

    def decode(value: bytes) -> Any:
        if not order or not value.startswith(b"\xff\xd8"):
            return finish(value)
        try:
            pixels = _shale.decode_rgb8(value, order)
        except ContentError:
            pixels = value  # Pillow takes more JPEGs, and says what is wrong with the others
        return finish(pixels)

    return decode


def decode_list(way: Optional[str], elements: List[bytes]) -> Any:
    """A list of images as one array or tensor, a new axis in front: (T, H, W, 3), (T, 3, H, W) ...; a list for "pil" and None.

    Errors: ValueError for images of several sizes, or none; those of decoding.
    """
    if way in (None, "text"):
        return [decode_element(way, element) for element in elements]
    decode = decoder_of_one(way)
    images = [decode(element) for element in elements]
    if way == "pil":
        return images
    if not images:
        raise ValueError("a list without images has no size")
    for number, image in enumerate(images):
        if image.shape != images[0].shape or image.dtype != images[0].dtype:
            raise ValueError(f"images differ: number 0 is {_facts(images[0])}, number {number} is {_facts(image)}")
    if way in ("rgb8", "gray8", "unchanged"):
        import numpy

        return numpy.stack(images)
    import torch

    stacked = torch.stack(images)
    if way == "tv":
        return tv_tensors().Video(stacked)
    return tv_tensors().Mask(stacked) if way == "tv_mask" else stacked


def _facts(image: Any) -> str:
    return f"{tuple(image.shape)} {image.dtype}"


def decode_element(way: Optional[str], element: bytes) -> Any:
    """One image of a list, or of a list of text one."""
    if way == "text":
        return element.decode()
    return element if way is None else decoder_of_one(way)(element)
