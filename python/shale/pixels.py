"""Images as arrays."""

from __future__ import annotations

from typing import Any

from shale import _shale
from shale._arguments import one_of
from shale.errors import UsageError


def decode_rgb8(data: Any, order: str = "hwc") -> Any:
    """Decodes a JPEG to a uint8 array of shape (H, W, 3), or (3, H, W) with ``order="chw"``.

    The pixels are those of ``PIL.Image.open(...).convert("RGB")``. ``data`` is bytes, or any object with a buffer, which is copied.
    libjpeg-turbo decodes, with the GIL released.

    Raises:
        shale.errors.ContentError: not a JPEG, or one that is truncated or damaged.
        shale.errors.UsageError: an argument is invalid.
    """
    one_of(order, "order", ("hwc", "chw"))
    if not isinstance(data, bytes):
        try:
            data = memoryview(data).tobytes()
        except TypeError:
            raise UsageError(f"data is of type {type(data).__name__}, expected bytes") from None
    return _shale.decode_rgb8(data, order)
