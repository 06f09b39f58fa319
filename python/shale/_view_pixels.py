"""Drawn views of images by Pillow, for images that the threads do not decode, and of masks, by the nearest value.

A drawn view is a tuple, as _shale.Views gives it: box x, y, width, height | what the box is scaled to, width, height | the window of that which
is the result, x, y, width, height, which may reach beyond | what is visible of it, x, y, width, height | mirrored, upside down.
"""

from __future__ import annotations

import io
from typing import Any, Dict, List, Optional, Tuple

from shale import _shale
from shale._decoding import _pillow
from shale._views import ViewPlan

Drawn = Tuple[int, ...]
_CHUNKS_OF_INFO = (b"eXIf", b"tEXt", b"zTXt", b"iTXt")  # of a PNG: they may also come behind the pixels


def size_of(drawn: Drawn) -> Tuple[int, int]:
    """(height, width) of the result."""
    return drawn[9], drawn[8]


def pillow_size(value: bytes) -> Tuple[int, int]:
    """(width, height) of an image, by its header. Errors: those of Pillow."""
    with _pillow().open(io.BytesIO(value)) as image:
        return image.size  # type: ignore[no-any-return]


def seen_by_pillow(image: Any, drawn: Drawn, kernel: str) -> Any:
    """What of a PIL image is visible in the view, scaled, and not turned over yet."""
    x, y, width, height, scaled_width, scaled_height = drawn[:6]
    seen_x, seen_y, seen_width, seen_height = drawn[10:14]
    if (x, y, width, height) != (0, 0, *image.size):
        image = image.crop((x, y, x + width, y + height))
    if (scaled_width, scaled_height) != image.size:
        resampling = _pillow().Resampling
        ways = {"nearest": resampling.NEAREST, "triangle": resampling.BILINEAR, "cubic": resampling.BICUBIC}
        image = image.resize((scaled_width, scaled_height), ways[kernel])
    if (seen_x, seen_y, seen_width, seen_height) != (0, 0, *image.size):
        image = image.crop((seen_x, seen_y, seen_x + seen_width, seen_y + seen_height))
    return image


def load_by_pillow(value: bytes, drawn: Drawn, plan: ViewPlan, into: Any) -> None:
    """Fills `into`, a tensor (channels, height, width), with what the threads would have decoded. Errors: those of Pillow."""
    import numpy
    import torch

    with _pillow().open(io.BytesIO(value)) as opened:
        image = opened.convert("RGB")
    if plan.channels == 1 or plan.is_gray:
        image = image.convert("L")
    levels = torch.from_numpy(numpy.array(seen_by_pillow(image, drawn, plan.kernel)))
    levels = levels.permute(2, 0, 1) if levels.ndim == 3 else levels.expand(plan.channels, *levels.shape)
    place(torch.stack([row[each.long()] for row, each in zip(plan.table, levels)]), drawn, plan.fill, into)


def place(seen: Any, drawn: Drawn, fill: Any, into: Any) -> None:
    """Puts what is visible, (..., height, width), to where it is in the window, pads it with `fill`, and turns it over."""
    left, top = drawn[10] - drawn[6], drawn[11] - drawn[7]
    sides = ([-1] if drawn[14] else []) + ([-2] if drawn[15] else [])
    if tuple(seen.shape[-2:]) != size_of(drawn):
        whole = into.new_empty(into.shape)
        whole[:] = fill[:, None, None] if getattr(fill, "ndim", 0) else fill
        if seen.numel():
            whole[..., top : top + seen.shape[-2], left : left + seen.shape[-1]] = seen
        seen = whole
    into[:] = seen.flip(sides) if sides else seen


def nearest_values(mask: Any, drawn: Drawn, fill: int) -> Any:
    """The view of a mask, a tensor (..., height, width), with the values that torchvision's transforms take of a tv_tensors.Mask."""
    rows = _nearest(drawn[1], drawn[3], drawn[5], drawn[11], drawn[13])
    columns = _nearest(drawn[0], drawn[2], drawn[4], drawn[10], drawn[12])
    seen = mask[..., rows, :][..., columns]
    into = mask.new_empty((*mask.shape[:-2], *size_of(drawn)))
    place(seen, drawn, fill, into)
    return into


def _nearest(begin: int, length: int, scaled: int, first: int, count: int) -> Any:
    """Where the outputs of one side are taken from: torch's mode "nearest"."""
    import torch

    places = torch.arange(first, first + count)
    if scaled != length:
        scale = torch.tensor(length, dtype=torch.float32) / scaled
        places = (places.to(torch.float32) * scale).floor().long().clamp(max=length - 1)
    return places + begin


def to_pil(image: Any, info: Dict[str, Any]) -> Any:
    """Of a uint8 tensor (channels, height, width), with what the image was before said of itself."""
    array = image.permute(1, 2, 0).contiguous().numpy()
    made = _pillow().fromarray(array[..., 0].copy() if array.shape[2] == 1 else array)
    made.info = dict(info)
    return made


def info_of(value: bytes) -> Dict[str, Any]:
    """What `convert("RGB")` of an image says of it: EXIF, XMP, the color profile ... By its header, where Pillow would find no more. Errors: those of Pillow."""
    with _pillow().open(io.BytesIO(value)) as image:
        pixels = value.find(b"IDAT") if image.format == "PNG" else len(value)
        is_behind = any(value.find(chunk, pixels) >= 0 for chunk in _CHUNKS_OF_INFO)
        if is_behind or ("transparency" in image.info and image.mode == "P"):
            return image.convert("RGB").info  # type: ignore[no-any-return]
        header = _pillow().new(image.mode, (1, 1))
        header.info = dict(image.info)
        return header.convert("RGB").info  # type: ignore[no-any-return]


def from_pil(image: Any) -> Any:
    """(channels, height, width) uint8 tensor of an image in mode RGB or L."""
    import numpy
    import torch

    array = numpy.array(image)
    return torch.from_numpy(array[None] if array.ndim == 2 else numpy.ascontiguousarray(array.transpose(2, 0, 1)))


def views_of(plan: ViewPlan, order: str, scaled_decoding: bool, steps: Optional[List[Tuple[Any, ...]]] = None) -> _shale.Views:
    """What decodes by a plan."""
    import torch

    def memory(tensor: Any) -> bytes:
        # A copy: of one channel, contiguous() leaves strides that view() does not take.
        return tensor.flatten().clone(memory_format=torch.contiguous_format).view(torch.uint8).numpy().tobytes()  # type: ignore[no-any-return]

    return _shale.Views(
        plan.steps if steps is None else steps,
        kernel=plan.kernel,
        channels=plan.channels,
        order=order,
        table=None if plan.is_plain else memory(plan.table),
        item_bytes=plan.table.dtype.itemsize,
        fill=memory(plan.fill),
        scaled_decoding=scaled_decoding,
        gray=plan.is_gray,
    )
