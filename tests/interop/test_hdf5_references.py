"""HDF5 files whose datasets refer to others: cells and arrays of structs of MATLAB 7.3, references that h5py made."""

import itertools
import json
import random

import h5py
import numpy as np
import pytest
from conftest import run_shale


def matlab_file(path, **variables):
    """As MATLAB 7.3 lays out a file: a user block, `#refs#`, and MATLAB_class on everything. Cells are lists, arrays of structs lists of dicts."""
    with h5py.File(path, "w", userblock_size=512) as file:
        put_matlab_values(file, variables)
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def put_matlab_values(file, variables):
    numbers = itertools.count()

    def referred(value):
        name = f"#refs#/r{next(numbers)}"
        if isinstance(value, dict):
            for member, of in value.items():
                put(f"{name}/{member}", of)
            file[name].attrs["MATLAB_class"] = np.bytes_("struct")
        else:
            put(name, value)
        return file[name].ref

    def put(path, value):
        if isinstance(value, list):
            data = file.create_dataset(path, (1, len(value)), dtype=h5py.ref_dtype)
            data[0] = [referred(one) for one in value]
            data.attrs["MATLAB_class"] = np.bytes_("cell")
        elif isinstance(value, str):
            units = np.frombuffer(value.encode("utf-16-le"), "<u2").reshape(-1, 1)
            put_array(path, units, "char")
            file[path].attrs["MATLAB_int_decode"] = np.int32(2)
        else:
            put_array(path, value, {"f8": "double", "f4": "single"}.get(value.dtype.str[1:], value.dtype.name))

    def put_array(path, value, matlab_class):
        if value.size == 0:  # its shape instead
            file[path] = np.array(value.shape[::-1], "u8")
            file[path].attrs["MATLAB_empty"] = np.uint8(1)
        else:
            file.create_dataset(path, data=value)
        file[path].attrs["MATLAB_class"] = np.bytes_(matlab_class)

    for path, value in variables.items():
        put(path, value)


NAMES = ["wall", "Stühle", "", "𝄞", "floor"]
LINES = [np.arange(n, dtype="f8").reshape(-1, 1) / 2 for n in (3, 1, 0, 7, 2)]


def test_cells_of_matlab_are_text_and_arrays_of_any_length(shale, tmp_path):
    images = np.arange(5 * 12, dtype="u1").reshape(5, 3, 4)
    matlab_file(tmp_path / "in.mat", images=images, names=NAMES, lines=LINES, classes=["one", "two"])

    noted = run_shale("convert", tmp_path / "in.mat", tmp_path / "out", "--to", "hdf5", code=4).stderr

    assert b"dataset 'classes' is left out: it has 2 rows" in noted
    found = columns_of(tmp_path / "out")
    assert found["names"] == [name.encode() for name in NAMES]
    assert all(np.array_equal(got, line[:, 0]) for got, line in zip(found["lines"], LINES, strict=True))
    assert np.array_equal(found["images"], images)


def columns_of(out):
    """The fields of a set of one hdf5 shard without keys."""
    kinds = {field["name"]: field["kind"] for field in json.loads((out / "dataset.json").read_text())["schema"]}
    with h5py.File(out / "shard-000000.h5") as file:
        columns = {name: dataset[()] for name, dataset in file.items()}

    def column(name):
        if name + "_offset" not in columns:
            return columns[name]
        ends = columns[name + "_offset"]
        values = [columns[name][begin:end] for begin, end in zip(ends, ends[1:], strict=False)]
        return values if kinds[name] == "tensor" else [bytes(value) for value in values]

    return {name: column(name) for name in kinds}


def test_the_boxes_of_svhn_are_fields(shale, tmp_path):
    """`digitStruct` of the Street View House Numbers: one box is a number, several are references to numbers."""
    boxes = [[(246.0, 77.0), (323.0, 81.0)], [(77.0, 29.0)], [(17.0, 5.0), (25.0, 5.0), (31.0, 6.0)]]

    def side(values):
        numbers = [np.array([[value]]) for value in values]
        return numbers if len(numbers) > 1 else numbers[0]

    bbox = [{"left": side([box[0] for box in one]), "top": side([box[1] for box in one])} for one in boxes]
    matlab_file(tmp_path / "digitStruct.mat", **{"digitStruct/name": ["1.png", "2.png", "3.png"], "digitStruct/bbox": bbox})

    shale("convert", tmp_path / "digitStruct.mat", tmp_path / "out", "--to", "hdf5")

    found = columns_of(tmp_path / "out")
    assert found["digitStruct_name"] == [b"1.png", b"2.png", b"3.png"]
    for i, field in enumerate(("digitStruct_bbox_left", "digitStruct_bbox_top")):
        assert [list(values) for values in found[field]] == [[box[i] for box in one] for one in boxes]


def test_references_that_h5py_made_are_followed(shale, tmp_path):
    rows = [np.arange(n, dtype=">i4") for n in (2, 5, 1)]
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["tokens"] = np.array([file.create_dataset(f"#refs#/{i}", data=row, compression="gzip", chunks=True).ref for i, row in enumerate(rows)], h5py.ref_dtype)
        file["y"] = np.arange(3)
        file["part"] = np.array([file["y"].regionref[:1]] * 3, h5py.regionref_dtype)

    noted = run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5", code=4).stderr

    assert b"dataset 'part' is left out: it holds a reference to a region" in noted
    assert all(np.array_equal(got, row) for got, row in zip(columns_of(tmp_path / "out")["tokens"], rows, strict=True))


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ([np.eye(2), np.eye(3)], b"references to arrays of several axes"),
        ([np.zeros((2, 1)), np.zeros((2, 1), "f4")], b"references to values of several types"),
        (["a", np.zeros((1, 1))], b"references to values of several types"),
        ([["a"], ["b"]], b"references to references to references"),
    ],
    ids=["axes", "dtypes", "text", "nested"],
)
def test_cells_that_no_field_can_hold_are_left_out_by_name(cell, reason, tmp_path):
    matlab_file(tmp_path / "in.mat", cell=cell, y=np.arange(2.0))

    noted = run_shale("convert", tmp_path / "in.mat", tmp_path / "out", "--to", "hdf5", code=4).stderr

    assert b"dataset 'cell' is left out: it holds " + reason in noted


def test_a_late_value_of_another_type_is_refused_by_row(tmp_path):
    matlab_file(tmp_path / "in.mat", cell=[np.zeros((1, 1))] * 300 + ["text"], y=np.arange(301.0))

    refusal = run_shale("convert", tmp_path / "in.mat", tmp_path / "out", "--to", "hdf5", code=1).stderr

    assert b"dataset 'cell' refers to values of another type in row 300" in refusal
    assert b"--fields" in refusal


@pytest.mark.parametrize("seed", range(40))
def test_damage_of_references_is_never_more_than_an_error(seed, tmp_path):
    boxes = [{"left": np.array([[float(i)]]), "top": [np.array([[1.0]]), np.array([[2.0]])]} for i in range(5)]
    matlab_file(tmp_path / "in.mat", names=NAMES, lines=LINES, boxes=boxes)
    dice, damaged = random.Random(seed), bytearray((tmp_path / "in.mat").read_bytes())
    for _ in range(dice.choice([1, 3, 30])):
        damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
    (tmp_path / "in.mat").write_bytes(damaged)

    for words in (["info"], ["index", "--crc"], ["convert", "out", "--to", "lmdb"]):
        told = run_shale(words[0], "in.mat", *words[1:], cwd=tmp_path, code=(0, 1, 2, 3, 4))
        assert b"bug" not in told.stderr, told.stderr
