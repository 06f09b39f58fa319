"""What can be known of any split before the first sample is refused before anything of another is written, by --dry-run as by the run."""

import shutil
import unittest

from fault_case import IN_MEMORY, FaultCase, as_nobody
from shale_tool import make_photos, npy, run, snapshot, write

DENIED = "Permission denied"
# (command, what it says of the place)
PLACES = [
    ("convert photos locked/out --to record", "locked/out: cannot make the folder: " + DENIED),
    ("convert photos locked/a/b --to record", "locked/a: cannot make the folder: " + DENIED),
    ("convert photos locked/out --to record --split train=0.5,val=0.5", DENIED),
    ("convert photos locked/out --to record --part 0/2", DENIED),
    ("convert photos locked/out --to lmdb --layout lsun", DENIED),
    ("convert in locked/out --to record", DENIED),
    ("convert photos locked/out.lmdb", "locked/out.lmdb: cannot be written: " + DENIED),
    ("convert x.npy locked/out.npy", DENIED),
    ("convert x=x.npy y=y.npy locked/out.npz", DENIED),
    ("convert photos out.h5 --listing locked/list", "locked/list: cannot be written: " + DENIED),
    ("resample x.npy locked/out.npy", DENIED),
    ("resample x.npy out.npy --also y.npy=locked/out.npy", DENIED),
    ("resample x.npy out.npy --save-indices locked/rows.npy", DENIED),
    ("resample x.npy locked/out --to npy", DENIED),
    ("merge parts locked/out", "locked/out: cannot make the folder: " + DENIED),
    ("repair hurt --from photos", DENIED),
    ("convert photos no/out.lmdb", "no/out.lmdb: the folder that it is to be written to does not exist"),
    ("convert photos out.h5 --listing no/list", "no/list: the folder that it is to be written to does not exist"),
    ("convert x.npy y.npy/out.npy", "Not a directory"),
    ("convert photos x.npy/out --to record", "Not a directory"),
    ("convert photos gone --to record", "gone: is a link that leads nowhere"),
    ("convert photos gone/out --to record", "gone: is a link that leads nowhere"),
    ("convert photos taken.h5 --with-index", "taken.h5.index.npy: was not written by shale"),
    ("convert photos taken2.h5 --with-index", "taken2.h5.dataset.json: "),
    ("convert x.npy out --to npy --shard-size 4", "sample 0: a shard with this sample alone takes 144 bytes, but --shard-size is 4"),
]


class Plans(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.source = self.folder / "in"
        for name in ("train", "val", "test"):
            make_photos(self.source / name, 12, sides=(8, 20))

    def refused_before_writing(self, code, says, *words):
        """By the run and by --dry-run, with the same words; nothing is written."""
        before = snapshot(self.folder / ".")
        command = ("convert", self.source, self.out, "--to", "record", *words)
        planned, done = run(*command, "--dry-run"), run(*command)
        self.assertEqual((planned.code, done.code), (code, code), done.err)
        self.assertIn(says, done.err)
        self.assertEqual(planned.err.splitlines()[-2:], done.err.splitlines()[-2:])
        self.assertEqual(snapshot(self.folder / "."), before)

    def test_place_of_the_last_split(self):
        write(self.out / "val/mine", b"the user's")
        self.refused_before_writing(1, "out/val: is not empty")
        shutil.rmtree(self.out / "val")
        write(self.out / "val", b"the user's")
        self.refused_before_writing(1, "out/val: is a file")
        (self.out / "val").unlink()
        (self.out / "val").symlink_to(self.source)
        self.refused_before_writing(1, "out/val: is not empty")

    def test_place_of_the_last_share(self):
        write(self.out / "test/mine", b"the user's")
        self.source = self.source / "train"
        self.refused_before_writing(1, "out/test: is not empty", "--split", "train=0.5,val=0.25,test=0.25")

    def test_samples_of_the_last_split(self):
        last = self.source / "val"
        write(last / "class-0/large.png", b"\x89PNG\r\n\x1a\n" + bytes(200_000))
        self.refused_before_writing(1, "large.png", "--shard-size", "100KiB")
        (last / "class-0/large.png").unlink()
        (last / "class-0/gone.png").symlink_to("nowhere")
        self.refused_before_writing(1, "gone.png")
        (last / "class-0/gone.png").unlink()
        write(last / "metadata.csv", b"file_name,caption\nclass-0/x.png,a\nclass-0/x.png,b\n")
        self.refused_before_writing(1, "metadata.csv: row 3")
        (last / "metadata.csv").unlink()
        (last / "class-9").mkdir()
        self.refused_before_writing(1, "class-9")

    # ---- of other outputs: what can be known before the first sample is refused by --dry-run as by the run

    def prepare(self):
        """Inputs in a folder that the user nobody may write to; `locked` is one that nobody may not."""
        make_photos(self.folder / "photos", 6, sides=(8, 20))
        for name, first in (("x", 0), ("y", 7)):
            write(self.folder / f"{name}.npy", npy("|u1", (4, 3), bytes(range(first, first + 12))))
        write(self.folder / "locked/kept", b"the user's")
        (self.folder / "locked").chmod(0o555)
        for words in (("parts", "--part", "0/1"), ("hurt",)):
            self.ok("convert", self.folder / "photos", self.folder / words[0], "--to", "record", *words[1:])
        (self.folder / "hurt/shard-000000.tfrecord").unlink()
        (self.folder / "hurt").chmod(0o555)
        (self.folder / "gone").symlink_to("nowhere")
        write(self.folder / "taken.h5.index.npy", b"the user's")
        write(self.folder / "taken2.h5.dataset.json", b"{}")
        self.folder.path.chmod(0o777)
        self.program = self.program_for_nobody()

    def told_and_run(self, *command):
        options = {"program": self.program, "cwd": self.folder.path, **as_nobody()}
        before = snapshot(self.folder.path)
        planned = run(*command, "--dry-run", **options)
        self.assertEqual(snapshot(self.folder.path), before, command)
        return planned, run(*command, **options)

    def test_places_that_cannot_be_written(self):
        self.prepare()
        for command, says in PLACES:
            with self.subTest(command=command):
                planned, done = self.told_and_run(*command.split())
                self.assertEqual((planned.code, done.code), (1, 1), planned.err + done.err)
                self.assertIn(says, done.err)
                self.assertEqual(planned.err.splitlines()[-2:], done.err.splitlines()[-2:])

    def test_a_sample_without_its_partner(self):
        self.prepare()
        make_photos(self.folder / "masks", 6, sides=(8, 20))
        (self.folder / "masks/class-1/00004.png").unlink()
        for words in (("--on-error", "fail"), ("--on-error", "keep"), ("--on-error", "fail", "--resize", "exact=8x8")):
            planned, done = self.told_and_run("convert", "image=photos", "mask=masks", "out", "--to", "record", *words)
            self.assertEqual((planned.code, done.code), (1, 1), planned.err + done.err)
            self.assertIn("sample 'class-1/00004.png': the sample has no partner of 'mask'", planned.err)
            self.assertEqual(planned.err.splitlines()[-2:], done.err.splitlines()[-2:])

    def test_a_listing_is_not_made_by_a_plan(self):
        self.prepare()
        for words in (("--part", "0/2"), ("--split", "train=0.5,val=0.5")):
            listing = f"list{words[0]}"
            planned, done = self.told_and_run("convert", "photos", f"out{words[0]}", "--to", "record", "--listing", listing, *words)
            self.assertEqual((planned.code, done.code), (0, 0), planned.err + done.err)
            self.assertTrue((self.folder / listing).exists())


if __name__ == "__main__":
    unittest.main()
