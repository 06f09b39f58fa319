"""Reads what shale indexed with NumPy and os.pread alone, as docs/index.md says: the judge that shares no code with shale."""

import collections
import json
import os
import pathlib

import numpy as np
import xxhash

BLOCK = 1 << 20
Sample = collections.namedtuple("Sample", "key label image row shard")


def block_hashes(path):
    data = pathlib.Path(path).read_bytes()
    return [xxhash.xxh3_128_digest(data[at : at + BLOCK]) for at in range(0, len(data), BLOCK)]


def file_hash(path):
    return xxhash.xxh3_128_hexdigest(b"".join(block_hashes(path)))


def manifest_of(dataset):
    return json.loads(pathlib.Path(dataset, "dataset.json").read_bytes())


def index_of(dataset, shard):
    return np.load(pathlib.Path(dataset, shard["name"] + ".index.npy"), mmap_mode="r")


def shard_file_of(dataset, shard):
    (file,) = shard["files"]
    return pathlib.Path(dataset, file["name"])


def rows_of(file, index):
    """Every row of an index of one file as a dict, located fields read: {"key": b"...", "image": b"...", "label": 3}.

    The columns that say where a stored record lies are left out: they describe no field.
    """
    located = [name.removesuffix(".offset") for name in index.dtype.names if name.endswith(".offset") and name != "record.offset"]
    inline = [name for name in index.dtype.names if "." not in name and name != "key_hash"]
    fd = os.open(file, os.O_RDONLY)
    try:
        for row in index:
            values = {name: row[name].item() for name in inline}
            for name in located:
                values[name] = os.pread(fd, int(row[name + ".length"]), int(row[name + ".offset"]))
                assert len(values[name]) == row[name + ".length"], f"{name} is cut: {row}"
            yield values
    finally:
        os.close(fd)


def samples_of(dataset):
    """Every sample of an image dataset, in order."""
    for shard in manifest_of(dataset)["shards"]:
        index = index_of(dataset, shard)
        assert len(index) == shard["samples"]
        for row, values in zip(index, rows_of(shard_file_of(dataset, shard), index)):
            yield Sample(values["key"], values["label"], values["image"], row, shard)
