"""Stand-ins for torchvision's datasets. Needs Pillow; torch itself only to train."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any, Callable, Optional, Union

from shale.dataset import Dataset
from shale.errors import UnsupportedError


class ImageFolder:
    """``torchvision.datasets.ImageFolder`` over a dataset of shale: one changed line.

    ``ds[i]`` is ``(image, label)``: a PIL.Image in mode RGB and an int, each through its transform.
    The order of the samples, the classes and the labels are those of ``ImageFolder`` on the folder
    that was converted (unless it was shuffled).

    Attributes:
        classes: names of the classes, by label.
        class_to_idx: label of each class.
        targets: int64 array of shape (len(self),), the labels.
        samples, imgs: sequence of ``(key, label)``, read when asked; the key is the path relative to
            the folder that was converted.

    Args:
        path: a dataset with a field of kind bytes and an integer field, called ``image`` and
            ``label`` unless there is only one of each kind.
        transform: called with the image.
        target_transform: called with the label.
        verify, cache: as of ``shale.Dataset``.

    Raises:
        shale.errors.Error: as ``shale.Dataset``; UnsupportedError for a dataset without such fields.
    """

    def __init__(
        self,
        path: Union[str, bytes, os.PathLike],
        transform: Optional[Callable[[Any], Any]] = None,
        target_transform: Optional[Callable[[int], Any]] = None,
        verify: bool = False,
        cache: str = "keep",
    ) -> None:
        facts = Dataset(path, fields=["key"])
        self._image = _field_of_kind(facts, "bytes", "image")
        self._label = _field_of_kind(facts, "integer", "label")
        self.samples = self.imgs = KeyedLabels(facts.path, self._label)
        self._dataset = Dataset(
            path, [self._image, self._label], {self._image: "pil"}, self._pair, verify, cache
        )
        self.root = facts.path
        self.transform = transform
        self.target_transform = target_transform

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> tuple:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list:
        """As ``shale.Dataset.__getitems__``, each sample ``(image, label)``."""
        return self._dataset.__getitems__(indices)

    def _pair(self, sample: dict) -> tuple:
        image, label = sample[self._image], sample[self._label]
        return (
            image if self.transform is None else self.transform(image),
            label if self.target_transform is None else self.target_transform(label),
        )

    @property
    def classes(self) -> list:
        return self._dataset.classes

    @property
    def class_to_idx(self) -> dict:
        return self._dataset.class_to_idx

    @functools.cached_property
    def targets(self) -> Any:
        return self._dataset.column(self._label)

    def __getstate__(self) -> dict:
        return {name: value for name, value in self.__dict__.items() if name != "targets"}

    def __repr__(self) -> str:
        return f"shale.torch.ImageFolder({self.root!r}: {len(self)} samples, {len(self.classes)} classes)"


class KeyedLabels(Sequence):
    """``(key, label)`` of each sample, read when asked: a list of a million tuples would be copied into
    every worker page by page."""

    def __init__(self, path: str, label: str) -> None:
        self._pairs = Dataset(path, ["key", label])
        self._label = label

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._read(range(*index.indices(len(self))))
        return self._read([index])[0]

    def __iter__(self):
        for pair in self._pairs:
            yield pair["key"], pair[self._label]

    def _read(self, indices: Sequence[int]) -> list:
        return [(pair["key"], pair[self._label]) for pair in self._pairs.__getitems__(indices)]


def _field_of_kind(dataset: Dataset, kind: str, usual_name: str) -> str:
    names = [name for name, field in dataset.schema.items() if field["kind"] == kind]
    if usual_name in names:
        return usual_name
    if len(names) == 1:
        return names[0]
    raise UnsupportedError(
        f"{dataset.path}: no field '{usual_name}' of kind {kind}, and {len(names)} fields of that kind"
    )
