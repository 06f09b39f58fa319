#!/usr/bin/env python3
"""`shale resample` beside numpy and what the disk gives: one command, Markdown tables.

sudo python3 bench/resample.py [--only a,b,c,d] [--rounds 3] [--bytes 6GB] [--memory 256MiB] [--json FILE] ...
As root (it makes memory cgroups), on a machine that does nothing else. bench/README.md explains the rows.
  a  rows of 3 KB, as many as the source has, with replacement and permuted
  b  rows of 400 KB, the same, with replacement
  c  rows of 400 KB, five times as many as the source has, in 64 MiB: the memory it takes
  d  rows of 3 KB, 2 to 20 times as many bytes as the memory: whether a byte costs more
"""

import argparse
import contextlib
import dataclasses
import json
import pathlib
import statistics
import subprocess

import arrays
import cold_input
import harness
import inputs
from harness import HERE, MIB, Step

GROUP_LIMIT = 1024 * MIB
COLUMNS = {"3 KB": 768, "400 KB": 100_000}  # of float32
DD_ONCE, DD_TWICE = "dd, 1 read and 1 write, direct", "dd, 2 reads and 2 writes, direct"
# numpy would take minutes: it draws this share of the rows, in whole pieces, and the rest is reckoned to take as long.
SHARE = 0.1
LARGER_GROUP_LIMIT, LARGER_MEMORY, LARGER_TIMES = 256 * MIB, "64MiB", 5
CURVE_MEMORY_MIB, LEAST_MEMORY_MIB, CURVE_TIMES = 256, 16, (2, 5, 10, 20)
# (minimum, goal)
ASKED_OF_NUMPY = {"3 KB": (8, 14), "400 KB": (10, 16)}
ASKED_OF_DD = {"3 KB": (0.6, 0.85), "400 KB": (0.7, 0.9)}
ASKED_RSS_MIB = 128
ASKED_GROWTH = 1.3


def parse_arguments():
    options = harness.parser(__doc__)
    options.set_defaults(rounds=3)
    options.add_argument("--only", type=names, default=list(BENCHES), help=f"comma-separated: {', '.join(BENCHES)}")
    options.add_argument("--bytes", type=arrays.byte_count, default=arrays.FULL_BYTES,
                         help="of the source of a and b; the others shrink alike (default 6GB)")  # fmt: skip
    options.add_argument("--memory", default="256MiB", help="of shale for a and b (default 256MiB, what it takes by itself here)")
    return options.parse_args()


def names(text):
    found = text.split(",")
    if unknown := set(found) - set(BENCHES):
        raise argparse.ArgumentTypeError(f"no such part: {', '.join(sorted(unknown))}")
    return found


# ---- inputs -----------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def source_of(arguments, total_bytes, size):
    """An array of rows of this size. What is made for it is removed; what bench/arrays.py has left is used and kept."""
    there = set(arguments.work.glob("array-*.done"))
    source = arrays.array(arguments, "float32", "C", max(1, total_bytes // (4 * COLUMNS[size])), COLUMNS[size])
    try:
        yield source
    finally:
        if inputs.done_mark(source) not in there:
            inputs.forget(source)


def rows_of(source, size):
    return source.stat().st_size // (4 * COLUMNS[size])


def needs_room(arguments):
    """At most a source and five times as much, two thirds of --bytes each (c); the file that backs memory."""
    needed = 4 * arguments.bytes + harness.BACKED_MIB * MIB
    if (found := harness.free_bytes(arguments.work)) < needed:
        raise SystemExit(f"bench: {arguments.work} has {found / 1e9:.1f} GB for {needed / 1e9:.1f} GB\nhint: choose another --work, or --bytes")


# ---- steps: what each writes is a folder of its own, made before it starts ----------------------------------------------------


def shale_step(arguments, name, source, memory, *more):
    out = arguments.work / "resampled"
    command = [arguments.shale, "resample", source, out / "out.npy", "--save-indices", out / "numbers.npy",
               "--memory", memory, "--quiet", *more]  # fmt: skip
    return Step(name, command, [source], out)


def numpy_step(arguments, name, source, way, draw):
    out = arguments.work / "by-numpy"
    command = [inputs.peers_of(arguments), HERE / "resample_scripts.py", way, draw, source, out / "out.npy", str(SHARE)]
    return Step(name, command, [source], out, reports=True)


def dd_step(arguments, name, source, passes):
    """The machine's limit: every byte read and written so many times past the page cache, one after the other."""
    out = arguments.work / "copies"
    copy = 'dd if="$1" of="$2" bs=4M iflag=direct oflag=direct conv=fsync'
    return Step(name, inputs.shell("; shift; ".join([copy] * passes), source, *(out / f"{n}" for n in range(passes))), [source], out)


def measured(arguments, steps, limit):
    """Alternated, cold, in a group; what each kind of shale's runs wrote first is checked when the clock has stopped."""
    cold, checked = cold_input.cold_in(limit), set()

    def measure(step):
        pathlib.Path(step.output).mkdir()
        run = cold(step)
        if step.reports:
            return extrapolated(run)
        if "resample" in step.command and step.name not in checked:
            check(arguments, step)
            checked.add(step.name)
        return run

    try:
        return harness.alternate(steps, arguments.rounds, arguments.work, f"{limit // MIB} MiB", measure)
    finally:
        for step in steps:
            harness.remove(step.output)


def extrapolated(run):
    """A run of all rows: the loop of those that were drawn, so many times; the start of Python and the last sync once."""
    facts = run.reported
    more = facts["of_rows"] / facts["rows"] - 1
    wall = more * facts["seconds"]
    return dataclasses.replace(run, returned=run.returned + wall, synced=run.synced + wall, cpu=run.cpu + more * facts["cpu_seconds"])


def check(arguments, step):
    draw = "replace" if "--replace" in step.command else "permute"
    paths = [step.reads[0], step.output / "out.npy", step.output / "numbers.npy"]
    subprocess.run([inputs.peers_of(arguments), HERE / "resample_scripts.py", "check", draw, *paths], check=True)


def plan_of(arguments, step):
    """ "buckets, 2 passes": the strategy that shale takes."""
    words = [word for word in step.command if word != "--quiet"]
    found = subprocess.run([*words, "--dry-run", "--json"], check=True, capture_output=True, text=True).stdout
    facts = json.loads(found)["arrays"][0]
    return f"{facts['strategy']}, {facts['passes']} pass{'es' if facts['passes'] > 1 else ''}"


# ---- tables -----------------------------------------------------------------------------------------------------------------


COSTS = ["s on disk", "spread", "MB/s", "CPU s", "peak RSS MiB", "peak of the group MiB", "of dd"]


def costs(runs, payload, dd):
    """A row for each step. "of dd" is how much of dd's speed it reaches."""
    for name, list_of_runs in runs.items():
        synced = [run.synced for run in list_of_runs]
        middle = statistics.median(synced)
        yield [name + share_of(list_of_runs), f"{middle:.2f}", harness.spread(synced), f"{payload / middle / 1e6:.0f}",
               f"{harness.median_of(list_of_runs, 'cpu'):.2f}", f"{peak_rss(list_of_runs):.0f}",
               f"{peak_of_group(list_of_runs):.0f}", harness.ratio(runs, dd, name)]  # fmt: skip


def share_of(list_of_runs):
    """Says that a figure is not of a whole run."""
    facts = list_of_runs[0].reported
    return f" (extrapolated from {facts['rows'] / facts['of_rows'] * 100:.1f} % of the rows)" if "of_rows" in facts else ""


def peak_rss(list_of_runs):
    return max(run.rss_bytes for run in list_of_runs) / MIB


def peak_of_group(list_of_runs):
    return max(run.reported["peak_group_bytes"] for run in list_of_runs) / MIB


def verdict(what, limits, runs, slower, faster):
    """How many times as long one step takes as another, beside (minimum, goal); bold below the minimum."""
    shown = harness.ratio(runs, slower, faster)
    holds = statistics.median(harness.ratios(runs, slower, faster)) >= limits[0]
    return [what, f"{limits[0]} / {limits[1]}", shown if holds else f"**{shown}**"]


def described(source, size, limit, plan):
    mib = f"in {limit // MIB} MiB, cold"
    return f"{rows_of(source, size):,} rows of {size}, {source.stat().st_size / 1e6:.0f} MB, {mib}; shale: {plan}"


# ---- what is measured -------------------------------------------------------------------------------------------------------


def bench_small_rows(arguments):
    shale = {draw: f"shale --{draw}" for draw in ("replace", "permute")}
    numpy = {draw: f"numpy, MADV_RANDOM, sorted pieces of 100,000: {draw}" for draw in shale}
    with source_of(arguments, arguments.bytes, "3 KB") as source:
        drawing = [shale_step(arguments, shale[draw], source, arguments.memory, f"--{draw}") for draw in shale]
        scripts = [numpy_step(arguments, numpy[draw], source, "sorted", draw) for draw in shale]
        runs = measured(arguments, [*drawing, dd_step(arguments, DD_TWICE, source, 2), *scripts], GROUP_LIMIT)
        title = described(source, "3 KB", GROUP_LIMIT, f"--memory {arguments.memory}, {plan_of(arguments, drawing[0])}")
        text = harness.markdown([title, *COSTS], list(costs(runs, source.stat().st_size, DD_TWICE)))
    verdicts = []
    for draw in shale:
        verdicts.append(verdict(f"{draw}, beside numpy", ASKED_OF_NUMPY["3 KB"], runs, numpy[draw], shale[draw]))
        verdicts.append(verdict(f"{draw}, relative to dd", ASKED_OF_DD["3 KB"], runs, DD_TWICE, shale[draw]))
    yield title, runs, text + "\n\n" + harness.markdown(["rows of 3 KB", "minimum / goal", "measured"], verdicts)


def bench_large_rows(arguments):
    shale, numpy = "shale --replace", "numpy, memmap to open_memmap, pieces of 500: replace"
    with source_of(arguments, arguments.bytes, "400 KB") as source:
        drawing = shale_step(arguments, shale, source, arguments.memory, "--replace")
        script = numpy_step(arguments, numpy, source, "recipe", "replace")
        runs = measured(arguments, [drawing, dd_step(arguments, DD_ONCE, source, 1), script], GROUP_LIMIT)
        title = described(source, "400 KB", GROUP_LIMIT, f"--memory {arguments.memory}, {plan_of(arguments, drawing)}")
        text = harness.markdown([title, *COSTS], list(costs(runs, source.stat().st_size, DD_ONCE)))
    verdicts = [verdict("replace, beside numpy", ASKED_OF_NUMPY["400 KB"], runs, numpy, shale),
                verdict("replace, relative to dd", ASKED_OF_DD["400 KB"], runs, DD_ONCE, shale)]  # fmt: skip
    yield title, runs, text + "\n\n" + harness.markdown(["rows of 400 KB", "minimum / goal", "measured"], verdicts)


def bench_larger_output(arguments):
    with source_of(arguments, arguments.bytes * 2 // 3, "400 KB") as source:
        rows = LARGER_TIMES * rows_of(source, "400 KB")
        drawing = shale_step(arguments, "shale", source, LARGER_MEMORY, "--replace", "--rows", str(rows))
        [(_, found)] = measured(arguments, [drawing], LARGER_GROUP_LIMIT).items()
        title = described(source, "400 KB", LARGER_GROUP_LIMIT, f"--memory {LARGER_MEMORY}, {plan_of(arguments, drawing)}")
    written = rows * 4 * COLUMNS["400 KB"]
    synced = [run.synced for run in found]
    rss = f"{peak_rss(found):.0f}"
    shown = rss if peak_rss(found) <= ASKED_RSS_MIB else f"**{rss}**"
    row = [f"shale --replace --rows {rows:,}, {written / 1e6:.0f} MB", f"{statistics.median(synced):.2f}", harness.spread(synced),
           f"{written / statistics.median(synced) / 1e6:.0f}", shown, f"{ASKED_RSS_MIB}", f"{peak_of_group(found):.0f}"]  # fmt: skip
    header = [title, "s on disk", "spread", "MB/s written", "peak RSS MiB", "target", "peak of the group MiB"]
    yield title, {"shale": found}, harness.markdown(header, [row])


def bench_curve(arguments):
    """All sizes in each round, next to each other, so that a drift of the disk is not taken for growth."""
    memory = max(LEAST_MEMORY_MIB, CURVE_MEMORY_MIB * arguments.bytes // arrays.FULL_BYTES)
    shale, dd = ({times: f"{name}, {times}x" for times in CURVE_TIMES} for name in ("shale", DD_TWICE))
    steps, plans, sizes = [], {}, {}
    with contextlib.ExitStack() as sources:
        for times in CURVE_TIMES:
            source = sources.enter_context(source_of(arguments, times * memory * MIB, "3 KB"))
            step = shale_step(arguments, shale[times], source, f"{memory}MiB", "--permute")
            steps += [step, dd_step(arguments, dd[times], source, 2)]
            plans[times], sizes[times] = plan_of(arguments, step), source.stat().st_size
        runs = measured(arguments, steps, GROUP_LIMIT)
    each = {words[times]: [run.synced / sizes[times] * 1e9 for run in runs[words[times]]] for words in (shale, dd) for times in CURVE_TIMES}

    def growth(words, times):
        return [mine / first for mine, first in zip(each[words[times]], each[words[CURVE_TIMES[0]]])]

    def in_brackets(values):
        return f"{statistics.median(values):.2f} ({harness.spread(values)})"

    title = f"rows of 3 KB permuted, --memory {memory}MiB, in {GROUP_LIMIT // MIB} MiB, cold"
    header = [title, "MB", "strategy", "s on disk", "s per GB of output", "x the first", "dd, s per GB", "dd, x the first", "of dd", "peak RSS MiB"]
    rows = [[f"{times}x the memory", f"{sizes[times] / 1e6:.0f}", plans[times], f"{harness.median_of(runs[shale[times]], 'synced'):.2f}",
             in_brackets(each[shale[times]]), in_brackets(growth(shale, times)), in_brackets(each[dd[times]]),
             in_brackets(growth(dd, times)), harness.ratio(runs, dd[times], shale[times]), f"{peak_rss(runs[shale[times]]):.0f}"]
            for times in CURVE_TIMES]  # fmt: skip
    grown = growth(shale, CURVE_TIMES[-1])
    shown = in_brackets(grown) if statistics.median(grown) <= ASKED_GROWTH else f"**{in_brackets(grown)}**"
    asked = [[f"a byte at {CURVE_TIMES[-1]}x, relative to one at {CURVE_TIMES[0]}x", f"at most {ASKED_GROWTH}", shown]]
    yield title, runs, harness.markdown(header, rows) + "\n\n" + harness.markdown(["cost of a byte", "target", "measured"], asked)


BENCHES = {"a": bench_small_rows, "b": bench_large_rows, "c": bench_larger_output, "d": bench_curve}


def results(arguments):
    for name in arguments.only:
        yield from BENCHES[name](arguments)


def main():
    arguments = parse_arguments()
    harness.needs_shale(arguments)
    arguments.work.mkdir(parents=True, exist_ok=True)
    needs_room(arguments)
    harness.report(arguments, results(arguments))


if __name__ == "__main__":
    main()
