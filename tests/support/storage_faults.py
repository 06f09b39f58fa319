"""Calls to the storage that fail on purpose: storage_faults.c, built and preloaded."""

import errno
import os
import pathlib
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).with_suffix(".c")
SHORT = 0


class FaultyStorage:
    """The library, built in a folder; whose tests are skipped where there is no C compiler."""

    def __init__(self, folder):
        self.library, self.log = pathlib.Path(folder) / "storage_faults.so", pathlib.Path(folder) / "faults.log"
        compiler = os.environ.get("CC", "cc").split()
        try:
            subprocess.run([*compiler, "-O1", "-shared", "-fPIC", "-o", self.library, SOURCE, "-ldl"], check=True)
        except FileNotFoundError:
            raise unittest.SkipTest("no C compiler") from None

    def environment(self, calls, error, path, skip=0, times=1, ring=True, log=None):
        """What a program is started with so that `times` of these calls (0: all) fail after the first `skip`, on paths with `path` in them."""
        return {
            "LD_PRELOAD": str(self.library),
            "FAULT_CALLS": calls,
            "FAULT_ERROR": str(error),
            "FAULT_PATH": str(path),
            "FAULT_SKIP": str(skip),
            "FAULT_TIMES": str(times),
            "FAULT_LOG": str(log or self.log),
            **({} if ring else {"FAULT_RING": "no"}),
        }


def struck(log):
    """The faults that a run met, (call, path) each; forgets them."""
    content = pathlib.Path(log).read_bytes()
    os.unlink(log)
    lines = content[16:].rstrip(b"\0").decode(errors="surrogateescape").splitlines()
    return [tuple(line.split(" ", 1)) for line in lines]


def name_of(error):
    return "a short transfer" if error == SHORT else errno.errorcode[error]
