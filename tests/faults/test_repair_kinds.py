#!/usr/bin/env python3
"""Every kind of dataset is put right by whoever does what the hint of verify says, whatever is damaged.

    SHALE=build/release/shale python3 tests/faults/test_repair_kinds.py
"""

import os
import pathlib
import re
import shlex
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import shale_tool
from fault_case import IN_MEMORY
from shale_tool import run

SAMPLES = 24
KEYS = [f"class-{number % 3}/{number:05}.png" for number in range(SAMPLES)]


def zeroed(dataset, number):
    paths = [path for path in dataset.glob(f"shard-{number:06}.*") if path.suffix != ".npy" or path.name.endswith(".x.npy")]
    for path in paths[:1]:
        path.write_bytes(bytes(path.stat().st_size))


def gone(pattern):
    def remove(dataset):
        for path in sorted(dataset.glob(pattern))[:1]:
            path.unlink()

    return remove


DAMAGES = {
    "a shard zeroed": [lambda dataset: zeroed(dataset, 0)],
    "an index gone": [gone("shard-*.index.npy")],
    "a block list gone": [gone("shard-*.blocks.npy")],
    "an element list gone": [gone("shard-*.elements.npy")],
    "a list gone": [gone("skipped*.csv"), gone("images*.csv"), gone("ignored*.csv")],
    "a list and a shard": [gone("[si]*ed.csv"), lambda dataset: zeroed(dataset, 1)],
    "two shards and an index": [lambda dataset: zeroed(dataset, 0), lambda dataset: zeroed(dataset, 1), gone("shard-000002.index.npy")],
}


class EveryKind(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = shale_tool.Folder(IN_MEMORY)
        cls.addClassCleanup(cls.folder.remove)
        cls.photos = shale_tool.make_photos(cls.folder / "photos", SAMPLES, sides=(9, 40))
        for beside, count in (("more", 9), ("splits/train", 12), ("splits/val", 12), ("masks", SAMPLES), ("flat", 0)):
            shale_tool.make_photos(cls.folder / beside, count, sides=(9, 30), seed=7)
        for odd, content in (("bad.png", b""), ("cmyk.jpg", shale_tool.CMYK_JPEG), ("notes.txt", b"none")):
            for place in ("photos", "splits/train", "splits/val"):
                shale_tool.write(cls.folder / place / "class-1" / odd, content)
        for path in list((cls.folder / "more").rglob("*.png")):
            path.rename(path.with_name("more-" + path.name))
        for number in range(SAMPLES):
            shale_tool.write(cls.folder / f"flat/{number}.png", shale_tool.png(9, 9, number))
        for name, factor in (("x", 1), ("y", 7)):
            rows = b"".join((number * factor).to_bytes(8, "little") for number in range(SAMPLES))
            shale_tool.write(cls.folder / f"{name}.npy", shale_tool.npy("<i8", (SAMPLES,), rows))
        shale_tool.make_frames(cls.folder / "frames", 6)
        cls.text("labels.csv", [f"{number}.png,{number % 3}" for number in range(SAMPLES)])
        cls.text("some.txt", KEYS[::2])
        cls.text("train.txt", KEYS[1::2])
        cls.text("val.txt", KEYS[::2][:8])
        shutil.copytree(cls.folder / "masks", cls.folder / "image")
        cls.done("convert", "photos", "base", "--to", "lmdb")

    @classmethod
    def text(cls, name, lines):
        (cls.folder / name).write_text("".join(line + "\n" for line in lines))

    @classmethod
    def done(cls, *words, codes=(0, 4)):
        finished = run(*words, cwd=cls.folder.path)
        if finished.code not in codes:
            raise AssertionError(f"shale {words}: exit {finished.code}\n{finished.out}{finished.err}")
        return finished

    def check(self, sources, *words, needed=(), convert=True):
        """Each damage of `whole`, repaired from each of the sources by the command of the hint; `needed`: what it says to add."""
        if convert:
            shutil.rmtree(self.folder / "whole", ignore_errors=True)
            self.done("convert", *sources[0], "whole", "--shard-samples", 3, *(words if "--to" in words else ("--to", "record", *words)), *needed)
        whole = self.folder / "whole"
        places = [""] if (whole / "dataset.json").exists() else sorted(os.listdir(whole))
        for name, damage in DAMAGES.items():
            hurt = self.folder / "hurt"
            shutil.rmtree(hurt, ignore_errors=True)
            shutil.copytree(whole, hurt)
            for place in places:
                for step in damage:
                    step(hurt / place)
            if shale_tool.snapshot(hurt) == shale_tool.snapshot(whole):
                continue
            with self.subTest(words=words, damage=name):
                found = self.done("verify", "hurt", codes=(3,))
                hints = re.findall(r"^hint: '([^']+)'(.*)", found.err, re.MULTILINE)
                self.assertEqual(len(hints), sum(shale_tool.snapshot(hurt / place) != shale_tool.snapshot(whole / place) for place in places))
                for command, rest in hints:
                    self.follow(command, rest, sources, needed)
                self.done("verify", "hurt", codes=(0,))
                self.assertEqual(shale_tool.snapshot(hurt), shale_tool.snapshot(whole))

    def follow(self, command, rest, sources, needed):
        words = shlex.split(command)
        self.assertEqual(words[0], "shale", command)
        if words[1] == "index":
            return self.done(*words[1:], codes=(0,))
        self.assertEqual(words[-2], "--from", command)
        if words[-1] == "COPY":
            return self.done(*words[1:-1], "whole", codes=(0,))
        for option in (word for word in needed if str(word).startswith("--")):
            self.assertIn(option, rest)
        self.assertEqual("with the --" in rest, bool(needed), rest)
        for source in sources:
            froms = sum((["--from", word] for word in source), [])
            # Of several inputs each repairs its own.
            self.done(*words[1:-2], *froms, *needed, codes=(0, 1, 3) if len(sources) > 1 else (0,))

    def test_folders(self):
        self.check([["photos"]])
        self.check([["photos"]], "--resize", "exact=8x8", "--shuffle", "--seed", 5)
        self.check([["photos"]], needed=["--select", "some.txt"])
        self.check([["photos"]], needed=["--classes", "class-0,class-1"])
        self.check([["flat"]], needed=["--labels", "labels.csv"])
        self.check([["frames"]], "--group", "frames")
        self.check([["image=image", "mask=masks"]])

    def test_rows_and_datasets(self):
        self.check([["x.npy"]])
        self.check([["x=x.npy", "y=y.npy"]])
        self.check([["x=x.npy", "y=y.npy"]], "--shuffle", "--to", "npy")
        self.check([["base"]], "--to", "hdf5")
        self.check([["base"]], "--shuffle", "--to", "lmdb", needed=["--exclude", "some.txt"])

    def test_splits(self):
        self.check([["splits"]])
        self.check([["photos"]], needed=["--split", "train=0.6,val=0.4", "--seed", 3])
        self.check([["photos"]], "--shuffle", needed=["--split", "a=0.5,b=0.5"])
        self.check([["photos"]], needed=["--split", "train=train.txt,val=val.txt"])
        self.check([["x=x.npy", "y=y.npy"]], needed=["--split", "train=0.5,val=0.5"])

    def test_what_several_commands_made(self):
        for part in (0, 1):
            self.done("convert", "photos", "parts", "--to", "record", "--shard-samples", 3, "--part", f"{part}/2")
        shutil.rmtree(self.folder / "whole", ignore_errors=True)
        self.done("merge", "parts", "whole")
        self.check([["photos"]], convert=False)
        shutil.rmtree(self.folder / "whole")
        self.done("convert", "photos", "whole", "--to", "record", "--shard-samples", 3)
        self.done("convert", "more", "whole", "--append", "--shard-samples", 4)
        self.check([["photos"], ["more"]], convert=False)
        shutil.rmtree(self.folder / "whole")
        self.done("resample", "x.npy", "whole", "--to", "npy", "--shard-samples", 5, "--replace")
        self.check([["x.npy"]], convert=False)


if __name__ == "__main__":
    unittest.main()
