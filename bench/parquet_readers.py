"""Reads a Parquet file of images in one way and prints JSON: {"us": microseconds a sample, "samples": n, ...}.

parquet_readers.py make PHOTOS OUT BYTES ROWS     a file as `datasets` writes it, of about so many bytes, ROWS in a row group (0: its default)
parquet_readers.py shale|pyarrow OUT COUNT        COUNT images at random
parquet_readers.py shale-epoch|datasets OUT WORKERS   one shuffled epoch of cropped_epochs.py, in batches of 64
Runs with the peers of the tests. Only reading is timed, not what opens the file; "times" is what came
from the disk, as often as the images have bytes.
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable

import cropped_epochs
import process_tree

BATCH = 64


def said(samples, seconds, **more):
    print(json.dumps({"us": seconds / samples * 1e6, "samples": samples, **more}), flush=True)


def fetched():
    """Bytes that this process has had from the disk."""
    with open("/proc/self/io", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes"))


def make(photos, out, size, rows):
    import datasets

    paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(photos) for name in names)
    total, held = 0, {"image": [], "label": []}
    for number, path in enumerate(paths):
        with open(path, "rb") as file:
            content = file.read()
        held["image"].append({"bytes": content, "path": f"{number:08}.jpg"})
        held["label"].append(number % 1000)
        total += len(content)
        if total >= int(size):
            break
    features = datasets.Features(image=datasets.Image(), label=datasets.ClassLabel(num_classes=1000))
    datasets.Dataset.from_dict(held, features=features).to_parquet(out, batch_size=int(rows) or None)


def at_random(path, length, count, read):
    """read(row) -> the image. The page cache has nothing of the file before each read."""
    descriptor, dice = os.open(path, os.O_RDONLY), random.Random(1)
    read(dice.randrange(length))  # opens
    size, from_disk, seconds = 0, 0, 0.0
    for _ in range(int(count)):
        row = dice.randrange(length)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        before, begin = fetched(), time.monotonic()
        image = read(row)
        seconds += time.monotonic() - begin
        size, from_disk = size + len(image), from_disk + fetched() - before
    said(int(count), seconds, bytes=from_disk, of=size, times=from_disk / size)


def shale(path, count):
    import shale

    dataset = shale.Dataset(path, fields=["image"])
    at_random(path, len(dataset), count, lambda row: dataset[row]["image"])


def pyarrow(path, count):
    import bisect

    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    begins = [0]
    for group in range(file.num_row_groups):
        begins.append(begins[-1] + file.metadata.row_group(group).num_rows)

    def read(row):
        group = bisect.bisect_right(begins, row) - 1
        table = file.read_row_group(group, columns=["image.bytes"], use_threads=True)
        return table.column("image").chunk(0).field("bytes")[row - begins[group]].as_py()

    at_random(path, begins[-1], count, read)


def one_epoch(batches):
    """batches of (images, labels); the clock starts when the first has come."""
    batches = iter(batches)
    next(batches)
    count, begin = 0, time.monotonic()
    for images, _ in batches:
        count += len(images)
    said(count, time.monotonic() - begin)
    process_tree.end()


def shale_epoch(path, workers):
    import shale.torch

    transform, fields = cropped_epochs.compose(), ["image", "label"]
    one_epoch(shale.torch.Loader(path, BATCH, shuffle=True, num_threads=int(workers), transform=transform, as_tuple=fields))


def of_datasets(path, workers):
    import datasets
    from torch.utils.data import DataLoader, default_collate

    transform = cropped_epochs.compose()
    rows = datasets.load_dataset("parquet", data_files=path, split="train", cache_dir=path + ".cache")

    def collate(samples):
        return default_collate([(transform(sample["image"].convert("RGB")), sample["label"]) for sample in samples])

    one_epoch(DataLoader(rows, BATCH, shuffle=True, num_workers=int(workers), collate_fn=collate))


WAYS: dict[str, Callable] = {"make": make, "shale": shale, "pyarrow": pyarrow, "shale-epoch": shale_epoch, "datasets": of_datasets}

if __name__ == "__main__":
    WAYS[sys.argv[1]](*sys.argv[2:])
