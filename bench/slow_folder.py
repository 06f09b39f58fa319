#!/usr/bin/env python3
"""A folder seen through FUSE, each of whose answers takes a while: what a file server on the network is like.

python3 bench/slow_folder.py FOLDER MOUNT_POINT MILLISECONDS    until it is unmounted (umount MOUNT_POINT)
Needs fusepy, and libfuse 2 (apt-get install libfuse2 fuse). Answers wait side by side: many at once take as long as one.
"""

import os
import sys
import time

import fuse


class SlowFolder(fuse.Operations):
    def __init__(self, root, seconds):
        self.root, self.seconds = root, seconds

    def path_of(self, path):
        time.sleep(self.seconds)
        return self.root + path

    def getattr(self, path, fh=None):
        facts = os.lstat(self.path_of(path))
        return {key: getattr(facts, key) for key in dir(facts) if key.startswith("st_")}

    def readdir(self, path, fh):
        return [".", "..", *os.listdir(self.path_of(path))]

    def open(self, path, flags):
        return os.open(self.path_of(path), flags)

    def read(self, path, size, offset, fh):
        time.sleep(self.seconds)
        return os.pread(fh, size, offset)

    def release(self, path, fh):
        os.close(fh)


if __name__ == "__main__":
    folder, mount_point, milliseconds = sys.argv[1:]
    # Nothing is kept between two runs.
    fuse.FUSE(SlowFolder(os.path.realpath(folder), float(milliseconds) / 1000), mount_point, foreground=True, ro=True,
              entry_timeout=0, attr_timeout=0, allow_other=True)  # fmt: skip
