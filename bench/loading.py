"""Loads samples of an LMDB dataset of shale in one way, and prints what it gave, as JSON.

loading.py WAY DATASET [--batch 64] [--seconds S] [--reads N] [--warm-up N] [--workers N] [--cpu N]
Runs in the environment of bench/loader.py. Random order; only loading is timed: files are open, no batch but the warm-up was read.
"""

import argparse
import io
import json
import os
import random
import time

import process_tree
import readers


def size_of(samples):
    return sum(len(sample["image"]) for sample in samples)


# ---- each way: prepare(dataset) -> (number of samples, load(rows) -> (what a user would hold then, bytes of payload)) ---------


def by_py_lmdb(unpacks=False, readahead=False):
    """`get` of each value of a batch, in one transaction. The keys of shale's own LMDB are the numbers of the samples."""

    def prepare(dataset):
        import lmdb
        import msgpack

        (path,) = readers.Shards(dataset).paths
        env = lmdb.open(path, subdir=False, readonly=True, lock=False, readahead=readahead, meminit=False)

        def load(rows):
            with env.begin() as txn:
                values = [txn.get(b"%08d" % row) for row in rows]
            if not unpacks:
                return values, sum(map(len, values))
            samples = [msgpack.unpackb(value) for value in values]
            return samples, size_of(samples)

        return env.stat()["entries"], load

    return prepare


def by_pread(dataset):
    """One worker that reads one image after the other where the index says; the index is in memory, keys are not read."""
    shards = readers.Shards(dataset)
    (fd,), (index,) = shards.open_files(), shards.indexes
    offsets, lengths = index[shards.offset].tolist(), index[shards.length].tolist()

    def load(rows):
        images = [os.pread(fd, lengths[row], offsets[row]) for row in rows]
        return images, sum(map(len, images))

    return shards.samples, load


def by_shale(**settings):
    def prepare(dataset):
        import shale

        opened = shale.Dataset(dataset, **settings)

        def load(rows):
            samples = opened.__getitems__(rows)
            return samples, size_of(samples) if opened.decode is None else 0

        return len(opened), load

    return prepare


def by_pillow(keeps):
    """Photos that are in memory already, decoded one by one; `keeps` holds a batch of them, as shale does."""

    def prepare(dataset):
        import numpy as np
        from PIL import Image

        samples, load = by_pread(dataset)
        held = {}

        def fetch(rows):
            held.update(zip(rows, load(rows)[0]))

        def decode(rows):
            kept = []
            for row in rows:
                pixels = np.asarray(Image.open(io.BytesIO(held[row])).convert("RGB"))
                kept = [*kept, pixels] if keeps else [pixels]
            return kept, 0

        decode.before = fetch
        return samples, decode

    return prepare


FIELDS = ["image", "label"]
WAYS = {
    "py-lmdb": by_py_lmdb(),
    "py-lmdb-readahead": by_py_lmdb(readahead=True),
    "py-lmdb-msgpack": by_py_lmdb(unpacks=True),
    "pread": by_pread,
    "pillow": by_pillow(keeps=False),
    "pillow-batch": by_pillow(keeps=True),
    "shale-rgb8": by_shale(fields=FIELDS, decode="rgb8"),
    "shale-all": by_shale(),
    **{f"shale-{cache}": by_shale(fields=FIELDS, cache=cache) for cache in ("keep", "drop", "direct")},
}


# ---- measuring ----------------------------------------------------------------------------------------------------------------


def in_batches(rows, size):
    return [rows[begin : begin + size] for begin in range(0, len(rows), size)]


def measure(arguments):
    """One process, batch after batch; a batch is dropped when the next one is there."""
    samples, load = WAYS[arguments.way](arguments.dataset)
    order = list(range(samples))
    random.Random(arguments.seed).shuffle(order)
    rows, others = order[: arguments.reads or samples], order[len(order) - arguments.warm_up :]
    if hasattr(load, "before"):
        load.before(rows + others)
    if others:
        load(others)
    memory, done, payload = [], 0, 0
    begin = time.perf_counter()
    for batch in in_batches(rows, arguments.batch):
        kept, more = load(batch)
        done, payload = done + len(batch), payload + more
        if not memory and done * 100 >= len(rows):
            memory.append(process_tree.usage())
        if arguments.seconds and time.perf_counter() - begin > arguments.seconds:
            break
    elapsed = time.perf_counter() - begin
    memory.append(process_tree.usage())
    return figures(elapsed, done, payload) | {
        f"{name}_at_{at}": memory[i][name] for name in ("rss", "pss") for i, at in ((0, "1"), (-1, "100"))
    }


def figures(elapsed, done, payload):
    return {"rate": done / elapsed, "seconds": elapsed, "samples": done, "megabytes_per_s": payload / elapsed / 1e6}


class Loads:
    """A dataset for DataLoader that opens in the worker, and gives the numbers that a worker would send on: the photos stay there,
    as they do when they are decoded there."""

    def __init__(self, way, dataset):
        self.way, self.dataset, self.load = way, dataset, None

    def __getitems__(self, rows):
        if self.load is None:
            _, self.load = WAYS[self.way](self.dataset)
        kept, payload = self.load(rows)
        return [(len(kept), payload)]


def measure_workers(arguments):
    """A DataLoader whose workers have started and have read one batch each."""
    from torch.utils.data import DataLoader

    order = list(range(WAYS[arguments.way](arguments.dataset)[0]))
    random.Random(arguments.seed).shuffle(order)
    batches = in_batches(order, arguments.batch)
    loader = DataLoader(
        Loads(arguments.way, arguments.dataset),
        batch_sampler=Replaceable(batches[-arguments.workers :]),
        num_workers=arguments.workers,
        collate_fn=lambda results: results[0],
        persistent_workers=True,
    )
    for _ in loader:
        pass
    loader.batch_sampler.batches = batches[: -arguments.workers]
    done = payload = 0
    begin = time.perf_counter()
    for count, more in loader:
        done, payload = done + count, payload + more
        if arguments.seconds and time.perf_counter() - begin > arguments.seconds:
            break
    return figures(time.perf_counter() - begin, done, payload)


class Replaceable:
    """Batches that change between epochs."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)

    def __len__(self):
        return len(self.batches)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("dataset")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seconds", type=float, help="stop then, if samples are left")
    parser.add_argument("--reads", type=int, help="default: every sample once")
    parser.add_argument("--warm-up", type=int, default=0)
    parser.add_argument("--workers", type=int, default=0, help="of a DataLoader; default: this process alone")
    parser.add_argument("--cpu", type=int, help="run on this one alone")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.cpu is not None:
        os.sched_setaffinity(0, {arguments.cpu})
    measured = measure_workers(arguments) if arguments.workers else measure(arguments)
    print(json.dumps(measured), flush=True)
    process_tree.end()


if __name__ == "__main__":
    main()
