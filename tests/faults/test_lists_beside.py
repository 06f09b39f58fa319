"""The lists beside an LMDB of layout coclr, and the directory of layout coclr-k400: kills at any step, and files of the user under their names."""

import os
import shutil

from fault_case import IN_MEMORY
from shale_tool import png, run, snapshot, write
from steps_case import StepsCase

CLASSES, VIDEOS = ("a", "b"), 5
COCLR = ("--group", "frames", "--split", "train=0.6,val=0.4", "--layout")
LISTS = ("ClassInd.txt", "train_split01.csv", "test_split01.csv")


class ListsBeside(StepsCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.videos = self.folder / "in"
        for name in CLASSES:
            for number in range(VIDEOS):
                for frame in range(1 + number % 2):
                    write(self.videos / name / f"v{number}" / f"{frame}.png", png(4, 4, number))
        # One that is skipped: the lists are not what they would be without it.
        write(self.videos / "a/v5/0.png", png(4, 4, 9)[:-12])

    def killed(self, output, *words, **options):
        def command(jobs, memory):
            return ["convert", self.videos, output, *COCLR, *words, "--io", "buffered", "--jobs", jobs, "--memory", memory]

        self.kill_at_steps(command, may_exist=True, **options)

    def test_a_file_with_its_lists_after_a_kill(self):
        self.killed(self.place / "a.lmdb", "coclr", most=12)
        self.killed(self.place / "a.lmdb", "coclr", "--shuffle", "--overwrite")

    def test_no_list_is_ever_half_there(self):
        def check():
            for name in LISTS:
                if (self.place / name).exists():
                    self.assertEqual((self.place / name).read_bytes(), texts[name])

        self.place.mkdir()
        self.assertEqual(run("convert", self.videos, self.place / "a.lmdb", *COCLR, "coclr").code, 4)
        texts = {name: (self.place / name).read_bytes() for name in LISTS}
        self.killed(self.place / "a.lmdb", "coclr", check=check)

    def test_a_directory_after_a_kill(self):
        self.killed(self.place / "out", "coclr-k400", most=12, check=lambda: self.assertTrue(self.is_absent_or_whole()))

    def is_absent_or_whole(self):
        return not (self.place / "out").exists() or len(os.listdir(self.place / "out")) == 6

    def take(self, path, kind):
        if kind == "folder":
            write(path / "notes", b"precious")
        elif kind == "link":
            write(self.folder / "precious", b"precious")
            path.symlink_to(self.folder / "precious")
        elif kind == "loose link":
            path.symlink_to("nowhere")
        else:
            write(path, {"file": b"precious", "empty file": b"", "beginning": self.texts[path.name][:-3]}[kind])

    def test_files_of_the_user_keep_their_names(self):
        reference = self.folder / "reference"
        reference.mkdir()
        self.assertEqual(run("convert", self.videos, reference / "a.lmdb", *COCLR, "coclr").code, 4)
        self.texts = {name: (reference / name).read_bytes() for name in LISTS}
        for name in LISTS:
            for kind in ("file", "empty file", "beginning", "folder", "link", "loose link"):
                for more in ([], ["--overwrite"], ["--dry-run"]):
                    with self.subTest(name=name, kind=kind, more=more):
                        self.lay_out(lambda name=name, kind=kind: self.take(self.place / name, kind))
                        before = snapshot(self.place)
                        done = run("convert", self.videos, self.place / "a.lmdb", *COCLR, "coclr", *more)
                        self.assertEqual(done.code, 1, done.err)
                        self.assertIn(f"{name}: is not the list that belongs to this output, and is never replaced", done.err)
                        self.assertEqual(snapshot(self.place), before)

    def test_lists_that_are_the_same_stay(self):
        self.place.mkdir()
        command = ["convert", self.videos, self.place / "a.lmdb", *COCLR, "coclr", "--overwrite"]
        self.assertEqual(run(*command).code, 4)
        before, inodes = snapshot(self.place), [(self.place / name).stat().st_ino for name in LISTS]
        for _ in range(2):
            done = run(*command)
            self.assertEqual(done.code, 4, done.err)
            self.assertEqual(snapshot(self.place), before)
            self.assertEqual([(self.place / name).stat().st_ino for name in LISTS], inodes)
        done = run(*command, "--seed", "2")
        self.assertEqual(done.code, 1)
        self.assertEqual(snapshot(self.place), before)

    def test_a_directory_that_exists_is_never_replaced(self):
        for prepare in (lambda: (self.place / "out").mkdir(), lambda: write(self.place / "out/k400_frame_train.lmdb", b"precious"),
                        lambda: write(self.place / "out", b"precious"), lambda: (self.place / "out").symlink_to("nowhere")):
            for more in ([], ["--overwrite"]):
                self.lay_out(prepare)
                before = snapshot(self.place)
                done = run("convert", self.videos, self.place / "out", *COCLR, "coclr-k400", *more)
                self.assertEqual(done.code, 1, done.err)
                self.assertIn("already exists, and a directory of this layout is never replaced", done.err)
                self.assertEqual(snapshot(self.place), before)
        shutil.rmtree(self.place)
