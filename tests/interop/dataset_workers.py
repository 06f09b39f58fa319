"""What child processes of the dataset tests run. Apart from the tests: a spawned process imports this, not pytest."""

import os
import random

import torch
import xxhash


def rows_in_disorder(size, reads, seed):
    """So many rows of 0..size-1: whole permutations one after the other, the last one cut."""
    dice = random.Random(seed)
    rows = []
    while len(rows) < reads:
        epoch = list(range(size))
        dice.shuffle(epoch)
        rows += epoch
    return rows[:reads]


def digests(batch):
    """A number a sample, of everything that is in it."""
    return [xxhash.xxh3_64_intdigest(repr(sorted(sample.items())).encode()) for sample in batch]


def short_digests(batch):
    """The same for samples of `image` and `label`, quickly."""
    return [xxhash.xxh3_64_intdigest(sample["image"], sample["label"]) for sample in batch]


class InOrder(torch.utils.data.Sampler):
    """The rows, in batches."""

    def __init__(self, rows, batch_size):
        self.rows, self.batch_size = rows, batch_size

    def __iter__(self):
        for at in range(0, len(self.rows), self.batch_size):
            yield self.rows[at : at + self.batch_size]


def read_all(ds, rows, workers, method, collate=digests, batch_size=64):
    """The digests of those samples, in that order, as a DataLoader brings them."""
    loader = torch.utils.data.DataLoader(
        ds,
        batch_sampler=InOrder(rows, batch_size),
        num_workers=workers,
        collate_fn=collate,
        multiprocessing_context=method if workers else None,
    )
    return [digest for batch in loader for digest in batch]


def open_files(folder=None):
    """Descriptors of this process; of those to files in `folder` alone, if one is given."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue  # the one that lists them
        if folder is None or target.startswith(str(folder)) or "io_uring" in target:
            found.append(target)
    return found


def resident_bytes(of="VmRSS"):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(of + ":"))


def forked(act, timeout_s=60):
    """Runs `act` in a forked child. True if it returned a true value; False if it raised, or hung."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if act() else 2
        finally:
            os._exit(code)
    return wait_for(pid, timeout_s) == 0


def wait_for(pid, timeout_s=60):
    """The exit code of a child; None if it had to be killed."""
    descriptor = os.pidfd_open(pid)
    try:
        import select

        if not select.select([descriptor], [], [], timeout_s)[0]:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            return None
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        os.close(descriptor)


def refuse_io_uring():
    """From here on the kernel refuses io_uring to this process and its children, as containers do."""
    import ctypes
    import struct

    IO_URING_SETUP, ALLOW, EPERM = 425, 0x7FFF0000, 0x00050001
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, IO_URING_SETUP), (0x06, 0, 0, EPERM), (0x06, 0, 0, ALLOW)]
    program = b"".join(struct.pack("HBBI", *step) for step in code)
    memory = ctypes.create_string_buffer(program)
    head = struct.pack("HxxxxxxP", len(code), ctypes.addressof(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(head), 0, 0):
        raise OSError(ctypes.get_errno(), "no seccomp filter")
