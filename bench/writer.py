#!/usr/bin/env python3
"""Writing 20,000 photos from a Python loop: shale.Writer beside webdataset's ShardWriter, MDSWriter, `shale convert` and dd.

python3 bench/writer.py [--rounds 5] [--cache warm|cold] [--shale PROGRAM] [--package FOLDER] [--json FILE] ...
The loop is the same for all three writers: open, read, write. On a machine that does nothing else. bench/README.md explains the protocol.
"""

import os
import pathlib

import harness
import inputs
from harness import HERE, ROOT, Step
from inputs import convert


def parse_arguments():
    options = harness.parser(__doc__)
    inputs.add_photos(options)
    options.add_argument("--cache", choices=["warm", "cold"], default="warm")
    options.add_argument("--package", type=pathlib.Path, default=ROOT / "build/release/python", help="folder with the package shale")
    return options.parse_args()


def steps_of(arguments, photos):
    work, python = arguments.work, inputs.peers_of(arguments)
    blob = inputs.made_once(work / "blob", lambda path: inputs.write_blob(photos, path))
    package = {"PYTHONPATH": os.fspath(arguments.package.resolve())}

    def loop(name, peer, **more):
        return Step(name, [python, HERE / "peer_writers.py", peer, photos, work / peer], [photos], work / peer, **more)

    steps = [
        loop("shale.Writer", "shale", env=package),
        Step("shale convert", convert(arguments, photos, work / "out", "record"), [photos], work / "out"),
        loop("webdataset ShardWriter", "webdataset"),
        loop("MDSWriter", "mds"),
    ]
    if arguments.cache == "warm":
        steps.append(Step("dd oflag=direct", ["dd", f"if={blob}", f"of={work / 'copy'}", "bs=4M", "oflag=direct"], [blob], work / "copy"))
    return steps


def results(arguments, photos):
    payload = harness.size_of([photos])
    runs = harness.alternate(steps_of(arguments, photos), arguments.rounds, arguments.work, arguments.cache)
    title = f"from Python, {payload / 1e6:.0f} MB, {arguments.cache}"
    yield title, runs, harness.table(runs, "shale.Writer", payload, title)


def main():
    arguments = parse_arguments()
    if arguments.cache == "cold":
        harness.needs_root()
    harness.needs_shale(arguments)
    arguments.work.mkdir(parents=True, exist_ok=True)
    harness.report(arguments, results(arguments, inputs.photos_of(arguments)))


if __name__ == "__main__":
    main()
