#!/usr/bin/env python3
"""Numbers of another type: convert --cast beside the same conversion without it, and beside the loop over NumPy's astype.

python3 bench/cast.py [--only npy,record] [--bytes 2GB] [--rounds 3] ...
Warm. bench/README.md explains the rows; the peers are those of bench/peers.txt.
"""

import harness
import inputs
import numpy as np
from arrays import byte_count
from harness import HERE, Step
from inputs import convert

PARTS = ("npy", "record")
COLUMNS = 1000
CASTS = {"float32": "float16", "float64": "float32", "int64": "uint16"}


def parse_arguments():
    options = harness.parser_of_parts(__doc__, PARTS)
    options.add_argument("--bytes", type=byte_count, default=2 * 10**9, help="of each array (default 2GB)")
    return harness.arguments_of_parts(options, PARTS)


class Bench:
    def __init__(self, arguments):
        self.arguments, self.work = arguments, arguments.work
        self.python = inputs.peers_of(arguments)

    def script(self, *words):
        return [self.python, HERE / "array_scripts.py", *map(str, words)]

    def array(self, dtype):
        rows = self.arguments.bytes // COLUMNS // np.dtype(dtype).itemsize
        return inputs.made_once(
            self.work / f"cast-{dtype}-{rows}.npy",
            lambda path: harness.measured(Step("the array", self.script("make", path, dtype, "C", rows, COLUMNS))),
        )

    def steps(self, source, cast, to):
        out, copy = self.work / "out", self.work / "out.npy"
        yield Step("shale convert --cast", convert(self.arguments, f"x={source}", out, to, "--cast", f"x:{cast}", "--lossy"), [source], out)
        yield Step("shale convert", convert(self.arguments, f"x={source}", out, to), [source], out)
        if to == "npy":
            yield Step("Python: astype, piece by piece", self.script("cast", source, copy, cast), [source], copy)


def results(arguments):
    bench = Bench(arguments)
    for dtype, cast in CASTS.items():
        source = bench.array(dtype)
        for to in arguments.only:
            title = f"{dtype} to {cast}, to {to}"
            runs = harness.alternate(list(bench.steps(source, cast, to)), arguments.rounds, arguments.work, "warm")
            yield title, runs, harness.table(runs, "shale convert", harness.size_of([source]), title)


if __name__ == "__main__":
    harness.run(parse_arguments(), results)
