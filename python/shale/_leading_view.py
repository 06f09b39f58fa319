"""For pipelines that begin with a crop or a resize, of a dataset that gives one sample at a time: only what they show of an image is decoded.
Their random numbers are drawn as they would draw them themselves, from torch's generator."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from shale._decoding import FINISHERS, tv_tensors
from shale._view_pixels import Drawn, info_of, load_by_pillow, nearest_values, pillow_size, size_of, to_pil, views_of
from shale._views import NotTaken, ViewPlan, _State, flattened, is_pipeline, mask_obstacle, version_of

_TYPES = {"pil": "pil", "torchrgb8": "tensor", "tv": "tv"}
_VALUES = ("ConvertImageDtype", "Grayscale", "Normalize", "PILToTensor", "RGB", "ToDtype", "ToImage", "ToPureTensor", "ToTensor")
_FLIPS = ("RandomHorizontalFlip", "RandomVerticalFlip")
_GEOMETRY = (["RandomResizedCrop"], ["Resize", "CenterCrop"], ["Resize"], ["CenterCrop"])


class LeadingView:
    """What is decoded of an image, and the transforms that are left. Immutable."""

    def __init__(self, field: str, masks: List[str], plan: ViewPlan, fixed: List[Tuple[Any, ...]], random: List[Any], rest: List[Any]) -> None:
        self.field, self.masks, self._plan, self._random, self.rest = field, masks, plan, random, rest
        self.taken = plan.taken
        self._order = "hwc" if plan.type == "pil" else "chw"
        # At full size: pixels are those that there would be without shale.
        self._views = views_of(plan, self._order, False, steps=fixed)
        self._whole = views_of(plan, self._order, False, steps=[])

    def _draw(self, width: int, height: int) -> Drawn:
        """In the order in which the transforms would draw."""
        import torch

        drawn = None
        turned = [False, False]
        for each in self._random:
            if type(each).__name__ in _FLIPS:
                which = type(each).__name__ == "RandomVerticalFlip"
                turned[which] ^= bool(torch.rand(1) < each.p)
                continue
            image = torch.empty((3, height, width), dtype=torch.uint8, device="meta")
            if hasattr(each, "make_params"):
                params = each.make_params([image])
                box = tuple(int(params[name]) for name in ("left", "top", "width", "height"))
            else:
                y, x, tall, wide = each.get_params(image, each.scale, each.ratio)
                box = (x, y, wide, tall)
            size = self._plan.steps[0][1:3]
            drawn = (*box, *size, 0, 0, *size, 0, 0, *size, 0, 0)
        return ((drawn or self._views.draw(width, height, 0))[:14]) + (int(turned[0]), int(turned[1]))

    def load(self, value: Optional[bytes]) -> Tuple[Any, Optional[Drawn]]:
        """The image, as the transforms make it, up to those that are left; and the view. Errors: those of Pillow."""
        import torch

        if value is None:
            return None, None
        whole = self._whole.sizes([value], [0])[0]
        drawn = self._draw(*(whole[2:4] if whole is not None else pillow_size(value)))
        plan, (height, width) = self._plan, size_of(drawn)
        shape = (height, width, plan.channels) if self._order == "hwc" else (plan.channels, height, width)
        tensor = torch.empty(shape, dtype=plan.table.dtype)
        image = tensor.permute(2, 0, 1) if self._order == "hwc" else tensor
        if self._views.load([value], [drawn], tensor.view(torch.uint8).numpy())[0] is not None:
            load_by_pillow(value, drawn, plan, image)
        if plan.type == "pil":
            return to_pil(image, info_of(value) if plan.keeps_info else {}), drawn
        return (tv_tensors().Image(image) if plan.type == "tv" else image), drawn

    def rest_of(self, made: Any) -> Any:
        """What the transforms that are left make of an image, or a sample."""
        for transform in self.rest:
            made = transform(made)
        return made

    def load_mask(self, value: bytes, drawn: Optional[Drawn]) -> Any:
        """As `load`, of a mask. Errors: ValueError for one of another size than the image."""
        import torch

        mask = FINISHERS["tv_mask"](value)
        if drawn is None:
            return mask
        height, width = mask.shape[-2:]
        is_fixed = not any(type(each).__name__ == "RandomResizedCrop" for each in self._random)
        if drawn[0] + drawn[2] > width or drawn[1] + drawn[3] > height or (is_fixed and self._views.draw(width, height, 0)[:14] != drawn[:14]):
            raise ValueError("it is of another size than the image")
        return tv_tensors().Mask(nearest_values(mask.as_subclass(torch.Tensor), drawn, 0))


def leading_view(transform: Any, ways: Mapping[str, Optional[str]], takes_images: bool, has_arrays: bool = False) -> Optional[LeadingView]:
    """A view for the images among fields that are decoded in these ways, if `transform` begins with one. `takes_images`: it is called with the
    image, not with the sample; `has_arrays`: there are arrays in it, which some transforms would take for images."""
    if transform is None or not is_pipeline(transform) or version_of(transform) == "own":
        return None
    if not takes_images and version_of(transform) != "v2":
        return None
    decoded: Dict[str, str] = {name: way for name, way in ways.items() if way is not None}
    images = [name for name, way in decoded.items() if way in _TYPES]
    masks = [name for name, way in decoded.items() if way == "tv_mask"]
    if len(images) != 1 or len(images) + len(masks) != len(decoded) or (masks and decoded[images[0]] == "torchrgb8"):
        return None
    each = flattened(transform)
    names = [type(one).__name__ for one in each]
    begin = 0
    while begin < len(each) and not has_arrays and names[begin] in _VALUES:
        begin += 1
    count = next((len(together) for together in _GEOMETRY if names[begin : begin + len(together)] == together), 0)
    state = _State(_TYPES[decoded[images[0]]], None)
    taken = 0
    try:
        for one, name in zip(each, names):
            if taken >= begin + count and (has_arrays or name not in (*_VALUES, *_FLIPS)):
                break
            state.take(one)
            taken += 1
    except NotTaken:
        pass
    if count == 0 or taken < begin + count:
        return None
    if masks and mask_obstacle(each[:taken]):
        return None
    random = [one for one, name in zip(each[:taken], names) if name in (*_FLIPS, "RandomResizedCrop")]
    fixed = [step for step in state.steps if step[0] != "flip"]
    return LeadingView(images[0], masks, state.plan(each[:taken], each[taken:], "", False), fixed, random, each[taken:])
