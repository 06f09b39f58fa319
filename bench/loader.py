#!/usr/bin/env python3
"""Loading samples at random: shale.Dataset beside py-lmdb, a pread worker, Pillow and whole loaders. One command, Markdown tables.

sudo python3 bench/loader.py [--only cold|warm|workers|decode|crops|memory|table|shuffle|rows] [--rounds 5] [--json FILE] ...
As root (it drops caches and makes a memory cgroup), on a machine that does nothing else. bench/README.md explains the rows.
"""

import argparse
import functools
import os
import pathlib
import re
import statistics
import subprocess

import cold_input
import harness
import inputs
from harness import HERE, MIB, ROOT, Step

COLD_LIMIT, MEMORY_LIMIT = 512 * MIB, 256 * MIB
SECONDS = 4
DECODED = 1000
WARM_UP = 200
PY_LMDB, PREAD = "py-lmdb `get`, readahead=False", "one pread after the other, by the index"
PILLOW = "Pillow, one at a time"
IN_ORDER = [
    (PY_LMDB, "py-lmdb"),
    ("py-lmdb `get`, readahead=False, msgpack", "py-lmdb-msgpack"),
    (PREAD, "pread"),
    ('shale.Dataset, image and label, cache="keep"', "shale-keep"),
    ('shale.Dataset, image and label, cache="drop"', "shale-drop"),
    ('shale.Dataset, image and label, cache="direct"', "shale-direct"),
    ('shale.Dataset, all fields, cache="keep"', "shale-all"),
]
STAY_WARM = [way for _, way in IN_ORDER if way not in ("shale-drop", "shale-direct")]  # those would read the disk
LOADERS = [
    ("torchvision ImageFolder, loose files", "torchvision", "photos"),
    ("shale.torch.ImageFolder", "shale-image-folder", "lmdb"),
    ('shale.Dataset, decode="rgb8"', "shale-rgb8", "lmdb"),
    ('256-pixel shards: shale.Dataset, decode="rgb8"', "shale-rgb8", "256-pixel shards"),
    ("py-lmdb, msgpack, Pillow (folder2lmdb)", "py-lmdb", "lmdb"),
    ("webdataset, buffer of 1000", "webdataset", "webdataset"),
    ("MosaicML Streaming, local", "streaming", "mds"),
    ("FFCV, re-encoded, scaled", "ffcv", "ffcv"),
]


# (name, way of cropped_epochs.py, source): the first of each group is what the others are measured by.
CROPPED = [
    ("full photos: ImageFolder, DataLoader, Pillow, torchvision", "torchvision", "photos"),
    ("full photos: shale.torch.ImageFolder, DataLoader", "image-folder", "lmdb"),
    ("full photos: shale.torch.Loader, scaled_decoding=False", "loader-full", "lmdb"),
    ("full photos: shale.torch.Loader", "loader", "lmdb"),
    ("256-pixel shards: DataLoader, Pillow, torchvision", "pillow", "256-pixel shards"),
    ("256-pixel shards: shale.torch.Loader", "loader", "256-pixel shards"),
]
CROPPED_PEERS = [
    ("webdataset, its own shards", "webdataset", "webdataset"),
    ("MosaicML Streaming, its own shards", "streaming", "mds"),
    ("LitData, its own chunks", "litdata", "litdata"),
    ("FFCV, re-encoded to its own file", "ffcv", "ffcv"),
]


def parse_arguments():
    options = harness.parser(__doc__)
    inputs.add_photos(options)
    options.add_argument("--only", choices=["cold", "warm", "workers", "decode", "crops", "memory", "table", "shuffle", "rows"])
    options.add_argument("--package", type=pathlib.Path, default=ROOT / "build/release/python", help="folder with the package shale")
    options.add_argument("--loaders", type=pathlib.Path, help="environment with bench/loader_peers.txt (default WORK/loading)")
    options.add_argument("--sorted", type=int, default=55_000, help="samples of 110 KB in the sorted dataset of shuffle")
    options.add_argument("--sources", default="", help="only the rows of the table that read these: photos,lmdb,256-pixel shards ...")
    options.add_argument("--images", type=int, default=4000, help="of each epoch of the table, how many are timed")
    return options.parse_args()


# ---- inputs -----------------------------------------------------------------------------------------------------------------


class Inputs:
    """Everything that is read, made once, when it is needed."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.python = inputs.environment(arguments.loaders or arguments.work / "loading", HERE / "loader_peers.txt")
        os.environ["PYTHONPATH"] = os.fspath(arguments.package.resolve())
        found = subprocess.run([self.python, "-c", "import shale; shale.Dataset"], capture_output=True, text=True)
        if found.returncode != 0:
            raise SystemExit(
                f"bench: {self.python} cannot import shale from {arguments.package}: {found.stderr.strip().splitlines()[-1]}\n"
                "hint: cmake --preset release -DSHALE_PYTHON=ON -DPython_EXECUTABLE=(a Python of the same version, with nanobind)"
            )

    @functools.cached_property
    def photos(self):
        return inputs.photos_of(self.arguments)

    @functools.cached_property
    def lmdb(self):
        """One LMDB of shale, in one file, for all rows."""

        def make(path):
            words = inputs.convert(self.arguments, self.photos, path, "lmdb", "--shard-size", "64GiB")
            subprocess.run(words, check=True)

        return inputs.made_once(self.arguments.work / "loading-lmdb", make)

    def packed_by(self, peer):
        """What the peer's own writer makes of the photos."""
        python = self.python if peer in ("ffcv", "litdata") else inputs.peers_of(self.arguments)

        def make(path):
            subprocess.run([python, HERE / "peer_writers.py", peer, self.photos, path], check=True)

        return inputs.made_once(self.arguments.work / f"loading-{peer}", make)

    @functools.cached_property
    def small(self):
        """The photos with a shorter side of 256 pixels."""

        def make(path):
            words = inputs.convert(self.arguments, self.photos, path, "record", "--resize", "shorter=256", "--only-larger")
            subprocess.run(words, check=True)

        return inputs.made_once(self.arguments.work / "loading-256", make)

    def source(self, name):
        if name == "256-pixel shards":
            return self.small
        return self.photos if name == "photos" else self.lmdb if name == "lmdb" else self.packed_by(name)

    def step(self, name, way, *more):
        command = [self.python, HERE / "loading.py", way, self.lmdb, *map(str, more)]
        return Step(name, command, [self.lmdb], syncs=False, reports=True)


def cold(steps, arguments, limit=COLD_LIMIT):
    return cold_input.alternate(steps, arguments.rounds, arguments.work, limit)


# ---- tables -----------------------------------------------------------------------------------------------------------------


def rates(runs, name):
    """Cells: the median of the samples a second, and their spread."""
    found = [run.reported["rate"] for run in runs[name]]
    return [f"{statistics.median(found):.0f}", f"{min(found):.0f}-{max(found):.0f}"]


def faster(runs, name, yardstick):
    return harness.ratio(runs, name, yardstick, "rate")


def bench_reads(made, arguments, caches):
    """Cold and warm beside each other: a loader may not win one by losing the other."""
    steps = [made.step(name, way, "--seconds", SECONDS) for name, way in IN_ORDER]
    warm_steps = [made.step(name, way, "--seconds", SECONDS, "--warm-up", WARM_UP) for name, way in IN_ORDER if way in STAY_WARM]
    for step in steps + warm_steps:
        step.env["MALLOC_TOP_PAD_"] = str(64 * MIB)  # as in random_read.py
    runs = {}
    if "cold" in caches:
        runs["cold"] = cold(steps, arguments)
    if "warm" in caches:
        runs["warm"] = harness.alternate(warm_steps, arguments.rounds, arguments.work, "warm")
    header = ["batches of 64, random order"]
    for cache in runs:
        header += [f"{cache}, samples/s", "spread", "x py-lmdb", "x pread"]
    rows = []
    for name, _ in IN_ORDER:
        rows.append([name])
        for these in runs.values():
            if name in these:
                rows[-1] += [*rates(these, name), faster(these, name, PY_LMDB), faster(these, name, PREAD)]
            else:
                rows[-1] += ["-"] * 4
    for cache, these in runs.items():
        yield f"reads, {cache}", these, ""
    yield "reads", {}, harness.markdown(header, rows)


def bench_workers(made, arguments):
    """One worker with batches of 64, four with batches of 16: as many reads in flight."""
    pairs, steps = [], []
    for way in ("shale-keep", "shale-direct", "py-lmdb"):
        names = [f"{way}, {workers} x {64 // workers}" for workers in (1, 4)]
        pairs += [(name, names[0]) for name in names]
        steps += [
            made.step(name, way, "--seconds", SECONDS, "--workers", workers, "--batch", 64 // workers)
            for name, workers in zip(names, (1, 4))
        ]
    runs = cold(steps, arguments)
    rows = [[name, *rates(runs, name), faster(runs, name, one)] for name, one in pairs]
    yield "workers", runs, harness.markdown(["DataLoader, workers x batch, cold", "samples/s", "spread", "x one worker"], rows)


def bench_decode(made, arguments):
    names = [(PILLOW, "pillow"), ("Pillow, a batch held", "pillow-batch"), ('shale.Dataset, decode="rgb8", reading as well', "shale-rgb8")]
    cpu = max(os.sched_getaffinity(0))
    steps = [made.step(name, way, "--reads", DECODED, "--warm-up", 64, "--cpu", cpu) for name, way in names]
    runs = harness.alternate(steps, arguments.rounds, arguments.work, "warm")
    rows = [[name, *rates(runs, name), faster(runs, name, PILLOW)] for name, _ in names]
    yield "decode", runs, harness.markdown(["decoded to RGB on one CPU, warm", "images/s", "spread", "x Pillow"], rows) + "\n\n" + codecs(made)


def bench_crops(made, arguments):
    """What training takes: RandomResizedCrop(224), flipped, normalized. On one CPU, without workers; then on two, with two workers or threads."""
    for cpus in (1, 2):
        ways = [*CROPPED, *(CROPPED_PEERS if cpus == 2 else [])]
        ways = [row for row in ways if not arguments.sources or row[2] in arguments.sources.split(",")]
        steps = []
        for name, way, source in ways:
            path = made.source(source)
            words = ["--images", str(arguments.images), "--cpus", str(cpus), "--workers", str(0 if cpus == 1 else cpus)]
            steps.append(Step(name, [made.python, HERE / "cropped_epochs.py", way, path, *words], [path], syncs=False, reports=True))
        runs = harness.alternate(steps, arguments.rounds, arguments.work, "warm")
        rows = []
        for name, *_ in ways:
            beside = [faster(runs, name, yardstick) if yardstick in runs else "-" for yardstick in (CROPPED[0][0], CROPPED[4][0])]
            held = [f"{max(run.reported[kind] for run in runs[name]) / MIB:.0f}" for kind in ("rss", "pss")]
            rows.append([name, *rates(runs, name), *beside, f"{harness.median_of(runs[name], 'cores'):.2f}", *held])
        header = [f"RandomResizedCrop(224), flip, normalize, batch 64, {cpus} CPU{'s' if cpus > 1 else ''}, warm", "images/s", "spread"]
        header += ["x full photos, Pillow", "x 256-pixel shards, Pillow", "cores busy", "peak RSS MiB, summed", "peak PSS MiB"]
        yield f"crops, {cpus}", runs, harness.markdown(header, rows)


def codecs(made):
    """Which libjpeg-turbo each of the two decodes with."""
    pillow = "import PIL, PIL.features as f; print('Pillow', PIL.__version__, 'with libjpeg-turbo', f.version('libjpeg_turbo'))"
    theirs = subprocess.run([made.python, "-c", pillow], check=True, capture_output=True, text=True).stdout.strip()
    maps = "import shale._shale as s; print(*{l.split()[-1] for l in open('/proc/self/maps') if 'jpeg' in l} or {s.__file__})"
    library = subprocess.run([made.python, "-c", maps], check=True, capture_output=True, text=True).stdout.strip()
    said = re.search(rb"libjpeg-turbo version ([0-9.]+)", pathlib.Path(library.split()[0]).read_bytes())
    return f"{theirs}; shale with libjpeg-turbo {said[1].decode() if said else 'of unknown version'} ({library})"


def bench_memory(made, arguments):
    """A whole epoch, each sample once: resident memory after a hundredth of it and at its end; what the page cache was charged."""
    ways = ["shale-keep", "shale-drop", "shale-direct", "py-lmdb", "py-lmdb-readahead", "pread"]
    free = harness.alternate([made.step(way, way) for way in ways], 1, arguments.work, "warm")
    once = argparse.Namespace(**{**vars(arguments), "rounds": 1})
    held = cold([made.step(way, way, "--seconds", 3 * SECONDS) for way in ways], once, MEMORY_LIMIT)
    rows = []
    for way in ways:
        (loose,), (tight,) = free[way], held[way]
        at = [loose.reported[f"{kind}_at_{when}"] / MIB for kind in ("rss", "pss") for when in ("1", "100")]
        rows.append([way, *(f"{value:.0f}" for value in at), f"{at[1] - at[0]:+.0f}"])
        rows[-1] += [f"{tight.reported['peak_file_bytes'] / MIB:.1f}", f"{tight.reported['samples']}"]
    header = ["one epoch, one process, MiB", "RSS at 1 %", "RSS at 100 %", "PSS at 1 %", "PSS at 100 %", "growth of RSS"]
    header += [f"peak file charge in {MEMORY_LIMIT // MIB} MiB", "samples read there"]
    yield "memory", free, ""
    yield "memory, limited", held, harness.markdown(header, rows)


def bench_table(made, arguments):
    loaders = [row for row in LOADERS if not arguments.sources or row[2] in arguments.sources.split(",")]
    for cache in ("warm", "cold"):
        steps = []
        for name, way, source in loaders:
            path = made.source(source)
            command = [made.python, HERE / "epochs.py", way, path, "--images", str(arguments.images)]
            steps.append(Step(name, command, [path], syncs=False, reports=True))
        runs = harness.alternate(steps, arguments.rounds, arguments.work, cache)
        rows = [[name, *rates(runs, name), faster(runs, name, loaders[0][0]), *costs(runs[name])] for name, _, _ in loaders]
        header = [f"shuffled epoch, 2 workers, batch 64, {cache}", "images/s", "spread", "x loose files"]
        header += ["peak RSS MiB, summed", "peak PSS MiB", "cores busy", "from disk MB/s", "limit"]
        yield f"table, {cache}", runs, harness.markdown(header, rows)


def bench_shuffle(made, arguments):
    """Sorted data several times larger than the cgroup: the curve of speed against quality, each row from one run with one setting."""
    script = HERE / "shuffled_epochs.py"

    def make(path):
        subprocess.run([made.python, script, "make", path, "--limit", str(arguments.sorted)], check=True)

    path = inputs.made_once(arguments.work / f"sorted-{arguments.sorted}", make)
    raw, pread = "raw sequential reading, 1 MiB pieces, 64 in flight", "one synchronous pread worker, at random"
    ways = [(raw, "raw"), (pread, "pread", "--limit", str(min(arguments.sorted, 6000))), ('"random"', "random")]
    ways += [(f'"block", runs of {block}, buffer {buffer}', "block", "--block", block, "--buffer", buffer)
             for buffer in ("128MiB", "256MiB") for block in ("512KiB", "1MiB", "2MiB")]
    steps = [Step(name, [made.python, script, way, path, *more], [path], syncs=False, reports=True) for name, way, *more in ways]
    runs = cold(steps, arguments)
    rows = []
    for name, *_ in ways:
        of = {key: harness.median_of(runs[name], key) for key in ("rate_first", "rate_last", "rate", "growth")}
        mixed = [f"{harness.median_of(runs[name], key):.0f}" if key in runs[name][0].reported else "-" for key in ("first", "middle", "last")]
        rows.append([name, *rates(runs, name), faster(runs, name, raw), faster(runs, name, pread), *mixed])
        rows[-1] += [f"{of['rate_first'] / of['rate']:.2f}", f"{of['rate_last'] / of['rate']:.2f}", f"{of['growth'] / MIB:+.0f}"]
    header = ["one epoch, batches of 256, cold", "samples/s", "spread", "x raw", "x pread", "classes, first 1 %", "middle", "last"]
    header += ["rate, first 1 %", "last 1 %", "growth of RSS, MiB"]
    yield "shuffle", runs, harness.markdown(header, rows)


def bench_rows(made, arguments):
    """Rows of 400 KB, 2 GB of them, warm: beside the copy of as many bytes by one thread."""
    script = HERE / "row_batches.py"
    path = inputs.made_once(arguments.work / "rows-5000", lambda out: subprocess.run([made.python, script, "make", out], check=True))
    copy = "memcpy: torch.stack of rows in memory"
    ways = [(copy, "memcpy"), ("in order", "order"), ("shuffle=True", "random"), ("np.load(mmap_mode), DataLoader, shuffled", "torch")]
    ways += [(f"shuffle=True, batches of {batch}", "random", "--batch", batch) for batch in ("16", "1024")]
    steps = [Step(name, [made.python, script, way, path, *more], [path], syncs=False, reports=True) for name, way, *more in ways]
    runs = harness.alternate(steps, arguments.rounds, arguments.work, "warm")
    rows = []
    for name, *_ in ways:
        gigabytes = harness.median_of(runs[name], "megabytes_per_s") / 1000
        growth = harness.median_of(runs[name], "growth") / MIB
        rows.append([name, *rates(runs, name), f"{gigabytes:.2f}", faster(runs, name, copy), f"{growth:+.0f}"])
    header = ["rows of 400 KB, batches of 256, warm", "rows/s", "spread", "GB/s", "x memcpy", "growth of RSS over 4 epochs, MiB"]
    yield "rows", runs, harness.markdown(header, rows)


def costs(list_of_runs):
    idle = harness.median_of(list_of_runs, "idle_cores")
    return [
        f"{max(run.reported['rss'] for run in list_of_runs) / MIB:.0f}",
        f"{max(run.reported['pss'] for run in list_of_runs) / MIB:.0f}",
        f"{harness.median_of(list_of_runs, 'cores'):.2f}",
        f"{harness.median_of(list_of_runs, 'fetched_megabytes_per_s'):.0f}",
        "the CPU" if idle < 0.1 * os.cpu_count() else f"waiting ({idle:.2f} cores idle)",
    ]


def main():
    arguments = parse_arguments()
    harness.needs_root()
    harness.needs_shale(arguments)
    arguments.work.mkdir(parents=True, exist_ok=True)
    os.environ["PYTHONWARNINGS"] = "ignore"
    made = Inputs(arguments)
    caches = [arguments.only] if arguments.only in ("cold", "warm") else ["cold", "warm"]
    benches = {
        "reads": lambda: bench_reads(made, arguments, caches),
        "workers": lambda: bench_workers(made, arguments),
        "decode": lambda: bench_decode(made, arguments),
        "crops": lambda: bench_crops(made, arguments),
        "memory": lambda: bench_memory(made, arguments),
        "table": lambda: bench_table(made, arguments),
        "shuffle": lambda: bench_shuffle(made, arguments),
        "rows": lambda: bench_rows(made, arguments),
    }
    wanted = list(benches) if arguments.only is None else ["reads" if arguments.only in ("cold", "warm") else arguments.only]
    harness.report(arguments, (result for name in wanted for result in benches[name]()))


if __name__ == "__main__":
    main()
