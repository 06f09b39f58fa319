"""What images among the values become: one way of decoding each, and lists of images as one array."""

from __future__ import annotations

import importlib
import io
from typing import Any, Callable, List, Optional

from shale import _shale
from shale.errors import ContentError, UnsupportedError

# How each way of decoding has the bytes read: as they are, or as pixels in this order.
PIXEL_ORDERS = {
    None: "",
    "pil": "",
    "rgb8": "hwc",
    "gray8": "",
    "unchanged": "",
    "torchrgb8": "chw",
    "tv": "chw",
    "tv_mask": "",
    "file": "",
}


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise UnsupportedError("Pillow, which decodes all but JPEGs in RGB, is not installed") from None
    return Image


def _to_pil(value: Optional[bytes]) -> Any:
    """(H, W) image in mode RGB."""
    if value is None:
        return None
    with _pillow().open(io.BytesIO(value)) as image:
        return image.convert("RGB")


def _to_rgb8(value: Any) -> Any:
    """(H, W, 3) uint8. A JPEG arrives decoded, any other image as bytes."""
    if not isinstance(value, bytes):
        return value
    import numpy

    return numpy.array(_to_pil(value))


def _to_gray8(value: Optional[bytes]) -> Any:
    """(H, W) uint8."""
    if value is None:
        return None
    import numpy

    with _pillow().open(io.BytesIO(value)) as image:
        return numpy.array(image.convert("L"))


def _to_unchanged(value: Optional[bytes]) -> Any:
    """(H, W) or (H, W, C), in the dtype of the pixels."""
    if value is None:
        return None
    import numpy

    with _pillow().open(io.BytesIO(value)) as image:
        return numpy.array(image)


def _to_torchrgb8(value: Any) -> Any:
    """(3, H, W) uint8 tensor."""
    if value is None:
        return None
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
    return None if value is None else tv_tensors().Image(_to_torchrgb8(value))


def _to_tv_mask(value: Optional[bytes]) -> Any:
    """(H, W) or (C, H, W) tv_tensors.Mask: uint8, bool, or int32 for 16 bits, with which torch computes little."""
    if value is None:
        return None
    import numpy
    import torch

    pixels = _to_unchanged(value)
    if pixels.dtype == numpy.uint16:
        pixels = pixels.astype(numpy.int32)
    if pixels.ndim == 3:
        pixels = numpy.ascontiguousarray(pixels.transpose(2, 0, 1))
    return tv_tensors().Mask(torch.from_numpy(pixels))


FINISHERS = {
    "pil": _to_pil,
    "rgb8": _to_rgb8,
    "gray8": _to_gray8,
    "unchanged": _to_unchanged,
    "torchrgb8": _to_torchrgb8,
    "tv": _to_tv,
    "tv_mask": _to_tv_mask,
}


def decoder_of_one(way: str) -> Callable[[bytes], Any]:
    """What makes of the bytes of an image what this way of decoding gives; of JPEGs in RGB with the GIL released."""
    order, finish = PIXEL_ORDERS[way], FINISHERS[way]

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
    if way is None:
        return elements
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
    """One image of a list."""
    return element if way is None else decoder_of_one(way)(element)
