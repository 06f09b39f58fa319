"""What one would write in Python to bring an .npy array into a format, for bench/arrays.py; runs in the peers' environment.

array_scripts.py npy|hdf5|record|lmdb|c-order IN.npy OUT
array_scripts.py cast IN.npy OUT.npy DTYPE               its numbers as those of another type
array_scripts.py make OUT.npy DTYPE C|F ROWS COLUMNS     an array of random values
"""

import importlib.util
import os
import sys
import types
from collections.abc import Callable

import numpy as np

SHARD_BYTES = 1 << 30
PIECE_BYTES = 128 << 20  # as much as shale is allowed
MADE_BYTES = 16 << 20
ROWS_A_COMMIT = 1000


def make(out, dtype, order, rows, columns):
    """The values come in the order of the file, so Fortran order takes no more memory than C order."""
    shape, dtype = (int(rows), int(columns)), np.dtype(dtype)
    random = np.random.default_rng(0)
    with open(out, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": dtype.str, "fortran_order": order == "F", "shape": shape})
        left = shape[0] * shape[1]
        while left > 0:
            count = min(left, MADE_BYTES // dtype.itemsize)
            if dtype.kind == "f":
                values = random.random(count, dtype)
            else:
                values = random.integers(np.iinfo(dtype).max, size=count, dtype=dtype)
            values.tofile(file)
            left -= count


def pieces(source, piece_bytes):
    """(begin, end) of rows that take so many bytes together, one after the other."""
    step = max(1, piece_bytes // source[:1].nbytes)
    for begin in range(0, len(source), step):
        yield begin, min(begin + step, len(source))


def write_npy(source, out):
    os.makedirs(out)
    for number, (begin, end) in enumerate(pieces(source, SHARD_BYTES)):
        np.save(os.path.join(out, f"shard-{number:06}.npy"), source[begin:end])


def write_cast(source, out, dtype):
    target = np.lib.format.open_memmap(out, "w+", np.dtype(dtype), source.shape)
    for begin, end in pieces(source, PIECE_BYTES):
        target[begin:end] = source[begin:end].astype(dtype)
    target.flush()


def write_hdf5(source, out):
    import h5py

    with h5py.File(out, "w") as file:
        target = file.create_dataset("x", source.shape, source.dtype)
        for begin, end in pieces(source, PIECE_BYTES):
            target[begin:end] = source[begin:end]


def import_record_writer():
    """TFRecordWriter without the PyTorch that its package imports and the writer never uses: seconds of start-up."""
    package = types.ModuleType("tfrecord")
    package.__path__ = importlib.util.find_spec("tfrecord").submodule_search_locations
    sys.modules["tfrecord"] = package
    from tfrecord.writer import TFRecordWriter

    return TFRecordWriter


def write_record(source, out):
    TFRecordWriter = import_record_writer()

    writer = TFRecordWriter(out)
    for row in source:
        writer.write({"x": (row.tobytes(), "byte")})
    writer.close()


def write_lmdb(source, out):
    """map_size and meminit as in peer_writers.py, all else by default."""
    import lmdb

    env = lmdb.open(out, map_size=1 << 40, meminit=False)
    for begin in range(0, len(source), ROWS_A_COMMIT):
        with env.begin(write=True) as txn:
            for number, row in enumerate(source[begin : begin + ROWS_A_COMMIT], begin):
                txn.put(b"%08d" % number, row.tobytes())
    env.close()


def write_c_order(source, out):
    target = np.lib.format.open_memmap(out, mode="w+", dtype=source.dtype, shape=source.shape)
    for begin, end in pieces(source, PIECE_BYTES):
        target[begin:end] = source[begin:end]
    target.flush()


WRITERS: dict[str, Callable[..., None]] = {"npy": write_npy, "hdf5": write_hdf5, "record": write_record, "lmdb": write_lmdb, "c-order": write_c_order, "cast": write_cast}

if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(*sys.argv[2:])
    else:
        # A plain array over the mapping: each row of an np.memmap would be made an np.memmap, which takes longer than a put.
        WRITERS[sys.argv[1]](np.asarray(np.load(sys.argv[2], mmap_mode="r")), *sys.argv[3:])
