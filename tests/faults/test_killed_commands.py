"""Commands other than a plain convert, killed at any step: the same command finishes them, to the same bytes.

RESUME_KILLS kills per command, spread evenly over all steps.
"""

import array
import os
import pathlib
import random
import shutil
import tarfile

from fault_case import IN_MEMORY
from shale_tool import Folder, make_frames, make_photos, npy, run, snapshot, write
from steps_case import StepsCase
from tar_archives import add_bytes

ROWS, ROW_BYTES = 30_000, 200  # 6 MB: with 16 MiB of memory a draw goes through buckets


class KilledCommands(StepsCase):
    base = IN_MEMORY

    @classmethod
    def setUpClass(cls):
        cls.inputs = Folder(cls.base)
        cls.addClassCleanup(cls.inputs.remove)
        i = cls.inputs
        write(i / "x.npy", npy("|u1", (ROWS, ROW_BYTES), random.Random(7).randbytes(ROWS * ROW_BYTES)))
        write(i / "y.npy", npy("<i8", (ROWS,), array.array("q", range(ROWS)).tobytes()))
        photos = make_photos(i / "photos", 40, sides=(10, 50))
        write(photos / "class-1/bad.png", b"")
        write(photos / "class-2/notes.txt", b"x")
        make_frames(i / "frames", 12)
        for name in ("record", "lmdb", "hdf5", "webdataset", "parquet"):
            run("convert", photos, i / name, "--to", name, "--shard-samples", 9)
        for suffix in ("tfrecord", "lmdb", "h5"):
            run("convert", photos, i / f"one.{suffix}")
        run("convert", i / "x.npy", i / "rows", "--to", "npy", "--shard-samples", 9000)
        (i / "list").write_text("".join(f"{number}\n" for number in range(39, 0, -3)))
        for part in range(3):
            run("convert", photos, i / "parts", "--to", "record", "--shard-samples", 4, "--part", f"{part}/3")

    def limits(self, words, jobs, memory):
        return [*words, "--jobs", jobs, "--memory", memory]

    def killed(self, *words, **options):
        with self.subTest(words=[str(word) for word in words]):
            self.kill_at_steps(lambda jobs, memory: self.limits(words, jobs, memory), **options)

    def test_a_resample_into_arrays(self):
        i, p = self.inputs, self.place
        for draw in (["--permute"], ["--replace", "--seed", 3], ["--rows", 500]):
            also = ["--also", f"{i / 'y.npy'}={p / 'labels.npy'}", "--save-indices", p / "numbers.npy"]
            self.killed("resample", i / "x.npy", p / "out.npy", *also, *draw, may_exist=True)

    def test_a_resample_into_shards(self):
        i, o = self.inputs, self.place / "out"
        for container in ("record", "lmdb", "hdf5", "webdataset", "parquet", "npy"):
            for draw in (["--permute"], ["--replace", "--rows", 20_000]):
                self.killed("resample", i / "x.npy", o, "--to", container, "--shard-samples", 4000, *draw)
        self.killed("resample", i / "rows", o, "--to", "record", "--shard-samples", 4000)

    def test_an_index_of_files_of_other_tools(self):
        for suffix in ("tfrecord", "lmdb", "h5"):
            file = self.place / f"one.{suffix}"
            self.killed_index(lambda file=file: shutil.copy(self.inputs / file.name, file), file, "--crc")
        self.killed_index(lambda: shutil.copy(self.inputs / "one.tfrecord", self.place), self.place / "one.tfrecord", "--index-dir", self.place / "i")

    def test_an_index_of_a_set(self):
        """Also one that stands: a file has changed, another is new."""
        folder = self.place / "files"

        def files(*numbers):
            folder.mkdir(exist_ok=True)
            for number in numbers:
                shutil.copy(self.inputs / "one.tfrecord", folder / f"part-{number}.tfrecord")

        def stands():
            files(1, 2, 10)
            self.ok("index", folder, "--crc")
            with (folder / "part-2.tfrecord").open("ab") as file:
                file.write((folder / "part-1.tfrecord").read_bytes())
            files(3)

        self.killed_index(lambda: files(1, 2, 10), folder, "--crc")
        self.killed_index(stands, folder)

    def test_indexes_of_tars(self):
        """Of samples whose keys lie beside the index, too, and those that other programs read."""
        folder = self.place / "tars"

        def tars(*numbers):
            folder.mkdir(exist_ok=True)
            for number in numbers:
                prefix = "d" * 80 + "/" + "e" * 30 + "/" if number == 1 else ""
                with tarfile.open(folder / f"{number:06}.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
                    for sample in range(9):
                        for extension, content in (("jpg", b"\xff\xd8\xff" + bytes(sample)), ("cls", b"%d" % sample)):
                            add_bytes(tar, f"{prefix}{number}-{sample}.{extension}", content)

        def stands():
            tars(0, 1, 2)
            self.ok("index", folder)
            shutil.copy(folder / "000002.tar", folder / "000003.tar")
            tars(4)
            shutil.copy(folder / "000004.tar", folder / "000000.tar")

        self.killed_index(lambda: tars(0, 1, 2), folder)
        self.killed_index(lambda: tars(0, 1, 2), folder, "--crc")
        self.killed_index(stands, folder)
        self.killed_index(lambda: tars(0, 2, 3), folder, "--native", "wids,dali,energon", may_leave=r"tars/\.shale-native")  # it has times

    def test_an_index_of_a_dataset(self):
        for name in ("record", "lmdb", "hdf5", "webdataset", "parquet"):
            def damaged_copy(name=name):
                shutil.copytree(self.inputs / name, self.place / "set")
                for path in (self.place / "set").glob("*.idx*"):
                    path.unlink()
                next((self.place / "set").glob("*.blocks*")).unlink()

            self.killed_index(damaged_copy, self.place / "set", expected={b"set": None, **self.below(b"set", self.inputs / name)})

    def killed_index(self, prepare, *words, **options):
        with self.subTest(words=[str(word) for word in words]):
            self.kill_at_steps(lambda _, memory: ["index", *words, "--memory", memory], prepare=prepare, **options)

    def below(self, name, folder):
        return {name + b"/" + path: content for path, content in snapshot(folder).items()}

    def test_a_merge(self):
        parts, out = self.place / "parts", self.place / "out"
        kept = snapshot(self.inputs / "parts")

        def copied_parts():
            shutil.copytree(self.inputs / "parts", parts)

        def parts_or_result():
            """At any moment one of the two is whole."""
            if not (out / "dataset.json").exists():
                self.assertEqual(snapshot(parts), kept)
            else:
                self.ok("verify", out, "--full")

        for words in ([], ["--move"]):
            with self.subTest(words=words):
                command = lambda jobs, memory, words=words: ["merge", parts, out, *words]
                self.kill_at_steps(command, prepare=copied_parts, check=parts_or_result)
        self.ok("verify", out, "--against", self.inputs / "photos")

    def test_a_merge_by_copies(self):
        """The output on another file system than the parts."""
        parts, place = self.inputs / "parts", pathlib.Path(f"/var/tmp/shale-merge-{os.getpid()}")
        if os.stat(parts).st_dev == os.stat("/var/tmp").st_dev:
            self.skipTest("all on one file system")
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        self.place = self.steps.under = place
        self.kill_at_steps(lambda jobs, memory: ["merge", parts, place / "out"])
        self.ok("verify", place / "out", "--against", self.inputs / "photos")

    def test_a_part_a_selection_and_a_shared_listing(self):
        photos, out = self.inputs / "photos", self.place / "out"
        words = ["convert", photos, out, "--to", "record", "--shard-samples", 4]
        self.killed(*words, "--part", "1/3", "--shuffle")
        self.killed(*words, "--part", "0/3", "--listing", self.place / "listing", may_leave=r"listing\.[0-9a-f]{16}\.new")
        self.killed(*words[:-2], "--shard-samples", 2, "--select", self.inputs / "list")
        self.killed(*words[:-2], "--shard-samples", 7, "--exclude", self.inputs / "list", "--shuffle")
        self.killed("convert", self.inputs / "rows", out, "--to", "lmdb", "--shard-samples", 2000, "--part", "2/4", "--shuffle")

    def test_one_file(self):
        """Not continued, but written again."""
        photos, p = self.inputs / "photos", self.place
        for suffix in ("tfrecord", "lmdb", "h5"):
            self.killed("convert", photos, p / f"one.{suffix}", "--with-index", may_exist=True)
        for suffix in ("npy", "npz", "pt", "safetensors"):
            self.killed("convert", self.inputs / "x.npy", p / f"one.{suffix}", may_exist=True)
        for suffix, layout in (("lmdb", "xunge"), ("lmdb", "caffe"), ("h5", "vlen")):
            self.killed("convert", photos, p / f"one.{suffix}", "--layout", layout, may_exist=True)
        self.killed("convert", self.inputs / "frames", p / "one.lmdb", "--group", "frames", "--layout", "coclr", may_exist=True)

    def test_a_repair(self):
        for name in ("record", "lmdb"):
            def damaged_copy(name=name):
                shutil.copytree(self.inputs / name, self.place / "set")
                files = sorted(path for path in (self.place / "set").iterdir() if path.name != "dataset.json")
                for number, path in enumerate(files[::3]):
                    path.unlink() if number % 2 else path.write_bytes(bytes(7))

            command = ["repair", self.place / "set", "--from", self.inputs / name]
            whole = {b"set": None, **self.below(b"set", self.inputs / name)}
            self.killed(*command, prepare=damaged_copy, expected=whole)

    def test_a_repair_from_the_source(self):
        """Shards and lists are made again."""
        def damaged_copy():
            shutil.copytree(self.inputs / "record", self.place / "set")
            for name in ("skipped.csv", "ignored.csv", "shard-000001.tfrecord", "shard-000003.tfrecord"):
                (self.place / "set" / name).write_bytes(bytes(7))

        whole = {b"set": None, **self.below(b"set", self.inputs / "record")}
        self.killed("repair", self.place / "set", "--from", self.inputs / "photos", prepare=damaged_copy, expected=whole)
