"""A power cut at any moment: what was synced survives, names survive in order, and the manifest never promises more than is there.

The model: every call that changes the disk is recorded (tests/support/steps.c), with what a file holds at each sync. After a cut at call k the
data of a file is that of its last sync before k (nothing, if it was never synced); creations, renames and removals are there up to some
call between the last sync of a folder and k. Each such state is laid out, and judged: a manifest there is must verify, and the same command must
finish with the bytes of an undisturbed run.
"""

import os
import pathlib
import shutil

from fault_case import IN_MEMORY, WORK_FOLDER_MARK, FaultCase
from shale_tool import make_photos, run, snapshot
from steps import Steps

CUTS = int(os.environ.get("POWER_CUTS", 24))


class PowerCuts(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.steps = Steps(self, self.folder, self.out)
        self.photos = make_photos(self.folder / "in", 24, sides=(20, 40))
        self.photos.joinpath("class-0/bad.png").write_bytes(b"")

    def command(self, container):
        words = ["--to", container, "--shard-samples", 5, "--jobs", 1, "--io", "buffered", "--max-errors", "50%"]
        return ["convert", self.photos, self.out, *words]

    def state_after(self, steps, cut, last_name, standing):
        """Paths -> content (None: a folder) after a cut before step `cut`, with the names of the steps before `last_name`.

        `standing`: paths -> content of what was there before.
        """
        data = dict(enumerate(standing.values()))
        names, inodes = {path: number for number, path in enumerate(standing)}, len(standing)
        if standing:
            names[str(self.out)] = None
        for step in steps[:cut]:
            if step.name == "sync" and pathlib.Path(self.steps.saved / str(step.number)).exists():
                if step.path in names:
                    data[names[step.path]] = (self.steps.saved / str(step.number)).read_bytes()
            elif step.number > last_name:
                continue
            elif step.name == "mkdir":
                names[step.path] = None
            elif step.name == "create":
                inodes += 1
                names[step.path] = inodes
            elif step.name == "rename" and step.path in names:
                names[step.other] = names.pop(step.path)
            elif step.name in ("unlink", "rmdir"):
                names.pop(step.path, None)
        return {path: None if inode is None else data.get(inode, b"") for path, inode in names.items()}

    def lay_out(self, state):
        shutil.rmtree(self.out, ignore_errors=True)
        for path in sorted(state):
            place = pathlib.Path(path)
            if state[path] is None:
                place.mkdir(parents=True, exist_ok=True)
            elif place.parent.is_dir():
                place.write_bytes(state[path])

    def test_after_a_cut_the_same_command_gives_the_same_bytes(self):
        for container in ("record", "hdf5"):
            shutil.rmtree(self.out, ignore_errors=True)
            with self.subTest(container=container):
                self.cut_everywhere(self.command(container), CUTS)

    def test_after_a_cut_an_append_is_whole_or_goes_on(self):
        self.ok(*self.command("record"), code=4)
        more = make_photos(self.folder / "more", 13, sides=(20, 40))
        for number, path in enumerate(sorted(more.rglob("*.png"))):
            path.rename(path.with_name(f"more-{number}.png"))
        standing = {str(path): path.read_bytes() for path in self.out.iterdir()}
        command = ["convert", more, self.out, "--append", "--jobs", 1, "--io", "buffered"]
        self.cut_everywhere(command, CUTS, standing)

    def cut_everywhere(self, command, cuts, standing=None):
        done, steps = self.steps.recorded(command, saves=True)
        self.assertIn(done.code, (0, 4), done.err)
        expected = snapshot(self.out)
        folders = {str(self.out)} | {step.path for step in steps if step.name == "mkdir"}
        for cut in range(1, len(steps) + 1, max(1, len(steps) // cuts)):
            synced = max((step.number for step in steps[:cut] if step.name == "sync" and step.path in folders), default=0)
            for last_name in {synced, cut}:
                with self.subTest(cut=cut, names=last_name):
                    self.lay_out(self.state_after(steps, cut, last_name, standing or {}))
                    self.judge(command, expected)

    def judge(self, command, expected):
        if (self.out / "dataset.json").exists():
            self.ok("verify", self.out, "--deep")
        lock = self.out / ".shale/lock"
        if lock.exists():
            self.assertTrue(WORK_FOLDER_MARK.startswith(lock.read_bytes()))
        done = run(*command)
        self.assertIn(done.code, (0, 4), done.err)
        self.assertEqual(snapshot(self.out), expected)
