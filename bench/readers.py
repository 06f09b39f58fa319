"""Reads samples in one way and prints what each took, as JSON: {"us": microseconds a sample, "samples": n, "bytes": n}.

readers.py WAY PATH [--order random|sequential] [--reads N] [--cold]
Runs in the peers' environment. Only reading is timed: files are open and, but for --cold, 200 samples have been read before.
"""

import argparse
import itertools
import json
import os
import random
import time

import numpy as np

WARM_UP = 200


class Shards:
    """The shards of a dataset of shale: their data files and indexes, and how many rows there are before each."""

    def __init__(self, dataset, field="image"):
        with open(os.path.join(dataset, "dataset.json"), "rb") as file:
            shards = json.load(file)["shards"]
        self.paths = [os.path.join(dataset, shard["files"][0]["name"]) for shard in shards]
        self.indexes = [np.load(os.path.join(dataset, shard["index"]["name"]), mmap_mode="r") for shard in shards]
        self.offset, self.length = field + ".offset", field + ".length"
        self.samples = sum(len(index) for index in self.indexes)

    def locate(self, opened, positions):
        """[(what was opened of the shard, row in it)] of positions in the whole dataset."""
        rows = [(shard, row) for shard, index in zip(opened, self.indexes) for row in range(len(index))]
        return [rows[position] for position in positions]

    def open_files(self):
        return [os.open(path, os.O_RDONLY) for path in self.paths]


# ---- each way: prepare(path) -> (number of samples, pick(positions) -> picks, read(picks) -> bytes read) ----------------------


def by_index(dataset):
    """As docs/index.md shows: one row of the index, one pread."""
    shards = Shards(dataset)
    offset, length = shards.offset, shards.length
    opened = list(zip(shards.indexes, shards.open_files()))

    def read(picks):
        total = 0
        for (index, fd), number in picks:
            row = index[number]
            total += len(os.pread(fd, int(row[length]), int(row[offset])))
        return total

    return shards.samples, lambda positions: shards.locate(opened, positions), read


def bare(dataset):
    """The same bytes at places that a list holds: what the kernel and Python take."""
    shards = Shards(dataset)
    opened = list(zip(shards.indexes, shards.open_files()))

    def pick(positions):
        found = shards.locate(opened, positions)
        return [(fd, int(index[row][shards.length]), int(index[row][shards.offset])) for (index, fd), row in found]

    def read(picks):
        total = 0
        for fd, length, offset in picks:
            total += len(os.pread(fd, length, offset))
        return total

    return shards.samples, pick, read


def by_h5py(dataset):
    """A shard of shale by h5py, as formats/hdf5/FORMAT.md shows."""
    import h5py

    shards = Shards(dataset)
    opened = [(file["image"], file["image_offset"]) for file in (h5py.File(path, "r") for path in shards.paths)]

    def read(picks):
        total = 0
        for (image, offset), row in picks:
            total += len(image[offset[row] : offset[row + 1]].tobytes())
        return total

    return shards.samples, lambda positions: shards.locate(opened, positions), read


def by_h5py_vlen(path):
    """What peer_writers.py hdf5 wrote."""
    import h5py

    images = h5py.File(os.path.join(path, "data.h5"), "r")["images"]

    def read(picks):
        total = 0
        for row in picks:
            total += images[row].nbytes
        return total

    return len(images), lambda positions: positions, read


def by_py_lmdb(dataset):
    """A shard of shale by py-lmdb and msgpack."""
    import lmdb
    import msgpack

    shards = Shards(dataset)
    opened = [lmdb.open(path, subdir=False, readonly=True, lock=False, readahead=False) for path in shards.paths]

    def read(picks):
        total = 0
        for env, row in picks:
            with env.begin() as txn:
                total += len(msgpack.unpackb(txn.get(b"%08d" % row))["image"])
        return total

    return shards.samples, lambda positions: shards.locate(opened, positions), read


WAYS = {"index": by_index, "bare": bare, "h5py": by_h5py, "h5py-vlen": by_h5py_vlen, "py-lmdb": by_py_lmdb}


def walk_keys(path, readahead):
    """The keys of an LMDB by py-lmdb's cursor, values untouched."""
    import lmdb

    begin = time.perf_counter()
    with lmdb.open(path, subdir=False, readonly=True, lock=False, readahead=readahead) as env, env.begin() as txn:
        keys = sum(1 for _ in txn.cursor().iternext(keys=True, values=False))
    return {"seconds": time.perf_counter() - begin, "keys": keys}


def measure(arguments):
    samples, pick, read = WAYS[arguments.way](arguments.path)
    order = list(range(samples))
    if arguments.order == "random":
        random.Random(1).shuffle(order)
    picks = pick(list(itertools.islice(itertools.cycle(order), arguments.reads or samples)))
    if not arguments.cold:
        read(picks[:WARM_UP])
    begin = time.perf_counter()
    total = read(picks)
    return {"us": (time.perf_counter() - begin) / len(picks) * 1e6, "samples": len(picks), "bytes": total}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=[*WAYS, "lmdb-keys", "lmdb-keys-readahead"])
    parser.add_argument("path")
    parser.add_argument("--order", choices=["random", "sequential"], default="random")
    parser.add_argument("--reads", type=int, help="default: every sample once")
    parser.add_argument("--cold", action="store_true", help="no reading before the clock runs")
    arguments = parser.parse_args()
    if arguments.way in WAYS:
        print(json.dumps(measure(arguments)))
    else:
        print(json.dumps(walk_keys(arguments.path, arguments.way.endswith("readahead"))))


if __name__ == "__main__":
    main()
