"""What a run is not continued with: a journal that was damaged, an input that has changed, another command, another writer."""

import os
import shutil
import signal

from fault_case import IN_MEMORY, FaultCase
from shale_tool import few_descriptors, make_photos, npy, png, write
from steps import Steps


class RefusedContinuations(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.photos = make_photos(self.folder / "in", 40, sides=(20, 40))
        self.journal = self.out / ".shale/journal"

    def command(self, source, *words):
        return ["convert", source, self.out, "--to", "record", "--shard-samples", 5, "--jobs", 1, *words]

    def stop_halfway(self, source, *words):
        """A run that is killed with some shards complete, and most of them durable."""
        steps = Steps(self, self.folder, self.out)
        steps.limit = few_descriptors(32)
        command = self.command(source, *words)
        recorded = steps.recorded(command)[1]
        shutil.rmtree(self.out)
        self.assertEqual(steps.killed(command, len(recorded) // 2), -signal.SIGKILL)
        self.assertGreater(len(self.journaled(self.out)), 3)

    def finishes(self, *words):
        self.ok(*words)
        self.ok("verify", self.out, "--deep")

    def test_a_damaged_journal_is_named_and_overwrite_discards_the_run(self):
        self.stop_halfway(self.photos)
        content = self.journal.read_bytes()
        ends = [at for at, byte in enumerate(content) if byte == 0x0A]
        # In the text of the first line, of a line between, and a line that is missing.
        flipped = [bytearray(content), bytearray(content)]
        flipped[0][40] ^= 1
        flipped[1][ends[0] + 12] ^= 1
        for bad in (*map(bytes, flipped), content[: ends[0] + 1] + content[ends[1] + 1 :]):
            self.journal.write_bytes(bad)
            with self.untouched(self.out):
                self.refused(*self.command(self.photos), code=3, says=[self.journal, "--overwrite"])
        self.finishes(*self.command(self.photos, "--overwrite"))

    def test_a_journal_of_another_version_is_refused(self):
        self.stop_halfway(self.photos)
        self.journal.write_bytes(b"to=record\tshard_size=1\n")
        with self.untouched(self.out):
            self.refused(*self.command(self.photos), says=["another version of shale", "--overwrite"])
        self.finishes(*self.command(self.photos, "--overwrite"))

    def test_a_torn_last_line_is_left_out(self):
        self.stop_halfway(self.photos)
        self.journal.write_bytes(self.journal.read_bytes()[:-20])
        self.finishes(*self.command(self.photos))

    def test_a_shard_that_is_missing_or_cut_is_named(self):
        self.stop_halfway(self.photos)
        shard = self.out / ".shale/new/shard-000001.tfrecord"
        content = shard.read_bytes()
        shard.write_bytes(content[:-1])
        self.refused(*self.command(self.photos), code=3, says=[shard])
        shard.unlink()
        self.refused(*self.command(self.photos), code=3, says=[shard])
        shard.write_bytes(content)
        self.finishes(*self.command(self.photos))

    def test_an_index_that_was_altered_is_named(self):
        """Its size is as it was: only its hash tells."""
        self.stop_halfway(self.photos)
        index = self.out / ".shale/new/shard-000001.index.npy"
        content = index.read_bytes()
        index.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with self.untouched(self.out):
            self.refused(*self.command(self.photos), code=3, says=[index, "is not as it was", "--overwrite"])
        index.write_bytes(content)
        self.finishes(*self.command(self.photos))

    def test_a_key_that_is_there_twice_is_refused_before_anything_is_written(self):
        """So no run can be killed between the two, and continued behind the first of them."""
        one, both = self.folder / "one.tfrecord", self.folder / "both.tfrecord"
        self.ok("convert", self.photos, one)
        both.write_bytes(2 * one.read_bytes())
        self.refused(*self.command(both), says=["the key is not unique"])
        self.assertFalse(self.out.exists())
        # Nor behind a run of the file as it was before.
        self.stop_halfway(one)
        one.write_bytes(both.read_bytes())
        with self.untouched(self.out):
            self.refused(*self.command(one), says=["the key is not unique"])

    def test_metadata_that_has_changed_is_noticed(self):
        """Also with a cell of the same size: not one shard has the old rows beside the new."""
        metadata = self.photos / "metadata.csv"
        rows = [f"{path.relative_to(self.photos)},{number:03}" for number, path in enumerate(sorted(self.photos.rglob("*.*")))]
        write(metadata, "\n".join(["file_name,number", *rows]).encode())
        self.stop_halfway(self.photos)
        content = metadata.read_bytes()
        metadata.write_bytes(content.replace(b",000", b",999"))
        with self.untouched(self.out):
            self.refused(*self.command(self.photos), code=1, says=["input fingerprint", "--overwrite"])
            self.refused(*self.command(self.photos), "--pairs", "off", code=1, says=["metadata"])
        # Another time, the same rows: the run goes on.
        metadata.write_bytes(content)
        self.finishes(*self.command(self.photos))
        self.ok("verify", self.out, "--against", self.photos)

    def test_lists_that_were_changed_or_lost_are_named(self):
        for path in sorted(self.photos.rglob("*.png"))[:3]:
            path.write_bytes(path.read_bytes()[:-8])
        self.stop_halfway(self.photos)
        skipped = self.out / ".shale/new/skipped.csv"
        content = skipped.read_bytes()
        self.assertIn(b"truncated", content)
        for bad in (content.replace(b"truncated", b"truncatee", 1), content[:-1], None):
            skipped.unlink()
            if bad is not None:
                skipped.write_bytes(bad)
            self.refused(*self.command(self.photos), code=3, says=[skipped, "--overwrite"])
            skipped.write_bytes(content)
        self.ok(*self.command(self.photos), code=4)
        self.ok("verify", self.out, "--against", self.photos)

    def test_a_killed_overwrite_with_a_damaged_listing_begins_again(self):
        """The same command has --overwrite already: nothing more can be asked of it."""
        self.ok(*self.command(make_photos(self.folder / "old", 6)))
        steps = Steps(self, self.folder, self.out)
        command = self.command(self.photos, "--overwrite")
        self.assertEqual(steps.killed(command, 60), -signal.SIGKILL)
        listing = self.out / ".shale/listing"
        content = bytearray(listing.read_bytes())
        content[len(content) // 2] ^= 1
        listing.write_bytes(content)
        with self.untouched(self.out):
            self.refused(*self.command(self.photos), code=1)
        self.finishes(*command)
        self.ok("verify", self.out, "--against", self.photos)

    def test_an_overwrite_does_not_go_on_with_that_of_another_command(self):
        old = make_photos(self.folder / "old", 6)
        for number, words in enumerate((["--shuffle"], ["--on-error", "keep"], ["--hidden", "skip"])):
            shutil.rmtree(self.out, ignore_errors=True)
            self.ok(*self.command(old))
            steps = Steps(self, self.folder, self.out)
            self.assertEqual(steps.killed(self.command(self.photos, "--overwrite"), 70), -signal.SIGKILL)
            self.assertGreater(len(self.journaled(self.out)), 3)
            self.ok(*self.command(self.photos, "--overwrite"), *words)
            fresh = self.folder / f"fresh-{number}"
            self.ok(*(fresh if word == self.out else word for word in self.command(self.photos)), *words)
            self.check_same(self.out, fresh)

    def test_an_overwrite_whose_input_has_changed_leaves_the_old_set_alone(self):
        self.ok(*self.command(make_photos(self.folder / "old", 6)))
        steps = Steps(self, self.folder, self.out)
        command = self.command(self.photos, "--overwrite")
        self.assertEqual(steps.killed(command, 70), -signal.SIGKILL)
        last = sorted(self.photos.rglob("*.png"))[-1]
        last.write_bytes(png(30, 30, seed=999))
        self.refused(*command, says=[last, "has changed since the input was listed"])
        self.assertFalse((self.out / ".shale").exists())
        self.finishes(*command)
        self.ok("verify", self.out, "--against", self.photos)

    def test_a_torn_last_line_does_not_stay_below_what_follows(self):
        """Killed once more after that, and continued again: the journal is whole."""
        self.stop_halfway(self.photos)
        self.journal.write_bytes(self.journal.read_bytes()[:-20])
        steps = Steps(self, self.folder, self.out)
        before = len(self.journaled(self.out))
        self.assertEqual(steps.killed(self.command(self.photos), 40), -signal.SIGKILL)
        self.assertGreater(len(self.journaled(self.out)), before)
        self.finishes(*self.command(self.photos))

    def test_bad_images_before_a_kill_count(self):
        paths = sorted(self.photos.rglob("*.png"))
        for path in (*paths[:6], *paths[-3:]):
            path.write_bytes(path.read_bytes()[:-8])
        self.stop_halfway(self.photos, "--max-errors", 7)
        self.refused(*self.command(self.photos, "--max-errors", 7), says=["8 bad images, more than --max-errors allows (7)"])

    def test_a_file_of_a_folder_that_has_changed_is_named(self):
        self.stop_halfway(self.photos)
        last = sorted(self.photos.rglob("*.png"))[-1]
        content, times = last.read_bytes(), last.stat()
        last.write_bytes(png(30, 30, seed=999))
        self.refused(*self.command(self.photos), says=[last, "has changed since the input was listed"])
        last.write_bytes(content)
        self.refused(*self.command(self.photos), says=[last, "was modified"])
        os.utime(last, ns=(times.st_atime_ns, times.st_mtime_ns))
        self.finishes(*self.command(self.photos))

    def test_an_array_that_has_changed_is_named(self):
        source = self.folder / "x.npy"
        write(source, npy("<i4", (60, 9), bytes(60 * 36)))
        self.stop_halfway(source)
        write(source, npy("<i4", (60, 9), bytes(60 * 36)))
        self.refused(*self.command(source), says=["x.npy", "modified", "--overwrite"])
        self.finishes(*self.command(source, "--overwrite"))

    def test_an_input_that_was_moved_is_continued(self):
        """It is listed again, and is the same by paths and sizes; a file that differs is not."""
        reference = self.folder / "reference"
        self.ok("convert", self.photos, reference, "--to", "record", "--shard-samples", 5)
        self.stop_halfway(self.photos)
        moved = self.folder / "elsewhere"
        os.rename(self.photos, moved)
        extra = png(9, 9)
        write(moved / "class-0/new.png", extra)
        with self.untouched(self.out):
            self.refused(*self.command(moved), says=["input samples: 40 before, 41 now"])
        (moved / "class-0/new.png").unlink()
        finished = [shard.stat().st_ino for shard in (self.out / ".shale/new").glob("shard-000000.tfrecord")]
        self.finishes(*self.command(moved))
        self.assertEqual([(self.out / "shard-000000.tfrecord").stat().st_ino], finished)
        self.check_same(self.out, reference)

    def test_a_file_of_a_folder_that_has_gone_is_named_and_added_ones_are_not_noticed(self):
        self.stop_halfway(self.photos)
        last = sorted(self.photos.rglob("*.png"))[-1]
        content, times = last.read_bytes(), last.stat()
        last.unlink()
        self.refused(*self.command(self.photos), says=[last])
        write(last, content)
        os.utime(last, ns=(times.st_atime_ns, times.st_mtime_ns))
        write(self.photos / "class-0/new.png", content)
        self.finishes(*self.command(self.photos))
        self.assertNotIn("new.png", self.ok("ls", self.out).out)

    def test_another_command_is_refused_with_the_difference(self):
        self.stop_halfway(self.photos)
        with self.untouched(self.out):
            self.refused(*self.command(self.photos, "--shuffle"), says=["shuffle: no before, yes now"])
            self.refused(*self.command(self.photos, "--on-error", "keep"), says=["on_error: skip before, keep now"])
        self.finishes(*self.command(self.photos))
