"""Killed at any moment: what bears a final name is whole, there is no manifest, and the same command finishes the job."""

import os
import shutil
import signal
import threading

from fault_case import IN_MEMORY, WORK_FOLDER_MARK, FaultCase
from shale_tool import IS_SANITIZED, make_photos, npy, run, snapshot, write

KILLS, SIGNALS = (10, 4) if IS_SANITIZED else (44, 12)


class KilledRuns(FaultCase):
    # In memory, where a run takes as long as it computes, so that many of them fit into a minute.
    base = IN_MEMORY
    files, shards = 6000, 150

    def setUp(self):
        super().setUp()
        self.source = make_photos(self.folder / "in", self.files, sides=(2, 40), classes=4)
        self.words = ["--shard-samples", self.files // self.shards, "--jobs", 2]
        self.command = ["convert", self.source, self.out, "--to", self.container, *self.words]
        self.reference = self.folder / "reference"
        with self.measured():
            self.convert(self.source, self.reference, *self.words)
        self.before = snapshot(self.source)

    def check_after(self, code):
        if (self.out / "dataset.json").exists():  # the kill came after the manifest's rename, or too late
            left = sorted(os.listdir(self.out))
            self.assertEqual([name for name in left if name != ".shale"], sorted(os.listdir(self.reference)))
            for name in os.listdir(self.reference):
                self.assertEqual((self.out / name).read_bytes(), (self.reference / name).read_bytes(), name)
            return
        self.assertNotEqual(code, 0)
        self.check_unfinished(self.out, self.reference)

    def finish(self):
        self.convert(self.source, self.out, *self.words)
        self.check_same(self.out, self.reference)
        shutil.rmtree(self.out)

    def test_sigkill_at_random_moments(self):
        self.kill_at_random_moments(KILLS)

    def kill_at_random_moments(self, count):
        kills = shards_left = 0
        while kills < count or (shards_left == 0 and kills < 20 * count):  # on a busy machine few strike between two shards
            # A few kills in a row: the next one may strike while what the last one left is cleared away.
            for _ in range(self.dice.randint(1, 3)):
                code = self.interrupted(self.command, signal.SIGKILL)
                self.assertIn(code, (0, -signal.SIGKILL))
                self.check_after(code)
                kills += code != 0
                shards_left += len(self.journaled(self.out)) > 0
            self.finish()
        self.assertGreater(shards_left, 0, "no kill struck between two shards: the run is too short to say anything")
        self.assertEqual(snapshot(self.source), self.before)

    def test_sigkill_while_another_dataset_is_overwritten(self):
        """The old set stays until the new one is complete; a kill between the two is finished by the same command."""
        kept = 0
        for _ in range(6):
            self.convert(self.source, self.out, "--shuffle", *self.words)
            old, new = snapshot(self.out), snapshot(self.reference)
            self.interrupted([*self.command, "--overwrite"], signal.SIGKILL)
            left = snapshot(self.out)
            visible = {name: what for name, what in left.items() if not name.startswith(b".shale")}
            if b"dataset.json" in left:
                self.assertIn(visible, (old, new))
                kept += visible == old
            for name in visible:
                self.assertIn(left[name], (old.get(name), new.get(name)), f"{name} is not whole")
            self.ok("verify", self.out, "--deep")  # the old set or the new one, where a reader finds it
            self.convert(self.source, self.out, *self.words, "--overwrite")
            self.check_same(self.out, self.reference)
            shutil.rmtree(self.out)
        self.assertGreater(kept, 0, "no kill struck before the swap")

    def test_sigterm_and_sigint_stop_the_run_with_130(self):
        for code in self.stopped_by_signals(SIGNALS, self.command, (self.out / ".shale").exists):
            self.check_after(code)
            self.finish()

    def test_a_stopped_run_says_so_and_what_to_do(self):
        paused = self.paused_after_listing(self.source, self.out, *self.words[:2])
        paused.process.send_signal(signal.SIGTERM)
        code, messages = paused.resume()
        self.assertEqual(code, 130, messages)
        finishes, continues = "interrupted\nhint: run the same command again to finish the job", "complete\nhint: run the same command again to continue"
        self.assertTrue(finishes in messages or continues in messages, messages)
        self.assertFalse((self.out / "dataset.json").exists())

    def test_verify_changes_nothing_when_it_is_stopped(self):
        before = snapshot(self.reference)
        words = ["verify", self.reference, "--deep"]
        with self.measured():
            self.ok(*words)
        for _ in range(5):
            self.interrupted(words, signal.SIGKILL)
        self.assertEqual(snapshot(self.reference), before)


class ReadersBesideOverwrites(FaultCase):
    """A set that is replaced can be read at every moment: it is the old one or the new one."""

    base = IN_MEMORY

    def test_every_open_finds_a_whole_set(self):
        for name, files in (("old", 5), ("new", 9)):
            for i in range(files):
                write(self.folder / name / f"c{i % 2}" / f"{i}.bin", name.encode() * 100)
        words = ["--ext", "bin", "--shard-samples", "1"]
        self.convert(self.folder / "old", self.out, *words)
        is_done, seen = threading.Event(), {"info": [], "cat": []}

        def read(command, *more):
            while not is_done.is_set():
                done = run(command, self.out, *more)
                seen[command].append((done.code, done.out.replace("new", "old") if command == "cat" else "", done.err))

        readers = [threading.Thread(target=read, args=words) for words in (("info",), ("cat", "0", "--field", "data"))]
        for reader in readers:
            reader.start()
        try:
            for i in range(50):
                self.convert(self.folder / ("old", "new")[i % 2 == 0], self.out, *words, "--overwrite")
        finally:
            is_done.set()
            for reader in readers:
                reader.join()
        self.assertEqual(set(seen["info"]), {(0, "", "")})
        self.assertEqual(set(seen["cat"]), {(0, "old" * 100, "")})


class KilledAtTheVeryEnd(FaultCase):
    """The output stands, its work folder too: the same command takes it away, whether it then says "complete" or "exists"."""

    def test_the_same_command_clears_the_work_folder(self):
        source = self.folder / "x.npy"
        write(source, npy("<i4", (10,), bytes(40)))
        for command, name, left in (
            (["convert", source, self.out, "--to", "npy"], "out", "out/.shale"),
            (["convert", source, self.folder / "a.npy"], "a.npy", ".a.npy.shale"),
            (["resample", source, self.folder / "r.npy"], "r.npy", ".r.npy.shale"),
        ):
            self.ok(*command)
            before = snapshot(self.folder.path)
            for lock in (None, b"", WORK_FOLDER_MARK[:9], WORK_FOLDER_MARK):
                (self.folder / left).mkdir()
                if lock is not None:
                    (self.folder / left / "lock").write_bytes(lock)
                code = run(*command).code
                self.assertEqual(code, 0 if name == "out" else 1)
                self.assertEqual(snapshot(self.folder.path), before, f"{left} with lock {lock}")


class KilledRunsOnDisk(KilledRuns):
    """The same where fsync waits for a disk: other moments are long."""

    base = None
    files, shards = 600, 12

    def test_sigkill_at_random_moments(self):
        self.kill_at_random_moments(SIGNALS)

    # Once is enough.
    test_sigkill_while_another_dataset_is_overwritten = None
    test_sigterm_and_sigint_stop_the_run_with_130 = None
    test_a_stopped_run_says_so_and_what_to_do = None
    test_verify_changes_nothing_when_it_is_stopped = None
