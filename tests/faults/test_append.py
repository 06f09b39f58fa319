"""convert --append: the set before or the set after, whatever happens; nothing of the old set is touched.

The steps at which a run is killed are the calls that change what is on disk (tests/support/steps.c).
"""

import fcntl
import json
import os
import random
import shutil
import signal

from fault_case import IN_MEMORY, IS_ROOT, WORK_FOLDER_MARK, FaultCase
from shale_tool import few_descriptors, make_photos, manifest_of, npy, png, run, snapshot, write
from steps import Steps

ROWS = 90


class Appends(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.first = make_photos(self.folder / "first", 12)
        self.more = self.folder / "more"
        for number in range(7):
            write(self.more / f"class-{number % 3}" / f"more-{number}.png", png(5 + number, 4, seed=number))
        write(self.more / "class-1/bad.png", b"nothing")
        write(self.more / "notes.txt", b"x")

    def begin(self, *words, samples=5):
        self.ok("convert", self.first, self.out, "--to", "record", "--shard-samples", samples, *words)
        return snapshot(self.out)

    def unchanged(self, before):
        """Every file of the old set is as it was, but for its manifest."""
        now = snapshot(self.out)
        for name, content in before.items():
            if name != b"dataset.json":
                self.assertEqual(now.get(name), content, name)

    def info(self, path):
        return json.loads(self.ok("info", path, "--json").out)

    def test_shards_come_behind_the_old_ones(self):
        before = self.begin()
        old = manifest_of(self.out)
        done = self.ok("convert", self.more, self.out, "--append", code=4)
        self.assertIn("appended 7 samples in 2 shards", done.out)
        self.assertIn("holds 19 samples in 5 shards of record", done.out)
        self.unchanged(before)
        self.ok("verify", self.out, "--deep")
        manifest = manifest_of(self.out)
        self.assertEqual(manifest["requires"], ["sources"])
        self.assertEqual([run["written"] for run in manifest["sources"]], [12, 7])
        self.assertEqual(manifest["sources"][1]["after"], old["hash"])
        self.assertEqual(sorted(file["name"] for file in manifest["files"]), ["ignored-000001.csv", "images-000001.csv", "images.csv", "skipped-000001.csv"])
        now = snapshot(self.out)
        self.assertIn("is already complete", self.ok("convert", self.more, self.out, "--append").out)
        self.assertEqual(snapshot(self.out), now)
        self.assertFalse((self.out / ".shale").exists())
        # Lists go along with a copy, and another append finds its place.
        self.ok("convert", self.out, self.folder / "copy", "--to", "lmdb")
        self.assertIn(b"bad.png", (self.folder / "copy/skipped.csv").read_bytes())
        for name in ("class-0/a.png", "class-2/b.png"):
            write(self.folder / "third" / name, png(3, 3, seed=9))
        self.ok("convert", self.folder / "third", self.out, "--append", "--shuffle")
        self.ok("verify", self.out)
        self.assertEqual(self.info(self.out)["samples"], 21)
        os.remove(self.out / "shard-000005.index.npy")
        self.ok("index", self.out)
        self.ok("verify", self.out)

    def test_the_digests_are_those_of_one_run_over_both(self):
        self.begin()
        self.ok("convert", self.more, self.out, "--append", code=4)
        both = self.folder / "both"
        shutil.copytree(self.first, both)
        shutil.copytree(self.more, both, dirs_exist_ok=True)
        self.ok("convert", both, self.folder / "one", "--to", "record", code=4)
        one, two = self.info(self.folder / "one"), self.info(self.out)
        for fact in ("samples", "bytes", "content_digest", "key_digest", "skipped", "ignored", "images"):
            self.assertEqual(one[fact], two[fact], fact)
        self.ok("verify", self.out, "--against", both)
        self.ok("verify", self.out, "--against", self.folder / "one")

    def test_arrays_in_each_format_as_if_concatenated(self):
        dice = random.Random(3)
        for name in ("a", "b"):
            write(self.folder / f"{name}.npy", npy("<f4", (ROWS, 6), dice.randbytes(ROWS * 24)))
        a, b = self.folder / "a.npy", self.folder / "b.npy"
        for container in ("record", "lmdb", "hdf5", "webdataset", "parquet", "npy"):
            with self.subTest(container=container):
                one, two = self.folder / f"one-{container}", self.folder / f"two-{container}"
                self.ok("convert", a, b, one, "--to", container)
                self.ok("convert", a, two, "--to", container, "--shard-samples", 40)
                self.ok("convert", b, two, "--append")
                self.ok("verify", two, "--deep")
                self.ok("convert", b, two, "--append")
                facts = [self.info(path) for path in (one, two)]
                for fact in ("samples", "content_digest", "ordered_digest", "key_digest"):
                    self.assertEqual(facts[0][fact], facts[1][fact], fact)
                self.assertEqual(facts[1]["shards"], 6)
                self.ok("convert", two, self.folder / f"{container}.npy")
                self.assertEqual((self.folder / f"{container}.npy").read_bytes()[128:], a.read_bytes()[128:] + b.read_bytes()[128:])

    def test_classes_keep_their_labels(self):
        before = self.begin()
        write(self.folder / "new/aardvark/1.png", png(3, 3))
        write(self.folder / "new/class-1/2.png", png(3, 4))
        self.refused("convert", self.folder / "new", self.out, "--append", says=["class 'aardvark'", "--new-classes append"])
        self.assertEqual(snapshot(self.out), before)
        self.ok("convert", self.folder / "new", self.out, "--append", "--new-classes", "append")
        self.assertEqual(manifest_of(self.out)["classes"], ["class-0", "class-1", "class-2", "aardvark"])
        self.assertIn("aardvark (3)", self.ok("ls", self.out).out)
        self.unchanged(before)
        # A dataset brings its own table: the same labels, or none.
        self.ok("convert", self.folder / "new", self.folder / "other", "--to", "record")
        self.refused("convert", self.folder / "other", self.out, "--append", says=["label 0 is class 'class-0'", "it is 'aardvark'"])

    def test_keys_of_the_old_set_are_found(self):
        before = self.begin()
        write(self.more / "class-2/00002.png", (self.first / "class-2/00002.png").read_bytes())
        done = self.refused("convert", self.more, self.out, "--append", "--max-errors", "50%", says=["key is not unique"])
        self.assertIn("class-2/00002.png", done.err)
        self.assertEqual(snapshot(self.out), before)

    def test_what_cannot_be_appended_is_refused(self):
        before = self.begin()
        write(self.folder / "x.npy", npy("<f4", (4, 2), bytes(32)))
        self.refused("convert", self.folder / "x.npy", self.out, "--append", says=["its fields are image (bytes), label (integer)"])
        self.refused("convert", self.more, self.out, "--append", "--to", "lmdb", says=["its format is record"])
        self.refused("convert", self.out, self.out, "--append", code=2)
        self.refused("convert", self.more, self.out, "--append", "--overwrite", code=2)
        self.refused("convert", self.more, self.out, "--append", "--classes-from", self.out, code=2)
        self.refused("convert", self.more, self.folder / "x.lmdb", "--append", code=2)
        self.refused("convert", self.more, self.folder / "nothing", "--append", says=["no dataset to append to"])
        self.assertFalse((self.folder / "nothing").exists())
        (self.folder / "empty").mkdir()
        self.refused("convert", self.folder / "empty", self.out, "--append")
        self.ok("convert", self.first, self.folder / "parts", "--to", "record", "--part", "0/2")
        part = next((self.folder / "parts").iterdir())
        self.refused("convert", self.more, part, "--append", says=["part 0 of 2"])
        self.assertEqual(snapshot(self.out), before)
        self.ok("convert", self.more, self.out, "--append", "--dry-run", code=4)
        self.assertEqual(snapshot(self.out), before)
        # A plain command of the same input is another one afterwards.
        self.ok("convert", self.more, self.out, "--append", code=4)
        self.refused("convert", self.first, self.out, "--to", "record", "--shard-samples", 5, says=["appended to, 2 runs in all"])
        self.refused("convert", self.more, self.out, "--append", "--part", "0/2", code=2, says=["--part and --append exclude each other"])

    def test_a_damaged_set_is_not_appended_to(self):
        write(self.first / "class-0/bad.png", b"nothing")
        self.ok("convert", self.first, self.out, "--to", "record", "--shard-samples", 5, code=4)
        words = ["convert", self.more, self.out, "--append"]
        for name in ("skipped.csv", "shard-000001.tfrecord", "shard-000000.index.npy", "shard-000002.blocks.npy"):
            path = self.out / name
            content = path.read_bytes()
            changed = [None, content[:-1]] + ([content.replace(b"bad", b"bed")] if name == "skipped.csv" else [])
            for bad in changed:
                path.unlink()
                if bad is not None:
                    path.write_bytes(bad)
                with self.untouched(self.out):
                    self.refused(*words, code=3, says=[name])
                path.write_bytes(content)
        self.ok(*words, code=4)
        self.ok("verify", self.out, "--deep")

    def test_an_appended_set_is_repaired_from_a_copy_and_verified_against_all_its_inputs(self):
        self.begin()
        self.ok("convert", self.more, self.out, "--append", "--max-errors", "50%", code=4)
        whole = snapshot(self.out)
        shutil.copytree(self.out, self.folder / "copy")
        for name in ("skipped-000001.csv", "shard-000000.index.npy"):
            (self.out / name).unlink()
        for name in ("shard-000001.tfrecord", "shard-000003.tfrecord"):
            write(self.out / name, (self.out / name).read_bytes()[:-1] + b"?")
        done = run("repair", self.out, "--from", self.more)
        self.assertEqual(done.code, 3, done.err)
        self.assertIn("made from another of the inputs", done.out)
        (self.out / "dataset.json").unlink()
        self.ok("repair", self.out, "--from", self.folder / "copy")
        self.assertEqual(snapshot(self.out), whole)
        self.assertIn("of 1 of the 2 inputs that it was made from: 7 of 19 samples", self.ok("verify", self.out, "--against", self.more).out)
        both = self.folder / "both"
        shutil.copytree(self.first, both)
        shutil.copytree(self.more, both, dirs_exist_ok=True)
        self.ok("verify", self.out, "--against", both)

    def test_an_unfinished_run_is_said(self):
        self.begin()
        write(self.out / ".shale/lock", WORK_FOLDER_MARK)
        for words in (("verify", self.out), ("verify", self.out, "--quick"), ("info", self.out)):
            self.assertIn("is not finished; the same command finishes it", self.ok(*words).out)

    def test_a_set_that_another_process_writes(self):
        before = self.begin()
        write(self.out / ".shale/lock", WORK_FOLDER_MARK)
        with open(self.out / ".shale/lock", "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refused("convert", self.more, self.out, "--append", says=["another shale process"])
        self.ok("convert", self.more, self.out, "--append", code=4)
        self.unchanged(before)

    def test_files_of_somebody_else_stay(self):
        self.begin()
        for name in ("shard-000003.tfrecord", "skipped-000001.csv"):
            write(self.out / name, b"mine")
            before = snapshot(self.out)
            self.refused("convert", self.more, self.out, "--append", "--max-errors", "50%", says=[name])
            self.assertEqual(snapshot(self.out), before)
            os.remove(self.out / name)
        self.ok("convert", self.more, self.out, "--append", code=4)

    def test_a_set_that_cannot_be_written(self):
        if not IS_ROOT:
            before = self.begin()
            self.out.chmod(0o555)
            self.addCleanup(self.out.chmod, 0o755)
            self.refused("convert", self.more, self.out, "--append")
            self.assertEqual(snapshot(self.out), before)

    def test_killed_at_every_step_the_set_is_the_old_one_or_the_new_one(self):
        inputs = {"record": ([self.first], [self.more, "--max-errors", "50%"])}
        for name in ("x", "y"):
            write(self.folder / f"{name}.npy", npy("<f4", (20, 2), random.Random(name).randbytes(160)))
        inputs["npy"] = ([self.folder / "x.npy"], [self.folder / "y.npy"])
        for container, (first, more) in inputs.items():
            with self.subTest(container=container):
                old, new = self.folder / f"{container}-old", self.folder / f"{container}-new"
                self.ok("convert", *first, old, "--to", container, "--shard-samples", 8)
                shutil.copytree(old, new)
                self.assertIn(run("convert", *more, new, "--append").code, (0, 4))
                self.kill_at_steps(old, new, ["convert", *more, self.out, "--append", "--io", "buffered"])

    def kill_at_steps(self, old, new, command):
        steps = Steps(self, self.folder, self.out)
        shutil.rmtree(self.out, ignore_errors=True)
        shutil.copytree(old, self.out)
        _, all_steps = steps.recorded(command)
        self.check_same(self.out, new)
        before, after = snapshot(old), snapshot(new)
        seen = set()
        for number in range(1, len(all_steps) + 1):
            shutil.rmtree(self.out)
            shutil.copytree(old, self.out)
            self.assertEqual(steps.killed(command, number), -signal.SIGKILL, all_steps[number - 1])
            now = snapshot(self.out)
            is_new = now[b"dataset.json"] == after[b"dataset.json"]
            seen.add(is_new)
            for name, content in (after if is_new else before).items():
                self.assertEqual(now.get(name), content, f"{name} after {all_steps[number - 1]}")
            self.ok("verify", self.out)
            self.assertIn(run(*command).code, (0, 4))
            self.assertEqual(snapshot(self.out), after, all_steps[number - 1])
        self.assertEqual(seen, {False, True})

    def leave_halfway(self, command):
        """An append that is killed when two of its shards are complete, and durable."""
        steps = Steps(self, self.folder, self.out)
        steps.limit = few_descriptors(32)
        kept = self.folder / "kept"
        shutil.copytree(self.out, kept)
        all_steps = steps.recorded(command)[1]
        new = snapshot(self.out)
        shutil.rmtree(self.out)
        shutil.copytree(kept, self.out)
        third = next(step.number for step in all_steps if step.path.endswith("shard-000005.tfrecord"))
        self.assertEqual(steps.killed(command, third), -signal.SIGKILL)
        self.assertEqual(len(self.journaled(self.out)), 2 * 3)
        return new

    def damage(self, path):
        data = bytearray(path.read_bytes())
        data[-3] ^= 1
        path.write_bytes(data)

    def test_a_killed_append_goes_on_behind_its_last_complete_shard(self):
        before = self.begin()
        words = ["convert", self.more, self.out, "--append", "--max-errors", "50%", "--shard-samples", 2]
        new = self.leave_halfway([*words, "--jobs", 1])
        # Other commands leave it: those that read, and those that were run before.
        self.ok("verify", self.out)
        done = self.ok("convert", self.first, self.out, "--to", "record", "--shard-samples", 5)
        self.assertIn("already complete", done.out)
        self.damage(self.out / "shard-000001.index.npy")
        self.refused(*words, code=3, says=["shard-000001.index.npy"])  # its keys are compared at the end
        self.ok("repair", self.out, "--from", self.first)
        self.damage(self.out / "shard-000002.index.npy")
        self.ok("index", self.out)
        with self.untouched(self.out):
            self.refused(*words[:-1], 3, says=["unfinished run of another command: shard_samples: 2 before, 3 now", f"{self.out}/.shale"])
            self.refused("convert", self.first, self.out, "--append", "--shard-samples", 2, says=["unfinished run of another command"])
        written = {name: (self.out / ".shale/new" / name).stat().st_ino for name in ("shard-000003.tfrecord", "shard-000004.tfrecord")}
        done = run(*words, "--jobs", 2, "--memory", "16MiB")
        self.assertEqual(done.code, 4, done.err)
        self.assertIn("continuing: 4 shards with 8 samples of 8 are complete", done.err)
        self.assertEqual({name: (self.out / name).stat().st_ino for name in written}, written)
        self.assertEqual(snapshot(self.out), new)
        self.unchanged(before)

    def test_a_killed_append_is_bound_to_its_dataset_and_input(self):
        self.begin()
        words = ["convert", self.more, self.out, "--append", "--max-errors", "50%", "--shard-samples", 2, "--jobs", 1]
        self.leave_halfway(words)
        journal = self.out / ".shale/journal"
        content = journal.read_bytes()
        journal.write_bytes(content[:60] + bytes([content[60] ^ 1]) + content[61:])
        with self.untouched(self.out):
            self.refused(*words, code=3, says=[journal, f"{self.out}/.shale"])
        journal.write_bytes(content)
        # Another dataset has come in its place.
        other, manifest = self.folder / "other", self.out / "dataset.json"
        shutil.copy2(manifest, self.folder / "manifest")
        self.ok("convert", self.first, other, "--to", "record", "--shard-samples", 5, "--on-error", "keep")
        manifest.write_bytes((other / "dataset.json").read_bytes())
        with self.untouched(self.out):
            self.refused(*words, says=["not the same dataset that is appended to"])
        shutil.copy2(self.folder / "manifest", manifest)
        # A file that is still to be read has changed: the same command then begins again.
        late = self.more / "class-2/more-5.png"
        late.write_bytes(png(9, 9, seed=99))
        self.refused(*words, says=[late, "has changed since the input was listed", "begins with the input as it is"])
        self.ok(*words, code=4)
        self.ok("verify", self.out, "--deep")
        self.assertFalse((self.out / ".shale").exists())

    def test_a_stopped_append_is_continued(self):
        self.begin()
        (self.more / "class-1/bad.png").unlink()
        for number in range(60):
            write(self.more / "class-0" / f"late-{number}.png", png(30, 30, seed=number))
        words = ["convert", self.more, self.out, "--append", "--max-errors", "50%", "--shard-samples", 1, "--jobs", 1]
        kept = self.folder / "kept"
        shutil.copytree(self.out, kept)
        with self.measured():
            self.ok(*words)
        new = snapshot(self.out)

        def put_back():
            shutil.rmtree(self.out)
            shutil.copytree(kept, self.out)

        put_back()
        for code in self.stopped_by_signals(4, words, lambda: (self.out / ".shale/new").exists()):
            if code == 130:
                self.assertEqual(snapshot(self.out)[b"dataset.json"], snapshot(kept)[b"dataset.json"])
                self.ok(*words)
            self.assertEqual(snapshot(self.out), new)
            put_back()

    def test_an_overwrite_after_a_kill_leaves_nothing_of_the_append(self):
        self.begin()
        steps = Steps(self, self.folder, self.out)
        kept = self.folder / "kept"
        shutil.copytree(self.out, kept)
        command = ["convert", self.more, self.out, "--append", "--io", "buffered", "--max-errors", "50%"]
        all_steps = steps.recorded(command)[1]
        last = [step.number for step in all_steps if step.name == "rename" and str(step.other).endswith("shard-000003.tfrecord")]
        for number in (len(all_steps) // 2, *last):
            shutil.rmtree(self.out)
            shutil.copytree(kept, self.out)
            steps.killed(command, number)
            self.convert(self.first, self.out, "--overwrite", "--shard-samples", 5)
            self.assertEqual(snapshot(self.out), snapshot(kept))
