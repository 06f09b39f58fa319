#!/usr/bin/env python3
"""How shale grows: with the number of samples, shards and columns, with the size of samples, and with jobs.

python3 bench/growth.py [--only samples|shards|columns|sizes|jobs] [--quick] [--before PROGRAM] [--json FILE] ...
python3 bench/growth.py --show FILE...    the tables of what earlier runs wrote with --json
CPU, memory and bytes bear other work on the machine; the seconds do not. bench/README.md explains the columns.
"""

import json
import multiprocessing
import os
import pathlib
import statistics

import harness
import inputs
from harness import HERE, MIB
from inputs import convert

MEMORY_MIB = 64
ALLOWED_RSS_MIB = MEMORY_MIB + 64
ALLOWED_READS, ALLOWED_READS_BYTES = 1.2, 8 << 20  # more of the input, and more bytes than read-ahead and samples of files cost
FILES_PER_FOLDER = 1000
LINKS_PER_FILE = 1000  # below what file systems allow
TINY_BYTES = 1000
SHORT_SECONDS, SHORT_ROUNDS = 1.0, 3  # what takes less CPU is measured three times
ROW_FLOATS = 16  # of the arrays that are resampled
LEAST_SPARSE, PROTOBUF_LIMIT = 1_000_000_000, 1 << 31
# Peers take minutes per 10^6 samples, and hold a value in memory as often as three times.
MOST_SAMPLES_OF_PEERS, MOST_BYTES_OF_PEERS = 1_000_000, 100_000_000
FORMATS = ("record", "lmdb", "hdf5")


class Scale:
    """How much of everything there is."""

    sample_powers = (4, 5, 6, 7)
    shard_samples, shard_powers = 100_000, (0, 3, 4, 5)
    columns, column_rows = (1, 100, 1000, 2000), 10_000
    sizes = ((1000, 100_000), (100_000, 5000), (10_000_000, 50), (100_000_000, 5), (1_000_000_000, 1), (4_000_000_000, 1))
    job_samples, jobs = 100_000, (1, 2, 4)


class QuickScale:
    """A minute, for trying the benchmark."""

    sample_powers = (3, 4)
    shard_samples, shard_powers = 1000, (0, 2)
    columns, column_rows = (1, 20), 1000
    sizes = ((1000, 1000), (1_000_000, 5), (LEAST_SPARSE, 1))
    job_samples, jobs = 10_000, (1, 2)


def parse_arguments():
    options = harness.parser(__doc__)
    options.set_defaults(rounds=1, work=pathlib.Path("/var/tmp/shale-growth"))
    options.add_argument("--only", choices=list(PARTS), action="append", help="this part; may be given several times")
    options.add_argument("--quick", action="store_true", help="small sizes, to try the benchmark")
    options.add_argument("--most-samples", type=int, default=10**7, help="leave out what has more (default: 10^7)")
    options.add_argument("--before", type=pathlib.Path, help="an older build of shale, measured in turn")
    options.add_argument("--without-peers", action="store_true", help="measure shale alone")
    options.add_argument(
        "--show", type=pathlib.Path, metavar="FILE", nargs="+", help="print the tables of these --json files; measure nothing"
    )
    return options.parse_args()


# ---- inputs -------------------------------------------------------------------------------------------------------------


def tiny_samples(arguments, count):
    """Files of 1 KB in folders of 1000. Each is there under 1000 names: so 10^7 of them take 10^4 inodes."""

    def make(out):
        originals = out / "originals"
        originals.mkdir(parents=True)
        for number in range(-(-count // LINKS_PER_FILE)):
            (originals / f"{number:06}").write_bytes(f"{number:010}".encode() * (TINY_BYTES // 10))
        for begin in range(0, count, FILES_PER_FOLDER):
            folder = out / f"folders/c{begin // FILES_PER_FOLDER:06}"
            folder.mkdir(parents=True)
            for number in range(begin, min(count, begin + FILES_PER_FOLDER)):
                os.link(originals / f"{number // LINKS_PER_FILE:06}", folder / f"{number:08}.bin")

    root = inputs.made_once(arguments.work / f"tiny-{count}", make)
    return root / "folders", [root / "originals"]


def samples_of(arguments, size, count):
    """Files of one size in one folder; from 1 GB on they are sparse: they are read and hashed, but take no room."""

    def make(out):
        (out / "c").mkdir(parents=True)
        for number in range(count):
            with open(out / f"c/{number:08}.bin", "wb") as file:
                for _ in range(size // TINY_BYTES if size < LEAST_SPARSE else 0):
                    file.write(f"{number:010}".encode() * (TINY_BYTES // 10))
                file.truncate(size)

    return inputs.made_once(arguments.work / f"size-{size}-{count}", make)


def write_npy(path, rows, width):
    shape = f"({rows}, {width})" if width > 1 else f"({rows},)"
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        for begin in range(0, rows, 100_000):
            file.write(os.urandom(4 * width * min(100_000, rows - begin)))


def rows_of(arguments, count):
    return inputs.made_once(arguments.work / f"rows-{count}.npy", lambda path: write_npy(path, count, ROW_FLOATS))


def columns_of(arguments, scale, count):
    """The folder, and the words that name its columns."""

    def make(out):
        out.mkdir(parents=True)
        for number in range(count):
            write_npy(out / f"c{number:04}.npy", scale.column_rows, 1)

    folder = inputs.made_once(arguments.work / f"columns-{count}-{scale.column_rows}", make)
    return folder, [f"{path.stem}={path}" for path in sorted(folder.iterdir())]


# ---- what is measured ---------------------------------------------------------------------------------------------------


class Table:
    """The rows of one part, saved as they come: another run may add to them, or measure them again."""

    def __init__(self, arguments, part):
        self.arguments, self.part = arguments, part
        self.builds = {**({"before": arguments.before} if arguments.before else {}), "now": arguments.shale}
        self.build = "now"

    def each(self, values):
        """The values, each for all builds in turn: every build reads what it wrote itself."""
        for value in values:
            for build in self.builds:
                self.build = build
                yield value

    def shale(self, label, samples, command, out="", **also):
        """What `command` of shale does, in the build whose turn it is."""
        self.measure(f"shale {label}", samples, [self.builds[self.build], *command[1:]], out, build=self.build, **also)

    def measure(self, name, samples, command, out="", reads=(), payload=0, build="now"):
        """One row. reads: files and folders that leave the page cache before; out: is removed before."""
        there, runs = max(apart(allocated, reads), payload if reads else 0), []  # of a file with 1000 names each is read
        while len(runs) < self.arguments.rounds or (len(runs) < SHORT_ROUNDS and runs[-1].cpu < SHORT_SECONDS):
            if out:
                harness.remove(out)
            if payload >= LEAST_SPARSE:
                harness.back_memory(self.arguments.work)
            apart(drop, reads)
            runs.append(harness.measured(harness.Step(name, command, syncs=False, may_end_with=range(-64, 256))))
            if runs[-1].exit_code:
                harness.say(f"  {name}, {build}: exit {runs[-1].exit_code}: {' '.join(map(str, command))[:300]}")
                break
        row = {
            "name": name,
            "samples": samples,
            "payload": payload,
            "input": there,
            "exit": runs[-1].exit_code,
            "cpu": min(run.cpu for run in runs),  # other work on the machine only adds to it
            **{figure: statistics.median(getattr(run, figure) for run in runs) for figure in ("returned", "read_bytes", "written_bytes")},
            "rss_bytes": max(run.rss_bytes for run in runs),
        }
        harness.say(f"  {name}, {build}: CPU {row['cpu']:.2f} s, {row['rss_bytes'] / MIB:.0f} MiB, {row['returned']:.2f} s")
        self.save(row, build)

    def save(self, row, build):
        path = self.arguments.json
        facts = json.loads(path.read_text()) if path.exists() else {}
        rows = facts.setdefault("parts", {}).setdefault(self.part, {})
        rows.setdefault(row["name"], {})[build] = row
        facts["machine"] = harness.machine(self.arguments.work)
        facts.setdefault("builds", {})[build] = str(self.builds[build])
        path.write_text(json.dumps(facts, indent=1) + "\n")

    def has_peers(self, samples, size=TINY_BYTES):
        return not self.arguments.without_peers and samples <= MOST_SAMPLES_OF_PEERS and size <= MOST_BYTES_OF_PEERS


def apart(function, *arguments):
    """In a process of its own: the peak RSS of this one is the least that any command shows."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(function, arguments)


def files_below(roots):
    for root in map(pathlib.Path, roots):
        if not root.is_dir():
            yield root
        for folder, _, names in os.walk(root):
            yield from (os.path.join(folder, name) for name in names)


def allocated(roots):
    """Bytes on the disk of the files below the roots, each once."""
    return sum({(s.st_dev, s.st_ino): s.st_blocks * 512 for s in map(os.stat, files_below(roots))}.values())


def drop(roots):
    """The files leave the page cache; folders and inodes may stay in memory."""
    for path in files_below(roots):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fdatasync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def budget(*more):
    return ["--memory", f"{MEMORY_MIB}MiB", *map(str, more)]


def read_commands(table, to, label, samples, out, payload, depths=("",)):
    """verify, info and cat of the dataset at `out`."""
    shale = table.arguments.shale
    if not out.exists():
        return  # this build could not write it
    for depth in depths:
        name = f"verify {depth} {to}".replace("  ", " ")
        command = [shale, "verify", out, "--quiet", *budget(), *([depth] if depth else [])]
        table.shale(f"{name}, {label}", samples, command, reads=[] if depth == "--quick" else [out], payload=payload)
    table.shale(f"info {to}, {label}", samples, [shale, "info", out])
    table.shale(f"cat a row {to}, {label}", samples, [shale, "cat", out, str(samples - 1), *budget()])


def beside(table, label, source, reads, samples, size):
    """The same by those that a user would otherwise take: written, all of it read, and one sample read."""
    arguments, payload = table.arguments, samples * size
    if size > MOST_BYTES_OF_PEERS and not arguments.without_peers:
        tar_rows(table, label, source, reads, samples, payload)
    if not table.has_peers(samples, size):
        return
    tar_rows(table, label, source, reads, samples, payload)
    python = inputs.peers_of(arguments)
    for name, peer in (("py-lmdb", "lmdb"), ("webdataset", "webdataset")):
        out = arguments.work / f"{peer}-out"
        table.measure(f"{name} writes, {label}", samples, [python, HERE / "peer_writers.py", peer, source, out], out, reads, payload)
        read = [python, HERE / "peer_reads.py", peer, out]
        table.measure(f"{name} reads all, {label}", samples, read, "", [out], payload)
        if peer == "lmdb":  # webdataset must read all that comes before
            table.measure(f"{name} reads the last, {label}", samples, [*read, str(samples - 1)])
        harness.remove(out)


def tar_rows(table, label, source, reads, samples, payload):
    out = table.arguments.work / "out.tar"
    last = sorted(path for path in sorted(source.iterdir())[-1].iterdir())[-1].relative_to(source)
    create = ["tar", "--hard-dereference", "--sort=name", "-cf", out, "-C", source, "."]
    table.measure(f"tar writes, {label}", samples, create, out, reads, payload)
    table.measure(f"tar reads all, {label}", samples, inputs.shell('tar -xOf "$1" > /dev/null', out), "", [out], payload)
    table.measure(f"tar reads the last, {label}", samples, inputs.shell('tar -xOf "$1" "./$2" > /dev/null', out, last), "", [out], payload)
    harness.remove(out)


def part_samples(table, scale):
    arguments, out = table.arguments, table.arguments.work / "out"
    for power in scale.sample_powers:
        count, label = 10**power, f"10^{power}"
        if count > arguments.most_samples:
            continue
        source, originals = tiny_samples(arguments, count)
        payload = count * TINY_BYTES
        for to in table.each(FORMATS):
            command = convert(arguments, source, out, to, *budget("--ext", "bin"))
            table.shale(f"convert to {to}, {label}", count, command, out, reads=originals, payload=payload)
            read_commands(table, to, label, count, out, payload)
            harness.remove(out)
        beside(table, label, source, originals, count, TINY_BYTES)
        inputs.forget(arguments.work / f"tiny-{count}")
        shuffled_rows(table, label, count)


def shuffled_rows(table, label, count):
    arguments, out = table.arguments, table.arguments.work / "shuffled.npy"
    source, payload = rows_of(arguments, count), count * ROW_FLOATS * 4
    for rows in table.each([ROW_FLOATS * 4]):
        resample = [arguments.shale, "resample", source, out, "--quiet", *budget()]
        table.shale(f"resample npy of {rows} B, {label}", count, resample, out, reads=[source], payload=payload)
        harness.remove(out)
    inputs.forget(source)


def part_shards(table, scale):
    arguments, count = table.arguments, scale.shard_samples
    source, originals = tiny_samples(arguments, count)
    payload = count * TINY_BYTES
    outputs = arguments.work / "shards"  # removed at the end: ext4 takes 1 ms of CPU to make a file where many were just removed
    for power in table.each(scale.shard_powers):
        label, each, out = f"10^{power} shards", count // 10**power, outputs / f"{power}-{table.build}"
        command = convert(arguments, source, out, "record", *budget("--ext", "bin", "--shard-samples", each))
        outputs.mkdir(exist_ok=True)
        table.shale(f"convert, {label}", count, command, out, reads=originals, payload=payload)
        read_commands(table, "record", label, count, out, payload, ("--quick", ""))
        if table.has_peers(count) and table.build == "now":
            peer_out = outputs / f"{power}-webdataset"
            command = [inputs.peers_of(arguments), HERE / "peer_writers.py", "webdataset", source, peer_out, str(each)]
            table.measure(f"webdataset writes, {label}", count, command, peer_out, originals, payload)
    harness.remove(outputs)
    inputs.forget(arguments.work / f"tiny-{count}")


def part_columns(table, scale):
    arguments, out = table.arguments, table.arguments.work / "out"
    for columns in scale.columns:
        folder, words = columns_of(arguments, scale, columns)
        label, payload, rows = f"{columns} columns", columns * scale.column_rows * 4, scale.column_rows
        for to in table.each((*FORMATS, "npy")):
            command = [arguments.shale, "convert", *words, out, "--to", to, "--quiet", *budget()]
            table.shale(f"convert to {to}, {label}", rows, command, out, reads=[folder], payload=payload)
            read_commands(table, to, label, rows, out, payload)
            harness.remove(out)
        for verb, more in table.each((("convert", ["--shuffle"]), ("resample", []))):
            command = [arguments.shale, verb, *words, out, "--to", "npy", "--quiet", *budget(*more)]
            table.shale(" ".join([verb, *more, f"to npy, {label}"]), rows, command, out, reads=[folder], payload=payload)
            harness.remove(out)
        inputs.forget(folder)


def part_sizes(table, scale):
    arguments, out = table.arguments, table.arguments.work / "out"
    for size, count in scale.sizes:
        source, label = samples_of(arguments, size, count), f"{count:,} x {size_text(size)}"
        payload, reads = size * count, [source]
        for to in table.each([to for to in FORMATS if to != "record" or size < PROTOBUF_LIMIT]):
            command = convert(arguments, source, out, to, *budget("--ext", "bin", "--shard-size", "8GiB"))
            table.shale(f"convert to {to}, {label}", count, command, out, reads=reads, payload=payload)
            read_commands(table, to, label, count, out, payload, ("", "--deep"))
            harness.remove(out)
        beside(table, label, source, reads, count, size)
        inputs.forget(source)


def size_text(size):
    return f"{size // 10**9} GB" if size >= 10**9 else f"{size // 10**6} MB" if size >= 10**6 else f"{size // 1000} KB"


def part_jobs(table, scale):
    arguments, out, count = table.arguments, table.arguments.work / "out", scale.job_samples
    source, originals = tiny_samples(arguments, count)
    payload, array = count * TINY_BYTES, rows_of(arguments, count)
    for jobs in table.each(scale.jobs):
        label, words = f"--jobs {jobs}", budget("--jobs", jobs)
        command = convert(arguments, source, out, "record", *words, "--ext", "bin")
        table.shale(f"convert, {label}", count, command, out, reads=originals, payload=payload)
        for depth in ("--full", "--deep"):
            table.shale(f"verify {depth}, {label}", count, [arguments.shale, "verify", out, depth, "--quiet", *words],
                        reads=[out], payload=payload)  # fmt: skip
        against = [arguments.shale, "verify", out, "--against", source, "--quiet", *words]
        table.shale(f"verify --against, {label}", count, against, reads=[out, *originals], payload=payload)
        harness.remove(out)
        shuffled = arguments.work / "shuffled.npy"
        resample = [arguments.shale, "resample", array, shuffled, "--quiet", *words]
        table.shale(f"resample npy of 64 B, {label}", count, resample, shuffled, reads=[array], payload=count * ROW_FLOATS * 4)
        harness.remove(shuffled)
    inputs.forget(array)
    inputs.forget(arguments.work / f"tiny-{count}")


PARTS = {"samples": part_samples, "shards": part_shards, "columns": part_columns, "sizes": part_sizes, "jobs": part_jobs}


# ---- the table ----------------------------------------------------------------------------------------------------------


def tables(facts):
    """A Markdown table per part: a row per command, a column per size."""
    yield f"{facts['machine']}; --memory {MEMORY_MIB}MiB"
    for part, rows in facts["parts"].items():
        lines = {}  # of each command, what was measured of each size
        for name, builds in rows.items():
            command, _, label = name.rpartition(", ")
            lines.setdefault(command, {})[label] = builds
        labels = list(dict.fromkeys(label for line in lines.values() for label in line))
        header = [f"{part}: CPU {UNITS[part][0]}, peak RSS MiB", *labels, "read, x its files", "written, x payload"]
        yield harness.markdown(header, [cells(part, command, line, labels) for command, line in lines.items()])


# What CPU is divided by: the samples, or the gigabytes.
UNITS = {part: ("us/sample", lambda row: row["samples"] / 1e6) for part in PARTS}
UNITS["sizes"] = ("s/GB", lambda row: row["payload"] / 1e9)


def cells(part, command, line, labels):
    unit, is_shale = UNITS[part][1], command.startswith("shale ")
    writes = any(word in command for word in ("convert", "resample", "writes"))

    def cost(row):
        if row["exit"]:
            return f"exit {row['exit']}"
        cpu = f"{row['cpu'] / unit(row):.2f}" if row["payload"] else f"{row['cpu'] * 1e3:.0f} ms"
        return f"{cpu}, {row['rss_bytes'] / MIB:.0f}"

    def cell(builds):
        now = builds.get("now")
        bends = now and is_shale and (now["exit"] or now["rss_bytes"] > ALLOWED_RSS_MIB * MIB)
        words = [f"**{cost(now)}**" if bends else cost(now)] if now else []
        return " ".join([*words, *(f"({cost(row)})" for build, row in builds.items() if build == "before")])

    def worst(figure, of):
        shares = [builds["now"][figure] / builds["now"][of] for builds in line.values() if "now" in builds and builds["now"][of]]
        return max(shares, default=None)

    read, written = worst("read_bytes", "input"), worst("written_bytes", "payload") if writes else None
    rereads = any(
        row["read_bytes"] > max(ALLOWED_READS * row["input"], row["input"] + ALLOWED_READS_BYTES)
        for row in (builds["now"] for builds in line.values() if "now" in builds and builds["now"]["input"])
    )
    read_text = "-" if read is None else f"**{read:.2f}**" if is_shale and rereads else f"{read:.2f}"
    return [
        command,
        *(cell(line[label]) if label in line else "-" for label in labels),
        read_text,
        "-" if written is None else f"{written:.2f}",
    ]


def merged(paths):
    """What the files say together; of a row that is in several, the last."""
    whole = {"parts": {}}
    for path in paths:
        facts = json.loads(path.read_text())
        for part, rows in facts.pop("parts").items():
            for name, builds in rows.items():
                whole["parts"].setdefault(part, {}).setdefault(name, {}).update(builds)
        whole |= facts
    return whole


def main():
    arguments = parse_arguments()
    if not arguments.show:
        harness.needs_shale(arguments)
        arguments.work.mkdir(parents=True, exist_ok=True)
        arguments.json = arguments.json or arguments.work / "growth.json"
        scale = QuickScale if arguments.quick else Scale
        for part in arguments.only or list(PARTS):
            PARTS[part](Table(arguments, part), scale)
    print("\n\n".join(tables(merged(arguments.show or [arguments.json]))))


if __name__ == "__main__":
    main()
