"""Transforms of images, with the names, parameters and defaults of ``torchvision.transforms.v2``, for those who do not have torchvision.

::

    from shale.torch import transforms

    crop = transforms.Compose([
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
    ])
    loader = shale.torch.Loader("train", 256, shuffle=True, transform=crop)

The loader's threads do what they say while they decode, as they do with torchvision's own. Called by themselves they take and return one image: a
PIL.Image, or a tensor of shape (C, H, W) with 1 or 3 channels, uint8 if it is scaled. Sizes are in pixels, (height, width) or one number.
What is random is drawn from torch's global generator there, and from the seed of the sample in a loader.

Raises:
    shale.errors.UsageError: a parameter is wrong, or an image is neither.
"""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

from shale import _shale
from shale._view_pixels import from_pil, place, seen_by_pillow, size_of, to_pil
from shale._views import translate
from shale.errors import ContentError, UsageError

__all__ = [
    "CenterCrop",
    "Compose",
    "ConvertImageDtype",
    "Grayscale",
    "Normalize",
    "PILToTensor",
    "RGB",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "ToDtype",
    "ToImage",
    "ToTensor",
]

Size = Union[int, Sequence[int]]


class Compose:
    """One transform after the other."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms: List[Callable[[Any], Any]] = list(transforms)
        if not self.transforms:
            raise UsageError("Compose of no transforms")

    def __call__(self, image: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return image

    def __repr__(self) -> str:
        return f"Compose([{', '.join(map(repr, self.transforms))}])"


class _Shown:
    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({facts})"


class _Geometry(_Shown):
    """What moves pixels: all of it is one step, of which _shale.Views draws what it shows."""

    def _check(self) -> None:
        plan = translate(self)
        if plan.rest:
            raise UsageError(f"{self!r}: {plan.reason}")

    def __call__(self, image: Any) -> Any:
        """The image, cropped, scaled or turned over: the type and the channels are the same."""
        import torch

        plan = translate(self)
        tensor = _tensor_of(image, type(self).__name__)
        views = _shale.Views(plan.steps, kernel=plan.kernel, channels=3, order="chw", table=None, item_bytes=1, fill=bytes(3), scaled_decoding=False)
        seed = int(torch.randint(1 << 62, ()))
        try:
            drawn = views.draw(tensor.shape[2], tensor.shape[1], seed)
        except ContentError as error:
            raise UsageError(f"{type(self).__name__}: {error}") from None
        if tensor.dtype == torch.uint8:
            seen = from_pil(seen_by_pillow(to_pil(tensor, {}), drawn, plan.kernel)) if drawn[12] and drawn[13] else tensor[:, :0, :0]
        elif drawn[2:4] == drawn[4:6]:
            x, y = drawn[0] + drawn[10], drawn[1] + drawn[11]
            seen = tensor[:, y : y + drawn[13], x : x + drawn[12]]
        else:
            raise UsageError(f"{type(self).__name__} of a tensor of {tensor.dtype}: scale uint8, and change the dtype after it")
        into = tensor.new_empty((len(tensor), *size_of(drawn)))
        fill = getattr(self, "fill", 0) or 0
        place(seen, drawn, torch.tensor(fill).to(tensor.dtype) if isinstance(fill, (tuple, list)) else fill, into)
        return into if isinstance(image, torch.Tensor) else to_pil(into, image.info)


class RandomResizedCrop(_Geometry):
    """A box of random area (a fraction of the image in ``scale``) and shape (width by height in ``ratio``), scaled to ``size``."""

    def __init__(
        self,
        size: Size,
        scale: Tuple[float, float] = (0.08, 1.0),
        ratio: Tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: Any = "bilinear",
        antialias: Optional[bool] = True,
    ) -> None:
        self.size, self.scale, self.ratio = size, scale, ratio
        self.interpolation, self.antialias = interpolation, antialias
        self._check()


class Resize(_Geometry):
    """Scaled to ``size``: (height, width), or one number for the shorter side, the longer one being ``max_size`` at most."""

    def __init__(
        self, size: Optional[Size], interpolation: Any = "bilinear", max_size: Optional[int] = None, antialias: Optional[bool] = True
    ) -> None:
        self.size, self.interpolation, self.max_size, self.antialias = size, interpolation, max_size, antialias
        self._check()


class CenterCrop(_Geometry):
    """The middle; an image that is smaller is padded with 0."""

    def __init__(self, size: Size) -> None:
        self.size = size
        self._check()


class RandomCrop(_Geometry):
    """A box of ``size`` somewhere, after padding by ``padding`` pixels: all sides, (left and right, top and bottom), or (left, top, right, bottom).

    ``padding_mode`` is ``"constant"``, padding with ``fill``. ``pad_if_needed`` pads images that are smaller; UsageError without it, and
    ContentError in a loader.
    """

    def __init__(
        self, size: Size, padding: Optional[Size] = None, pad_if_needed: bool = False, fill: Any = 0, padding_mode: str = "constant"
    ) -> None:
        self.size, self.padding, self.pad_if_needed, self.fill, self.padding_mode = size, padding, pad_if_needed, fill, padding_mode
        self._check()


class _Flip(_Geometry):
    def __init__(self, p: float = 0.5) -> None:
        self.p = p
        self._check()


class RandomHorizontalFlip(_Flip):
    """Mirrored with probability ``p``."""


class RandomVerticalFlip(_Flip):
    """Turned upside down with probability ``p``."""


class ToImage(_Shown):
    """A uint8 tensor of a PIL image; tensors as they are."""

    def __call__(self, image: Any) -> Any:
        return _tensor_of(image, type(self).__name__)


class PILToTensor(ToImage):
    """A uint8 tensor of a PIL image; tensors as they are."""


class ToTensor(_Shown):
    """A float32 tensor from 0 to 1 of a PIL image or a uint8 tensor; other tensors as they are."""

    def __call__(self, image: Any) -> Any:
        import torch

        tensor = _tensor_of(image, type(self).__name__)
        return tensor.to(torch.float32).div(255) if tensor.dtype == torch.uint8 else tensor


class ToDtype(_Shown):
    """A tensor in another dtype: uint8, float32, float16 or bfloat16. ``scale``: uint8 from 0 to 255 is 0 to 1 in the others. PIL images as they are."""

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        import torch

        if dtype not in (torch.uint8, torch.float32, torch.float16, torch.bfloat16):
            raise UsageError(f"dtype is {dtype!r}, expected torch.uint8, float32, float16 or bfloat16")
        self.dtype, self.scale = dtype, bool(scale)

    def __call__(self, image: Any) -> Any:
        import torch

        if not isinstance(image, torch.Tensor) or image.dtype == self.dtype:
            return image
        if not self.scale or image.is_floating_point() and self.dtype.is_floating_point:
            return image.to(self.dtype)
        if self.dtype.is_floating_point:
            return image.to(self.dtype).mul_(1 / 255)
        return image.mul(255 + 1 - 1e-3).to(self.dtype)


class ConvertImageDtype(ToDtype):
    """``ToDtype`` with ``scale=True``."""

    def __init__(self, dtype: Any = None) -> None:
        import torch

        super().__init__(torch.float32 if dtype is None else dtype, True)


class Normalize(_Shown):
    """``(image - mean) / std`` of a floating-point tensor, with a number for each channel."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        self.mean, self.std, self.inplace = list(mean), list(std), bool(inplace)
        if not all(self.std):
            raise UsageError(f"std is {self.std!r}, expected no 0")

    def __call__(self, image: Any) -> Any:
        import torch

        if not isinstance(image, torch.Tensor) or not image.is_floating_point():
            raise UsageError("Normalize expects a floating-point tensor: pass the image to ToTensor or ToDtype first")
        mean, std = (torch.tensor(each, dtype=image.dtype)[:, None, None] for each in (self.mean, self.std))
        return image.sub_(mean).div_(std) if self.inplace else image.sub(mean).div_(std)


class Grayscale(_Shown):
    """Gray, in 1 channel or 3, by ITU-R 601-2."""

    def __init__(self, num_output_channels: int = 1) -> None:
        if num_output_channels not in (1, 3):
            raise UsageError(f"num_output_channels is {num_output_channels!r}, expected 1 or 3")
        self.num_output_channels = num_output_channels

    def __call__(self, image: Any) -> Any:
        import torch

        tensor = _tensor_of(image, type(self).__name__)
        if len(tensor) == 3:
            red, green, blue = tensor.to(torch.float32)
            gray = (0.299 * red + 0.587 * green + 0.114 * blue)[None]
            tensor = (gray if tensor.is_floating_point() else gray.round()).to(tensor.dtype)
        tensor = tensor.expand(self.num_output_channels, *tensor.shape[1:]).contiguous()
        return tensor if isinstance(image, torch.Tensor) else to_pil(tensor, image.info)


class RGB(_Shown):
    """Three channels: a gray image three times, others as they are."""

    def __call__(self, image: Any) -> Any:
        import torch

        if not isinstance(image, torch.Tensor):
            return image.convert("RGB")
        return image.expand(3, *image.shape[1:]).contiguous() if len(image) == 1 else image


def _tensor_of(image: Any, name: str) -> Any:
    import torch

    if not isinstance(image, torch.Tensor):
        if not hasattr(image, "getbands"):
            raise UsageError(f"{name} takes a PIL image or a tensor, not {type(image).__name__}")
        return from_pil(image if image.mode in ("RGB", "L") else image.convert("RGB"))
    if image.ndim != 3 or len(image) not in (1, 3):
        raise UsageError(f"{name} takes a tensor of shape (C, H, W) with 1 or 3 channels, not {tuple(image.shape)}")
    return image
