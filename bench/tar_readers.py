"""Reads WebDataset tars in one way and prints JSON: {"us": microseconds a sample, "samples": n, "bytes": n}; or makes an index of them.

tar_readers.py shale|wids FOLDER SECONDS               batches of 64 at random, for so long
tar_readers.py shale-block|webdataset FOLDER           one shuffled epoch, values as bytes
tar_readers.py energon-prepare FOLDER                  Energon's own index
Runs with what tests/interop/peers-tars.txt pins. Only reading is timed, not what opens the files.
"""

import glob
import json
import os
import random
import sys
import time
from collections.abc import Callable

BATCH = 64


def tars_in(folder):
    return sorted(glob.glob(os.path.join(folder, "*.tar")))


def said(samples, size, seconds):
    print(json.dumps({"us": seconds / samples * 1e6, "samples": samples, "bytes": size}), flush=True)


def at_random(length, seconds, read):
    """read(rows) -> bytes read."""
    dice, samples, size, begin = random.Random(1), 0, 0, time.monotonic()
    while time.monotonic() - begin < seconds:
        size += read([dice.randrange(length) for _ in range(BATCH)])
        samples += BATCH
    said(samples, size, time.monotonic() - begin)


def shale(folder, seconds):
    import shale

    dataset = shale.Dataset(folder)
    at_random(len(dataset), float(seconds), lambda rows: sum(len(sample["image"]) for sample in dataset[rows]))


def wids(folder, seconds):
    import wids

    dataset = wids.ShardListDataset(os.path.join(folder, "wids.json"), transformations=[], lru_size=1000, cache_dir=folder.rstrip("/") + "-links")
    for last in dataset.cum_lengths:
        dataset[int(last) - 1]  # walks its tar, once
    at_random(len(dataset), float(seconds), lambda rows: sum(len(dataset[row][".jpg"].read()) for row in rows))


def one_epoch(samples):
    """samples: the bytes of each image."""
    count, size, begin = 0, 0, time.monotonic()
    for image in samples:
        count, size = count + 1, size + len(image)
    said(count, size, time.monotonic() - begin)


def shale_block(folder):
    import shale.torch

    loader = shale.torch.Loader(shale.Dataset(folder, fields=["image"]), BATCH, shuffle="block")
    one_epoch(image for batch in loader for image in batch["image"])


def webdataset(folder):
    import webdataset

    dataset = webdataset.WebDataset(tars_in(folder), shardshuffle=1000).shuffle(1000).to_tuple("jpg")
    one_epoch(image for (image,) in dataset)


def energon_prepare(folder):
    from megatron.energon.epathlib import EPath
    from megatron.energon.flavors.webdataset.prepare import WebdatasetPreparator

    WebdatasetPreparator.prepare_dataset(
        EPath(folder), [os.path.basename(path) for path in tars_in(folder)], split_parts_ratio=[("train", 1.0)], workers=os.cpu_count()
    )


WAYS: dict[str, Callable] = {
    "shale": shale,
    "wids": wids,
    "shale-block": shale_block,
    "webdataset": webdataset,
    "energon-prepare": energon_prepare,
}

if __name__ == "__main__":
    WAYS[sys.argv[1]](*sys.argv[2:])
