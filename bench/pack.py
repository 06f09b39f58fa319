#!/usr/bin/env python3
"""Packing, verifying and memory of shale beside its peers and the machine's limits: one command, Markdown tables.

python3 bench/pack.py [--only record|verify|memory] [--rounds 5] [--cache warm|cold] [--json FILE] ...
As root (it drops caches), on a machine that does nothing else. bench/README.md explains the protocol.
"""

import argparse
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys

import harness
from harness import MIB, Step, say

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PHOTO_COUNT = 20_000
TINY_CLASSES, TINY_PER_CLASS = 1000, 2000
BUDGETS_MIB = (16, 64, 256)
ALLOWED_ABOVE_BUDGET_MIB = 64
# A JPEG of one pixel, 286 bytes.
TINY_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAYEBQYFBAYGBQYHBwYIChAKCgkJChQODwwQFxQYGBcUFhYaHSUfGhsjHBYWICwgIyYnKSopGR8tMC0o"
    "MCUoKSj/2wBDAQcHBwoIChMKChMoGhYaKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCj/wAARCAABAAEDASIA"
    "AhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAABv/EABQRAQAAAAAAAAAA"
    "AAAAAAAAAAD/2gAMAwEAAhEDEQA/AKQAI2f/2Q=="
)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=pathlib.Path, default=ROOT.parent / "shared/data/imagenet-sample",
                        help="class folders with photos, multiplied to 20,000 files")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/var/tmp/shale-bench"),
                        help="folder for inputs and outputs; needs 12 GB, memory mode 14 GB more")  # fmt: skip
    parser.add_argument("--shale", type=pathlib.Path, default=ROOT / "build/release/shale")
    parser.add_argument("--peers", type=pathlib.Path, help="Python environment of the peers (default WORK/peers, made if missing)")
    parser.add_argument("--only", choices=["record", "verify", "memory"])
    parser.add_argument("--cache", choices=["warm", "cold"], help="only one of the two")
    parser.add_argument("--without-shale", action="store_true", help="measure the peers alone")
    parser.add_argument("--json", type=pathlib.Path, help="write every run into this file")
    return parser.parse_args()


# ---- inputs, made once --------------------------------------------------------------------------------------------------


def made_once(path, make):
    """Calls make(path) unless it has succeeded before; a half-made one is made again."""
    done = path.with_name(path.name + ".done")
    if not done.exists():
        say(f"making {path}")
        harness.remove(path)
        make(path)
        os.sync()
        done.touch()
    return path


def multiply_photos(sample, out):
    """Copies of real photos in 1000 class folders: n01440764_0/n01440764_tench_000.JPEG ... Real copies, no links."""
    photos = sorted(p for p in sample.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
    if not photos:
        raise SystemExit(f"bench: {sample} holds no JPEGs\nhint: name a folder of photos with --photos")
    copies = -(-PHOTO_COUNT // len(photos))
    for copy in range(copies):
        for photo in photos:
            folder = out / f"{photo.parent.name}_{copy // 20}"
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(photo, folder / f"{photo.stem}_{copy:03}.JPEG")


def write_blob(photos, out):
    """All photos in one file: the bytes that dd writes."""
    with open(out, "wb") as sink:
        for path in sorted(photos.rglob("*.JPEG")):
            with open(path, "rb") as source:
                shutil.copyfileobj(source, sink, MIB)


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


def make_peers(venv):
    pins = HERE / "peers.txt"
    stamp = venv / "shale-pins"
    if not stamp.exists() or stamp.read_bytes() != pins.read_bytes():
        say(f"setting up the peers in {venv}")
        if not (venv / "bin/python").exists():
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin/python", "-m", "pip", "install", "-q", "--no-deps", "-r", pins], check=True)
        stamp.write_bytes(pins.read_bytes())
    return venv / "bin/python"


# ---- what is measured ---------------------------------------------------------------------------------------------------


def shell(script, *words):
    return ["sh", "-ec", script, "sh", *map(str, words)]


def size_of(roots):
    return sum(f.stat().st_size for root in roots for f in ([root] if root.is_file() else root.rglob("*")) if f.is_file())


def caches(arguments):
    return [arguments.cache] if arguments.cache else ["warm", "cold"]


def convert(arguments, source, out, *more):
    return [arguments.shale, "convert", source, out, "--to", "record", "--quiet", *more]


def bench_record(arguments, photos):
    work, writers = arguments.work, HERE / "peer_writers.py"
    python = make_peers(arguments.peers or work / "peers")
    blob = made_once(work / "blob", lambda path: write_blob(photos, path))
    steps = [
        Step("shale", convert(arguments, photos, work / "out"), [photos], work / "out"),
        Step("GNU tar cf", ["tar", "cf", work / "out.tar", "-C", photos, "."], [photos], work / "out.tar"),
        Step("webdataset ShardWriter", [python, writers, "webdataset", photos, work / "wds"], [photos], work / "wds"),
        Step("MDSWriter", [python, writers, "mds", photos, work / "mds"], [photos], work / "mds"),
        Step("dd oflag=direct", ["dd", f"if={blob}", f"of={work / 'copy'}", "bs=4M", "oflag=direct"], [blob], work / "copy"),
    ]
    if arguments.without_shale:
        del steps[0]
    payload = size_of([photos])
    for cache in caches(arguments):
        these = [step for step in steps if cache == "warm" or not step.name.startswith("dd")]
        runs = harness.alternate(these, arguments.rounds, work, cache)
        yield f"record, {cache}", runs, harness.table(runs, steps[0].name, payload, f"--to record, {payload / 1e6:.0f} MB, {cache}")


def bench_verify(arguments, photos):
    out = arguments.work / "dataset"
    harness.remove(out)
    subprocess.run(convert(arguments, photos, out), check=True)
    shards = sorted(out.glob("*.tfrecord"))
    if not shutil.which("xxhsum"):
        raise SystemExit("bench: xxhsum is missing\nhint: apt-get install xxhash")
    steps = [
        Step("shale verify --full", [arguments.shale, "verify", out, "--full", "--jobs", "2", "--quiet"], [out], syncs=False),
        Step("cat > /dev/null", shell('cat "$@" > /dev/null', *shards), shards, syncs=False),
        Step("xxhsum -H3", ["xxhsum", "-H3", *shards], shards, syncs=False),
        Step("one reader, dd bs=1M", shell('for f; do dd if="$f" of=/dev/null bs=1M; done', *shards), shards, syncs=False),
    ]
    payload = size_of(shards)
    for cache in caches(arguments):
        runs = harness.alternate(steps, arguments.rounds, arguments.work, cache)
        yield f"verify, {cache}", runs, harness.table(runs, steps[0].name, payload, f"verify, {payload / 1e6:.0f} MB, {cache}")
    harness.remove(out)


def bench_memory(arguments, photos):
    tiny = made_once(arguments.work / "tiny", write_tiny)
    out = arguments.work / "out"
    lines = ["| input | --memory MiB | peak RSS MiB | allowed | s on disk | CPU s |", "|---|--:|--:|--:|--:|--:|"]
    runs = {}
    for name, source in [(f"{PHOTO_COUNT:,} photos", photos), (f"{TINY_CLASSES * TINY_PER_CLASS:,} tiny files", tiny)]:
        for budget in BUDGETS_MIB:
            step = Step(f"{name}, {budget} MiB", convert(arguments, source, out, "--memory", f"{budget}MiB"), output=out)
            harness.remove(out)
            run = harness.measured(step)
            say(f"  {step.name}: {run.rss_bytes / MIB:.0f} MiB, {run.synced:.1f} s")
            runs[step.name] = [run]
            allowed = budget + ALLOWED_ABOVE_BUDGET_MIB
            verdict = f"{allowed}" if run.rss_bytes <= allowed * MIB else f"{allowed}: **exceeded**"
            lines.append(f"| {name} | {budget} | {run.rss_bytes / MIB:.0f} | {verdict} | {run.synced:.1f} | {run.cpu:.1f} |")
    harness.remove(out)
    yield "memory", runs, "\n".join(lines)


def main():
    arguments = parse_arguments()
    harness.needs_root()
    arguments.work.mkdir(parents=True, exist_ok=True)
    arguments.shale = arguments.shale.resolve()
    wanted = [arguments.only] if arguments.only else ["record", "verify", "memory"]
    if arguments.without_shale:
        wanted = ["record"]
    elif not os.access(arguments.shale, os.X_OK):
        raise SystemExit(f"bench: {arguments.shale}: no such program\nhint: build it (tests/run.sh), or name it with --shale")

    photos = made_once(arguments.work / "photos", lambda path: multiply_photos(arguments.photos, path))
    line = harness.machine(arguments.work)
    print(f"{line}; {arguments.rounds} rounds, ABBA\n")
    facts = {"machine": line, "rounds": arguments.rounds}
    for name in wanted:
        bench = {"record": bench_record, "verify": bench_verify, "memory": bench_memory}[name]
        for title, runs, text in bench(arguments, photos):
            print(text, end="\n\n", flush=True)
            facts[title] = harness.as_json(runs)
    if arguments.json:
        arguments.json.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
