#!/usr/bin/env python3
"""Files as the field has them, beside the Python loop that one would write: an HDF5 tree and a detection TFRecord converted, many TFRecord files indexed.

python3 bench/field.py [--only tree,detection,index] [--bytes 2000000000] [--files 1000] [--rounds 3] ...
bench/README.md explains the rows; the peers are those of bench/peers.txt.
"""

import os
import sys

import harness
import inputs
from harness import HERE, Step
from inputs import convert

PARTS = ("tree", "detection", "index")


def parse_arguments():
    options = harness.parser_of_parts(__doc__, PARTS)
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

    def index(self, folder):
        paths, threads = sorted(folder.glob("*.tfrecord")), len(os.sched_getaffinity(0))
        return [
            Step("shale index", [self.arguments.shale, "index", folder, "--quiet"], [folder], folder / ".shale-index", syncs=False),
            Step(f"the disk: O_DIRECT, {threads} threads", [sys.executable, "-S", HERE / "direct_read.py", str(threads), *paths], [folder], syncs=False),
            Step("cat to /dev/null", inputs.shell('cat "$@" | wc -c >&2', *paths), [folder], syncs=False),
            Step("tfrecord2idx of tfrecord", self.words("index", folder), [folder], syncs=False),
        ]


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
    if "index" in arguments.only:
        harness.needs_root()
        folder = bench.made(f"{arguments.bytes}-in-{arguments.files}", "files", arguments.bytes, arguments.files)
        runs = harness.alternate(bench.index(folder), arguments.rounds, arguments.work, "cold")
        title = f"{arguments.files:,} TFRecord files indexed, cold"
        yield title, runs, harness.table(runs, "shale index", harness.size_of([folder]), title)


if __name__ == "__main__":
    harness.run(parse_arguments(), results)
