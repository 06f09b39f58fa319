"""A training job as users write it: a DataLoader with 2 persistent workers, 3 shuffled epochs over an LMDB.

    python tests/slurm/train_job.py READER PATH        READER: py-lmdb, shale.lmdb or shale.Dataset

Prints a line an epoch: samples read, a checksum of all their bytes, and the peak resident sets of the processes so far. SLURM adds
these up. tests/slurm/test_slurm.py runs it under SLURM; it runs anywhere.
"""

import importlib
import multiprocessing
import os
import sys
import zlib

import torch

EPOCHS = 3
WORKERS = 2
BATCH = 32
SEEN_BYTES = 1024  # what the model sees of a value


def checksum(value):
    """Of one value. A sum of them says that an epoch saw every value once, in whatever order."""
    return zlib.crc32(value) + len(value)


def training_sample(value):
    head = torch.frombuffer(bytearray(value[:SEEN_BYTES]), dtype=torch.uint8)
    return {"input": head.float() / 255, "label": value[-1], "checksum": checksum(value)}


class LmdbSamples(torch.utils.data.Dataset):
    """`module` is lmdb or shale.lmdb: the code is the same."""

    def __init__(self, module, path):
        self.module = module
        self.path = path
        self.transaction = None
        environment = self.open()
        self.length = environment.stat()["entries"]
        environment.close()

    def open(self):
        lmdb = importlib.import_module(self.module)
        return lmdb.open(self.path, subdir=os.path.isdir(self.path), readonly=True, lock=False, readahead=False)

    def __len__(self):
        return self.length

    def __getitem__(self, position):
        if self.transaction is None:  # the worker's own: no handle goes through fork
            self.transaction = self.open().begin()
        return training_sample(self.transaction.get(f"{position:08}".encode()))


class ShaleSamples(torch.utils.data.Dataset):
    def __init__(self, path):
        self.samples = importlib.import_module("shale").Dataset(path)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, position):
        return training_sample(self.samples[position]["value"])


READERS = {
    "py-lmdb": lambda path: LmdbSamples("lmdb", path),
    "shale.lmdb": lambda path: LmdbSamples("shale.lmdb", path),
    "shale.Dataset": ShaleSamples,
}


def peak_rss_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        peak = next(line for line in status if line.startswith("VmHWM:"))
    return int(peak.split()[1]) // 1024


def train(dataset):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(SEEN_BYTES, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256))
    loader = torch.utils.data.DataLoader(dataset, BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=True)
    for epoch in range(EPOCHS):
        samples = total = 0
        for batch in loader:
            loss = torch.nn.functional.cross_entropy(model(batch["input"]), batch["label"])
            gradients = torch.autograd.grad(loss, list(model.parameters()))
            # By hand: torch.optim imports so much that the three processes together are 200 MiB larger.
            for weights, gradient in zip(model.parameters(), gradients):
                weights.data -= 0.1 * gradient
            samples += len(batch["label"])
            total += int(batch["checksum"].sum())
        workers = [peak_rss_mib(worker.pid) for worker in multiprocessing.active_children()]
        main = peak_rss_mib(os.getpid())
        print(f"epoch={epoch} samples={samples} checksum={total} main_mib={main} workers_mib={sum(workers)}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in READERS:
        sys.exit(__doc__)
    train(READERS[sys.argv[1]](sys.argv[2]))
    print("trained", flush=True)
