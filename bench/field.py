#!/usr/bin/env python3
"""Files as the field has them, beside the Python loop that one would write: an HDF5 tree and a detection TFRecord converted, many TFRecord files indexed.
And a damaged TFRecord, of which all whole records come out, beside the undamaged one; a zip of photos beside their folder.

python3 bench/field.py [--only tree,detection,index,damaged,zip] [--bytes 2000000000] [--files 1000] [--rounds 3] ...
bench/README.md explains the rows; the peers are those of bench/peers.txt.
"""

import os
import shutil
import sys
import zipfile

import harness
import inputs
from harness import HERE, Step
from inputs import convert

PARTS = ("tree", "detection", "index", "damaged", "zip")
DAMAGED_FROM_END = 40


def parse_arguments():
    options = harness.parser_of_parts(__doc__, PARTS)
    inputs.add_photos(options)
    options.add_argument("--bytes", type=int, default=2_000_000_000, help="payload of each input")
    options.add_argument("--files", type=int, default=1000, help="TFRecord files to be indexed")
    options.add_argument("--cache", choices=("warm", "cold"), default="warm", help="for the conversions; cold takes root")
    return harness.arguments_of_parts(options, PARTS)


class Bench:
    def __init__(self, arguments):
        self.arguments, self.work = arguments, arguments.work
        self.python = inputs.peers_of(arguments)

    def words(self, *words):
        return [self.python, HERE / "field_ways.py", *map(str, words)]

    def made(self, name, *words):
        return inputs.made_once(self.work / name, lambda path: harness.measured(Step(name, self.words(*words, path))))

    def conversions(self, source, to, loop):
        out = self.work / "out"
        copy = self.work / "out.bin"
        return [
            Step("shale convert", convert(self.arguments, source, out, to), [source], out),
            Step(loop, self.words("loop", to, source, out), [source], out),
            Step("dd of the input", ["dd", f"if={source}", f"of={copy}", "bs=4M", "status=none"], [source], copy),
        ]

    def damaged(self, source):
        """The conversion of `source`, and of a copy with a bit flipped in the middle and no end."""
        bad = inputs.made_once(self.work / f"damaged-{source.name}", lambda path: damage(source, path))
        out = self.work / "out"
        skip = ["--on-error", "skip"]
        return [
            Step("shale convert, undamaged", convert(self.arguments, source, out, "record"), [source], out),
            Step("shale convert --on-error skip, damaged", convert(self.arguments, bad, out, "record", *skip), [bad], out, may_end_with=(4,)),
        ]

    def zipped(self, photos):
        """The conversion of a folder, and of a zip that stores it."""
        packed = inputs.made_once(self.work / "photos.zip", lambda path: pack(photos, path))
        out = self.work / "out"
        return [
            Step("shale convert, the folder", convert(self.arguments, photos, out, "record"), [photos], out),
            Step("shale convert, its zip", convert(self.arguments, packed, out, "record"), [packed], out),
        ]

    def index(self, folder):
        paths, threads = sorted(folder.glob("*.tfrecord")), len(os.sched_getaffinity(0))
        return [
            Step("shale index", [self.arguments.shale, "index", folder, "--quiet"], [folder], folder / ".shale-index", syncs=False),
            Step(f"the disk: O_DIRECT, {threads} threads", [sys.executable, "-S", HERE / "direct_read.py", str(threads), *paths], [folder], syncs=False),
            Step("cat to /dev/null", inputs.shell('cat "$@" | wc -c >&2', *paths), [folder], syncs=False),
            Step("tfrecord2idx of tfrecord", self.words("index", folder), [folder], syncs=False),
        ]


def damage(source, path):
    shutil.copyfile(source, path)
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(size // 2)
        byte = file.read(1)[0]
        file.seek(size // 2)
        file.write(bytes([byte ^ 1]))
        file.truncate(size - DAMAGED_FROM_END)


def pack(photos, path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as packed:
        for file in sorted(photos.rglob("*")):
            packed.write(file, file.relative_to(photos))


def results(arguments):
    bench = Bench(arguments)
    rows = {
        "tree": ("HDF5, a group per sample, to record", "tree.h5", "record", "h5py and TFRecordWriter"),
        "detection": ("detection TFRecord to lmdb", "detection.tfrecord", "lmdb", "tfrecord and py-lmdb"),
    }
    for part, (title, name, to, loop) in rows.items():
        if part in arguments.only:
            source = bench.made(f"{arguments.bytes}-{name}", part, arguments.bytes)
            runs = harness.alternate(bench.conversions(source, to, loop), arguments.rounds, arguments.work, arguments.cache)
            yield title, runs, harness.table(runs, "shale convert", harness.size_of([source]), title)
    if "damaged" in arguments.only:
        source = bench.made(f"{arguments.bytes}-detection.tfrecord", "detection", arguments.bytes)
        runs = harness.alternate(bench.damaged(source), arguments.rounds, arguments.work, arguments.cache)
        title = "a damaged TFRecord to record"
        yield title, runs, harness.table(runs, "shale convert, undamaged", harness.size_of([source]), title)
    if "zip" in arguments.only:
        photos = inputs.photos_of(arguments)
        runs = harness.alternate(bench.zipped(photos), arguments.rounds, arguments.work, arguments.cache)
        title = "a zip of photos to record"
        yield title, runs, harness.table(runs, "shale convert, the folder", harness.size_of([photos]), title)
    if "index" in arguments.only:
        harness.needs_root()
        folder = bench.made(f"{arguments.bytes}-in-{arguments.files}", "files", arguments.bytes, arguments.files)
        runs = harness.alternate(bench.index(folder), arguments.rounds, arguments.work, "cold")
        title = f"{arguments.files:,} TFRecord files indexed, cold"
        yield title, runs, harness.table(runs, "shale index", harness.size_of([folder]), title)


if __name__ == "__main__":
    harness.run(parse_arguments(), results)
