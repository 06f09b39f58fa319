#!/usr/bin/env python3
"""What verify="auto" costs an epoch of shale.Dataset: CPU time of shuffled batches of 64, against verify=False, rounds in turn.

    PYTHONPATH=build/release/python bench/verify_auto.py DATASET [--decode rgb8] [--rounds 7]

CPU time, not wall time: it stands still while other work has the processor. Every round opens the dataset, so each proves its indexes.
"""

import argparse
import random
import statistics
import time

import shale


def epoch(arguments, verify):
    ds = shale.Dataset(arguments.dataset, decode=arguments.decode, verify=verify)
    rows = list(range(len(ds)))
    random.Random(7).shuffle(rows)
    begin = time.process_time()
    for at in range(0, len(rows), 64):
        ds.__getitems__(rows[at : at + 64])
    return (time.process_time() - begin) / len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--decode")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    epoch(arguments, False)  # the page cache
    times = {False: [], "auto": []}
    for _ in range(arguments.rounds):
        for verify, seconds in times.items():
            seconds.append(epoch(arguments, verify))
    off, on = (statistics.median(seconds) * 1e6 for seconds in times.values())
    print(f"verify=False {off:.1f} us per sample, 'auto' {on:.1f} us: {100 * (on / off - 1):+.1f} %")


if __name__ == "__main__":
    main()
