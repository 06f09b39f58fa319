#!/usr/bin/env python3
"""What each format costs and gives, by the size of the samples: the table of docs/choosing-a-format.md.

python3 bench/choosing.py [--rounds 5] [--cache warm|cold] [--json FILE] ...
The samples are PPM images of random pixels, from half to one and a half of the size named: 256 MB of each size, or 100,000.
"""

import functools
import json
import math
import os
import random
import subprocess

import harness
import inputs
from harness import HERE, Step

FORMATS = ("record", "lmdb", "hdf5")
SIZES = {"1 KB": 1_000, "10 KB": 10_000, "110 KB": 110_000, "2 MB": 2_000_000}
TOTAL_BYTES = 256_000_000
MOST_SAMPLES = 100_000
CLASSES = 100
FEWEST_READS = 2000  # when warm: a few samples are read several times


def write_pictures(mean_bytes, out):
    dice = random.Random(mean_bytes)
    pool = dice.randbytes(8_000_000)
    count = min(TOTAL_BYTES // mean_bytes, MOST_SAMPLES)
    for number in range(count):
        pixels = int(mean_bytes * dice.uniform(0.5, 1.5)) // 3
        width = math.isqrt(pixels)
        height = pixels // width
        begin = dice.randrange(len(pool) - width * height * 3)
        folder = out / f"c{number * CLASSES // count:02}"
        if number == 0 or number * CLASSES // count != (number - 1) * CLASSES // count:
            os.makedirs(folder)
        with open(folder / f"{number:06}.ppm", "wb") as file:
            file.write(b"P6\n%d %d\n255\n" % (width, height) + pool[begin : begin + width * height * 3])


def container_bytes(out):
    """Of the data files alone, without index, hashes and manifest."""
    manifest = json.loads((out / "dataset.json").read_bytes())
    return sum(file["bytes"] for shard in manifest["shards"] for file in shard["files"])


def above(found, payload):
    return f"{(found / payload - 1) * 100:.2f}"


def measure_size(arguments, pictures):
    """For each format: (bytes of the container, of all files, the runs that wrote it, that read in order, that read at random)."""
    work, python = arguments.work, inputs.peers_of(arguments)
    outs = {to: work / f"choosing-{to}" for to in FORMATS}
    writing = [Step(to, inputs.convert(arguments, pictures, out, to), [pictures], out) for to, out in outs.items()]
    wrote = harness.alternate(writing, arguments.rounds, work, arguments.cache)

    reading = []
    for to, out in outs.items():
        subprocess.run(inputs.convert(arguments, pictures, out, to), check=True)
        samples = json.loads((out / "dataset.json").read_bytes())["samples"]
        how = ["--cold"] if arguments.cache == "cold" else ["--reads", str(max(samples, FEWEST_READS))]
        for order in ("sequential", "random"):
            command = [python, HERE / "readers.py", "index", out, "--order", order, *how]
            reading.append(Step(f"{to} {order}", command, [out], syncs=False, reports=True))
    read = harness.alternate(reading, arguments.rounds, work, arguments.cache)
    facts = {
        to: (container_bytes(out), harness.size_of([out]), wrote[to], read[f"{to} sequential"], read[f"{to} random"])
        for to, out in outs.items()
    }
    for out in outs.values():
        harness.remove(out)
    return facts


def reading_cell(list_of_runs):
    """ "12.3 us, 8900 MB/s", the medians of the runs."""
    us = harness.median_of(list_of_runs, "us")
    return f"{us:.1f} us, {list_of_runs[0].reported['bytes'] / list_of_runs[0].reported['samples'] / us:.0f} MB/s"


def bench(arguments):
    rows, all_runs = [], {}
    for name, mean_bytes in SIZES.items():
        pictures = inputs.made_once(arguments.work / f"ppm-{mean_bytes}", functools.partial(write_pictures, mean_bytes))
        payload = harness.size_of([pictures])
        for to, (container, files, wrote, in_order, at_random) in measure_size(arguments, pictures).items():
            speed = f"{payload / harness.median_of(wrote, 'synced') / 1e6:.0f}"
            rows.append([
                f"{name}, {to}", above(container, payload), above(files, payload), speed,
                reading_cell(in_order), reading_cell(at_random),
            ])  # fmt: skip
            for what, runs in [("writing", wrote), ("in order", in_order), ("at random", at_random)]:
                all_runs[f"{name}, {to}, {what}"] = runs
    header = ["samples, format", "container, % above payload", "with index and hashes", "write, MB/s"]
    header += ["read in order", "read at random"]
    yield f"choosing, {arguments.cache}", all_runs, harness.markdown(header, rows)


def main():
    options = harness.parser(__doc__)
    options.add_argument("--cache", choices=["warm", "cold"], default="warm")
    arguments = options.parse_args()
    if arguments.cache == "cold":
        harness.needs_root()
    harness.run(arguments, bench)


if __name__ == "__main__":
    main()
