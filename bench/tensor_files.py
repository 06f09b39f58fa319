#!/usr/bin/env python3
"""`shale convert` of an .npy array into one file of tensors beside dd: one command, Markdown tables.

sudo python3 bench/tensor_files.py [--only pt,safetensors,columns] [--rounds 5] [--bytes 6GB] [--json FILE] ...
As root (it makes a memory cgroup), on a machine that does nothing else. bench/README.md explains the rows.
"""

import statistics

import arrays
import harness
from harness import MIB

COLUMNS = 768  # of float32: rows of 3 KB
ASKED_OF_DD = 0.8
WAYS = {
    "pt": "one array to one .pt",
    "safetensors": "one array to one .safetensors",
    "columns": "the array twice, as two columns, to one .pt",
}


def parse_arguments():
    options = harness.parser_of_parts(__doc__, WAYS, rounds=5)
    options.add_argument("--bytes", type=arrays.byte_count, default=arrays.FULL_BYTES, help="of the array (default 6GB)")
    return harness.arguments_of_parts(options, WAYS)


def needs_room(arguments):
    """The array; two columns, each first in a file of its own; the file that backs memory."""
    needed = (4 if "columns" in arguments.only else 2) * arguments.bytes + harness.BACKED_MIB * MIB
    found = harness.free_bytes(arguments.work) + harness.size_of(list(arguments.work.glob("array-*.npy")))
    if found < needed:
        raise SystemExit(f"bench: {arguments.work} has {found / 1e9:.1f} GB for {needed / 1e9:.1f} GB\nhint: choose another --work, or --bytes")


def shale_step(arguments, way, source):
    out = arguments.work / ("out.safetensors" if way == "safetensors" else "out.pt")
    step = arrays.shale_step(arguments, source, out)
    if way == "columns":
        at = step.command.index(source)
        step.command[at : at + 1] = [f"x={source}", f"y={source}"]
    return step


def results(arguments):
    rows = max(1, arguments.bytes // (4 * COLUMNS))
    source = arrays.array(arguments, "float32", "C", rows, COLUMNS)
    payload = source.stat().st_size
    for way in arguments.only:
        runs = arrays.measured(arguments, [shale_step(arguments, way, source), arrays.dd_step(arguments, source)])
        title = f"{WAYS[way]}, {payload / 1e6:.0f} MB, cold"
        text = harness.markdown([title, *arrays.COSTS], list(arrays.costs(runs, payload)))
        if way != "columns":  # those are written twice
            text += "\n\n" + harness.markdown(["", "target", "measured"], verdicts(runs))
        yield title, runs, text


def verdicts(runs):
    """The targets, each beside the measured value; missed ones are bold."""
    reached = statistics.median(harness.ratios(runs, arrays.DD, arrays.SHALE))
    shown = harness.ratio(runs, arrays.DD, arrays.SHALE)
    yield ["relative to dd", f"{ASKED_OF_DD}", shown if reached >= ASKED_OF_DD else f"**{shown}**"]
    rss = max(run.rss_bytes for run in runs[arrays.SHALE]) / MIB
    yield ["peak RSS MiB", f"{arrays.ASKED_RSS_MIB}", f"{rss:.0f}" if rss <= arrays.ASKED_RSS_MIB else f"**{rss:.0f}**"]


def main():
    arguments = parse_arguments()
    harness.needs_shale(arguments)
    arguments.work.mkdir(parents=True, exist_ok=True)
    needs_room(arguments)
    harness.report(arguments, results(arguments))


if __name__ == "__main__":
    main()
