"""Cold runs within a memory limit: what a step reads is not in the page cache, all else (programs, libraries) stays there.

runs = alternate(steps, rounds, work, limit=512 << 20)
"""

import ctypes
import dataclasses
import mmap
import os
import pathlib

import harness
from harness import MIB
from memory_group import MemoryGroup

GROUP = "shale-bench"
PAGE = mmap.PAGESIZE


def alternate(steps, rounds, work, limit, **more):
    """harness.alternate, each run cold and in a group of its own."""
    return harness.alternate(steps, rounds, work, f"{limit // MIB} MiB", cold_in(limit), **more)


def cold_in(limit):
    """A way to measure: the files of the step dropped, the command in a memory cgroup, whose peak charges are reported."""

    def measure(step):
        for root in map(pathlib.Path, step.reads):
            drop_files([root] if root.is_file() else sorted(root.iterdir()))
        with MemoryGroup(GROUP, limit) as group:
            run = harness.measured(dataclasses.replace(step, command=group.around(step.command)))
        run.reported["peak_file_bytes"] = group.peak_file_bytes
        run.reported["peak_group_bytes"] = group.peak_bytes
        return run

    return measure


def drop_files(paths):
    """Drops the files from the page cache, and proves that they are gone."""
    os.sync()
    for path in paths:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            left = cached_pages(file)
        if left:
            raise SystemExit(f"bench: {left} pages of {path} stay in the page cache\nhint: another program maps or reads it")


def cached_pages(file):
    """mincore of a whole file."""
    size = os.fstat(file.fileno()).st_size
    if size == 0:
        return 0
    with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as view:
        first = ctypes.c_char.from_buffer(view)
        found = (ctypes.c_ubyte * -(-size // PAGE))()
        failed = ctypes.CDLL(None, use_errno=True).mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(size), found)
        del first
        if failed:
            raise SystemExit(f"bench: mincore: {os.strerror(ctypes.get_errno())}")
    return sum(page & 1 for page in bytes(found))
