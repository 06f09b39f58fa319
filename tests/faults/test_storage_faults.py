"""Storage that fails now and then, or for good: every call of a run in turn, by a preloaded library (tests/support/storage_faults.c).

A hiccup is repeated and said; what stays is reported with path and cause; a full disk ends the run at once. Whatever it was, the same
command then gives the same bytes. STORAGE_FAULTS=all strikes every call; else a sample of them, the first and the last among them.
"""

import errno
import os
import shutil
import unittest
from concurrent.futures import ThreadPoolExecutor

from fault_case import BUG_MARKS, IN_MEMORY, FaultCase
from shale_tool import IS_SANITIZED, differences, make_photos, run
from storage_faults import SHORT, FaultyStorage, name_of, struck

ALL = os.environ.get("STORAGE_FAULTS") == "all"
SAMPLE = 6
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
        self.runs = 0

    def command(self, out):
        return ["convert", self.photos, out, "--to", "record", "--shard-samples", 5, "--jobs", 2]

    def make_reference(self):
        self.reference = self.folder / "reference"
        self.ok(*self.command(self.reference))

    def strike(self, calls, error, path, skip, times, ring):
        """One run with faults, judged; False if it made fewer calls than `skip`."""
        self.runs += 1
        place = self.folder / f"run-{self.runs}"
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
            self.judge_failure(out, error, times, done, story)
        shutil.rmtree(place)
        return bool(hit)

    def judge_success(self, out, error, times, hit, done, story):
        self.assertEqual(self.difference(out), [], story)
        if error in HICCUPS and hit and hit[0][0] in ("read", "open", "write"):
            self.assertIn("retried", done.err, story)

    def judge_failure(self, out, error, times, done, story):
        self.assertEqual(done.code, 1, story)
        self.assertNotIn(error, (SHORT, errno.EINTR), "these are carried on: " + story)
        self.assertIn(os.strerror(error), done.err, story)
        self.assertIn(str(self.folder), ("\n" + done.err).split("\nshale: ")[-1], "no path: " + story)
        self.assertLessEqual(done.err.count("\nhint: "), 1, story)
        if error in NO_ROOM:
            self.assertIn("\nhint: ", done.err, story)
        self.judge_what_is_left(out, story)
        self.ok(*self.command(out))
        self.assertEqual(self.difference(out), [], "run again: " + story)

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
        chosen = range(count) if ALL or count <= SAMPLE else sorted({0, count - 1, *self.dice.sample(range(count), SAMPLE - 2)})
        with ThreadPoolExecutor(8) as pool:  # they wait, most of the time
            list(pool.map(lambda skip: self.strike(calls, error, path, skip, times, ring), chosen))

    def count_calls(self, calls, path, ring):
        out, log = self.folder / "run-0", self.folder / "log"
        self.ok(*self.command(out / self.reference.name), environment=self.storage.environment(calls, SHORT, path, times=-1, ring=ring, log=log))
        shutil.rmtree(out)
        return len(struck(log))


class ReadsThatFail(StorageCase):
    """Of the input: never a sample less."""

    calls = ("read", "open", "stat", "list")

    def setUp(self):
        super().setUp()
        self.make_reference()

    def strike_all(self, errors, **options):
        for calls in self.calls:
            for error in errors:
                with self.subTest(calls=calls, error=name_of(error)):
                    self.strike_each(calls, error, self.photos, **options)

    def test_hiccups_are_repeated(self):
        self.strike_all(HICCUPS)

    def test_what_stays_is_reported(self):
        self.strike_all(HICCUPS, times=FOR_GOOD)

    def test_short_and_interrupted(self):
        self.strike_all((SHORT, errno.EINTR))

    def test_hiccups_beside_a_ring(self):
        """The ring opens and reads; what it cannot do is done by calls."""
        self.calls = ("stat", "list")
        self.strike_all(HICCUPS, ring=True)


class WritesThatFail(StorageCase):
    """Of the output: everything that is written, from the lock file to the manifest."""

    def setUp(self):
        super().setUp()
        self.make_reference()

    def strike_all(self, kinds, errors, **options):
        for calls in kinds:
            for error in errors:
                with self.subTest(calls=calls, error=name_of(error)):
                    self.strike_each(calls, error, "run-", **options)

    def test_no_room(self):
        for times in (1, FOR_GOOD):
            self.strike_all(("write", "create", "mkdir", "sync", "rename"), NO_ROOM, times=times)

    def test_hiccups_and_what_stays(self):
        for times in (1, FOR_GOOD):
            self.strike_all(("write", "create", "open", "stat", "mkdir", "sync", "rename", "unlink", "list"), HICCUPS, times=times)

    def test_short_and_interrupted(self):
        self.strike_all(("write",), (SHORT,))
        kinds = ("write", "read", "create", "open", "stat", "mkdir", "sync", "rename", "unlink", "list", "truncate")
        self.strike_all(kinds, (errno.EINTR,))

    def test_no_room_beside_a_ring(self):
        self.strike_all(("create", "mkdir", "sync", "rename"), NO_ROOM, ring=True)
