#!/usr/bin/env python3
"""Frames of videos: written as CoCLR's LMDB and as records beside a Python script, read one by one, and the index of such a file.

python3 bench/frames.py [--only write,read,index] [--cache warm|cold] [--videos 120] [--frames 150] [--rounds 5] [--photos DIR] [--json FILE] ...
As root (it drops caches). bench/README.md explains the protocol.
"""

import os
import pathlib
import subprocess

import harness
import inputs
from cold_input import drop_files
from harness import HERE, MIB, ROOT, Step

SCRIPT = "script: read, msgpack.dumps, py-lmdb put"
MEMORY_MIB = 256  # --memory by default
PARTS = ("write", "read", "index")
WAYS = {  # of frame_readers.py
    "elements": "by the element list, a pread per frame",
    "shale": "shale.Dataset.read(row, {...})",
    "msgpack": "py-lmdb as CoCLR opens it, msgpack.loads",
    "msgpack-readahead": "py-lmdb with readahead=True, msgpack.loads",
}


def frames_of(arguments):
    """The tree, and its bytes."""
    photos = [arguments.photos] if arguments.photos.is_dir() else []

    def make(path):
        words = [path, arguments.videos, arguments.frames, *photos]
        subprocess.run([inputs.peers_of(arguments), HERE / "make_frames.py", *map(str, words)], check=True)

    tree = inputs.made_once(arguments.work / f"frames-{arguments.videos}x{arguments.frames}", make)
    return tree, harness.size_of([tree])


def write(arguments, tree, payload):
    out = arguments.work / "out"
    coclr, record = arguments.work / "out.lmdb", ["--group", "frames", "--memory", f"{MEMORY_MIB}MiB"]
    steps = [
        Step("shale --layout coclr", [arguments.shale, "convert", tree, coclr, "--layout", "coclr", *record, "--quiet"], [tree], coclr),
        Step("shale --to record", inputs.convert(arguments, tree, out, "record", *record), [tree], out),
        Step(SCRIPT, [inputs.peers_of(arguments), HERE / "peer_writers.py", "coclr", tree, out], [tree], out),
    ]
    for cache, target in (("warm", 3), ("cold", 2)):
        if arguments.cache not in (cache, None):
            continue
        runs = harness.alternate(steps, arguments.rounds, arguments.work, cache)
        title = f"{arguments.videos} videos of {arguments.frames} frames, {payload / 1e6:.0f} MB, {cache}"
        yield title, runs, harness.table(runs, steps[0].name, payload, title) + "\n\n" + targets(runs, steps[:2], target)


def targets(runs, steps, least):
    """How far the script is behind, and the memory."""
    rows = []
    for step in steps:
        rss = max(run.rss_bytes for run in runs[step.name]) / MIB
        rows.append([f"{step.name}, beside the script", f"{least}", harness.ratio(runs, SCRIPT, step.name)])
        rows.append([f"{step.name}, peak RSS in MiB", f"{MEMORY_MIB + 64}", f"{rss:.0f}"])
    return harness.markdown(["", "target", "measured"], rows)


def coclr_file(arguments, tree):
    """What the script writes."""

    def make(path):
        subprocess.run([inputs.peers_of(arguments), HERE / "peer_writers.py", "coclr", tree, path], check=True)

    return inputs.made_once(arguments.work / f"coclr-{tree.name}", make) / "data.lmdb"


def read(arguments, tree, payload):
    """32 frames of random videos of the script's file, cold: each by its place, or out of the whole value."""
    file, take = coclr_file(arguments, tree), min(32, arguments.frames)
    subprocess.run([arguments.shale, "index", file, "--quiet"], check=True)
    python, script = inputs.peers_of(arguments), HERE / "frame_readers.py"
    package = {"PYTHONPATH": os.fspath(arguments.package.resolve())}
    for places in ("scattered", "clip"):
        steps = [
            Step(name, [python, script, way, file, "--places", places, "--take", f"{take}"], syncs=False, reports=True, env=package)
            for way, name in WAYS.items()
        ]
        runs = harness.alternate(steps, arguments.rounds, arguments.work, "cold inside")
        title = f"{take} of {arguments.frames} frames of a random video, {places}, cold"
        rows = []
        for name, list_of_runs in runs.items():
            ms = [run.reported["ms"] for run in list_of_runs]
            rss = [max(run.reported["rss_mib"][at] for run in list_of_runs) for at in (0, 1)]
            times = harness.ratio(runs, name, WAYS["elements"], "ms")
            rows.append([name, f"{harness.median_of(list_of_runs, 'ms'):.2f}", harness.spread(ms), *map(str, rss), times])
        yield title, runs, harness.markdown([title, "ms", "spread", "RSS, a tenth read", "RSS, all read", "x by the element list"], rows)


def index(arguments, tree, payload):
    """`shale index` of a file that the script wrote, cold, beside reading it once."""
    file = coclr_file(arguments, tree)
    out = arguments.work / "index"
    once = "dd bs=1M of=/dev/null"
    steps = [
        Step("shale index", [arguments.shale, "index", file, "--index-dir", out, "--quiet"], output=out),
        Step(once, inputs.shell('dd if="$1" of=/dev/null bs=1M status=none', file), syncs=False),
        Step("cat > /dev/null", inputs.shell('cat "$1" > /dev/null', file), syncs=False),
    ]

    def measure(step):
        drop_files([file])  # the programs stay cached
        return harness.measured(step)

    runs = harness.alternate(steps, arguments.rounds, arguments.work, "file dropped", measure=measure)
    title = f"index of CoCLR's file, {file.stat().st_size / 1e6:.0f} MB, cold"
    table = harness.table(runs, once, file.stat().st_size, title)
    rows = [["shale index, times the file is read once", "at most 1.2", harness.ratio(runs, "shale index", once)]]
    yield title, runs, table + "\n\n" + harness.markdown(["", "target", "measured"], rows)


def bench(arguments):
    tree, payload = frames_of(arguments)
    for part in arguments.only.split(","):
        yield from {"write": write, "read": read, "index": index}[part](arguments, tree, payload)


def main():
    options = harness.parser(__doc__)
    inputs.add_photos(options)
    options.add_argument("--only", default=",".join(PARTS))
    options.add_argument("--package", type=pathlib.Path, default=ROOT / "build/release/python", help="folder with the package shale")
    options.add_argument("--cache", choices=("warm", "cold"))
    options.add_argument("--videos", type=int, default=120)
    options.add_argument("--frames", type=int, default=150)
    arguments = options.parse_args()
    harness.needs_root()
    harness.needs_shale(arguments)
    arguments.work.mkdir(parents=True, exist_ok=True)
    harness.report(arguments, bench(arguments))


if __name__ == "__main__":
    main()
