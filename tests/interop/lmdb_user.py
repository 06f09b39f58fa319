"""A training script as people write them, over the real lmdb or over shale.lmdb: what it reads, as JSON on stdout.

lmdb_user.py real|shale READER PATH WORKERS [fork|spawn|forkserver]
The readers import lmdb by its name and know nothing of shale. Their layouts: folder2lmdb, CoCLR, tensorpack, torchvision's LSUN.
"""

import sys

if sys.argv[1] == "shale":
    import shale.lmdb

    shale.lmdb.install()

import hashlib
import json
import os
import pickle

import lmdb
import torch.utils.data


class FolderLmdb(torch.utils.data.Dataset):
    """Pickles of (bytes, label) under decimal keys; `__keys__` and `__len__` are pickles beside them."""

    def __init__(self, path):
        self.env = lmdb.open(path, subdir=os.path.isdir(path), readonly=True, lock=False, readahead=False, meminit=False)
        with self.env.begin(write=False) as txn:
            self.length = pickle.loads(txn.get(b"__len__"))
            self.keys = pickle.loads(txn.get(b"__keys__"))

    def __getitem__(self, index):
        with self.env.begin(write=False) as txn:
            unpacked = pickle.loads(txn.get(self.keys[index]))
        return hashlib.md5(unpacked[0]).hexdigest(), unpacked[1]

    def __len__(self):
        return self.length


class LazyFolderLmdb(FolderLmdb):
    """The same, with one transaction for ever and with memoryviews, begun by whoever reads first."""

    def __init__(self, path):
        super().__init__(path)
        self.txn = None

    def __getitem__(self, index):
        if self.txn is None:
            self.txn = self.env.begin(write=False, buffers=True)
        unpacked = pickle.loads(self.txn.get(self.keys[index]))
        return hashlib.md5(unpacked[0]).hexdigest(), unpacked[1]


class EagerFolderLmdb(LazyFolderLmdb):
    """The same, with the transaction begun by the parent: its forked workers inherit it."""

    def __init__(self, path):
        super().__init__(path)
        self.txn = self.env.begin(write=False, buffers=True)


class VideoLmdb(torch.utils.data.Dataset):
    """CoCLR's: lists of JPEGs as msgpack under 9-digit keys, `__order__` gives the names."""

    def __init__(self, path):
        import msgpack

        self.loads = msgpack.loads
        self.env = lmdb.open(path, subdir=os.path.isdir(path), readonly=True, lock=False, readahead=False, meminit=False)
        with self.env.begin(write=False) as txn:
            self.db_length = msgpack.loads(txn.get(b"__len__"))
            self.db_order = msgpack.loads(txn.get(b"__order__"))

    def __getitem__(self, index):
        env = self.env
        with env.begin(write=False) as txn:
            raw = self.loads(txn.get(b"%09d" % index))
        return self.db_order[index].decode(), [hashlib.md5(frame).hexdigest() for frame in raw]

    def __len__(self):
        return self.db_length


class TensorpackLmdb(torch.utils.data.IterableDataset):
    """Pickles of lists; `__keys__` alone beside them; the file is read from its first key to its last, with readahead."""

    def __init__(self, path):
        self.path = path
        self.open_lmdb()

    def open_lmdb(self):
        self.env = lmdb.open(self.path, subdir=os.path.isdir(self.path), readonly=True, lock=False, readahead=True, map_size=1 << 40, max_readers=100)
        self.txn = self.env.begin()
        self.size = self.txn.stat()["entries"] - 1

    def __iter__(self):
        with self.txn.cursor() as cursor:
            for key, value in cursor:
                if key != b"__keys__":
                    yield [key.decode(), hashlib.md5(pickle.loads(value)[0]).hexdigest()]
        assert self.size == len(pickle.loads(self.txn.get(b"__keys__")))


class ForEver:
    """A batch sampler that begins again and again."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __len__(self):
        return len(self.sampler)

    def __iter__(self):
        while True:
            yield from iter(self.sampler)


class FastDataLoader(torch.utils.data.DataLoader):
    """A DataLoader whose workers are made once and live for ever."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        object.__setattr__(self, "batch_sampler", ForEver(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self):
        return len(self.batch_sampler.sampler)

    def __iter__(self):
        for _ in range(len(self)):
            yield next(self.iterator)


class Lsun(torch.utils.data.Dataset):
    """torchvision.datasets.LSUN, the real one; it leaves a cache in the working directory."""

    def __init__(self, path):
        from conftest import real_torchvision

        self.images = real_torchvision().datasets.LSUN(path, classes=["bedroom_train", "tower_train"])

    def __getitem__(self, index):
        picture, label = self.images[index]
        return hashlib.md5(picture.tobytes()).hexdigest(), label

    def __len__(self):
        return len(self.images)


READERS = {"folder2lmdb": FolderLmdb, "lazy": LazyFolderLmdb, "eager": EagerFolderLmdb, "coclr": VideoLmdb, "tensorpack": TensorpackLmdb, "lsun": Lsun}  # fmt: skip


def same(samples):
    return samples


def main():
    _, _, reader, path, workers, *start = sys.argv
    dataset = READERS[reader](path)
    kind = FastDataLoader if reader == "coclr" else torch.utils.data.DataLoader
    how = start[0] if start else ("fork" if int(workers) else None)
    more = {"timeout": 120, "persistent_workers": True} if int(workers) else {}
    loader = kind(dataset, batch_size=3, num_workers=int(workers), multiprocessing_context=how, collate_fn=same, **more)
    epochs = [[sample for batch in loader for sample in batch] for _ in range(2)]
    print(json.dumps(epochs))


if __name__ == "__main__":
    main()
