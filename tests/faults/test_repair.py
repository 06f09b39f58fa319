#!/usr/bin/env python3
"""Damaged datasets are put right: from a copy, from their shards, or made again from what they were made from.

    SHALE=build/release/shale python3 tests/faults/test_repair.py
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import shale_tool
from fault_case import IN_MEMORY
from shale_tool import run

FORMATS = ("lmdb", "hdf5", "record")


def contents(folder):
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir() if path.is_file()}


def flip(path, at=0.5):
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 1
    path.write_bytes(data)


class Repair(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = shale_tool.Folder(IN_MEMORY)
        cls.addClassCleanup(cls.folder.remove)
        cls.photos = shale_tool.make_photos(cls.folder / "photos", 40)
        for name in ("class-0/aaa.jpg", "class-1/mmm.jpg", "class-2/zzz.jpg"):
            path = cls.photos / name
            path.parent.mkdir(exist_ok=True)
            shale_tool.write(path, b"")  # left out by the run: positions and rows differ
        rows = b"".join(number.to_bytes(8, "little") for number in range(1000))
        head = b"{'descr': '<i8', 'fortran_order': False, 'shape': (1000,), }"
        head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
        cls.array = cls.folder / "x.npy"
        cls.array.write_bytes(b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head + rows)
        cls.base = cls.folder / "base"
        run("convert", cls.photos, cls.base, "--to", "lmdb", "--shard-samples", 9)

    def made(self, name, source, *words, codes=(0, 4)):
        whole = self.folder / f"{self._testMethodName}-{name}"
        done = run("convert", source, whole, *words)
        self.assertIn(done.code, codes, done.err)
        hurt = self.folder / f"{whole.name}-hurt"
        shutil.copytree(whole, hurt)
        return whole, hurt

    def repaired(self, hurt, source, *words, code=0):
        done = run("repair", hurt, "--from", source, "--json", *words)
        self.assertEqual(done.code, code, done.err + done.out)
        return {each["name"]: each["remedy"] for each in json.loads(done.out)["files"]}

    def same(self, hurt, whole):
        self.assertEqual(contents(hurt), contents(whole))
        self.assertFalse((hurt / ".shale").exists())

    def test_files_come_from_a_copy_whatever_is_damaged(self):
        for name in (*FORMATS, "npy"):
            with self.subTest(name):
                source = self.array if name == "npy" else self.photos
                whole, hurt = self.made(name, source, "--to", name, "--shard-samples", 9 if name != "npy" else 300)
                kept = {path.name: path.stat().st_ino for path in hurt.iterdir()}
                hurt_files = sorted(path.name for path in hurt.iterdir())[::2]
                for number, file in enumerate(hurt_files):
                    os.remove(hurt / file) if number % 2 else flip(hurt / file)
                remedies = self.repaired(hurt, whole)
                self.assertEqual(sorted(remedies), hurt_files)
                self.assertEqual(set(remedies.values()), {"copied"})
                self.same(hurt, whole)
                for path in hurt.iterdir():
                    if path.name not in hurt_files:
                        self.assertEqual(path.stat().st_ino, kept[path.name], f"{path.name} was touched")

    def test_shards_are_made_again_from_the_source(self):
        cases = [(f"{name}{'-shuffled' * shuffled}", self.photos, name, 9, shuffled) for name in FORMATS for shuffled in (0, 1)]
        cases += [(f"array-{name}{'-shuffled' * shuffled}", self.array, name, 300, shuffled) for name in ("npy", "hdf5") for shuffled in (0, 1)]
        cases += [(f"set{'-shuffled' * shuffled}", self.base, "record", 7, shuffled) for shuffled in (0, 1)]
        for title, source, name, rows, shuffled in cases:
            with self.subTest(title):
                words = ["--to", name, "--shard-samples", rows] + ["--shuffle", "--seed", 3] * shuffled
                whole, hurt = self.made(title, source, *words)
                shards = sorted(path for path in hurt.iterdir() if path.suffix in (".lmdb", ".h5", ".tfrecord") or path.name.endswith(".x.npy"))
                self.assertGreater(len(shards), 3)
                flip(shards[1])
                os.remove(shards[-1])
                for path in hurt.glob("shard-000001.*npy"):
                    if path != shards[1]:
                        flip(path, 0.99)
                remedies = self.repaired(hurt, source, "--jobs", 2, "--memory", "16MiB")
                self.assertEqual(remedies.pop(shards[1].name), "made_again")
                self.assertEqual(remedies.pop(shards[-1].name), "made_again")
                self.assertEqual(set(remedies.values()) - {"made_again"}, set())
                self.same(hurt, whole)

    def with_lists(self, name):
        """Photos of which some are left out, some are odd, and beside which something else lies."""
        photos = self.folder / f"{self._testMethodName}-{name}"
        shutil.copytree(self.photos, photos)
        shale_tool.write(photos / "class-1/cmyk.jpg", shale_tool.CMYK_JPEG)
        shale_tool.write(photos / "class-2/notes.txt", b"none")
        return photos

    def test_lists_are_made_again_from_the_source(self):
        photos = self.with_lists("photos")
        copied, _ = self.made("copied", photos, "--to", "record")
        frames = shale_tool.make_frames(self.folder / "frames", 9)
        shale_tool.write(frames / "class-1/video-4/3.png", b"nothing")
        shale_tool.write(frames / "class-1/video-4/notes.txt", b"none")
        cases = [(container, photos, ["--to", container, *order]) for container in FORMATS for order in ([], ["--shuffle", "--seed", 3])]
        cases += [("kept", photos, ["--to", "record", "--on-error", "keep"]), ("copy", copied, ["--to", "lmdb", "--shuffle"])]
        cases += [("frames", frames, ["--to", "lmdb", "--group", "frames", "--max-errors", "50%"])]
        for title, source, words in cases:
            whole, hurt = self.made(f"{title}{len(words)}", source, *words, "--shard-samples", 4)
            lists = sorted(path.name for path in whole.glob("*.csv"))
            self.assertGreaterEqual(len(lists), 2)
            shard = sorted(path.name for path in whole.glob("shard-000001.[tlh]*"))[0]
            for lost in ([name] for name in lists):
                with self.subTest(title=title, lost=lost):
                    os.remove(hurt / lost[0])
                    self.assertEqual(self.repaired(hurt, source, "--memory", "16MiB"), dict.fromkeys(lost, "made_again"))
                    self.same(hurt, whole)
            with self.subTest(title=title, lost="all and a shard"):
                for name in lists:
                    flip(hurt / name)
                os.remove(hurt / shard)
                self.assertEqual(self.repaired(hurt, source), dict.fromkeys([*lists, shard], "made_again"))
                self.same(hurt, whole)

    def test_lists_of_a_part_and_of_chosen_samples_are_made_again(self):
        photos = self.with_lists("photos")
        rows = self.folder / "chosen.txt"
        rows.write_text("".join(f"{row}\n" for row in range(0, 44, 2)))
        parts = self.folder / "list-parts"
        self.assertEqual(run("convert", photos, parts, "--to", "record", "--shard-samples", 4, "--part", "0/2").code, 4)
        _, some = self.made("some", photos, "--to", "record", "--shard-samples", 4, "--select", rows, "--shuffle")
        for folder, words in ((parts / "part-00000-of-00002", ()), (some, ("--select", rows))):
            before = contents(folder)
            damaged = [path for path in folder.iterdir() if path.suffix in (".csv", ".tfrecord")]
            self.assertGreater(len(damaged), 4)
            for path in damaged:
                flip(path)
            self.assertEqual(set(self.repaired(folder, photos, *words).values()), {"made_again"})
            self.assertEqual(contents(folder), before)

    def test_each_run_of_an_appended_dataset_is_made_again_from_its_source(self):
        more = self.folder / "more"
        shutil.copytree(self.with_lists("photos"), more)
        (more / "class-1").rename(more / "class-9")
        for path in list(more.rglob("*.png")):
            path.rename(path.with_name("more-" + path.name))
        whole, _ = self.made("first", self.photos, "--to", "record", "--shard-samples", 9)
        done = run("convert", more, whole, "--append", "--new-classes", "append", "--shuffle", "--shard-samples", 7)
        self.assertEqual(done.code, 4, done.err)
        hurt = self.folder / "appended-hurt"
        shutil.copytree(whole, hurt)
        lost = {"first": ["shard-000001.tfrecord", "shard-000004.tfrecord", "skipped.csv"]}
        lost["more"] = ["shard-000005.tfrecord", "shard-000007.tfrecord", "images-000001.csv", "ignored-000001.csv"]
        for name in sum(lost.values(), []):
            flip(hurt / name)
        other = self.folder / "other"
        shutil.copytree(self.photos / "class-0", other / "class-0")
        done = run("repair", hurt, "--from", other)
        self.assertEqual((done.code, "is not what the dataset was made from" in done.err), (1, True), done.err)
        wanted = {name: "made_again" if name in lost["more"] else "none" for name in sum(lost.values(), [])}
        self.assertEqual(self.repaired(hurt, more, code=3), wanted)
        done = run("repair", hurt, "--from", more)
        self.assertEqual(done.code, 1)
        self.assertIn("2 inputs; what is damaged was made from one of kind image folder with 43 samples", done.err)
        self.assertEqual(self.repaired(hurt, self.photos), dict.fromkeys(lost["first"], "made_again"))
        self.same(hurt, whole)

    def test_a_shard_is_made_again_with_the_class_names_that_it_had(self):
        """The table of the set has grown since."""
        more = self.folder / "other-class"
        shutil.copytree(self.photos / "class-0", more / "class-9")
        whole, _ = self.made("grown", self.photos, "--to", "hdf5", "--shard-samples", 9)
        self.assertIn(run("convert", more, whole, "--append", "--new-classes", "append").code, (0, 4))
        hurt = self.folder / "grown-hurt"
        shutil.copytree(whole, hurt)
        flip(hurt / "shard-000001.h5", 0.9)
        self.assertEqual(self.repaired(hurt, self.photos), {"shard-000001.h5": "made_again"})
        self.same(hurt, whole)

    def test_appended_rows_are_made_again_under_their_numbers(self):
        for container in ("npy", "record"):
            whole, hurt = self.made(container, self.array, "--to", container, "--shard-samples", 300)
            self.assertEqual(run("resample", self.array, self.folder / f"y-{container}.npy", "--rows", 500, "--seed", 5).code, 0)
            done = run("convert", f"x={self.folder / f'y-{container}.npy'}", whole, "--append")
            self.assertEqual(done.code, 0, done.err)
            shutil.rmtree(hurt)
            shutil.copytree(whole, hurt)
            for path in hurt.glob("shard-00000[15].*"):
                flip(path, 0.9)
            self.repaired(hurt, self.array, code=3)
            self.repaired(hurt, self.folder / f"y-{container}.npy")
            self.same(hurt, whole)

    def test_a_list_of_the_same_name_beside_photos_is_not_a_copy(self):
        photos = self.with_lists("photos")
        whole, hurt = self.made("set", photos, "--to", "record", "--shard-samples", 9)
        shale_tool.write(photos / "skipped.csv", b"mine")
        flip(hurt / "skipped.csv")
        self.assertEqual(self.repaired(hurt, photos), {"skipped.csv": "made_again"})
        self.same(hurt, whole)

    def test_shards_of_a_part_are_made_again(self):
        words = ["--to", "record", "--shard-samples", 4, "--shuffle", "--part", "1/3"]
        out = self.folder / "parts"
        self.assertIn(run("convert", self.photos, out, *words).code, (0, 4))
        whole = out / "part-00001-of-00003"
        hurt = self.folder / "part"
        shutil.copytree(whole, hurt)
        flip(hurt / "shard-000001.tfrecord")
        self.assertEqual(self.repaired(hurt, self.photos), {"shard-000001.tfrecord": "made_again"})
        self.same(hurt, whole)

    def test_indexes_and_block_lists_are_rebuilt_from_their_shards(self):
        whole, hurt = self.made("set", self.photos, "--to", "record", "--shard-samples", 9)
        flip(hurt / "shard-000000.index.npy")
        os.remove(hurt / "shard-000002.blocks.npy")
        self.assertEqual(set(self.repaired(hurt, self.photos).values()), {"rebuilt"})
        self.same(hurt, whole)

    def test_labels_of_a_flat_folder_are_needed_again(self):
        flat = self.folder / "flat"
        flat.mkdir()
        lines = []
        for number in range(12):
            shale_tool.write(flat / f"{number}.png", shale_tool.RGB_JPEG + bytes([number]))
            lines.append(f"{number}.png,{number % 3}")
        labels = self.folder / "labels.csv"
        labels.write_text("\n".join(lines))
        whole, hurt = self.made("set", flat, "--labels", labels, "--to", "record", "--shard-samples", 5)
        flip(hurt / "shard-000001.tfrecord")
        self.assertEqual(set(self.repaired(hurt, flat, "--labels", labels).values()), {"made_again"})
        self.same(hurt, whole)

    def test_a_source_that_changed_replaces_nothing(self):
        source = self.folder / "changed"
        shutil.copytree(self.photos, source)
        whole, hurt = self.made("set", source, "--to", "record", "--shard-samples", 9)
        flip(hurt / "shard-000001.tfrecord")
        before = contents(hurt)
        photo = sorted(source.glob("class-*/*"))[12]
        data = bytearray(photo.read_bytes())
        data[-3] ^= 1  # the same size: what the fingerprint does not see, the hash of the shard does
        photo.write_bytes(data)
        done = run("repair", hurt, "--from", source)
        self.assertEqual(done.code, 3, done.err)
        self.assertIn("made again it is another file", done.out)
        self.assertEqual(contents(hurt), before)
        photo.write_bytes(b"longer" + data)
        for also in ([], ["--dry-run"]):
            done = run("repair", hurt, "--from", source, *also)
            self.assertEqual(done.code, 1, done.err)
            self.assertIn("is not what the dataset was made from", done.err)
        self.assertEqual(contents(hurt), before)

    def test_damage_that_the_copy_has_too_stays_and_is_said(self):
        whole, hurt = self.made("set", self.photos, "--to", "record", "--shard-samples", 9)
        copy = self.folder / "damaged-copy"
        shutil.copytree(whole, copy)
        for folder in (hurt, copy):
            flip(folder / "shard-000001.tfrecord")
        flip(hurt / "shard-000002.tfrecord")
        flip(copy / "shard-000003.tfrecord")
        os.remove(hurt / "shard-000000.tfrecord")
        os.remove(copy / "shard-000000.tfrecord")
        os.mkfifo(copy / "shard-000000.tfrecord")
        remedies = self.repaired(hurt, copy, code=3)
        self.assertEqual(remedies, {"shard-000000.tfrecord": "none", "shard-000001.tfrecord": "none", "shard-000002.tfrecord": "copied"})
        self.assertEqual(set(self.repaired(hurt, whole).values()), {"copied"})
        self.same(hurt, whole)

    def test_a_copy_of_another_size_is_not_read(self):
        whole, hurt = self.made("set", self.photos, "--to", "record", "--shard-samples", 9)
        copy = self.folder / "odd-sizes"
        shutil.copytree(whole, copy)
        for number in range(3):
            flip(hurt / f"shard-00000{number}.tfrecord")
        sizes = [(copy / f"shard-00000{number}.tfrecord").stat().st_size for number in range(3)]
        sizes[0], sizes[1] = sizes[0] - 1, 1 << 42  # larger than any disk here
        for number, size in enumerate(sizes):
            os.truncate(copy / f"shard-00000{number}.tfrecord", size)
        before = contents(hurt)
        done = run("repair", hurt, "--from", copy)
        self.assertEqual(done.code, 3, done.err)
        for size in sizes[:2]:
            self.assertIn(f"the copy has {size} bytes", done.out)
        before["shard-000002.tfrecord"] = contents(whole)["shard-000002.tfrecord"]
        self.assertEqual(contents(hurt), before)

    def test_some_files_without_a_manifest_are_a_copy_too(self):
        whole, hurt = self.made("set", self.photos, "--to", "record", "--shard-samples", 9)
        some = self.folder / "some-files"
        some.mkdir()
        shutil.copy(whole / "shard-000001.tfrecord", some)
        flip(hurt / "shard-000001.tfrecord")
        flip(hurt / "shard-000002.tfrecord")
        remedies = self.repaired(hurt, some, code=3)
        self.assertEqual(remedies, {"shard-000001.tfrecord": "copied", "shard-000002.tfrecord": "none"})

    def test_a_killed_repair_is_finished_by_the_next(self):
        for source in ("copy", "photos"):
            with self.subTest(source):
                whole, hurt = self.made(source, self.photos, "--to", "record", "--shard-samples", 1)
                for path in hurt.glob("*.tfrecord"):
                    flip(path)
                damaged, right = contents(hurt), contents(whole)
                fourth = hurt / "shard-000003.tfrecord"
                before = fourth.stat().st_ino
                words = [shale_tool.SHALE, "repair", hurt, "--from", whole if source == "copy" else self.photos]
                with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                    while process.poll() is None and fourth.stat().st_ino == before:
                        pass
                    process.kill()
                for name, data in contents(hurt).items():
                    self.assertIn(data, (damaged[name], right[name]), name)
                self.repaired(hurt, words[-1])
                self.same(hurt, whole)

    def test_nothing_else_is_touched(self):
        whole, hurt = self.made("set", self.photos, "--to", "record", "--shard-samples", 9)
        (hurt / "notes.txt").write_text("mine")
        link = hurt / "shard-000001.tfrecord"
        elsewhere = self.folder / "elsewhere.tfrecord"
        shutil.move(link, elsewhere)
        os.symlink(elsewhere, link)
        self.assertEqual(self.repaired(hurt, whole), {}, "a link to a whole shard is whole")
        flip(elsewhere)
        flip(hurt / "shard-000002.tfrecord")
        before, outside = contents(hurt), elsewhere.read_bytes()
        self.assertEqual(self.repaired(hurt, whole, "--dry-run", code=3), {"shard-000001.tfrecord": "none", "shard-000002.tfrecord": "none"})
        self.assertEqual(contents(hurt), before)
        self.assertEqual(self.repaired(hurt, whole, code=3)["shard-000001.tfrecord"], "none")
        self.assertTrue(link.is_symlink())
        self.assertEqual((elsewhere.read_bytes(), (hurt / "notes.txt").read_text()), (outside, "mine"))

    def test_a_manifest_of_another_dataset_is_not_taken(self):
        whole, hurt = self.made("set", self.photos, "--to", "record", "--shard-samples", 9)
        flip(hurt / "dataset.json")
        for source in (self.base, self.photos):
            done = run("repair", hurt, "--from", source)
            self.assertIn(done.code, (1, 3))
            self.assertNotEqual(contents(hurt)["dataset.json"], contents(whole)["dataset.json"])
        os.remove(hurt / "shard-000000.tfrecord")
        self.assertEqual(self.repaired(hurt, whole)["dataset.json"], "copied")
        self.same(hurt, whole)

    def test_several_arrays_are_named_as_they_were(self):
        other = self.folder / "y.npy"
        shutil.copy(self.array, other)
        whole, hurt = self.folder / "xy", self.folder / "xy-hurt"
        done = run("convert", f"x={self.array}", f"y={other}", whole, "--to", "record", "--shard-samples", 300)
        self.assertEqual(done.code, 0, done.err)
        for words in ((f"x={self.array}", f"y={other}"), (f"y={other}", f"x={self.array}")):
            shutil.rmtree(hurt, ignore_errors=True)
            shutil.copytree(whole, hurt)
            (hurt / "shard-000001.tfrecord").unlink()
            self.repaired(hurt, words[0], "--from", words[1])
            self.assertEqual(contents(hurt), contents(whole))
        (hurt / "shard-000001.tfrecord").unlink()
        done = run("repair", hurt, "--from", "x=none.npy")
        self.assertEqual((done.code, "none.npy: does not exist" in done.err), (1, True), done.err)

    def test_all_splits_are_repaired_at_once(self):
        splits = self.folder / "splits"
        for split in ("train", "val"):
            shutil.copytree(self.photos, splits / split)
        whole, hurt = self.made("io", splits, "--to", "record", "--shard-samples", 9)
        (hurt / "val/shard-000001.tfrecord").unlink()
        flip(hurt / "train/shard-000000.tfrecord")
        self.assertEqual(self.repaired(hurt, splits)["val/shard-000001.tfrecord"], "made_again")
        for split in ("train", "val"):
            self.assertEqual(contents(hurt / split), contents(whole / split))
        (hurt / "val/shard-000001.tfrecord").unlink()
        self.repaired(hurt, whole)
        self.assertEqual(contents(hurt / "val"), contents(whole / "val"))

    def test_a_part_of_a_split_is_made_again_from_what_was_divided(self):
        # class-0 of photos is called as a part: the input has no splits of its own for all that
        photos = self.folder / "to-divide"
        shutil.copytree(self.photos, photos)
        (photos / "class-0").rename(photos / "train")
        whole, hurt = self.folder / "divided", self.folder / "divided-hurt"
        shares = ["--split", "train=0.7,val=30%"]
        rows = self.folder / "left-out.txt"
        rows.write_text("1\n2\n3\n")
        lists = ["--split"] + [self.folder / f"{name}.txt" for name in ("train", "val")]
        lists[1].write_text("0\n1\n2\n")
        lists[2].write_text("5\n9\n")
        for split, words in (
            (shares + ["--seed", 3], ()),
            (shares, ("--shuffle", "--seed", 9)),
            (shares + ["--exclude", rows], ()),
            (["--split", f"train={lists[1]},val={lists[2]}"], ()),
        ):
            with self.subTest(split):
                shutil.rmtree(whole, ignore_errors=True)
                shutil.rmtree(hurt, ignore_errors=True)
                done = run("convert", photos, whole, "--to", "record", "--shard-samples", 2, *split, *words)
                self.assertIn(done.code, (0, 4), done.err)
                shutil.copytree(whole, hurt)
                for name in ("train", "val"):
                    (hurt / name / "shard-000000.tfrecord").unlink()
                (hurt / "train").rename(self.folder / "moved")
                self.repaired(self.folder / "moved", photos, *split)
                (self.folder / "moved").rename(hurt / "train")
                self.assertEqual(self.repaired(hurt, photos, *split), {"val/shard-000000.tfrecord": "made_again"})
                for name in ("train", "val"):
                    self.same(hurt / name, whole / name)
        (hurt / "val/shard-000000.tfrecord").unlink()
        before = contents(hurt / "val")
        for words, message in (
            ([], "pass the --split (with its --seed), --select"),
            (["--seed", 3], "--seed has no effect without --split"),
            ([*shares, "--seed", 4], "holds other samples than each part of --split has"),
            (["--split", "train=0.5,val=0.5"], "holds other samples than each part of --split has"),
        ):
            done = run("repair", hurt, "--from", photos, *words)
            self.assertIn(done.code, (1, 2), done.err)
            self.assertIn(message, done.err)
            self.assertEqual(contents(hurt / "val"), before)
        self.assertEqual(self.repaired(hurt, whole, *shares), {"val/shard-000000.tfrecord": "copied"})

    def test_arrays_that_were_divided_without_their_labels_are_divided_so_again(self):
        labels = self.folder / "label.npy"
        labels.write_bytes(shale_tool.npy("<i8", (1000,), b"".join((number % 7).to_bytes(8, "little") for number in range(1000))))
        words = [f"x={self.array}", f"label={labels}"]
        split = ["--split", "a=0.5,b=0.5"]
        for fields in ((), ("--fields", "x")):
            whole, hurt = self.folder / f"arrays{len(fields)}", self.folder / f"arrays{len(fields)}-hurt"
            self.assertEqual(run("convert", *words, whole, "--to", "npy", *split, *fields).code, 0)
            shutil.copytree(whole, hurt)
            for name in ("a", "b"):
                (hurt / name / "shard-000000.x.npy").unlink()
            self.repaired(hurt, words[0], "--from", words[1], *split)
            for name in ("a", "b"):
                self.same(hurt / name, whole / name)

    def test_a_merged_dataset_with_two_damages_is_repaired_in_one_run(self):
        for part in (0, 1, 2):
            done = run("convert", self.photos, self.folder / "odd", "--to", "record", "--part", f"{part}/3")
            self.assertIn(done.code, (0, 4), done.err)
        whole, hurt = self.folder / "merged", self.folder / "merged-hurt"
        self.assertEqual(run("merge", self.folder / "odd", whole).code, 4)
        shutil.copytree(whole, hurt)
        (hurt / "skipped.csv").unlink()
        data = hurt / "shard-000001.tfrecord"
        data.write_bytes(bytes(data.stat().st_size))
        self.repaired(hurt, self.photos)
        self.assertEqual(contents(hurt), contents(whole))

    def test_another_dataset_is_not_the_source_and_no_option_is_blamed(self):
        _, hurt = self.made("base", self.photos, "--to", "record")
        (hurt / "shard-000000.tfrecord").unlink()
        done = run("repair", hurt, "--from", self.base)
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("is not what the dataset was made from", done.err)
        self.assertNotIn("--classes-from", done.err)
        other = self.folder / "other-classes"
        shutil.copytree(self.photos, other)
        (other / "class-0").rename(other / "dogs is not cats")
        done = run("repair", hurt, "--from", other)
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("is not what the dataset was made from: the dataset lacks its class 'dogs is not cats'", done.err)

    def test_what_cannot_be_repaired_is_refused_by_name(self):
        whole, hurt = self.made("set", self.photos, "--to", "record", "--shard-samples", 9)
        rows = self.folder / "rows.txt"
        rows.write_text("0\n3\n4\n5\n")
        _, some = self.made("some", self.photos, "--to", "record", "--shard-samples", 2, "--select", rows)
        flip(some / "shard-000001.tfrecord")
        for words, code, message in (
            ((hurt, "--from", hurt), 2, "the dataset itself"),
            ((hurt,), 2, "--from is missing"),
            ((self.folder / "nowhere", "--from", whole), 1, "does not exist"),
            ((hurt, "--from", self.folder / "nowhere"), 1, "does not exist"),
            ((self.photos, "--from", whole), 1, "dataset.json"),
            ((some, "--from", self.photos), 2, "holds chosen samples"),
        ):
            with self.subTest(message):
                done = run("repair", *words)
                self.assertEqual(done.code, code, done.err)
                self.assertIn(message, done.err)
        self.assertFalse((self.photos / ".shale").exists())


if __name__ == "__main__":
    unittest.main()
