"""Where the rounds of a soak take place: inputs and whole datasets, made once per worker, and a fresh folder for every round."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

import h5py
import lmdb
import msgpack
import numpy as np
from shale_tool import Folder, make_photos, manifest_of, png, snapshot, start, write

IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
BUG_MARKS = ("unexpected error:", "terminate called", "Traceback", "Sanitizer", "this is a bug")
LONGEST_S = 300  # a run that takes longer hangs; the longest of these takes well under a second
CONTAINERS = ("record", "lmdb", "hdf5")
SUFFIX = {"record": "tfrecord", "lmdb": "lmdb", "hdf5": "h5", "npy": "npy"}


class Broken(AssertionError):
    """A promise that did not hold."""


def handles(pid, which):
    """True once a process has set its handler of a signal."""
    try:
        with open(f"/proc/{pid}/status") as file:
            caught = next(line for line in file if line.startswith("SigCgt:"))
    except (OSError, StopIteration):
        return False
    return bool(int(caught.split()[1], 16) >> (which - 1) & 1)


class Outcome:
    def __init__(self, words, code, out, err):
        self.words, self.code, self.out, self.err = words, code, out, err

    def __str__(self):
        return f"shale {' '.join(map(str, self.words))}\nexit {self.code}\n{self.out}{self.err}"


class Field:
    """One round: its folder, and the program run in it."""

    def __init__(self, ground, folder):
        self.ground, self.folder = ground, folder
        self.tmp = folder / "tmp"
        self.tmp.mkdir()

    def check(self, holds, *story):
        if not holds:
            raise Broken("\n".join(map(str, story)))

    def begin(self, *words):
        environment = {"TMPDIR": str(self.tmp), "MALLOC_PERTURB_": "165"}
        return start(*words, environment=environment)

    def end(self, words, process):
        try:
            out, err = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Broken(f"shale {' '.join(map(str, words))}: hangs") from None
        done = Outcome(words, process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))
        self.check(not any(mark in done.err for mark in BUG_MARKS), done)
        return done

    def run(self, *words, codes=None):
        """To the end. No signal, no bug, no hang, nothing left in TMPDIR, and one of these exit codes."""
        done = self.end(words, self.begin(*words))
        self.check(done.code >= 0 and done.code != 70, done)
        self.check(codes is None or done.code in codes, f"expected one of {codes}", done)
        self.check(not os.listdir(self.tmp), f"left in TMPDIR: {os.listdir(self.tmp)}", done)
        return done

    def struck(self, which, seconds, words):
        """A run that a signal strikes after so many seconds, unless it ends before; its outcome."""
        process = self.begin(*words)
        while which != signal.SIGKILL and process.poll() is None and not handles(process.pid, which):
            os.sched_yield()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=seconds)
        if process.poll() is None:
            process.send_signal(which)
        done = self.end(words, process)
        allowed = (0, 4, 130) if which != signal.SIGKILL else (0, 4, -signal.SIGKILL)
        self.check(done.code in allowed, f"expected one of {allowed} after signal {which}", done)
        return done


class Ground:
    """What all rounds of one worker share; nothing of it may ever change."""

    def __init__(self, number):
        self.folder, self.rounds = Folder(IN_MEMORY), Folder(IN_MEMORY)
        root = self.folder.path
        self.photos = make_photos(root / "photos", 120, sides=(2, 60), seed=number)
        write(self.photos / "class-0/large.png", png(1100, 1000))  # a shard of more than one block
        write(self.photos / "class-1/empty.png", b"")  # for skipped.csv
        dice = np.random.default_rng(number)
        self.arrays = {"x": dice.integers(0, 256, (3000, 7, 5), dtype=np.uint8), "y": np.arange(3000)}
        for name, array in self.arrays.items():
            np.save(root / f"{name}.npy", array)
        self.columns = [f"{name}={root}/{name}.npy" for name in self.arrays]
        self.sets = {}
        for container in CONTAINERS:
            self.make(f"photos-{container}", "convert", self.photos, "--to", container, "--shard-size", "1200kB", "--shard-samples", 50)
        for container in (*CONTAINERS, "npy"):
            self.make(f"arrays-{container}", "convert", *self.columns, "--to", container, "--shard-samples", 1100)
        self.foreign = self.make_foreign(root / "foreign", dice)
        self.before = snapshot(root)

    def make(self, name, *words):
        out = self.folder / name
        command = [*words[: words.index("--to")], out, *words[words.index("--to") :]]
        process = start(*command)
        _, err = process.communicate()
        if process.returncode not in (0, 4):
            raise Broken(f"shale {command}: exit {process.returncode}: {err.decode()}")
        self.sets[name] = out

    @staticmethod
    def make_foreign(folder, dice):
        """Files as py-lmdb, h5py and others write them."""
        folder.mkdir()
        values = [dice.bytes(int(size)) for size in dice.integers(0, 9000, 80)]
        environment = lmdb.open(str(folder / "plain.lmdb"), subdir=False, map_size=1 << 24, lock=False)
        with environment.begin(write=True) as transaction:
            for i, value in enumerate(values):
                transaction.put(f"{i:08}".encode(), value)
        environment.close()
        environment = lmdb.open(str(folder / "maps.lmdb"), subdir=False, map_size=1 << 24, lock=False)
        with environment.begin(write=True) as transaction:
            for i, value in enumerate(values):
                transaction.put(f"{i:08}".encode(), msgpack.packb({"image": value, "label": i % 3}))
        environment.close()
        with h5py.File(folder / "columns.h5", "w") as file:
            file["images"] = dice.integers(0, 256, (80, 11, 13), dtype=np.uint8)
            file["labels"] = np.arange(80)
        with h5py.File(folder / "packed.h5", "w") as file:
            file.create_dataset("images", data=np.zeros((80, 11, 13), np.uint8), chunks=(7, 11, 13), compression="gzip")
        np.save(folder / "rows.npy", dice.standard_normal((200, 9)))
        np.savez_compressed(folder / "rows.npz", a=np.arange(900), b=dice.standard_normal((900, 3)))
        return sorted(folder.iterdir())

    @contextlib.contextmanager
    def round(self, seed):
        """A field that is removed if all held; afterwards what is shared is as it was."""
        folder = self.rounds / f"round-{seed}"
        folder.mkdir()
        yield Field(self, folder)
        shutil.rmtree(folder)
        after = snapshot(self.folder.path)
        if after != self.before:
            changed = sorted({name for name, _ in set(after.items()) ^ set(self.before.items())})
            raise Broken(f"files of the user have changed: {changed}")

    def remove(self):
        self.folder.remove()
        if not os.listdir(self.rounds.path):  # else it holds what failed
            self.rounds.remove()


def copy_of(field, name):
    """A copy of a whole set, to be damaged."""
    place = field.folder / name
    shutil.copytree(field.ground.sets[name], place)
    return place


def digests(dataset):
    manifest = manifest_of(dataset)
    return manifest["samples"], manifest["digest"]["content"], manifest["digest"]["ordered"]


def pick_file(place, dice):
    """A file of a set; the small ones as often as the large ones."""
    return pathlib.Path(place, dice.choice(sorted(os.listdir(place))))
