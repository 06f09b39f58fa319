"""One shuffled epoch of a large dataset that is sorted by class, without decoding; prints rates and how well it was mixed, as JSON.

shuffled_epochs.py WAY DATASET [--block 1MiB] [--buffer 256MiB] [--batch 256] [--threads CPUS] [--epochs 1] [--limit SAMPLES]
shuffled_epochs.py make DATASET --limit SAMPLES      1000 classes in order, samples of 110 KB
Ways: block, random (shale.torch.Loader), pread (one synchronous worker, at random), raw (the shards from their beginning, in pieces of
--block, as many in flight as there are threads times reads of a batch, at most 64). bench/loader.py runs it.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import random
import time

import process_tree
import readers

SAMPLE_BYTES, CLASSES = 110_000, 1000


def make(arguments):
    import shale

    content = random.Random(1).randbytes(SAMPLE_BYTES + 4096)
    with shale.Writer(arguments.dataset, to="record", schema={"image": "bytes", "label": "int"}, shard_size="1GiB") as writer:
        for row in range(arguments.limit):
            writer.write({"image": content[row % 4096 :][:SAMPLE_BYTES], "label": row * CLASSES // arguments.limit})


def by_loader(shuffle):
    def batches(arguments):
        import shale.torch

        words = {"shuffle_block": arguments.block, "shuffle_buffer": arguments.buffer} if shuffle == "block" else {}
        dataset = shale.Dataset(arguments.dataset, fields=["image", "label"])
        loader = shale.torch.Loader(dataset, arguments.batch, shuffle=shuffle, num_threads=arguments.threads, **words)
        epochs = itertools.chain.from_iterable(itertools.repeat(loader, arguments.epochs))
        return (batch["label"].tolist() for batch in epochs)

    return batches


def by_pread(arguments):
    shards = readers.Shards(arguments.dataset)
    descriptors = shards.open_files()
    places = [(number, row) for number, index in enumerate(shards.indexes) for row in range(len(index))]
    random.Random(1).shuffle(places)
    for begin in range(0, len(places), arguments.batch):
        batch = places[begin : begin + arguments.batch]
        rows = [(descriptors[number], shards.indexes[number][row]) for number, row in batch]
        held = [os.pread(descriptor, int(row[shards.length]), int(row[shards.offset])) for descriptor, row in rows]
        yield [int(row["label"]) for _, row in rows]
        del held


def by_raw(arguments):
    """Labels are not known: as many samples as were read."""
    from shale._arguments import bytes_of

    shards = readers.Shards(arguments.dataset)
    size = bytes_of(arguments.block, "block")
    pieces = [
        (descriptor, offset) for descriptor in shards.open_files() for offset in range(0, os.fstat(descriptor).st_size, size)
    ]
    buffers = [bytearray(size) for _ in range(min(64, len(pieces)))]
    with concurrent.futures.ThreadPoolExecutor(len(buffers)) as pool:
        for begin in range(0, len(pieces), len(buffers)):
            jobs = [pool.submit(os.preadv, descriptor, [buffer], offset) for (descriptor, offset), buffer in zip(pieces[begin:], buffers)]
            yield [-1] * (sum(job.result() for job in jobs) // SAMPLE_BYTES)


WAYS = {"block": by_loader("block"), "random": by_loader("random"), "pread": by_pread, "raw": by_raw}


def measure(arguments):
    import numpy
    import shale

    batches = WAYS[arguments.way](arguments)  # what is imported and opened is not timed, reading begins with the first batch
    labels, times, memory = [], [time.perf_counter()], []
    for batch in batches:
        labels += batch
        times.append(time.perf_counter())
        if len(times) in (2, 11):
            memory.append(process_tree.usage())
        if arguments.limit and len(labels) >= arguments.limit:
            break
    memory.append(process_tree.usage())
    seconds, steps = times[-1] - times[0], len(times) - 1
    percent = max(1, steps // 100)
    even = len(labels) / steps
    result = {
        "rate": len(labels) / seconds, "seconds": seconds, "samples": len(labels), "megabytes_per_s": len(labels) * SAMPLE_BYTES / seconds / 1e6,
        "rate_first": percent * even / (times[percent + 1] - times[1]) if steps > percent else 0.0,
        "rate_last": percent * even / (times[-1] - times[-1 - percent]),
        "rss": memory[-1]["rss"], "growth": memory[-1]["rss"] - memory[min(1, len(memory) - 1)]["rss"],
    }
    if labels and labels[0] >= 0:
        score = shale.shuffle_score(numpy.arange(len(labels)), labels, arguments.batch)
        result |= {"score": score.score, "first": score.first, "middle": score.middle, "last": score.last}
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=["make", *WAYS])
    parser.add_argument("dataset")
    parser.add_argument("--block", default="1MiB")
    parser.add_argument("--buffer", default="256MiB")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))  # as the loader's own default, up to 8
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--limit", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.way == "make":
        make(arguments)
    else:
        print(json.dumps(measure(arguments)), flush=True)
        process_tree.end()


if __name__ == "__main__":
    main()
