"""For pipelines that begin with a crop or a resize, of a dataset that gives one sample at a time: only what they show of an image is decoded.
Their random numbers are drawn as they would draw them themselves, from torch's generator."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from shale import _shale
from shale._decoding import FINISHERS, tv_tensors
from shale._view_pixels import Drawn, cropped, load_by_pillow, nearest_values, pillow_size, size_of, to_pil
from shale._views import NotTaken, ViewPlan, _State, flattened, is_pipeline, version_of

_TYPES = {"pil": "pil", "torchrgb8": "tensor", "tv": "tv"}
_BEFORE = ("ToImage", "PILToTensor", "ToDtype", "ToPureTensor", "RGB")  # they may as well come after it
_TOGETHER = (["RandomResizedCrop"], ["Resize", "CenterCrop"], ["Resize"], ["CenterCrop"])


class LeadingView:
    """What is decoded of an image, and the transforms that are left. Immutable."""

    def __init__(self, field: str, masks: List[str], start: str, plan: ViewPlan, random: Any, rest: List[Any]) -> None:
        self.field, self.masks, self._start, self._plan, self._random, self.rest = field, masks, start, plan, random, rest
        self._order = "hwc" if start == "pil" else "chw"
        self._views = _shale.Views(
            plan.steps,
            kernel=plan.kernel,
            channels=3,
            order=self._order,
            table=None,
            item_bytes=1,
            fill=bytes(3),
            scaled_decoding=False,  # pixels are those that there would be without shale
        )

    def _draw(self, width: int, height: int) -> Drawn:
        if self._random is None:
            return self._views.draw(width, height, 0)
        import torch

        image = torch.empty((3, height, width), dtype=torch.uint8, device="meta")
        if hasattr(self._random, "make_params"):
            params = self._random.make_params([image])
            top, left, height, width = (int(params[name]) for name in ("top", "left", "height", "width"))
        else:
            top, left, height, width = self._random.get_params(image, self._random.scale, self._random.ratio)
        return cropped(0, 0, (left, top, width, height), self._plan.steps[0][1:3])

    def load(self, value: Optional[bytes]) -> Tuple[Any, Optional[Drawn]]:
        """The image, of the type that the transforms get, cropped and scaled; and the view. Errors: those of Pillow."""
        import torch

        if value is None:
            return None, None
        drawn = self._draw(*self._size(value))
        height, width = size_of(drawn)
        tensor = torch.empty((height, width, 3) if self._order == "hwc" else (3, height, width), dtype=torch.uint8)
        if self._views.load([value], [drawn], tensor.numpy())[0] is not None:
            load_by_pillow(value, drawn, self._plan, tensor.permute(2, 0, 1) if self._order == "hwc" else tensor)
        if self._start == "pil":
            return to_pil(tensor.permute(2, 0, 1)), drawn
        return (tv_tensors().Image(tensor) if self._start == "tv" else tensor), drawn

    def _size(self, value: bytes) -> Tuple[int, int]:
        whole = _ALL.sizes([value], [0])[0]
        return (whole[2], whole[3]) if whole is not None else pillow_size(value)

    def load_mask(self, value: Optional[bytes], drawn: Optional[Drawn]) -> Any:
        """As `load`, of a mask. Errors: ValueError for one of another size than the image."""
        import torch

        if value is None or drawn is None:
            return FINISHERS["tv_mask"](value)
        mask = FINISHERS["tv_mask"](value)
        height, width = mask.shape[-2:]
        if drawn[0] + drawn[2] > width or drawn[1] + drawn[3] > height or (self._random is None and self._views.draw(width, height, 0) != drawn):
            raise ValueError("it is of another size than the image")
        return tv_tensors().Mask(nearest_values(mask.as_subclass(torch.Tensor), drawn, 0))


_ALL = _shale.Views([], kernel="nearest", channels=3, order="chw", table=None, item_bytes=1, fill=bytes(3), scaled_decoding=False)


def leading_view(transform: Any, ways: Mapping[str, Optional[str]], takes_images: bool) -> Optional[LeadingView]:
    """A view for the images among fields that are decoded in these ways, if `transform` begins with one; `takes_images`: it is called with the
    image, not with the sample."""
    if transform is None or not is_pipeline(transform) or version_of(transform) == "own":
        return None
    if not takes_images and version_of(transform) != "v2":
        return None
    decoded: Dict[str, str] = {name: way for name, way in ways.items() if way is not None}
    images = [name for name, way in decoded.items() if way in _TYPES]
    masks = [name for name, way in decoded.items() if way == "tv_mask"]
    if len(images) != 1 or len(images) + len(masks) != len(decoded) or (masks and decoded[images[0]] == "torchrgb8"):
        return None
    start = _TYPES[decoded[images[0]]]
    each = flattened(transform)
    before = next((number for number, one in enumerate(each) if type(one).__name__ not in _BEFORE), len(each))
    names = [type(one).__name__ for one in each[before : before + 2]]
    count = next((len(together) for together in _TOGETHER if names[: len(together)] == together), 0)
    state = _State(start, None)
    try:
        for one in each[: before + count]:
            state.take(one)
    except NotTaken:
        return None
    if count == 0 or not state.is_bytes or (count == 2 and state.kernel == ""):
        return None
    plan = ViewPlan(state.steps, state.kernel or "triangle", 3, False, state.levels[:, 0, :256], state.levels[:, 0, 256], start, [], [], "", False, 0)
    random = each[before] if names[0] == "RandomResizedCrop" else None
    return LeadingView(images[0], masks, start, plan, random, [*each[:before], *each[before + count :]])
