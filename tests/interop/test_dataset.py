"""shale.Dataset gives each sample as it went in: every kind of value, in any order, by any index, from any thread."""

import concurrent.futures
import io
import os
import random

import crc32c
import numpy as np
import pytest
import torch
from dataset_reading import manifest_of, samples_of
from loader_sets import key_of, make_maps, make_tensors, same
from PIL import Image

shale_package = pytest.importorskip("shale")
Dataset = shale_package.Dataset
ROWS = 60


@pytest.fixture(scope="module", params=["record", "lmdb", "foreign"])
def maps(request, tmp_path_factory, shale):
    """(a Dataset of bytes, text, integer, real and list; what each sample must be)."""
    folder = tmp_path_factory.mktemp("maps")
    expected = make_maps(folder / "maps.lmdb", ROWS)
    if request.param == "foreign":
        return Dataset(folder / "maps.lmdb", parse="msgpack"), expected
    shale("convert", folder / "maps.lmdb", folder / "out", "--to", request.param, "--parse", "msgpack", "--shard-samples", "25")
    return Dataset(folder / "out"), expected


@pytest.fixture(scope="module", params=["record", "lmdb", "hdf5", "foreign"])
def tensors(request, tmp_path_factory, shale):
    folder = tmp_path_factory.mktemp("tensors")
    expected = make_tensors(folder / "tensors.h5", ROWS)
    if request.param == "foreign":
        return Dataset(folder / "tensors.h5"), expected
    shale("convert", folder / "tensors.h5", folder / "out", "--to", request.param, "--shard-samples", "25")
    return Dataset(folder / "out"), expected


@pytest.fixture(scope="module")
def pictures(dataset):
    return Dataset(dataset)


@pytest.fixture
def shuffled(request):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rows = list(range(ROWS))
    random.Random(seed).shuffle(rows)
    return rows


# ---- values -------------------------------------------------------------------------------------------------------------


def test_every_value_is_what_went_in(maps):
    ds, expected = maps
    assert len(ds) == len(expected) == ROWS
    assert all(same(ds[row], expected[row]) for row in range(ROWS))


def test_every_tensor_is_what_went_in(tensors):
    ds, expected = tensors
    names = list(ds.schema)
    for row in range(ROWS):
        assert same(ds[row], {name: expected[row][name] for name in ["key", *names]})
    assert {"label", "none", "t0", "t13"} <= set(names)


def test_tensors_own_their_writable_native_memory(tensors):
    ds, expected = tensors
    batch = ds.__getitems__([3, 3])
    for name, value in batch[0].items():
        if not isinstance(value, np.ndarray):
            continue
        assert value.flags.owndata and value.flags.writeable and value.flags.c_contiguous and value.flags.aligned
        assert value.dtype.isnative
        value[...] = 0
        assert batch[1][name].tobytes() == expected[3][name].tobytes(), "two samples share memory"
    assert ds[3]["t3"].tobytes() == expected[3]["t3"].tobytes()


def test_missing_is_none_and_empty_is_empty(tmp_path):
    """A dataset of which h5py never wrote a row has no values; of one with some, the others are empty."""
    import h5py

    with h5py.File(tmp_path / "gaps.h5", "w") as file:
        file.create_dataset("missing", (4,), dtype=h5py.vlen_dtype(np.uint8))
        file.create_dataset("text", (4,), dtype=h5py.string_dtype())
        some = file.create_dataset("some", (4,), dtype=h5py.vlen_dtype(np.uint8))
        some[1] = np.frombuffer(b"abc", np.uint8)
        file["label"] = np.arange(4)
    ds = Dataset(tmp_path / "gaps.h5", ["missing", "text", "some"])
    expected = [{"missing": None, "text": None, "some": value} for value in (b"", b"abc", b"", b"")]
    assert list(ds) == expected
    assert ds.__getitems__([1, 0, 1]) == [expected[1], expected[0], expected[1]]
    assert Dataset(tmp_path / "gaps.h5", ["missing"], decode="rgb8")[0] == {"missing": None}


@pytest.mark.parametrize("cache", ["keep", "drop", "direct"])
def test_cache_and_verify_change_no_value(maps, shuffled, cache):
    ds, expected = maps
    proved = Dataset(ds.path, parse=ds.parse, verify=True, cache=cache)
    assert all(same(proved[row], expected[row]) for row in shuffled)
    assert all(same(sample, expected[row]) for sample, row in zip(proved.__getitems__(shuffled), shuffled))


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="there is no tmpfs at /dev/shm")
@pytest.mark.parametrize("cache", ["drop", "direct"])
def test_a_file_system_without_direct_reads_gives_the_same(cache, shale, shuffled):
    import tempfile

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        expected = make_maps(f"{folder}/maps.lmdb", ROWS)
        ds = Dataset(f"{folder}/maps.lmdb", parse="msgpack", cache=cache)
        assert all(same(sample, expected[row]) for sample, row in zip(ds.__getitems__(shuffled), shuffled))


def test_a_value_larger_than_the_memory_for_direct_reads_is_whole(tmp_path, shale):
    """Read past the cache in pieces of 16 MiB, none of them aligned."""
    import lmdb

    large = random.Random(1).randbytes(40_000_001)
    with lmdb.open(str(tmp_path / "large.lmdb"), subdir=False, map_size=1 << 28) as env, env.begin(write=True) as txn:
        for number, value in enumerate([b"before", large, b"behind"]):
            txn.put(b"%d" % number, value)
    ds = Dataset(tmp_path / "large.lmdb", cache="direct", verify=True)
    assert [sample["value"] for sample in ds] == [b"before", large, b"behind"]


def test_default_collate_takes_batches(tensors, maps):
    batch = torch.utils.data.default_collate(Dataset(maps[0].path, ["key", "label", "score", "image"], parse=maps[0].parse).__getitems__([5, 6]))
    assert batch["label"].tolist() == [-15, -14] and batch["score"].dtype == torch.float64
    assert batch["key"] == [maps[1][row]["key"] for row in (5, 6)] and batch["image"] == [maps[1][row]["image"] for row in (5, 6)]
    ds, expected = tensors
    names = ["t0", "t5", "t9"] if hasattr(torch, "uint32") else ["t0", "t9"]
    batch = torch.utils.data.default_collate(Dataset(ds.path, names).__getitems__([1, 2, 0]))
    for name in names:
        assert batch[name].numpy().tobytes() == b"".join(expected[row][name].tobytes() for row in (1, 2, 0))


# ---- indices ------------------------------------------------------------------------------------------------------------


def test_batches_come_in_the_order_asked(maps, shuffled):
    ds, expected = maps
    rows = shuffled + shuffled[:7] * 3  # some twice and more
    found = ds.__getitems__(rows)
    assert len(found) == len(rows) and all(same(sample, expected[row]) for sample, row in zip(found, rows))
    assert ds.__getitems__([]) == []
    assert found[0] is not found[ROWS]


def test_what_counts_as_a_number_is_an_index(maps):
    ds, expected = maps
    rows = np.array([7, 2], dtype=np.uint8)
    for index in [7, -ROWS + 7, np.int64(7), np.uint8(7), torch.tensor(7), torch.tensor([1, 7])[1], rows[0]]:
        assert same(ds[index], expected[7])
    for indices in [rows, torch.tensor([7, 2]), (7, -ROWS + 2), range(7, 1, -5)]:
        assert all(same(sample, expected[row]) for sample, row in zip(ds.__getitems__(indices), (7, 2)))


@pytest.mark.parametrize("index", [ROWS, -ROWS - 1, 1 << 62, 1 << 64, -(1 << 80)])
def test_an_index_beyond_the_end_is_an_index_error(maps, index):
    with pytest.raises(IndexError, match=f"{index} of {ROWS}"):
        maps[0][index]
    with pytest.raises(IndexError):
        maps[0].__getitems__([0, index])


@pytest.mark.parametrize("index", [1.0, "1", None, {1: 2}, np.float32(1)])
def test_what_is_no_number_is_a_type_error(maps, index):
    with pytest.raises(TypeError):
        maps[0][index]


def test_iterating_gives_every_sample_once(maps):
    ds, expected = maps
    assert all(same(sample, wanted) for sample, wanted in zip(ds, expected, strict=True))


def test_a_dataset_without_samples_has_none(tmp_path, shale):
    import h5py

    with h5py.File(tmp_path / "none.h5", "w") as file:
        file["x"] = np.zeros((0, 2, 3), "f4")
        file["label"] = np.zeros(0, "i8")
    shale("convert", tmp_path / "none.h5", tmp_path / "out", "--to", "record")
    for path in ("none.h5", "out"):
        ds = Dataset(tmp_path / path)
        assert (len(ds), list(ds), ds.__getitems__([])) == (0, [], [])
        assert ds.column("label").shape == (0,)
        assert ds.schema["x"] == {"kind": "tensor", "dtype": "<f4", "shape": (2, 3)}
        with pytest.raises(KeyError):
            ds.find("0")
        for index in (0, -1):
            with pytest.raises(IndexError):
                ds[index]


# ---- fields, keys, columns ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [["key"], ["label"], ["image", "key"], ["frames", "caption", "score"], []])
def test_only_the_fields_that_are_asked_for_come_in_their_order(maps, fields):
    ds, expected = maps
    chosen = Dataset(ds.path, fields, parse=ds.parse)
    assert all(same(chosen[row], {name: expected[row][name] for name in fields}) for row in range(ROWS))


def test_an_unknown_field_is_refused_with_those_there_are(maps):
    with pytest.raises(LookupError, match="'picture'.*key, image, caption, label, score, frames"):
        Dataset(maps[0].path, ["picture"], parse=maps[0].parse)


def test_find_takes_any_key_as_text_or_bytes(maps):
    ds, expected = maps
    for row in range(ROWS):
        assert ds.find(expected[row]["key"]) == ds.find(key_of(row)) == row
    for absent in ["", "n", b"\xff", "\udcff\udc80/0010", "0"]:
        with pytest.raises(KeyError):
            ds.find(absent)


def test_rows_without_keys_are_found_by_their_number(tensors):
    ds, _ = tensors
    rows = [ds.find(str(row)) for row in (0, 59, 7)]
    assert rows == [0, 59, 7]
    for absent in ["60", "-1", "07", "7 ", ""]:
        with pytest.raises(KeyError):
            ds.find(absent)


def test_columns_are_those_of_the_index(maps):
    ds, expected = maps
    label, score = ds.column("label"), ds.column("score")
    assert (label.dtype, score.dtype) == (np.int64, np.float64)
    assert label.tolist() == [sample["label"] for sample in expected]
    assert score.tolist() == [sample["score"] for sample in expected]
    assert ds.column("image.length").tolist() == [len(sample["image"]) for sample in expected]
    label[:] = 0
    assert ds.column("label")[0] == -20
    with pytest.raises(LookupError, match="key_hash"):
        ds.column("picture")


def test_columns_are_read_without_the_payload(dataset, tmp_path):
    """With every data file cut to nothing but its size: sparse, full of zeros."""
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    for shard in manifest_of(copy)["shards"]:
        for file in shard["files"]:
            os.truncate(copy / file["name"], 0)
            os.truncate(copy / file["name"], file["bytes"])
    ds = Dataset(copy)
    samples = list(samples_of(dataset))
    assert ds.column("label").tolist() == [sample.label for sample in samples]
    assert ds.column("image.crc32c").tolist() == [crc32c.crc32c(sample.image) for sample in samples]
    assert [sample["label"] for sample in Dataset(copy, ["label"])] == [sample.label for sample in samples]


def test_an_image_folder_is_what_torchvision_lists(pictures, listed, image_folder, photos):
    real = image_folder(str(photos))
    assert (pictures.classes, pictures.class_to_idx) == (real.classes, real.class_to_idx)
    assert pictures.schema == {"image": {"kind": "bytes"}, "label": {"kind": "integer"}}
    assert [(os.fsencode(sample["key"]), sample["label"], sample["image"]) for sample in pictures] == listed


def test_transform_is_called_with_each_sample(maps):
    ds, expected = maps
    seen = []
    chosen = Dataset(ds.path, ["label"], transform=lambda sample: seen.append(sample) or sample["label"] * 2, parse=ds.parse)
    assert chosen[3] == 2 * expected[3]["label"]
    assert chosen.__getitems__([2, 1]) == [2 * expected[2]["label"], 2 * expected[1]["label"]]
    assert seen == [{"label": expected[row]["label"]} for row in (3, 2, 1)]


# ---- images -------------------------------------------------------------------------------------------------------------


def rgb(content):
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image.convert("RGB"))


def test_images_are_decoded_as_asked(dataset, listed):
    ways = {way: Dataset(dataset, ["image", "label"], decode=way) for way in ("pil", "rgb8", "torchrgb8")}
    for row in range(0, len(listed), 7):
        _, label, content = listed[row]
        sample = {way: ds[row] for way, ds in ways.items()}
        assert {found["label"] for found in sample.values()} == {label}
        assert sample["pil"]["image"].mode == "RGB" and np.array_equal(np.asarray(sample["pil"]["image"]), rgb(content))
        hwc, chw = sample["rgb8"]["image"], sample["torchrgb8"]["image"]
        assert hwc.dtype == np.uint8 and np.array_equal(hwc, rgb(content)) and hwc.flags.writeable
        assert chw.dtype == torch.uint8 and chw.is_contiguous() and np.array_equal(chw.numpy(), rgb(content).transpose(2, 0, 1))


@pytest.mark.parametrize("way", ["pil", "rgb8", "torchrgb8"])
def test_what_does_not_decode_is_named(maps, way):
    ds, expected = maps
    with pytest.raises(shale_package.errors.ContentError, match="image") as caught:
        Dataset(ds.path, ["image"], decode=way, parse=ds.parse).__getitems__([0, 31])
    assert (caught.value.sample, caught.value.key) == (0, expected[0]["key"]) and caught.value.shard


# ---- threads ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cache", ["keep", "direct"])
def test_many_threads_on_one_dataset_read_what_one_reads(maps, cache):
    ds, expected = maps
    shared = Dataset(ds.path, parse=ds.parse, cache=cache, verify=True)

    def read(seed):
        dice = random.Random(seed)
        for _ in range(40):
            rows = [dice.randrange(ROWS) for _ in range(dice.choice([1, 2, 33]))]
            assert all(same(sample, expected[row]) for sample, row in zip(shared.__getitems__(rows), rows))
            assert shared.find(expected[rows[0]]["key"]) == rows[0]
            assert shared.column("label")[rows[0]] == expected[rows[0]]["label"]
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(16)))
