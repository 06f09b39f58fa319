"""A power cut at any moment: what was synced survives, and the manifest never promises more than is there.

The model: every call that changes the disk is recorded (tests/support/steps.c), with what a file holds at each sync. After a cut the data of a
file is that of its last sync (nothing, if it was never synced). A creation, link, rename or removal is there for certain if its folder was synced
behind it; of the others all survive, or none, or those of manifests only, which is the worst order there is; or all, and what was written to the tail of
the journal, which is never synced, but none of the shards that it tells of. Each such state is laid out, and
judged: a manifest there must verify, shards that a run had done with must be in its journal, and the same command must finish with the bytes of
an undisturbed run.
"""

import os
import pathlib
import shutil

from fault_case import IN_MEMORY, WORK_FOLDER_MARK, FaultCase
from shale_tool import few_descriptors, make_photos, npy, run, snapshot, write
from steps import Steps

CUTS = int(os.environ.get("POWER_CUTS", 24))
SURVIVORS = {
    "all names": lambda step: True,
    "no names": lambda step: False,
    "names of manifests": lambda step: "dataset.json" in step.path + step.other,
}


class Disk:
    """Paths -> numbers of files (None: a folder), as calls change them; numbers -> content that is durable."""

    def __init__(self, standing):
        self.names = {path: None if content is None else path for path, content in standing.items()}
        self.data = {path: content for path, content in standing.items() if content is not None}

    def change(self, step, live):
        """What `step` does to names; `live`: the disk that the running program sees, before this step."""
        if step.name == "mkdir":
            self.names[step.path] = None
        elif step.name == "create":
            self.names[step.path] = step.number
        elif step.name == "link":
            source = os.path.realpath(step.other)
            self.names[step.path] = live.names.get(source, source)
            if source not in live.names:
                self.data[source] = pathlib.Path(source).read_bytes()
        elif step.name == "rename":
            number = live.names[step.path]
            self.names.pop(step.path, None)
            self.names[step.other] = number
        elif step.name in ("unlink", "rmdir"):
            self.names.pop(step.path, None)

    def state(self):
        """Paths -> number and content (None: a folder): names of one file are names of one file after the cut, too."""
        return {path: None if number is None else (number, self.data.get(number, b"")) for path, number in self.names.items()}


class PowerCuts(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.place = self.folder / "place"
        self.place.mkdir()
        self.out = self.place / "out"
        self.steps = Steps(self, self.folder, self.place)
        self.steps.limit = few_descriptors(28)  # two shards become durable at a time
        self.photos = make_photos(self.folder / "in", 24, sides=(20, 40))
        self.photos.joinpath("class-0/bad.png").write_bytes(b"")

    def command(self, container):
        words = ["--to", container, "--shard-samples", 5, "--jobs", 1, "--io", "buffered", "--max-errors", "50%"]
        return ["convert", self.photos, self.out, *words]

    def states_after(self, steps, cut, standing):
        """What may be there after a cut behind step `cut`, each state once: which names survived, paths -> what Disk.state() says."""
        synced = {step.path: step.number for step in steps[:cut] if step.name == "sync"}
        live, after = Disk(standing), {which: Disk(standing) for which in SURVIVORS}
        tail = {}
        for step in steps[:cut]:
            saved = self.steps.saved / str(step.number)
            if step.path.endswith(".tail") and saved.exists():
                tail = {step.path: (step.path, saved.read_bytes())}
            if step.name == "sync" and saved.exists() and step.path in live.names:
                live.data[live.names[step.path]] = saved.read_bytes()
            folders = {os.path.dirname(path) for path in (step.path, step.other) if path}
            is_durable = any(step.number < synced.get(folder, 0) for folder in folders)
            for which, disk in after.items():
                if is_durable or SURVIVORS[which](step):
                    disk.change(step, live)
            live.change(step, live)
        states = {}
        for which, disk in after.items():
            disk.data = live.data
            if disk.state() not in states.values():
                states[which] = disk.state()
        if tail and tail.keys() <= states["all names"].keys():
            states["all names and the tail"] = {**states["all names"], **tail}
        return states

    def lay_out(self, state):
        shutil.rmtree(self.place)
        self.place.mkdir()
        names = {}
        for path in sorted(state):
            place = pathlib.Path(path)
            if not place.parent.is_dir():
                continue
            if state[path] is None:
                place.mkdir()
                continue
            number, content = state[path]
            if number in names:
                os.link(names[number], place)
            else:
                place.write_bytes(content)
                names[number] = place

    def standing(self):
        """What is in the place: paths -> content (None: a folder)."""
        return {str(path): None if path.is_dir() else path.read_bytes() for path in self.place.rglob("*")}

    def test_after_a_cut_the_same_command_gives_the_same_bytes(self):
        for container in ("record", "hdf5"):
            with self.subTest(container=container):
                self.cut_everywhere(self.command(container), {})

    def test_after_a_cut_an_append_is_whole_or_goes_on(self):
        self.ok(*self.command("record"), code=4)
        more = make_photos(self.folder / "more", 13, sides=(20, 40))
        for number, path in enumerate(sorted(more.rglob("*.png"))):
            path.rename(path.with_name(f"more-{number}.png"))
        command = ["convert", more, self.out, "--append", "--jobs", 1, "--io", "buffered"]
        self.cut_everywhere(command, self.standing())

    def test_after_a_cut_a_merge_is_whole_or_goes_on(self):
        parts = self.folder / "parts"
        for index in range(2):
            self.ok("convert", self.photos, parts, *self.command("record")[3:], "--part", f"{index}/2", code=4 if index == 0 else 0)
        self.cut_everywhere(["merge", parts, self.out], {})

    def test_after_a_cut_a_resampled_array_is_whole_or_goes_on(self):
        write(self.folder / "x.npy", npy("<i4", (90, 5), bytes(range(90)) * 20))
        for out in (self.out, self.place / "one.npy"):
            shards = ["--to", "npy", "--shard-samples", 20] if out == self.out else []
            with self.subTest(out=out.name):
                self.cut_everywhere(["resample", self.folder / "x.npy", out, *shards, "--permute", "--jobs", 1, "--io", "buffered"], {})

    def test_after_a_cut_the_index_of_a_set_is_whole_or_made_again(self):
        """The first one, and one that takes the place of another."""
        self.ok("convert", self.photos, self.folder / "one.tfrecord", "--max-errors", "50%", code=4)
        files = self.place / "files"

        def add(*numbers):
            files.mkdir(exist_ok=True)
            for number in numbers:
                shutil.copy(self.folder / "one.tfrecord", files / f"part-{number}.tfrecord")

        add(1, 2, 10)
        command = ["index", files, "--crc", "--jobs", 1]
        self.cut_everywhere(command, self.standing(), judge=self.judge_index)
        with (files / "part-2.tfrecord").open("ab") as file:
            file.write((files / "part-1.tfrecord").read_bytes())
        add(3)
        self.cut_everywhere(command, self.standing(), judge=self.judge_index)

    def judge_index(self, command, expected, _):
        """An index that stands is whole; it may be that of the files as they were."""
        if (command[1] / ".shale-index/dataset.json").exists():
            done = run("verify", command[1])
            is_of_before = "has changed since it was indexed" in done.err
            self.assertTrue(done.code == 0 or is_of_before, done.err)
        self.ok(*command)
        self.ok("verify", command[1])
        # Numbers of lists may be others; there are as many, and nothing else.
        left = snapshot(self.place)
        self.assertEqual(len(left), len(expected), sorted(left))

    def cut_everywhere(self, command, standing, cuts=CUTS, judge=None):
        self.lay_out(Disk(standing).state())
        done, steps = self.steps.recorded(command, saves=True)
        self.assertIn(done.code, (0, 4), done.err)
        expected = snapshot(self.place)
        shards = [step.number for step in steps if step.name == "write" and step.path.endswith("/journal")][1:]
        apart = max(1, len(steps) // cuts)
        for cut in (step.number for step in steps if step.number % apart == 0 or "dataset.json" in step.path):
            # A shard's line is written, synced, and then something else is done.
            journaled = sum(number + 1 <= cut for number in shards)
            for which, state in self.states_after(steps, cut, standing).items():
                with self.subTest(cut=steps[cut - 1], survived=which):
                    self.lay_out(state)
                    (judge or self.judge)(command, expected, journaled)

    def judge(self, command, expected, journaled):
        is_placed = any((self.out / name).exists() for name in ("dataset.json", ".shale/new/dataset.json"))
        if (self.out / "dataset.json").exists():
            self.ok("verify", self.out, "--deep")
        if self.out.exists() and not is_placed:
            self.assertGreaterEqual(len(self.journaled(self.out)), journaled)
        lock = self.out / ".shale/lock"
        if lock.exists():
            self.assertTrue(WORK_FOLDER_MARK.startswith(lock.read_bytes()))
        done = run(*command)
        # Of a file that has its name nobody can tell which command made it.
        stands = "one.npy: already exists" in done.err
        self.assertTrue(done.code in (0, 4) or stands, done.err)
        self.assertEqual(snapshot(self.place), expected)
