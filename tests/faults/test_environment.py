"""What surrounds the program: no room for threads, closed descriptors, outputs that take nothing, empty words, a wrong TMPDIR.

Each class is a table, commands x conditions. Whatever they are, a run gives the right result or a clear exit 1 (2 for what was
typed): no signal, no exit 70, no hang.
"""

import os
import re
import resource
import shutil
import subprocess
import unittest

from fault_case import BUG_MARKS, FaultCase, as_nobody
from shale_tool import GRAY_JPEG, IS_SANITIZED, SHALE, Folder, make_photos, npy, png, run, write

PATIENCE_S = 300  # for runs of a tenth of a second: machines may be busy
MIB = 1 << 20
WORDS = {"convert": 2, "verify": 1, "info": 1, "cat": 2, "formats": 0, "index": 1, "resample": 2}


def make_inputs(root):
    """One small input of each kind; anybody may read them."""
    make_photos(root / "photos", 12, (2, 20))
    for i in range(6):
        write(root / f"flat/{i}.jpg", GRAY_JPEG)
    write(root / "labels.csv", b"".join(b"%d.jpg,%s\n" % (i, b"ab"[i % 2 :][:1]) for i in range(6)))
    write(root / "x.npy", npy("<i4", (50, 2), bytes(range(200)) * 2))
    for name in ("record", "lmdb", "hdf5", "webdataset", "parquet"):
        run("convert", root / "photos", root / name, "--to", name)
    shutil.copy(root / "lmdb/shard-000000.lmdb", root / "f.lmdb")
    shutil.copy(root / "hdf5/shard-000000.h5", root / "f.h5")
    shutil.copy(SHALE, root / "shale")
    (root / "shale").chmod(0o755)


def commands_on(i, o):
    """One command of each kind, from inputs `i` to outputs in `o`."""
    return [
        ["convert", i / "photos", o / "1", "--to", "record", "--jobs", 3],
        ["convert", i / "lmdb", o / "2", "--to", "hdf5", "--jobs", 3],
        ["convert", i / "flat", o / "3", "--to", "lmdb", "--labels", i / "labels.csv"],
        ["convert", i / "x.npy", o / "4", "--to", "npy", "--verify"],
        ["convert", i / "f.lmdb", o / "5", "--to", "record"],
        ["convert", i / "photos", o / "6", "--to", "record", "--dry-run"],
        ["verify", i / "record", "--deep", "--jobs", 3],
        ["verify", i / "hdf5", "--against", i / "photos", "--jobs", 3],
        ["verify", i / "f.h5"],
        ["info", i / "record"],
        ["info", i / "f.lmdb"],
        ["info", i / "f.h5"],
        ["cat", i / "record", 0, "--field", "key"],
        ["cat", i / "f.lmdb", 0, "--field", "key"],
        ["formats"],
        ["index", i / "f.h5", "--index-dir", o / "7"],
        ["index", i / "f.lmdb", "--crc", "--index-dir", o / "8"],
        ["index", i / "record"],
        ["resample", i / "x.npy", o / "9.npy", "--replace", "--rows", 70, "--jobs", 3],
        ["resample", i / "x.npy", o / "10", "--to", "record", "--save-indices", o / "11.npy"],
    ]


HELP = [[], ["-h"], ["help"], ["help", "verify"], ["verify", "-h"], ["--help"], ["--version"]]


class Environment(FaultCase):
    @classmethod
    def setUpClass(cls):
        cls.inputs = Folder()
        cls.addClassCleanup(cls.inputs.remove)
        make_inputs(cls.inputs.path)

    def commands(self):
        return commands_on(self.inputs, self.folder)

    def tried(self, words, wrap=(), **options):
        """Exit code and stderr. `wrap`: a shell line that ends with exec "$@"."""
        for left in self.folder.path.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        line = [*(["sh", "-c", wrap, "sh"] if wrap else []), self.inputs / "shale", *map(str, words)]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        done = subprocess.run(line, **pipes, timeout=PATIENCE_S, **options)
        err = done.stderr.decode(errors="replace")
        self.story = f"{wrap} shale {' '.join(map(str, words))}: exit {done.returncode}\n{err}"
        for mark in BUG_MARKS:
            self.assertNotIn(mark, err, self.story)
        return done.returncode, err

    def test_closed_standard_descriptors_never_become_those_of_files(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            for words in self.commands() + HELP:
                code, err = self.tried(words, wrap=f'exec "$@" {closed}')
                has_no_stdout = " >&-" in f" {closed}"
                self.assertEqual(code, 1 if has_no_stdout else 0, self.story)
                if has_no_stdout and "2>&-" not in closed:
                    self.assertIn("cannot write to stdout", err, self.story)
                if words and words[0] == "convert" and "--dry-run" not in words:
                    self.ok("verify", words[2], "--quiet")

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full here")
    def test_a_stdout_that_takes_nothing_is_an_error_of_every_command(self):
        for words in self.commands():
            for json in ([], ["--json"]):
                code, err = self.tried([*words, *json], wrap='exec "$@" >/dev/full')
                self.assertEqual(code, 1, self.story)
                self.assertIn("cannot write to stdout", err, self.story)
                self.assertEqual(err.count("\nhint: "), 1, self.story)
        for words in HELP:
            self.assertEqual(self.tried(words, wrap='exec "$@" >/dev/full')[0], 1, self.story)

    def test_an_error_under_json_onto_a_stdout_that_takes_nothing_keeps_its_exit_code(self):
        for name, count in WORDS.items():
            code, _ = self.tried([name, *["nowhere"] * (count + 1), "--json", "--to"], wrap='exec "$@" >&-')
            self.assertEqual(code, 2, self.story)

    def test_an_empty_value_is_refused_for_every_option_of_every_command(self):
        count = 0
        for name, words in WORDS.items():
            text = run(name, "--help").out
            options = re.findall(r"^  --([a-z-]+) \S", text, re.MULTILINE)
            for option in options:
                count += 1
                code, err = self.tried([name, *["nowhere"] * words, f"--{option}", ""])
                self.assertEqual(code, 2, self.story)
                self.assertIn(f"--{option} is empty", err, self.story)
            for empty in range(words):
                code, err = self.tried([name, *["" if i == empty else "nowhere" for i in range(words)]])
                self.assertEqual(code, 2, self.story)
                self.assertIn(f"argument {empty + 1} is empty", err, self.story)
        self.assertGreater(count, 40, "the options were not found in the help")

    def test_a_wrong_TMPDIR_stops_only_what_needs_it(self):
        write(self.inputs / "file", b"")
        for tmpdir in ("", "/nonexistent", str(self.inputs / "file"), "x" * 300):
            for words in self.commands():
                code, _ = self.tried(words, env={**os.environ, "TMPDIR": tmpdir})
                self.assertEqual(code, 0, self.story)
        # An index too large for a quarter of the memory: here a folder is needed.
        write(self.folder / "in/a/1.png", png(2300, 2000))
        self.ok("convert", self.folder / "in", self.out, "--to", "lmdb")
        shutil.copy(self.out / "shard-000000.lmdb", self.folder / "large.lmdb")
        words = ["convert", self.folder / "large.lmdb", self.folder / "again", "--to", "record", "--memory", "16MiB"]
        self.refused(*words, says=["set TMPDIR"], environment={"TMPDIR": "/nonexistent"})
        self.ok(*words, environment={"TMPDIR": ""})

    def test_names_longer_than_the_system_takes_are_ordinary_errors(self):
        for name in WORDS:
            text = run(name, "--help").out
            for option, kind in re.findall(r"^  --([a-z-]+) (\S+)", text, re.MULTILINE):
                if not re.search(r"FILE|DIR|SOURCE|DATASET|\.npy", kind):
                    continue
                value = "x" * 300 + ".npy"
                value = f"{value}={value}" if "=" in kind else value
                words = next(words for words in self.commands() if words[0] == name)
                code, _ = self.tried([*words, f"--{option}", value])
                self.assertIn(code, (1, 2), self.story)

    def test_limits_on_threads_and_processes_cost_threads_not_results(self):
        self.folder.path.chmod(0o777)
        # A sanitizer looks for leaks from a process of its own, which the limit forbids.
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        for limit in (0, 1, 3):
            def few_threads():
                resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))

            for words in self.commands():
                if words == ["index", self.inputs / "record"]:
                    continue  # it writes into the input
                code, err = self.tried(words, preexec_fn=few_threads, env=environment, **as_nobody())
                self.assertIn(code, (0, 1) if self.inputs / "f.h5" in words else (0,), self.story)
                if code == 1:
                    self.assertIn("cannot start a child process", err, self.story)

    @unittest.skipIf(IS_SANITIZED, "a sanitizer's addresses are not the tool's")
    def test_too_few_addresses_are_an_ordinary_error(self):
        for limit in (60, 90, 130, 200):
            for words in self.commands():
                code, _ = self.tried(words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit * MIB, limit * MIB)))
                self.assertIn(code, (0, 1), self.story)
