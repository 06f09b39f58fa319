"""What can be known of any split before the first sample is refused before anything of another is written, by --dry-run as by the run."""

import shutil
import unittest

from fault_case import IN_MEMORY, FaultCase
from shale_tool import make_photos, run, snapshot, write


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


if __name__ == "__main__":
    unittest.main()
