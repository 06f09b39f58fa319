#!/usr/bin/env python3
"""`shale convert` of .npy arrays beside dd and the script that one would write instead: one command, Markdown tables.

sudo python3 bench/arrays.py [--only npy,hdf5,record,lmdb,rows8,fortran,raw] [--rounds 3] [--bytes 6GB] [--json FILE] ...
As root (it makes a memory cgroup), on a machine that does nothing else. bench/README.md explains the rows.
"""

import argparse
import dataclasses
import re
import statistics
import subprocess

import cold_input
import harness
import inputs
from harness import HERE, MIB, Step

GROUP_LIMIT = 512 * MIB
FULL_BYTES = 6_000_000_000
COLUMNS = {"3 KB": 768, "400 KB": 100_000}  # of float32
FORTRAN_SHAPES = [(1_000_000, 768), (7_500, 100_000)]
ROWS8 = 100_000_000
SHALE, DD, RAW = "shale convert", "dd, read and write, direct", "shale convert --raw"
NPY_HEADER_BYTES = 128  # of NumPy's, for a shape this short
SCRIPTS = {
    "npy": "numpy: np.save, 1 GiB a file",
    "hdf5": "h5py: one dataset, 128 MiB a piece",
    "record": "tfrecord: TFRecordWriter, row by row",
    "lmdb": "py-lmdb: put, row by row, commit every 1000",
    "c-order": "numpy: open_memmap, 128 MiB a piece",
}
ASKED_OF_DD = {
    "npy": {"3 KB": 0.8, "400 KB": 0.8},
    "hdf5": {"3 KB": 0.8, "400 KB": 0.8},
    "record": {"3 KB": 0.5, "400 KB": 0.7},
    "lmdb": {"3 KB": 0.5, "400 KB": 0.7},
}
ASKED_RSS_MIB = 192
ASKED_OF_SCRIPT = 2
# A script that takes longer is stopped; one that takes so many times as long as shale, or fails, runs in one round only.
LIMIT_SECONDS = 300
HOPELESS = 5
STOPPED, KILLED = (124,), (137, -9)  # how timeout(1) ends when it stopped the command, and when somebody else killed it


def parse_arguments():
    options = harness.parser(__doc__)
    options.set_defaults(rounds=3)
    options.add_argument("--only", type=names, default=list(BENCHES), help=f"comma-separated: {', '.join(BENCHES)}")
    options.add_argument("--bytes", type=byte_count, default=FULL_BYTES,
                         help="of each array; rows8 and fortran shrink alike (default 6GB)")  # fmt: skip
    return options.parse_args()


def names(text):
    found = text.split(",")
    if unknown := set(found) - set(BENCHES):
        raise argparse.ArgumentTypeError(f"no such benchmark: {', '.join(sorted(unknown))}")
    return found


def byte_count(text):
    """ "6GB", "200MB": powers of ten."""
    match = re.fullmatch(r"(\d+) *(MB|GB)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text} is not a size such as 6GB or 200MB")
    return int(match[1]) * {"MB": 10**6, "GB": 10**9}[match[2]]


# ---- inputs -----------------------------------------------------------------------------------------------------------------


def scaled(arguments, count):
    return max(1, count * arguments.bytes // FULL_BYTES)


def array(arguments, dtype, order, rows, columns):
    """An .npy file of random values, made once."""

    def make(path):
        python = inputs.peers_of(arguments)
        subprocess.run([python, HERE / "array_scripts.py", "make", path, dtype, order, str(rows), str(columns)], check=True)

    return inputs.made_once(arguments.work / f"array-{dtype}-{order}-{rows}x{columns}.npy", make)


def needs_room(arguments):
    """Two inputs and rows8; LMDB, which needs a page of 4 KiB for each row of 3 KB; the file that backs memory."""
    needed = int(3.6 * arguments.bytes) + harness.BACKED_MIB * MIB
    found = harness.free_bytes(arguments.work) + harness.size_of(list(arguments.work.glob("array-*.npy")))
    if found < needed:
        raise SystemExit(f"bench: {arguments.work} has {found / 1e9:.1f} GB for {needed / 1e9:.1f} GB\nhint: choose another --work, or --bytes")


# ---- steps ------------------------------------------------------------------------------------------------------------------


def shale_step(arguments, source, out, *more):
    command = [arguments.shale, "convert", source, out, "--memory", "128MiB", "--quiet", *more]
    return Step(SHALE, command, [source], out)


def dd_step(arguments, source):
    """The machine's limit: the same bytes read and written past the page cache, and synced, as shale syncs its files."""
    copy = arguments.work / "copy"
    return Step(DD, ["dd", f"if={source}", f"of={copy}", "bs=4M", "iflag=direct", "oflag=direct", "conv=fsync"], [source], copy)


def script_step(arguments, source, way):
    out = arguments.work / f"script-{way}"
    command = ["timeout", "-k", "30", str(LIMIT_SECONDS), inputs.peers_of(arguments), HERE / "array_scripts.py", way, source, out]
    return Step(SCRIPTS[way], command, [source], out, may_end_with=(0, *STOPPED, *KILLED))


def is_settled(step, runs):
    """Whether a script has failed, or is so slow that more rounds would tell nothing."""
    if step.name not in SCRIPTS.values() or not runs[step.name]:
        return False
    last = runs[step.name][-1]
    return last.exit_code != 0 or last.synced > HOPELESS * runs[SHALE][0].synced


def measured(arguments, steps):
    return cold_input.alternate(steps, arguments.rounds, arguments.work, GROUP_LIMIT, is_settled=is_settled)


# ---- tables -----------------------------------------------------------------------------------------------------------------


def outcome(list_of_runs):
    """Why a script has no figures, or nothing."""
    last = list_of_runs[-1]
    if last.exit_code == 0:
        return ""
    if last.exit_code in STOPPED or last.returned >= LIMIT_SECONDS:
        return f"stopped after {LIMIT_SECONDS} s"
    return f"killed after {last.returned:.0f} s: out of memory"


COSTS = ["s on disk", "spread", "MB/s", "CPU s", "peak RSS MiB", "of dd", "x shale", "rounds"]


def costs(runs, payload, label=""):
    """A row for each step. "of dd" is how much of dd's speed it reaches, "x shale" how many times as long it takes."""
    for name, list_of_runs in runs.items():
        synced = [run.synced for run in list_of_runs]
        rss = f"{max(run.rss_bytes for run in list_of_runs) / MIB:.0f}"
        cpu = f"{harness.median_of(list_of_runs, 'cpu'):.2f}"
        if failure := outcome(list_of_runs):
            yield [label + name, failure, "-", "-", cpu, rss, "-", "-", f"{len(synced)}"]
            continue
        middle = statistics.median(synced)
        yield [label + name, f"{middle:.2f}", harness.spread(synced), f"{payload / middle / 1e6:.0f}", cpu, rss,
               harness.ratio(runs, DD, name), harness.ratio(runs, name, SHALE), f"{len(synced)}"]  # fmt: skip


def asked(runs, to, size):
    """The targets, each beside the measured value; missed ones are bold."""

    def row(what, limit, shown, holds):
        return [what, limit, shown if holds else f"**{shown}**"]

    of_dd = ASKED_OF_DD[to][size]
    reached = statistics.median(harness.ratios(runs, DD, SHALE))
    yield row(f"{to}, relative to dd", f"{of_dd}", harness.ratio(runs, DD, SHALE), reached >= of_dd)
    if failure := outcome(runs[SCRIPTS[to]]):
        yield row(f"{to}, beside the script", f"{ASKED_OF_SCRIPT}", f"the script was {failure}", True)
    else:
        faster = statistics.median(harness.ratios(runs, SCRIPTS[to], SHALE))
        yield row(f"{to}, beside the script", f"{ASKED_OF_SCRIPT}", harness.ratio(runs, SCRIPTS[to], SHALE), faster >= ASKED_OF_SCRIPT)
    rss = max(run.rss_bytes for run in runs[SHALE]) / MIB
    yield row(f"{to}, peak RSS MiB", f"{ASKED_RSS_MIB}", f"{rss:.0f}", rss <= ASKED_RSS_MIB)


# ---- what is measured -------------------------------------------------------------------------------------------------------


def bench_formats(arguments, formats):
    for size, columns in COLUMNS.items():
        rows = max(1, arguments.bytes // (4 * columns))
        source = array(arguments, "float32", "C", rows, columns)
        payload = source.stat().st_size
        table, verdicts = [], []
        for to in formats:
            shale = shale_step(arguments, source, arguments.work / "out", "--to", to, "--shard-size", "1GiB")
            runs = measured(arguments, [shale, dd_step(arguments, source), script_step(arguments, source, to)])
            yield f"{to}, rows of {size}", runs, ""
            table += costs(runs, payload, f"{to}: ")
            verdicts += asked(runs, to, size)
        title = f"{rows:,} rows of {size}, {payload / 1e6:.0f} MB, cold"
        text = harness.markdown([title, *COSTS], table)
        yield title, {}, text + "\n\n" + harness.markdown([f"rows of {size}", "target", "measured"], verdicts)


def bench_rows8(arguments):
    """The cost of a row itself: rows of one number, minus what dd takes for their bytes."""
    rows = scaled(arguments, ROWS8)
    source = array(arguments, "uint64", "C", rows, 1)
    shale = shale_step(arguments, source, arguments.work / "out", "--to", "npy", "--shard-size", "1GiB")
    runs = measured(arguments, [shale, dd_step(arguments, source)])
    walls = {name: [run.synced for run in found] for name, found in runs.items()}
    cpus = {name: [run.cpu for run in found] for name, found in runs.items()}
    for figures in (walls, cpus):
        figures["shale less dd"] = [mine - other for mine, other in zip(figures[SHALE], figures[DD])]

    def cells(seconds):
        each = [value / rows * 1e9 for value in seconds]
        return [f"{statistics.median(each):.2f}", harness.spread(each)]

    table = []
    for name in walls:
        rss = f"{max(run.rss_bytes for run in runs[name]) / MIB:.0f}" if name in runs else "-"
        table.append([name, f"{statistics.median(walls[name]):.2f}", *cells(walls[name]), *cells(cpus[name]), rss])
    title = f"{rows:,} rows of 8 bytes, to npy, cold"
    header = [title, "s on disk", "ns per row", "spread", "CPU ns per row", "spread", "peak RSS MiB"]
    yield title, runs, harness.markdown(header, table)


def bench_fortran(arguments):
    for full_rows, columns in FORTRAN_SHAPES:
        rows = scaled(arguments, full_rows)
        source = array(arguments, "float32", "F", rows, columns)
        payload = source.stat().st_size
        shale = shale_step(arguments, source, arguments.work / "out.npy")
        runs = measured(arguments, [shale, dd_step(arguments, source), script_step(arguments, source, "c-order")])
        title = f"({rows}, {columns}) in Fortran order to C order, {payload / 1e6:.0f} MB, cold"
        yield title, runs, harness.markdown([title, *COSTS], list(costs(runs, payload)))
        inputs.forget(source)  # room for what is kept


def bench_raw(arguments):
    """Numbers without a header beside the same in an .npy file, which is one whose header is passed over."""
    columns = COLUMNS["3 KB"]
    source = array(arguments, "float32", "C", max(1, arguments.bytes // (4 * columns)), columns)
    plain = shale_step(arguments, source, arguments.work / "out", "--to", "npy")
    words = ["--to", "npy", "--raw", f"float32,{columns}", "--raw-offset", str(NPY_HEADER_BYTES)]
    raw = dataclasses.replace(shale_step(arguments, source, arguments.work / "out-raw", *words), name=RAW)
    runs = measured(arguments, [plain, raw, dd_step(arguments, source)])
    payload = source.stat().st_size
    title = f"rows of 3 KB to npy, {payload / 1e6:.0f} MB, cold"
    yield title, runs, harness.markdown([title, *COSTS], list(costs(runs, payload)))


BENCHES = {**dict.fromkeys(ASKED_OF_DD, bench_formats), "rows8": bench_rows8, "fortran": bench_fortran, "raw": bench_raw}


def results(arguments):
    if formats := [name for name in arguments.only if name in ASKED_OF_DD]:
        yield from bench_formats(arguments, formats)
    for name in arguments.only:
        if name not in ASKED_OF_DD:
            yield from BENCHES[name](arguments)


def main():
    arguments = parse_arguments()
    harness.needs_shale(arguments)
    arguments.work.mkdir(parents=True, exist_ok=True)
    needs_room(arguments)
    harness.report(arguments, results(arguments))


if __name__ == "__main__":
    main()
