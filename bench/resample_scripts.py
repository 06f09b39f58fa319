"""What one would write with numpy to draw rows of an .npy file, for bench/resample.py; runs in the peers' environment.

resample_scripts.py sorted|recipe replace|permute IN.npy OUT.npy SHARE     draws the first SHARE of as many rows as IN has
resample_scripts.py check replace|permute IN.npy OUT.npy NUMBERS.npy       whether OUT holds the rows that NUMBERS names
sorted and recipe end with a line of JSON: the rows that were written, of how many, and the seconds that took.
"""

import json
import math
import mmap
import os
import sys
import time

import numpy as np

SORTED_ROWS = 100_000
RECIPE_ROWS = 500
CHECKED_ROWS = 3000


def drawn(draw, count, piece):
    """The numbers of `count` rows, `piece` by `piece`, endlessly many or once each."""
    random = np.random.default_rng(0)
    if draw == "permute":
        order = random.permutation(count)
        return (order[begin : begin + piece] for begin in range(0, count, piece))
    return (random.integers(count, size=min(piece, count - begin)) for begin in range(0, count, piece))


def timed(draw, count, piece, share, write, flush):
    """Writes whole pieces until `share` of the rows are done, brings them to the disk, and says what that took."""
    pieces = drawn(draw, count, piece)
    done, wall, cpu = 0, time.monotonic(), time.process_time()
    for _ in range(math.ceil(share * count / piece)):
        numbers = next(pieces)
        write(done, numbers)
        done += len(numbers)
    flush()
    facts = {"rows": done, "of_rows": count, "seconds": time.monotonic() - wall, "cpu_seconds": time.process_time() - cpu}
    print(json.dumps(facts))


def write_sorted(draw, source, out, share):
    """numpy at its best: no read-ahead, rows read in the order of the file, written in the order of the draw."""
    source._mmap.madvise(mmap.MADV_RANDOM)
    plain = np.asarray(source)
    with open(out, "wb") as file:
        facts = {"descr": source.dtype.str, "fortran_order": False, "shape": source.shape}
        np.lib.format.write_array_header_1_0(file, facts)

        def write(_, numbers):
            order = np.argsort(numbers)
            rows = np.empty((len(numbers), *plain.shape[1:]), plain.dtype)
            rows[order] = plain[numbers[order]]
            rows.tofile(file)

        timed(draw, len(plain), SORTED_ROWS, share, write, lambda: os.fsync(file.fileno()))


def write_recipe(draw, source, out, share):
    """The recipe: random rows of a mapped file into a mapped file, chunk by chunk."""
    target = np.lib.format.open_memmap(out, mode="w+", dtype=source.dtype, shape=source.shape)

    def write(begin, numbers):
        target[begin : begin + len(numbers)] = source[numbers]

    timed(draw, len(source), RECIPE_ROWS, share, write, target.flush)


class Rows:
    """The rows of an .npy file, read one by one, not mapped: a fault would read ahead by megabytes."""

    def __init__(self, path):
        mapped = np.load(path, mmap_mode="r")
        self.count, self.shape, self.dtype = len(mapped), mapped.shape[1:], mapped.dtype
        self.begin, self.row_bytes = mapped.offset, mapped[:1].nbytes
        self.file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_RANDOM)
        found, expected = os.fstat(self.file).st_size, self.begin + self.count * self.row_bytes
        if found != expected:
            raise SystemExit(f"{path}: {found} bytes, expected {expected}")

    def __getitem__(self, number):
        return os.pread(self.file, self.row_bytes, self.begin + int(number) * self.row_bytes)


def check(draw, source_path, out_path, numbers_path):
    """Every number, and so many rows, spread at random over the output."""
    source, out, numbers = Rows(source_path), Rows(out_path), np.load(numbers_path)
    if (out.shape, out.dtype, out.count) != (source.shape, source.dtype, len(numbers)):
        raise SystemExit(f"{out_path}: {out.count} rows of {out.dtype} {out.shape} for {len(numbers)} numbers of {source_path}")
    if numbers.min() < 0 or numbers.max() >= source.count:
        raise SystemExit(f"{numbers_path}: {numbers.min()} to {numbers.max()}, of {source.count} rows")
    if draw == "permute" and not np.array_equal(np.sort(numbers), np.arange(source.count)):
        raise SystemExit(f"{numbers_path}: not each row once")
    positions = np.random.default_rng(0).choice(out.count, min(CHECKED_ROWS, out.count), replace=False)
    for position in np.sort(positions):
        if out[position] != source[numbers[position]]:
            raise SystemExit(f"{out_path}: row {position} is not row {numbers[position]} of {source_path}")


if __name__ == "__main__":
    way, how, path_in, path_out, last = sys.argv[1:]
    if way == "check":
        check(how, path_in, path_out, last)
    else:
        {"sorted": write_sorted, "recipe": write_recipe}[way](how, np.load(path_in, mmap_mode="r"), path_out, float(last))
