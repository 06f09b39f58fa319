"""Packs an image folder with a peer's own writer, used as its documents show; runs in the peers' environment.

peer_writers.py webdataset|mds|lmdb|hdf5|ffcv|litdata FOLDER OUT    (ffcv, litdata: in the environment of bench/loader.py)
peer_writers.py webdataset FOLDER OUT SAMPLES     shards of so many samples, for bench/growth.py
peer_writers.py shale FOLDER OUT                  the same loop with shale.Writer, for bench/writer.py
peer_writers.py coclr FOLDER OUT                  folders of frames, for bench/frames.py
peer_writers.py lmdb-values COUNT OUT             an LMDB of COUNT values of 100 KiB, for bench/scan.py
"""

import importlib.util
import os
import sys
import types

VALUE_BYTES = 100 << 10


def samples(folder):
    """(path, label) in the order of ImageFolder, for folders without nested ones."""
    for label, name in enumerate(sorted(os.listdir(folder))):
        for file in sorted(os.listdir(os.path.join(folder, name))):
            yield os.path.join(folder, name, file), label


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write_webdataset(folder, out, shard_samples=1 << 30):
    import webdataset

    os.makedirs(out)
    with webdataset.ShardWriter(os.path.join(out, "%06d.tar"), maxsize=256 << 20, maxcount=int(shard_samples), verbose=0) as sink:
        for number, (path, label) in enumerate(samples(folder)):
            sink.write({"__key__": f"{number:08}", "jpg": read(path), "cls": label})


def import_mds_writer():
    """MDSWriter without what the package imports besides: PyTorch, the datasets and the cloud clients, which the writer never
    calls. They would cost it seconds of start-up in a measurement that takes seconds.
    """
    (home,) = importlib.util.find_spec("streaming").submodule_search_locations
    for name in ("streaming", "streaming.base", "streaming.base.format"):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(home, *name.split(".")[1:])]
        sys.modules[name] = package
    for name in ("torch", "torch.distributed", "torch.utils", "torch.utils.data"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["torch"].distributed = sys.modules["torch.distributed"]
    sys.modules["torch"].Tensor = sys.modules["torch.utils.data"].get_worker_info = None
    from streaming.base.format.mds.writer import MDSWriter

    return MDSWriter


def write_mds(folder, out):
    MDSWriter = import_mds_writer()

    columns = {"image": "bytes", "label": "int"}
    with MDSWriter(out=out, columns=columns, size_limit=64 << 20, hashes=["xxh3_64"]) as sink:
        for path, label in samples(folder):
            sink.write({"image": read(path), "label": label})


def write_shale(folder, out):
    import shale

    with shale.Writer(out, "record", {"image": "bytes", "label": "int"}, classes=sorted(os.listdir(folder))) as writer:
        for path, label in samples(folder):
            writer.write({"key": os.path.relpath(path, folder), "image": read(path), "label": label})


def write_lmdb(folder, out):
    """The settings are those of folder2lmdb, the values those that shale writes."""
    import lmdb
    import msgpack

    os.makedirs(out)
    env = lmdb.open(os.path.join(out, "data.lmdb"), subdir=False, map_size=1 << 40, meminit=False, map_async=True)
    txn = env.begin(write=True)
    for number, (path, label) in enumerate(samples(folder)):
        value = {"key": os.fsencode(os.path.relpath(path, folder)), "image": read(path), "label": label}
        txn.put(b"%08d" % number, msgpack.packb(value))
        if number % 5000 == 4999:
            txn.commit()
            txn = env.begin(write=True)
    txn.commit()
    env.sync()
    env.close()


def write_coclr(folder, out):
    """What CoCLR's convert_video_to_lmdb.py does, in one loop: a value per video, a commit every 100."""
    import glob

    import lmdb
    import msgpack

    os.makedirs(out)
    env = lmdb.open(os.path.join(out, "data.lmdb"), subdir=False, map_size=1 << 41, meminit=False, map_async=True)
    txn = env.begin(write=True)
    names, lengths = [], []
    for path in sorted(glob.glob(os.path.join(folder, "*", "*"))):
        frames = [read(frame) for frame in sorted(glob.glob(os.path.join(path, "*.jpg")))]
        txn.put(b"%09d" % len(names), msgpack.dumps(frames))
        names.append(os.path.relpath(path, folder).encode())
        lengths.append(len(frames))
        if len(names) % 100 == 0:
            txn.commit()
            txn = env.begin(write=True)
    keys = [b"%09d" % number for number in range(len(names))]
    for name, value in (("keys", keys), ("len", len(keys)), ("order", names), ("vlen", lengths)):
        txn.put(f"__{name}__".encode(), msgpack.dumps(value))
    txn.commit()
    env.sync()
    env.close()


def write_lmdb_values(count, out):
    import lmdb

    os.makedirs(out)
    pool = os.urandom(1 << 20)
    env = lmdb.open(os.path.join(out, "data.lmdb"), subdir=False, map_size=1 << 40, sync=False)
    for begin in range(0, int(count), 1000):
        with env.begin(write=True) as txn:
            for number in range(begin, min(begin + 1000, int(count))):
                at = number * 7919 % (len(pool) - VALUE_BYTES)
                txn.put(b"%08d" % number, pool[at : at + VALUE_BYTES], append=True)
    env.sync(True)
    env.close()


def write_hdf5(folder, out):
    import h5py
    import numpy as np

    os.makedirs(out)
    found = list(samples(folder))
    with h5py.File(os.path.join(out, "data.h5"), "w") as file:
        images = file.create_dataset("images", (len(found),), dtype=h5py.vlen_dtype(np.uint8))
        labels = file.create_dataset("labels", (len(found),), dtype=np.int64)
        for number, (path, label) in enumerate(found):
            images[number] = np.frombuffer(read(path), np.uint8)
            labels[number] = label


def write_ffcv(folder, out):
    """FFCV does not store files unchanged: each photo is decoded and re-encoded (its "jpg" mode, quality 90, its default)."""
    from ffcv.fields import IntField, RGBImageField
    from ffcv.writer import DatasetWriter

    os.makedirs(out)
    fields = {"image": RGBImageField(write_mode="jpg"), "label": IntField()}
    DatasetWriter(os.path.join(out, "data.beton"), fields).from_indexed_dataset(DecodedPhotos(list(samples(folder))))


class DecodedPhotos:
    """(PIL.Image, label): what FFCV's writer takes. Its workers are given a copy."""

    def __init__(self, found):
        self.found = found

    def __len__(self):
        return len(self.found)

    def __getitem__(self, number):
        from PIL import Image

        path, label = self.found[number]
        with Image.open(path) as image:
            return image.convert("RGB"), label


def as_it_is(sample):
    path, label = sample
    return {"image": read(path), "label": label}


def write_litdata(folder, out):
    import litdata

    litdata.optimize(as_it_is, list(samples(folder)), out, chunk_bytes="64MB", num_workers=os.cpu_count())


WRITERS = {
    "ffcv": write_ffcv,
    "litdata": write_litdata,
    "webdataset": write_webdataset,
    "mds": write_mds,
    "lmdb": write_lmdb,
    "coclr": write_coclr,
    "lmdb-values": write_lmdb_values,
    "hdf5": write_hdf5,
    "shale": write_shale,
}

if __name__ == "__main__":
    WRITERS[sys.argv[1]](*sys.argv[2:])
