"""Rounds of random attacks until the time is over; tests/soak.sh has the usage.

A round is a pure function of its seed: it picks an attack, a set and a fault, and checks what must hold whatever happens. Workers take
seeds one after the other; a round that fails prints its seed and its story, and keeps its folder.
"""

import argparse
import collections
import multiprocessing
import os
import pathlib
import random
import sys
import time
import traceback

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "support")]
import attacks
from ground import Ground

SEED_STEP = 0x9E3779B97F4A7C15  # odd: every round of every worker has a seed of its own


def play(seed, ground, wanted):
    """One round: the attack's name and the number of faults that it injected."""
    dice = random.Random(seed)
    names = [name for name, weight in attacks.WEIGHTS.items() if name in wanted for _ in range(weight)]
    name = dice.choice(names)
    with ground.round(seed) as field:
        return name, attacks.ATTACKS[name](field, dice)


def work(number, options, results):
    ground = Ground(number)
    try:
        end = time.monotonic() + options.minutes * 60
        for turn in range(1 << 40):
            seed = (options.seed + (turn * options.jobs + number) * SEED_STEP) % 2**64 if options.minutes > 0 else options.seed
            try:
                results.put((*play(seed, ground, options.only), None))
            except Exception:
                results.put(("failed", 0, f"--seed {seed}\n{traceback.format_exc()}"))
            if time.monotonic() >= end:
                return
    finally:
        ground.remove()
        results.put(None)


def main():
    parser = argparse.ArgumentParser(prog="tests/soak.sh")
    parser.add_argument("minutes", type=float)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**64))
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(attacks.ATTACKS))
    options = parser.parse_args()
    if options.minutes <= 0:
        options.jobs = 1
    print(f"seed {options.seed}, {options.jobs} workers, {options.minutes:g} minutes: {' '.join(options.only)}", flush=True)

    results = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(i, options, results)) for i in range(options.jobs)]
    for worker in workers:
        worker.start()
    rounds, faults, failures, running = collections.Counter(), collections.Counter(), 0, len(workers)
    while running:
        result = results.get()
        if result is None:
            running -= 1
            continue
        name, count, story = result
        rounds[name] += 1
        faults[name] += count
        if story:
            failures += 1
            print(f"\nFAILED {story}", flush=True)
    for worker in workers:
        worker.join()

    print("\n| attack | rounds | faults injected |\n|---|--:|--:|")
    for name in sorted(rounds - collections.Counter(failed=rounds["failed"])):
        print(f"| {name} | {rounds[name]} | {faults[name]} |")
    print(f"\n{sum(rounds.values())} rounds, {faults.total()} faults, {failures} rounds failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
