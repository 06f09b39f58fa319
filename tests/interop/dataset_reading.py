"""Reads a shale dataset with NumPy and os.pread alone, as docs/index.md says: the judge that shares no code with shale."""

import collections
import json
import os
import pathlib

import numpy as np

Sample = collections.namedtuple("Sample", "key label image row shard")


def manifest_of(dataset):
    return json.loads(pathlib.Path(dataset, "dataset.json").read_bytes())


def index_of(dataset, shard):
    return np.load(pathlib.Path(dataset, shard["name"] + ".index.npy"), mmap_mode="r")


def samples_of(dataset):
    """Every sample, in order."""
    for shard in manifest_of(dataset)["shards"]:
        index = index_of(dataset, shard)
        assert len(index) == shard["samples"]
        (file,) = shard["files"]
        fd = os.open(pathlib.Path(dataset, file["name"]), os.O_RDONLY)
        try:
            for row in index:
                key = os.pread(fd, int(row["key.length"]), int(row["key.offset"]))
                image = os.pread(fd, int(row["image.length"]), int(row["image.offset"]))
                yield Sample(key, int(row["label"]), image, row, shard)
        finally:
            os.close(fd)
