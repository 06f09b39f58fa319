#!/usr/bin/env python3
"""What an append costs, and what an appended dataset costs to open: rounds in turn, medians.

    SHALE=build/release/shale PYTHONPATH=build/release/python bench/append.py [--shards 10000] [--appends 20] [--rounds 21]

Two datasets of the same rows and shards are made in a temporary folder: one by a single run, one by a run and N appends. Each round opens
both in a new process (the manifest is proved and read, one sample is loaded) and times it there; the page cache is warm. Then the last
append is timed beside a conversion of the same rows into an empty directory.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

SHALE = os.environ.get("SHALE", "build/release/shale")
OPEN = """
import sys, time
import shale
begin = time.perf_counter()
ds = shale.Dataset(sys.argv[1])
ds[len(ds) - 1]
print(time.perf_counter() - begin)
"""


def convert(*words):
    begin = time.perf_counter()
    subprocess.run([SHALE, "convert", *map(str, words), "--quiet"], check=True)
    return time.perf_counter() - begin


def opened(path):
    return float(subprocess.run([sys.executable, "-c", OPEN, path], check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=10_000)
    parser.add_argument("--appends", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=21)
    arguments = parser.parse_args()
    runs = arguments.appends + 1
    each = arguments.shards // runs
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pieces = []
        for run in range(runs):
            pieces.append(folder / f"{run}.npy")
            np.save(pieces[-1], np.random.default_rng(run).random((each, 64), "f4"))
        plain, appended = folder / "plain", folder / "appended"
        convert(*pieces, plain, "--to", "npy", "--shard-samples", 1)
        convert(pieces[0], appended, "--to", "npy", "--shard-samples", 1)
        last = [convert(piece, appended, "--append") for piece in pieces[1:]][-1]
        alone = convert(pieces[-1], folder / "alone", "--to", "npy", "--shard-samples", 1)
        times = {plain: [], appended: []}
        for number in range(arguments.rounds):
            for path in (plain, appended) if number % 2 == 0 else (appended, plain):
                times[path].append(opened(path))
        one, many = (statistics.median(seconds) * 1e3 for seconds in times.values())
        ratio = statistics.median(b / a for a, b in zip(*times.values()))
        print(f"opening {each * runs} shards: {one:.1f} ms of one run, {many:.1f} ms after {arguments.appends} appends: {ratio:.2f}x")
        print(f"{each} shards: {alone:.2f} s into an empty directory, {last:.2f} s behind {each * arguments.appends} others")


if __name__ == "__main__":
    main()
