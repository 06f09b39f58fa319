"""Reads some frames of random videos, cold, and prints what a video took, as JSON: {"ms": ..., "rss_mib": after a tenth and at the end}.

frame_readers.py WAY FILE [--take 32] [--reads 100]
Runs in the peers' environment, `shale` also with shale's package on the path. FILE is an LMDB in CoCLR's layout, with its index beside it. Before each video FILE is dropped from the page
cache (and unmapped); only reading is timed: what is given is a list of bytes.
"""

import argparse
import functools
import json
import os
import random
import statistics
import time

import numpy as np

SCATTERED, CLIP = "scattered", "clip"


class ByElements:
    """As docs/index.md shows: one pread per frame, at the place that the element list has."""

    def __init__(self, path, places):
        self.index, self.elements = (np.load(f"{path}.{name}.npy", mmap_mode="r") for name in ("index", "elements"))
        self.fd = os.open(path, os.O_RDONLY)
        if places == SCATTERED:
            os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_RANDOM)
        self.videos = len(self.index)

    def frames(self, row):
        return int(self.index[row]["frames.count"])

    def forget(self):
        """Nothing is mapped."""

    def begin(self):
        """The file is open."""

    def read(self, row, numbers):
        first = int(self.index[row]["frames.first"])
        places = self.elements[first + np.asarray(numbers)]
        return [os.pread(self.fd, length, offset) for offset, length in zip(places["offset"].tolist(), places["length"].tolist())]


class ByShale:
    """shale.Dataset.read: the frames that are named, as one batch of reads."""

    def __init__(self, path, places):
        import shale

        self.dataset = shale.Dataset(path)
        self.lazy = shale.Dataset(path, lazy=["frames"])
        self.videos = len(self.dataset)

    def frames(self, row):
        return len(self.lazy[row]["frames"])

    def forget(self):
        """Nothing is mapped."""

    def begin(self):
        """The file is open."""

    def read(self, row, numbers):
        return [bytes(frame) for frame in self.dataset.read(row, {"frames": list(numbers)})["frames"]]


class ByMsgpack:
    """As CoCLR's reader does it: the value of the video, all of it unpacked."""

    readahead = False

    def __init__(self, path, places):
        import lmdb
        import msgpack

        self.loads = msgpack.loads
        self.open = functools.partial(lmdb.open, path, subdir=False, readonly=True, lock=False, readahead=self.readahead, meminit=False)
        self.env = self.open()
        with self.env.begin() as txn:
            self.lengths = self.loads(txn.get(b"__vlen__"))
        self.videos = len(self.lengths)

    def frames(self, row):
        return self.lengths[row]

    def forget(self):
        """Mapped pages are not dropped."""
        self.env.close()

    def begin(self):
        self.env = self.open()

    def read(self, row, numbers):
        with self.env.begin() as txn:
            frames = self.loads(txn.get(b"%09d" % row))
        return [frames[number] for number in numbers]


class ByMsgpackReadAhead(ByMsgpack):
    """With py-lmdb's default instead of CoCLR's."""

    readahead = True


WAYS = {"elements": ByElements, "shale": ByShale, "msgpack": ByMsgpack, "msgpack-readahead": ByMsgpackReadAhead}


def drop(path):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def rss_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def measure(reader, path, take, count, places):
    dice = random.Random(1)
    times, rss = [], []
    for number in range(count):
        row = dice.randrange(reader.videos)
        first = dice.randrange(reader.frames(row) - take + 1)
        numbers = range(first, first + take) if places == CLIP else sorted(dice.sample(range(reader.frames(row)), take))
        reader.forget()
        drop(path)
        reader.begin()
        begin = time.perf_counter()
        frames = reader.read(row, numbers)
        times.append(time.perf_counter() - begin)
        if len(frames) != take or not all(frame.startswith(b"\xff\xd8") for frame in frames):
            raise SystemExit("bench: these are not the frames")
        if number in (count // 10, count - 1):
            rss.append(round(rss_mib()))
    return {"ms": statistics.mean(times) * 1e3, "rss_mib": rss}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("path")
    parser.add_argument("--places", choices=(SCATTERED, CLIP), default=SCATTERED)
    parser.add_argument("--take", type=int, default=32)
    parser.add_argument("--reads", type=int, default=100)
    arguments = parser.parse_args()
    reader = WAYS[arguments.way](arguments.path, arguments.places)
    print(json.dumps(measure(reader, arguments.path, arguments.take, arguments.reads, arguments.places)))


if __name__ == "__main__":
    main()
