"""Reads what peer_writers.py wrote, for bench/growth.py; runs in the peers' environment.

peer_reads.py lmdb|webdataset OUT     every sample
peer_reads.py lmdb OUT NUMBER         one sample
"""

import os
import sys


def read_lmdb(out, number=None):
    import lmdb
    import msgpack

    env = lmdb.open(os.path.join(out, "data.lmdb"), subdir=False, readonly=True, lock=False)
    with env.begin() as txn:
        values = txn.cursor().iternext(keys=False) if number is None else [txn.get(b"%08d" % int(number))]
        return sum(len(msgpack.unpackb(value)["image"]) for value in values)


def read_webdataset(out):
    import webdataset

    shards = sorted(os.path.join(out, name) for name in os.listdir(out))
    return sum(len(sample["jpg"]) for sample in webdataset.WebDataset(shards, shardshuffle=False, empty_check=False))


if __name__ == "__main__":
    print({"lmdb": read_lmdb, "webdataset": read_webdataset}[sys.argv[1]](*sys.argv[2:]))
