"""A list of files on stdin: killed at steps it continues when it gets the same list, parts of it are those of the whole, and what changed is noticed."""

import os
import unittest

from fault_case import IN_MEMORY, FaultCase
from shale_tool import make_photos, run, samples_of, snapshot, write
from steps_case import StepsCase


def listed(photos):
    """The images, last first, each with the name of its class."""
    images = sorted((path for path in photos.rglob("*") if path.is_file()), reverse=True)
    return "".join(f"{image}\t{image.parent.name}\n" for image in images).encode()


class KilledLists(StepsCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        photos = make_photos(self.folder / "in", 24, sides=(20, 60))
        write(photos / "class-1/00001.png", b"")  # left out
        self.steps.stdin = self.folder / "list"
        write(self.steps.stdin, listed(photos))
        self.out = self.place / "out"

    def command(self, jobs, memory):
        return ["convert", "-", self.out, "--to", "record", "--shuffle", "--jobs", jobs, "--memory", memory, "--shard-samples", 7]

    def test_killed_at_steps(self):
        self.kill_at_steps(self.command, most=12)
        done = self.steps.run("verify", self.out, "--against", "-", "--deep")
        self.assertEqual(done.code, 0, done.err)

    def killed_late(self):
        command = self.command(1, "64MiB")
        self.lay_out(lambda: None)
        _, steps = self.steps.recorded(command)
        self.lay_out(lambda: None)
        # All of its shards are in the journal, and none has its name.
        complete = next(step.number for step in steps if step.name == "create" and "dataset.json" in step.path)
        self.steps.killed(command, complete)
        return command

    def test_a_file_that_changed_and_kept_its_size_does_not_continue_a_run(self):
        command = self.killed_late()
        image = self.folder / "in/class-1/00004.png"
        was = image.stat()
        write(image, image.read_bytes())
        done = self.steps.run(*command)
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("another command: newest listed file", done.err)
        os.utime(image, ns=(was.st_atime_ns, was.st_mtime_ns))
        self.assertIn("continuing: ", self.steps.run(*command).err)

    def test_another_list_does_not_continue_a_run(self):
        command = self.killed_late()
        whole = self.steps.stdin.read_bytes()
        path, _, rest = whole.partition(b"\t")
        for other in (path + b"\tclass-0" + rest[len("class-2") :], whole[whole.index(b"\n") + 1 :]):
            write(self.steps.stdin, other)
            done = self.steps.run(*command)
            self.assertEqual(done.code, 1, done.err)
            self.assertIn("another command", done.err)
        write(self.steps.stdin, whole)
        self.assertIn("continuing: ", self.steps.run(*command).err)


class Lists(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.photos = make_photos(self.folder / "in", 40)
        self.list = self.folder / "list"
        write(self.list, listed(self.photos))

    def with_list(self, *words, code=0):
        with open(self.list, "rb") as stdin:
            return self.ok(*words, code=code, stdin=stdin)

    def test_order_keys_and_payload_are_those_of_the_list(self):
        self.with_list("convert", "-", self.out, "--to", "record", "--shard-samples", 9)
        lines = [line.split("\t") for line in self.list.read_text().splitlines()]
        self.assertEqual([os.fsdecode(sample[0]) for sample in samples_of(self.out)], [path for path, _ in lines])
        self.with_list("verify", self.out, "--against", "-", "--deep")

    def test_bytes_are_the_same_for_any_jobs_and_memory(self):
        whole = None
        for jobs, memory in ((1, "256MiB"), (3, "16MiB")):
            out = self.folder / f"out-{jobs}"
            self.with_list("convert", "-", out, "--to", "record", "--shuffle", "--shard-samples", 9, "--jobs", jobs, "--memory", memory)
            whole = whole or snapshot(out)
            self.assertEqual(snapshot(out), whole)

    def test_parts_of_a_list(self):
        words = ["--to", "record", "--shard-samples", 9]
        self.with_list("convert", "-", self.folder / "whole", *words)
        for part in range(3):
            self.with_list("convert", "-", self.out, *words, "--part", f"{part}/3")
        self.ok("merge", self.out, self.folder / "merged")
        self.with_list("verify", self.folder / "merged", "--against", "-", "--deep")
        self.assertEqual(list(samples_of(self.folder / "merged")), list(samples_of(self.folder / "whole")))

    def test_lists_of_an_appended_set_repair_what_was_made_of_them(self):
        whole = self.list.read_bytes().splitlines(keepends=True)
        for lines, more in ((whole[:20], ()), (whole[20:], ("--append", "--new-classes", "append"))):
            write(self.list, b"".join(lines))
            self.with_list("convert", "-", self.out, "--to", "record", *more)
        before = snapshot(self.out)
        for name in ("shard-000000.tfrecord", "shard-000001.tfrecord"):
            write(self.out / name, b"damaged")
        self.with_list("repair", self.out, "--from", "-", code=3)  # the second of two runs
        write(self.list, b"".join(whole[:20]))
        self.with_list("repair", self.out, "--from", "-")
        self.assertEqual(snapshot(self.out), before)

    def test_a_file_that_changed_after_the_output_was_finished(self):
        command = ["convert", "-", self.out, "--to", "record"]
        self.with_list(*command)
        image = sorted(self.photos.rglob("*.png"))[0]
        content = bytearray(image.read_bytes())
        content[-20] ^= 1
        write(image, bytes(content))
        with open(self.list, "rb") as stdin:
            done = run(*command, stdin=stdin)
        self.assertEqual(done.code, 1, done.err)
        self.assertNotIn("nothing was done", done.out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
