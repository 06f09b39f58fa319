"""The base of the tests of draws: two arrays, three outputs of one draw, and what may stand in their place."""

import array
import os
import random
import resource
import shutil
import zipfile

from fault_case import IN_MEMORY, FaultCase
from shale_tool import IS_SANITIZED, npy, write

ROWS = 30_000 if IS_SANITIZED else 120_000
ROW_BYTES = 200  # of x; 24 MB, and 16 MiB of memory: buckets


def make_arrays(folder, rows=ROWS):
    """x: rows of 200 bytes. y: the numbers of the rows."""
    write(folder / "x.npy", npy("|u1", (rows, ROW_BYTES), random.Random(7).randbytes(rows * ROW_BYTES)))
    write(folder / "y.npy", npy("<i8", (rows,), array.array("q", range(rows)).tobytes()))


def data_of(path):
    """The bytes of the rows."""
    content = path.read_bytes()
    if path.suffix == ".pt":
        with zipfile.ZipFile(path) as archive:
            return archive.read("archive/data/0")
    if path.suffix == ".safetensors":
        return content[8 + int.from_bytes(content[:8], "little") :]
    return content[10 + int.from_bytes(content[8:10], "little") :]


def small_files(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class DrawCase(FaultCase):
    base = IN_MEMORY
    outputs = ("out.npy", "labels.npy", "rows.npy")

    def setUp(self):
        super().setUp()
        make_arrays(self.folder)
        self.place = self.folder / "place"
        self.place.mkdir()
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()
        self.x = self.folder / "x.npy"

    def words(self, place=None, *, draw=("--permute",), memory="16MiB"):
        """Three outputs of one draw."""
        out, labels, rows = ((place or self.place) / name for name in self.outputs)
        also = f"{self.folder / 'y.npy'}={labels}"
        return ["resample", self.x, out, "--also", also, "--save-indices", rows, "--memory", memory, "--tmp", self.scratch, *draw]

    def reference(self, *words, **options):
        """The outputs of a run that nothing disturbs; they are right."""
        place = self.folder / "reference"
        place.mkdir()
        with self.measured():
            self.ok(*self.words(place, *words, **options))
        whole = {name: (place / name).read_bytes() for name in self.outputs}
        out, labels, rows = (place / name for name in self.outputs)
        numbers = array.array("q", data_of(rows))
        source = data_of(self.x)
        drawn = b"".join(source[row * ROW_BYTES : (row + 1) * ROW_BYTES] for row in numbers)
        self.assertEqual(data_of(out), drawn)
        self.assertEqual(data_of(labels), numbers.tobytes())
        return whole

    def check_whole(self, whole):
        """What bears a final name is whole; beside it there are only temporaries. How many outputs there are."""
        there = os.listdir(self.place)
        for name in there:
            if name in whole:
                self.assertTrue((self.place / name).read_bytes() == whole[name], f"{name} is not whole")
            else:
                self.assertIn(name, [f".{output}.shale" for output in self.outputs])
        self.check_no_scratch()
        return sum(name in whole for name in there)

    def check_no_scratch(self):
        self.assertEqual(os.listdir(self.scratch), [], "scratch files stay")

    def check_nothing_left(self, place=None):
        self.assertEqual(os.listdir(place or self.place), [])
        self.check_no_scratch()

    def check_only_work_left(self, place):
        """What the same command would continue; it is removed."""
        for name in os.listdir(place):
            self.assertIn(name, [f".{output}.shale" for output in self.outputs])
            shutil.rmtree(place / name)
        self.check_no_scratch()

    def clear(self):
        for name in os.listdir(self.place):
            path = self.place / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
