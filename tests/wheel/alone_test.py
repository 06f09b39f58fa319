#!/usr/bin/env python3
"""The installed package with numpy and nothing else: the program, then the same samples through shale.Dataset.

Run by wheel_test.sh; SHALE is the program, SHALE_IO_BACKEND_EXPECTED how files must be read ("threads" where io_uring is refused).
"""

import os
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import shale
import shale_tool

FORMATS = ("lmdb", "hdf5", "record")


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = shale_tool.Folder()
        self.addCleanup(self.folder.remove)

    def module(self, *words, **options):
        return subprocess.run([sys.executable, "-m", "shale", *map(str, words)], capture_output=True, text=True, **options)

    def test_the_module_is_the_program_and_its_exit_code_comes_through(self):
        photos = shale_tool.make_photos(self.folder / "photos", 6)
        shale_tool.write(self.folder / "photos/class-0/bad.png", b"")
        self.assertEqual(self.module("--version").stdout, shale_tool.run("--version").out)
        self.assertEqual(self.module("no-such-command").returncode, 2)
        self.assertEqual(self.module("info", self.folder / "nothing").returncode, 1)
        self.assertEqual(self.module("convert", photos, self.folder / "out", "--to", "lmdb").returncode, 4)

    def test_a_signal_that_python_ignores_is_not_ignored_by_the_program(self):
        reads, writes = os.pipe()
        os.close(reads)
        done = subprocess.run([sys.executable, "-m", "shale", "formats"], stdout=writes, restore_signals=False)
        os.close(writes)
        self.assertEqual(done.returncode, -13, "SIGPIPE")

    def test_the_version_of_the_package_is_that_of_the_program(self):
        self.assertIn(shale.__version__, shale_tool.run("--version").out)


class Samples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = shale_tool.Folder()
        cls.addClassCleanup(cls.folder.remove)
        cls.photos = shale_tool.make_photos(cls.folder / "photos", 24)
        for name, content in (("gray", shale_tool.GRAY_JPEG), ("rgb", shale_tool.RGB_JPEG), ("cmyk", shale_tool.CMYK_JPEG)):
            shale_tool.write(cls.folder / f"photos/class-0/{name}.jpg", content)
        cls.expected = [
            ((path.parent.name + "/" + path.name), int(path.parent.name[-1]), path.read_bytes())
            for path in sorted(cls.photos.glob("*/*"), key=os.fsencode)
        ]

    def converted(self, name):
        out = self.folder / name
        if not out.exists():
            done = shale_tool.run("convert", self.photos, out, "--to", name, "--shard-samples", 10)
            self.assertEqual(done.code, 0, done.err)
        return out

    def test_what_is_converted_verifies(self):
        for name in FORMATS:
            with self.subTest(name):
                done = shale_tool.run("verify", self.converted(name), "--deep", "--against", self.photos)
                self.assertEqual(done.code, 0, done.err + done.out)

    def test_a_dataset_gives_the_bytes_of_the_files_one_by_one_and_in_batches(self):
        for name in FORMATS:
            with self.subTest(name):
                dataset = shale.Dataset(str(self.converted(name)))
                self.assertEqual(len(dataset), len(self.expected))
                rows = [*range(len(self.expected))[::-1], 3, 3]
                for row, sample in zip(rows, dataset.__getitems__(rows)):
                    self.check(sample, row)
                    self.check(dataset[row], row)

    def test_a_single_file_is_a_dataset_too(self):
        for name, suffix in (("lmdb", "lmdb"), ("hdf5", "h5")):
            with self.subTest(name):
                alone = self.folder / f"alone.{suffix}"
                alone.write_bytes((self.converted(name) / f"shard-000000.{suffix}").read_bytes())
                self.assertEqual(len(shale.Dataset(str(alone))), 10)

    def test_files_are_read_as_this_machine_allows(self):
        self.assertIn(shale.io_backend(), ("io_uring", "threads"))
        expected = os.environ.get("SHALE_IO_BACKEND_EXPECTED")
        if expected:
            self.assertEqual(shale.io_backend(), expected)

    def check(self, sample, row):
        key, label, image = self.expected[row]
        self.assertEqual(sample, {"key": key, "image": image, "label": label})


class Environment(unittest.TestCase):
    def test_torch_and_pillow_are_not_there_and_were_not_missed(self):
        for name in ("torch", "PIL"):
            with self.subTest(name), self.assertRaises(ImportError):
                __import__(name)


if __name__ == "__main__":
    unittest.main()
