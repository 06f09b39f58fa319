"""Copies and subclasses do what they do with torch's own datasets: each override is honoured, whoever reads."""

import copy
import json
import pickle
import random

import pytest
import torch
from conftest import jpeg, write
from torch.utils.data import ConcatDataset, DataLoader, Subset

pytest.importorskip("shale")
import shale as package
from shale import errors
from shale.torch import ImageFolder

ROWS, FEW = 61, 9


@pytest.fixture(scope="module")
def few(shale, tmp_path_factory):
    folder = tmp_path_factory.mktemp("few")
    for row in range(FEW):
        write(folder / "photos", f"n{row % 2}/{row}.jpg", jpeg(row))
    shale("convert", folder / "photos", folder / "out", "--to", "record")
    return folder / "out"


def one_by_one(ds):
    return [ds[row] for row in range(len(ds))]


READERS = {
    "[]": one_by_one,
    "__getitems__": lambda ds: ds.__getitems__(range(FEW)) if ds.__getitems__ else one_by_one(ds),
    "iteration": list,
    "DataLoader": lambda ds: [sample for batch in DataLoader(ds, 4, collate_fn=list) for sample in batch],
    "DataLoader without batches": lambda ds: list(DataLoader(ds, batch_size=None, collate_fn=lambda sample: sample)),
    "Subset": lambda ds: Subset(ds, range(FEW)).__getitems__(list(range(FEW))),
    "concatenation": lambda ds: one_by_one(ds + ds)[:FEW],
    "a worker": lambda ds: [sample for batch in DataLoader(ds, 4, num_workers=1, collate_fn=list) for sample in batch],
}


def marks_one(base):
    class MarksOne(base):
        def __getitem__(self, index):
            return super().__getitem__(index), "one"

    return MarksOne


def marks_many(base):
    class MarksMany(base):
        def __getitems__(self, indices):
            return [(sample, "many") for sample in super().__getitems__(indices)]

    return MarksMany


def marks_both(base):
    class MarksBoth(base):
        def __getitem__(self, index):
            return super().__getitem__(index), "both"

        def __getitems__(self, indices):
            return [(sample, "both") for sample in super().__getitems__(indices)]

    return MarksBoth


def mixed_in(base):
    class Mixin:
        def __getitem__(self, index):
            return super().__getitem__(index), "mixin"

    return type("MixedIn", (Mixin, base), {})


def side_by_side(base):
    return type("SideBySide", (marks_one(base), marks_many(base)), {})


def switched_off(base):
    return type("SwitchedOff", (marks_one(base),), {"__getitems__": None})


SUBCLASSES = {
    "one": (marks_one, ["one"]),
    "many": (marks_many, ["many"]),
    "both": (marks_both, ["both"]),
    "many of one": (lambda base: marks_many(marks_one(base)), ["one", "many"]),
    "one of many": (lambda base: marks_one(marks_many(base)), ["many", "one"]),
    "one of both": (lambda base: marks_one(marks_both(base)), ["both", "one"]),
    "mixin": (mixed_in, ["mixin"]),
    "mixin of many": (lambda base: mixed_in(marks_many(base)), ["many", "mixin"]),
    "side by side": (side_by_side, ["many", "one"]),
    "nothing more": (lambda base: type("Empty", (marks_one(base),), {}), ["one"]),
    "switched off": (switched_off, ["one"]),
}


def marks_of(sample):
    """The marks, innermost first."""
    marks = []
    while isinstance(sample, tuple) and isinstance(sample[-1], str):
        sample, mark = sample
        marks.insert(0, mark)
    return marks


@pytest.mark.parametrize("base", [package.Dataset, ImageFolder])
@pytest.mark.parametrize(("subclass", "marks"), SUBCLASSES.values(), ids=SUBCLASSES)
def test_an_override_is_honoured_by_every_reader(few, base, subclass, marks):
    """Findings C4: with `__getitem__` overridden, DataLoader, Subset and iteration read past it."""
    ds = subclass(base)(few)
    for name, read in READERS.items():
        if name == "a worker" and subclass is not marks_one:
            continue
        samples = read(ds)
        assert len(samples) == FEW and all(marks_of(sample) == marks for sample in samples), name


def label_of(image):
    return image.size


def test_a_copy_has_transforms_of_its_own(dataset):
    """Findings C3: the usual way to two transforms of one folder."""
    train = ImageFolder(dataset, transform=label_of)
    assert isinstance(train[0][0], tuple)  # one that has been read from, and may have kept something
    val = copy.copy(train)
    val.transform = val.target_transform = str
    assert isinstance(train[0][0], tuple) and isinstance(train[0][1], int)
    assert isinstance(val[0][0], str) and isinstance(val[0][1], str)
    train.transform = None
    assert isinstance(val[0][0], str) and train[0][0].mode == "RGB"
    for again in (copy.deepcopy(val), pickle.loads(pickle.dumps(val))):
        assert again[0] == val[0] or again[0][1] == val[0][1]
        assert again.transform is str
    lists = package.Dataset(dataset, transform=len)
    assert lists[0] == 3
    other = copy.copy(lists)
    other.transform = list
    assert lists[0] == 3 and other[0] == list(package.Dataset(dataset)[0])


class Slotted(package.Dataset):
    __slots__ = ("note", "__hidden", "unset")

    def hide(self, value):
        self.__hidden = value

    def hidden(self):
        return self.__hidden


@pytest.mark.parametrize("carry", [copy.copy, copy.deepcopy, lambda ds: pickle.loads(pickle.dumps(ds))])
def test_slots_of_a_subclass_travel(dataset, carry):
    ds = Slotted(dataset, ["label"])
    ds.note, ds.more = "n", [1]
    ds.hide(5)
    again = carry(ds)
    assert (again.note, again.more, again.hidden(), again[3]) == ("n", [1], 5, ds[3]) and not hasattr(again, "unset")


def test_they_are_datasets_of_torch(dataset):
    for ds in (ImageFolder(dataset), package.torch.Dataset(dataset)):
        assert isinstance(ds, torch.utils.data.Dataset)
    both = package.Dataset(dataset, ["label"]) + package.torch.Dataset(dataset, ["label"])
    assert isinstance(both, ConcatDataset) and len(both) == 2 * ROWS and both[ROWS] == both[0] == {"label": 0}
    assert len(ImageFolder(dataset) + ImageFolder(dataset)) == 2 * ROWS


def test_a_list_of_samples_may_be_set(dataset, photos, image_folder):
    """The filter idiom of torchvision's users: of ImageFolder it changes what is read."""
    real, ours = image_folder(str(photos)), ImageFolder(dataset)
    keep = [5, 60, 2, 2]
    pairs = [ours.samples[row] for row in keep]
    real.samples = [real.samples[row] for row in keep]
    ours.samples = pairs
    for ds in (ours, copy.copy(ours), pickle.loads(pickle.dumps(ours))):
        assert len(ds) == len(real) == 4 and ds.imgs == ds.samples == pairs
        for (image, label), (wanted, wanted_label) in zip(ds, (real[row] for row in range(4))):
            assert (image.tobytes(), label) == (wanted.tobytes(), wanted_label)
    assert ours.targets == [label for _, label in pairs]
    ours.samples = [(key, label + 10) for key, label in ours.samples]
    assert ours[1][1] == pairs[1][1] + 10
    ours.samples.append(("nowhere.jpg", 0))
    with pytest.raises(errors.NotFoundError, match="nowhere"):
        ours[4]


def test_targets_and_samples_are_lists(dataset, photos, image_folder):
    real, ours = image_folder(str(photos)), ImageFolder(dataset)
    assert ours.targets == real.targets and type(ours.targets) is list and {type(label) for label in ours.targets} == {int}
    assert ours.targets + ours.targets == real.targets + real.targets and json.dumps(ours.targets) == json.dumps(real.targets)
    assert bool(ours.targets) and ours.targets.index(1) == real.targets.index(1) and ours.targets.count(1) == real.targets.count(1)
    ours.targets[0] = 99
    assert pickle.loads(pickle.dumps(ours)).targets == copy.copy(ours).targets == [99, *real.targets[1:]]
    pairs = list(ours.samples)
    assert ours.samples == pairs == ours.samples.copy() and ours.samples != pairs[1:] and pairs == ours.samples
    assert ours.samples + ours.samples == ours.samples + pairs == pairs + ours.samples == pairs + pairs
    assert ours.samples.index(pairs[5]) == 5 and ours.samples.count(pairs[5]) == 1 and pairs[5] in ours.samples and ours.samples


@pytest.mark.parametrize(
    "change",
    [
        lambda pairs: random.Random(3).shuffle(pairs),
        lambda pairs: pairs.reverse(),
        lambda pairs: pairs.append(pairs[3]),
        lambda pairs: pairs.extend(pairs[:2]),
        lambda pairs: pairs.pop(0),
        lambda pairs: pairs.remove(pairs[9]),
        lambda pairs: pairs.insert(0, pairs[-1]),
        lambda pairs: pairs.sort(key=lambda pair: (pair[1] % 2, pair[0])),
        lambda pairs: pairs.__delitem__(slice(1, None)),
        lambda pairs: pairs.__setitem__(0, (pairs[1][0], 77)),
        lambda pairs: pairs.__iadd__(pairs[:3]),
    ],
)
def test_samples_may_be_changed_in_place(change, dataset):
    ours = ImageFolder(dataset)
    pairs = list(ours.samples)
    change(pairs)
    change(ours.samples)
    for ds in (ours, pickle.loads(pickle.dumps(ours))):
        assert len(ds) == len(pairs) and ds.samples == pairs and [label for _, label in ds] == [label for _, label in pairs] == ds.targets
        assert ds[0][0].tobytes() == ds.loader(pairs[0][0]).tobytes()


def test_samples_of_another_dataset_are_read_by_their_keys(dataset):
    ours, other = ImageFolder(dataset), ImageFolder(dataset)
    other.samples.reverse()
    ours.samples = other.samples
    assert [label for _, label in ours] == other.targets


def test_print_shows_the_transforms(dataset):
    ours = ImageFolder(dataset, str, target_transform=int)
    lines = [line.strip() for line in repr(ours).splitlines()]
    assert lines[0] == "Dataset ImageFolder" and f"Number of datapoints: {len(ours)}" in lines
    assert lines[-2:] == ["Transform: <class 'str'>", "Target transform: <class 'int'>"]


class WithLoader(ImageFolder):
    """The other idiom: `samples` and `loader` by hand."""

    def __getitem__(self, index):
        path, label = self.samples[index]
        return self.loader(path), label, path


def test_what_code_of_torchvision_asks_for_is_there(dataset, photos, image_folder):
    real, ours = image_folder(str(photos)), WithLoader(root=dataset)
    image, label, path = ours.__getitems__([7])[0]
    assert image.tobytes() == real[7][0].tobytes() and str(photos / path) == real.samples[7][0] and label == real.targets[7]
    assert ours.find_classes(photos) == real.find_classes(photos) == (ours.classes, ours.class_to_idx)
    assert ours.extensions == real.extensions and ours.transforms is real.transforms is None
    ours.target_transform = str
    assert ours.transforms(image, 1) == (image, "1")
    ours.targets = [1, 2]
    assert ours.targets == [1, 2] == pickle.loads(pickle.dumps(ours)).targets
    ours.classes = ["a"]
    assert ours.classes == ["a"]
    for more in ({"loader": open}, {"is_valid_file": str}):
        with pytest.raises(errors.UsageError, match=next(iter(more))):
            ImageFolder(dataset, **more)
    with pytest.raises(errors.UsageError, match="find_classes"):
        type("Own", (ImageFolder,), {"find_classes": lambda self, directory: None})
