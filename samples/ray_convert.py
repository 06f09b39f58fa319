#!/usr/bin/env python3
"""Converts a folder as tasks of a Ray cluster, one part each, and merges the parts at the end.

    python3 samples/ray_convert.py photos /data/train --to record --parts 128 [--shuffle]

INPUT and OUTPUT are on storage that all nodes share, and the package shale is installed on all of them. Tasks do not communicate. If a
node is lost, Ray runs its tasks again, and each continues its part; run the same command again after a failure, and only what is
missing is written.
"""

import argparse
import os

import ray
import shale


@ray.remote(max_retries=3)
def convert_part(source, folder, index, count, options):
    """Writes one part; returns how many samples it has."""
    return shale.convert(source, folder, parts=(index, count), **options).samples


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--to", default="record", help="format of the shards")
    parser.add_argument("--parts", type=int, default=16, help="number of parts: a few for each CPU of the cluster")
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--shard-size", default="1GiB")
    parser.add_argument("--cpus", type=int, default=1, help="of each task")
    words = parser.parse_args()

    source, output = os.path.abspath(words.input), os.path.abspath(words.output)
    folder = output + ".parts"
    options = {
        "to": words.to,
        "shuffle": words.shuffle,
        "shard_size": words.shard_size,
        "jobs": words.cpus,
        "listing": output + ".listing",
    }
    os.makedirs(folder, exist_ok=True)

    ray.init(ignore_reinit_error=True)
    todo = shale.parts(folder).missing if os.listdir(folder) else range(words.parts)
    task = convert_part.options(num_cpus=words.cpus)
    running = [task.remote(source, folder, index, words.parts, options) for index in todo]
    done = 0
    while running:
        finished, running = ray.wait(running)
        samples = sum(ray.get(finished))
        done += len(finished)
        print(f"{done} of {len(todo)} parts: {samples} samples more")

    merged = shale.merge(folder, output, move=True)
    os.rmdir(folder)
    os.remove(output + ".listing")
    print(f"{output}: {merged.samples} samples in {merged.shards} shards, ordered digest {merged.ordered_digest}")


if __name__ == "__main__":
    main()
