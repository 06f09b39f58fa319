"""Parts of a run, and their merge: the same dataset as one run writes, whatever is missing, killed, or in the way."""

import json
import os
import pathlib
import shutil
import signal
import struct
import unittest

from fault_case import IN_MEMORY, FaultCase
from shale_tool import RGB_JPEG, make_photos, manifest_of, npy, run, snapshot, start, write
from steps import Steps

LISTS = ("skipped.csv", "ignored.csv", "images.csv")
OF_THE_RUN = ("format", "options", "schema", "layout", "source", "classes", "samples", "payload_bytes", "skipped", "ignored", "digest")


def links_to_parts(steps):
    """The numbers of the steps that link a file of a part, not of those that give the new files their names."""
    return [step.number for step in steps if step.name == "link" and "/parts/" in step.other]


class Parts(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.photos = make_photos(self.folder / "photos", 30, sides=(2, 12), classes=3)
        write(self.photos / "class-0/empty.png", b"")
        write(self.photos / "class-2/broken.png", b"no image")
        write(self.photos / "class-1/readme.txt", b"text")

    def parts_of(self, words, count, numbers=None, name="parts"):
        parts = self.folder / name
        for index in range(count) if numbers is None else numbers:
            done = run("convert", *words[:-1], parts, *words[-1], "--part", f"{index}/{count}")
            self.assertIn(done.code, (0, 4), done.err)
        return parts

    def merge(self, *words):
        """Exit 4 where samples were skipped when the parts were written."""
        done = run("merge", *words)
        self.assertIn(done.code, (0, 4), done.err)
        return done

    def whole_of(self, words, name="whole"):
        self.assertIn(run("convert", *words[:-1], self.folder / name, *words[-1]).code, (0, 4))
        return self.folder / name

    def check_whole(self, merged, whole):
        ours, one_run = manifest_of(merged), manifest_of(whole)
        for member in OF_THE_RUN:
            self.assertEqual(ours[member], one_run[member], member)
        self.assertEqual(ours.get("images"), one_run.get("images"))
        self.assertNotIn("part", ours)
        self.assertEqual([name for name in LISTS if (merged / name).exists()], [name for name in LISTS if (whole / name).exists()])
        for name in LISTS:
            if (whole / name).exists():
                self.assertEqual((merged / name).read_bytes(), (whole / name).read_bytes(), name)
        self.ok("verify", merged, "--deep")

    def inputs(self):
        rows = struct.pack("<90h", *range(90))
        (self.folder / "x.npy").write_bytes(npy("<i2", (30, 3), rows))
        (self.folder / "fortran.npy").write_bytes(npy("<i2", (30, 3), rows, fortran_order=True))
        (self.folder / "y.npy").write_bytes(npy("<i8", (30,), struct.pack("<30q", *range(30))))
        arrays = [f"x={self.folder / 'x.npy'}", f"y={self.folder / 'y.npy'}"]
        self.whole_of([self.photos, ["--to", "record"]], "copied")
        self.whole_of([*arrays, ["--to", "npy", "--shard-samples", 4]], "rows")
        self.assertEqual(run("convert", self.photos, self.folder / "one.tfrecord").code, 4)
        return {
            "folder": ([self.photos], ("record", "lmdb", "hdf5", "webdataset", "parquet")),
            "arrays": (arrays, ("npy", "hdf5", "record")),
            "array in Fortran order": ([self.folder / "fortran.npy"], ("npy",)),
            "dataset": ([self.folder / "copied"], ("lmdb",)),
            "dataset of rows": ([self.folder / "rows"], ("npy", "lmdb")),
            "file": ([self.folder / "one.tfrecord"], ("record",)),
        }

    def test_merged_parts_are_the_dataset_of_one_run(self):
        """Each kind of input and each format, shuffled or not, more parts than some have samples."""
        for kind, (words, formats) in self.inputs().items():
            for container in formats:
                for order in ([], ["--shuffle", "--seed", 5]):
                    with self.subTest(input=kind, to=container, order=order):
                        options = ["--to", container, "--shard-samples", 3, *order]
                        whole = self.whole_of([*words, options])
                        merged = self.folder / "merged"
                        self.merge(self.parts_of([*words, options], 4), merged)
                        self.check_whole(merged, whole)
                        for name in ("parts", "merged", "whole"):
                            shutil.rmtree(self.folder / name)

    def test_what_the_parts_lack_is_said_and_a_dry_run_writes_nothing(self):
        parts = self.parts_of([self.photos, ["--to", "record"]], 3)
        said = "  skipped when the parts were written: 2 samples"
        before = snapshot(self.folder.path)
        planned = self.ok("merge", parts, self.out, "--dry-run")
        self.assertIn("would merge 3 parts", planned.out)
        self.assertIn(said, planned.out)
        self.refused("merge", parts, parts / "part-00000-of-00003", "--dry-run", code=2)
        self.assertEqual(snapshot(self.folder.path), before)
        self.assertIn(said + " (listed in skipped.csv)", self.ok("merge", parts, self.out, code=4).out)
        for also in ([], ["--dry-run"]):
            self.assertIn("already complete", self.ok("merge", parts, self.out, *also).out)
        checked = self.ok("verify", self.out, "--against", self.photos)
        self.assertIn("the source holds the same samples; 2 samples of the source were skipped (skipped.csv)", checked.out)

    def test_more_parts_than_samples(self):
        few = make_photos(self.folder / "few", 3)
        for container in ("record", "lmdb", "hdf5", "webdataset", "parquet"):
            whole = self.whole_of([few, ["--to", container]])
            self.merge(self.parts_of([few, ["--to", container]], 7), self.out)
            self.check_whole(self.out, whole)
            for folder in (whole, self.out, self.folder / "parts"):
                shutil.rmtree(folder)

    def test_part_at_shard_borders_is_the_whole_byte_for_byte(self):
        good = make_photos(self.folder / "good", 32)
        options = ["--to", "record", "--shard-samples", 4, "--shuffle"]
        whole = self.whole_of([good, options])
        self.merge(self.parts_of([good, options], 4), self.out)
        self.check_same(self.out, whole)

    def test_merge_by_copies_proves_them(self):
        """On another file system."""
        if os.stat(self.folder.path).st_dev == os.stat("/var/tmp").st_dev:
            self.skipTest("all on one file system")
        parts = self.parts_of([self.photos, ["--to", "record"]], 3)
        whole = self.whole_of([self.photos, ["--to", "record"]])
        other = pathlib.Path(f"/var/tmp/shale-merge-{os.getpid()}")
        self.addCleanup(shutil.rmtree, other, ignore_errors=True)
        done = self.merge(parts, other / "out")
        self.assertIn("are copied", done.err)
        self.check_whole(other / "out", whole)
        shard = parts / "part-00001-of-00003/shard-000000.tfrecord"
        data = bytearray(shard.read_bytes())
        data[len(data) // 2] ^= 1
        shard.write_bytes(data)
        self.refused("merge", parts, other / "again", code=3, says=[shard, "hashes to"])
        self.assertFalse((other / "again/dataset.json").exists())

    def test_parts_that_are_removed_are_in_the_result(self):
        parts = self.parts_of([self.photos, ["--to", "record"]], 3)
        write(parts / "part-00001-of-00003/notes.txt", b"mine")
        whole = self.whole_of([self.photos, ["--to", "record"]])
        self.merge(parts, self.out, "--move")
        self.check_whole(self.out, whole)
        self.assertEqual(list(snapshot(parts)), [b"part-00001-of-00003", b"part-00001-of-00003/notes.txt"])

    def test_links_to_shards_are_followed(self):
        parts = self.parts_of([self.photos, ["--to", "record"]], 2)
        shard = parts / "part-00000-of-00002/shard-000000.tfrecord"
        shard.rename(self.folder / "elsewhere")
        shard.symlink_to(self.folder / "elsewhere")
        self.merge(parts, self.out)
        self.assertFalse((self.out / "shard-000000.tfrecord").is_symlink())
        self.ok("verify", self.out)

    def test_what_is_in_the_way_stays(self):
        parts = self.parts_of([self.photos, ["--to", "record"]], 2)
        write(self.out / "mine.txt", b"mine")
        with self.untouched(self.out, parts):
            self.refused("merge", parts, self.out, says=[self.out])
        other = self.whole_of([self.photos, ["--to", "record", "--shuffle"]])
        with self.untouched(other, parts):
            self.refused("merge", parts, other, says=["already holds"])

    def test_a_part_with_other_options_or_another_input_is_refused(self):
        parts = self.parts_of([self.photos, ["--to", "record"]], 2)
        shutil.rmtree(parts / "part-00001-of-00002")
        self.parts_of([self.photos, ["--to", "record", "--shard-samples", 5]], 2, numbers=[1])
        self.refused("merge", parts, self.out, says=["its shards have at most 5 samples, not unlimited"])
        shutil.rmtree(parts / "part-00001-of-00002")
        write(self.photos / "class-1/new.jpg", RGB_JPEG)
        self.parts_of([self.photos, ["--to", "record"]], 2, numbers=[1])
        self.refused("merge", parts, self.out, says=["its input has 33 samples, not 32"])
        shutil.rmtree(parts / "part-00001-of-00002")
        self.parts_of([self.photos, ["--to", "lmdb"]], 2, numbers=[1])
        self.refused("merge", parts, self.out, says=["its format is lmdb, not record"])
        self.assertFalse(self.out.exists())

    def test_a_part_of_another_version_is_refused(self):
        parts = self.parts_of([self.photos, ["--to", "record"]], 2)
        manifest = parts / "part-00001-of-00002/dataset.json"
        text = manifest.read_bytes().replace(b'"generator": "shale ', b'"generator": "shale 9')
        manifest.write_bytes(self.sealed(text))
        self.refused("merge", parts, self.out, says=["it was written by shale 9"])

    def other_parts(self, count):
        """The same run of photos of the same sizes: names, sizes and options are equal, the pixels are not."""
        others = self.folder / "others"
        shutil.copytree(self.photos, others)
        for path in others.rglob("*.png"):
            path.write_bytes(self.with_other_pixels(path.read_bytes()))
        return self.parts_of([others, ["--to", "record", "--shard-samples", 5]], count, name="other-parts")

    def with_other_pixels(self, png):
        """Noise is stored as it is: another byte of it makes another image, whose checksums nobody needs here."""
        return png[:-20] + bytes([png[-20] ^ 1]) + png[-19:] if len(png) > 60 else png

    def test_a_merge_does_not_go_on_with_that_of_other_parts(self):
        ours, theirs = self.parts_of([self.photos, ["--to", "record", "--shard-samples", 5]], 3), self.other_parts(3)
        steps = Steps(self, self.folder, self.out)
        links = links_to_parts(steps.recorded(["merge", ours, self.out])[1])
        shutil.rmtree(self.out)
        self.assertEqual(steps.killed(["merge", ours, self.out], links[-1]), -signal.SIGKILL)
        with self.untouched(self.out, theirs):
            for also in ([], ["--dry-run"]):
                self.refused("merge", theirs, self.out, *also, says=["holds an unfinished run that is not the merge of these parts"])
        self.merge(ours, self.out)
        self.ok("verify", self.out, "--deep")

    def test_parts_that_are_not_in_the_output_are_not_removed(self):
        """It stands already: whatever bears the right names and sizes stays unless the output has the same content."""
        ours, theirs = self.parts_of([self.photos, ["--to", "record", "--shard-samples", 5]], 3), self.other_parts(3)
        self.merge(ours, self.out)
        with self.untouched(theirs, self.out):
            self.refused("merge", theirs, self.out, "--move", says=[theirs / "part-00000-of-00003", "is not removed"])
        # One of ours is among theirs: it may go, the others may not.
        shutil.rmtree(theirs / "part-00000-of-00003")
        shutil.copytree(ours / "part-00000-of-00003", theirs / "part-00000-of-00003")
        with self.untouched(self.out, theirs / "part-00001-of-00003", theirs / "part-00002-of-00003"):
            self.refused("merge", theirs, self.out, "--move", says=[theirs / "part-00001-of-00003", "is not removed"])
        self.merge(ours, self.out, "--move")
        self.assertEqual(list(ours.iterdir()), [])

    def test_a_part_that_is_written_again_during_the_merge_is_noticed(self):
        """Until the manifest has been made from those of the parts."""
        words = ["merge", self.folder / "parts", self.out]
        self.parts_of([self.photos, ["--to", "record", "--shard-samples", 5]], 3)
        part, new = self.folder / "parts/part-00002-of-00003", self.other_parts(3) / "part-00002-of-00003"
        steps = Steps(self, self.folder, self.out)
        recorded = steps.recorded(words)[1]
        last_link = links_to_parts(recorded)[-1]
        manifest = next(step.number for step in recorded if step.name == "create" and "dataset.json" in step.path)

        def replace():
            part.rename(self.folder / "old")
            shutil.copytree(new, part)

        for stop in (last_link + 1, manifest):
            shutil.rmtree(self.out)
            done = steps.stopped(words, stop, replace)
            self.assertEqual(done.code, 1, done.err)
            self.assertIn(f"{part}: was written again while it was merged", done.err)
            self.assertFalse((self.out / "dataset.json").exists())
            shutil.rmtree(part)
            (self.folder / "old").rename(part)
        self.ok(*words, code=4)
        self.ok("verify", self.out, "--deep")

    def test_two_at_once(self):
        parts = self.parts_of([self.photos, ["--to", "record", "--shard-samples", 1]], 4)
        both = [start("merge", parts, self.out) for _ in range(2)]
        codes = sorted(process.wait() for process in both)
        for process in both:
            process.stdout.close()
            process.stderr.close()
        self.assertIn(codes, ([4, 4], [1, 4], [0, 4]))  # the second may find it done
        self.merge(parts, self.out)
        self.ok("verify", self.out)

    def test_a_merge_that_is_killed_is_continued(self):
        """Until the result stands, the parts do; with --move one of the two is whole at any moment."""
        options = ["--to", "record", "--shard-samples", 1]
        whole = self.whole_of([self.photos, options])
        kept = self.parts_of([self.photos, options], 4)
        kills = 0
        for words in ([], ["--move"]):
            for delay in range(12):
                parts = self.folder / f"parts-{delay}{words}"
                shutil.copytree(kept, parts)
                process = start("merge", parts, self.out, *words)
                self.wait_until(process, lambda: len(snapshot(self.out)) > delay * 9)
                process.send_signal(signal.SIGKILL)
                kills += process.wait() != 0
                process.stdout.close()
                process.stderr.close()
                if not (self.out / "dataset.json").exists():
                    self.assertEqual(snapshot(parts), snapshot(kept))
                self.merge(parts, self.out, *words)
                self.check_same(self.out, whole)
                if words:
                    self.assertEqual(list(parts.iterdir()), [])
                shutil.rmtree(parts)
                shutil.rmtree(self.out)
        self.assertGreater(kills, 0)

    def wait_until(self, process, condition):
        while process.poll() is None:
            try:
                if condition():
                    return
            except FileNotFoundError:
                pass  # renamed while it was listed

    def sealed(self, text):
        """A manifest with the hash that it then must have, made by shale itself: a wrong hash is reported with the right one."""
        probe = self.folder / "probe"
        write(probe / "dataset.json", text)
        words = run("info", probe).err
        right = [word.strip(",") for word in words.split() if len(word.strip(",")) == 32]
        shutil.rmtree(probe)
        old = json.loads(text)["hash"].encode()
        new = next(word.encode() for word in right if word.encode() != old)
        return text.replace(old, new)


if __name__ == "__main__":
    unittest.main()
