"""Killed at any step, a run that casts, renames and chooses fields continues to the same bytes, and counts the numbers that did not fit as one
that was not killed."""

import os
import random
import re
import shutil
import signal

from fault_case import IN_MEMORY, FaultCase
from shale_tool import Folder, make_photos, npy, run, snapshot, write
from steps import Steps

KILLS = int(os.environ.get("CAST_KILLS", 5))
ROWS = 300
CAST = ("--rename", "x:a", "--cast", "a:float16,y:uint8", "--lossy")
TABLE = ("--drop", "caption", "--rename", "boxes:b,score:s", "--cast", "b:uint8,s:int8,label:bool", "--lossy")
OTHER = "the nearest of numbers that do not fit before, numbers that fit now"


def make_inputs(folder):
    """x, y: rows of numbers that float16 and uint8 do not hold, here and there. varied: photos with boxes and scores, which some lack.
    set: the same as a dataset."""
    dice = random.Random(40)
    write(folder / "x.npy", npy("<u2", (ROWS, 8), dice.randbytes(ROWS * 16)))
    write(folder / "y.npy", npy("<i2", (ROWS,), b"".join((300 if i % 50 == 49 else i % 200).to_bytes(2, "little") for i in range(ROWS))))
    make_photos(folder / "varied", 30, sides=(20, 60))
    rows = []
    for number, path in enumerate(sorted((folder / "varied").rglob("*.png"))):
        boxes = [[number * 20, 1.5, 2, k] for k in range(number % 3)]
        score = f', "score": {number * 10}' if number % 3 else ""
        rows.append(f'{{"file_name": "{path.relative_to(folder / "varied")}", "boxes": {boxes}, "caption": "no {number}"{score}}}\n')
    write(folder / "varied/metadata.jsonl", "".join(rows).encode())
    run("convert", folder / "varied", folder / "set", "--to", "record", "--shard-samples", 10)


def counted(done):
    """What is said of numbers that do not fit; nothing where the run had been complete."""
    found = re.search(r"note: ([\d,]+ numbers? do.* not fit .*)", done.err)
    return found.group(1).replace(",", "", 1) if found else None


class KilledCasts(FaultCase):
    base = IN_MEMORY

    @classmethod
    def setUpClass(cls):
        cls.inputs = Folder(cls.base)
        cls.addClassCleanup(cls.inputs.remove)
        make_inputs(cls.inputs)

    def arrays(self):
        return [f"x={self.inputs / 'x.npy'}", f"y={self.inputs / 'y.npy'}"]

    def command(self, words, out, *options):
        return ["convert", *words, out, *options, "--jobs", self.dice.choice((1, 3)), "--io", "buffered"]

    def clear(self, *names):
        for name in names:
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir()

    def kill(self, words, name, *options):
        self.clear("o", "reference")
        reference, out = self.folder / "reference" / name, self.folder / "o" / name
        whole = run(*self.command(words, reference, *options))
        self.assertEqual(whole.code, 0, whole.err)
        self.assertIsNotNone(counted(whole))
        steps = Steps(self, self.folder, self.folder / "o")
        command = self.command(words, out, *options)
        recorded = steps.recorded(command)[1]
        has_counted = False
        for number in range(1 + self.dice.randrange(3), len(recorded) + 1, max(1, len(recorded) // KILLS)):
            self.clear("o")
            self.assertEqual(steps.killed(command, number), -signal.SIGKILL, recorded[number - 1])
            stands = out.is_file()  # a single file that has its name is whole: the command says that it exists
            done = run(*self.command(words, out, *options))
            self.assertEqual(done.code, 1 if stands else 0, done.err)
            if stands:
                self.assertEqual(out.read_bytes(), reference.read_bytes())
                continue
            self.assertEqual(snapshot(self.folder / "o"), snapshot(self.folder / "reference"), f"killed at {recorded[number - 1]}")
            if counted(done):
                self.assertEqual(counted(done), counted(whole), f"killed at {recorded[number - 1]}")
                has_counted = True
        self.assertTrue(has_counted, "no continued run had to count")

    def test_shards_of_every_format(self):
        for container in ("record", "lmdb", "hdf5", "webdataset", "parquet", "npy"):
            with self.subTest(container=container, kind="rows"):
                self.kill(self.arrays(), "out", "--to", container, "--shard-samples", 70, *CAST)
        for container in ("record", "lmdb", "hdf5", "webdataset"):  # parquet holds no ragged tensors
            for source in ("varied", "set"):
                with self.subTest(container=container, kind=source):
                    self.kill([self.inputs / source], "out", "--to", container, "--shard-samples", 7, *TABLE)

    def test_single_files(self):
        for name in ("out.tfrecord", "out.lmdb", "out.h5", "out.npz"):
            with self.subTest(name=name):
                self.kill(self.arrays(), name, *CAST)
        self.kill(self.arrays(), "out.npy", "--fields", "y", "--cast", "y:int8", "--lossy")

    def test_another_command_does_not_continue(self):
        words, options = self.arrays(), ["--to", "record", "--shard-samples", 70, *CAST]
        out = self.folder / "o"
        steps = Steps(self, self.folder, out)
        command = self.command(words, out, *options)
        number = next(step.number for step in steps.recorded(command)[1] if step.path.endswith("dataset.json"))
        shutil.rmtree(out)
        self.assertEqual(steps.killed(command, number), -signal.SIGKILL)
        strict = self.command(words, out, *options[:-1])
        refused = run(*strict)
        self.assertEqual(refused.code, 1)
        self.assertIn(OTHER, refused.err)
        self.assertEqual(run(*self.command(words, out, *options)).code, 0)
        refused = run(*strict)
        self.assertEqual(refused.code, 1)
        self.assertIn(OTHER, refused.err)

    def test_parts_count_their_own_and_an_append_its_own(self):
        total = 0
        for part in range(3):
            done = run(*self.command(self.arrays(), self.folder / "parts", "--to", "record", *CAST, "--part", f"{part}/3"))
            self.assertEqual(done.code, 0, done.err)
            total += int(counted(done).split()[0])
        whole = run(*self.command(self.arrays(), self.folder / "whole", "--to", "record", *CAST))
        self.assertEqual(total, int(counted(whole).split()[0]))
        self.assertEqual(run("merge", self.folder / "parts", self.folder / "merged").code, 0)
        more = run(*self.command(self.arrays(), self.folder / "whole", "--to", "record", *CAST, "--append"))
        self.assertEqual(more.code, 0, more.err)
        self.assertEqual(int(counted(more).split()[0]), total)
