#!/usr/bin/env python3
"""One random sample by the index beside a bare pread of the same bytes, and beside the containers' own libraries.

python3 bench/random_read.py [--rounds 5] [--json FILE] ...
Warm, in Python: 20,000 photos in random order, each once. bench/README.md explains the protocol.
"""

import os
import subprocess

import harness
import inputs
from harness import HERE, Step

VLEN = "h5py vlen uint8, `images[i]`"


def bare_of(to):
    return f"{to}: bare pread, places in a list"


def steps_of(arguments, photos):
    python = inputs.peers_of(arguments)

    def step(name, way, path):
        return Step(name, [python, HERE / "readers.py", way, path], [path], syncs=False, reports=True)

    def vlen_file(path):
        subprocess.run([python, HERE / "peer_writers.py", "hdf5", photos, path], check=True)

    outs = {to: arguments.work / f"random-{to}" for to in ("record", "lmdb", "hdf5")}
    for to, out in outs.items():
        harness.remove(out)
        subprocess.run(inputs.convert(arguments, photos, out, to), check=True)
        yield to, step(f"{to}: by the index", "index", out)
        yield to, step(bare_of(to), "bare", out)
    yield "lmdb", step("lmdb: py-lmdb `get`, msgpack", "py-lmdb", outs["lmdb"])
    yield "hdf5", step("hdf5: h5py, three lines", "h5py", outs["hdf5"])
    yield None, step(VLEN, "h5py-vlen", inputs.made_once(arguments.work / "vlen", vlen_file))


def bench(arguments, photos):
    steps = list(steps_of(arguments, photos))
    runs = harness.alternate([step for _, step in steps], arguments.rounds, arguments.work, "warm")
    rows = []
    for to, step in steps:
        us = [run.reported["us"] for run in runs[step.name]]
        rows.append([
            step.name,
            f"{harness.median_of(runs[step.name], 'us'):.1f}",
            harness.spread(us),
            harness.ratio(runs, step.name, bare_of(to), "us") if to else "-",
            harness.ratio(runs, VLEN, step.name, "us"),
        ])  # fmt: skip
    header = ["one random sample, warm", "us", "spread", "x bare pread", "h5py vlen, x"]
    yield "random read, warm", runs, harness.markdown(header, rows)


def main():
    options = harness.parser(__doc__)
    inputs.add_photos(options)
    arguments = options.parse_args()
    harness.needs_shale(arguments)
    arguments.work.mkdir(parents=True, exist_ok=True)
    # Every reader: where a freed block of 110 KB ends the heap, glibc gives it back and faults it in again for the next
    # sample, which doubles the time of whichever process happens to be laid out so.
    os.environ["MALLOC_TOP_PAD_"] = str(64 << 20)
    harness.report(arguments, bench(arguments, inputs.photos_of(arguments)))


if __name__ == "__main__":
    main()
