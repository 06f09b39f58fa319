"""Tars and their indexes on a disk that is full in the middle of a run: what is there is whole, and the same command goes on once there is room."""

import os
import shutil

from fault_case import IN_MEMORY, FaultCase
from shale_tool import make_photos, png, run
from tar_archives import tar_of

PAGE = 4096


def pages_of(folder):
    return sum(-(-path.stat().st_size // PAGE) for path in folder.rglob("*") if path.is_file())


def files_of(folder):
    """Of the journal only that it is there: it has times in it."""
    return {path.relative_to(folder): path.name == ".shale-native" or path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TarsOnFullDisks(FaultCase):
    base = IN_MEMORY
    container, suffix = "webdataset", "tar"

    def make_tars(self, folder, count):
        folder.mkdir()
        for number in range(count):
            members = []
            for i in range(30):
                members += [(f"{number:02}/{i}.cls", b"%d" % i), (f"{number:02}/{i}.png", png(3, 2, i))]
            tar_of(folder / f"{number:05}.tar", *members)
        return folder

    def is_stopped(self, words):
        """False if there was room enough."""
        done = run(*words)
        if done.code == 0:
            return False
        self.assertEqual(done.code, 1, done.err)
        self.assertRegex(done.err, "No space left on device|of free space, only")
        self.assertEqual(done.err.count("\nhint: "), 1, done.err)
        return True

    def go_on_with_room(self, sizes, command_into, reference, check_stopped=lambda out, reference: None):
        """On disks of so many pages a command stops; with more room it goes on, and makes what it makes at once."""
        stopped = 0
        for pages in sizes:
            with self.subTest(pages=pages), self.small_disk(f"{PAGE * pages}") as disk:
                command = command_into(disk / "out")
                if self.is_stopped(command):
                    stopped += 1
                    check_stopped(disk / "out", reference)
                    self.remount(disk, "size=8m")
                    self.ok(*command)
                self.check_same(disk / "out", reference)
        self.assertGreater(stopped, 3)

    def test_tars_are_written_on(self):
        source, reference = make_photos(self.folder / "in", 60, sides=(40, 80)), self.folder / "reference"
        words = ["--to", "webdataset", "--shard-samples", 5]
        self.ok("convert", source, reference, *words)
        need = pages_of(reference)
        self.go_on_with_room(range(need // 2, need + 40, 9), lambda out: ["convert", source, out, *words], reference, self.check_unfinished)

    def test_an_index_of_many_is_made_on(self):
        tars, reference = self.make_tars(self.folder / "tars", 40), self.folder / "reference"
        self.ok("index", tars, "--index-dir", reference)
        self.go_on_with_room(range(3, pages_of(reference) + 8, 11), lambda out: ["index", tars, "--index-dir", out], reference)

    def test_indexes_of_other_programs_are_made_on(self):
        tars, reference = self.make_tars(self.folder / "tars", 24), self.folder / "reference"
        words = ["--native", "wids,dali,energon"]
        shutil.copytree(tars, reference)
        self.ok("index", reference, *words)
        before, need, stopped = pages_of(tars), pages_of(reference), 0
        for pages in range(before + 2, need + 6, 7):
            with self.subTest(pages=pages), self.small_disk(f"{PAGE * pages}") as disk:
                place = disk / "tars"
                shutil.copytree(tars, place)
                command = ["index", place, *words]
                if self.is_stopped(command):
                    stopped += 1
                    for path in place.rglob("*.idx"):
                        self.assertEqual(path.read_bytes(), (reference / path.name).read_bytes(), path)
                    self.remount(disk, "size=8m")
                    self.ok(*command)
                self.assertEqual(files_of(place), files_of(reference))
        self.assertGreater(stopped, 3)

    def test_nothing_of_a_stopped_run_stays_beside_the_tars(self):
        tars = self.make_tars(self.folder / "tars", 2)
        with self.small_disk(f"{PAGE * (pages_of(tars) + 1)}") as disk:
            shutil.copytree(tars, disk / "tars")
            self.refused("index", disk / "tars", "--native", "dali,energon", says=["No space left on device"])
            self.assertEqual([name for name in os.listdir(disk / "tars") if name.endswith(".idx")], [])
