"""--layout lsun, killed at its steps, stopped and on full disks: the same command continues to the same bytes, and nothing else is touched."""

import os
import shutil

from fault_case import IN_MEMORY, FaultCase
from shale_tool import make_photos, snapshot, write
from steps_case import StepsCase

CLASSES = ("class-0", "class-1", "class-2")


def directories(split="train"):
    return [f"{name}_{split}_lmdb" for name in CLASSES]


class KilledByClass(StepsCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.photos = make_photos(self.folder / "in", 30, sides=(20, 60))
        write(self.photos / "class-1/00001.png", b"")  # left out
        self.out = self.place / "out"

    def command(self, *words):
        return lambda jobs, memory: ["convert", self.photos, self.out, "--layout", "lsun", "--jobs", jobs, "--memory", memory, "--io", "buffered", *words]

    def check_whole_or_absent(self, whole):
        """Whatever bears a final name is whole."""
        for name, content in whole.items():
            path = self.out / name
            if path.exists():
                self.assertEqual(path.read_bytes(), content, name)

    def reference(self, *words):
        out = self.folder / "reference"
        shutil.rmtree(out, ignore_errors=True)
        self.ok("convert", self.photos, out, "--layout", "lsun", *words, code=4)
        self.assertEqual(sorted(os.listdir(out)), directories())
        return {f"{name}/data.mdb": (out / name / "data.mdb").read_bytes() for name in directories()}

    def test_killed_at_steps(self):
        for words in ((), ("--shuffle", "--seed", "3")):
            with self.subTest(words=words):
                whole = self.reference(*words)
                self.kill_at_steps(self.command(*words), check=lambda whole=whole: self.check_whole_or_absent(whole), may_exist=True, most=12)

    def test_killed_while_an_old_one_is_replaced(self):
        """What stands beside is not touched; each class is the old one or the new one."""
        old = {name: b"old " + name.encode() for name in directories()}

        def prepare():
            for name, content in old.items():
                write(self.out / name / "data.mdb", content)
            write(self.out / "mine_lmdb/data.mdb", b"mine")
            write(self.out / "class-0_train_lmdb/lock.mdb", b"a reader's")

        whole = self.reference()

        def check():
            self.assertEqual((self.out / "mine_lmdb/data.mdb").read_bytes(), b"mine")
            self.assertEqual((self.out / "class-0_train_lmdb/lock.mdb").read_bytes(), b"a reader's")
            for name, content in old.items():
                self.assertIn((self.out / name / "data.mdb").read_bytes(), (content, whole[f"{name}/data.mdb"]))

        self.kill_at_steps(self.command("--overwrite"), prepare=prepare, check=check, most=12)

    def test_killed_in_the_last_steps(self):
        """While the classes come to their names: the same command says that it is complete, another one finishes them and is refused."""
        self.lay_out(lambda: None)
        _, steps = self.steps.recorded(self.command()("1", "64MiB"))
        whole = snapshot(self.out)
        moved = [step.number for step in steps if step.name == "rename" and step.other.endswith("data.mdb")]
        self.assertEqual(len(moved), 3, steps)
        for number in range(moved[0], moved[-1] + 1):
            self.lay_out(lambda: None)
            self.steps.killed(self.command()("1", "64MiB"), number)
            type(self).kills += 1
            if number % 2:
                done = self.ok(*self.command()("2", "64MiB"))
                self.assertIn("class-1/00001.png", done.out)
                self.assertIn("it holds 29 samples of lmdb in ", done.out)
            else:
                self.refused(*self.command("--shuffle")("1", "64MiB"), says=["already exists"])
            self.assertEqual(snapshot(self.out), whole, steps[number - 1])


class ByClass(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.photos = make_photos(self.folder / "in", 40, sides=(40, 80))

    def test_a_full_disk_leaves_what_can_be_continued_or_nothing(self):
        self.ok("convert", self.photos, self.folder / "whole", "--layout", "lsun")
        whole = snapshot(self.folder / "whole")
        pages = sum(path.stat().st_size // 4096 for path in (self.folder / "whole").rglob("data.mdb"))
        for free in (2, pages // 2, pages):
            with self.subTest(free=free), self.small_disk(f"{4 * free}k") as disk:
                self.refused("convert", self.photos, disk / "out", "--layout", "lsun", says=[disk])
                self.assertEqual([name for name in os.listdir(disk / "out") if name != ".shale"] if (disk / "out").exists() else [], [])
                self.remount(disk, "size=16m")
                self.ok("convert", self.photos, disk / "out", "--layout", "lsun")
                self.assertEqual(snapshot(disk / "out"), whole)

    def test_other_commands_do_not_take_over_an_unfinished_run(self):
        write(self.folder / "out/class-1_train_lmdb", b"a file of somebody")
        with self.untouched(self.folder / "out"):
            self.refused("convert", self.photos, self.folder / "out", "--layout", "lsun", says=["already exists"])
            self.refused("convert", self.photos, self.folder / "out", "--layout", "lsun", "--overwrite", says=["class-1_train_lmdb", "was not written by shale"])

    def test_links_are_nobodys_directories(self):
        write(self.folder / "theirs/data.mdb", b"theirs")
        out = self.folder / "out"
        out.mkdir()
        (out / "class-0_train_lmdb").symlink_to(self.folder / "theirs")
        with self.untouched(self.folder / "theirs", out):
            self.refused("convert", self.photos, out, "--layout", "lsun", "--overwrite", says=["class-0_train_lmdb", "was not written by shale"])

    def test_little_memory(self):
        self.within(16, "convert", self.photos, self.folder / "out", "--layout", "lsun")
