"""The base of the fault tests: a folder of its own for every test, and what must hold whenever shale refuses."""

import contextlib
import fcntl
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import termios
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import shale_tool
from shale_tool import IS_SANITIZED, NOBODY, SHALE, differences, run, snapshot, start

IS_ROOT = os.geteuid() == 0
BUG_MARKS = ("unexpected error:", "terminate called", "Traceback", "Sanitizer", "this is a bug")
SEED = int(os.environ.get("FAULTS_SEED", random.SystemRandom().randrange(2**32)))
print(f"FAULTS_SEED={SEED}", flush=True)
# What marks a work folder as shale's (docs/layout.md).
WORK_FOLDER_MARK = b"shale works here: this folder goes when its run ends\n"
MIB = 1 << 20
# For tests that are not about disks: no waiting for fsync.
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def as_nobody():
    """Options of run() that take root's powers away: permissions mean nothing to root."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if IS_ROOT else {}


class FaultCase(unittest.TestCase):
    maxDiff = None
    base: "str | None" = None  # where the test's folder is made: $TMPDIR
    container, suffix = "record", "tfrecord"

    def setUp(self):
        self.folder = shale_tool.Folder(self.base)
        self.addCleanup(self.folder.remove)
        self.out = self.folder / "out"
        self.dice = random.Random(SEED)

    # ---- running

    def ok(self, *words, code=0, **options):
        done = run(*words, **options)
        self.assertEqual(done.code, code, f"shale {words}\n{done.out}{done.err}")
        return done

    def convert(self, source, out, *words, **options):
        return self.ok("convert", source, out, "--to", self.container, *words, **options)

    def refused(self, *words, code=1, says=(), **options):
        """The run fails with this code, says where and what, gives one hint, and is no bug."""
        done = run(*words, **options)
        story = f"shale {words}: exit {done.code}\n{done.out}{done.err}"
        self.assertEqual(done.code, code, story)
        for fact in says:
            self.assertIn(str(fact), done.err, story)
        for mark in BUG_MARKS:
            self.assertNotIn(mark, done.err, story)
        self.assertEqual(done.err.count("\nhint: "), 1, story)
        return done

    def within(self, budget_mib, *words, code=0):
        """The run may take its budget and 64 MiB more. A sanitizer's memory is not the tool's."""
        # Until the program starts, the child is a copy of this process and counts its memory.
        own = int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        self.assertLess(own, 80 * MIB, "this test itself is too large")
        done = self.ok(*words, "--memory", f"{budget_mib}MiB", code=code)
        if not IS_SANITIZED:
            self.assertLessEqual(done.peak_bytes, (budget_mib + 64) * MIB, f"{words[0]} {words[-6:]}: {done.peak_bytes / MIB:.0f} MiB")
        return done

    def program_for_nobody(self):
        """A copy that every user may run, wherever the build folder lies."""
        path = self.folder / "shale"
        path.write_bytes(SHALE.read_bytes())
        path.chmod(0o755)
        return path

    def refused_as_nobody(self, *words, **options):
        self.folder.path.chmod(0o777)
        return self.refused(*words, program=self.program_for_nobody(), **as_nobody(), **options)

    @contextlib.contextmanager
    def untouched(self, *folders):
        before = [snapshot(folder) for folder in folders]
        yield
        for folder, content in zip(folders, before):
            changed = set(snapshot(folder).items()) ^ set(content.items())
            self.assertEqual(sorted({name for name, _ in changed}), [], f"{folder} was changed")

    # ---- what a run may leave behind

    def check_unfinished(self, out, reference):
        """No manifest; what bears a final name, and each shard that the journal lists, is whole: the same as in a run that nothing disturbed."""
        names = sorted(os.listdir(out)) if os.path.isdir(out) else []
        self.assertNotIn("dataset.json", names, "a run that failed left a manifest")
        whole = [out / name for name in names if name != ".shale"]
        for shard in self.journaled(out):
            whole += [place / shard["name"] for place in (out, out / ".shale/new") if (place / shard["name"]).exists()]
        for path in whole:
            self.assertTrue((reference / path.name).exists(), f"{path} is no file of the dataset")
            self.assertEqual(path.read_bytes(), (reference / path.name).read_bytes(), f"{path} is not whole")

    def journaled(self, out):
        """The files of the shards that are whole, as the journal of an unfinished run and its tail have them."""
        lines = []
        try:
            lines = (out / ".shale/journal").read_bytes().split(b"\n")[1:-1]
            lines += (out / ".shale/journal.tail").read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            pass
        # The beginning of a tail may be in the journal, too.
        shards = [json.loads(line.split(b"\t")[1]) for line in dict.fromkeys(lines)]
        return [file for shard in shards for file in [*shard["files"], shard["index"], shard["blocks"]] if file]

    def check_same(self, left, right):
        self.assertEqual(differences(left, right), [], f"{left} and {right} differ")

    # ---- disturbing

    @contextlib.contextmanager
    def measured(self):
        """The run within is one that nothing disturbs: signals of interrupted() come while such a run would last."""
        began = time.monotonic()
        yield
        self.seconds = time.monotonic() - began

    def interrupted(self, words, which, has_begun=lambda: True):
        """Starts a run and sends a signal at a random moment once it has begun; its exit code.

        A run that was over before that corrects what measured() found, on a machine that was busier: the next signals come sooner.
        """
        process = start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not has_begun() and process.poll() is None:
            os.sched_yield()
        began = time.monotonic()
        try:
            process.wait(timeout=self.dice.uniform(0, self.seconds))
            self.seconds = min(self.seconds, time.monotonic() - began)
        except subprocess.TimeoutExpired:
            process.send_signal(which)
        return process.wait()

    def stopped_by_signals(self, count, words, has_begun):
        """Runs that SIGINT and SIGTERM strike in turn, until so many have stopped: yields each one's exit code, 130 or 0."""
        stopped = 0
        for tries in range(20 * count):
            which = (signal.SIGINT, signal.SIGTERM)[tries % 2]
            code = self.interrupted(words, which, has_begun)
            self.assertIn(code, (0, 130))
            yield code
            stopped += code == 130
            if stopped == count:
                return
        self.fail(f"signals have stopped {stopped} of {20 * count} runs")

    @contextlib.contextmanager
    def small_disk(self, size):
        """A file system of a few bytes, at a folder that it yields; only root can make one."""
        if not IS_ROOT:
            self.skipTest("a small disk is mounted by root only")
        place = self.folder / "disk"
        place.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
        try:
            yield place
        finally:
            subprocess.run(["umount", "-l", place], check=True)
            place.rmdir()

    def remount(self, place, options):
        subprocess.run(["mount", "-o", f"remount,{options}", place], check=True)

    def paused_after_listing(self, source, out, *words, **options):
        """A conversion that has listed its input and read none of it.

        Its stderr is a pipe with just enough room for the first note (--verbose); the second, about sorted labels, comes between listing
        and reading, and blocks. `source` must have at least two classes and the run no --shuffle.
        """
        reader, writer = os.pipe()
        capacity = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        filler = capacity - 128
        os.write(writer, b"." * filler)
        words = ("convert", source, out, "--to", "record", "--jobs", "2", "--memory", "64MiB", "--verbose", *words)
        process = start(*words, stderr=writer, **options)
        os.close(writer)
        return PausedRun(self, process, reader, filler)


class PausedRun:
    """See paused_after_listing."""

    def __init__(self, case, process, reader, filler):
        self.case, self.process, self.reader, self.filler = case, process, reader, filler
        case.addCleanup(self.end)
        while not self.is_blocked():
            if process.poll() is not None:
                case.fail(f"the run ended with exit {process.returncode} before it could be paused")
            os.sched_yield()

    def is_blocked(self):
        try:
            state = pathlib.Path(f"/proc/{self.process.pid}/syscall").read_text().split()
        except OSError as error:
            self.case.skipTest(f"a system call cannot be seen here: {error}")
        waiting = bytearray(4)
        fcntl.ioctl(self.reader, termios.FIONREAD, waiting)
        # In a system call on descriptor 2, with the first note in the pipe: the second does not fit.
        return int.from_bytes(waiting, sys.byteorder) > self.filler and len(state) > 1 and state[1] == "0x2"

    def resume(self):
        """Lets it run to its end; its exit code and messages."""
        text = bytearray()
        while piece := os.read(self.reader, 65536):
            text += piece
        self.process.wait()
        return self.process.returncode, bytes(text[self.filler :]).decode(errors="surrogateescape")

    def end(self):
        os.close(self.reader)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
