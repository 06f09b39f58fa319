"""What the tests of `shale resample` share: a run of it, and NumPy's own word for what must come out."""

import json
import subprocess
import sys

import numpy as np
from conftest import SHALE, run_shale

MIB = 1 << 20
MODES = ("plain", "rows", "permute", "replace", "weights", "indices")


def saved(path, array):
    """np.save's file, for dtypes that np.save would warn of too."""
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array)
    return path


def noise(dtype, shape, seed=7):
    """Any bit pattern that the dtype has, NaNs and padding too; bools are 0 and 1."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    data = np.random.default_rng([seed, count]).integers(0, 256, count, "u1")
    if dtype == np.bool_:
        data &= 1
    return data.view(dtype).reshape(shape) if count else np.zeros(shape, dtype)


def little(array):
    """The same values as shale writes them: little-endian, in C order, each byte kept."""
    as_little = array.dtype.newbyteorder("<")
    if array.dtype == as_little:
        return np.array(array, order="C")
    # astype() would turn signalling NaNs into quiet ones; a structure's fields may lie either way.
    values = np.empty(array.shape, as_little)
    if array.dtype.names:
        for name in array.dtype.names:
            values[name] = little(array[name])
    elif array.dtype.isnative or array.dtype.byteorder == "|":
        values[...] = array
    else:
        values[...] = np.array(array, order="C").byteswap().view(as_little)
    return values


def words_of(mode, rows, folder, count):
    """The options of a draw from `rows` rows by a mode; `count` rows where the mode lets it be chosen."""
    if mode == "rows":
        return ["--rows", min(count, rows)]
    if mode == "replace":
        return ["--replace", "--rows", count if rows else 0]
    if mode == "weights":
        weights = saved(folder / "weights.npy", np.arange(rows, dtype="<f4") + 1)
        return ["--weights", weights, "--rows", count if rows else 0]
    if mode == "indices":
        dice = np.random.default_rng(count)
        numbers = dice.integers(-rows, rows, count if rows else 0)
        return ["--indices", saved(folder / "numbers.npy", numbers)]
    return {"plain": [], "permute": ["--permute"]}[mode]


def planned(*words):
    """What --dry-run says of each array."""
    return json.loads(run_shale("resample", *map(str, words), "--dry-run", "--json", "--quiet").stdout)["arrays"]


def resampled(sources, out, *words, strategy=None):
    """Draws into `out`, replacing it; the row numbers that --save-indices says. `strategy`: which one it has to be."""
    indices = out.with_name(out.stem + "-rows.npy")
    command = [*map(str, sources), str(out), *map(str, words), "--overwrite"]
    if strategy:
        assert planned(*command)[0]["strategy"] == strategy
    run_shale("resample", *command, "--save-indices", str(indices), "--quiet")
    numbers = np.load(indices)
    assert (numbers.dtype.str, numbers.ndim) == ("<i8", 1)
    check_file(indices, numbers)
    return numbers


def check_file(path, expected):
    """A file that np.save would have written, to the byte: header and data."""
    like = path.with_name("as-numpy-saves-it.npy")
    saved(like, expected)
    same = like.stat().st_size == path.stat().st_size and np.array_equal(np.memmap(path, "u1"), np.memmap(like, "u1"))
    assert same, f"{path} is not the file that NumPy saves: {first_bytes(path)} instead of {first_bytes(like)}"
    like.unlink()


def first_bytes(path):
    with open(path, "rb") as file:
        return file.read(160)


def check_draw(array, sources, out, *words, strategy=None):
    """Draws, and holds the file against array[numbers], to the byte."""
    numbers = resampled(sources, out, *words, strategy=strategy)
    assert numbers.size == 0 or (numbers.min() >= 0 and numbers.max() < len(array))
    check_file(out, little(array)[numbers])
    return numbers


# A fork counts the memory of the process that it was forked from: a small Python stands between.
METER = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], preexec_fn=lambda: None)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def peak_mib(*words):
    """Runs the tool quietly; the most memory that it held."""
    command = [sys.executable, "-S", "-E", "-c", METER, SHALE, *map(str, words), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout) / 1024


def is_drawn_from(array, path, numbers, at_once=1 << 22):
    """True if the file holds array[numbers], compared piece by piece: neither need fit in memory."""
    out = np.load(path, mmap_mode="r")
    assert (out.shape, out.dtype) == ((len(numbers), *array.shape[1:]), array.dtype)
    flat, rows = out.reshape(len(out), -1), array.reshape(len(array), -1)
    step = max(1, at_once // max(1, flat.shape[1]))
    pieces = (slice(first, first + step) for first in range(0, len(out), step))
    return all(np.array_equal(flat[piece], rows[numbers[piece]]) for piece in pieces)
