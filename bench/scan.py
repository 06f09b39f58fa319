#!/usr/bin/env python3
"""`shale index` of an LMDB that py-lmdb wrote: 30,000 values, 3 GB, cold, beside py-lmdb's own walk of the keys.

python3 bench/scan.py [--rounds 5] [--json FILE] ...
As root (it drops caches). Structure only: the index says where each key and each value lies, payload is not read.
"""

import subprocess

import harness
import inputs
from harness import HERE, MIB, Step

VALUES = 30_000


def bench(arguments):
    python = inputs.peers_of(arguments)

    def write(path):
        subprocess.run([python, HERE / "peer_writers.py", "lmdb-values", str(VALUES), path], check=True)

    file = inputs.made_once(arguments.work / f"lmdb-{VALUES}", write) / "data.lmdb"
    out = arguments.work / "index"

    def walk(name, way):
        return Step(name, [python, HERE / "readers.py", way, file], syncs=False, reports=True)

    steps = [
        Step("shale index", [arguments.shale, "index", file, "--index-dir", out, "--quiet"], output=out),
        walk("py-lmdb, keys alone, readahead=False", "lmdb-keys"),
        walk("py-lmdb, keys alone, readahead=True (its default)", "lmdb-keys-readahead"),
        Step("cat > /dev/null", inputs.shell('cat "$1" > /dev/null', file), syncs=False),
    ]
    runs = harness.alternate(steps, arguments.rounds, arguments.work, "cold")
    rows = []
    for name, list_of_runs in runs.items():
        rows.append([
            name,
            f"{harness.median_of(list_of_runs, 'synced'):.3f}",
            harness.spread([run.synced for run in list_of_runs]),
            f"{harness.median_of(list_of_runs, 'returned'):.3f}",
            f"{harness.median_of(list_of_runs, 'seconds'):.3f}" if list_of_runs[0].reported else "-",
            f"{max(run.rss_bytes for run in list_of_runs) / MIB:.0f}",
            harness.ratio(runs, name, steps[0].name),
        ])  # fmt: skip
    title = f"{VALUES:,} values, {file.stat().st_size / 1e6:.0f} MB, cold"
    header = [title, "s on disk", "spread", "s to return", "s of the walk alone", "peak RSS MiB", "x shale index"]
    yield title, runs, harness.markdown(header, rows)


def main():
    arguments = harness.parser(__doc__).parse_args()
    harness.needs_root()
    harness.run(arguments, bench)


if __name__ == "__main__":
    main()
