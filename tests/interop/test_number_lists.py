"""Lists of numbers and of arrays in the values of LMDB files: `convert` makes arrays of them, in place they are left out by name."""

import gzip
import json
import pickle
import zlib

import msgpack
import numpy as np
import pytest
import shale
import torch
from conftest import run_shale
from lmdb_files import write_lmdb

SIZES = [3, 1, 4, 2, 3, 5, 1, 2, 6, 3, 2, 4]
FACT = "field '{}' is a list of numbers: 'shale convert' makes arrays of lists"


def molecule(number):
    """As Uni-Mol's files have them."""
    count = SIZES[number]
    places = [np.random.default_rng(10 * number + k).random((count, 3), np.float32) for k in range(1 + number % 3)]
    return {
        "atoms": ["C", "H", "O", "N", "C", "H"][:count],
        "coordinates": places,
        "target": [0.5 * number] if number % 2 else [number],
        "smi": "C" * (5000 if number == 7 else number + 1),
        "bonds": [(k, k + 1) for k in range(count)],
        "flags": [True, number > 3],
        "none": None,
        "raw": b"\xff" * number,
        "n": number,
        "x": np.float32(number / 4),
        "pos": np.arange(2 * count, dtype=np.int16).reshape(count, 2),
        "charges": [np.float64(k) for k in range(count)],
    }


def convert(source, out, code=0, *words):
    done = run_shale("convert", source, out, "--to", "record", *words, code=code)
    with shale.Dataset(out) as dataset:
        return dataset.types, [dataset[row] for row in range(len(dataset))], done.stderr.decode()


def write(path, rows, pack):
    write_lmdb(path, {b"%d" % number: pack(row) for number, row in enumerate(rows)})
    return path


@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize("compress", [bytes, gzip.compress, zlib.compress])
def test_lists_of_numbers_and_of_arrays_in_pickles_are_arrays(tmp_path, protocol, compress):
    rows = [molecule(number) for number in range(12)]
    path = write(tmp_path / "a.lmdb", rows, lambda row: compress(pickle.dumps(row, protocol)))
    types, samples, _ = convert(path, tmp_path / "out", 4)  # 'none' is None in all
    assert types["coordinates"] == "float32 (?, ?, 3)" and types["target"] == "float64 (1,)" and types["bonds"] == "int64 (?, 2)"
    assert types["flags"] == "int64 (2,)" and types["charges"] == "float64 (?)" and types["smi"] == "text" and types["raw"] == "bytes"
    for row, sample in zip(rows, samples, strict=True):
        assert sample["atoms"] == row["atoms"] and sample["smi"] == row["smi"] and sample["raw"] == row["raw"] and sample["n"] == row["n"]
        for name in ("coordinates", "target", "bonds", "flags", "pos", "charges"):
            assert np.array_equal(sample[name], np.asarray(row[name])), name
        assert sample["x"] == row["x"]
    run_shale("verify", tmp_path / "out", "--against", path)


def test_lists_of_numbers_in_pickles_of_python_2(tmp_path):
    """Protocol 2 has the bytes of an array as a string in Latin-1: they are not in the file."""
    rows = [{"n": k, "target": [0.5, k], "pairs": [(k, 1), (2, k)], "arrays": [np.ones(2)]} for k in range(3)]
    types, samples, told = convert(write(tmp_path / "a.lmdb", rows, lambda row: pickle.dumps(row, 2)), tmp_path / "out", 4)
    assert types.keys() == {"n", "target", "pairs"} and "'arrays' is left out" in told
    for row, sample in zip(rows, samples, strict=True):
        assert list(sample["target"]) == row["target"] and np.array_equal(sample["pairs"], row["pairs"])


def test_in_place_such_a_list_is_left_out_and_the_note_names_convert(tmp_path):
    path = write(tmp_path / "a.lmdb", [molecule(number) for number in range(3)], pickle.dumps)
    told = json.loads(run_shale("info", path, "--json").stdout)
    left_out = {one["name"]: one["reason"] for one in told["left_out"]}
    assert left_out == dict.fromkeys(("coordinates", "target", "bonds", "flags", "charges"), "list_of_numbers") | {"none": "no_value"}
    assert FACT.format("target") in run_shale("info", path).stdout.decode()


def test_lists_of_tensors_and_of_arrays_of_other_shapes(tmp_path):
    rows = [
        {
            "n": k,
            "same": [torch.full((2, 2), k, dtype=torch.float64)] * 3,
            "other": [np.zeros((1, 2)), np.zeros((2, 2))],
            "kinds": [np.zeros(2, np.int32), np.zeros(2, np.float32)],
            "ranks": [1] if k else [[1]],
            "dtypes": [np.int8(1)] if k else [np.int16(1)],
            "texts": [1, "a"],
            "wide": [2**53 + 1, 0.5],
            "wider": [2**53 + 1] if k else [0.5],
            "exact": [2**53, 0.5],
            "empty": [[], [1, 2], []][k],
            "hollow": [],
            "grid": [[], [[1.5, 2]], [[1, 2], [3, 4]]][k],
        }
        for k in range(3)
    ]
    path = write(tmp_path / "a.lmdb", rows, pickle.dumps)
    types, samples, told = convert(path, tmp_path / "out", 4)
    assert types.keys() == {"n", "same", "exact", "empty", "hollow", "grid"} and types["grid"] == "float64 (?, 2)"
    for name in ("other", "kinds", "ranks", "dtypes", "texts", "wide", "wider"):
        assert f"'{name}' is left out" in told
    for k, sample in enumerate(samples):
        assert np.array_equal(sample["same"], np.full((3, 2, 2), k)) and list(sample["exact"]) == rows[k]["exact"]
        assert list(sample["empty"]) == rows[k]["empty"] and sample["grid"].shape == (k, 2)


def test_msgpack_arrays_of_numbers_are_arrays(tmp_path):
    def pack(row):
        return msgpack.packb(
            row, default=lambda one: {b"nd": True, b"type": one.dtype.str, b"kind": b"", b"shape": one.shape, b"data": one.tobytes()}
        )

    rows = [
        {
            "key": f"k{k}",
            "boxes": [[k, 1, 2, 3.5]] * (k % 3),
            "ids": list(range(k)),
            "in": {"p": [np.ones((2, 2), "<f4")] * 2},
            "n": k,
            "odd": [k, "a"],
        }
        for k in range(12)
    ]
    path = write(tmp_path / "a.lmdb", rows, pack)
    left_out = {one["name"]: one["reason"] for one in json.loads(run_shale("info", path, "--json").stdout)["left_out"]}
    assert left_out == {"boxes": "list_of_numbers", "ids": "list_of_numbers", "in_p": "list_of_numbers", "odd": "type_not_held"}
    for where, code in ((path, 4), (write(tmp_path / "z.lmdb", rows, lambda row: zlib.compress(pack(row))), 4)):
        types, samples, told = convert(where, tmp_path / where.stem, code)
        assert types["boxes"] == "float64 (?, 4)" and types["ids"] == "int64 (?)" and types["in_p"] == "float32 (2, 2, 2)"
        assert "'odd' is left out" in told
        for row, sample in zip(rows, samples, strict=True):
            assert np.array_equal(sample["boxes"], np.reshape(row["boxes"], (-1, 4))) and list(sample["ids"]) == row["ids"]
            assert sample["in_p"].sum() == 8 and sample["n"] == row["n"]


@pytest.mark.parametrize(
    "value",
    [
        [0] * 1_000_000,
        [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]],
        [np.zeros(1 << 16)] * 2000,  # 1 GB, of one array that is referred to 2000 times
        [np.zeros((2, 3), order="F")],
        [np.zeros(2, ">f4")],
        [10**30, 1],
    ],
    ids=["long", "deep", "repeated", "fortran", "big-endian", "huge"],
)
@pytest.mark.parametrize("pack", [pickle.dumps, lambda row: zlib.compress(pickle.dumps(row))], ids=["plain", "zlib"])
def test_lists_that_are_no_arrays_do_no_harm(tmp_path, value, pack):
    path = write(tmp_path / "a.lmdb", [{"n": k, "fine": [k], "bad": value} for k in range(2)], pack)
    done = run_shale("convert", path, tmp_path / "out", "--to", "record", "--memory", "32MiB", code=(0, 4))
    if b"'bad' is left out" in done.stderr:
        with shale.Dataset(tmp_path / "out") as dataset:
            assert [list(sample["fine"]) for sample in dataset] == [[0], [1]]
