#!/usr/bin/env python3
"""`shale ls` of many rows: what a pipe sees.

    SHALE=build/release/shale tests/cli/ls_test.py
"""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from shale_tool import SHALE, npy

ROWS = 50_000


class Listing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.array = pathlib.Path(folder.name) / "x.npy"
        self.array.write_bytes(npy("|u1", (ROWS, 3), bytes(3 * ROWS)))

    def listed(self, *words):
        return subprocess.run([SHALE, "ls", self.array, *words], capture_output=True, text=True, check=True).stdout

    def test_all_forms_have_the_same_rows(self):
        expected = [(row, str(row), 3) for row in range(ROWS)]
        table = [line.split("\t") for line in self.listed("--tsv").splitlines()]
        self.assertEqual([(int(row), key, int(size)) for row, key, _, _, size in table], expected)
        facts = json.loads(self.listed("--json"))
        self.assertEqual(facts["samples"], ROWS)
        self.assertEqual([(one["row"], one["key"], one["bytes"]) for one in facts["rows"]], expected)
        self.assertEqual([tuple(line.split()) for line in self.listed().splitlines()], [(key, key, "3", "B") for _, key, _ in expected])

    def test_a_reader_that_has_seen_enough_ends_it_quietly(self):
        for form in ([], ["--tsv"], ["--json"]):
            with subprocess.Popen([SHALE, "ls", self.array, *form], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                self.assertTrue(process.stdout.read(10))
                process.stdout.close()
                self.assertEqual(process.stderr.read(), b"")
                self.assertEqual(process.wait(), -signal.SIGPIPE)

    def test_a_full_disk_is_told_once(self):
        for form in ([], ["--tsv"], ["--json"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([SHALE, "ls", self.array, *form], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.count("cannot write to stdout"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
