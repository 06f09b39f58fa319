#!/usr/bin/env python3
"""Parts: the merge of 10,000 shards, and two parts on two cores beside one run with two jobs.

    SHALE=build/release/shale bench/merge.py [--folder DIR] [--shards 10000] [--parts 100] [--images 8000] [--rounds 5]

merge: one image in each shard (three files), written in parts; medians of `--rounds` merges by links, each into a new output.
two parts: `convert --part 0/2 --jobs 1` and `--part 1/2 --jobs 1` at the same time, their merge included, beside `convert --jobs 2`;
ABBA order. All inputs and outputs are on one file system, --folder.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SHALE = pathlib.Path(os.environ.get("SHALE", "build/release/shale")).resolve()
os.environ["SHALE"] = str(SHALE)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/support"))
from shale_tool import make_photos


def seconds(*commands):
    """Of commands that run at the same time."""
    os.sync()
    begin = time.perf_counter()
    running = [subprocess.Popen([SHALE, *map(str, words)], stderr=subprocess.DEVNULL) for words in commands]
    codes = [process.wait() for process in running]
    if any(codes):
        raise RuntimeError(f"{commands}: exit {codes}")
    return time.perf_counter() - begin


def merge_of_shards(folder, words):
    photos = make_photos(folder / "few", words.shards, sides=(2, 8))
    for index in range(words.parts):
        seconds(["convert", photos, folder / "parts", "--to", "record", "--shard-samples", 1, "--part", f"{index}/{words.parts}", "--quiet"])
    times = []
    for _ in range(words.rounds):
        times.append(seconds(["merge", folder / "parts", folder / "merged", "--quiet"]))
        shutil.rmtree(folder / "merged")
    print(f"merge of {words.shards} shards in {words.parts} parts: {statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f})")


def two_parts(folder, words):
    photos = make_photos(folder / "photos", words.images, sides=(100, 300))
    options = ["--to", "record", "--shuffle", "--quiet"]

    def one_run():
        taken = seconds(["convert", photos, folder / "one", *options, "--jobs", 2])
        shutil.rmtree(folder / "one")
        return taken

    def parts():
        both = [["convert", photos, folder / "two", *options, "--jobs", 1, "--part", f"{index}/2"] for index in range(2)]
        taken = seconds(*both) + seconds(["merge", folder / "two", folder / "merged", "--quiet"])
        shutil.rmtree(folder / "two")
        shutil.rmtree(folder / "merged")
        return taken

    times = {one_run: [], parts: []}
    for number in range(words.rounds):
        for way in (one_run, parts) if number % 2 == 0 else (parts, one_run):
            times[way].append(way())
    one, two = statistics.median(times[one_run]), statistics.median(times[parts])
    print(f"{words.images} images: one run with two jobs {one:.2f} s, two parts and their merge {two:.2f} s: {two / one:.2f}x")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", help="where all of it is written; default: $TMPDIR")
    for name, value in (("shards", 10_000), ("parts", 100), ("images", 8000), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    words = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shale-merge-", dir=words.folder))
    try:
        merge_of_shards(folder, words)
        two_parts(folder, words)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
