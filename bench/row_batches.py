"""Batches of fixed rows of 400 KB in order or shuffled, warm; prints the rate as JSON.

row_batches.py WAY DATASET [--batch 256] [--threads 2] [--epochs 4]
row_batches.py make DATASET --rows N      N x 100,000 float32 in .npy shards
Ways: order, random (shale.torch.Loader), torch (a Dataset over np.load(mmap_mode="r") and torch's DataLoader without workers), memcpy
(torch.stack of as many rows that lie in memory, into one batch). bench/loader.py runs it.
"""

import argparse
import json
import os
import pathlib
import time

import process_tree

COLUMNS = 100_000


def make(arguments):
    import numpy
    import shale

    with shale.Writer(arguments.dataset, to="npy", schema={"x": ("f4", (COLUMNS,))}, shard_size="1GiB") as writer:
        for row in range(arguments.rows):
            writer.write({"x": numpy.full(COLUMNS, row, "f4")})


def by_loader(shuffle):
    def batches(arguments):
        import shale.torch

        loader = shale.torch.Loader(shale.Dataset(arguments.dataset, fields=["x"]), arguments.batch, shuffle=shuffle, num_threads=arguments.threads)
        return (batch["x"] for batch in loader)

    return batches


def by_torch(arguments):
    """The script that one would write."""
    import numpy
    import torch.utils.data

    shards = [numpy.load(path, mmap_mode="r") for path in sorted(pathlib.Path(arguments.dataset).glob("*.x.npy"))]
    rows = [row for shard in shards for row in shard]
    order = torch.randperm(len(rows)).tolist()
    return torch.utils.data.DataLoader(rows, arguments.batch, sampler=order, collate_fn=lambda some: torch.from_numpy(numpy.stack(some)))


def by_memcpy(arguments):
    import torch

    rows = list(torch.rand(arguments.batch, COLUMNS))
    out = torch.empty(arguments.batch, COLUMNS)
    torch.set_num_threads(1)
    for _ in range(max(1, arguments.rows // arguments.batch)):
        yield torch.stack(rows, out=out)


WAYS = {"order": by_loader(False), "random": by_loader("random"), "torch": by_torch, "memcpy": by_memcpy}


def measure(arguments):
    count, memory = 0, []
    for epoch in range(arguments.epochs + 1):
        if epoch == 1:  # the first one warms up
            count, begin = 0, time.perf_counter()
        for batch in WAYS[arguments.way](arguments):
            count += len(batch)
        memory.append(process_tree.usage()["rss"])
    seconds = time.perf_counter() - begin
    return {"rate": count / seconds, "megabytes_per_s": count * COLUMNS * 4 / seconds / 1e6, "seconds": seconds, "rss": memory[-1],
            "growth": memory[-1] - memory[0]}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=["make", *WAYS])
    parser.add_argument("dataset")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rows", type=int, default=5000)
    arguments = parser.parse_args()
    if arguments.way == "make":
        make(arguments)
    else:
        print(json.dumps(measure(arguments)), flush=True)
        process_tree.end()


if __name__ == "__main__":
    main()
