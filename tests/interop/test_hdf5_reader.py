"""Plain h5py opens an hdf5 shard and reads every sample byte-equal, in workers that opened it before and after the fork."""

import time
from pathlib import Path

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


def test_no_object_has_a_time_or_any_attribute_but_the_class_names(files):
    for path in files:
        with h5py.File(path, "r") as file:
            for name in [".", *file]:
                assert h5py.h5g.get_objinfo(file.id, name.encode()).mtime == 0, name
                assert list(file[name].attrs) == (["classes"] if name == "label" else []), name


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


# Values that differ in shape, or that some samples lack.

VARIED = Path(__file__).parents[2] / "formats/hdf5/golden/rows/varied.h5"
BOXES = [[[1, 2], [3, 4]], np.zeros((0, 2)), [[5, 6]]]


def test_h5py_reads_what_differs_in_shape_or_is_absent():
    """The file is the one that format_tests writes, byte for byte."""
    with h5py.File(VARIED) as file:
        pieces = {name: [file[name][begin:end] for begin, end in zip(offsets, offsets[1:])]
                  for name in ("boxes", "tokens", "note", "captions") for offsets in [file[name + "_offset"][:]]}
        boxes = [values.reshape(shape) for values, shape in zip(pieces["boxes"], file["boxes_shape"][:])]
        assert all(np.array_equal(found, expected) for found, expected in zip(boxes, BOXES, strict=True))
        assert [values.tolist() for values in pieces["tokens"]] == [[7, 8, 9], [], [7, 8]]
        assert {file[name].dtype.str for name in ("boxes", "tokens")} == {"<f4", "<u2"}
        for name, values in {"label": [3, 0, 0], "depth": [[10, 11], [0, 0], [10, 11]]}.items():
            assert file[name][:].tolist() == values
            assert file[name + "_present"].dtype == bool and file[name + "_present"][:].tolist() == [True, False, True]
        notes = [text.tobytes() if there else None for text, there in zip(pieces["note"], file["note_present"])]
        assert notes == [b"a note", None, b""]
        texts, first = [text.tobytes().decode() for text in pieces["captions"]], file["captions_first"][:]
        assert [texts[begin:end] for begin, end in zip(first, first[1:])] == [["one", "two"], [], ["hé"]]


@pytest.mark.parametrize("block", blocks_of(DOCUMENT, "h5py-varied"))
def test_the_lines_in_the_document_read_varied_values(block, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set/shard-000000.h5").write_bytes(VARIED.read_bytes())
    for sample in range(3):
        folder = tmp_path / str(sample)
        folder.mkdir()
        check = f"assert boxes.tolist() == {np.asarray(BOXES[sample]).tolist()} and note == {['a note', None, ''][sample]!r}"
        bytes_left_by(block.replace(", 2\n", f", {sample}\n", 1) + check + "\n", tmp_path / "set", folder)


@pytest.mark.parametrize("dtype", [">f4", ">i2", ">u8"])
def test_sequences_of_big_endian_numbers_are_turned_by_convert(dtype, tmp_path):
    rows = [np.arange(row * 300 % 7, dtype=dtype) for row in range(9)]
    with h5py.File(tmp_path / "in.h5", "w") as file:
        values = file.create_dataset("x", (len(rows),), dtype=h5py.vlen_dtype(dtype))
        for number, row in enumerate(rows):
            values[number] = row
    run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "record")
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "in.h5")
    dataset = pytest.importorskip("shale").Dataset(tmp_path / "out")
    assert dataset.types == {"x": f"{np.dtype(dtype).name} (?)"}
    assert [sample["x"].tolist() for sample in dataset] == [row.tolist() for row in rows]


# What stands beside the arrays that are wanted.


NOT_HELD = {
    "sequences of rows": lambda file: file.create_dataset("other", (6,), dtype=h5py.vlen_dtype(np.dtype([("time", "f8"), ("class", "i4")]))),
    "references": lambda file: file.create_dataset("other", (6,), dtype=h5py.ref_dtype),
}
OF_OTHER_ROWS = {
    "names": lambda file: file.create_dataset("other", data=np.array([b"a", b"b"])),
    "no rows yet": lambda file: file.create_dataset("other", (0, 3), "f4", maxshape=(None, 3)),
    "references of other rows": lambda file: (file.create_dataset("refs", (1, 3), dtype=h5py.ref_dtype), file.create_dataset("other", data=np.zeros((4, 6)))),
    "a virtual dataset": lambda file: file.create_virtual_dataset("other", virtual_layout_of("missing.h5")),
}
POINTS = np.arange(24, dtype="f4").reshape(6, 4)


def virtual_layout_of(name):
    layout = h5py.VirtualLayout(shape=(6, 2), dtype="f4")
    layout[:] = h5py.VirtualSource(name, "x", shape=(6, 2))
    return layout


@pytest.fixture(params=[{}, {"chunks": (2, 2), "compression": "gzip"}], ids=["in place", "packed"])
def points(request, tmp_path):
    """Makes in.h5 with x and y, and what else is wanted."""

    def make(change):
        with h5py.File(tmp_path / "in.h5", "w") as file:
            file.create_dataset("x", data=POINTS, **request.param)
            file["y"] = np.arange(6)
            change(file)
        return tmp_path / "in.h5"

    return make


def assert_points(out):
    assert sorted(one.name for one in out.glob("*.npy") if ".blocks" not in one.name) == ["shard-000000.x.npy", "shard-000000.y.npy"]
    assert np.array_equal(np.load(out / "shard-000000.x.npy"), POINTS)
    assert np.array_equal(np.load(out / "shard-000000.y.npy"), np.arange(6))


@pytest.mark.parametrize("name", NOT_HELD)
def test_what_no_field_can_hold_is_left_out_and_named(name, points, tmp_path):
    source = points(NOT_HELD[name])
    told = run_shale("convert", source, tmp_path / "all", "--to", "npy", code=4)
    assert b"dataset 'other'" in told.stdout + told.stderr
    assert manifest_of(tmp_path / "all")["left_out"] == [{"kind": "dataset", "name": "other", "reason": "type_not_held", "samples": None}]
    assert_points(tmp_path / "all")
    run_shale("convert", source, tmp_path / "xy", "--to", "npy", "--fields", "x,y")
    assert "left_out" not in manifest_of(tmp_path / "xy")
    assert_points(tmp_path / "xy")
    told = run_shale("convert", source, tmp_path / "other", "--to", "npy", "--fields", "other", code=2)
    assert b"left out of its fields (type_not_held)" in told.stderr


@pytest.mark.parametrize("name", OF_OTHER_ROWS)
def test_fields_that_are_named_do_not_depend_on_the_others(name, points, tmp_path):
    source = points(OF_OTHER_ROWS[name])
    run_shale("convert", source, tmp_path / "all", "--to", "npy", code=1)
    run_shale("convert", source, tmp_path / "xy", "--to", "npy", "--fields", "x,y")
    assert_points(tmp_path / "xy")
    again = run_shale("convert", source, tmp_path / "xy", "--to", "npy", "--fields", "x,y")
    assert b"already complete" in again.stdout + again.stderr
    told = run_shale("verify", tmp_path / "xy", "--against", source)
    assert b"the source holds the same samples; besides, the source has " in told.stdout and b"dataset 'other' (not_asked_for)" in told.stdout


def test_the_missing_source_of_a_virtual_dataset_is_named(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_virtual_dataset("x", virtual_layout_of("missing.h5"))
    assert b"is composed of parts of other datasets" in run_shale("info", "in.h5", cwd=tmp_path).stdout
    for words in (["index"], ["convert", "out", "--to", "npy"]):
        told = run_shale(words[0], "in.h5", *words[1:], code=1, cwd=tmp_path)
        assert b"the file 'missing.h5' that it needs is missing" in told.stderr and b"h5repack" not in told.stderr
    with h5py.File(tmp_path / "missing.h5", "w") as file:
        file["x"] = np.ones((6, 2), "f4")
    assert b"h5repack" in run_shale("index", tmp_path / "in.h5", code=1).stderr


@pytest.mark.parametrize("packing", [{}, {"chunks": (2, 4)}, {"chunks": (2, 2), "compression": "gzip"}])
def test_big_endian_arrays_are_turned(packing, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("x", data=POINTS.astype(">f4"), **packing)
    run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "npy")
    assert_same_bytes(np.load(tmp_path / "out" / "shard-000000.x.npy"), POINTS, "x")


def test_the_names_of_an_enumeration_are_the_classes_of_its_labels(points, tmp_path):
    kinds = h5py.enum_dtype({"dog": 1, "cat": 0, "bird": 2}, basetype="i2")

    def change(file):
        file.create_dataset("label", data=np.arange(6) % 3, dtype=kinds)
        file["label"].attrs["source"], file.attrs["title"], file.attrs["CLASS"] = "web", "pets", "GROUP"

    told = run_shale("convert", points(change), tmp_path / "out", "--to", "hdf5")
    assert manifest_of(tmp_path / "out")["classes"] == ["cat", "dog", "bird"]
    assert b"attributes are not read: 'title' of the file, 'source' of 'label'" in told.stderr


def test_other_names_of_numbers_are_left_out(points, tmp_path):
    def change(file):
        file.create_dataset("label", data=np.full(6, 7), dtype=h5py.enum_dtype({"seven": 7}, basetype="i2"))
        file.create_dataset("color", data=np.arange(6) % 2, dtype=h5py.enum_dtype({"red": 0, "blue": 1}, basetype="u1"))
        file["is_odd"] = np.arange(6) % 2 == 1

    run_shale("convert", points(change), tmp_path / "out", "--to", "hdf5", code=4)
    manifest = manifest_of(tmp_path / "out")
    assert manifest["classes"] == []
    assert [(one["kind"], one["name"], one["reason"]) for one in manifest["left_out"]] == [("names", "color", "not_class_names"), ("names", "label", "not_class_names")]
