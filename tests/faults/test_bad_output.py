"""Targets that exist, are in use, full, read-only or too small."""

import fcntl
import os
import resource
import shutil
import signal

from fault_case import IN_MEMORY, WORK_FOLDER_MARK, FaultCase
from shale_tool import make_photos, manifest_of, npy, png, run, snapshot, start, write


class TargetsThatExist(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.source = make_photos(self.folder / "in", 9)
        self.words = ["convert", self.source, self.out, "--to", "record", "--shard-samples", 4]

    def leave_unfinished(self, *words):
        """A run that ends after two whole shards: the next sample is larger than files may be."""
        write(self.source / "class-2/zz.png", png(300, 300))

        def limit_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

        done = run(*self.words, *words, preexec_fn=limit_files)
        self.assertEqual(done.code, 1, done.err)
        self.assertEqual(os.listdir(self.out), [".shale"])
        self.assertIn("shard-000001.tfrecord", os.listdir(self.out / ".shale/new"))

    def test_a_file(self):
        write(self.out, b"precious")
        with self.untouched(self.folder.path):
            self.refused(*self.words, says=[f"{self.out}: ", "is a file"])
            self.refused(*self.words, "--overwrite", says=[f"{self.out}: ", "is a file"])

    def test_a_folder_that_is_no_dataset_even_with_overwrite(self):
        write(self.out / "notes.txt", b"precious")
        with self.untouched(self.folder.path):
            self.refused(*self.words, says=[f"{self.out}: ", "not empty"])
            self.refused(*self.words, "--overwrite", says=[f"{self.out}: ", "not empty"])

    def test_an_empty_folder_is_used(self):
        self.out.mkdir()
        self.ok(*self.words)
        self.ok("verify", self.out)

    def test_a_link_that_leads_nowhere(self):
        self.out.symlink_to("nothing")
        with self.untouched(self.folder.path):
            self.refused(*self.words, says=[self.out])

    def test_a_finished_dataset_of_the_same_command_is_complete(self):
        self.ok(*self.words)
        with self.untouched(self.folder.path):
            done = self.ok(*self.words)
            self.assertIn("already complete", done.out)
            # What does not shape the bytes may change.
            self.ok(*self.words, "--jobs", 1, "--memory", "32MiB", "--io", "buffered", "--max-errors", "7%")

    def test_a_finished_dataset_of_another_command_is_refused_with_the_difference(self):
        self.ok(*self.words)
        changes = {
            "shard_size: 1073741824 before, 50000 now": ["--shard-size", 50000],
            "shard_samples: 4 before, 5 now": ["--shard-samples", 5],
            "shuffle: no before, yes now": ["--shuffle"],
            "on_error: skip before, keep now": ["--on-error", "keep"],
            "hidden: unset before, keep now": ["--hidden", "keep"],
        }
        for difference, words in changes.items():
            with self.untouched(self.folder.path):
                base = self.words[:5] if words[0] == "--shard-samples" else self.words
                done = self.refused(*base, *words, says=[f"{self.out}: ", difference])
                self.assertIn("--overwrite", done.err)

    def test_a_finished_dataset_of_another_input_is_refused_with_the_difference(self):
        self.ok(*self.words)
        write(self.source / "class-0/new.png", png(5, 5))
        with self.untouched(self.folder.path):
            self.refused(*self.words, says=["input samples: 9 before, 10 now"])
            self.refused("verify", self.out, "--labels", "x", code=2)
        (self.source / "class-0/new.png").unlink()
        (self.source / "class-0/00000.png").write_bytes(png(50, 50))
        self.refused(*self.words, says=["input bytes: "])

    def test_overwrite_replaces_the_dataset_and_nothing_else(self):
        self.ok(*self.words)
        reference = self.folder / "reference"
        self.convert(self.source, reference, "--shuffle")
        write(self.out / "notes.txt", b"precious")
        self.convert(self.source, self.out, "--shuffle", "--overwrite")
        self.assertEqual((self.out / "notes.txt").read_bytes(), b"precious")
        (self.out / "notes.txt").unlink()
        self.check_same(self.out, reference)

    def test_overwrite_with_an_input_that_fails_keeps_the_dataset(self):
        self.ok(*self.words)
        (self.folder / "empty").mkdir()
        with self.untouched(self.folder.path):
            self.refused("convert", self.folder / "empty", self.out, "--to", "record", "--overwrite")

    def test_an_unfinished_run_of_the_same_command_is_finished(self):
        self.leave_unfinished()
        reference = self.folder / "reference"
        self.convert(self.source, reference, "--shard-samples", 4)
        self.check_unfinished(self.out, reference)
        self.ok(*self.words)
        self.check_same(self.out, reference)

    def test_an_unfinished_run_of_another_command_is_refused_with_the_difference(self):
        self.leave_unfinished()
        with self.untouched(self.folder.path):
            says = [f"{self.out}: ", "unfinished run of another command", "shuffle: no before, yes now", "--overwrite"]
            self.refused(*self.words, "--shuffle", says=says)
        self.ok(*self.words, "--shuffle", "--overwrite")
        self.ok("verify", self.out, "--against", self.source)

    def test_every_command_says_that_a_run_is_unfinished(self):
        self.leave_unfinished()
        for words in (["verify", self.out], ["info", self.out], ["cat", self.out, 0], ["convert", self.out, self.folder / "o", "--to", "record"]):
            self.refused(*words, says=[f"{self.out}: ", "unfinished"])
        done = run("info", self.out, "--json")
        self.assertEqual(done.code, 1)
        self.assertIn('"complete":false', done.out)

    def test_shards_without_manifest_are_not_taken_for_an_unfinished_run(self):
        self.ok(*self.words)
        (self.out / "dataset.json").rename(self.folder / "saved.json")
        with self.untouched(self.folder.path):
            for overwrite in ([], ["--overwrite"]):
                self.refused(*self.words, *overwrite, says=[f"{self.out}: ", "holds no shale dataset"])
            self.refused("index", self.out, says=[f"{self.out}: ", "dataset.json"])
            self.refused("verify", self.out, says=[f"{self.out}: "])
        (self.folder / "saved.json").rename(self.out / "dataset.json")
        self.assertIn("already complete", self.ok(*self.words).out)

    def test_a_work_folder_left_after_the_manifest_goes_away(self):
        """Killed between the manifest's rename and the end: complete, but for .shale."""
        self.ok(*self.words)
        before = snapshot(self.out)
        write(self.out / ".shale/lock", WORK_FOLDER_MARK)
        write(self.out / ".shale/journal", b"x\n")
        self.assertIn("already complete", self.ok(*self.words).out)
        self.assertEqual(snapshot(self.out), before)

    def test_a_second_writer_is_refused(self):
        write(self.out / ".shale/lock", WORK_FOLDER_MARK)
        with open(self.out / ".shale/lock", "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refused(*self.words, says=[f"{self.out}: ", "another shale process"])
        self.ok(*self.words)


class DisksThatFail(FaultCase):
    def setUp(self):
        super().setUp()
        self.source = make_photos(self.folder / "in", 60, sides=(40, 80))
        self.reference = self.folder / "reference"
        self.words = ["--shard-samples", 5]
        self.convert(self.source, self.reference, *self.words)

    def test_a_full_disk(self):
        """The samples would fit, so it begins; but files take whole pages, and here each sample has three files."""
        reference = self.folder / "many-files"
        self.convert(self.source, reference, "--shard-samples", 1)
        for io in ("auto", "buffered"):
            with self.subTest(io=io), self.small_disk("400k") as disk, self.untouched(self.source):
                out = disk / "out"
                words = ["convert", self.source, out, "--to", "record", "--io", io, "--shard-samples", 1]
                self.refused(*words, says=["No space left on device", out])
                self.check_unfinished(out, reference)
                self.assertIn("shard-000000.tfrecord", os.listdir(out / ".shale/new"), "what was whole stays")
                self.remount(disk, "size=8m")
                self.ok(*words)
                self.check_same(out, reference)

    def test_a_disk_that_is_too_small_is_refused_before_the_first_byte(self):
        bytes_of_samples = sum(path.stat().st_size for path in self.source.rglob("*.png"))
        with self.small_disk("128k") as disk:
            words = ["convert", self.source, disk / "out", "--to", "record"]
            done = self.refused(*words, says=[f"{disk}/out: needs ", " KiB of free space, only "])
            self.assertEqual(os.listdir(disk), [])
            self.refused(*words, "--dry-run", says=[f"{disk}/out: needs "])
            self.refused(*words, "--shuffle", "--on-error", "keep", says=[f"{disk}/out: needs "])
            self.refused("convert", self.source, disk / "out.lmdb", says=[f"{disk}: needs "])
            self.assertEqual(os.listdir(disk), [])
            needed = float(done.err.split("needs ")[1].split(" KiB")[0]) * 1024
            self.assertLess(needed, 1.1 * bytes_of_samples, "samples that may be left out, and the index, make up for each other")

    def test_space_that_samples_may_not_need_is_not_asked_for(self):
        """Bad images are left out, at least 10 of them if need be: what remains may fit."""
        few = make_photos(self.folder / "few", 9, sides=(100, 100))
        for path in sorted(few.rglob("*.png"))[1:]:
            path.write_bytes(path.read_bytes()[:-20])
        with self.small_disk("64k") as disk:
            self.ok("convert", few, disk / "out", "--to", "record", code=4)
            self.refused("convert", few, disk / "kept", "--to", "record", "--on-error", "keep", says=["of free space"])

    def test_a_resample_needs_room_for_its_scratch_file_and_its_shards(self):
        rows = self.folder / "rows.npy"
        write(rows, npy("|u1", (24 << 14, 64), os.urandom(24 << 20)))
        with self.small_disk("36m") as disk:
            words = ["resample", f"x={rows}", disk / "out", "--to", "npy", "--memory", "16MiB"]
            self.refused(*words, says=[f"{disk}/out: needs 51", " MiB of free space, only "])
            self.assertEqual(os.listdir(disk), [])
            self.ok(*words, "--tmp", self.folder)

    def test_a_disk_with_too_few_inodes_is_refused_before_the_first_byte(self):
        words = ["convert", self.source, "--to", "record", "--shard-samples", 5]
        need = 12 * 3 + 1  # files of shards, manifest
        with self.small_disk("8m,nr_inodes=24") as disk:
            self.refused(*words, disk / "out", says=[f"{disk}/out: needs ", " free inodes, one for each file, only "])
            self.assertEqual(os.listdir(disk), [])
            self.remount(disk, f"nr_inodes={need + 10}")
            self.ok(*words, disk / "out")
            self.check_same(disk / "out", self.reference)

    def test_inodes_that_run_out(self):
        """The list of odd images was not foreseen: it takes one inode more than the check asks for."""
        causes = set()
        for inodes in range(6, 14):
            with self.small_disk(f"8m,nr_inodes={inodes}") as disk:
                done = run("convert", self.source, disk / "out", "--to", "record")
                if done.code != 0:
                    self.assertEqual(done.code, 1, done.err)
                    self.assertIn("remove files", done.err.split("hint: ")[1])
                    causes |= {cause for cause in ("inodes, one for each file", "No space left on device") if cause in done.err}
        self.assertEqual(len(causes), 2, causes)

    def test_disks_of_every_size_up_to_enough(self):
        """Full while it writes data, index, block list, journal, image list or manifest: always the same story."""
        need = sum(path.stat().st_size for path in self.reference.iterdir()) // 4096
        for pages in range(2, need + 40, 4):
            with self.small_disk(f"{4 * pages}k") as disk:
                out = disk / "out"
                done = run("convert", self.source, out, "--to", "record", *self.words)
                if done.code != 0:
                    self.assertEqual(done.code, 1, done.err)
                    self.assertRegex(done.err, "No space left on device|of free space, only")
                    self.assertIn("\nhint: ", done.err)
                    self.check_unfinished(out, self.reference)
                    self.remount(disk, "size=8m")
                    self.ok("convert", self.source, out, "--to", "record", *self.words)
                self.check_same(out, self.reference)

    def test_disks_too_small_for_the_index_of_a_file(self):
        """Full while it writes index, block list or manifest: nothing is left, and the hint is one that helps."""
        photos, file, whole = make_photos(self.folder / "many", 300, sides=(2, 4)), self.folder / "f.lmdb", self.folder / "whole"
        self.ok("convert", photos, self.out, "--to", "lmdb")
        shutil.copy(self.out / "shard-000000.lmdb", file)
        self.ok("index", file, "--crc", "--index-dir", whole)
        need = sum((path.stat().st_size + 4095) // 4096 for path in whole.iterdir())
        for pages in range(1, need + 2):  # the mark of the work folder takes one more
            with self.small_disk(f"{4 * pages}k") as disk:
                words = ["index", file, "--crc", "--index-dir", disk / "idx"]
                if pages <= need:
                    done = self.refused(*words, says=["f.lmdb.", "No space left on device", "free some space"])
                    self.assertNotIn("pass --index-dir", done.err)
                    self.assertEqual(os.listdir(disk / "idx"), [])
                    self.remount(disk, "size=8m")
                self.ok(*words)
                self.check_same(disk / "idx", whole)

    def test_a_read_only_disk(self):
        with self.small_disk("8m") as disk:
            self.convert(self.source, disk / "made", *self.words)
            self.remount(disk, "ro")
            out = disk / "out"
            self.refused("convert", self.source, out, "--to", "record", says=[out, "Read-only file system"])
            self.refused("convert", self.source, disk / "made", "--to", "record", "--overwrite", says=["Read-only file system"])
            # Reading needs nothing to be written.
            self.ok("verify", disk / "made", "--deep", "--against", self.source)
            self.assertIn("already complete", self.convert(self.source, disk / "made", *self.words).out)
            self.refused("convert", self.source, out, "--to", "record", "--dry-run", says=[out, "Read-only file system"])

    def test_files_larger_than_the_process_may_write(self):
        for name, action in (("dies of it", signal.SIG_DFL), ("is told", signal.SIG_IGN)):
            with self.subTest(name), self.untouched(self.source):

                def limit_files():
                    signal.signal(signal.SIGXFSZ, action)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

                says = ["File too large", "shard-0000", "ulimit -f"]
                self.refused("convert", self.source, self.out, "--to", "record", *self.words, says=says, preexec_fn=limit_files)
                self.check_unfinished(self.out, self.reference)
                self.convert(self.source, self.out, *self.words)
                self.check_same(self.out, self.reference)
                shutil.rmtree(self.out)

    def test_a_folder_that_may_not_be_written(self):
        (self.folder / "locked").mkdir(mode=0o555)
        out = self.folder / "locked/out"
        self.refused_as_nobody("convert", self.source, out, "--to", "record", says=[out, "Permission denied"])

    def test_a_full_stdout(self):
        with open("/dev/full", "wb") as full:
            for words in (["info", self.reference], ["cat", self.reference, 0], ["formats"]):
                process = start(*words)
                process.communicate()
                self.assertEqual(process.returncode, 0)
                process = start(*words, stdout=full)
                _, err = process.communicate()
                self.assertEqual(process.returncode, 1)
                self.assertIn(b"cannot write to stdout: No space left on device", err)


class ShardsThatAreTooSmall(FaultCase):
    def setUp(self):
        super().setUp()
        self.source = make_photos(self.folder / "in", 12, sides=(4, 8))
        write(self.source / "class-1/large.png", png(100, 60))

    def test_a_sample_that_fits_no_shard_is_named_with_both_numbers_before_anything_of_it_is_written(self):
        words = ["convert", self.source, self.out, "--to", "record", "--shard-size"]
        size = (self.source / "class-1/large.png").stat().st_size
        with self.untouched(self.source):
            done = self.refused(*words, size, says=["class-1/large.png", f"--shard-size is {size}"])
        for shard in (self.out / ".shale/new").glob("*"):
            self.assertNotIn(b"large.png", shard.read_bytes())
        hinted = int(done.err.split("--shard-size ")[-1].split()[0])
        self.refused(*words[:-1], "--overwrite", "--shard-size", hinted - 1, says=["class-1/large.png"])
        # The hint is exact: with this number the command works.
        self.ok(*words[:-1], "--overwrite", "--shard-size", hinted)
        self.assertLessEqual(max((self.out / name).stat().st_size for name in os.listdir(self.out) if "shard" in name), hinted)
        self.ok("verify", self.out, "--against", self.source)

    def test_a_run_that_failed_before_its_first_shard_is_not_in_the_way(self):
        words = ["convert", self.source, self.out, "--to", "record", "--shard-size"]
        self.refused(*words, 10, says=["--shard-size is 10"])
        self.assertFalse(self.out.exists())
        self.ok(*words, "1MiB")

    def test_no_file_of_a_shard_is_larger_than_the_limit(self):
        for limit in (7000, 8000, 12345):
            out = self.folder / f"out-{limit}"
            self.convert(self.source, out, "--shard-size", limit)
            for shard in manifest_of(out)["shards"]:
                for file in [*shard["files"], shard["index"], shard["blocks"]]:
                    self.assertLessEqual((out / file["name"]).stat().st_size, limit, file["name"])
