"""Programs that read WebDataset tars read what shale writes: every sample, byte for byte."""

import io
import json

import pytest
import torch
from conftest import jpeg, run_shale, write
from PIL import Image

COUNT, CLASSES = 23, ("cat", "dog")


@pytest.fixture(scope="module")
def images():
    """key -> the image and its class number, in the order of the classes."""
    return {f"{name}/{number:02d}": (jpeg(len(name) * number + label), label) for label, name in enumerate(CLASSES) for number in range(COUNT)}


@pytest.fixture(scope="module")
def tars(images, tmp_path_factory):
    """A dataset of several shards, with all indexes."""
    folder = tmp_path_factory.mktemp("loaders")
    for key, (image, _) in images.items():
        write(folder, f"photos/{key}.jpg", image)
    run_shale("convert", folder / "photos", folder / "out", "--to", "webdataset", "--shard-samples", "10", "--native", "wids,dali,energon")
    return folder / "out"


def paths_of(tars):
    return sorted(str(path) for path in tars.glob("*.tar"))


def same(read, images):
    """read: pairs of a key and the values of jpg and cls."""
    found = {key: (jpg, int(cls)) for key, jpg, cls in read}
    assert found == images


def test_what_convert_wrote_beside_the_tars(tars, images, shale):
    assert {path.suffix for path in tars.iterdir()} == {".tar", ".idx", ".npy", ".json", ".csv", ""}
    assert json.loads((tars / ".nv-meta/.info.json").read_text())["shard_counts"]["shard-000004.tar"] == len(images) - 40
    facts = json.loads(shale("index", "--native", "wids,dali,energon", tars, "--json"))
    assert [index["written"] for index in facts["native"]] == [0, 0, 0] and facts["samples"] == len(images)
    # The dataset is what it was: nothing beside it counts as a part of it.
    verified = json.loads(shale("verify", tars, "--deep", "--json"))
    assert verified["findings"] == 0 and verified.get("strays", []) == [] and verified["notes"] == []


def test_indexes_for_other_formats_and_files_are_refused(tars, tmp_path):
    error = run_shale("convert", tars.parent / "photos", tmp_path / "x", "--to", "record", "--native", "wids", code=2).stderr.decode()
    assert "--native" in error and "--to webdataset" in error and not (tmp_path / "x").exists()


@pytest.mark.parametrize("workers", [0, 2])
def test_webdataset_in_a_data_loader(tars, images, workers):
    webdataset = pytest.importorskip("webdataset")
    dataset = webdataset.WebDataset(paths_of(tars), shardshuffle=False).to_tuple("__key__", "jpg", "cls")
    same(torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=workers), images)


def test_webdataset_decodes(tars, images):
    webdataset = pytest.importorskip("webdataset")
    dataset = webdataset.WebDataset(paths_of(tars), shardshuffle=False).decode("pil").to_tuple("__key__", "jpg", "cls")
    count = 0
    for key, picture, label in dataset:
        image, number = images[key]
        assert label == number and picture.tobytes() == Image.open(io.BytesIO(image)).convert("RGB").tobytes()
        count += 1
    assert count == len(images)


def test_wids_in_any_order(tars, images, tmp_path):
    wids = pytest.importorskip("wids")
    dataset = wids.ShardListDataset(str(tars / "wids.json"), transformations=[], cache_dir=str(tmp_path))
    samples = [dataset[row] for row in reversed(range(len(dataset)))]
    same([(sample["__key__"], sample[".jpg"].read(), sample[".cls"].read()) for sample in samples], images)


def test_energon(tars, images):
    energon = pytest.importorskip("megatron.energon")
    from megatron.energon.dataset_config import get_dataset_from_config

    alone = energon.WorkerConfig(rank=0, world_size=1, num_workers=0)
    factory = get_dataset_from_config(str(tars), split_part="train", training=False, worker_config=alone)
    read = {sample["__key__"]: sample["cls"] for sample in energon.get_loader(factory.build())}
    assert read == {key: label for key, (_, label) in images.items()}


def test_datasets_of_hugging_face(tars, images, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    files = {"train": paths_of(tars)}
    for streams in (False, True):
        read = datasets.load_dataset("webdataset", data_files=files, split="train", streaming=streams, cache_dir=str(tmp_path))
        read = read.cast_column("jpg", datasets.Image(decode=False))
        same([(sample["__key__"], sample["jpg"]["bytes"], sample["cls"]) for sample in read], images)


def test_datasets_of_hugging_face_passes_over_none(tmp_path, monkeypatch):
    """It does over files that begin with two underscores, in any folder."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    for name in ("__a__", "__b", "_c", "d"):
        write(tmp_path, f"photos/x/{name}.jpg", jpeg(3))
    run_shale("convert", tmp_path / "photos", tmp_path / "out", "--to", "webdataset")
    read = datasets.load_dataset("webdataset", data_files={"train": paths_of(tmp_path / "out")}, split="train", cache_dir=str(tmp_path))
    assert sorted(read["__key__"]) == ["x/%5F_a__", "x/%5F_b", "x/_c", "x/d"]


def test_ray_data(tars, images, tmp_path):
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        read = ray.data.read_webdataset(paths_of(tars), decoder=None).take_all()
    finally:
        ray.shutdown()
    same([(sample["__key__"], sample["jpg"], sample["cls"]) for sample in read], images)
