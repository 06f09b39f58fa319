"""Plain h5py opens an hdf5 shard and reads every sample byte-equal, in workers that opened it before and after the fork."""

import time

import h5py
import numpy as np
import pytest
from conftest import run_shale
from dataset_reading import index_of, manifest_of, rows_of, shard_file_of
from documented_code import blocks_of, bytes_left_by, lines_of
from forked_workers import Shards, read_in_two_workers

TYPES = {"image": "|u1", "image_offset": "<u8", "label": "<i8", "key": "|u1", "key_offset": "<u8"}
DOCUMENT = ["formats/hdf5/FORMAT.md"]


@pytest.fixture(scope="module")
def hdf5_dataset(photos, shale, tmp_path_factory):
    """`photos` as hdf5 shards, several of them."""
    out = tmp_path_factory.mktemp("hdf5") / "out"
    shale("convert", photos, out, "--to", "hdf5", "--shard-samples", "25")
    return out


@pytest.fixture(scope="module")
def files(hdf5_dataset):
    return [shard_file_of(hdf5_dataset, shard) for shard in manifest_of(hdf5_dataset)["shards"]]


@pytest.fixture(scope="module")
def lengths(hdf5_dataset):
    return [shard["samples"] for shard in manifest_of(hdf5_dataset)["shards"]]


class Hdf5Shard:
    """One shard as its users read it."""

    def __init__(self, path):
        self.file = h5py.File(path, "r")

    def value(self, name, row):
        offset = self.file[name + "_offset"]
        return self.file[name][offset[row] : offset[row + 1]].tobytes()

    def __getitem__(self, row):
        return self.value("key", row), int(self.file["label"][row]), self.value("image", row)


@pytest.mark.parametrize("opens_early", [False, True], ids=["opened after the fork", "opened before the fork"])
def test_two_forked_workers_read_every_sample(opens_early, files, lengths, listed):
    assert read_in_two_workers(Shards(files, Hdf5Shard, lengths, opens_early)) == listed
    assert len(files) == 3


def test_one_dataset_a_column_and_nothing_else(files, lengths):
    for path, samples in zip(files, lengths):
        with h5py.File(path, "r") as file:
            assert {name: dataset.dtype.str for name, dataset in file.items()} == TYPES
            for name in ("image", "key"):
                offsets = file[name + "_offset"][:]
                assert offsets.shape == (samples + 1,)
                assert offsets[0] == 0 and offsets[-1] == file[name].shape[0]
                assert np.all(offsets[1:] >= offsets[:-1])
            assert file["label"].shape == (samples,)


def test_storage_is_contiguous_without_filters(files):
    for path in files:
        with h5py.File(path, "r") as file:
            for name, dataset in file.items():
                assert dataset.chunks is None and dataset.compression is None, name
                assert dataset.id.get_create_plist().get_layout() == h5py.h5d.CONTIGUOUS, name
                assert dataset.id.get_offset() is not None, name


def test_no_object_has_a_time_or_an_attribute(files):
    for path in files:
        with h5py.File(path, "r") as file:
            for name in [".", *file]:
                assert h5py.h5g.get_objinfo(file.id, name.encode()).mtime == 0, name
                assert len(file[name].attrs) == 0, name


def test_the_index_finds_what_h5py_finds(hdf5_dataset):
    for shard in manifest_of(hdf5_dataset)["shards"]:
        reader = Hdf5Shard(shard_file_of(hdf5_dataset, shard))
        for row, values in enumerate(rows_of(shard_file_of(hdf5_dataset, shard), index_of(hdf5_dataset, shard))):
            assert (values["key"], values["label"], values["image"]) == reader[row]


def test_two_conversions_give_the_same_bytes(hdf5_dataset, photos, shale, tmp_path):
    # A time that HDF5 puts into a file is in whole seconds: let the next one begin.
    written = max(path.stat().st_mtime for path in hdf5_dataset.iterdir())
    time.sleep(max(0, 1.1 - (time.time() - written)))
    shale("convert", photos, tmp_path / "again", "--to", "hdf5", "--shard-samples", "25", "--jobs", "1")
    first = {path.name: path.read_bytes() for path in hdf5_dataset.iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == first


@pytest.mark.parametrize("block", blocks_of(DOCUMENT, "h5py-lines"))
def test_the_lines_in_the_document_read_a_sample(block, hdf5_dataset, listed, tmp_path):
    read = bytes_left_by(block, hdf5_dataset, tmp_path)
    assert read & {image for _, _, image in listed}, "no variable holds the bytes of an image of the dataset"


@pytest.mark.parametrize("block", blocks_of(DOCUMENT, "h5py-lines"))
def test_the_reader_is_three_lines(block):
    assert len(lines_of(block)) <= 3, block


# Arrays: fixed rows, a dataset each, nothing else.

ROWS = 70


def arrays():
    """A column of every type that the documentation names, by field."""
    dice = np.random.default_rng(20261122)
    numbers = {
        f"{kind}{shape}": dice.integers(0, 2 if kind == "b1" else 256, (ROWS, *sides, np.dtype(kind).itemsize), "u1")
        .view(kind)
        .reshape(ROWS, *sides)
        for kind in ("b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
        for shape, sides in (("", ()), ("_rows", (3, 2)))
    }
    images = dice.integers(0, 256, (ROWS, 8, 9, 3), "u1")
    labels = dice.integers(-5, 5, ROWS, "i4")
    return {"x": images, "y": labels, "hollow": np.zeros((ROWS, 0), "f4")} | numbers


def convert_arrays(shale, columns, folder, out, *more):
    """`shale convert a=a.npy b=b.npy OUT --to hdf5`."""
    words = []
    for name, values in columns.items():
        np.save(folder / f"{name}.npy", values)
        words.append(f"{name}={folder / name}.npy")
    shale("convert", *words, out, "--to", "hdf5", *more)
    return out


@pytest.fixture(scope="module")
def columns():
    return arrays()


@pytest.fixture(scope="module")
def array_dataset(columns, shale, tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    return convert_arrays(shale, columns, folder, folder / "out", "--shard-samples", "25")


def shards_of(dataset):
    """Each shard's line of the manifest, its file, and the slice of the whole that it holds."""
    first = 0
    for shard in manifest_of(dataset)["shards"]:
        yield shard, shard_file_of(dataset, shard), slice(first, first + shard["samples"])
        first += shard["samples"]


def assert_same_bytes(found, expected, name):
    assert found.dtype == expected.dtype, name
    assert found.shape == expected.shape, name
    assert found.tobytes() == expected.tobytes(), name  # NaNs too


def test_h5py_gives_the_arrays_back(array_dataset, columns):
    assert [shard["samples"] for shard, _, _ in shards_of(array_dataset)] == [25, 25, 20]
    for _, path, rows in shards_of(array_dataset):
        with h5py.File(path, "r") as file:
            for name, values in columns.items():
                assert_same_bytes(file[name][:], values[rows], name)
                assert_same_bytes(file[name][3:7], values[rows][3:7], name)
                assert_same_bytes(np.asarray(file[name][7]), np.asarray(values[rows][7]), name)


def test_h5py_names_the_types_as_numpy_does(array_dataset):
    _, path, _ = next(shards_of(array_dataset))
    with h5py.File(path, "r") as file:
        assert file["b1"].dtype == np.bool_ and file["b1"][:].dtype == np.bool_
        assert file["f2_rows"].dtype == np.float16
        assert file["c8"].dtype == np.complex64 and file["c16"].dtype == np.complex128
        assert file["y"].dtype == np.int32


@pytest.mark.parametrize("block", blocks_of(DOCUMENT, "h5py-arrays"))
def test_the_lines_in_the_document_slice_arrays(block, array_dataset, columns, tmp_path):
    read = bytes_left_by(block + "\nimages, labels = images.tobytes(), labels.tobytes()", array_dataset, tmp_path)
    assert read >= {columns["x"][3:7].tobytes(), columns["y"][3:7].tobytes()}


def test_arrays_are_one_contiguous_dataset_each_and_nothing_else(array_dataset, columns):
    layout = manifest_of(array_dataset)["layout"]
    fields = [field["name"] for field in manifest_of(array_dataset)["schema"]]
    assert fields == list(columns)
    assert layout["strides"] == [values[0].nbytes for values in columns.values()]
    for shard, path, _ in shards_of(array_dataset):
        assert shard["index"] is None
        with h5py.File(path, "r") as file:
            assert set(file) == set(columns)
            for name, base in zip(fields, shard["bases"]):
                assert file[name].chunks is None and len(file[name].attrs) == 0, name
                assert file[name].id.get_create_plist().get_layout() == h5py.h5d.CONTIGUOUS, name
                assert file[name].nbytes == 0 or file[name].id.get_offset() == base, name


def test_the_manifest_alone_finds_every_row(array_dataset, columns):
    strides = manifest_of(array_dataset)["layout"]["strides"]
    for shard, path, rows in shards_of(array_dataset):
        content = path.read_bytes()
        for (name, values), base, stride in zip(columns.items(), shard["bases"], strides):
            for row, value in enumerate(values[rows]):
                begin = base + row * stride
                assert content[begin : begin + stride] == value.tobytes(), (name, row)


def test_shards_of_arrays_verify_and_are_the_same_for_any_jobs(array_dataset, columns, shale, tmp_path):
    shale("verify", array_dataset, "--deep")
    again = convert_arrays(shale, columns, tmp_path, tmp_path / "again", "--shard-samples", "25", "--jobs", "1")
    first = {path.name: path.read_bytes() for path in array_dataset.iterdir()}
    assert {path.name: path.read_bytes() for path in again.iterdir()} == first


@pytest.mark.parametrize("values", [np.arange(1, dtype="i4"), np.array([True, False]), np.arange(9, dtype="f2").reshape(3, 3)])
def test_a_single_array_is_a_shard(values, shale, tmp_path):
    out = convert_arrays(shale, {"only": values}, tmp_path, tmp_path / "out")
    ((_, path, _),) = shards_of(out)
    with h5py.File(path, "r") as file:
        assert list(file) == ["only"]
        assert_same_bytes(file["only"][:], values, "only")


def test_two_large_columns_stay_within_the_size_of_a_shard(shale, tmp_path):
    dice = np.random.default_rng(5)
    columns = {"y": dice.random((90, 5000), "f4"), "x": dice.random((90, 5000), "f4"), "label": np.arange(90)}
    out = convert_arrays(shale, columns, tmp_path, tmp_path / "out", "--shard-size", "1MiB")
    assert len(list(shards_of(out))) > 2
    for _, path, rows in shards_of(out):
        assert path.stat().st_size <= 1 << 20
        with h5py.File(path, "r") as file:
            for name, values in columns.items():
                assert_same_bytes(file[name][:], values[rows], name)


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(3, np.longdouble),
        np.zeros(3, "M8[s]"),
        np.array([b"ab", b"c"]),
        np.array(["ab", "c"]),
        np.zeros(3, "V4"),
        np.zeros(3, [("a", "<f4"), ("b", "<i2")]),
    ],
    ids=lambda values: str(values.dtype),
)
def test_what_has_no_hdf5_type_is_refused_by_name(values, tmp_path):
    np.save(tmp_path / "odd.npy", values)
    done = run_shale("convert", f"odd={tmp_path}/odd.npy", tmp_path / "out", "--to", "hdf5", code=(1, 2))
    assert b"field 'odd' is a tensor of " in done.stderr
    assert not list((tmp_path / "out").glob("*.h5"))


# What h5py wrote comes back as h5py wrote it.


def test_columns_of_an_h5py_file_keep_their_dtype(columns, shale, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for name, values in columns.items():
            file[name] = values
    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5")
    ((_, path, _),) = shards_of(tmp_path / "out")
    with h5py.File(path, "r") as file:
        assert set(file) == set(columns)
        for name, values in columns.items():
            assert_same_bytes(file[name][:], values, name)


def test_big_endian_and_keyed_columns_of_an_h5py_file_keep_their_dtype(shale, tmp_path):
    labels, scores = np.arange(-3, 4, dtype=">i2"), np.linspace(-1, 1, 7, dtype=">f4")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["label"], file["score"], file["is_odd"] = labels, scores, labels % 2 == 1
        file["key"] = np.array([b"k%d" % i for i in range(7)])
    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5")
    ((_, path, _),) = shards_of(tmp_path / "out")
    with h5py.File(path, "r") as file:
        assert {name: dataset.dtype.str for name, dataset in file.items()} == {
            "key": "|u1", "key_offset": "<u8", "label": "<i2", "score": "<f4", "is_odd": "|b1"
        }
        assert np.array_equal(file["label"][:], labels) and np.array_equal(file["score"][:], scores)
        assert np.array_equal(file["is_odd"][:], labels % 2 == 1)
        assert file["key"][:].tobytes() == b"k0k1k2k3k4k5k6"
