"""Reads files past the page cache, by threads: what the disk gives. Prints nothing. Imports little, so that it starts fast.

direct_read.py THREADS FILE...
"""

import mmap
import os
import sys
import threading

BYTES_AT_ONCE = 4 << 20


def read(paths):
    room = mmap.mmap(-1, BYTES_AT_ONCE)  # on a page of its own, as O_DIRECT wants it
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
        offset = 0
        while got := os.preadv(descriptor, [room], offset):
            offset += got
        os.close(descriptor)


def main(threads, *paths):
    readers = [threading.Thread(target=read, args=(paths[number :: int(threads)],)) for number in range(int(threads))]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
