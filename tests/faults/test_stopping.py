"""Real signals while a read is under way, at a known read: exit 130, nothing left, no crash; ignored ones change nothing.

A fanotify group of ours is asked before each read of the input files, and lets the k-th wait: a disk that is as slow as the test wants.
No moment is left to chance, and nothing sleeps.
"""

import base64
import contextlib
import ctypes
import fcntl
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import zlib

from fault_case import IN_MEMORY, FaultCase
from shale_tool import IS_SANITIZED, SHALE, Folder, make_photos, npy, run, snapshot, start, write

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
HELD = 2 if IS_SANITIZED else 4  # reads of each command
# <linux/fanotify.h>
CLASS_CONTENT, MARK_ADD, ACCESS_PERM, ON_CHILD, ALLOW = 0x4, 0x1, 0x20000, 0x8000000, 1
EVENT = struct.Struct("=IBBHQii")  # length, version, reserved, length of this head, mask, descriptor, process
# The number of the call, and the place of its timeout in /proc/PID/syscall.
FUTEX, TIMEOUT = {"x86_64": "202", "aarch64": "98"}.get(os.uname().machine, ""), 4
# h5py 3.16.0: x of (256, 64, 64) uint8, the k-th row all k, chunks=(16, 64, 64), compression="gzip"; then zlib and base64.
PACKED_HDF5 = (
    "eNrr9HBx4+WS4mIAAQ4OBhYGAQZk8B8Kvkig8mHyCVCaEUp3QOkVTDBxRrAcVDuDINR8dHUhQa6uINX/0QDMHgMWCM3BMApGIvBwdQwA0RFQPiyVnmBCVV"
    "eBlh49KLSXkYENYhYjjG8BoZkZUSxyYEClcYkzA13OCHU/I1KKZgXSID4TMxNYmJtBAcxnhFvDAc5JKalpOYklqQycDLD8oAAxl4mlghURNA5QzIjwiQNV"
    "4iHYz9+FEewaCFBgHk2b5ABQeccIjCr08q6YSP07BCF0CVp+wAW0hVDVKxBQPx9NvQEB9cLCqOoJpbZ2NPUBBNT/RlOfQEB9vgiEhoVnAQH1j9HUNxBQHy"
    "aK6p4JBNSfRFO/gIB6WzFU9RsIqN+Ipv4AAfWq4qjqLxBQPxNN/QMC6nklUMPzAwH1jRKo/A8M2MtPxtGiYxSMglEwCkbBKBgFIxRU3Hp7sFOwCdgs2jhZ"
    "XuTN/uhfNzyN2EAN6e+gJtInNVAbPx8k8EkMzAR1Dj+ZgZnsICYfiPkeNKrySQ/M5AaST/6Cmr57pEEd62ow0x7Utv3OJJbekAWyklOwGWilIXd4XcbCf7"
    "GPktVPgtptDndBRp6YDdYhCWJGg5mgNu+J22CmLIhpDWaCWvIndoOZ+mDTQV3IT3lgR4Dd/g9k5D1u2eeNUUh2aoPtvPuQpnaqpjd5IdnpDfEnbe3Ued5s"
    "hWRnNsSfD2hqp0l6ixaSnd0Qf9LWTuvnrVIgO0+KApOtw8Yw97KADf+la/9MT+EBdYjegbQ98QWrBQk80QUzQSOTT3LBTFCSfSILZoKGP57EgpmgjsmJ3y"
    "CLKs3B1oOyR2U92HpW5/Q2LqSsMs2/LmBDKW2zitfztl9IVl4DWZlKWyuD0ttfIYXsv3xla40bWrQN2cjnHbeQUtB/vXV/Ljjp0rZESEzvPIVsZx7IzrW0"
    "zZ0Zz7t2Idu5DuxP2tpZkN69CtnOd2B/0jZ3lj/vmYUSn+tB/qStnfXpvV1IWeXfbtufjo60zSptz/uqADrebCY="
)

libc = ctypes.CDLL(None, use_errno=True)


class Gate:
    """Holds the k-th read of the files in some folders until it is opened."""

    def __init__(self, case, folders):
        self.group = libc.fanotify_init(CLASS_CONTENT, os.O_RDONLY | os.O_CLOEXEC)
        if self.group < 0:
            case.skipTest(f"reads cannot be held here: {os.strerror(ctypes.get_errno())}")
        case.addCleanup(self.open)
        self.held = []
        for folder in folders:
            mask = ctypes.c_uint64(ACCESS_PERM | ON_CHILD)
            if libc.fanotify_mark(self.group, MARK_ADD, mask, -100, os.fsencode(folder)) != 0:
                case.skipTest(f"reads cannot be held here: {os.strerror(ctypes.get_errno())}")

    def next(self, process):
        """The descriptor of a read that waits; None once the process has ended."""
        if not self.held:
            poll = select.poll()
            end = os.pidfd_open(process.pid)
            poll.register(self.group, select.POLLIN)
            poll.register(end, select.POLLIN)
            ready = {descriptor for descriptor, _ in poll.poll()}
            os.close(end)
            if self.group not in ready:
                return None
            events = os.read(self.group, 4096)
            while events:
                length, _, _, _, _, descriptor, _ = EVENT.unpack_from(events)
                self.held.append(descriptor)
                events = events[length:]
        return self.held[0]

    def let_through(self):
        os.write(self.group, struct.pack("=iI", self.held[0], ALLOW))
        os.close(self.held.pop(0))

    def hold(self, process, number):
        """Waits for the read of this number, from 0, and holds it; how many came, if there are fewer."""
        for count in range(number):
            if self.next(process) is None:
                return count
            self.let_through()
        return number if self.next(process) is not None else number - 1

    def open(self):
        """All that waits goes on, and nothing waits any more."""
        if self.group >= 0:
            os.close(self.group)
            self.group = -1
            while self.held:
                os.close(self.held.pop())


def is_waiting(process):
    """Whether the main thread waits for as long as it takes. Not so: it runs, or looks from time to time whether it should stop."""
    try:
        with open(f"/proc/{process.pid}/syscall") as file:
            call = file.read().split()
    except OSError:
        return True
    return call[0] != "running" and (call[0] != FUTEX or call[TIMEOUT] == "0x0")


class HeldReads(FaultCase):
    base = IN_MEMORY

    @classmethod
    def setUpClass(cls):
        cls.inputs = Folder(cls.base)
        cls.addClassCleanup(cls.inputs.remove)
        i = cls.inputs
        make_photos(i / "photos", 60, sides=(100, 200), classes=2)
        (i / "files").mkdir()
        for name, suffix in (("record", "tfrecord"), ("lmdb", "lmdb"), ("hdf5", "h5"), ("webdataset", "tar"), ("parquet", "parquet")):
            run("convert", i / "photos", i / name, "--to", name, "--shard-samples", 25)
            shutil.copy(i / name / f"shard-000000.{suffix}", i / f"files/f.{suffix}")
        for name in "xy":
            write(i / f"arrays/{name}.npy", npy("<u4", (40_000, 16), bytes(range(256)) * 10_000))
        write(i / "packed/g.h5", zlib.decompress(base64.b64decode(PACKED_HDF5)))
        run("convert", i / "arrays/x.npy", i / "npy", "--to", "npy", "--shard-samples", 15_000)
        for part in range(3):
            run("convert", i / "photos", i / "parts", "--to", "record", "--shard-samples", 9, "--part", f"{part}/3")

    def setUp(self):
        super().setUp()
        (self.folder / "tmp").mkdir()
        self.options = {"environment": {"TMPDIR": self.folder / "tmp", "MALLOC_PERTURB_": "165"}}

    def gate(self):
        places = [place for place, _, files in os.walk(self.inputs.path) if files]
        return Gate(self, places)

    def reads_of(self, words):
        """How often an undisturbed run reads its input."""
        gate = self.gate()
        process = start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **self.options)
        count = 0
        while gate.next(process) is not None:
            gate.let_through()
            count += 1
        gate.open()
        message = process.communicate()[1].decode()
        self.assertEqual(process.returncode, 0, f"shale {words}\n{message}")
        return count

    def signalled(self, words, number, which, **options):
        """Exit code and messages of a run that hears a signal while its read of this number waits."""
        gate = self.gate()
        process = start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **{**self.options, **options})
        gate.hold(process, number)
        process.send_signal(which)
        while process.poll() is None and not is_waiting(process):
            os.sched_yield()
        gate.open()
        out, messages = process.communicate()
        return process.returncode, out, messages.decode()

    def commands(self):
        """Each with its output, or None."""
        i, o = self.inputs, self.folder / "o"
        yield from ((["verify", i / name, depth, "--jobs", 3], None)
                    for name in ("record", "lmdb", "hdf5", "webdataset", "parquet", "npy") for depth in ("--quick", "--full", "--deep"))
        yield ["verify", i / "record", "--against", i / "photos", "--jobs", 3], None
        yield ["verify", i / "npy", "--against", i / "arrays/x.npy", "--jobs", 3], None
        for name in ("f.tfrecord", "f.lmdb", "f.h5"):
            yield ["verify", i / "files" / name, "--deep", "--jobs", 3], None
            yield ["info", i / "files" / name], None
            yield ["cat", i / "files" / name, 3], None
            yield ["index", i / "files" / name, "--crc", "--index-dir", o], o
        for name in ("record", "npy"):
            yield ["info", i / name], None
            yield ["cat", i / name, 54], None
        yield ["cat", i / "record", "--key", "class-1/00059.png"], None
        yield ["parts", i / "parts"], None
        yield ["merge", i / "parts", o], o
        yield ["convert", i / "photos", o, "--to", "record", "--shard-samples", 14, "--jobs", 3], o
        yield ["convert", i / "hdf5", o, "--to", "lmdb", "--shuffle", "--jobs", 3], o
        yield ["convert", i / "files/f.lmdb", o, "--to", "hdf5", "--jobs", 3], o
        yield ["convert", i / "packed/g.h5", o, "--to", "npy"], o
        yield ["convert", i / "npy", o, "--to", "npy", "--jobs", 3], o
        yield ["convert", i / "arrays/x.npy", i / "arrays/y.npy", self.folder / "o.npy"], self.folder / "o.npy"
        yield ["resample", i / "arrays/x.npy", self.folder / "o.npy", "--replace", "--jobs", 3], self.folder / "o.npy"
        yield ["resample", i / "npy", o, "--to", "record", "--rows", 9000, "--jobs", 3], o

    def test_a_signal_stops_any_command_at_any_read(self):
        before = snapshot(self.inputs.path)
        stopped = 0
        for command, (words, output) in enumerate(self.commands()):
            reads = self.reads_of(words)
            self.clear(output)
            for step in range(HELD):
                number, which = reads * step // HELD, SIGNALS[(command + step) % 4]
                with self.subTest(words=[str(word) for word in words], read=f"{number} of {reads}", signal=which.name):
                    code, out, messages = self.signalled(words, number, which)
                    if code == 0 and 2 * number > reads:
                        self.clear(output)  # nothing was left to stop
                        continue
                    self.assertEqual(code, 130, messages)
                    self.assertRegex(messages, r"interrupted(: .* complete)?\nhint: ")
                    self.assertEqual(out, b"")
                    self.check_left(output)
                    if step + 1 < HELD:  # what is left is continued otherwise: the last one is
                        self.clear(output)
                    stopped += 1
            if output is not None:
                self.ok(*words)
                self.clear(output)
        self.assertEqual(snapshot(self.inputs.path), before)
        self.assertGreater(stopped, 0)

    def test_a_signal_stops_a_repair_that_the_same_command_finishes(self):
        whole, hurt = self.inputs / "record", self.folder / "hurt"
        for source in (whole, self.inputs / "photos"):
            words = ["repair", hurt, "--from", source, "--jobs", 3]
            self.damage(whole, hurt)
            reads = self.reads_of(words)
            for step, which in enumerate(SIGNALS[:HELD]):
                with self.subTest(source=source.name, read=reads * step // HELD, signal=which.name):
                    self.damage(whole, hurt)
                    code, _, messages = self.signalled(words, reads * step // HELD, which)
                    self.assertIn(code, (130,) if 2 * step <= HELD else (0, 130), messages)
                    self.ok(*words)
                    self.assertEqual(snapshot(hurt), snapshot(whole))

    def damage(self, whole, hurt):
        """A copy with every shard truncated."""
        shutil.rmtree(hurt, ignore_errors=True)
        shutil.copytree(whole, hurt)
        for shard in hurt.glob("*.tfrecord"):
            os.truncate(shard, 99)

    def check_left(self, output):
        """What a stop may leave: the work folder of a dataset, for the next run to go on."""
        work = os.fsencode(f"{output.name}/.shale") if output is not None else b"nothing"
        left = {name for name in snapshot(self.folder.path) if not name.startswith(work)}
        self.assertLessEqual(left, {b"tmp", os.path.dirname(work)})

    def clear(self, output):
        if output is not None and output.is_dir():
            shutil.rmtree(output)
        elif output is not None:
            output.unlink(missing_ok=True)

    def test_signals_that_the_parent_ignores_stay_ignored(self):
        everything = ["sh", "-c", 'trap "" INT TERM HUP USR1; exec "$@"', "sh"]
        for wrap, signals in ((everything, SIGNALS), (["nohup"], [signal.SIGHUP])):
            for words in (["verify", self.inputs / "record", "--deep"], ["info", self.inputs / "files/f.lmdb"]):
                for which in signals:
                    code, _, messages = self.signalled([*wrap[1:], SHALE, *words], 3, which, program=wrap[0])
                    self.assertEqual(code, 0, f"{wrap} {words} {which}\n{messages}")

    def test_a_cat_whose_reader_takes_nothing_is_stopped(self):
        write(self.folder / "large/x.npy", npy("|u1", (1, 1 << 20), bytes(1 << 20)))
        process = start("cat", self.folder / "large/x.npy", 0, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **self.options)
        self.addCleanup(process.kill)
        waiting = bytearray(4)
        while int.from_bytes(waiting, sys.byteorder) < fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ) or not is_waiting(process):
            fcntl.ioctl(process.stdout, termios.FIONREAD, waiting)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=300), 130)
        self.assertEqual(process.communicate()[1].decode().count("shale: interrupted\n"), 1)

    def test_sigkill_leaves_nothing_of_a_file_that_is_unpacked(self):
        """Findings A14: as large as the data, and nothing ever removed it."""
        words = ["convert", self.inputs / "packed/g.h5", self.out, "--to", "npy"]
        reads, unpacking = self.reads_of(words), 0
        reference = snapshot(self.out)
        for number in range(0, reads, 1 + reads // 40):
            shutil.rmtree(self.out)
            gate = self.gate()
            process = start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.options)
            gate.hold(process, number)
            unpacking += any(str(self.folder / "tmp") in file for file in self.open_files(process))
            process.kill()
            gate.open()
            self.assertEqual(process.wait(), -signal.SIGKILL)
            self.check_left(self.out)
            self.ok(*words, **self.options)
            self.assertEqual(snapshot(self.out), reference)
        self.assertGreater(unpacking, 3, "no kill struck while the file was unpacked")

    def open_files(self, process):
        folder = f"/proc/{process.pid}/fd"
        for number in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):
                yield os.readlink(f"{folder}/{number}")
