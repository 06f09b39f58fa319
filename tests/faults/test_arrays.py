"""Arrays: equal bytes, kills, full disks, inputs that change, and memory that does not grow with them."""

import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import unittest

from fault_case import IN_MEMORY, MIB, FaultCase
from shale_tool import IS_SANITIZED, npy, start, write

ROWS, SIDES = 1000 if IS_SANITIZED else 3000, (7, 31)
ROW_BYTES = 4 * SIDES[0] * SIDES[1]


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (MIB // 2, MIB // 2))


def make_arrays(folder):
    """x: rows of (7, 31) float32, 2.6 MB if there are 3000. y: int32 labels. f: x's bytes in Fortran order. b: big-endian."""
    dice = random.Random(7)
    noise = dice.randbytes(ROWS * ROW_BYTES)
    write(folder / "x.npy", npy("<f4", (ROWS, *SIDES), noise))
    write(folder / "f.npy", npy("<f4", (ROWS, *SIDES), noise, fortran_order=True))
    write(folder / "b.npy", npy(">i2", (ROWS,), dice.randbytes(2 * ROWS)))
    write(folder / "y.npy", npy("<i4", (ROWS,), dice.randbytes(4 * ROWS)))


class ArrayShards(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        make_arrays(self.folder)
        self.columns = [f"{name}={self.folder / name}.npy" for name in "xfby"]

    def written(self, container, out, *words, **options):
        size = ["--shard-size", "500KiB"]
        return self.ok("convert", *self.columns, out, "--to", container, *size, *words, **options)

    def test_same_bytes_for_any_jobs_memory_and_way_of_writing(self):
        # A sanitizer takes its time: what it has to see is in two of them.
        for container in ("npy", "lmdb") if IS_SANITIZED else ("npy", "hdf5", "record", "lmdb"):
            for order in ([], ["--shuffle", "--seed", 3]):
                reference = self.folder / f"reference-{container}-{len(order)}"
                self.written(container, reference, *order, "--verify")
                for name, words in {
                    "one job, little memory": ["--jobs", 1, "--memory", "16MiB"],
                    "seven jobs, buffered": ["--jobs", 7, "--io", "buffered"],
                    "two jobs, much memory": ["--jobs", 2, "--memory", "512MiB"],
                }.items():
                    with self.subTest(container=container, order=order, run=name):
                        self.written(container, self.out, *order, *words, environment={"MALLOC_PERTURB_": "165"})
                        self.check_same(self.out, reference)
                        shutil.rmtree(self.out)

    def test_a_full_disk_leaves_no_manifest_and_the_same_command_goes_on(self):
        for container in ("npy", "hdf5"):
            with self.subTest(container):
                out = self.folder / container
                words = ["convert", *self.columns, out, "--to", container]
                self.refused(*words, preexec_fn=small_files, says=["File too large", "ulimit -f"])
                self.assertFalse((out / "dataset.json").exists())
                self.ok(*words)
                self.ok("verify", out, "--deep")

    def test_an_input_that_shrinks_is_told_and_nothing_is_finished(self):
        path = self.folder / "x.npy"
        whole = path.read_bytes()
        words = ["convert", path, self.out, "--to", "npy"]
        for keep in (0, 5, 127, 128, 128 + ROW_BYTES, len(whole) - 1):
            with self.subTest(keep=keep):
                path.write_bytes(whole[:keep])
                # An empty file is no array at all; a cut one is damaged.
                code = 3 if keep >= 6 else 1
                self.refused(*words, code=code, says=["x.npy"])
                self.assertFalse(self.out.exists())
        path.write_bytes(whole + b"\0")
        self.refused(*words, code=1, says=["x.npy", "is followed by 1 more byte"])


class ArrayJoins(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        make_arrays(self.folder)
        self.x = self.folder / "x.npy"
        self.array = self.folder / "all.npy"
        self.words = ["convert", *[self.x] * 40, self.array]

    def test_killed_at_any_moment_there_is_a_whole_array_or_none(self):
        with self.measured():
            self.ok(*self.words)
        whole = self.array.read_bytes()
        self.assertEqual(whole[128:], self.x.read_bytes()[128:] * 40)
        self.array.unlink()
        for _ in range(6 if IS_SANITIZED else 30):
            self.interrupted(self.words, signal.SIGKILL)
            if self.array.exists():
                self.assertEqual(self.array.read_bytes(), whole)
                self.array.unlink()
        self.ok(*self.words)
        self.assertEqual(self.array.read_bytes(), whole)
        self.assertEqual([name for name in os.listdir(self.folder.path) if name.startswith(".")], [])

    def test_killed_at_any_moment_an_index_fits_its_file(self):
        first, second = self.folder / "a.npy", self.folder / "b.npy"
        write(first, npy("<u4", (20_000,), bytes(80_000)))
        write(second, npy("<u4", (20_000,), bytes(range(250)) * 320))
        output = self.folder / "o.lmdb"
        words = {name: ["convert", source, output, "--overwrite", "--with-index"] for name, source in (("a", first), ("b", second))}
        with self.measured():
            self.ok(*words["a"])
        for turn in range(6 if IS_SANITIZED else 20):
            self.interrupted(words["ab"[turn % 2]], signal.SIGKILL)
            # No index, or its own: neither an old one nor half of one.
            self.ok("info", output)
            if pathlib.Path(f"{output}.dataset.json").exists():
                self.ok("verify", output)
        self.ok(*words["b"])
        self.ok("verify", output, "--deep")
        self.assertEqual(sorted(name for name in os.listdir(self.folder.path) if "o.lmdb" in name),
                         ["o.lmdb", "o.lmdb.blocks.npy", "o.lmdb.dataset.json", "o.lmdb.index.npy"])  # fmt: skip

    def test_an_error_leaves_nothing_and_what_was_there(self):
        write(self.array, b"mine")
        self.refused(*self.words, says=["all.npy"])
        words = [*self.words, "--overwrite"]
        self.refused(*words, preexec_fn=small_files, says=[".all.npy.shale"])
        self.assertEqual(self.array.read_bytes(), b"mine")
        self.assertFalse((self.folder / ".all.npy.shale").exists())
        self.ok(*words)
        self.assertEqual(len(self.array.read_bytes()), 128 + 40 * ROWS * ROW_BYTES)

    def test_two_writers_of_one_array_exclude_one_another(self):
        processes = [start(*self.words, "--overwrite", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(4)]
        stories = [process.communicate()[1].decode() for process in processes]
        self.assertTrue(all(p.returncode in (0, 1) for p in processes), stories)
        self.assertIn(0, [process.returncode for process in processes], stories)
        for process, story in zip(processes, stories):
            if process.returncode == 1:
                self.assertIn("another shale process is writing here", story)
        self.assertEqual(self.array.read_bytes()[128:], self.x.read_bytes()[128:] * 40)


@unittest.skipIf(IS_SANITIZED, "a sanitizer's memory is not the tool's")
class ArrayLimits(FaultCase):
    def sparse(self, name, shape, fortran_order=False):
        """An array of zeros that takes no disk."""
        path = self.folder / name
        header = npy("<f4", shape, b"", fortran_order)
        write(path, header)
        items = 1
        for side in shape:
            items *= side
        os.truncate(path, len(header) + 4 * items)
        return path

    def test_peak_memory_with_arrays_that_are_much_larger(self):
        for name, shape, is_fortran in (
            ("small.npy", (20_000_000, 2), False),
            ("rows.npy", (200, 100_000), False),
            ("one-pass.npy", (5_000_000, 6), True),
            ("two-passes.npy", (500, 60_000), True),
        ):
            source = self.sparse(name, shape, is_fortran)
            for container in ("npy", "hdf5"):
                with self.subTest(name, container=container):
                    self.within(16, "convert", source, self.out, "--to", container, "--overwrite")
                    self.within(16, "verify", self.out)
            with self.subTest(name, container="one array"):
                self.within(16, "convert", source, self.folder / "all.npy", "--overwrite")
                (self.folder / "all.npy").unlink()
            source.unlink()

    def test_rows_that_memory_cannot_hold_are_refused_before_anything_is_written(self):
        for is_fortran in (False, True):
            source = self.sparse("wide.npy", (6, 8_000_000), is_fortran)
            for out in (self.out, self.folder / "one.npy"):
                for words in (["--dry-run"], []):
                    with self.subTest(is_fortran=is_fortran, out=out, words=words), self.untouched(self.folder.path):
                        to = ["--to", "npy"] if out == self.out else []
                        facts = ["sample is 32000000 bytes", "pass --memory"]
                        self.refused("convert", source, out, *to, "--memory", "16MiB", *words, says=facts)
