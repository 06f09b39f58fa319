"""What the tests of storage that fails share: a command that is struck at every call, and how its end is judged."""

import errno
import itertools
import os
import shutil
import unittest
from concurrent.futures import ThreadPoolExecutor

from fault_case import BUG_MARKS, IN_MEMORY, FaultCase
from shale_tool import IS_SANITIZED, differences, make_photos, run
from storage_faults import SHORT, FaultyStorage, name_of, struck

ALL = os.environ.get("STORAGE_FAULTS") == "all"
SAMPLE = 2
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
HICCUPS = (errno.EIO, errno.ESTALE)
FOR_GOOD = 0  # times: every call fails from here on


@unittest.skipIf(IS_SANITIZED, "a sanitizer must be loaded first")
class StorageCase(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.storage = FaultyStorage(self.folder.path)
        self.photos = make_photos(self.folder / "in", 12, sides=(20, 60))
        self.numbers = itertools.count(1)

    def command(self, out):
        return ["convert", self.photos, out, "--to", "record", "--shard-samples", 5, "--jobs", 2]

    def make_reference(self):
        self.reference = self.folder / "reference"
        self.ok(*self.command(self.reference))

    def strike(self, calls, error, path, skip, times, ring):
        """One run with faults, judged; False if it made fewer calls than `skip`."""
        place = self.folder / f"run-{next(self.numbers)}"
        place.mkdir()
        out, log = place / self.reference.name, place / "log"
        faults = self.storage.environment(calls, error, path, skip, times, ring, log)
        done = run(*self.command(out), environment=faults)
        hit = struck(log)
        story = f"{calls} {name_of(error)} skip={skip} times={times} ring={ring}: exit {done.code}, {len(hit)} {hit[:3]}\n{done.err}"
        for mark in BUG_MARKS:
            self.assertNotIn(mark, done.err, story)
        if done.code == 0:
            self.judge_success(out, error, times, hit, done, story)
        else:
            if times == 1 and error in HICCUPS and hit:
                self.assertNotIn(hit[0][0], ("read", "open", "stat", "list", "write"), "one hiccup ended the run: " + story)
            self.judge_failure(out, error, times, hit, done, story)
        shutil.rmtree(place)
        return bool(hit)

    def judge_success(self, out, error, times, hit, done, story):
        self.assertEqual(self.difference(out), [], story)
        if error in HICCUPS and hit and hit[0][0] in ("read", "open", "write"):
            # A container's own library reads in a process of its own.
            is_seen = self.command(out)[0] not in ("info", "cat", "verify") and "hdf5" not in hit[0][1]
            self.assertTrue("retried" in done.err or not is_seen, story)

    def judge_failure(self, out, error, times, hit, done, story):
        self.assertEqual(done.code, 1, story)
        self.assertNotIn(error, (SHORT, errno.EINTR), "these are carried on: " + story)
        self.assertIn(os.strerror(error), done.err, story)
        told = ("\n" + done.err).split("\nshale: ")[-1]
        has_path = any(part in told for part in (str(self.folder), "scratch file", "/proc/self/fd/"))  # nameless files have no other
        self.assertTrue(has_path, "no path: " + story)
        self.assertLessEqual(done.err.count("\nhint: "), 1, story)
        if error in NO_ROOM:
            self.assertIn("\nhint: ", done.err, story)
        if hit and hit[0][0] == "sync" and "/.shale/new" in hit[0][1]:  # a second sync would succeed, and prove nothing
            tail = out / ".shale/journal.tail"
            self.assertFalse(tail.exists() and tail.read_bytes(), story)
        self.judge_what_is_left(out, story)
        again = run(*self.command(out))
        different = self.difference(out)
        if "already exists" in again.err:  # it had its name: only whether that was durable was not known. Its index may be missing
            different = [name for name in different if not name.endswith((".dataset.json", ".index.npy", ".blocks.npy"))]
        else:
            self.assertEqual(again.code, 0, f"run again: {story}\n{again.err}")
        self.assertEqual(different, [], "run again: " + story)

    def judge_what_is_left(self, out, story):
        with self.subTest(story):
            if (out / "dataset.json").exists():  # only whether its name is durable is not known
                self.assertEqual(self.difference(out), [])
            else:
                self.check_unfinished(out, self.reference)

    def difference(self, out):
        return [name for name in differences(out, self.reference) if name != ".shale"]

    def strike_each(self, calls, error, path, times=1, ring=False):
        """Faults at every call in turn, or at a sample of them; at least one."""
        count = self.count_calls(calls, path, ring)
        self.assertGreater(count, 0, f"no call of {calls} concerns {path}")
        chosen = range(count) if ALL or count <= SAMPLE else self.dice.sample(range(count), SAMPLE)
        with ThreadPoolExecutor(8) as pool:  # they wait, most of the time
            list(pool.map(lambda skip: self.strike(calls, error, path, skip, times, ring), chosen))

    def count_calls(self, calls, path, ring):
        out, log = self.folder / "run-0", self.folder / "log"
        out.mkdir()
        counting = self.storage.environment(calls, SHORT, path, times=-1, ring=ring, log=log)
        self.ok(*self.command(out / self.reference.name), environment=counting)
        shutil.rmtree(out)
        return len(struck(log))
