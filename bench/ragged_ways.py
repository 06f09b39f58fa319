"""What bench/ragged.py measures: samples of any length written and read in one way each. Runs in the peers' environment.

ragged_ways.py tokens shale|hdf5|mds|datasets COUNT OUT    COUNT samples of 100 to 2,000 token ids (uint16), from a loop or a generator
ragged_ways.py fixed shale COUNT OUT                  as many samples and bytes, all of one length
ragged_ways.py maps|graphs COUNT OUT                  an LMDB file of pickled dicts, or of OC20's objects of PyTorch Geometric
ragged_ways.py again IN OUT                           the loop that unpickles each of its values and writes it to another LMDB file
ragged_ways.py dataset|pread DATASET READS            samples in random order: {"us": microseconds each}
"""

import json
import os
import pickle
import sys
import time

import numpy as np

LEAST_IDS, MOST_IDS = 100, 2000
POOL_IDS = 1 << 24
LEAST_ATOMS, MOST_ATOMS = 20, 60
COMMIT_EVERY = 5000
MAPPED_BYTES = 1 << 40
WARM_UP = 2000


def tokens(count):
    """Views of a pool, so that a sample costs next to nothing before it is written."""
    random = np.random.default_rng(1)
    pool = random.integers(0, 50_000, POOL_IDS, dtype=np.uint16)
    lengths = random.integers(LEAST_IDS, MOST_IDS + 1, count)
    begins = random.integers(0, POOL_IDS - MOST_IDS, count)
    for begin, length in zip(begins.tolist(), lengths.tolist()):
        yield pool[begin : begin + length]


def fixed(count):
    random = np.random.default_rng(1)
    pool = random.integers(0, 50_000, POOL_IDS, dtype=np.uint16)
    length = int(np.random.default_rng(2).integers(LEAST_IDS, MOST_IDS + 1, count).mean())
    for begin in random.integers(0, POOL_IDS - MOST_IDS, count).tolist():
        yield pool[begin : begin + length]


def write_shale(samples, out, schema, to="record"):
    import shale

    with shale.Writer(out, to, schema) as writer:
        for ids in samples:
            writer.write({"tokens": ids})


def write_mds(samples, out):
    from peer_writers import import_mds_writer

    with import_mds_writer()(out=out, columns={"tokens": "ndarray:uint16"}, size_limit=64 << 20, hashes=["xxh3_64"]) as sink:
        for ids in samples:
            sink.write({"tokens": ids})


def write_datasets(count, out):
    import datasets

    datasets.disable_progress_bars()
    features = datasets.Features({"tokens": datasets.Sequence(datasets.Value("uint16"))})
    # The Arrow files that this leaves in `cache_dir` are the dataset: load_from_disk's copy is not asked for.
    datasets.Dataset.from_generator(lambda: ({"tokens": ids} for ids in tokens(count)), features=features, cache_dir=out)


def molecules(count):
    """As OC20 has them: of each structure numbers of atoms, positions, forces, a cell, an energy, a name."""
    random = np.random.default_rng(1)
    pool = random.standard_normal((1 << 20, 3), dtype=np.float32)
    elements = random.integers(1, 90, 1 << 20)
    atoms = random.integers(LEAST_ATOMS, MOST_ATOMS + 1, count).tolist()
    begins = random.integers(0, (1 << 20) - 2 * MOST_ATOMS, count).tolist()
    for number, (begin, size) in enumerate(zip(begins, atoms)):
        yield {
            "atomic_numbers": elements[begin : begin + size],
            "pos": pool[begin : begin + size],
            "force": pool[begin + size : begin + 2 * size],
            "cell": pool[begin : begin + 3],
            "energy": float(pool[begin, 0]),
            "sid": number,
        }


def graphs(count):
    """The same as objects of PyTorch Geometric, whose values are tensors: what OC20's own LMDB files hold."""
    import torch
    from torch_geometric.data import Data

    for sample in molecules(count):
        tensors = {name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for name, value in sample.items()}
        # A copy has a storage of its own; of a view the whole pool would be pickled.
        yield Data(**{name: value.clone() if torch.is_tensor(value) else value for name, value in tensors.items()})


class LmdbWriter:
    """py-lmdb as folder2lmdb and OC20's scripts use it."""

    def __init__(self, out):
        import lmdb

        self.env = lmdb.open(out, subdir=False, map_size=MAPPED_BYTES, meminit=False, map_async=True)
        self.txn, self.count = self.env.begin(write=True), 0

    def write(self, sample):
        self.txn.put(b"%08d" % self.count, pickle.dumps(sample, protocol=-1))
        self.count += 1
        if self.count % COMMIT_EVERY == 0:
            self.txn.commit()
            self.txn = self.env.begin(write=True)

    def close(self):
        self.txn.commit()
        self.env.sync()
        self.env.close()


def write_maps(samples, out):
    writer = LmdbWriter(out)
    for sample in samples:
        writer.write(sample)
    writer.close()


def write_again(source, out):
    import lmdb

    writer = LmdbWriter(out)
    with lmdb.open(source, subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        for _, value in txn.cursor():
            writer.write(pickle.loads(value))
    writer.close()


def positions(count, reads):
    order = np.random.default_rng(3).permutation(count)
    return np.resize(order, reads).tolist()


def timed(read, picks):
    for pick in picks[:WARM_UP]:
        read(pick)
    begin, cpu = time.perf_counter(), time.process_time()
    for pick in picks:
        read(pick)
    return {"us": (time.perf_counter() - begin) / len(picks) * 1e6, "cpu_us": (time.process_time() - cpu) / len(picks) * 1e6}


def read_dataset(path, reads):
    import shale

    dataset = shale.Dataset(path)
    return timed(dataset.__getitem__, positions(len(dataset), reads))


def read_bare(path, reads):
    """What the kernel and Python take: a pread of the value, at a place that a list holds."""
    from readers import Shards

    shards = Shards(path, "tokens")
    places = []
    for index, fd in zip(shards.indexes, shards.open_files()):
        places += zip([fd] * len(index), index[shards.length].tolist(), index[shards.offset].tolist())
    return timed(lambda place: os.pread(*place), [places[at] for at in positions(len(places), reads)])


def main(way, *words):
    if way == "tokens" and words[0] == "datasets":
        write_datasets(int(words[1]), words[2])
    elif way in ("tokens", "fixed"):
        peer, count, out = words[0], int(words[1]), words[2]
        samples = {"tokens": tokens, "fixed": fixed}[way](count)
        if peer == "mds":
            return write_mds(samples, out)
        length = "?" if way == "tokens" else len(next(fixed(count)))
        write_shale(samples, out, {"tokens": f"uint16 ({length})"}, "hdf5" if peer == "hdf5" else "record")
    elif way in ("maps", "graphs"):
        write_maps({"maps": molecules, "graphs": graphs}[way](int(words[0])), words[1])
    elif way == "again":
        write_again(*words)
    else:
        print(json.dumps({"dataset": read_dataset, "pread": read_bare}[way](words[0], int(words[1]))))


if __name__ == "__main__":
    main(*sys.argv[1:])
