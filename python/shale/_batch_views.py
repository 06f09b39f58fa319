"""Images of a batch, decoded by a loader's threads straight into the batch: of each only what a pipeline of transforms shows of it."""

from __future__ import annotations

import functools
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from shale import _shale
from shale._batch_memory import BufferPool, Rows
from shale._blocks import read_each, read_one
from shale._decoding import FINISHERS, tv_tensors
from shale._sample_sources import SampleSources, _reads_itself
from shale._view_pixels import info_of, load_by_pillow, nearest_values, pillow_size, size_of, to_pil, views_of
from shale._views import ViewPlan, is_pipeline, mask_obstacle, on_images, translate, with_seed
from shale.errors import ContentError, UnsupportedError, UsageError

# What takes the place of a sample: the step, the place, why it is not there, and what reads another. Raises, if nothing is to.
Instead = Callable[[Any, int, Exception, Callable[[int], Any]], Any]

_TYPES = {"pil": "pil", "rgb8": "pil", "torchrgb8": "tensor", "tv": "tv"}
_MASKS = ("tv_mask", "gray8")


class _Fields(NamedTuple):
    images: Tuple[str, ...]  # the first one is the one that boxes are drawn for
    masks: Dict[str, str]  # how each is decoded
    type: str


class _Batch(NamedTuple):
    """What is being loaded: numbers of samples, their seeds, where memory is from, and why samples are not there, by their place."""

    numbers: Sequence[int]
    seeds: Sequence[int]
    pool: Optional[BufferPool]  # None: of each image alone
    leases: List[weakref.finalize]
    errors: Dict[int, Exception]


class BatchViews:
    """What a loader does with a pipeline of transforms. Immutable: its threads share it."""

    def __init__(self, sources: SampleSources, transform: Any, fields: _Fields, scaled_decoding: bool, channels_last: bool) -> None:
        self._sources, self.fields = sources, fields
        self._scaled, self._channels_last = scaled_decoding, channels_last
        self._take(translate(transform, fields.type))
        if self._views.taken < len(self.plan.steps):
            self._take(translate(transform, fields.type, self._views.taken))

    def _take(self, plan: ViewPlan) -> None:
        self.plan = plan
        self._gives_pil = plan.type == "pil" and bool(plan.rest)
        self._rest = list(map(with_seed, map(on_images, plan.rest) if plan.takes_samples else plan.rest))
        self._order = "hwc" if self._channels_last or self._gives_pil else "chw"
        self._views = views_of(plan, self._order, self._scaled)
        self._whole = views_of(plan, self._order, self._scaled, steps=[])
        fill = bytes([plan.mask_fill])
        self._mask_views = _shale.Views(
            plan.steps, kernel="nearest", channels=1, order="chw", table=None, item_bytes=1, fill=fill, scaled_decoding=False, values=True
        )

    # --- a batch

    def load(
        self, step: Any, seeds: Sequence[int], pool: BufferPool, leases: List[weakref.finalize], instead: Instead
    ) -> Tuple[List[Any], List[Rows]]:
        """Samples with their images, which lie in the batch already if they are of one size."""
        batch = _Batch(step.numbers.tolist(), seeds, pool, leases, {})
        read = self._sources.read_raw
        if step.pieces:
            samples = [read_one(number, read) if piece is None else piece.take(number) for piece, number in zip(step.pieces, batch.numbers)]
        else:
            samples = read_each(batch.numbers, read)
        rows = self._fill(batch, samples)
        for place, cause in sorted(batch.errors.items()):
            samples[place] = instead(step, place, cause, functools.partial(self._alone, seed=seeds[place]))
        return samples, rows

    def _alone(self, number: int, seed: int) -> Dict[str, Any]:
        """A sample by itself. Errors: DamagedError, ContentError."""
        samples: List[Dict[str, Any]] = self._sources.read_raw([number])
        batch = _Batch([number], [seed], None, [], {})
        self._fill(batch, samples)
        if batch.errors:
            raise batch.errors[0]
        return samples[0]

    def _fill(self, batch: _Batch, samples: List[Any]) -> List[Rows]:
        """Decodes the images and masks of samples, which may be exceptions. Returns the batches that they lie in."""
        images, errors = self.fields.images, batch.errors
        drawn = self._drawn(batch, samples, images[0])
        errors.update({place: each for place, each in enumerate(drawn) if isinstance(each, Exception)})
        rows: List[Rows] = []
        for name in (*images, *self.fields.masks):
            if name != images[0]:
                self._check_sizes(batch, name, drawn, self._drawn(batch, samples, name))
            values = [None if place in errors else sample[name] for place, sample in enumerate(samples)]
            views = [None if value is None else view for value, view in zip(values, drawn)]
            sizes = {size_of(view) for view in views if view is not None}
            size = sizes.pop() if batch.pool is not None and len(sizes) == 1 and None not in views else None
            found, together = (self._decoded if name in images else self._decoded_masks)(batch, name, values, views, size)
            if together is not None:
                rows.append(together)
            for place, value in enumerate(found):
                if place not in errors:
                    samples[place][name] = value
        return rows

    # --- what is drawn

    def _drawn(self, batch: _Batch, samples: Sequence[Any], name: str) -> List[Any]:
        """For each sample a drawn view, an exception, or None if there is no image."""
        values = [None if isinstance(sample, Exception) else sample[name] for sample in samples]
        try:
            found: List[Any] = list(self._views.sizes(values, list(batch.seeds)))
        except ContentError:
            found = [None] * len(values)
        for place, (sample, value) in enumerate(zip(samples, values)):
            if isinstance(sample, Exception):
                found[place] = sample
            elif found[place] is None and value is not None:
                found[place] = self._drawn_alone(batch.numbers[place], name, value, batch.seeds[place])
        return found

    def _drawn_alone(self, number: int, name: str, value: bytes, seed: int) -> Any:
        try:
            size = self._whole.sizes([value], [seed])[0]
            width, height = size[2:4] if size is not None else pillow_size(value)
        except UnsupportedError:
            raise
        except Exception as error:
            return self._content_error(number, name, error)
        try:
            return self._views.draw(width, height, seed)
        except ContentError as error:
            return self._content_error(number, name, error, "cannot be cropped")

    def _check_sizes(self, batch: _Batch, name: str, drawn: Sequence[Any], views: Sequence[Any]) -> None:
        """Notes further images whose boxes are not those of the first."""
        for place, view in enumerate(views):
            if isinstance(drawn[place], Exception) or view is None or drawn[place] is None:
                continue
            if isinstance(view, Exception):
                batch.errors[place] = view
            elif view != drawn[place]:
                error = ValueError(f"its size is not that of the image in field '{self.fields.images[0]}'")
                batch.errors[place] = self._content_error(batch.numbers[place], name, error, "does not go with another")

    def _content_error(self, number: int, name: str, error: Exception, what: str = "does not decode") -> Exception:
        which, position = self._sources.place(number)
        dataset = self._sources.datasets[which]
        made: Exception = dataset._content_error(dataset._rows([position])[0], name, error, what)
        made.__cause__ = error
        return made

    # --- pixels

    def _decoded(self, batch: _Batch, name: str, values: List[Any], views: List[Any], size: Any) -> Tuple[List[Any], Optional[Rows]]:
        """The images, and the batch that they are rows of if all have that size. Notes what does not decode."""
        whole = None
        if size is not None:
            whole, memory = self._memory(len(values), size, batch.pool, batch.leases)
            images = list(whole)
        else:
            pairs = [(None, None) if view is None else self._memory(1, size_of(view), None, batch.leases) for view in views]
            images, memory = [None if image is None else image[0] for image, _ in pairs], [each for _, each in pairs]
        for place, reason in enumerate(self._views.load([None if view is None else value for value, view in zip(values, views)], views, memory)):
            view, value = views[place], values[place]
            if view is None or value is None:
                continue
            try:
                if reason is not None:
                    load_by_pillow(value, view, self.plan, images[place])
                images[place] = self._typed(images[place], value)
            except UnsupportedError:
                raise
            except Exception as error:
                batch.errors[place] = self._content_error(batch.numbers[place], name, error)
        return images, None if whole is None or self._gives_pil else Rows(self._typed(whole), images)

    def _memory(self, count: int, size: Tuple[int, int], pool: Optional[BufferPool], leases: List[weakref.finalize]) -> Tuple[Any, Any]:
        """A tensor (count, channels, height, width), and its memory as an array."""
        import torch

        plan = self.plan
        shape = (count, plan.channels, *size) if self._order == "chw" else (count, *size, plan.channels)
        dtype = plan.table.dtype
        tensor = torch.empty(shape, dtype=dtype) if pool is None else pool.empty(shape, dtype, leases)
        memory = tensor.view(torch.uint8).numpy()
        return (tensor if self._order == "chw" else tensor.permute(0, 3, 1, 2)), memory

    def _typed(self, image: Any, value: bytes = b"") -> Any:
        """An image, of which the encoded value is given, or a batch of them, as what the transforms that are left take."""
        if self._gives_pil:
            return to_pil(image, info_of(value) if self.plan.keeps_info else {})
        return tv_tensors().Image(image) if self.plan.type == "tv" else image

    def _decoded_masks(self, batch: _Batch, name: str, values: List[Any], views: List[Any], size: Any) -> Tuple[List[Any], Optional[Rows]]:
        """As `_decoded`: the nearest values, by the threads for PNGs that hold bytes."""
        import torch

        way = self.fields.masks[name]
        masks: List[Any] = [None] * len(values)
        reasons: List[Optional[str]] = [""] * len(values)
        whole = None
        if way == "tv_mask" and size is not None and batch.pool is not None:
            whole = batch.pool.empty((len(values), *size), torch.uint8, batch.leases)
            masks, reasons = list(whole), self._mask_views.load(list(values), views, whole.numpy())
        for place, (reason, value, view) in enumerate(zip(reasons, values, views)):
            if reason is None or value is None or view is None:
                continue
            try:
                mask = torch.as_tensor(FINISHERS[way](value)).as_subclass(torch.Tensor)
            except UnsupportedError:
                raise
            except Exception as error:
                batch.errors[place] = self._content_error(batch.numbers[place], name, error)
                continue
            seen = nearest_values(mask, view, self.plan.mask_fill)
            if whole is not None and (seen.dtype, seen.shape) == (whole.dtype, whole.shape[1:]):
                masks[place].copy_(seen)
            else:
                masks[place] = seen
        typed = tv_tensors().Mask if way == "tv_mask" else lambda mask: mask
        are_rows = whole is not None and all(mask.dtype == torch.uint8 and mask.shape == whole.shape[1:] for mask in masks)
        masks = [None if mask is None else typed(mask) for mask in masks]
        return masks, Rows(typed(whole), masks) if are_rows else None

    # --- what Python does

    def finish(self, sample: Dict[str, Any], number: int, seed: int) -> Any:
        """What the transforms that are left make of a sample."""
        dataset = self._sources.datasets[self._sources.place(number)[0]]
        if not self.plan.takes_samples:
            for transform in self._rest:
                for name in self.fields.images:
                    if sample[name] is not None:
                        sample[name] = transform(sample[name], seed)
        made: Any = sample if dataset.as_tuple is None else tuple([sample[name] for name in dataset.as_tuple])
        if self.plan.takes_samples:
            for transform in self._rest:
                made = transform(made, seed)
        return made

    def laid_out(self, batch: Any) -> Any:
        """With channels last where that was asked for, after transforms in Python."""
        import torch

        if self._channels_last and self.plan.rest and isinstance(batch, dict):
            for name in self.fields.images:
                if isinstance(batch.get(name), torch.Tensor) and batch[name].ndim == 4:
                    batch[name] = batch[name].contiguous(memory_format=torch.channels_last)
        return batch

    def describe(self) -> List[str]:
        """What is done where, in lines."""
        names = [type(each).__name__ for each in self.plan.taken]
        dtype = str(self.plan.table.dtype).replace("torch.", "")
        scales = "at full size" if not self._scaled else "at the smallest scale that is enough"
        lines = [f"in its threads: {', '.join(self.fields.images)} decoded {scales}, {', '.join([*names, dtype])}"]
        if self.fields.masks:
            lines.append(f"in its threads, in Python: {', '.join(self.fields.masks)} with the same boxes")
        if self.plan.rest:
            left = ", ".join(type(each).__name__ for each in self.plan.rest)
            lines.append(f"in its threads, in Python: {left} ({type(self.plan.rest[0]).__name__}: {self.plan.reason})")
        return lines


def batch_views(
    sources: SampleSources, transform: Any, scaled_decoding: bool, memory_format: Any
) -> Tuple[Optional[BatchViews], str]:
    """What a loader does with `transform`; None if it is called with each sample, and, for a pipeline, why.

    Errors: UsageError for a memory_format that it cannot have.
    """
    import torch

    if memory_format not in (None, torch.contiguous_format, torch.channels_last):
        raise UsageError(f"memory_format is {memory_format!r}, expected torch.contiguous_format or torch.channels_last")
    channels_last = memory_format is torch.channels_last
    why = "" if is_pipeline(transform) else "it is not a pipeline of torchvision's or of shale.torch.transforms"
    fields = None
    if not why:
        why, fields = _fields_of(sources)
    if fields is not None and fields.masks:
        why = mask_obstacle(translate(transform, fields.type).taken)
    if why or fields is None:
        if channels_last:
            raise UsageError(f"memory_format=torch.channels_last is for images that the loader decodes; the transform is called with each sample: {why}")
        return None, why if is_pipeline(transform) else ""
    sources.open_raw()
    return BatchViews(sources, transform, fields, scaled_decoding, channels_last), ""


def _fields_of(sources: SampleSources) -> Tuple[str, Optional[_Fields]]:
    """Which fields are images; or why it cannot be known."""
    found: List[_Fields] = []
    for which, dataset in enumerate(sources.datasets):
        if not _reads_itself(dataset):
            return f"it reads through {type(dataset).__name__}, not a shale.Dataset itself (whose indices= makes subsets)", None
        if dataset.transform is not None:
            return f"{sources.name(which)} has a transform of its own", None
        if dataset._files or dataset._chosen.names:
            return f"{sources.name(which)} reads parts of samples (select, lazy, or decode='file')", None
        kinds = {name: dataset.schema.get(name, {}).get("kind") for name in dataset.fields}
        dataset._reader()
        ways = {name: way for name, way in dataset._ways.items() if way is not None}
        if any(kinds[name] == "list" for name in ways):
            return f"{sources.name(which)} has lists of images", None
        images = tuple(name for name, way in ways.items() if way in _TYPES)
        types = {_TYPES[ways[name]] for name in images}
        if not ways:
            named = [name for name in dataset.fields if kinds[name] == "bytes"]
            images, types = (("image",) if "image" in named else tuple(named)), {"pil"}
            if len(images) > 1:
                return f"{sources.name(which)} has several fields of kind bytes, and decode= does not say which are images", None
        if len(types) != 1 or not images:
            return f"{sources.name(which)} has no images, or images of several types", None
        masks = {name: way for name, way in ways.items() if way in _MASKS}
        if len(images) + len(masks) < len(ways):
            return f"{sources.name(which)} has fields with decode='unchanged'", None
        found.append(_Fields(images, masks, types.pop()))
    if any(each != found[0] for each in found):
        return "the datasets differ in their images", None
    return "", found[0]
