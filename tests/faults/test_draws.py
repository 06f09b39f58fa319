"""Draws of rows: kills, signals, full and small disks, sources that change, equal bytes, and memory that does not grow with them."""

import array
import contextlib
import json
import os
import shutil
import signal
import subprocess
import unittest

from draw_case import ROW_BYTES, ROWS, DrawCase, data_of, small_files
from fault_case import MIB, WORK_FOLDER_MARK, FaultCase
from shale_tool import IS_SANITIZED, npy, start, write
from steps import Steps


class DrawKills(DrawCase):
    def test_killed_at_any_moment_there_are_whole_outputs_or_none(self):
        whole = self.reference()
        words = [*self.words(), "--overwrite"]
        kills = 0
        while kills < (12 if IS_SANITIZED else 60):
            for _ in range(self.dice.randint(1, 3)):
                code = self.interrupted(words, signal.SIGKILL)
                self.assertIn(code, (0, -signal.SIGKILL))
                kills += code != 0
                self.check_whole(whole)
            if self.dice.random() < 0.3:  # a run of fewer rows takes the larger temporaries over
                few = [*self.words(draw=("--rows", "7")), "--overwrite"]
                self.ok(*few)
                self.assertEqual(sorted(os.listdir(self.place)), sorted(self.outputs))
                self.assertEqual(data_of(self.place / "out.npy"), whole["out.npy"][128 : 128 + 7 * ROW_BYTES])
                self.clear()
            if self.dice.random() < 0.3:
                self.ok(*words)
                self.assertEqual(self.check_whole(whole), 3)
                self.assertEqual(sorted(os.listdir(self.place)), sorted(self.outputs))
                self.clear()

    def test_killed_while_outputs_are_replaced_each_is_the_old_or_the_new_one(self):
        whole = self.reference()
        old = {name: b"old " + name.encode() for name in self.outputs}
        for _ in range(3 if IS_SANITIZED else 12):
            for name, content in old.items():
                write(self.place / name, content)
            self.interrupted([*self.words(), "--overwrite"], signal.SIGKILL)
            for name in self.outputs:
                self.assertTrue((self.place / name).read_bytes() in (old[name], whole[name]), f"{name} is neither")

    def test_killed_between_its_renames_and_moved_it_is_finished(self):
        """Outputs that belong together find each other wherever their folder is by then."""
        place, moved = self.folder / "place", self.folder / "moved"
        for name in ("x.npy", "y.npy", "out.npy", "also.npy"):
            write(place / name, npy("<i4", (100,), bytes([len(name)]) * 400))

        def words(folder):
            return ["resample", folder / "x.npy", folder / "out.npy", "--also", f"{folder / 'y.npy'}={folder / 'also.npy'}", "--overwrite"]

        steps = Steps(self, self.folder, place)
        shutil.copytree(place, self.folder / "copy")
        renames = [step.number for step in steps.recorded(words(place))[1] if step.name.startswith("rename")]
        for number in renames:
            shutil.rmtree(place)
            shutil.copytree(self.folder / "copy", place)
            self.assertEqual(steps.killed(words(place), number), -signal.SIGKILL)
            place.rename(moved)
            self.ok(*words(moved))
            self.assertEqual(sorted(os.listdir(moved)), ["also.npy", "out.npy", "x.npy", "y.npy"])
            for name in ("out.npy", "also.npy"):
                self.assertEqual((moved / name).stat().st_size, (moved / "x.npy").stat().st_size)
            moved.rename(place)

    def test_signals_stop_the_run_with_130_and_leave_what_the_same_command_continues(self):
        draw = ("--replace",)
        whole = self.reference(draw=draw)
        for code in self.stopped_by_signals(4 if IS_SANITIZED else 14, self.words(draw=draw), lambda: os.listdir(self.place)):
            if code == 130:
                self.assertEqual(self.check_whole(whole), 0)
                self.ok(*self.words(draw=draw))
            self.assertEqual(self.check_whole(whole), 3)
            self.clear()

    def test_runs_for_one_output_exclude_one_another(self):
        whole = self.reference()
        words = [*self.words(), "--overwrite"]
        processes = [start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(4)]
        stories = [process.communicate()[1].decode() for process in processes]
        codes = [process.returncode for process in processes]
        self.assertIn(0, codes, stories)
        for code, story in zip(codes, stories):
            self.assertIn(code, (0, 1), story)
            if code == 1:
                self.assertIn("another shale process is writing here", story)
                self.assertIn("out.npy: ", story)
        self.assertEqual(self.check_whole(whole), 3)
        self.assertEqual(sorted(os.listdir(self.place)), sorted(self.outputs))


class DrawsOfTensors(DrawCase):
    """The same outputs as files of tensors: that of PyTorch ends in a checksum of all rows, whoever wrote the first of them."""

    outputs = ("out.pt", "labels.safetensors", "rows.npy")
    test_signals_stop_the_run_with_130_and_leave_what_the_same_command_continues = (
        DrawKills.test_signals_stop_the_run_with_130_and_leave_what_the_same_command_continues
    )
    test_killed_while_outputs_are_replaced_each_is_the_old_or_the_new_one = (
        DrawKills.test_killed_while_outputs_are_replaced_each_is_the_old_or_the_new_one
    )


class DrawOutputs(DrawCase):
    def test_a_file_that_may_not_grow_leaves_nothing(self):
        for size in (1000, MIB, 20 * MIB if not IS_SANITIZED else 4 * MIB):
            for draw in (["--permute"], ["--rows", "9000"], ["--replace"]):
                with self.subTest(size=size, draw=draw):
                    words = self.words(draw=draw)
                    if draw[0] == "--rows" and size > MIB * 2:
                        continue  # fits
                    self.refused(*words, preexec_fn=small_files(size), says=["File too large"])
                    self.check_nothing_left()

    def test_an_output_that_is_there_stays_as_it_was(self):
        write(self.place / "labels.npy", b"mine")
        with self.untouched(self.place):
            self.refused(*self.words(), says=["labels.npy: already exists"])
            words = [*self.words(), "--overwrite"]
            self.refused(*words, preexec_fn=small_files(MIB), says=["File too large"])
        self.check_no_scratch()

    def test_a_folder_that_is_too_small_is_told_before_anything_is_written(self):
        with self.small_disk(ROWS * ROW_BYTES // 3) as disk:
            self.refused(*self.words(disk), says=[f"{disk}: ", " of free space, only ", "MiB available"])
            self.check_nothing_left(disk)
            words = self.words()
            words[words.index(self.scratch)] = disk
            self.refused(*words, says=[f"{disk}: ", " of free space, only ", " available"])
            self.check_nothing_left()
            self.assertEqual(os.listdir(disk), [])

    def test_all_outputs_and_the_scratch_file_are_counted_together(self):
        """Each alone has room, together they have not."""
        both = ROWS * ROW_BYTES * 3 // 2
        with self.small_disk(both) as disk:
            words = self.words(disk)
            words[words.index(self.scratch)] = disk
            self.refused(*words, says=[f"{disk}: ", " of free space, only ", " available"])
            self.check_nothing_left(disk)
        self.clear()
        with self.small_disk(both) as disk:
            also = f"{self.x}={disk / 'b.npy'}"
            words = ["resample", self.x, disk / "a.npy", "--also", also, "--tmp", self.scratch, "--memory", "16MiB"]
            self.refused(*words, says=[f"{disk}: ", " of free space, only ", " available"])
            self.check_nothing_left(disk)

    def test_what_has_to_be_put_into_rows_first_is_counted_too(self):
        """In Fortran order, few rows of it: nothing but the array itself, in rows, goes to the scratch folder."""
        write(self.folder / "f.npy", npy("<f4", (ROWS * 5, 10), bytes(ROWS * ROW_BYTES), fortran_order=True))
        with self.small_disk(ROWS * ROW_BYTES - MIB) as disk:
            words = ["resample", self.folder / "f.npy", self.place / "out.npy", "--rows", 5, "--memory", "16MiB", "--tmp", disk]
            self.refused(*words, says=[f"{disk}: ", " of free space, only ", " available"])
            self.refused(*words[:2], self.place / "out", *words[3:], "--to", "record", says=[f"{disk}: ", " of free space, only "])
            self.check_nothing_left()
            self.remount(disk, f"size={2 * ROWS * ROW_BYTES + MIB}")
            self.ok(*words)
            self.assertEqual(os.listdir(disk), [])

    def test_what_a_long_list_is_sorted_in_is_counted_too(self):
        rows, drawn = 120_000, 240_000
        write(self.x, npy("|u1", (rows, ROW_BYTES), bytes(rows * ROW_BYTES)))
        listed = self.folder / "list.npy"
        write(listed, npy("<i8", (drawn,), array.array("q", (i * 7919 % rows for i in range(drawn))).tobytes()))
        words = ["resample", self.x, self.place / "out.npy", "--indices", listed, "--memory", "16MiB"]
        plan = json.loads(self.ok(*words, "--dry-run", "--json").out)["arrays"][0]
        self.assertEqual(plan["strategy"], "buckets")
        self.assertGreater(plan["scratch_bytes"], drawn * (ROW_BYTES + 4 + 16))
        with self.small_disk(plan["scratch_bytes"] - 8 * drawn) as disk:  # more than the buckets take
            self.refused(*words, "--tmp", disk, says=[f"{disk}: ", " of free space, only ", " available"])
            self.check_nothing_left()
            self.remount(disk, f"size={plan['scratch_bytes'] + MIB}")
            self.ok(*words, "--tmp", disk)
            self.assertEqual(os.listdir(disk), [])

    def test_what_a_kill_left_is_no_room_that_is_missing(self):
        with self.small_disk(ROWS * ROW_BYTES * 3 // 2) as disk:
            words = ["resample", self.x, disk / "out.npy", "--tmp", self.scratch, "--memory", "16MiB"]
            write(disk / ".out.npy.shale/lock", WORK_FOLDER_MARK)
            write(disk / ".out.npy.shale/new/out.npy", bytes(ROWS * ROW_BYTES))
            self.ok(*words)
            self.assertEqual(os.listdir(disk), ["out.npy"])

    def test_more_rows_than_any_disk_holds_are_refused_at_once(self):
        for draw in ("--replace", "--permute"):
            for rows in (10**15, 2**62, 2**63 - 1):
                self.refused("resample", self.x, self.place / "out.npy", draw, "--rows", rows, code=(2 if draw == "--permute" else 1))
        self.check_nothing_left()

    def fill(self, disk, process):
        """Takes what is free, again and again, until the run has ended."""
        with open(disk / "filler", "wb") as filler:
            while process.poll() is None:
                facts = os.statvfs(disk)
                free, size = facts.f_bavail * facts.f_frsize, os.fstat(filler.fileno()).st_size
                with contextlib.suppress(OSError):
                    if free > 0:
                        os.posix_fallocate(filler.fileno(), size, free)
        (disk / "filler").unlink()

    def test_a_disk_that_fills_up_meanwhile_is_told(self):
        whole = self.reference()
        for which in ("output", "scratch"):
            told = 0
            with self.subTest(which), self.small_disk("64m") as disk:
                words = self.words(disk if which == "output" else None)
                if which == "scratch":
                    words[words.index(self.scratch)] = disk
                place = disk if which == "output" else self.place
                for attempt in range(100):  # on a machine that is busy most runs are faster
                    if told and attempt >= 12:
                        break
                    process = start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                    while not os.listdir(place) and process.poll() is None:
                        os.sched_yield()
                    self.fill(disk, process)
                    story = process.communicate()[1].decode()
                    if process.returncode == 0:  # it was faster
                        for name in self.outputs:
                            self.assertTrue((place / name).read_bytes() == whole[name], name)
                            (place / name).unlink()
                        continue
                    told += "No space left on device" in story
                    self.assertEqual(process.returncode, 1, story)
                    self.assertIn(" available", story)
                    self.assertIn(str(disk), story)
                    self.check_only_work_left(disk)
                    self.check_only_work_left(self.place)
                self.assertGreater(told, 0, "the disk was never full at the right moment")

    def test_folders_that_are_missing_or_may_not_be_written(self):
        with self.untouched(self.folder.path):
            self.refused(*self.words(self.folder / "none"), says=["none/out.npy: "])
        self.place.chmod(0o555)
        self.refused_as_nobody(*self.words(), says=["place/out.npy: ", "Permission denied"])
        self.place.chmod(0o777)
        words = self.words()
        words[words.index(self.scratch)] = self.folder / "none"
        self.refused(*words, says=[f"{self.folder / 'none'}: "])
        self.scratch.chmod(0o555)
        self.refused_as_nobody(*self.words(), says=["scratch: ", "Permission denied"])
        self.assertEqual(os.listdir(self.place), [])

    def test_same_bytes_for_any_jobs_memory_and_way_of_writing(self):
        for draw in (["--permute", "--seed", "5"], ["--replace", "--rows", "50000"]):
            whole = self.reference(draw=draw)
            for name, words in {
                "one job": ["--jobs", 1],
                "seven jobs, direct": ["--jobs", 7, "--io", "direct"],
                "two jobs, buffered": ["--jobs", 2, "--io", "buffered"],
            }.items():
                for memory in ("16MiB", "512MiB"):
                    with self.subTest(draw=draw, run=name, memory=memory):
                        self.ok(*self.words(draw=draw, memory=memory), *words, environment={"MALLOC_PERTURB_": "165"})
                        self.assertEqual(self.check_whole(whole), 3)
                        self.clear()
            shutil.rmtree(self.folder / "reference")


class DrawSources(DrawCase):
    def test_a_source_that_was_cut_is_damaged(self):
        content = self.x.read_bytes()
        for keep in (5, 127, 128, len(content) - 1):
            with self.subTest(keep=keep):
                self.x.write_bytes(content[:keep])
                self.refused(*self.words(), code=3 if keep >= 6 else 1, says=["x.npy"])
                self.check_nothing_left()

    def test_a_source_that_is_cut_while_it_is_read_is_told(self):
        content, told = self.x.read_bytes(), 0
        whole = self.reference()
        for _ in range(60):
            process = start(*self.words(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            while not os.listdir(self.place) and process.poll() is None:
                os.sched_yield()
            os.truncate(self.x, self.dice.randrange(128, len(content) // 2))
            story = process.communicate()[1].decode()
            self.x.write_bytes(content)
            if process.returncode == 0:
                self.assertEqual(self.check_whole(whole), 3)
                self.clear()
                continue
            self.assertEqual(process.returncode, 3, story)
            self.assertIn("x.npy: byte ", story)
            self.assertIn("the file ends", story)
            self.check_nothing_left()
            told += 1
            if told == 6:
                return
        self.fail(f"{told} of 60 runs were told: they read too fast")

    def test_a_source_that_may_not_be_read(self):
        self.x.chmod(0)
        self.place.chmod(0o777)
        self.scratch.chmod(0o777)
        self.refused_as_nobody(*self.words(), says=["x.npy", "Permission denied"])
        self.check_nothing_left()

    def test_a_dataset_with_a_wrong_byte_is_damaged_and_gives_no_rows(self):
        for container in ("npy", "hdf5"):
            dataset = self.folder / container
            sources = [f"x={self.x}", f"y={self.folder / 'y.npy'}"]
            self.ok("convert", *sources, dataset, "--to", container, "--shard-size", str(ROWS * ROW_BYTES // 3))
            shards = sorted(path for path in dataset.iterdir() if path.stat().st_size > MIB)
            shard = shards[1]
            content = bytearray(shard.read_bytes())
            content[len(content) // 2] ^= 0x10
            shard.write_bytes(content)
            for draw in (["--permute"], ["--rows", "5"], ["--replace", "--rows", "10"]):
                for memory in ("16MiB", "512MiB"):
                    with self.subTest(container=container, draw=draw, memory=memory):
                        limits = ["--memory", memory, "--tmp", self.scratch]
                        words = ["resample", dataset, self.place / "out.npy", "--fields", "x", *draw, *limits]
                        self.refused(*words, code=3, says=[shard.name])
                        self.check_nothing_left()
                        words = ["resample", dataset, self.place / "set", "--to", "npy", *draw, *limits]
                        self.refused(*words, code=3, says=[shard.name])
                        self.assertFalse((self.place / "set/dataset.json").exists())
                        shutil.rmtree(self.place / "set", ignore_errors=True)
            self.refused("convert", dataset, self.place / "set", "--to", "npy", "--shuffle", code=3, says=[shard.name])
            shutil.rmtree(self.place / "set", ignore_errors=True)

    def test_an_output_inside_of_the_input_is_refused(self):
        self.ok("convert", f"x={self.x}", self.out, "--to", "npy")
        shard = next(path for path in self.out.iterdir() if path.suffix == ".npy")
        with self.untouched(self.out):
            self.refused("resample", self.out, shard, "--overwrite", code=2, says=[shard.name])


@unittest.skipIf(IS_SANITIZED, "a sanitizer's memory is not the tool's")
class DrawLimits(FaultCase):
    def sparse(self, name, descr, shape):
        """An array of zeros that takes no disk."""
        path = self.folder / name
        header = npy(descr, shape, b"")
        write(path, header)
        items = int(descr[2:])
        for side in shape:
            items *= side
        os.truncate(path, len(header) + items)
        return path

    def test_peak_memory_with_sources_of_300_mb(self):
        for name, descr, shape, draws in (
            ("small.npy", "<f4", (1_500_000, 50), (["--permute"], ["--replace"], ["--rows", "300"])),
            ("large.npy", "<f4", (750, 100_000), (["--permute"], ["--replace"])),
            ("huge.npy", ">f4", (3, 25_000_000), (["--permute"],)),
        ):
            source, out = self.sparse(name, descr, shape), self.folder / "out.npy"
            for draw in draws:
                for budget, jobs in ((16, 7), (64, 2)):
                    with self.subTest(name, draw=draw, budget=budget, jobs=jobs):
                        self.within(budget, "resample", source, out, *draw, "--jobs", jobs, "--overwrite")
            source.unlink()
            out.unlink()

    def test_peak_memory_with_many_fields_side_by_side(self):
        columns = [self.sparse(f"{i}.npy", "<f8", (500_000,)) for i in range(40)]
        fields = [f"f{i}={path}" for i, path in enumerate(columns)]
        self.within(16, "resample", *fields, self.out, "--to", "npy")
