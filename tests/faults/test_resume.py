"""Killed at any step, the same command continues: to the same bytes, encoding no more again than one shard.

The steps are the calls that change what is on disk (tests/support/steps.c). RESUME_KILLS kills per format and input, spread evenly over
all steps; tests/soak.sh makes at least 100 per format.
"""

import json
import os
import random
import shutil
import signal

from fault_case import IN_MEMORY, FaultCase
from shale_tool import CMYK_JPEG, Folder, few_descriptors, make_frames, make_photos, npy, run, snapshot, write
from steps import Steps

KILLS = int(os.environ.get("RESUME_KILLS", 6))
FORMATS = ("record", "lmdb", "hdf5", "npy")
ROWS = 900


def make_inputs(folder):
    """photos: 60, some odd, bad, or no images. flat: with labels. x: rows. f: the same in Fortran order. set: photos as a dataset. torn, torn-rows: datasets that are damaged. foreign: a file. frames: of videos.
    varied: with boxes, words, objects and numbers, which some of them lack."""
    photos = make_photos(folder / "photos", 60, sides=(20, 60))
    for name, content in (
        ("class-0/00003.png", b""),
        ("class-1/00022.png", b"nothing"),
        ("class-2/c.jpg", CMYK_JPEG),
        ("class-2/notes.txt", b"x"),
    ):
        write(photos / name, content)
    make_photos(folder / "flat", 30, sides=(20, 60))
    names = sorted(str(path.relative_to(folder / "flat")) for path in (folder / "flat").rglob("*.png"))
    write(folder / "labels.csv", "".join(f"{name},{number % 7}\n" for number, name in enumerate(names)).encode())
    make_frames(folder / "frames", 20, sides=(10, 50))
    write(folder / "frames/class-1/video-4/3.png", b"nothing")
    make_photos(folder / "varied", 30, sides=(20, 60))
    rows = [
        {
            "file_name": str(path.relative_to(folder / "varied")),
            "boxes": [[number, 1.5, 2, k] for k in range(number % 3)],
            "words": ["word"] * (number % 4),
            "meta": {"number": [number]},
            **({"score": number / 2, "caption": f"no {number}"} if number % 3 else {}),
        }
        for number, path in enumerate(sorted((folder / "varied").rglob("*.png")))
    ]
    write(folder / "varied/metadata.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
    noise = random.Random(7).randbytes(ROWS * 4 * 50)
    write(folder / "x.npy", npy("<f4", (ROWS, 50), noise))
    write(folder / "f.npy", npy("<f4", (ROWS, 50), noise, fortran_order=True))
    run("convert", photos, folder / "set", "--to", "record", "--shard-samples", 25, "--max-errors", "50%")
    run("convert", photos, folder / "foreign.lmdb", "--max-errors", "50%")
    for name, words in (("torn", [folder / "set"]), ("torn-rows", [f"x={folder / 'x.npy'}"])):
        run("convert", *words, folder / name, "--to", "record" if name == "torn" else "npy", "--shard-samples", 25 if name == "torn" else 300)
        for number in (0, 1):
            shard = folder / name / f"shard-00000{number}{'.tfrecord' if name == 'torn' else '.x.npy'}"
            content = bytearray(shard.read_bytes())
            content[len(content) // 2] ^= 1
            shard.write_bytes(content[:-9])


class ResumedRuns(FaultCase):
    base = IN_MEMORY

    @classmethod
    def setUpClass(cls):
        cls.inputs = Folder(cls.base)
        cls.addClassCleanup(cls.inputs.remove)
        make_inputs(cls.inputs)

    def setUp(self):
        super().setUp()
        self.steps = Steps(self, self.folder, self.out)
        self.reference = self.folder / "reference"

    def kinds(self, container):
        """Words of each kind of input that the format takes, and how many samples make a shard."""
        i = self.inputs
        if container != "npy":
            yield [i / "photos", "--max-errors", "50%"], 7
            yield [i / "photos", "--shuffle", "--seed", 3, "--on-error", "keep", "--max-errors", "50%"], 7
            yield [i / "flat", "--labels", i / "labels.csv", "--shuffle"], 4
            yield [i / "varied"], 4
            yield [i / "set"], 7
            if container == "record":
                yield [i / "torn", "--on-error", "skip", "--max-errors", "50%"], 7
            yield [i / "foreign.lmdb"], 7
            yield [i / "frames", "--group", "frames", "--shuffle", "--max-errors", "50%"], 3
        yield [i / "x.npy", f"y={i / 'f.npy'}"], 100
        yield [i / "x.npy", f"y={i / 'f.npy'}", "--shuffle"], 100
        if container == "npy":
            for words in ([], ["--shuffle"]):
                yield [i / "torn-rows", "--on-error", "skip", "--max-errors", "99%", *words], 40

    def command(self, container, words, samples, out, jobs=2, memory="64MiB"):
        inputs = [word for word in words if not str(word).startswith("-")]
        first = words.index(next((word for word in words if str(word).startswith("-")), None)) if len(inputs) < len(words) else len(words)
        options = ["--to", container, "--shard-samples", samples, "--jobs", jobs, "--memory", memory, "--io", "buffered"]
        return ["convert", *words[:first], out, *words[first:], *options]

    def finished(self, words):
        done = run(*words)
        self.assertIn(done.code, (0, 4), f"shale {words}\n{done.err}")
        return done

    def test_killed_at_steps_of_each_format_and_input(self):
        for container in FORMATS:
            for words, samples in self.kinds(container):
                with self.subTest(container=container, words=[str(word) for word in words]):
                    self.kill_at_steps(container, words, samples)
                shutil.rmtree(self.reference, ignore_errors=True)
                shutil.rmtree(self.out, ignore_errors=True)

    def kill_at_steps(self, container, words, samples):
        self.finished(self.command(container, words, samples, self.reference))
        command = self.command(container, words, samples, self.out)
        steps = self.steps.recorded(command)[1]
        self.check_same(self.out, self.reference)
        # Each time from another step on, so that the soak sees them all.
        first = self.dice.randrange(max(1, len(steps) // KILLS))
        for number in range(1 + first, len(steps) + 1, max(1, len(steps) // KILLS)):
            shutil.rmtree(self.out)
            self.assertEqual(self.steps.killed(command, number), -signal.SIGKILL, steps[number - 1])
            if not (self.out / "dataset.json").exists() and not (self.out / ".shale/new/dataset.json").exists():
                self.check_unfinished(self.out, self.reference)
            for _ in range(self.dice.randrange(2)):  # the continuation is killed, too
                self.steps.killed(command, self.dice.randrange(1, len(steps)))
            other = self.command(
                container, words, samples, self.out, jobs=self.dice.choice((1, 3)), memory=self.dice.choice(("16MiB", "256MiB"))
            )
            done = self.finished(other)
            self.assertEqual(self.differing(), [], f"killed at {steps[number - 1]}\n{done.err}")

    def differing(self):
        left, right = snapshot(self.out), snapshot(self.reference)
        return sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name))

    def test_killed_where_shards_become_durable_a_few_at_a_time(self):
        """Lines go from the tail to the journal in the middle of a run, not only at its end."""
        self.steps.limit = few_descriptors(32)
        self.kill_at_steps("record", [self.inputs / "photos", "--max-errors", "50%"], 3)

    def test_no_more_than_one_shard_is_written_again(self):
        command = self.command("record", [self.inputs / "photos", "--max-errors", "50%"], 7, self.out)
        steps = self.steps.recorded(command)[1]
        shards = [step for step in steps if step.name == "create" and step.path.endswith(".tfrecord")]
        for kill in (steps[len(steps) // 3], steps[len(steps) // 2]):
            shutil.rmtree(self.out)
            self.steps.killed(command, kill.number)
            begun = sum(shard.number < kill.number for shard in shards)
            again = sum(step.name == "create" and step.path.endswith(".tfrecord") for step in self.steps.recorded(command)[1])
            self.assertLessEqual(begun + again, len(shards) + 1)
            self.assertGreater(begun, 2)


class ShardsThatWereNotDurable(FaultCase):
    """After a power failure the tail of the journal may be there, and the shards that it tells of may not, or not as they were."""

    base = IN_MEMORY

    def lose(self, path, how):
        content = path.read_bytes()
        if how == "missing":
            path.unlink()
        else:
            path.write_bytes({"empty": b"", "short": content[:-1], "zeros": bytes(len(content))}[how])

    def test_what_is_left_of_them_is_gone_on_with(self):
        photos = make_photos(self.folder / "in", 30, sides=(20, 40))
        for path in sorted(photos.rglob("*.png"))[3:20:4]:
            path.write_bytes(path.read_bytes()[:-8])
        reference = self.folder / "reference"
        words = ["--to", "record", "--shard-samples", 3, "--max-errors", "50%", "--jobs", 1]
        self.ok("convert", photos, reference, *words, code=4)
        steps = Steps(self, self.folder, self.out)
        command = ["convert", photos, self.out, *words]
        all_steps = steps.recorded(command)[1]
        sixth = next(step.number for step in all_steps if step.name == "create" and step.path.endswith("shard-000006.tfrecord"))
        names = ["shard-000000.tfrecord", "shard-000002.index.npy", "shard-000003.blocks.npy", "shard-000005.tfrecord", "skipped.csv"]
        for name in names:
            for how in ("missing", "empty", "short", "zeros"):
                with self.subTest(name=name, how=how):
                    shutil.rmtree(self.out)
                    self.assertEqual(steps.killed(command, sixth), -signal.SIGKILL)
                    self.assertEqual(len(self.journaled(self.out)), 6 * 3)
                    self.lose(self.out / ".shale/new" / name, how)
                    done = run(*command)
                    self.assertEqual(done.code, 4, done.err)
                    kept = 0 if name == "skipped.csv" else int(name[6:12])
                    said = f"continuing: {kept} shard" if kept > 0 else ""
                    self.assertIn(said, done.err)
                    self.check_same(self.out, reference)
