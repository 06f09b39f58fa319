#!/usr/bin/env python3
"""WebDataset tars: written, indexed, read at random and in a shuffled stream, converted; beside the programs of others.

sudo python3 bench/tars.py [--only write,index,random,block,convert,info] [--gigabytes 20] [--rounds 3] [--peers PYTHON-ENVIRONMENT] ...
As root (it drops caches and makes a memory cgroup), on a machine that does nothing else. bench/README.md explains the protocol.
The peers are those of the tests: tests/install-deps.sh --peers DIR, then --peers DIR (default build/peers).

write: photos to tars beside ShardWriter, and beside tar. index: cold, beside Energon's prepare, and beside the two runs of GNU tar that
DALI's wds2idx waits for, one tar after the other. random: batches of 64, cold, in 512 MiB of memory, beside wids. block: a shuffled epoch
beside webdataset's stream. convert: to record, warm, beside dd of the same bytes. info: of --tars tiny tars with an index, beside find,
which reads their names and sizes. The column of RSS is that of the process.
"""

import dataclasses
import functools
import io
import tarfile

import harness
import inputs
from harness import HERE, MIB, ROOT, Step
from inputs import convert, shell
from memory_group import MemoryGroup

PARTS = ("write", "index", "random", "block", "convert", "info")
LIMIT = 512 * MIB
TWICE = 'for tar in "$1"/*.tar; do tar --list --block-number --file "$tar" > /dev/null; tar --verbose --list --file "$tar" > /dev/null; done'
COPY = 'cat "$1"/*.tar | dd of="$2" bs=4M iflag=fullblock oflag=direct conv=notrunc'


def write_tars(photos, tar_bytes, total_bytes, out):
    """Tars of so many bytes, as others write them: the photos again and again, a class number beside each."""
    out.mkdir()
    paths, number, shard = sorted(photos.rglob("*.JPEG")), 0, 0
    while shard * tar_bytes < total_bytes:
        with tarfile.open(out / f"{shard:06}.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
            while tar.offset < tar_bytes:
                photo = paths[number % len(paths)]
                for suffix, content in (("cls", b"%d" % (number % 1000)), ("jpg", photo.read_bytes())):
                    add(tar, f"{number:09}.{suffix}", content)
                number += 1
        shard += 1


def add(tar, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def python_of(arguments):
    return (arguments.peers or ROOT / "build/peers") / "bin/python"


def reading(arguments, name, way, folder, *more):
    """A step of tar_readers.py, with the package that was built beside the program."""
    command = [python_of(arguments), HERE / "tar_readers.py", way, folder, *more]
    return Step(name, command, syncs=False, reports=True, env={"PYTHONPATH": str(arguments.shale.parent / "python")})


def bench_write(arguments, photos, _):
    out = arguments.work / "out"
    return "photos to tars", harness.size_of([photos]), ["warm", "cold"], "tar", harness.measured, [
        Step("shale, webdataset", convert(arguments, photos, out, "webdataset", "--shard-size", "256MiB"), [photos], output=out),
        Step("ShardWriter", [python_of(arguments), HERE / "peer_writers.py", "webdataset", photos, out], [photos], output=out),
        Step("tar", ["tar", "--create", "--file", out, "--directory", photos, "."], [photos], output=out),
    ]  # fmt: skip


def fresh(step, tars):
    """Without what an earlier run has left beside the tars."""
    for path in tars.iterdir():
        if path.suffix != ".tar":
            harness.remove(path)
    return harness.measured(step)


def bench_index(arguments, _, tars):
    return "index", harness.size_of([tars]), ["cold"], "shale index", functools.partial(fresh, tars=tars), [
        Step("shale index", [arguments.shale, "index", tars, "--quiet"], [tars]),
        Step("shale index --native dali,energon", [arguments.shale, "index", tars, "--native", "dali,energon", "--quiet"], [tars]),
        Step("tar --list, twice per tar", shell(TWICE, tars), [tars]),
        Step("Energon's prepare", [python_of(arguments), HERE / "tar_readers.py", "energon-prepare", tars], [tars]),
    ]  # fmt: skip


def limited(step):
    with MemoryGroup("shale-bench", LIMIT) as group:
        return harness.measured(dataclasses.replace(step, command=group.around([str(word) for word in step.command])))


def indexed(arguments, tars):
    """Tars with the indexes of all readers, as a step finds them."""
    fresh(Step("shale", [arguments.shale, "index", tars, "--quiet"]), tars)
    harness.measured(Step("native", [arguments.shale, "index", tars, "--native", "wids", "--quiet"]))


def bench_random(arguments, _, tars):
    indexed(arguments, tars)
    return "random batches", 0, ["cold"], "shale.Dataset", limited, [
        reading(arguments, "shale.Dataset", "shale", tars, "10"),
        reading(arguments, "wids", "wids", tars, "10"),
    ]  # fmt: skip


def bench_block(arguments, _, tars):
    indexed(arguments, tars)
    return "a shuffled epoch", 0, ["warm", "cold"], 'Loader, "block"', harness.measured, [
        reading(arguments, 'Loader, "block"', "shale-block", tars),
        reading(arguments, "webdataset, shuffled", "webdataset", tars),
    ]  # fmt: skip


def bench_convert(arguments, _, tars):
    out, copy = arguments.work / "out", arguments.work / "copy"
    return "tars to record", harness.size_of([tars]), ["warm"], "dd", harness.measured, [
        Step("shale, record", convert(arguments, tars, out, "record"), [tars], output=out),
        Step("dd", shell(COPY, tars, copy), [tars], output=copy),
    ]  # fmt: skip


def write_many(count, out):
    """Links to one tar of four samples: only their number matters."""
    out.mkdir()
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for number in range(4):
            add(tar, f"{number}.cls", b"%d" % number)
            add(tar, f"{number}.jpg", b"\xff\xd8\xff" + bytes(64))
    links = 10_000  # a file system allows some ten thousand of one file
    for number in range(count):
        path = out / f"{number:06}.tar"
        if number % links == 0:
            path.write_bytes(content.getvalue())
            first = path
        else:
            path.hardlink_to(first)


def bench_info(arguments, *_):
    many = inputs.made_once(arguments.work / f"many-{arguments.tars}", functools.partial(write_many, arguments.tars))
    fresh(Step("shale", [arguments.shale, "index", many, "--quiet"]), many)
    manifest = many / ".shale-index/dataset.json"
    return f"info of {arguments.tars} tars", harness.size_of([manifest]), ["warm"], "find", harness.measured, [
        Step("shale info", [arguments.shale, "info", many]),
        Step("find", ["find", many, "-name", "*.tar", "-size", "+0"]),
    ]  # fmt: skip


def bench(arguments, name, photos, tars):
    title, payload, caches, yardstick, measure, steps = globals()[f"bench_{name}"](arguments, photos, tars)
    for cache in caches:
        runs = harness.alternate(steps, arguments.rounds, arguments.work, cache, measure)
        if not steps[0].reports:
            yield f"{title}, {cache}", runs, harness.table(runs, yardstick, payload, f"{title}, {cache}")
            continue
        rows = [
            [
                way,
                f"{harness.median_of(runs[way], 'us'):.1f}",
                f"{max(run.rss_bytes for run in runs[way]) / MIB:.0f}",
                harness.ratio(runs, way, yardstick, "us"),
            ]
            for way in runs
        ]
        yield f"{title}, {cache}", runs, harness.markdown([f"{title}, {cache}", "us a sample", "peak RSS MiB", f"x {yardstick}"], rows)


def main():
    options = harness.parser_of_parts(__doc__, PARTS)
    inputs.add_photos(options)
    options.add_argument("--gigabytes", type=float, default=20, help="of tars to be read")
    options.add_argument("--tars", type=int, default=100_000, help="of the part info")
    options.add_argument("--tar-megabytes", type=float, default=1000, help="of each")
    arguments = harness.arguments_of_parts(options, PARTS)
    harness.needs_root()
    arguments.work.mkdir(parents=True, exist_ok=True)
    harness.needs_shale(arguments)
    photos = tars = None
    if set(arguments.only) - {"info"}:
        photos = inputs.photos_of(arguments)
        make = functools.partial(write_tars, photos, arguments.tar_megabytes * 1e6, arguments.gigabytes * 1e9)
        tars = inputs.made_once(arguments.work / f"tars-{arguments.gigabytes:g}", make)
    harness.report(arguments, (result for name in arguments.only for result in bench(arguments, name, photos, tars)))


if __name__ == "__main__":
    main()
