#!/usr/bin/env python3
"""How well the order "block" mixes a dataset that is sorted by label, for sizes of its buffer: labels in a batch, beside a uniform order.

block_curve.py [--bytes 110000] [--samples 55000] [--labels 1000] [--batches 64,256] [--block SIZE]
Nothing is read or timed: the order is a pure function, so the table is the same on every machine. PYTHONPATH has to have the package shale.
"""

import argparse

import numpy
import shale
from shale._arguments import bytes_of
from shale._blocks import block_and_lanes, run_bytes

BUFFERS = ["1MiB", "4MiB", "8MiB", "16MiB", "32MiB", "64MiB", "128MiB", "256MiB", "512MiB"]


def row_of(buffer, arguments, labels, batches):
    size = bytes_of(buffer, "buffer")
    run = run_bytes(size) if arguments.block is None else bytes_of(arguments.block, "block")
    block, lanes = block_and_lanes(arguments.samples, arguments.bytes, size, run)
    order = shale.EpochOrder(arguments.samples, 0, 0, "block", block=block, lanes=lanes)
    found = [shale.shuffle_score(order, labels, batch) for batch in batches]
    mixed = [f"{each.whole:.0f} of {each.expected:.0f} ({each.whole / each.expected:.2f})" for each in found]
    return [buffer, f"{run >> 10} KiB", block, lanes, *mixed]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", type=float, default=110_000, help="of a sample, on average")
    parser.add_argument("--samples", type=int, default=55_000)
    parser.add_argument("--labels", type=int, default=1000)
    parser.add_argument("--batches", default="64,256")
    parser.add_argument("--block", help="shuffle_block; default: as the loader chooses it")
    arguments = parser.parse_args()
    batches = [int(batch) for batch in arguments.batches.split(",")]
    labels = numpy.arange(arguments.samples) * arguments.labels // arguments.samples
    print("| buffer | run | its samples | open runs |" + "".join(f" labels in a batch of {batch} |" for batch in batches))
    print("|--:|--:|--:|--:|" + "--:|" * len(batches))
    for buffer in BUFFERS:
        print("| " + " | ".join(map(str, row_of(buffer, arguments, labels, batches))) + " |")


if __name__ == "__main__":
    main()
