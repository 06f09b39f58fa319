"""NumPy itself reads npy shards, mapped, as slices of the arrays that they were made of; and an array that shale joined again."""

import importlib.metadata
import importlib.util
import json
import os
import pathlib
import random

import numpy as np
import pytest
import shale
from conftest import run_shale
from dataset_reading import manifest_of
from documented_code import blocks_of, bytes_left_by

NESTED = np.dtype([("a", "<f4"), ("b", "S3", (2, 3)), ("c", [("d", "<i8"), ("e", "u1")])])
PADDED = np.dtype([("flag", "u1"), ("value", "<f8")], align=True)
NUMBERS = ["?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<f16", "<c8", "<c16", "<c32"]
OTHERS = ["<M8[ns]", "<M8[D]", "<m8[25s]", "S1", "S7", "<U5", "V3", NESTED, PADDED]
DTYPES = [np.dtype(dtype) for dtype in NUMBERS + OTHERS]
ROWS = 23


def random_array(dtype, shape, seed=7):
    """Every bit pattern that the dtype has, signalling NaNs and padding too; bools are 0 and 1."""
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    data = bytearray(random.Random(f"{seed}{dtype}{shape}").randbytes(count))
    if dtype == np.bool_:
        data = bytearray(byte & 1 for byte in data)
    return np.frombuffer(data, dtype).reshape(shape)


def other_order(array):
    """The same values, big-endian: each number turned around where it lies."""
    return array.byteswap().view(array.dtype.newbyteorder(">"))


def saved(path, array, version=None):
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version)
    return path


def shards_of(dataset, field):
    """The files of a field, as NumPy maps them."""
    manifest = manifest_of(dataset)
    i = [each["name"] for each in manifest["schema"]].index(field)
    number = manifest["layout"]["part_file"][manifest["layout"]["field_part"][i]]
    return [np.load(pathlib.Path(dataset, shard["files"][number]["name"]), mmap_mode="r") for shard in manifest["shards"]]


def check_shards(dataset, field, expected, rows_a_shard=5):
    """Slices of the source, to the bit: shapes, dtypes and bytes."""
    shards = shards_of(dataset, field)
    assert len(shards) == -(-len(expected) // rows_a_shard)
    for number, shard in enumerate(shards):
        part = expected[number * rows_a_shard : (number + 1) * rows_a_shard]
        assert isinstance(shard, np.memmap) or shard.size == 0
        assert (shard.dtype, shard.shape) == (part.dtype, part.shape)
        assert shard.tobytes() == part.tobytes()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (2, 4)], ids=str)
def test_shards_are_slices_of_the_array_for_every_dtype(dtype, shape, tmp_path):
    array = random_array(dtype, (ROWS, *shape))
    source = saved(tmp_path / "x.npy", array)
    run_shale("convert", f"x={source}", tmp_path / "out", "--to", "npy", "--shard-samples", "5")
    check_shards(tmp_path / "out", "x", array)


# Without padding: NumPy's own copies leave it behind.
@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != PADDED], ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("big_endian", [False, True], ids=["little", "big"])
def test_byte_order_and_fortran_order_of_the_source_do_not_show(dtype, order, big_endian, tmp_path):
    array = random_array(dtype, (ROWS, 2, 3))
    stored = other_order(array) if big_endian else array
    source = saved(tmp_path / "x.npy", np.asarray(stored, order=order))
    run_shale("convert", f"x={source}", tmp_path / "out", "--to", "npy", "--shard-samples", "5")
    check_shards(tmp_path / "out", "x", array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)], ids=str)
def test_headers_of_all_versions_are_read(version, tmp_path):
    array = random_array(np.dtype("<f4"), (ROWS, 3))
    source = saved(tmp_path / "x.npy", array, version)
    run_shale("convert", f"x={source}", tmp_path / "out", "--to", "npy", "--shard-samples", "5")
    check_shards(tmp_path / "out", "x", array)


@pytest.mark.parametrize("shape", [(ROWS, 0), (ROWS, 3, 0), (ROWS, 0, 2)], ids=str)
def test_axes_of_no_length_are_kept(shape, tmp_path):
    array = np.zeros(shape, "<f4")
    source = saved(tmp_path / "x.npy", array)
    run_shale("convert", f"x={source}", tmp_path / "out", "--to", "npy", "--shard-samples", "5")
    check_shards(tmp_path / "out", "x", array)


@pytest.fixture
def images(tmp_path):
    """Images and labels as arrays, and the set made of them."""
    x, y = random_array(np.dtype("u1"), (ROWS, 8, 8, 3)), random_array(np.dtype("<i4"), (ROWS,))
    x_file, y_file = saved(tmp_path / "images.npy", x), saved(tmp_path / "labels.npy", y)
    run_shale("convert", f"x={x_file}", f"y={y_file}", tmp_path / "out", "--to", "npy", "--shard-samples", "5")
    return x, y, tmp_path / "out"


def test_arrays_side_by_side_are_fields_of_one_sample(images):
    x, y, out = images
    check_shards(out, "x", x)
    check_shards(out, "y", y)
    run_shale("verify", out, "--deep")


def test_a_shard_is_the_file_that_numpy_saves(images, tmp_path):
    x, y, out = images
    for field, array in {"x": x, "y": y}.items():
        for number in range(5):
            np.save(tmp_path / "slice.npy", array[number * 5 : number * 5 + 5])
            assert (out / f"shard-{number:06}.{field}.npy").read_bytes() == (tmp_path / "slice.npy").read_bytes()


@pytest.mark.parametrize("block", blocks_of(["docs/index.md"], "fixed-rows"))
def test_the_lines_in_the_documents_read_any_row(block, images, tmp_path):
    x, y, out = images
    for row in (0, 4, 5, ROWS - 1):
        more = f"\nimage, label = value({row}, 'x').tobytes(), value({row}, 'y').tobytes()\n"
        folder = tmp_path / f"row-{row}"
        folder.mkdir()
        read = bytes_left_by(block + more, out, folder)
        assert {x[row].tobytes(), y[row].tobytes()} <= read


def test_bases_and_strides_of_the_manifest_lead_to_every_row(images):
    x, y, out = images
    manifest = manifest_of(out)
    assert manifest["requires"] == ["fixed_rows"]
    assert [(field["name"], field["kind"], field["dtype"]) for field in manifest["schema"]] == [
        ("x", "tensor", "|u1"),
        ("y", "integer", "<i4"),
    ]
    layout, row = manifest["layout"], 0
    for shard in manifest["shards"]:
        assert shard["index"] is None
        for row_of_shard in range(shard["samples"]):
            for i, array in enumerate((x, y)):
                file = shard["files"][layout["part_file"][layout["field_part"][i]]]["name"]
                fd = os.open(out / file, os.O_RDONLY)
                stride = layout["strides"][i]
                assert os.pread(fd, stride, shard["bases"][i] + row_of_shard * stride) == array[row].tobytes()
                os.close(fd)
            row += 1
    assert row == ROWS


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_there_and_back_is_the_same_file(dtype, tmp_path):
    source = saved(tmp_path / "x.npy", random_array(dtype, (ROWS, 2, 3)))
    run_shale("convert", f"x={source}", tmp_path / "out", "--to", "npy", "--shard-samples", "5")
    run_shale("convert", tmp_path / "out", tmp_path / "out.npy", "--fields", "x")
    assert (tmp_path / "out.npy").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("through", ["record", "lmdb", "hdf5"])
def test_there_and_back_through_other_containers_is_the_same_file(through, images, tmp_path):
    _, _, out = images
    run_shale("convert", out, tmp_path / "other", "--to", through)
    run_shale("convert", tmp_path / "other", tmp_path / "back", "--to", "npy", "--shard-samples", "5")
    for field, name in {"x": "images", "y": "labels"}.items():
        run_shale("convert", tmp_path / "back", tmp_path / f"{field}.npy", "--fields", field)
        assert (tmp_path / f"{field}.npy").read_bytes() == (tmp_path / f"{name}.npy").read_bytes()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("big_endian", [False, True], ids=["little", "big"])
def test_a_joined_array_is_as_numpy_saves_it_whatever_the_source_was(order, big_endian, tmp_path):
    array = random_array(np.dtype("<f4"), (ROWS, 4, 5))
    stored = other_order(array) if big_endian else array
    source = saved(tmp_path / "x.npy", np.asarray(stored, order=order), (2, 0))
    run_shale("convert", f"x={source}", tmp_path / "out", "--to", "npy", "--shard-samples", "5")
    run_shale("convert", tmp_path / "out", tmp_path / "out.npy", "--fields", "x")
    assert (tmp_path / "out.npy").read_bytes() == saved(tmp_path / "plain.npy", array).read_bytes()


def test_numpys_own_file_is_indexed_where_it_lies(tmp_path):
    array = random_array(np.dtype("<f8"), (ROWS, 3))
    source = saved(tmp_path / "x.npy", array)
    run_shale("index", source)
    run_shale("verify", source, "--deep")
    assert json.loads(run_shale("info", source, "--json").stdout)["samples"] == ROWS
    assert run_shale("cat", source, "7").stdout == array[7].tobytes()


def tinytopics_data():
    """tinytopics 0.9.3, data.py as it is installed: the package itself imports matplotlib and more."""
    path = importlib.metadata.distribution("tinytopics").locate_file("tinytopics/data.py")
    spec = importlib.util.spec_from_file_location("tinytopics_data", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("joined", [False, True], ids=["shard", "joined"])
def test_the_dataset_of_tinytopics_reads_a_shard_and_a_joined_array(joined, tmp_path):
    counts = np.random.default_rng(3).poisson(2.0, (ROWS, 40)).astype("<f4")
    source = saved(tmp_path / "x.npy", counts)
    run_shale("convert", f"x={source}", tmp_path / "out", "--to", "npy")
    file = tmp_path / "out/shard-000000.x.npy"
    if joined:
        file = tmp_path / "out.npy"
        run_shale("convert", tmp_path / "out", file, "--fields", "x")

    dataset = tinytopics_data().NumpyDiskDataset(file)

    assert (len(dataset), dataset.num_terms, dataset.shape) == (ROWS, 40, counts.shape)
    for row in range(ROWS):
        assert dataset[row].numpy().tobytes() == counts[row].tobytes()


def test_an_npz_archive_is_read_in_place(tmp_path):
    """What convert writes as .npz is verified, listed and read; of compressed or turned arrays the hint is right (issue 39)."""
    arrays = {"x": random_array(np.dtype("<f4"), (ROWS, 3, 1)), "y": np.arange(ROWS), "z": np.asfortranarray(random_array(np.dtype("u1"), (ROWS, 1)))}
    np.savez(tmp_path / "x.npz", **arrays)
    run_shale("convert", tmp_path / "x.npz", tmp_path / "set", "--to", "npy")
    run_shale("convert", tmp_path / "set", tmp_path / "ours.npz")
    for name in ("x.npz", "ours.npz"):
        with shale.Dataset(tmp_path / name) as dataset:
            for field, values in arrays.items():
                assert all(np.array_equal(dataset[row][field], values[row]) for row in range(ROWS)), field
        told = run_shale("verify", tmp_path / name, "--against", tmp_path / "set").stdout.decode()
        assert "the source holds the same samples" in told
        assert json.loads(run_shale("info", tmp_path / name, "--json").stdout)["samples"] == ROWS
        assert len(run_shale("ls", tmp_path / name, "--tsv").stdout.splitlines()) == ROWS
        assert run_shale("cat", tmp_path / name, "5", "--field", "y").stdout == b"5\n"
    np.savez_compressed(tmp_path / "packed.npz", **arrays)
    np.savez(tmp_path / "turned.npz", x=np.asfortranarray(arrays["x"].reshape(-1, 3).repeat(2, 1).reshape(ROWS, 3, 2)))
    for name in ("packed.npz", "turned.npz"):
        assert b"'shale convert' reads it" in run_shale("verify", tmp_path / name, code=1).stderr
        run_shale("convert", tmp_path / name, tmp_path / f"from-{name}.d", "--to", "npy")
