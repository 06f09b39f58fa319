"""`shale report` killed at each step that changes what is on disk: the earlier page, the new one or none, never a part of one, and never another file."""

import os
import shutil

from fault_case import IN_MEMORY
from shale_tool import Folder, make_photos, run, snapshot
from steps_case import StepsCase

PAGE, HIDDEN = b"report.html", b".report.html.shale-report"
OTHERS = {b"mine.html": b"<html>mine</html>", b".mine.html.shale-report": b"not for shale", b".report.html": b"x"}


class KilledReports(StepsCase):
    base = IN_MEMORY

    @classmethod
    def setUpClass(cls):
        cls.inputs = Folder(cls.base)
        cls.addClassCleanup(cls.inputs.remove)
        i = cls.inputs
        run("convert", make_photos(i / "photos", 30, sides=(10, 50)), i / "out", "--to", "record", "--shard-samples", 9)
        cls.of_set = snapshot(i / "out")
        for name, words in (("old", ["--sample", 5]), ("new", [])):
            run("report", i / "out", "-o", i / f"{name}.html", *words)
        cls.old, cls.new = ((i / f"{name}.html").read_bytes() for name in ("old", "new"))
        assert cls.old != cls.new

    def lay_out_others(self):
        for name, content in OTHERS.items():
            (self.place / os.fsdecode(name)).write_bytes(content)

    def lay_out_a_page(self):
        self.lay_out_others()
        shutil.copy(self.inputs / "old.html", self.place / "report.html")

    def check_with(self, *pages):
        """That the page is one of these, and that nothing else has changed."""

        def check():
            left = {os.fsencode(path.name): path.read_bytes() for path in self.place.iterdir()}
            hidden = left.pop(HIDDEN, b"")
            self.assertTrue(self.new.startswith(hidden), "the hidden file is not the front of the page")
            self.assertTrue(left.pop(PAGE, None) in pages, "neither the earlier page nor the new one")
            self.assertEqual(left, OTHERS)
            self.assertEqual(snapshot(self.inputs / "out"), self.of_set)

        return check

    def command(self, *words):
        return lambda jobs, memory: ["report", self.inputs / "out", "-o", self.place / "report.html", "--jobs", jobs, "--memory", memory, *words]

    def test_a_first_page(self):
        self.kill_at_steps(self.command(), prepare=self.lay_out_others, check=self.check_with(None, self.new), may_exist=True, most=10**6)

    def test_a_page_in_the_place_of_another(self):
        self.kill_at_steps(self.command("--overwrite"), prepare=self.lay_out_a_page, check=self.check_with(self.old, self.new), most=10**6)
        self.assertEqual((self.place / "report.html").read_bytes(), self.new)
