"""Storage that fails now and then, or for good: every call of a run in turn, by a preloaded library (tests/support/storage_faults.c).

A hiccup is repeated and said; what stays is reported with path and cause; a full disk ends the run at once. Whatever it was, the same
command then gives the same bytes. STORAGE_FAULTS=all strikes every call; else a sample of them.
"""

import errno
import os
import shutil
from concurrent.futures import ThreadPoolExecutor

from faulty_storage_case import ALL, FOR_GOOD, HICCUPS, NO_ROOM, StorageCase
from shale_tool import make_photos, npy, write
from storage_faults import SHORT, name_of


class ReadsThatFail(StorageCase):
    """Of the input: never a sample less."""

    calls = ("read", "open", "stat", "list")

    def setUp(self):
        super().setUp()
        self.make_reference()

    def strike_all(self, errors, **options):
        for calls in self.calls:
            for error in errors:
                with self.subTest(calls=calls, error=name_of(error)):
                    self.strike_each(calls, error, self.photos, **options)

    def test_hiccups_are_repeated(self):
        self.strike_all(HICCUPS)

    def test_what_stays_is_reported(self):
        self.strike_all(HICCUPS, times=FOR_GOOD)

    def test_short_and_interrupted(self):
        self.strike_all((SHORT, errno.EINTR))

    def test_hiccups_beside_a_ring(self):
        """The ring opens and reads; what it cannot do is done by calls."""
        self.calls = ("stat", "list")
        self.strike_all(HICCUPS, ring=True)


class WritesThatFail(StorageCase):
    """Of the output: everything that is written, from the lock file to the manifest."""

    def setUp(self):
        super().setUp()
        self.make_reference()

    def strike_all(self, kinds, errors, **options):
        for calls in kinds:
            for error in errors:
                with self.subTest(calls=calls, error=name_of(error)):
                    self.strike_each(calls, error, "run-", **options)

    def test_no_room(self):
        for times in (1, FOR_GOOD):
            self.strike_all(("write", "create", "mkdir", "sync", "rename"), NO_ROOM, times=times)

    def test_hiccups_and_what_stays(self):
        for times in (1, FOR_GOOD):
            self.strike_all(("write", "create", "open", "stat", "mkdir", "sync", "rename", "unlink", "list"), HICCUPS, times=times)

    def test_short_and_interrupted(self):
        self.strike_all(("write",), (SHORT,))
        kinds = ("write", "read", "create", "open", "stat", "mkdir", "sync", "rename", "unlink", "list", "truncate")
        self.strike_all(kinds, (errno.EINTR,))

    def test_no_room_beside_a_ring(self):
        self.strike_all(("create", "mkdir", "sync", "rename"), NO_ROOM, ring=True)


class CommandsThatFail(StorageCase):
    """Every command, format and kind of input, and a kind of fault for each."""

    def make_inputs(self):
        self.inputs = i = self.folder / "in"
        numbers = self.dice.randbytes(8 * 4000)
        write(i / "x.npy", npy("<i8", (500, 8), numbers))
        write(i / "y.npy", npy("<i8", (500,), numbers[:4000]))
        write(i / "f.npy", npy("<i8", (500, 8), numbers, fortran_order=True))
        both = self.both = [f"x={i}/x.npy", f"y={i}/y.npy"]
        self.ok("convert", *both, i / "z.npz", "--compress", "deflate")
        for container in ("record", "lmdb", "hdf5", "webdataset", "parquet"):
            self.ok("convert", self.photos, i / container, "--to", container, "--shard-samples", 5)
            shutil.copy(next((i / container).glob("shard-000000.[tlhp]*")), i / f"foreign.{container}")
        (i / "parts").mkdir()
        for number in range(3):
            shutil.copy(i / "foreign.record", i / f"parts/{number}.tfrecord")
        self.ok("index", i / "parts", "--crc")

    def test_commands(self):
        self.photos = make_photos(self.folder / "photos", 12, sides=(20, 60))
        self.make_inputs()
        i, both = self.inputs, self.both
        memory = ["--memory", "16MiB", "--jobs", 2]

        def to(*words):
            return lambda out: ["convert", *words, out, *memory]

        def drawn(*words):
            return lambda out: ["resample", *words, out, *memory]

        commands = {
            "lmdb": lambda out: ["convert", self.photos, out, "--to", "lmdb", "--shard-samples", 5],
            "hdf5": lambda out: ["convert", self.photos, out, "--to", "hdf5", "--shuffle"],
            "npy": lambda out: ["convert", *both, out, "--to", "npy", "--shard-samples", 200],
            "fortran": lambda out: ["convert", i / "f.npy", out, "--to", "npy"],
            "npz": lambda out: ["convert", i / "z.npz", out, "--to", "hdf5", "--shuffle"],
            "dataset": lambda out: ["convert", i / "lmdb", out, "--to", "record", "--shuffle"],
            "of-record": lambda out: ["convert", i / "foreign.record", out, "--to", "lmdb"],
            "of-lmdb": lambda out: ["convert", i / "foreign.lmdb", out, "--to", "hdf5"],
            "of-hdf5": lambda out: ["convert", i / "foreign.hdf5", out, "--to", "record"],
            "f.lmdb": to(self.photos),
            "f.h5": to(self.photos, "--with-index"),
            "f.tfrecord": to(self.photos, "--verify"),
            "f.npy": to(i / "x.npy"),
            "g.npy": to(i / "f.npy"),
            "f.npz": to(*both),
            "r.npy": drawn(i / "x.npy"),
            "s.npy": drawn(i / "z.npz", "--fields", "y", "--replace", "--rows", 900),
            "drawn": lambda out: ["resample", *both, out, "--to", "hdf5", *memory],
            "index": lambda out: ["index", i / "foreign.lmdb", "--crc", "--index-dir", out],
            "index-set": lambda out: ["index", i / "parts", "--crc", "--index-dir", out, *memory],
            "info-set": lambda out: ["info", i / "parts"],
            "of-set": to(i / "parts", "--to", "lmdb"),
            "index-h5": lambda out: ["index", i / "foreign.hdf5", "--index-dir", out],
            "verify": lambda out: ["verify", i / "hdf5", "--deep"],
            "verify-lmdb": lambda out: ["verify", i / "lmdb", "--deep"],
            "verify-record": lambda out: ["verify", i / "record", "--deep"],
            "against": lambda out: ["verify", i / "record", "--against", self.photos],
            "info": lambda out: ["info", i / "record"],
            "cat": lambda out: ["cat", i / "lmdb", 3],
            "info-file": lambda out: ["info", i / "foreign.hdf5"],
        }
        faults = (
            ("read,open,stat,list", HICCUPS),
            ("write,create,mkdir,truncate,rename,sync", NO_ROOM + HICCUPS),
            ("read,write,open,create,stat,list,mkdir,truncate,rename,sync,unlink", (errno.EINTR,)),
            ("read,write", (SHORT,)),
        )
        for name, command in commands.items():
            self.reference = self.folder / "references" / name
            self.reference.parent.mkdir(exist_ok=True)
            self.command = command
            self.ok(*command(self.reference))
            for calls, errors in faults if ALL else [self.dice.choice(faults)]:
                self.strike_some(name, calls, errors)

    def test_short_reads_of_a_library(self):
        """liblmdb itself takes a short read of its first pages as damage."""
        self.photos = make_photos(self.folder / "photos", 12, sides=(20, 60))
        for container in ("lmdb", "hdf5"):
            self.ok("convert", self.photos, self.folder / container, "--to", container)
            self.command = lambda out, container=container: ["verify", self.folder / container, "--deep"]
            self.reference = self.folder / "none"
            path = str(self.folder / container / "shard-")
            for skip in range(self.count_calls("read", path, ring=False)):
                with self.subTest(container=container, skip=skip):
                    self.strike("read", SHORT, path, skip, 1, False)

    def strike_some(self, name, calls, errors):
        """Each error once at a random call, and one of them from a call on; or all of them at all calls."""
        count = self.count_calls(calls, self.folder.path, ring=False)
        strikes, chosen = [], self.dice.choice(errors)
        for error in errors:
            is_chosen = ALL or error == chosen
            for times in (1, FOR_GOOD) if is_chosen and error not in (SHORT, errno.EINTR) else (1,):
                for skip in range(count) if ALL else self.dice.sample(range(count), min(count, 1)):
                    strikes.append((calls, error, self.folder.path, skip, times, False))
        with self.subTest(name=name, calls=calls), ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda strike: self.strike(*strike), strikes))

    def files_of_output(self, out):
        """The names of an output of one file, as far as they are there."""
        folder = os.listdir(out.parent) if out.parent.exists() else []
        return sorted(name for name in folder if name == out.name or name.startswith(out.name + "."))

    def difference(self, out):
        if self.reference.is_dir():
            return [name for name in super().difference(out) if not name.startswith(".")]
        ours, theirs = self.files_of_output(out), self.files_of_output(self.reference)
        different = [name for name in ours if name in theirs and (out.parent / name).read_bytes() != (self.reference.parent / name).read_bytes()]
        return sorted({*ours} ^ {*theirs}) + different

    def judge_what_is_left(self, out, story):
        if not self.reference.is_dir():
            left = self.files_of_output(out)
            self.assertLessEqual({*left}, {*self.files_of_output(self.reference)}, story)
            for name in left:
                self.assertEqual((out.parent / name).read_bytes(), (self.reference.parent / name).read_bytes(), story)
        elif self.command(out)[0] != "index":
            super().judge_what_is_left(out, story)
