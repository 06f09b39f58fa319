"""Sets of arrays (rows of one size, no index) through shale.Dataset, judged by the numpy arrays that they were made of."""

import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
from test_dataset_errors import SHIM, flip

shale_package = pytest.importorskip("shale")
from shale import Dataset, errors

ROWS, SHARD_ROWS = 90, 40
ROOT = pathlib.Path(__file__).resolve().parents[2]


def arrays():
    """Tensors of 40 KB and of 12 bytes, and a column of each kind of number."""
    dice = np.random.default_rng(11)
    return {
        "x": dice.standard_normal((ROWS, 100, 100)).astype("f4"),
        "z": dice.integers(0, 255, (ROWS, 3, 4)).astype("u1"),
        "none": np.zeros((ROWS, 0, 2), "f8"),
        "y": np.arange(ROWS, dtype="i4") - 40,
        "wide": np.arange(ROWS, dtype="i8") << 40,
        "flag": np.arange(ROWS) % 3 == 0,
        "half": dice.standard_normal(ROWS).astype("f4"),
        "real": dice.standard_normal(ROWS),
        "when": np.arange(ROWS).astype("datetime64[s]"),
    }


@pytest.fixture(scope="module")
def packed(tmp_path_factory, shale):
    """The arrays, and the set that they were converted into: three shards."""
    folder, columns = tmp_path_factory.mktemp("arrays"), arrays()
    for name, column in columns.items():
        np.save(folder / f"{name}.npy", column)
    words = [f"{name}={folder / name}.npy" for name in columns]
    shale("convert", *words, folder / "out", "--to", "npy", "--shard-samples", str(SHARD_ROWS))
    return folder / "out", columns


@pytest.fixture
def victim(packed, tmp_path):
    """A copy to be damaged: its folder, and a function that gives file and offset of a value."""
    folder, columns = packed
    shutil.copytree(folder, tmp_path / "out")
    shards = json.loads((folder / "dataset.json").read_text())["shards"]

    def place(name, row):
        shard, number = divmod(row, SHARD_ROWS)
        field = list(columns).index(name)
        return tmp_path / "out" / shards[shard]["files"][field]["name"], shards[shard]["bases"][field] + number * columns[name][0].nbytes

    return tmp_path / "out", place


def check(sample, columns, row):
    assert set(sample) == {"key", *columns} and sample["key"] == str(row)
    for name, column in columns.items():
        value = sample[name]
        if name in ("x", "z", "none", "when"):
            assert isinstance(value, np.ndarray) and value.dtype == column.dtype and value.shape == column.shape[1:]
            assert value.flags.writeable and value.flags.c_contiguous and np.array_equal(value, column[row])
        else:
            assert type(value) is (float if column.dtype.kind == "f" else int) and value == column[row].item()


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("cache", ["keep", "drop", "direct"])
def test_rows_come_as_they_were(packed, cache, verify):
    folder, columns = packed
    ds = Dataset(folder, cache=cache, verify=verify)
    assert len(ds) == ROWS and ds.classes == []
    rows = [0, 89, 39, 40, 41, 7, 7, 8, 9, 10, 80, 79, -1]
    for row, sample in zip(rows, ds.__getitems__(rows)):
        check(sample, columns, row % ROWS)
    for row in (0, 63, -1):
        check(ds[row], columns, row % ROWS)
    for row, sample in enumerate(ds):
        check(sample, columns, row)


def test_columns_are_arrays_of_their_own_dtype(packed):
    folder, columns = packed
    for verify in (False, True):
        ds = Dataset(folder, verify=verify)
        for name in ("y", "wide", "flag", "half", "real"):
            column = ds.column(name)
            assert column.dtype == columns[name].dtype and np.array_equal(column, columns[name])
            assert ds.schema[name] == {"kind": "real" if column.dtype.kind == "f" else "integer", "dtype": column.dtype.str, "shape": ()}
        assert np.array_equal(ds.column("x"), columns["x"]) and ds.column("x").dtype == columns["x"].dtype
        with pytest.raises(errors.NotFoundError, match="y, wide, flag, half, real"):
            ds.column("x.offset")
    assert ds.schema["x"] == {"kind": "tensor", "dtype": "<f4", "shape": (100, 100)}


def test_the_key_of_a_row_is_its_number(packed):
    ds = Dataset(packed[0], ["key"])
    assert ds[41] == {"key": "41"} and ds.find("41") == ds.find(b"41") == 41
    for key in ("041", "90", "-1", "", "x"):
        with pytest.raises(KeyError):
            ds.find(key)


def test_only_the_fields_that_are_asked_for_are_read(victim):
    folder, place = victim
    ds = Dataset(folder, ["flag", "z"])
    flip(place("y", 5)[0], place("y", 5)[1])
    assert set(ds[5]) == {"flag", "z"}
    assert Dataset(folder, ["flag", "z"], verify=True)[5]["flag"] == 0
    with pytest.raises(errors.DamagedError):
        Dataset(folder, ["y"], verify=True)[5]


@pytest.mark.parametrize("cache", ["keep", "drop", "direct"])
@pytest.mark.parametrize("name", ["x", "z", "y", "flag", "half"])
def test_a_flipped_byte_is_found_where_it_is(victim, name, cache):
    folder, place = victim
    file, offset = place(name, 45)
    flip(file, offset)
    ds = Dataset(folder, verify=True, cache=cache)
    for read in (lambda: ds[45], lambda: ds.__getitems__([0, 45, 89])):
        with pytest.raises(errors.DamagedError, match="block") as caught:
            read()
        for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
            assert (error.file, error.offset, error.sample, error.key, error.shard) == (str(file), offset, 45, "45", "shard-000001")
    assert len(ds.__getitems__([*range(40), *range(80, 90)])) == 50


def test_a_bool_that_is_none_is_damage_with_the_sample(victim):
    folder, place = victim
    file, offset = place("flag", 45)
    flip(file, offset, 0x10)
    for read in (lambda ds: ds[45], lambda ds: ds.__getitems__([3, 45, 89]), lambda ds: ds.column("flag")):
        with pytest.raises(errors.DamagedError, match="neither 0 nor 1") as caught:
            read(Dataset(folder))
        assert (caught.value.file, caught.value.offset) == (str(file), offset)
    assert Dataset(folder)[44]


@pytest.mark.parametrize("name", ["x", "y"])
def test_a_file_that_is_cut_while_open_raises(victim, name):
    folder, place = victim
    ds = Dataset(folder)
    ds[45]
    file, offset = place(name, 45)
    os.truncate(file, offset + 1)
    for read in (lambda: ds[45], lambda: ds.__getitems__([0, 45])):
        with pytest.raises(errors.DamagedError) as caught:
            read()
        assert (caught.value.file, caught.value.offset, caught.value.sample) == (str(file), offset, 45)
    with pytest.raises(errors.DamagedError):
        Dataset(folder)[45]


def test_a_forked_and_a_pickled_dataset_read_on(packed):
    folder, columns = packed
    ds = Dataset(folder)
    ds[3]
    check(pickle.loads(pickle.dumps(ds))[50], columns, 50)
    child = os.fork()
    if child == 0:
        try:
            check(ds[50], columns, 50)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    check(ds[60], columns, 60)


READ_ONE = """
import json, sys
from shale import Dataset
path, verify, row = json.loads(sys.argv[1])
print(Dataset(path, ["x"], verify=verify)[row]["x"].tobytes().hex())
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("verify", [False, True])
def test_a_wrong_page_cache_is_read_around(victim, tmp_path, packed, verify):
    """A block whose hash is wrong is read once more, past the cache. Without io_uring, so that the shim sees the reads."""
    folder, place = victim
    (tmp_path / "shim.c").write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "shim.so", tmp_path / "shim.c", "-ldl"], check=True)
    file, offset = place("x", 70)
    block = offset >> 20 << 20
    assert block > 0 and offset + 40_000 < block + (1 << 20)
    try:
        os.close(os.open(file, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        pytest.skip("no direct reads on this file system: the second look cannot be told from the first")
    preloads = f"{os.environ.get('LD_PRELOAD', '')} {tmp_path / 'shim.so'}".strip()
    environment = {**os.environ, "LD_PRELOAD": preloads, "WRONG_OFFSET": str(block if verify else offset)}
    words = [sys.executable, ROOT / "tests/support/without_io_uring.py", sys.executable, "-c", READ_ONE, json.dumps([str(folder), verify, 70])]
    found = bytes.fromhex(subprocess.run(words, env=environment, check=True, capture_output=True).stdout.decode())
    right = packed[1]["x"][70].tobytes()
    assert found == (right if verify else bytes([right[0] ^ 1]) + right[1:])


# ---- files of numpy itself ----------------------------------------------------------------------------------------------


def test_an_array_of_numpy_is_opened_without_a_trace(tmp_path):
    array = np.random.default_rng(2).integers(0, 1 << 15, (1000, 7, 50)).astype("i2")
    np.save(tmp_path / "big.npy", array)
    for verify in (False, True):
        ds = Dataset(tmp_path / "big.npy", verify=verify)
        (field,) = ds.schema
        assert len(ds) == 1000
        for row, sample in zip([999, 0, 5, 6, 7], ds.__getitems__([999, 0, 5, 6, 7])):
            assert np.array_equal(sample[field], array[row]) and sample[field].dtype == array.dtype
    assert os.listdir(tmp_path) == ["big.npy"]


def test_a_structured_array_of_numpy_comes_with_its_dtype(tmp_path):
    dtype = np.dtype([("a", "<f4"), ("b", "<i2", (3,)), ("c", "S5")])
    array = np.zeros((20, 4), dtype)
    array["a"] = np.arange(80).reshape(20, 4)
    array["c"] = b"cat"
    np.save(tmp_path / "rows.npy", array)
    ds = Dataset(tmp_path / "rows.npy")
    (field,) = ds.schema
    assert ds[13][field].dtype == dtype and np.array_equal(ds[13][field], array[13])
