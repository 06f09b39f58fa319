"""What of a pipeline of torchvision's transforms the loader's threads can do: crop, scale and turn over while they decode, and look up what
each level becomes. docs/loading.md says which transforms these are."""

from __future__ import annotations

import functools
import inspect
import math
import re
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

_LEVELS = 256
_OWN = "shale.torch.transforms"
_CODES = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}  # Pillow's numbers
_REPLACEABLE = {"__call__", "forward", "transform", "make_params", "get_params"}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_global_forward_hooks", "_global_forward_pre_hooks")
_RANDOM = re.compile("^(Rand|Auto|AugMix|ColorJitter|CutMix|Elastic|Gaussian|JPEG|MixUp|ScaleJitter|Trivial)")
_KERNELS = {"bilinear": "triangle", "bicubic": "cubic"}


class NotTaken(Exception):
    """Why a transform is left to Python."""


class ViewPlan(NamedTuple):
    """What the threads do, and what is left."""

    steps: List[Tuple[Any, ...]]  # of geometry, as _shale.Views takes them
    kernel: str
    channels: int
    is_gray: bool  # three equal channels
    table: Any  # (channels, 256) tensor: what each level becomes
    fill: Any  # (channels,) tensor: what padding is
    type: str  # what the image is then: "pil", "tensor", or "tv" for tv_tensors.Image
    taken: List[Any]  # transforms
    rest: List[Any]  # transforms, for Python
    reason: str  # why the first of the rest is not taken
    takes_samples: bool  # transforms of v2 are called with the whole sample, others with the image
    mask_fill: int
    keeps_info: bool  # of a PIL image: EXIF and so on

    @property
    def is_plain(self) -> bool:
        """Levels stay as they are."""
        import torch

        return self.table.dtype == torch.uint8 and bool((self.table == torch.arange(_LEVELS, dtype=torch.uint8)).all())


def version_of(transform: Any) -> str:
    """"v1" or "v2" for torchvision's own classes, "own" for shale's, "" for everything else. A subclass is something else. torch's Sequential is
    what is in it."""
    if _is_sequential(transform):
        return next(filter(None, map(version_of, transform)), "")
    module = type(transform).__module__
    if module == _OWN:
        return "own"
    if not module.startswith("torchvision.transforms."):
        return ""
    return "v2" if module.startswith("torchvision.transforms.v2.") else "v1"


def is_pipeline(transform: Any) -> bool:
    """Whether it is a Compose, a Sequential, or a transform that can be taken: a transform of images, and not a function of a sample."""
    name = type(transform).__name__
    return bool(version_of(transform)) and (name in ("Compose", "Sequential") or name in _TAKERS)


def _is_changed(transform: Any) -> bool:
    """Whether it does something else than its class: by hooks, of its own or of all modules of torch, or by methods that were replaced."""
    hooked = (transform, sys.modules.get("torch.nn.modules.module"))
    return any(getattr(each, name, None) for each in hooked for name in _HOOKS) or not _REPLACEABLE.isdisjoint(getattr(transform, "__dict__", ()))


def mask_obstacle(transforms: Sequence[Any]) -> str:
    """Why a mask does not become by a drawn view what these transforms make of it; "" if it does. torch's mode "nearest" is not symmetric."""
    is_flipped = False
    for each in transforms:
        name = type(each).__name__
        if name in ("Resize", "RandomResizedCrop"):
            if is_flipped:
                return f"{name} follows a flip, and there are masks"
            if name == "Resize" and getattr(each.interpolation, "value", each.interpolation) == "nearest-exact":
                return "Resize interpolates masks by nearest-exact"
        is_flipped = is_flipped or name in ("RandomHorizontalFlip", "RandomVerticalFlip")
    return ""


def flattened(transform: Any) -> List[Any]:
    """The transforms of a Compose or a Sequential, nested ones in place."""
    if not version_of(transform) or type(transform).__name__ not in ("Compose", "Sequential") or _is_changed(transform):
        return [transform]
    return [each for inner in (transform if _is_sequential(transform) else transform.transforms) for each in flattened(inner)]


def _is_sequential(transform: Any) -> bool:
    return (type(transform).__module__, type(transform).__name__) == ("torch.nn.modules.container", "Sequential")


def with_seed(transform: Callable[..., Any]) -> Callable[[Any, int], Any]:
    """A function of a sample and a seed, which the transform gets if it has a parameter of that name."""
    return (lambda sample, seed: transform(sample, seed=seed)) if takes_seed(transform) else (lambda sample, seed: transform(sample))


def on_images(transform: Any) -> Any:
    """A function of Pillow's for a whole sample, as transforms of v2 take it: called with each of its images."""
    if not getattr(transform, "__module__", "").startswith("PIL.") or isinstance(transform, type):
        return transform

    def applied(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: applied(each) for name, each in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(map(applied, value))
        return transform(value) if type(value).__module__.startswith("PIL.") else value

    return applied


def takes_seed(transform: Any) -> bool:
    asked = transform
    while isinstance(asked, functools.partial):
        asked = asked.func
    module: Any = sys.modules.get("torch.nn")
    if module is not None and isinstance(asked, module.Module) and type(asked).__call__ is module.Module.__call__:
        asked = asked.forward  # which the parameters of __call__ go to, whatever they are
    try:
        return "seed" in inspect.signature(asked).parameters
    except (TypeError, ValueError):
        return False


def draws_by_itself(transform: Any) -> bool:
    """Whether it is a transform of torchvision that takes random numbers of torch's generator."""
    return any(each.__module__.startswith("torchvision.transforms") and _RANDOM.search(each.__name__) for each in type(transform).__mro__)


def translate(transform: Any, start: str = "pil", most_steps: Optional[int] = None) -> ViewPlan:
    """A plan for images that are of type `start` before the first transform, in RGB.

    Transforms are taken from the first on, up to the first that is none of those that are known, or has parameters that cannot be followed,
    or would be one more step of geometry than `most_steps`. That one is not called; those that change levels are, with a ramp of all levels,
    so that results are theirs to the bit.
    """
    transforms = flattened(transform)
    state = _State(start, most_steps)
    taken: List[Any] = []
    reason = ""
    for each in transforms:
        try:
            state.take(each)
        except NotTaken as error:
            reason = str(error)
            break
        taken.append(each)
    return state.plan(taken, transforms[len(taken) :], reason, version_of(transform) == "v2")


class _State:
    """What the image is after the transforms that were taken so far."""

    def __init__(self, start: str, most_steps: Optional[int]) -> None:
        import torch

        self.type, self.channels, self.is_gray = start, 3, False
        self.steps: List[Tuple[Any, ...]] = []
        self.kernel = ""
        self.most_steps = most_steps
        self.pads = False
        self.keeps_info = True
        self.mask_fill = 0
        # What each level has become, and last what padding has: as an image of one row.
        ramp = torch.arange(_LEVELS + 1).remainder(_LEVELS).to(torch.uint8)
        self.levels = ramp.repeat(3, 1, 1)

    def take(self, transform: Any) -> None:
        """Errors: NotTaken, and nothing has changed."""
        name, version = type(transform).__name__, version_of(transform)
        taker = _TAKERS.get(name) if version else None
        if taker is None:
            raise NotTaken("it is not among the transforms that are translated")
        if _is_changed(transform):
            raise NotTaken("it has hooks, or methods that were replaced")
        taker(self, transform, version)

    def plan(self, taken: List[Any], rest: List[Any], reason: str, takes_samples: bool) -> ViewPlan:
        table, fill = (each.contiguous() for each in (self.levels[:, 0, :_LEVELS], self.levels[:, 0, _LEVELS]))
        kernel = self.kernel or "triangle"
        left = (taken, rest, reason, takes_samples, self.mask_fill, self.keeps_info)
        return ViewPlan(self.steps, kernel, self.channels, self.is_gray, table, fill, self.type, *left)

    @property
    def is_bytes(self) -> bool:
        import torch

        return bool(self.levels.dtype == torch.uint8)

    def add(self, step: Tuple[Any, ...]) -> None:
        if self.most_steps is not None and len(self.steps) >= self.most_steps:
            raise NotTaken("what comes before it cannot be done together with it")
        self.steps.append(step)

    def scale(self, step: Tuple[Any, ...], transform: Any) -> None:
        if not self.is_bytes:
            raise NotTaken(f"it scales values that are {self.dtype_name} already, without rounding them")
        kernel = _kernel_of(transform, self.type)
        if self.kernel not in ("", kernel):
            raise NotTaken("it interpolates in another way than a transform before it")
        self.add(step)
        self.kernel = kernel

    def pad(self, step: Tuple[Any, ...], fill: Sequence[float]) -> None:
        """A step that may pad, with one number for each channel."""
        import torch

        if self.is_bytes and not all(isinstance(each, int) and 0 <= each < _LEVELS for each in fill):
            raise NotTaken(f"fill is {fill!r}, which is not a whole number from 0 to 255")
        color = torch.tensor(fill, dtype=torch.float64).to(self.levels.dtype)
        if self.pads and not torch.equal(color, self.levels[:, 0, _LEVELS]):
            raise NotTaken("it pads with another color than a transform before it")
        self.add(step)
        self.pads = True
        self.levels = self.levels.clone()
        self.levels[:, 0, _LEVELS] = color

    @property
    def dtype_name(self) -> str:
        return str(self.levels.dtype).replace("torch.", "")

    def change_levels(self, transform: Any) -> None:
        """Calls the transform with the ramp."""
        import torch

        try:
            found = transform(self._ramp() if version_of(transform) != "own" else self.levels.clone())
        except Exception as error:
            raise NotTaken(f"it raises {type(error).__name__}: {error}") from error
        if not isinstance(found, torch.Tensor) or found.shape != self.levels.shape:
            raise NotTaken("it changes the number of channels")
        if found.dtype not in (torch.uint8, torch.float32, torch.float16, torch.bfloat16):
            raise NotTaken(f"it makes {found.dtype} of the values")
        self.levels = found.detach().as_subclass(torch.Tensor).clone()

    def _ramp(self) -> Any:
        levels = self.levels.clone()
        if self.type == "pil":
            from PIL import Image

            return Image.fromarray(levels.permute(1, 2, 0).contiguous().numpy() if self.channels == 3 else levels[0].numpy())
        if self.type == "tv":
            from shale._decoding import tv_tensors

            return tv_tensors().Image(levels)
        return levels


def _kernel_of(transform: Any, kind: str) -> str:
    way = transform.interpolation
    way = getattr(way, "value", way)
    way = _CODES.get(way, way) if isinstance(way, int) else way
    if kind != "pil" and way in _KERNELS and transform.antialias is not True:
        raise NotTaken(f"antialias is {transform.antialias!r}")
    if way in _KERNELS:
        return _KERNELS[way]
    if way == "nearest-exact" or (way == "nearest" and kind == "pil"):
        return "nearest"
    raise NotTaken(f"interpolation is {way!r}" + (", which of a tensor does not take the nearest value" if way == "nearest" else ""))


def _sides(size: Any) -> Tuple[int, int]:
    """(width, height) of a size that torchvision's transforms hold as (height, width)."""
    sides = [size, size] if isinstance(size, int) else list(size)
    if len(sides) == 1:
        sides *= 2
    if len(sides) != 2 or not all(isinstance(side, int) and 0 < side < 1 << 24 for side in sides):
        raise NotTaken(f"size is {size!r}")
    return sides[1], sides[0]


def _range(transform: Any, name: str, least: float) -> Tuple[float, float]:
    given = getattr(transform, name)
    try:
        low, high = (float(each) for each in given)
    except (TypeError, ValueError):
        raise NotTaken(f"{name} is {given!r}") from None
    if not (least <= low <= high <= 1e6 and math.isfinite(high)):
        raise NotTaken(f"{name} is {given!r}")
    return low, high


# --- one function for each transform; each raises NotTaken before it changes anything


def _random_resized_crop(state: _State, transform: Any, version: str) -> None:
    step = ("random_resized_crop", *_sides(transform.size), *_range(transform, "scale", 0.0), *_range(transform, "ratio", 1e-6))
    state.scale(step, transform)


def _resize(state: _State, transform: Any, version: str) -> None:
    size, longest = transform.size, transform.max_size
    if longest is not None and not (isinstance(longest, int) and 0 < longest < 1 << 24):
        raise NotTaken(f"max_size is {longest!r}")
    if size is None:
        state.scale(("resize_shorter", 0, longest), transform)
        return
    if not isinstance(size, int) and len(size) == 2:
        if longest is not None:
            raise NotTaken("it has both sides and max_size")
        state.scale(("resize", *_sides(size)), transform)
        return
    shorter = _sides(size)[0]
    if longest is not None and longest <= shorter:
        raise NotTaken(f"max_size is {longest}, not more than the size {shorter}")
    state.scale(("resize_shorter", shorter, longest or 0), transform)


def _center_crop(state: _State, transform: Any, version: str) -> None:
    state.pad(("center_crop", *_sides(transform.size)), [0] * state.channels)


def _random_crop(state: _State, transform: Any, version: str) -> None:
    padding, needs = transform.padding, bool(transform.pad_if_needed)
    if (padding is not None or needs) and transform.padding_mode != "constant":
        raise NotTaken(f"padding_mode is {transform.padding_mode!r}")
    step = ("random_crop", *_sides(transform.size), *_borders(padding, version), needs)
    if not (needs or any(step[3:7])):
        state.add(step)
        return
    fill = 0 if transform.fill is None else transform.fill
    if isinstance(fill, (list, tuple)) and len(fill) == state.channels and (version == "v2" or state.type == "pil"):
        state.pad(step, list(fill))
    elif isinstance(fill, (int, float)):
        state.pad(step, [fill] * state.channels)
        state.mask_fill = int(fill)
    else:
        raise NotTaken(f"fill is {fill!r}")


def _borders(padding: Any, version: str) -> Tuple[int, int, int, int]:
    """(left, top, right, bottom)"""
    if padding is None:
        return 0, 0, 0, 0
    sides = [padding] if isinstance(padding, int) else list(padding)
    if not all(isinstance(side, int) and 0 <= side < 1 << 24 for side in sides):
        raise NotTaken(f"padding is {padding!r}")
    if version == "v2":  # keeps it as (left, right, top, bottom)
        left, right, top, bottom = sides
        return left, top, right, bottom
    if len(sides) not in (1, 2, 4):
        raise NotTaken(f"padding is {padding!r}")
    left, top, right, bottom = sides * (4 // len(sides))
    return left, top, right, bottom


def _flip(is_horizontal: bool, state: _State, transform: Any, version: str) -> None:
    if not (isinstance(transform.p, (int, float)) and 0 <= transform.p <= 1):
        raise NotTaken(f"p is {transform.p!r}")
    state.add(("flip", is_horizontal, float(transform.p)))


def _to_tensor(state: _State, transform: Any, version: str) -> None:
    if state.type == "pil" or version == "own":  # torchvision's leaves tensors as they are
        state.change_levels(transform)
        state.type = "tensor"
    elif version == "v1":
        raise NotTaken("the image is a tensor already")


def _pil_to_tensor(state: _State, transform: Any, version: str) -> None:
    if state.type == "pil":
        state.type = "tensor"
    elif version == "v1":
        raise NotTaken("the image is a tensor already")


def _to_image(state: _State, transform: Any, version: str) -> None:
    state.type = "tv" if version == "v2" else "tensor"


def _to_pure_tensor(state: _State, transform: Any, version: str) -> None:
    state.type = "tensor" if state.type == "tv" else state.type


def _to_dtype(state: _State, transform: Any, version: str) -> None:
    if isinstance(transform.dtype, dict):
        raise NotTaken("dtype is a dictionary")
    if state.type != "pil":  # of images that are not tensors yet, it does nothing
        state.change_levels(transform)


def _convert_dtype(state: _State, transform: Any, version: str) -> None:
    if state.type == "pil":
        raise NotTaken("the image is not a tensor yet")
    state.change_levels(transform)


def _grayscale(state: _State, transform: Any, version: str) -> None:
    import torch

    wanted = transform.num_output_channels
    if wanted not in (1, 3):
        raise NotTaken(f"num_output_channels is {wanted!r}")
    if state.channels == 1:
        if version == "v1" and state.type != "pil":
            raise NotTaken("the image is gray already")
        state.keeps_info &= wanted != 3
        if wanted == 3:
            _rgb(state, transform, version)
        return
    if not state.is_bytes:
        raise NotTaken(f"it adds up values that are {state.dtype_name} already, without rounding them")
    fill = state.levels[:, 0, _LEVELS]
    if not torch.equal(fill, fill[:1].expand(3)):
        raise NotTaken("padding before it has a color")
    state.channels, state.is_gray = wanted, wanted == 3
    state.keeps_info &= wanted != 3  # torchvision makes another image of the array
    state.levels = state.levels[:wanted]


def _rgb(state: _State, transform: Any, version: str) -> None:
    if state.channels == 1:
        state.channels, state.is_gray = 3, True
        state.levels = state.levels.repeat(3, 1, 1)


_TAKERS: Dict[str, Callable[[_State, Any, str], None]] = {
    "CenterCrop": _center_crop,
    "ConvertImageDtype": _convert_dtype,
    "Grayscale": _grayscale,
    "Normalize": _convert_dtype,
    "PILToTensor": _pil_to_tensor,
    "RGB": _rgb,
    "RandomCrop": _random_crop,
    "RandomHorizontalFlip": functools.partial(_flip, True),
    "RandomResizedCrop": _random_resized_crop,
    "RandomVerticalFlip": functools.partial(_flip, False),
    "Resize": _resize,
    "ToDtype": _to_dtype,
    "ToImage": _to_image,
    "ToPureTensor": _to_pure_tensor,
    "ToTensor": _to_tensor,
}
