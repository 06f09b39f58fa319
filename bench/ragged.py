#!/usr/bin/env python3
"""Samples of any length: token ids beside MDSWriter and datasets, an LMDB of molecules beside the Python loop, and reads beside fixed rows.

python3 bench/ragged.py [--only tokens,reads,maps] [--tokens 2000000] [--maps 1000000] [--rounds 3] [--package FOLDER] [--json FILE] ...
Warm. bench/README.md explains the rows; the peers are those of bench/peers.txt, and pip install datasets torch
torch_geometric beside them.
"""

import os
import pathlib

import harness
import inputs
from harness import HERE, MIB, ROOT, Step
from inputs import convert

PARTS = ("tokens", "reads", "maps")
READS = 100_000


def parse_arguments():
    options = harness.parser_of_parts(__doc__, PARTS)
    options.add_argument("--tokens", type=int, default=2_000_000, help="samples of token ids")
    options.add_argument("--maps", type=int, default=1_000_000, help="values of the LMDB file")
    options.add_argument("--package", type=pathlib.Path, default=ROOT / "build/release/python", help="folder with the package shale")
    return harness.arguments_of_parts(options, PARTS)


class Bench:
    def __init__(self, arguments):
        self.arguments, self.work = arguments, arguments.work
        self.python = inputs.peers_of(arguments)
        self.package = {"PYTHONPATH": os.fspath(arguments.package.resolve())}

    def words(self, *words):
        return [self.python, HERE / "ragged_ways.py", *map(str, words)]

    def made(self, name, *words):
        """What ragged_ways.py writes, made once."""

        def make(path):
            steps = Step(name, self.words(*words, path), [], None, env=self.package)
            harness.measured(steps)

        return inputs.made_once(self.work / name, make)

    def tokens(self):
        """Written from a loop; convert has them from shards of HDF5."""
        count = self.arguments.tokens
        source = self.made(f"tokens-{count}-hdf5", "tokens", "hdf5", count)
        out = self.work / "out"
        return [
            Step("shale.Writer", self.words("tokens", "shale", count, out), [], out, env=self.package),
            Step("shale convert, from hdf5", convert(self.arguments, source, out, "record"), [source], out),
            Step("MDSWriter", self.words("tokens", "mds", count, out), [], out),
            Step("datasets, from_generator", self.words("tokens", "datasets", count, out), [], out),
        ]

    def maps(self, kind, counts):
        """Of a tenth of the values too, for the memory."""
        out = self.work / "out"
        for values in counts:
            source = self.made(f"{kind}-{values}.lmdb", kind, values)
            yield Step(
                f"shale convert, {values:,} values", convert(self.arguments, source, out, "record", "--parse", "pickle"), [source], out
            )
            again = out.with_suffix(".lmdb")
            yield Step(f"Python: loads, dumps, put, {values:,} values", self.words("again", source, again), [source], again)

    def reads(self):
        """A sample each, by shale.Dataset, of the same number of bytes."""
        count = self.arguments.tokens // 10
        for kind in ("tokens", "fixed"):
            out = self.made(f"{kind}-{count}", kind, "shale", count)
            for way in ("dataset", "pread"):
                name = f"{'any length' if kind == 'tokens' else 'one length'}, {way}"
                yield Step(name, self.words(way, out, READS), [out], syncs=False, reports=True, env=self.package)


def results(arguments):
    bench = Bench(arguments)
    if "tokens" in arguments.only:
        steps = bench.tokens()
        runs = harness.alternate(steps, arguments.rounds, arguments.work, "warm")
        title = f"{arguments.tokens:,} samples of 100 to 2,000 uint16"
        payload = sum(ids.nbytes for ids in token_views(arguments.tokens))
        yield title, runs, harness.table(runs, "shale.Writer", payload, title) + "\n\n" + cpu_table(runs, "shale.Writer", arguments.tokens)
    if "reads" in arguments.only:
        runs = harness.alternate(list(bench.reads()), arguments.rounds, arguments.work, "warm")
        header = ["one random sample, warm", "us", "spread", "CPU us", "x any length, dataset"]
        rows = [
            [
                name,
                f"{harness.median_of(of_step, 'us'):.2f}",
                harness.spread([run.reported["us"] for run in of_step]),
                f"{min(run.reported['cpu_us'] for run in of_step):.2f}",
                harness.ratio(runs, name, "any length, dataset", "cpu_us"),
            ]
            for name, of_step in runs.items()
        ]
        yield "random reads", runs, harness.markdown(header, rows)
    if "maps" in arguments.only:
        for kind, what in (("graphs", "objects of PyTorch Geometric, as OC20 has them"), ("maps", "dicts of arrays")):
            # Python takes 20 times as long for the objects.
            count = arguments.maps // (10 if kind == "graphs" else 1)
            runs = harness.alternate(list(bench.maps(kind, (count, count // 10))), arguments.rounds, arguments.work, "warm")
            yardstick = f"shale convert, {count:,} values"
            title = f"LMDB of pickled {what}, to record"
            payload = harness.size_of([arguments.work / f"{kind}-{count}.lmdb"])
            yield title, runs, harness.table(runs, yardstick, payload, title) + "\n\n" + cpu_table(runs, yardstick, count)


def token_views(count):
    from ragged_ways import tokens

    return tokens(count)


def cpu_table(runs, yardstick, samples):
    """CPU bears other work on the machine: the least of the rounds, by sample of the yardstick."""
    least = {name: min(run.cpu for run in of_step) for name, of_step in runs.items()}
    rows = [[name, f"{cpu:.2f}", f"{cpu / samples * 1e6:.1f}", f"{cpu / least[yardstick]:.2f}",
             f"{max(run.rss_bytes for run in runs[name]) / MIB:.0f}"] for name, cpu in least.items()]  # fmt: skip
    return harness.markdown(["CPU, user and system", "s, least", "us each", f"x {yardstick}", "peak RSS MiB"], rows)


if __name__ == "__main__":
    harness.run(parse_arguments(), results)
