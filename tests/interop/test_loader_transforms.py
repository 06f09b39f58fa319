"""shale.torch.Loader: the seeds of transforms, what of torch's loader has other words here, and what transforms do wrong."""

import functools
import logging
import sys

import numpy as np
import pytest
import shale
import torch
from conftest import real_torchvision
from PIL import Image
from shale.torch import Loader
from view_sets import packed, photo

real_torchvision()
from torchvision import transforms as v1
from torchvision.transforms import v2

COUNT = 12


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return packed([photo(40 + seed, 30, seed) for seed in range(COUNT)], tmp_path_factory.mktemp("photos"))


# --- seeds


class Module(torch.nn.Module):
    def forward(self, sample, seed=None):
        return {"seed": str(seed), "label": sample["label"]}


class Called(torch.nn.Module):
    def __call__(self, sample, *, seed):
        return {"seed": str(seed), "label": sample["label"]}


class Plain:
    def __call__(self, sample, seed):
        return {"seed": str(seed), "label": sample["label"]}


def expected_seeds():
    return {str(seed): row >= COUNT // 2 for row, seed in enumerate(shale.sample_seeds(4, 0, range(COUNT)).tolist())}


@pytest.mark.parametrize(
    "transform",
    [
        Module(),
        Called(),
        Plain(),
        functools.partial(Module()),  # type: ignore[misc]
        functools.partial(Plain().__call__),
        v2.Compose([v2.Identity(), Module()]),
        v2.Compose([v2.Resize(8), Plain()]),
        torch.nn.Sequential(v2.Resize(8), Module()),
    ],
    ids=["module", "called", "plain", "partial", "partial of a method", "composed", "behind a view", "sequential"],
)
@pytest.mark.parametrize("threads", [0, 2])
def test_every_kind_of_transform_gets_its_seed(transform, threads, photos):
    found = {seed: label for batch in Loader(photos, 5, transform=transform, seed=4, num_threads=threads) for seed, label in zip(batch["seed"], batch["label"].tolist())}
    assert found == expected_seeds()


def test_images_of_v1_come_with_their_seed(photos):
    class Noted:
        seeds: list = []

        def __call__(self, image, seed):
            self.seeds.append(str(seed))
            return image

    list(Loader(photos, 5, transform=v1.Compose([v1.Resize((8, 8)), Noted(), v1.ToTensor()]), seed=4, num_threads=0))
    assert Noted.seeds == list(expected_seeds())


def test_a_dataset_with_a_transform_of_its_own_leaves_the_seeds_to_the_rest(photos):
    dataset = shale.Dataset(photos, decode="pil", transform=dict)
    found = [seed for batch in Loader(dataset, 5, transform=v2.Compose([v2.Resize(8), Plain()]), seed=4) for seed in batch["seed"]]
    assert found == list(expected_seeds())


@pytest.mark.parametrize("transform", [v2.Compose([v2.RandomResizedCrop(8), v2.RandAugment(), v2.ToImage()]), v2.ColorJitter(0.5), v1.Compose([v1.GaussianBlur(3), v1.ToTensor()])])
def test_random_numbers_that_threads_share_are_named(transform, photos, caplog):
    dataset = shale.Dataset(photos, decode="pil")
    name = "RandAugment" if "RandAug" in repr(transform) else "ColorJitter" if "Color" in repr(transform) else "GaussianBlur"
    with caplog.at_level(logging.WARNING, "shale"):
        loader = Loader(dataset, 5, transform=transform, num_threads=2)
    assert caplog.messages == [f"{name}: random numbers of torch, which threads share, so that they differ from run to run (docs/loading.md)"]
    assert f"not the same in every run: {name}, by" in repr(loader)
    caplog.clear()
    assert "not the same" not in repr(Loader(dataset, 5, transform=transform, num_threads=0)) and not caplog.messages


def test_a_seed_that_a_dataset_does_not_pass_on_is_named(photos, caplog):
    for dataset in (shale.Dataset(photos, transform=Module()), shale.torch.ImageFolder(photos, Module())):
        Loader([dataset, dataset], 4)
        assert caplog.messages == [f"the transform of {photos} has a parameter `seed`, which only a transform of the loader gets"] * 2
        caplog.clear()


def test_what_is_repeatable_is_not_named(photos, caplog):
    for transform in (None, dict, v2.Compose([v2.RandomResizedCrop(8), v2.RandomHorizontalFlip(), v2.ToImage()]), v2.Compose([v2.Identity(), v2.Resize(8)])):
        assert "not the same" not in repr(Loader(photos, 5, transform=transform, num_threads=2)) and not caplog.messages


# --- pipelines


@pytest.mark.parametrize("T", [v1, v2], ids=["v1", "v2"])
def test_a_sequential_is_what_a_compose_is(T, photos):
    steps = [T.Resize((9, 8)), torch.nn.Sequential(T.CenterCrop(7), T.Grayscale(3))]
    composed = Loader(photos, COUNT, transform=T.Compose(steps))
    sequential = Loader(photos, COUNT, transform=torch.nn.Sequential(*steps))
    assert repr(sequential) == repr(composed) and "in its threads: image decoded" in repr(sequential)
    assert "in the calling thread: image decoded" in repr(Loader(photos, COUNT, transform=T.Compose(steps), num_threads=0))
    assert torch.equal(next(iter(sequential))["image"], next(iter(composed))["image"])
    own = shale.Dataset(photos, decode="pil", transform=torch.nn.Sequential(v2.Resize((9, 8)), v2.ToImage()))
    assert torch.equal(own[3]["image"], shale.Dataset(photos, decode="pil", transform=v2.Compose([v2.Resize((9, 8)), v2.ToImage()]))[3]["image"])


# --- mistakes


def test_a_transform_that_returns_nothing_is_named(photos):
    for dataset in (photos, shale.Dataset(photos, transform=lambda sample: sample.update(x=1))):
        with pytest.raises(shale.UsageError, match=f"sample 0 of {photos} is None: a transform has to return the sample"):
            list(Loader(dataset, 3, transform=(lambda sample: sample.update(x=1)) if dataset is photos else None))
    with pytest.raises(shale.UsageError, match="is None"):
        list(Loader(photos, 3, transform=v2.Compose([v2.Resize(8), lambda sample: None])))

    def those_there_are(samples):
        return [sample["label"] for sample in samples if sample is not None]

    odd = Loader(photos, 4, transform=lambda sample: sample if sample["label"] else None, collate_fn=those_there_are)
    assert sum(odd, []) == [1] * (COUNT // 2)  # who collates himself may leave samples out


@pytest.mark.parametrize(
    "transform, message",
    [
        (lambda s: {"a": 1, "b": 2} if s["label"] else {"a": 1}, "the fields a, b, but others of its batch have the fields a:"),
        (lambda s: {"a": 1} if s["label"] else {"a": 1, "b": 2}, "the fields a, but others of its batch have the fields a, b:"),
        (lambda s: (1, 2, 3) if s["label"] else (1, 2), "3 values, but others of its batch have 2 values:"),
        (lambda s: (1, 2) if s["label"] else {"a": 1}, "2 values, but others of its batch have the fields a:"),
        (lambda s: 1 if s["label"] else (1, 2), "one value, but others of its batch have 2 values:"),
    ],
)
def test_nothing_that_a_sample_has_is_left_out_of_a_batch_in_silence(transform, message, photos):
    """Fields and values that the first sample of a batch lacks were dropped; those that it alone had were a KeyError without a sample."""
    with pytest.raises(shale.UsageError, match=f"sample 11 of {photos} has {message}"):
        next(iter(Loader(photos, 2, indices=[0, COUNT - 1], transform=transform)))
    assert len(next(iter(Loader(photos, 2, indices=[0, COUNT - 1], transform=transform, collate_fn=list)))) == 2
    if isinstance(transform({"label": 0}), dict) and isinstance(transform({"label": 1}), dict):
        assert next(iter(Loader(photos, 2, indices=[0, COUNT - 1], transform=transform, as_tuple=["a"])))[0].tolist() == [1, 1]


def test_masks_of_arrays_are_not_lost(photos):
    masked = np.ma.array([1, 2], mask=[True, False])
    assert next(iter(Loader(photos, 2, transform=lambda s: {"x": masked})))["x"] == [masked, masked]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
def test_stop_iteration_names_the_sample_too(photos):
    for transform in (lambda sample: next(iter(())), v2.Compose([v2.Resize(8), lambda sample: next(iter(()))])):
        with pytest.raises(RuntimeError, match="StopIteration was raised by a transform") as caught:
            list(Loader(photos, 3, transform=transform, indices=[2, 3], num_threads=0))
        assert caught.value.__notes__[0] == f"in the transform of sample 2 of {photos}"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
def test_who_wants_an_image_and_gets_bytes_is_told_how(photos):
    def halved(sample):
        return {"image": sample["image"].resize((8, 8))}

    with pytest.raises(AttributeError) as caught:
        list(Loader(photos, 3, transform=halved, num_threads=0))
    assert caught.value.__notes__[1] == "image of the sample: bytes; shale.Dataset(path, decode='pil') gives images"
    assert isinstance(next(iter(Loader(shale.Dataset(photos, decode="pil"), 3, transform=halved)))["image"][0], Image.Image)


@pytest.mark.parametrize(
    "word, hint",
    [
        ("num_workers", "num_threads="),
        ("workers", "num_threads="),
        ("sampler", "shuffle="),
        ("batch_sampler", "batch_size"),
        ("generator", "seed="),
        ("worker_init_fn", "parameter `seed`"),
        ("persistent_workers", "end with the epoch"),
        ("world_size", "num_replicas="),
    ],
)
def test_words_of_torchs_loader_are_answered(word, hint, photos):
    with pytest.raises(TypeError, match=rf"Loader\(\) has no argument '{word}'; .*{hint}"):
        Loader(photos, 4, **{word: 2})
    if word != "sampler":  # which Lightning asks for
        with pytest.raises(AttributeError, match=f"'Loader' object has no attribute '{word}'; .*{hint}"):
            getattr(Loader(photos, 4), word)
        assert not hasattr(Loader(photos, 4), word)


def test_other_words_are_errors_as_ever(photos):
    with pytest.raises(TypeError, match="unexpected keyword argument 'batchsize'"):
        Loader(photos, batchsize=4)
    with pytest.raises(AttributeError, match="no attribute 'batchsize'$"):
        Loader(photos, 4).batchsize  # noqa: B018


def test_the_dataset_is_there_for_a_mean(photos):
    assert len(Loader(photos, 4).dataset) == COUNT
    both = [shale.Dataset(photos), shale.Dataset(photos, indices=[1, 2])]
    assert len(Loader(both, 4).dataset) == COUNT + 2 and Loader(both[0], 4).dataset is both[0]


@pytest.mark.parametrize(
    "words, message",
    [
        ({"batch_size": -1}, "batch_size is -1, expected at least 1"),
        ({"batch_size": 0}, "batch_size is 0, expected at least 1"),
        ({"batch_size": 2**63}, f"batch_size is {2**63}, expected at most {2**62}"),
        ({"num_threads": -1}, "num_threads is -1, expected at least 0"),
        ({"num_threads": 10**6}, "num_threads is 1000000, expected at most 1024"),
        ({"prefetch_factor": 0}, "prefetch_factor is 0, expected at least 1"),
        ({"seed": -1}, "seed is -1, expected at least 0"),
    ],
)
def test_bounds_of_numbers_are_said_in_one_way(words, message, photos):
    with pytest.raises(shale.UsageError) as caught:
        Loader(photos, **{"batch_size": 4, **words})
    assert str(caught.value) == message


NUMBERS = {
    "batch_size": lambda given, photos: Loader(photos, given),
    "num_threads": lambda given, photos: Loader(photos, 4, num_threads=given),
    "prefetch_factor": lambda given, photos: Loader(photos, 4, prefetch_factor=given),
    "seed": lambda given, photos: Loader(photos, 4, seed=given),
    "shuffle_buffer": lambda given, photos: Loader(photos, 4, shuffle="block", shuffle_buffer=given),
    "rank": lambda given, photos: Loader(photos, 4, rank=given, num_replicas=2),
    "num_replicas": lambda given, photos: Loader(photos, 4, rank=0, num_replicas=given),
    "proportions": lambda given, photos: Loader([photos, photos], 4, proportions=[given, 2]),
    "epoch": lambda given, photos: Loader(photos, 4).set_epoch(given),
    "samples": lambda given, _: shale.EpochOrder(given),
    "length": lambda given, _: shale.clip(given),
    "jobs": lambda given, photos: shale.convert(photos, "out", "lmdb", jobs=given),
    "max_errors": lambda given, photos: shale.convert(photos, "out", "lmdb", max_errors=given),
    "quality": lambda given, photos: shale.convert(photos, "out", "lmdb", quality={"image": given}),
    "shard_samples": lambda given, _: shale.Writer("out", schema={"x": "int"}, shard_samples=given),
    "parts": lambda given, _: shale.Writer("out", schema={"x": "int"}, parts=(0, given)),
    "sample": lambda given, photos: shale.report(photos, "out.html", sample=given),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("given", [True, np.True_, torch.tensor(True)], ids=["bool", "numpy", "torch"])
def test_true_is_not_a_number(name, given, photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(shale.UsageError, match=f"{name} .*(True|tensor)"):
        NUMBERS[name](given, photos)


def test_flags_are_not_numbers(photos):
    for name in ("drop_last", "pin_memory", "reuse_buffers", "even_batches", "scaled_decoding", "shuffle"):
        with pytest.raises(shale.UsageError, match=f"{name} is 1, expected"):
            Loader(photos, 4, **{name: 1})
    assert Loader(photos, 4, shuffle=np.True_).shuffle == Loader(photos, 4, shuffle=True).shuffle
