"""Files of other tools, hostile ones: verify, info, index and convert neither crash, hang, nor take memory that the file does not have."""

import json
import os
import shutil
import signal
import time

from fault_case import BUG_MARKS, IN_MEMORY, SEED, FaultCase
from shale_tool import IS_SANITIZED, make_photos, run

CHANGES = 8 if IS_SANITIZED else 60
MOST_BYTES = 96 << 20  # program, libraries, budget of 16 MiB, and what is allowed for a file of this size


class ForeignLmdb(FaultCase):
    """The file is a shard of ours taken out of its dataset: no hash vouches for it any more."""

    base = IN_MEMORY
    container, suffix = "lmdb", "lmdb"

    def setUp(self):
        super().setUp()
        self.convert(make_photos(self.folder / "in", 80, sides=(2, 60)), self.out)
        self.file = self.folder / f"x.{self.suffix}"
        shutil.copyfile(self.out / f"shard-000000.{self.suffix}", self.file)
        self.content = self.file.read_bytes()

    def survives(self, story):
        """Each command ends by itself: done, failed or damaged."""
        for words in (["verify", self.file], ["verify", self.file, "--deep"], ["info", self.file, "--json"],
                      ["index", self.file, "--crc", "--index-dir", self.folder / "idx"],
                      ["convert", self.file, self.folder / "again", "--to", "record", "--overwrite"]):
            done = run(*words, "--memory", "16MiB") if words[0] != "info" else run(*words)
            story_of_run = f"{story}: shale {words}: exit {done.code}\n{done.out}{done.err}"
            self.assertIn(done.code, (0, 1, 3), story_of_run)
            if not IS_SANITIZED:
                self.assertLess(done.peak_bytes, MOST_BYTES, story_of_run)
            for mark in BUG_MARKS:
                self.assertNotIn(mark, done.err, story_of_run)

    def survives_changes(self, change):
        for number in range(CHANGES):
            content = bytearray(self.content)
            story = f"FAULTS_SEED={SEED}, change {number}: {change(content)}"
            self.file.write_bytes(content)
            self.survives(story)

    def test_bits_flipped(self):
        def flip(content):
            # Structure lies in front and between; a good part of the flips must meet it.
            places = [self.dice.randrange(min(len(content), self.dice.choice((300, 5000, len(content))))) for _ in range(3)]
            for place in places:
                content[place] ^= 1 << self.dice.randrange(8)
            return f"bits of bytes {places}"

        self.survives_changes(flip)

    def test_numbers_replaced(self):
        """Eight bytes that are a size or an offset, most likely."""

        def replace(content):
            place = self.dice.randrange(min(len(content), self.dice.choice((4096, 12288, len(content)))) // 8) * 8
            value = self.dice.choice((0, 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1, len(content), len(content) - 1, len(content) // 4096))
            content[place : place + 8] = value.to_bytes(8, "little")
            return f"{value} at byte {place}"

        self.survives_changes(replace)

    def test_cut_and_zeroed_and_exchanged_pages(self):
        def spoil(content):
            pages = max(2, len(content) // 4096)
            one, other = (self.dice.randrange(pages) * 4096 for _ in range(2))
            way = self.dice.choice(("cut", "zero", "copy"))
            if way == "cut":
                left = self.dice.choice((one, one + self.dice.randrange(4096)))
                del content[left:]
                return f"cut to {left} bytes"
            content[one : one + 4096] = bytes(4096) if way == "zero" else content[other : other + 4096]
            return f"page at {one}: {way} {other}"

        self.survives_changes(spoil)

    def test_an_index_is_whole_or_not_there(self):
        """Killed while it indexes: no manifest, or a right one; the next run clears what is left."""
        folder = self.folder / "idx"
        words = ["index", self.file, "--crc", "--index-dir", folder]
        with self.measured():
            self.ok(*words)
        names = sorted(os.listdir(folder))
        self.assertEqual(names, sorted(f"{self.file.name}.{end}" for end in ("index.npy", "blocks.npy", "dataset.json")))
        reference = {name: (folder / name).read_bytes() for name in names}
        for _ in range(CHANGES):
            shutil.rmtree(folder)
            self.interrupted(words, signal.SIGKILL)
            if (folder / names[1]).exists():
                for name in names:
                    self.assertEqual((folder / name).read_bytes(), reference[name], name)
            self.ok(*words)
            self.assertEqual({name: (folder / name).read_bytes() for name in os.listdir(folder)}, reference)

    def test_an_index_of_another_state_of_the_file_is_refused(self):
        self.ok("index", self.file)
        self.file.write_bytes(self.content + bytes(4096))
        for words in (["info"], ["cat"], ["convert"]):
            more = {"cat": [0], "convert": [self.folder / "again", "--to", "record"]}.get(words[0], [])
            self.refused(*words, self.file, *more, code=3, says=["changed since it was indexed"])
        self.file.write_bytes(self.content)
        os.utime(self.file, ns=(0, time.time_ns() - 10**12))
        self.ok("info", self.file)  # times are not content
        self.assertEqual(json.loads(self.ok("info", self.file, "--json").out)["samples"], 80)


class ForeignHdf5(ForeignLmdb):
    container, suffix = "hdf5", "h5"


class ForeignRecord(ForeignLmdb):
    container, suffix = "record", "tfrecord"
