#!/usr/bin/env python3
"""Packing, verifying and memory of shale beside its peers and the machine's limits: one command, Markdown tables.

python3 bench/pack.py [--only record|webdataset|repeated|lmdb|hdf5|verify|memory] [--rounds 5] [--cache warm|cold] [--beside PROGRAM] [--json FILE] ...
As root (it drops caches), on a machine that does nothing else. bench/README.md explains the protocol.
"""

import base64
import os
import pathlib
import shutil
import subprocess

import harness
import inputs
from harness import HERE, MIB, Step, say
from inputs import convert, shell

TINY_CLASSES, TINY_PER_CLASS = 1000, 2000
BUDGETS_MIB = (16, 64, 256)
ONE_FILE = {"record": "one.tfrecord", "webdataset": "one.tar", "lmdb": "one.lmdb", "hdf5": "one.h5"}
ALLOWED_ABOVE_BUDGET_MIB = 64
# A JPEG of one pixel, 286 bytes.
TINY_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAYEBQYFBAYGBQYHBwYIChAKCgkJChQODwwQFxQYGBcUFhYaHSUfGhsjHBYWICwgIyYnKSopGR8tMC0o"
    "MCUoKSj/2wBDAQcHBwoIChMKChMoGhYaKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCj/wAARCAABAAEDASIA"
    "AhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAABv/EABQRAQAAAAAAAAAA"
    "AAAAAAAAAAD/2gAMAwEAAhEDEQA/AKQAI2f/2Q=="
)


def parse_arguments():
    options = harness.parser(__doc__)
    inputs.add_photos(options)
    options.add_argument("--only", choices=list(BENCHES))
    options.add_argument("--cache", choices=["warm", "cold"], help="only one of the two")
    options.add_argument("--without-shale", action="store_true", help="measure the peers' packing alone")
    options.add_argument("--beside", type=pathlib.Path, help="another build of shale, measured in turn with this one (all but memory)")
    return options.parse_args()


def write_tiny(out):
    """2,000,000 one-pixel JPEGs, no two alike (a comment segment holds the number)."""
    needed = TINY_CLASSES * TINY_PER_CLASS
    if harness.free_inodes(out.parent) < needed * 1.05 or harness.free_bytes(out.parent) < needed * 4096 * 1.7:
        raise SystemExit(f"bench: {out.parent} has too few free inodes or bytes for {needed} files\nhint: choose another --work")
    out.mkdir()
    for class_number in range(TINY_CLASSES):
        name = f"c{class_number:04}"
        os.mkdir(out / name)
        folder = os.open(out / name, os.O_RDONLY)
        for number in range(TINY_PER_CLASS):
            note = b"%s/%06d" % (name.encode(), number)
            fd = os.open(f"{number:06}.jpg", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder)
            os.write(fd, TINY_JPEG[:2] + b"\xff\xfe" + (len(note) + 2).to_bytes(2, "big") + note + TINY_JPEG[2:])
            os.close(fd)
        os.close(folder)


# ---- what is measured ---------------------------------------------------------------------------------------------------


def caches(arguments):
    return [arguments.cache] if arguments.cache else ["warm", "cold"]


def packing_peers(arguments, photos, to):
    """The steps of those that a user would otherwise take."""
    work, python = arguments.work, inputs.peers_of(arguments)

    def script(name, peer):
        return Step(name, [python, HERE / "peer_writers.py", peer, photos, work / peer], [photos], work / peer)

    if to == "record":
        tar = Step("GNU tar cf", ["tar", "cf", work / "out.tar", "-C", photos, "."], [photos], work / "out.tar")
        return [tar, script("webdataset ShardWriter", "webdataset"), script("MDSWriter", "mds")]
    if to == "webdataset":
        synced = shell('tar cf "$1" -C "$2" . && sync "$1"', work / "out.tar", photos)
        return [script("webdataset ShardWriter", "webdataset"), Step("GNU tar cf, sync", synced, [photos], work / "out.tar")]
    if to == "lmdb":
        in_c = [inputs.lmdb_writer(arguments), photos, inputs.list_of(arguments, photos), work / "c"]
        return [
            script("py-lmdb, msgpack, commit every 5000", "lmdb"),
            Step("C liblmdb, NOSYNC and APPEND", in_c, [photos], work / "c"),
        ]
    return [script("h5py, vlen uint8", "hdf5")]


def bench_packing(to):
    def bench(arguments, photos):
        work = arguments.work
        blob = inputs.made_once(work / "blob", lambda path: inputs.write_blob(photos, path))
        steps = [
            Step("shale", convert(arguments, photos, work / "out", to), [photos], work / "out"),
            Step("shale, one file", convert(arguments, photos, work / ONE_FILE[to], to), [photos], work / ONE_FILE[to]),
            *packing_peers(arguments, photos, to),
            Step("dd oflag=direct", ["dd", f"if={blob}", f"of={work / 'copy'}", "bs=4M", "oflag=direct"], [blob], work / "copy"),
        ]
        if arguments.beside:
            command = [arguments.beside, *convert(arguments, photos, work / "beside", to)[1:]]
            steps.insert(1, Step(f"{arguments.beside}", command, [photos], work / "beside"))
        if arguments.without_shale:
            del steps[0]
        payload = harness.size_of([photos])
        for cache in caches(arguments):
            these = [step for step in steps if cache == "warm" or not step.name.startswith("dd")]
            runs = harness.alternate(these, arguments.rounds, work, cache)
            title = f"--to {to}, {payload / 1e6:.0f} MB, {cache}"
            yield title, runs, harness.table(runs, steps[0].name, payload, title, shows_overhead=True)

    return bench


def bench_repeated(arguments, _):
    """Photos that are there many times, so that nearly all of them are duplicates of another."""
    work = arguments.work
    photos = inputs.made_once(work / "repeated", lambda path: inputs.repeat_photos(arguments.photos, path))
    steps = [
        Step("shale", convert(arguments, photos, work / "out", "record"), [photos], work / "out"),
        Step("GNU tar cf", ["tar", "cf", work / "out.tar", "-C", photos, "."], [photos], work / "out.tar"),
    ]
    if arguments.beside:
        command = [arguments.beside, *convert(arguments, photos, work / "beside", "record")[1:]]
        steps.insert(1, Step(f"{arguments.beside}", command, [photos], work / "beside"))
    payload = harness.size_of([photos])
    for cache in caches(arguments):
        runs = harness.alternate(steps, arguments.rounds, work, cache)
        title = f"{inputs.REPEATED_COUNT:,} photos that are {inputs.REPEATED_CONTENTS}, {payload / 1e6:.0f} MB, {cache}"
        yield title, runs, harness.table(runs, steps[0].name, payload, title)


def bench_verify(arguments, photos):
    out = arguments.work / "dataset"
    harness.remove(out)
    subprocess.run(convert(arguments, photos, out, "record"), check=True)
    shards = sorted(out.glob("*.tfrecord"))
    if not shutil.which("xxhsum"):
        raise SystemExit("bench: xxhsum is missing\nhint: apt-get install xxhash")
    steps = [
        Step("shale verify --full", [arguments.shale, "verify", out, "--full", "--jobs", "2", "--quiet"], [out], syncs=False),
        Step("cat > /dev/null", shell('cat "$@" > /dev/null', *shards), shards, syncs=False),
        Step("xxhsum -H3", ["xxhsum", "-H3", *shards], shards, syncs=False),
        Step("one reader, dd bs=1M", shell('for f; do dd if="$f" of=/dev/null bs=1M; done', *shards), shards, syncs=False),
    ]
    if arguments.beside:
        steps.insert(1, Step(f"{arguments.beside}", [arguments.beside, *steps[0].command[1:]], [out], syncs=False))
    payload = harness.size_of(shards)
    for cache in caches(arguments):
        runs = harness.alternate(steps, arguments.rounds, arguments.work, cache)
        yield f"verify, {cache}", runs, harness.table(runs, steps[0].name, payload, f"verify, {payload / 1e6:.0f} MB, {cache}")
    harness.remove(out)


def bench_memory(arguments, photos):
    tiny = inputs.made_once(arguments.work / "tiny", write_tiny)
    out = arguments.work / "out"
    rows, runs = [], {}
    for name, source in [(f"{inputs.PHOTO_COUNT:,} photos", photos), (f"{TINY_CLASSES * TINY_PER_CLASS:,} tiny files", tiny)]:
        for budget in BUDGETS_MIB:
            step = Step(f"{name}, {budget} MiB", convert(arguments, source, out, "record", "--memory", f"{budget}MiB"), output=out)
            harness.remove(out)
            run = harness.measured(step)
            say(f"  {step.name}: {run.rss_bytes / MIB:.0f} MiB, {run.synced:.1f} s")
            runs[step.name] = [run]
            allowed = budget + ALLOWED_ABOVE_BUDGET_MIB
            verdict = f"{allowed}" if run.rss_bytes <= allowed * MIB else f"{allowed}: **exceeded**"
            rows.append([name, f"{budget}", f"{run.rss_bytes / MIB:.0f}", verdict, f"{run.synced:.1f}", f"{run.cpu:.1f}"])
    harness.remove(out)
    header = ["input", "--memory MiB", "peak RSS MiB", "allowed", "s on disk", "CPU s"]
    yield "memory", runs, harness.markdown(header, rows)


BENCHES = {to: bench_packing(to) for to in ("record", "webdataset", "lmdb", "hdf5")}
BENCHES |= {"repeated": bench_repeated, "verify": bench_verify, "memory": bench_memory}


def main():
    arguments = parse_arguments()
    harness.needs_root()
    arguments.work.mkdir(parents=True, exist_ok=True)
    wanted = [arguments.only] if arguments.only else list(BENCHES)
    if arguments.without_shale:
        wanted = [name for name in wanted if name not in ("repeated", "verify", "memory")]
    else:
        harness.needs_shale(arguments)
    photos = inputs.photos_of(arguments) if wanted != ["repeated"] else None
    harness.report(arguments, (result for name in wanted for result in BENCHES[name](arguments, photos)))


if __name__ == "__main__":
    main()
