"""A dataset per split, killed at its steps and written by two at once: the same command continues to the same bytes, and nothing else is touched."""

import shutil
import subprocess
import unittest

from fault_case import IN_MEMORY
from shale_tool import SHALE, make_photos, snapshot, write
from steps_case import StepsCase


class KilledSplits(StepsCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.photos = make_photos(self.folder / "in/train", 24, sides=(20, 60))
        make_photos(self.folder / "in/val", 9, sides=(20, 60))
        write(self.photos / "class-1/00001.png", b"")  # left out
        self.out = self.place / "out"

    def folder_of_splits(self, *more):
        return lambda jobs, memory: ["convert", self.folder / "in", self.out, "--to", "record", "--jobs", jobs, "--memory", memory, "--shard-samples", 7, *more]

    def shares(self, *more):
        split = ["--split", "train=0.7,val=0.2,test=0.1", "--seed", 5]
        return lambda jobs, memory: ["convert", self.photos, self.out, "--to", "lmdb", "--jobs", jobs, "--memory", memory, *split, *more]

    def test_killed_at_steps(self):
        for command in (self.folder_of_splits(), self.shares("--shuffle")):
            with self.subTest(command=command("J", "M")):
                self.kill_at_steps(command, most=10)

    def test_killed_while_old_ones_are_replaced(self):
        self.place.mkdir()
        self.ok("convert", self.folder / "in", self.folder / "old", "--to", "record", "--shuffle", code=4)

        def prepare():
            shutil.copytree(self.folder / "old", self.out)
            write(self.out / "README", b"the user's")

        self.kill_at_steps(self.folder_of_splits("--overwrite"), prepare=prepare, most=8)
        self.assertEqual((self.out / "README").read_bytes(), b"the user's")

    def test_two_at_once(self):
        """One of the two may be turned away; the result is that of one run."""
        self.place.mkdir()
        self.ok(*self.shares()("1", "64MiB"), code=4)
        whole = snapshot(self.place)
        for _ in range(3):
            shutil.rmtree(self.out)
            words = [SHALE, *map(str, self.shares()("1", "64MiB"))]
            both = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
            codes = sorted(one.wait() for one in both)
            self.assertIn(4, codes)
            self.assertTrue(set(codes) <= {0, 1, 4}, codes)
            self.assertEqual(snapshot(self.place), whole)


if __name__ == "__main__":
    unittest.main(verbosity=2)
