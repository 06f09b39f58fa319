"""What is written over, or indexed again, can be read at every moment: whoever comes between two steps of a command, or after a kill, finds the old or the new."""

import json

from fault_case import IN_MEMORY
from shale_tool import npy, run, write
from steps_case import KILLS, StepsCase


class ReadersAtSteps(StepsCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        for name, files in (("old", 5), ("new", 9)):
            for i in range(files):
                write(self.folder / name / f"{name}{i % 2}" / f"{i}.bin", name.encode() * 100)
            write(self.folder / f"{name}.npy", npy("<f8", (files,), bytes(8 * files)))

    def seen(self, path, *words):
        """What readers see: facts, and the last field of a sample."""
        facts = self.ok("info", path, *words, "--json")
        self.ok("verify", path, *words)
        described = json.loads(facts.out)
        field = described["fields"][-1]["name"]
        return facts.out, self.ok("cat", path, "3", "--field", field, *words).out

    def check_at_steps(self, path, prepare, command, *words):
        """`command` changes what is at `path`, which `prepare` has made: readers see the one or the other, wherever it is killed."""
        self.lay_out(prepare)
        old = self.seen(path, *words)
        done, steps = self.steps.recorded(command)
        self.assertEqual(done.code, 0, done.err)
        new = self.seen(path, *words)
        self.assertNotEqual(old, new)
        self.assertGreater(len(steps), 5)
        apart = max(1, len(steps) // (2 * KILLS))  # as kill_at_steps
        for step in steps[self.dice.randrange(apart) :: apart]:
            with self.subTest(step=step):
                self.lay_out(prepare)
                self.steps.killed(command, step.number)
                self.assertIn(self.seen(path, *words), (old, new))
                type(self).kills += 1
        self.assertEqual(run(*command).code, 0)
        self.assertEqual(self.seen(path, *words), new)

    def test_a_file_with_its_index(self):
        for suffix in ("lmdb", "h5"):
            one = self.place / f"one.{suffix}"

            def words(name, one=one):
                return ["convert", self.folder / name, one, "--ext", "bin", "--with-index", "--overwrite", "--quiet"]

            with self.subTest(suffix=suffix):
                self.check_at_steps(one, lambda words=words: self.ok(*words("old")), words("new"))

    def test_a_file_that_loses_or_gets_an_index(self):
        one = self.place / "one.tfrecord"
        for before, after in ((["--with-index"], []), ([], ["--with-index"])):
            with self.subTest(before=before):
                self.check_at_steps(
                    one,
                    lambda before=before: self.ok("convert", self.folder / "old.npy", one, *before, "--quiet"),
                    ["convert", self.folder / "new.npy", one, *after, "--overwrite", "--quiet"],
                )

    def test_an_index_that_is_made_again(self):
        one = self.place / "one.lmdb"
        for place, how in (([], ["--parse", "msgpack"]), (["--index-dir", self.place / "indexes"], ["--crc"])):

            def prepare(place=place):
                self.ok("convert", self.folder / "old", one, "--ext", "bin", "--quiet")
                self.ok("index", one, "--parse", "plain", *place)

            with self.subTest(place=place):
                self.check_at_steps(one, prepare, ["index", one, *how, *place], *place)

    def test_a_directory_per_class(self):
        """Each class is the old one or the new one."""
        out = self.place / "out"
        for name, files in (("old", 4), ("new", 6)):
            for i in range(files):
                write(self.folder / "images" / name / f"c{i % 2}" / f"{i}.jpg")

        def command(name):
            return ["convert", self.folder / "images" / name, out, "--layout", "lsun", "--overwrite", "--quiet"]

        def seen():
            directories = [out / "c0_train_lmdb", out / "c1_train_lmdb"]
            self.ok("verify", directories[0])
            return {json.loads(self.ok("info", each, "--json").out)["samples"] for each in directories}

        self.lay_out(lambda: self.ok(*command("old")))
        _, steps = self.steps.recorded(command("new"))
        self.assertEqual(seen(), {3})
        for step in steps:
            self.lay_out(lambda: self.ok(*command("old")))
            self.steps.killed(command("new"), step.number)
            self.assertLessEqual(seen(), {2, 3}, step)
            type(self).kills += 1


del StepsCase
