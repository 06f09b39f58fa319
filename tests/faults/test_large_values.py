"""Values that are larger than --memory are read, probed, digested, written and verified in pieces."""

import os
import shutil
import subprocess

from fault_case import MIB, FaultCase
from shale_tool import SHALE, manifest_of, png, snapshot, write
from steps_case import StepsCase

FORMATS = {"record": "tfrecord", "lmdb": "lmdb", "hdf5": "h5"}
LARGE = 96 * MIB  # several times of what --memory 16MiB leaves for samples
MARK = 70 * MIB + 5


def make_videos(folder, large=LARGE):
    """A sparse file with some bytes in its middle, and small ones beside it."""
    for name, size in (("a/large.mp4", large), ("a/small.mp4", 100), ("b/mid.mp4", 3 * MIB + 1)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            file.truncate(size)
            for place in (0, size // 2, size - 7):
                file.seek(place)
                file.write(b"video %d" % place if size > 100 else b"v")
            file.truncate(size)
    return folder


class LargeValues(FaultCase):
    def setUp(self):
        super().setUp()
        self.videos = make_videos(self.folder / "in")
        self.words = ["--ext", "mp4"]

    def test_every_format_gives_the_same_bytes_as_with_memory_for_all(self):
        for container in FORMATS:
            out, whole = self.folder / container, self.folder / f"{container}-whole"
            self.within(16, "convert", self.videos, out, "--to", container, *self.words)
            self.ok("convert", self.videos, whole, "--to", container, *self.words, "--memory", "1GiB")
            self.check_same(out, whole)
            for words in (["--quick"], [], ["--deep"], ["--against", self.videos]):
                self.within(16, "verify", out, *words)
            shutil.rmtree(whole)

    def test_cat_info_and_repair(self):
        for container, suffix in FORMATS.items():
            out = self.folder / container
            self.ok("convert", self.videos, out, "--to", container, *self.words, "--shard-samples", 1)
            done = subprocess.run([SHALE, "cat", out, "--key", "a/large.mp4", "--memory", "16MiB"], stdout=subprocess.PIPE, check=True)
            self.assertEqual(done.stdout, (self.videos / "a/large.mp4").read_bytes())
            del done
            self.ok("info", out)
            shard = out / f"shard-000000.{suffix}"
            before = snapshot(out)
            with open(shard, "r+b") as file:
                file.seek(LARGE // 2)
                file.write(b"damage")
            self.within(16, "repair", out, "--from", self.videos)
            self.assertEqual(snapshot(out), before)
            shutil.rmtree(out)

    def test_parts_merge_and_append(self):
        write(self.folder / "more/a/other.mp4", b"other")
        for container in FORMATS:
            out, parts = self.folder / container, [self.folder / f"{container}-{part}" for part in range(2)]
            for part, path in enumerate(parts):
                self.within(16, "convert", self.videos, path, "--to", container, *self.words, "--part", f"{part}/2")
            self.ok("merge", *parts, out)
            self.within(16, "convert", self.folder / "more", out, "--append", *self.words)
            self.within(16, "verify", out, "--deep")
            self.ok("cat", out, "--key", "a/other.mp4")
            shutil.rmtree(out)
    def test_index_of_a_file_of_another_tool(self):
        for name in ("large.h5", "large.lmdb", "large.tfrecord"):
            self.ok("convert", self.videos, self.folder / name, *self.words)
            self.within(16, "index", self.folder / name, "--crc")
            self.within(16, "verify", self.folder / name)

    def test_from_a_dataset_to_another(self):
        source = self.folder / "source"
        self.ok("convert", self.videos, source, "--to", self.dice.choice(list(FORMATS)), *self.words)
        for other in FORMATS:
            out = self.folder / other
            self.within(16, "convert", source, out, "--to", other)
            self.assertEqual(manifest_of(out)["digest"], manifest_of(source)["digest"])
            shutil.rmtree(out)

    def test_from_a_tar_archive(self):
        archive = self.folder / "in.tar"
        subprocess.run(["tar", "-C", self.videos, "-cf", archive, "a", "b"], check=True)
        self.within(16, "convert", archive, self.out, "--to", "record", *self.words)
        self.within(16, "verify", self.out, "--against", archive)
        self.ok("convert", self.videos, self.folder / "whole", "--to", "record", *self.words, "--memory", "1GiB")
        self.assertEqual((self.out / "shard-000000.tfrecord").read_bytes(), (self.folder / "whole/shard-000000.tfrecord").read_bytes())

    def test_frames_that_are_too_many_together(self):
        frames = [png(1200, 1000, seed=seed) for seed in range(3)]  # 3.6 MB each
        for i in range(12):
            write(self.folder / f"frames/a/v/{i:04}.png", frames[i % 3])
        for container in FORMATS:
            out, whole = self.folder / container, self.folder / f"{container}-whole"
            words = ["--to", container, "--group", "frames"]
            self.within(16, "convert", self.folder / "frames", out, *words)
            self.ok("convert", self.folder / "frames", whole, *words, "--memory", "1GiB")
            self.check_same(out, whole)
            self.within(16, "verify", out, "--deep")
            self.within(16, "verify", out, "--against", self.folder / "frames")
            self.within(16, "convert", out, self.folder / "again", "--to", "record")
            shutil.rmtree(self.folder / "again")

    def test_a_partner_that_is_too_large(self):
        write(self.folder / "pairs/a/1.png", png(30, 20))
        shutil.copy(self.videos / "a/large.mp4", self.folder / "pairs/a/1.mp4")
        for container in FORMATS:
            out = self.folder / container
            self.within(16, "convert", self.folder / "pairs", out, "--to", container)
            self.within(16, "verify", out, "--deep")
            self.within(16, "verify", out, "--against", self.folder / "pairs")

    def test_damage_in_the_middle_is_found_with_its_block(self):
        for container, suffix in FORMATS.items():
            out = self.folder / container
            self.ok("convert", self.videos, out, "--to", container, *self.words)
            with open(out / f"shard-000000.{suffix}", "r+b") as file:
                file.seek(MARK)
                file.write(b"\1")
            block = MARK // MIB * MIB
            for words in ([], ["--deep"], ["--against", self.videos]):
                done = self.refused_by_verify(out, *words)
                self.assertIn(f"byte {block}", done.out + done.err)
            self.assertRegex(done.out + done.err, "'a/large.mp4': field 'video': sample differs from the source file")
            self.refused("cat", out, "--key", "a/large.mp4", "--memory", "16MiB", code=3, says=["checksum mismatch"])
            self.refused("convert", out, self.folder / "again", "--to", "record", "--memory", "16MiB", code=3, says=["checksum mismatch", "a/large.mp4"])
            self.assertFalse((self.folder / "again/dataset.json").exists())
            shutil.rmtree(self.folder / "again", ignore_errors=True)

    def refused_by_verify(self, *words):
        return self.ok("verify", *words, "--memory", "16MiB", code=3)

    def test_what_no_format_can_hold_is_named_before_anything_is_written(self):
        with open(self.videos / "b/huge.mp4", "wb") as file:
            file.truncate(5 << 30)
        for more in ([], ["--dry-run"]):
            words = ["convert", self.videos, self.out, *self.words, "--memory", "16MiB", *more]
            self.refused(*words, "--to", "record", "--shard-size", "8GiB", says=["b/huge.mp4", "2147483647"])
            self.refused(*words, "--to", "lmdb", "--shard-size", "8GiB", says=["b/huge.mp4", "at most"])
            self.refused(*words, "--to", "hdf5", says=["b/huge.mp4", "--shard-size is 1073741824"])
            self.assertFalse(self.out.exists())
        self.ok("convert", self.videos, self.out, *self.words, "--to", "hdf5", "--shard-size", "8GiB", "--memory", "16MiB", "--dry-run")

    def test_an_image_that_must_be_held_is_refused_with_the_memory_that_would_do(self):
        write(self.folder / "photos/a/large.png", png(3000, 2500))
        words = ["convert", self.folder / "photos", self.out, "--to", "record"]
        for more in ([], ["--dry-run"]):
            done = self.refused(*words, *more, "--memory", "16MiB", says=["a/large.png", "--memory leaves"])
            self.assertFalse(self.out.exists())
        memory = done.err.split("pass --memory ")[1].split()[0]
        self.ok(*words, "--memory", memory)


class FullDisk(FaultCase):
    def test_a_disk_that_is_too_small_is_named_before_the_reading(self):
        videos = make_videos(self.folder / "in", large=40 * MIB)
        for container in FORMATS:
            with self.subTest(container), self.small_disk("30m") as disk:
                words = ["convert", videos, disk / "out", "--to", container, "--ext", "mp4", "--memory", "16MiB"]
                self.refused(*words, says=["free space, only"])
                self.assertFalse((disk / "out/dataset.json").exists())
                self.remount(disk, "size=100m")
                self.ok(*words)
                self.ok("verify", disk / "out", "--against", videos)


class ChangedWhileRead(FaultCase):
    """Between the listing and the reading, and between the two readings."""

    def changed(self, change, says):
        videos = make_videos(self.folder / "in")
        paused = self.paused_after_listing(videos, self.out, "--ext", "mp4")
        change(videos / "a/large.mp4")
        code, messages = paused.resume()
        self.assertEqual(code, 1, messages)
        self.assertIn("a/large.mp4", messages)
        self.assertIn(says, messages)
        self.assertFalse((self.out / "dataset.json").exists())

    def test_a_file_that_was_truncated(self):
        self.changed(lambda path: os.truncate(path, 50 * MIB), f"and has {50 * MIB}")

    def test_a_file_that_has_grown(self):
        self.changed(lambda path: os.truncate(path, 200 * MIB), f"and has {200 * MIB}")

    def test_a_file_that_has_gone(self):
        self.changed(os.unlink, "file has gone")


class KilledInLargeValues(StepsCase):
    def test_killed_at_any_step_and_continued_gives_the_same_bytes(self):
        videos = make_videos(self.folder / "in", large=20 * MIB)
        for container in FORMATS:
            with self.subTest(container):
                self.kill_at_steps(lambda jobs, _, container=container: ["convert", videos, self.place / "out", "--to", container, "--ext", "mp4", "--jobs", jobs, "--memory", "16MiB"])


if __name__ == "__main__":
    import unittest

    unittest.main()
