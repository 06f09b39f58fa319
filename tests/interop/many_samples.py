"""Inputs of many small samples, one of each kind, and the memory that converting them takes.

many_samples.py COUNT [KIND...]    prints the peak of each for --memory 64MiB; test_memory_of_inputs.py compares smaller ones

Made fast rather than varied: a value differs from another by its number at most.
"""

import json
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import tempfile

import crc32c
import h5py
import lmdb
import numpy as np

MIB = 1 << 20
FILES_OF_SET = 20
ROWS_AT_ONCE = 1 << 16
MAPPED_BYTES = 1 << 36
SIDE = 4


def masked(data):
    crc = crc32c.crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def delimited(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def frame(number):
    """A tf.train.Example with an integer and a run of bytes."""
    label = delimited(3, delimited(1, bytes([number & 0x7F])))
    image = delimited(1, delimited(1, b"%010d" % number))
    entries = (delimited(1, name) + delimited(2, value) for name, value in ((b"image", image), (b"label", label)))
    payload = delimited(1, b"".join(delimited(1, entry) for entry in entries))
    header = struct.pack("<Q", len(payload))
    return header + masked(header) + payload + masked(payload)


def tfrecords(folder, count):
    """A set of files, all with the same records."""
    records = b"".join(frame(number) for number in range(count // FILES_OF_SET))
    for number in range(FILES_OF_SET):
        (folder / f"part-{number:05}.tfrecord").write_bytes(records)
    return [folder]


def write_lmdb(path, entries):
    """`entries` in the order of their keys."""
    env = lmdb.open(str(path), subdir=False, map_size=MAPPED_BYTES, meminit=False, sync=False)
    with env, env.begin(write=True) as txn, txn.cursor() as cursor:
        cursor.putmulti(entries, append=True)
    return path


def lmdb_of_keys(folder, count):
    """As text recognition has it: two entries for a sample, and one that counts."""

    def entries():
        for number in range(count):
            yield b"image-%09d" % (number + 1), b"image"
        for number in range(count):
            yield b"label-%09d" % (number + 1), b"%d" % number
        yield b"num-samples", b"%d" % count

    return [write_lmdb(folder / "keys.lmdb", entries())]


def lmdb_of_pickles(folder, count):
    """Dicts with a number and an array of any length."""
    marked = 0x7EADBEEF
    forms = [
        pickle.dumps({"pos": np.zeros((rows, 3), np.float32), "sid": marked}, protocol=4).split(struct.pack("<i", marked)) for rows in (1, 2, 3)
    ]

    def entries():
        for number in range(count):
            yield b"%08d" % number, struct.pack("<i", number).join(forms[number % len(forms)])

    return [write_lmdb(folder / "pickles.lmdb", entries()), "--parse", "pickle"]


def hdf5_tree(folder, count):
    """Datasets of equal length in groups, one of them of variable length."""
    with h5py.File(folder / "tree.h5", "w") as file:
        file["train/x"] = np.zeros((count, SIDE), np.float32)
        file["train/meta/y"] = np.arange(count)
        ids = file.create_dataset("train/ids", count, h5py.vlen_dtype(np.uint16))
        rows = np.empty(ROWS_AT_ONCE, object)
        for row in range(ROWS_AT_ONCE):
            rows[row] = np.zeros(row % 4, np.uint16)
        for begin in range(0, count, ROWS_AT_ONCE):
            ids[begin : begin + ROWS_AT_ONCE] = rows[: count - begin]
    return [folder / "tree.h5"]


def hdf5_of_groups(folder, count):
    """A group for each sample."""
    row = np.zeros(SIDE, np.float32)
    with h5py.File(folder / "groups.h5", "w", libver="latest") as file:
        for number in range(count):
            group = file.create_group(f"sample{number:08}")
            group["x"] = row
            group["y"] = number
    return [folder / "groups.h5"]


def npz(folder, count):
    np.savez(folder / "rows.npz", x=np.zeros((count, SIDE), np.float32), y=np.arange(count))
    return [folder / "rows.npz"]


def deflated_npz(folder, count):
    np.savez_compressed(folder / "packed.npz", x=np.zeros((count, SIDE), np.float32), y=np.arange(count))
    return [folder / "packed.npz"]


def lmdb_joined_by_key(folder, count):
    for name, odd in (("lq", 0), ("gt", 1)):
        write_lmdb(folder / f"{name}.lmdb", ((b"%09d" % (number + odd), name.encode()) for number in range(count)))
    return [f"lq={folder}/lq.lmdb", f"gt={folder}/gt.lmdb", "--on", "key", "--partners", "all"]


def table_joined_by_row(folder, count):
    np.save(folder / "x.npy", np.zeros((count, SIDE), np.float32))
    with open(folder / "y.csv", "w") as file:
        file.write("y,name\n")
        file.writelines(f"{number},n{number}\n" for number in range(count))
    return [f"x={folder}/x.npy", f"t={folder}/y.csv"]


INPUTS = {
    "TFRecord files": tfrecords,
    "LMDB, entries by key": lmdb_of_keys,
    "LMDB, pickles": lmdb_of_pickles,
    "HDF5 tree": hdf5_tree,
    "HDF5, a group per sample": hdf5_of_groups,
    "npz": npz,
    "npz, deflated": deflated_npz,
    "two LMDBs joined by key": lmdb_joined_by_key,
    "an array and a CSV joined by row": table_joined_by_row,
}


# ---- how much memory they take ------------------------------------------------------------------------------------------

# The process that measures is small: the peak of a child begins with that of its parent.
MEASURE = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True)
print(json.dumps([done.returncode, done.stderr.decode(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024]))
"""


def peak_of(shale, words, out, memory_mib):
    """Resident bytes of `shale convert`."""
    return peak_of_command([shale, "convert", *words, out, "--to", "record"], memory_mib)


def peak_of_command(command, memory_mib):
    command = [*command, "--memory", f"{memory_mib}MiB", "--jobs", "2", "--quiet"]
    done = subprocess.run([sys.executable, "-S", "-c", MEASURE, *map(os.fspath, command)], capture_output=True, text=True, check=True)
    code, told, peak = json.loads(done.stdout)
    assert code == 0, told
    return peak


def main(count, *kinds):
    for kind in kinds or INPUTS:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
            folder = pathlib.Path(name, "in")
            folder.mkdir()
            words = INPUTS[kind](folder, int(count))
            peak = peak_of(os.environ["SHALE"], words, pathlib.Path(name, "out"), 64)
            print(f"| {kind} | {int(count):,} | {peak / MIB:.0f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
