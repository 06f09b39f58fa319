"""A loader and a sampler that keep their place, and replacements for torchvision's datasets. These need Pillow, the loader torch."""

from __future__ import annotations

import functools
import os
from collections.abc import MutableSequence
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, Tuple, Union

import shale.dataset
from shale._arguments import flag
from shale._leading_view import LeadingView, leading_view
from shale._samples import SampleSequence
from shale.errors import NotFoundError, UnsupportedError, UsageError
from shale.loader import Loader, SkippedSample
from shale.sampler import StatefulDistributedSampler
from shale.torch import transforms as transforms

if TYPE_CHECKING:
    from torch.utils.data import Dataset as TorchDataset
else:
    try:
        from torch.utils.data import Dataset as TorchDataset
    except ImportError:

        class TorchDataset:
            """What torch.utils.data.Dataset would be."""


__all__ = ["Dataset", "ImageFolder", "Loader", "SkippedSample", "StatefulDistributedSampler"]


class Dataset(shale.dataset.Dataset, TorchDataset):
    """shale.Dataset for code that insists on a torch.utils.data.Dataset. DataLoader takes either."""


class ImageFolder(SampleSequence, TorchDataset):
    """Replaces ``torchvision.datasets.ImageFolder`` by a shale dataset: one changed line.

    ``ds[i]`` is ``(image, label)``: a PIL.Image in mode RGB and an int, each through its transform.
    The order of the samples, the classes and the labels are those of ``ImageFolder`` on the folder
    that was converted (unless it was shuffled).

    Attributes:
        root: the dataset's path.
        classes: names of the classes, by label.
        class_to_idx: label of each class.
        targets: list of the labels.
        samples, imgs: list of ``(key, label)``, of which nothing is held in memory unless it is changed; the key, which ``loader`` takes,
            is the path relative to the folder that was converted. It may be changed, or set to another list of such pairs: the samples
            are then those, in this order, with these labels.
        transform, target_transform: as given; may be set.
        loader: ``loader(key)`` is the image of a key, before the transform.
        extensions: torchvision's, for code that reads it. It has no effect.

    Args:
        root: a dataset, or a file of another tool, with a field of kind bytes and an integer field.
        transform: called with the image.
        target_transform: called with the label.
        loader, is_valid_file: torchvision's, for files. Must be None: the images are in the dataset.
        allow_empty: torchvision's. It has no effect: the classes are the dataset's.
        verify, cache, index_dir, parse: same as for ``shale.Dataset``.
        image, label: names of the two fields. Default: ``image`` and ``label``, or the only ones of their kinds.

    Raises:
        shale.errors.Error: same as ``shale.Dataset``; UnsupportedError for a dataset without such fields.
    """

    extensions = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

    def __init__(
        self,
        root: Union[str, bytes, os.PathLike],
        transform: Optional[Callable[[Any], Any]] = None,
        target_transform: Optional[Callable[[Any], Any]] = None,
        loader: None = None,
        is_valid_file: None = None,
        allow_empty: bool = False,
        *,
        verify: Union[bool, str] = "auto",
        cache: str = "keep",
        image: Optional[str] = None,
        label: Optional[str] = None,
        parse: Optional[str] = None,
        index_dir: Union[None, str, bytes, os.PathLike] = None,
    ) -> None:
        for name, given in (("loader", loader), ("is_valid_file", is_valid_file)):
            if given is not None:
                raise UsageError(f"{name} is for files, but the images are in the dataset; use transform, or set samples")
        flag(allow_empty, "allow_empty")
        facts = shale.dataset.Dataset(root, fields=["key"], index_dir=index_dir, parse=parse)
        self._image = _field_of_kind(facts, "bytes", "image", image)
        self._label = _field_of_kind(facts, "integer", "label", label)
        self._dataset = shale.dataset.Dataset(
            root, [self._image, self._label], {self._image: "pil"}, None, verify, cache, index_dir, parse=parse
        )
        self._pairs: Any = KeyedLabels(facts, self._label)
        self._targets: Any = None
        self._given_targets: Any = None
        self.root = facts.path
        self.transform = transform
        self.target_transform = target_transform

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name in ("find_classes", "make_dataset"):
            if name in vars(cls):
                raise UsageError(f"{cls.__name__}.{name} would not be called: classes and labels are in the dataset; set samples")

    def __len__(self) -> int:
        return len(self._pairs)

    def _read(self, indices: Iterable[int]) -> list:
        lead = self._lead()
        changed = self._changed_samples()
        if changed is None:
            return self._dataset._read_through(functools.partial(self._pair, lead), indices, lead=lead)
        chosen = [changed[index] for index in indices]
        images = self._dataset._read_through(functools.partial(self._image_of, lead), [self._row(key) for key, _ in chosen], lead=lead)
        return [(image, self._target_of(label)) for image, (_, label) in zip(images, chosen)]

    def _lead(self) -> Optional[LeadingView]:
        """With a transform that begins with a crop or a resize, only what it shows of the image is decoded."""
        return leading_view(self.transform, {self._image: "pil"}, takes_images=True)

    def _row(self, key: str) -> int:
        try:
            return self._dataset.find(key)
        except KeyError:
            raise NotFoundError(f"{self.root}: no sample has key {key!r}, which `samples` was set to hold") from None

    def _image_of(self, lead: Optional[LeadingView], sample: dict) -> Any:
        image = sample[self._image]
        if lead is not None:
            return lead.rest_of(image)
        return image if self.transform is None else self.transform(image)

    def _target_of(self, label: Any) -> Any:
        return label if self.target_transform is None else self.target_transform(label)

    def _pair(self, lead: Optional[LeadingView], sample: dict) -> tuple:
        return self._image_of(lead, sample), self._target_of(sample[self._label])

    def loader(self, key: str) -> Any:
        """The image of a key from `samples`. Errors: NotFoundError."""
        return self._dataset[self._row(key)][self._image]

    def find_classes(self, directory: Any = None) -> Tuple[list, dict]:
        """The names of the classes, and their labels by name, of the dataset."""
        return self.classes, self.class_to_idx

    @property
    def transforms(self) -> Optional[Callable[[Any, Any], tuple]]:
        """Both transforms as one function of image and label; None without any."""
        return None if self.transform is None and self.target_transform is None else _BothTransforms(self)

    @property
    def samples(self) -> Any:
        return self._pairs

    @samples.setter
    def samples(self, pairs: Iterable[Tuple[str, Any]]) -> None:
        if pairs is not self._pairs:
            self._pairs = pairs if isinstance(pairs, list) else list(pairs)
        self._targets = None

    imgs = samples

    def _changed_samples(self) -> Optional[list]:
        """The pairs, if they are not those of the dataset any more."""
        return self._pairs.changed if isinstance(self._pairs, KeyedLabels) else self._pairs

    @functools.cached_property
    def classes(self) -> list:
        return self._dataset.classes

    @functools.cached_property
    def class_to_idx(self) -> dict:
        return self._dataset.class_to_idx

    @property
    def targets(self) -> Any:
        if self._given_targets is not None:
            return self._given_targets
        if self._targets is None:
            changed = self._changed_samples()
            # One int for each label: as small as an array, and reference counts do not touch the list's pages in every worker.
            own: dict = {}
            labels = self._dataset.column(self._label).tolist() if changed is None else (label for _, label in changed)
            self._targets = [own.setdefault(label, label) for label in labels]
        return self._targets

    @targets.setter
    def targets(self, labels: Any) -> None:
        self._given_targets = labels

    def extra_repr(self) -> str:
        """Lines that print(ds) shows between those of torchvision's ImageFolder. A subclass may override it, as there."""
        lead = self._lead()
        decoded = "whole images" if lead is None else f"only what is seen behind {', '.join(type(each).__name__ for each in lead.taken)}"
        return f"Number of classes: {len(self.classes)}\nFormat: {self._dataset._reader().format}\nDecoded: {decoded}"

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}", f"Root location: {self.root}", *self.extra_repr().splitlines()]
        transforms = [] if self.transforms is None else [repr(self.transforms)]
        return "\n    ".join([f"Dataset {type(self).__name__}", *body, *transforms])


class _BothTransforms:
    """Those of a dataset, as torchvision's StandardTransform, which it looks like."""

    def __init__(self, dataset: ImageFolder) -> None:
        self.transform, self.target_transform = dataset.transform, dataset.target_transform

    def __call__(self, image: Any, label: Any) -> tuple:
        transform, target_transform = self.transform, self.target_transform
        return image if transform is None else transform(image), label if target_transform is None else target_transform(label)

    def __repr__(self) -> str:
        lines = ["StandardTransform"]
        for title, each in (("Transform: ", self.transform), ("Target transform: ", self.target_transform)):
            if each is not None:
                lines.append(title + repr(each).replace("\n", "\n" + " " * len(title)))
        return "\n".join(lines)


class KeyedLabels(MutableSequence):
    """``(key, label)`` of each sample, as a list, but read on demand until it is changed: a list of a million tuples would be copied into
    every worker page by page."""

    def __init__(self, dataset: shale.dataset.Dataset, label: str) -> None:
        self._pairs = shale.dataset.Dataset(dataset.path, ["key", label], index_dir=dataset.index_dir, parse=dataset.parse)
        self._label = label
        self.changed: Optional[list] = None

    def _own(self) -> list:
        """A list to change."""
        if self.changed is None:
            self.changed = list(self)
        return self.changed

    def __repr__(self) -> str:
        return f"<(key, label) of {len(self)} samples of {self._pairs.path}>"

    def __len__(self) -> int:
        return len(self._pairs if self.changed is None else self.changed)

    def __getitem__(self, index):
        if self.changed is not None:
            return self.changed[index]
        if isinstance(index, slice):
            return self._read(range(*index.indices(len(self))))
        return self._read([index])[0]

    def __iter__(self):
        if self.changed is not None:
            return iter(self.changed)
        return ((pair["key"], pair[self._label]) for pair in self._pairs)

    def _read(self, indices: Iterable[int]) -> list:
        return [(pair["key"], pair[self._label]) for pair in self._pairs.__getitems__(indices)]

    def __setitem__(self, index: Any, pair: Any) -> None:
        self._own()[index] = pair

    def __delitem__(self, index: Any) -> None:
        del self._own()[index]

    def insert(self, index: int, value: Any) -> None:
        self._own().insert(index, value)

    def sort(self, **how: Any) -> None:
        self._own().sort(**how)

    def copy(self) -> list:
        return list(self)

    def index(self, value: Any, *bounds: Any) -> int:
        return list(self).index(value, *bounds)

    def __eq__(self, other: Any) -> bool:
        return list(self) == list(other) if isinstance(other, (list, KeyedLabels)) else NotImplemented

    def __add__(self, other: Any) -> list:
        return [*self, *other] if isinstance(other, (list, KeyedLabels)) else NotImplemented

    def __radd__(self, other: list) -> list:
        return [*other, *self]

    def __mul__(self, count: int) -> list:
        return list(self) * count

    __rmul__ = __mul__


def _field_of_kind(dataset: shale.dataset.Dataset, kind: str, usual: str, given: Optional[str]) -> str:
    names: list[str] = [name for name, field in dataset.schema.items() if field["kind"] == kind]
    if given is not None:
        if given not in names:
            listed = f"those there are: {', '.join(names)}" if names else "there are none"
            raise NotFoundError(f"{dataset.path}: {usual}={given!r} is not a field of kind {kind}; {listed}")
        return given
    if usual in names:
        return usual
    if len(names) == 1:
        return names[0]
    listed = f"; pass {usual}= with one of {', '.join(names)}" if names else ""
    raise UnsupportedError(f"{dataset.path}: no field '{usual}' of kind {kind}, but {len(names)} fields of that kind{listed}")
