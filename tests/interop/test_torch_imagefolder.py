"""shale.torch.ImageFolder is torchvision.datasets.ImageFolder: order, classes, labels and pixels, also behind a DataLoader."""

import os
import pickle
import random

import pytest
import torch
from dataset_workers import InOrder

pytest.importorskip("shale")
from shale.torch import ImageFolder


@pytest.fixture(scope="module", params=["record", "lmdb", "hdf5"])
def pair(request, photos, image_folder, shale, tmp_path_factory):
    """(torchvision's, shale's, the path of shale's) of the same folder."""
    out = tmp_path_factory.mktemp("folder") / "out"
    shale("convert", photos, out, "--to", request.param, "--shard-samples", "25")
    return image_folder(str(photos)), ImageFolder(out), out


def pixels(image):
    return image.mode, image.size, image.tobytes()


def test_classes_labels_and_order_are_the_same(pair, photos):
    real, ours, _ = pair
    assert len(ours) == len(real) == 61
    assert (ours.classes, ours.class_to_idx) == (real.classes, real.class_to_idx)
    assert ours.targets == real.targets
    relative = [(os.path.relpath(path, photos), label) for path, label in real.samples]
    assert list(ours.samples) == list(ours.imgs) == relative == [ours.samples[row] for row in range(len(ours))]
    assert ours.samples * 2 == 2 * ours.samples == relative * 2
    assert ours.samples[-1] == relative[-1] and ours.imgs[3:50:7] == relative[3:50:7]


def test_images_are_the_same(pair):
    real, ours, _ = pair
    for row in range(len(real)):
        (image, label), (wanted, wanted_label) = ours[row], real[row]
        assert type(label) is int and label == wanted_label
        assert type(image) is type(wanted) and pixels(image) == pixels(wanted)
    assert pixels(ours[-1][0]) == pixels(real[60][0])
    with pytest.raises(IndexError):
        ours[61]


def small(image):
    return torch.frombuffer(bytearray(image.resize((8, 8)).tobytes()), dtype=torch.uint8)


def negative(label):
    return -label - 1


def test_transforms_are_called_as_torchvision_calls_them(pair, photos, image_folder):
    _, _, out = pair
    real = image_folder(str(photos), transform=small, target_transform=negative)
    ours = ImageFolder(out, transform=small, target_transform=negative)
    for row in range(0, 61, 5):
        assert torch.equal(ours[row][0], real[row][0]) and ours[row][1] == real[row][1]
    again = pickle.loads(pickle.dumps(ours))
    assert torch.equal(again[7][0], real[7][0]) and again.targets == [label for _, label in real.samples]


def test_it_is_printed_as_torchvisions_with_what_shale_adds(pair, photos, image_folder):
    from torchvision import transforms as T

    _, _, out = pair

    class Mine(ImageFolder):
        def extra_repr(self):
            return "Mine: 1\nOurs: 2"

    compose = T.Compose([T.RandomResizedCrop(8), T.RandomHorizontalFlip(), T.ColorJitter(), T.ToTensor()])
    for given in ({}, {"transform": compose}, {"target_transform": negative}, {"transform": compose, "target_transform": negative}):
        lines = repr(image_folder(str(photos), **given)).replace(str(photos), str(out)).split("\n")
        added = repr(ImageFolder(out, **given)).split("\n")
        assert added[:3] + added[6:] == lines and repr(ImageFolder(out, **given).transforms) == repr(image_folder(str(photos), **given).transforms)
        decoded = "only what is seen behind RandomResizedCrop, RandomHorizontalFlip" if "transform" in given else "whole images"
        assert added[3] == "    Number of classes: 3" and added[5] == f"    Decoded: {decoded}"
        assert repr(Mine(out, **given)).split("\n") == ["Dataset Mine", *lines[1:3], "    Mine: 1", "    Ours: 2", *lines[3:]]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_data_loader_gives_the_same_batches(pair, photos, image_folder, method):
    _, _, out = pair
    rows = list(range(61))
    random.Random(12).shuffle(rows)

    def batches(dataset, workers):
        context = method if workers else None
        return list(
            torch.utils.data.DataLoader(dataset, batch_sampler=InOrder(rows, 8), num_workers=workers, multiprocessing_context=context)
        )

    real = batches(image_folder(str(photos), transform=small, target_transform=negative), 0)
    ours = batches(ImageFolder(out, transform=small, target_transform=negative, cache="drop", verify=True), 2)
    assert len(ours) == len(real) == 8
    for (images, labels), (wanted, wanted_labels) in zip(ours, real):
        assert torch.equal(images, wanted) and torch.equal(labels, wanted_labels)


def test_a_dataset_without_images_is_refused(shale, tmp_path):
    from loader_sets import make_tensors
    from shale.errors import UnsupportedError

    make_tensors(tmp_path / "tensors.h5", 3)
    with pytest.raises(UnsupportedError, match="no field 'image' of kind bytes, but 0 fields"):
        ImageFolder(tmp_path / "tensors.h5")
