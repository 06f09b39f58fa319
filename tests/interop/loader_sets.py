"""Datasets of every kind of field, as other tools make them, and what a loader must give of each sample."""

import pathlib
import random

import h5py
import lmdb
import msgpack
import numpy as np

DTYPES = ["u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "?"]


def map_of(row):
    """What a msgpack map of an LMDB holds: every kind but tensors; empty values, and keys that are not UTF-8."""
    dice = random.Random(row)
    return {
        "image": dice.randbytes(row * 37 % 5000 if row % 7 else 0),
        "caption": "b\u00e4r \U0001f43b" * (row % 4),
        "label": row - 20,
        "score": row / 7,
        "frames": [dice.randbytes(dice.randint(0, 300)) for _ in range(row % 4)],
    }


def key_of(row):
    return b"\xff\x80/%03d" % row if row % 2 else b"n\xc3\xa4/%03d" % row


def make_maps(path, rows):
    """An LMDB of msgpack maps. Returns what each sample must be."""
    with lmdb.open(str(path), subdir=False, map_size=1 << 28) as env, env.begin(write=True) as txn:
        for row in range(rows):
            txn.put(b"%08d" % row, msgpack.packb({"key": key_of(row), **map_of(row)}))
    return [{"key": key_of(row).decode("utf-8", "surrogateescape"), **map_of(row)} for row in range(rows)]


def make_tensors(path, rows):
    """An HDF5 file of one tensor a dtype, among them one without elements. Returns what each sample must be."""
    dice = np.random.default_rng(5)
    columns = {f"t{number}": dice.integers(0, 200, (rows, 3, number + 1)).astype(dtype) for number, dtype in enumerate(DTYPES)}
    columns["none"] = np.zeros((rows, 0, 3), "f4")
    with h5py.File(path, "w") as file:
        for name, column in columns.items():
            file[name] = column
        file["label"] = np.arange(rows)
    return [
        {"key": str(row), "label": row, **{name: column[row] for name, column in columns.items()}} for row in range(rows)
    ]


def make_flat(path, rows, sizes=(100, 1000), seed=3):
    """An HDF5 file of small samples: `image` of some bytes, and `label`, the number of the row."""
    dice = np.random.default_rng(seed)
    lengths = dice.integers(*sizes, rows, endpoint=True)
    offset = np.concatenate([[0], np.cumsum(lengths)]).astype("u8")
    with h5py.File(path, "w") as file:
        file["image"] = dice.integers(0, 256, int(offset[-1]), dtype=np.uint8)
        file["image_offset"] = offset
        file["label"] = np.arange(rows)


def packed(run, folder, rows, shards, sizes=(100, 1000), to="record"):
    """A dataset of small samples in so many shards, in `folder`/set."""
    folder = pathlib.Path(folder)
    make_flat(folder / "flat.h5", rows, sizes)
    run("convert", folder / "flat.h5", folder / "set", "--to", to, "--shard-samples", str(-(-rows // shards)))
    (folder / "flat.h5").unlink()
    return folder / "set"


def same(sample, expected):
    """Equal, values and types; arrays also in dtype and shape."""
    assert list(sample) == list(expected)
    for name, value in expected.items():
        found = sample[name]
        assert type(found) is type(value), name
        if isinstance(value, np.ndarray):
            assert (found.dtype, found.shape) == (value.dtype, value.shape), name
            assert found.tobytes() == value.tobytes(), name
        else:
            assert found == value, name
    return True
