"""The report of images: duplicates are found in whole datasets, whoever wrote which part of them, and listed with their labels; sizes are counted as they were read."""

import collections
import csv
import errno
import os
import pathlib
import shutil
import signal
import unittest

from fault_case import IN_MEMORY, MIB, FaultCase
from manifests import sealed
from shale_tool import IS_SANITIZED, RGB_JPEG, make_photos, manifest_of, png, read_index, run, samples_of, start, write
from steps import Steps
from storage_faults import FaultyStorage, struck

HEADER = ["key", "label", "first", "first_label"]


def rows_of(dataset, name="duplicates.csv"):
    path = dataset / name
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == HEADER, rows[0]
    return rows[1:]


def images_of(dataset):
    return manifest_of(dataset)["images"]


class Duplicates(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.photos = make_photos(self.folder / "photos", 20, sides=(8, 60))
        some = sorted(self.photos.glob("class-0/*"))
        write(self.photos / "class-0/zz-again.jpg", some[0].read_bytes())
        write(self.photos / "class-2/moved.jpg", some[0].read_bytes())
        write(self.photos / "class-2/other.jpg", some[1].read_bytes())
        self.expected = self.by_content(self.photos)

    def by_content(self, folder, order=None):
        """What a reader of the files finds, in the order of the keys."""
        first, rows = {}, []
        for key in order or sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*")):
            content, label = (folder / key).read_bytes(), key.split("/")[0]
            if content in first:
                rows.append([key, label, *first[content]])
            else:
                first[content] = (key, label)
        return rows

    def check_list(self, dataset, rows, name="duplicates.csv"):
        self.assertEqual(rows_of(dataset, name), rows)
        self.assertEqual(images_of(dataset)["duplicates"], {"samples": len(rows), "relabelled": sum(row[1] != row[3] for row in rows)})
        self.ok("verify", dataset)

    def convert(self, name, *words, source=None):
        out = self.folder / name
        self.ok("convert", source or self.photos, out, "--to", "record", *words)
        return out

    def test_every_container_with_an_index_lists_them(self):
        self.assertEqual(len(self.expected), 3)
        for container in ("record", "lmdb", "hdf5", "webdataset", "parquet"):
            for words in ((), ("--shard-samples", 3), ("--jobs", 1, "--memory", "16M")):
                with self.subTest(container=container, words=words):
                    out = self.folder / "-".join(["out", container, *map(str, words)])
                    self.ok("convert", self.photos, out, "--to", container, *words)
                    self.check_list(out, self.expected)
                    self.assertIn("3 images that earlier samples have, 2 with another label", run("info", out).out)

    def test_the_order_of_a_shuffled_set_decides_which_is_first(self):
        out = self.convert("shuffled", "--shuffle", "--seed", 5, "--shard-samples", 4)
        keys = [key.decode() for key, _, _ in samples_of(out)]
        self.check_list(out, self.by_content(self.photos, keys))

    def test_equal_lengths_and_checksums_are_not_enough(self):
        folder = self.folder / "twins"
        image = bytearray(png(40, 30))
        image += b"\0" * 16
        other = bytearray(image)
        for at, bits in enumerate(self.invisible_change()):
            other[-16 + at] ^= bits
        write(folder / "a/one.png", bytes(image))
        write(folder / "a/two.png", bytes(other))
        write(folder / "a/two-again.png", bytes(other))
        out = self.convert("twin", source=folder)
        index = read_index(out / "shard-000000.index.npy")
        self.assertEqual(len({row["image.crc32c"] for row in index}), 1, "the test's own arithmetic")
        again = [["a/two.png", "a", "a/two-again.png", "a"]]
        self.check_list(out, again)
        self.check_list(self.convert("other-order", "--fields", "label,image", source=out), again)
        for number in range(2):
            self.ok("convert", folder, self.folder / "parts", "--to", "record", "--part", f"{number}/2")
        self.ok("merge", self.folder / "parts", self.folder / "merged")
        self.check_list(self.folder / "merged", again)
        for name, last in (("one", image), ("two", other), ("two-again", other)):
            write(self.folder / "videos/a" / name / "0.png", png(9, 9))
            write(self.folder / "videos/a" / name / "1.png", bytes(last))
        videos = self.convert("videos-set", "--group", "frames", source=self.folder / "videos")
        index = read_index(videos / "shard-000000.index.npy")
        self.assertEqual(len({row["frames.crc32c"] for row in index}), 1, "the test's own arithmetic")
        self.check_list(videos, [["a/two-again", "a", "a/two", "a"]])

    @staticmethod
    def invisible_change():
        """The polynomial of crc32c as bytes: added to a message, it leaves the checksum as it was."""
        # Bits in the order of the checksum: the lowest of a byte first.
        polynomial = 0x1_1EDC6F41
        bits = [polynomial >> (32 - i) & 1 for i in range(33)] + [0] * 7
        return [sum(bits[8 * byte + i] << i for i in range(8)) for byte in range(5)]

    def test_parts_and_their_merge(self):
        parts = []
        for number in range(3):
            parts.append(self.folder / "parts" / f"part-{number}")
            self.ok("convert", self.photos, self.folder / "parts", "--to", "record", "--part", f"{number}/3")
        merged = self.folder / "merged"
        self.ok("merge", self.folder / "parts", merged)
        self.check_list(merged, self.expected)
        self.assertEqual(images_of(merged), images_of(self.convert("whole")))

    def test_images_in_two_splits_are_listed(self):
        """Whoever divides them: shares, files, or folders."""
        keys = sorted(str(path.relative_to(self.photos)) for path in self.photos.rglob("*.*"))
        repeated = {row[0] for row in self.expected}
        write(self.folder / "train.txt", "".join(f"{key}\n" for key in keys if key not in repeated).encode())
        write(self.folder / "val.txt", "".join(f"{key}\n" for key in repeated).encode())
        for key in keys:
            write(self.folder / ("root/val" if key in repeated else "root/train") / key, (self.photos / key).read_bytes())
        for name, source, split in (
            ("files", self.photos, ("--split", f"train={self.folder}/train.txt,val={self.folder}/val.txt")),
            ("folders", self.folder / "root", ()),
        ):
            with self.subTest(name):
                out = self.folder / name
                done = self.ok("convert", source, out, "--to", "record", *split)
                self.assertIn("3 images are in two splits, byte for byte: ", done.err)
                with (out / "duplicates.csv").open(newline="") as file:
                    rows = list(csv.reader(file))
                self.assertEqual(rows[0], ["key", "split", "label", "first", "first_split", "first_label"])
                self.assertEqual({(row[0], row[3]) for row in rows[1:]}, {(row[0], row[2]) for row in self.expected})
                self.assertEqual({(row[1], row[4]) for row in rows[1:]}, {("val", "train")})
                self.ok("verify", out)
                again = self.ok("convert", source, out, "--to", "record", *split)
                self.assertIn("3 images are in two splits", again.err)
        out = self.folder / "shares"
        self.ok("convert", self.photos, out, "--to", "lmdb", "--split", "train=0.5,val=0.5", "--exclude", self.folder / "val.txt")
        self.assertFalse((out / "duplicates.csv").exists())
        mine = self.folder / "mine/duplicates.csv"
        write(mine, b"key,split\nmine\n")
        done = self.ok("convert", self.folder / "root", mine.parent, "--to", "record")
        self.assertIn("3 images are in two splits", done.err)
        self.assertEqual(mine.read_bytes(), b"key,split\nmine\n")

    def test_appended_samples_repeat_older_ones(self):
        out = self.convert("grown")
        more = self.folder / "more"
        old = self.photos / self.expected[0][2]
        write(more / "class-1/new-name.jpg", old.read_bytes())
        write(more / "class-1/new.png", png(31, 17))
        self.ok("convert", more, out, "--append")
        self.assertEqual(rows_of(out), self.expected)
        self.assertEqual(rows_of(out, "duplicates-000001.csv"), [["class-1/new-name.jpg", "class-1", *self.expected[0][2:]]])
        self.assertEqual(images_of(out)["duplicates"], {"samples": 4, "relabelled": 3})
        self.ok("verify", out)
        for name in ("duplicates.csv", "duplicates-000001.csv"):
            with self.subTest(repaired=name):
                whole = (out / name).read_bytes()
                (out / name).write_bytes(b"key\n")
                self.assertEqual(run("verify", out).code, 3)
                self.ok("repair", out, "--from", more)
                self.assertEqual((out / name).read_bytes(), whole)

    def test_a_list_is_repaired_after_its_shards(self):
        out = self.convert("damaged", "--shard-samples", 6)
        whole = {path.name: path.read_bytes() for path in out.iterdir()}
        (out / "duplicates.csv").unlink()
        (out / "shard-000001.tfrecord").write_bytes(b"?" * 100)
        self.ok("repair", out, "--from", self.photos)
        self.assertEqual({path.name: path.read_bytes() for path in out.iterdir()}, whole)

    def test_a_wrong_count_is_found(self):
        out = self.convert("wrong")
        text = (out / "dataset.json").read_bytes()
        self.assertIn(b'"duplicates":{"samples":3,', text)
        (out / "dataset.json").write_bytes(sealed(text.replace(b'"duplicates":{"samples":3,', b'"duplicates":{"samples":2,')))
        found = run("verify", out)
        self.assertEqual(found.code, 3)
        self.assertIn("its count of duplicates is not that of duplicates.csv", found.out + found.err)

    def test_a_clean_set_has_no_list(self):
        photos = make_photos(self.folder / "clean", 9, sides=(8, 60))
        if self.by_content(photos):
            self.skipTest("the photos of the tests repeat")
        out = self.convert("clean-set", source=photos)
        self.assertFalse((out / "duplicates.csv").exists())
        self.assertEqual(images_of(out)["duplicates"], {"samples": 0, "relabelled": 0})

    def test_sizes_are_those_of_the_files(self):
        folder = self.folder / "sized"
        sizes = [(64, 48), (48, 64), (64, 64), (95, 96), (96, 96), (1, 1), (300, 100)]
        for number, (width, height) in enumerate(sizes):
            write(folder / f"a/{number}.png", png(width, height))
        for words in ((), ("--resize", "shorter=8")):
            sizes_found = images_of(self.convert("sizes" + "-".join(words), *words, source=folder))["sizes"]
            self.assertEqual(sizes_found["shorter"], [[1, 1], [48, 2], [64, 2], [96, 2]])
            self.assertEqual(sizes_found["longer"], [[1, 1], [64, 3], [96, 2], [256, 1]])
            self.assertEqual(sizes_found["aspects"], [[1, 1, 4], [3, 1, 1], [3, 4, 1], [4, 3, 1]])

    def test_the_longest_list(self):
        folder = self.folder / "same"
        image = png(24, 24)
        for number in range(500):
            write(folder / f"class-{number % 7}/{number:04}.png", image)
        out = self.convert("same-set", "--shard-samples", 100, source=folder)
        rows = rows_of(out)
        self.assertEqual(len(rows), 499)
        self.assertEqual(collections.Counter(row[2] for row in rows), {"class-0/0000.png": 499})


def reads_of(*words):
    """(bytes, calls) of all that a run reads without a ring, from the disk or from the page cache."""
    process = start(*words)
    process.stdout.read(), process.stderr.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    facts = dict(line.split(": ") for line in pathlib.Path(f"/proc/{process.pid}/io").read_text().splitlines())
    process.wait()
    process.stdout.close()
    process.stderr.close()
    return int(facts["rchar"]), int(facts["syscr"])


class DuplicatesWithoutReading(FaultCase):
    """What a run has written it does not read again to list duplicates; what it cannot remember it reads."""

    base = IN_MEMORY
    FILES, CONTENTS, SIDE = 240, 8, 80
    BYTES = 6_000  # of a file, at least

    def make_folder(self, name, contents, frames=False):
        """As many files with so many contents, about as large in all such folders."""
        noise = [png(self.SIDE, self.SIDE, seed=number) for number in range(contents)]
        for number in range(self.FILES):
            path = f"class-{number % 7 % 3}/{number:04}"
            write(self.folder / name / (f"{path}/0.png" if frames else f"{path}.png"), noise[number % contents])
        return self.folder / name

    def commands(self):
        """Pairs of commands, without their output: one has nothing but duplicates, the other none."""
        several, each = self.make_folder("several", self.CONTENTS), self.make_folder("each", self.FILES)
        for container in ("record", "lmdb", "hdf5", "webdataset", "parquet"):
            yield [["convert", folder, "--to", container] for folder in (several, each)]
        yield [["convert", folder, "--to", "record", "--shard-samples", 20, "--shuffle"] for folder in (several, each)]
        for work in (["--resize", "shorter=70"], ["--resize", "longer=900", "--only-larger"]):
            yield [["convert", folder, "--to", "record", *work] for folder in (several, each)]
        for folder in (several, each):
            self.convert(folder, self.folder / f"{folder.name}-set")
        yield [["convert", f"{folder}-set", "--to", "hdf5", "--fields", "label,image"] for folder in (several, each)]
        yield [
            ["convert", self.make_folder(f"{name}-frames", contents, frames=True), "--to", "record", "--group", "frames"]
            for name, contents in (("several", self.CONTENTS), ("each", self.FILES))
        ]

    def more_reads(self, several, each):
        """By how many bytes and calls the first command reads more; each gets an output of its own."""
        found = []
        for number, words in enumerate((several, each)):
            out = self.folder / f"out-{number}"
            shutil.rmtree(out, ignore_errors=True)
            found.append(reads_of(*words[:2], out, *words[2:]))
            rows = rows_of(out) if out.exists() else []
            self.assertEqual(len(rows), (self.FILES - self.CONTENTS, 0)[number], words)
        return found[0][0] - found[1][0], found[0][1] - found[1][1]

    @unittest.skipIf(IS_SANITIZED, "what is read then is not what the tool reads")
    def test_neither_values_nor_keys_are_read_again(self):
        for several, each in self.commands():
            with self.subTest([str(word) for word in several]):
                more_bytes, more_calls = self.more_reads(several, each)
                self.assertLess(more_bytes, self.FILES * self.BYTES / 20)
                self.assertLess(more_calls, 20)

    @unittest.skipIf(IS_SANITIZED, "what is read then is not what the tool reads")
    def test_the_measure_sees_what_a_merge_reads(self):
        """Its parts were written by others."""
        for name, contents in (("several", self.CONTENTS), ("each", self.FILES)):
            folder = self.make_folder(name, contents)
            for number in range(2):
                self.ok("convert", folder, self.folder / f"{name}-parts", "--to", "record", "--part", f"{number}/2")
        more_bytes, more_calls = self.more_reads(["merge", self.folder / "several-parts"], ["merge", self.folder / "each-parts"])
        self.assertGreater(more_bytes, self.FILES * self.BYTES)
        self.assertGreater(more_calls, 2 * self.FILES - 20)

    def test_a_continued_run_lists_what_one_without_a_stop_lists(self):
        """Rows of the run before, of which nothing is remembered, beside those that are."""
        steps = Steps(self, self.folder, self.out)
        for words in [several for several, _ in self.commands() if "record" in several]:
            words = [*words[:2], self.out, *words[2:]]
            if "--shard-samples" not in words:
                words += ["--shard-samples", 20]
            reference = self.folder / "reference"
            self.ok(*words[:2], reference, *words[3:])
            keys = {row[0]: number for number, row in enumerate(rows_of(reference))}
            self.assertEqual(len(keys), self.FILES - self.CONTENTS)
            calls = steps.recorded(words)[1]
            for shard in (1, 5, 11):
                with self.subTest(words=[str(word) for word in words], shard=shard):
                    shutil.rmtree(self.out)
                    kill = next(step.number for step in calls if step.name == "create" and step.path.endswith(f"shard-{shard:06}.tfrecord"))
                    self.assertEqual(steps.killed(words, kill), -signal.SIGKILL)
                    self.assertIn(f"continuing: {shard} shard", self.ok(*words).err)
                    self.check_same(self.out, reference)
            shutil.rmtree(self.out, ignore_errors=True)
            shutil.rmtree(reference)

    def test_a_continued_append_lists_what_one_without_a_stop_lists(self):
        several, again = self.make_folder("several", self.CONTENTS), self.folder / "again/new"
        shutil.copytree(several, again)
        write(again / "class-0/z0.png", RGB_JPEG + b"new")
        write(again / "class-1/z1.png", RGB_JPEG + b"new")
        reference, steps = self.folder / "reference", Steps(self, self.folder, self.out)
        for out in (reference, self.out):
            self.convert(several, out, "--shard-samples", 20)
        for path in sorted(again.rglob("*.png")):
            path.rename(path.with_name("z" + path.name))
        self.ok("convert", again, reference, "--append")
        self.assertEqual(len(rows_of(reference, "duplicates-000001.csv")), self.FILES + 1)
        shutil.copytree(self.out, self.folder / "before")
        words = ["convert", again, self.out, "--append"]
        calls = steps.recorded(words)[1]
        for shard in (13, 20):
            shutil.rmtree(self.out)
            shutil.copytree(self.folder / "before", self.out)
            kill = next(step.number for step in calls if step.name == "create" and step.path.endswith(f"shard-{shard:06}.tfrecord"))
            self.assertEqual(steps.killed(words, kill), -signal.SIGKILL)
            self.assertIn("continuing: ", self.ok(*words).err)
            self.check_same(self.out, reference)

    def make_many(self, count=1500):
        """More than the notes keep in memory, by their names."""
        contents = [RGB_JPEG + bytes([number]) for number in range(9)]
        for number in range(count):
            write(self.folder / f"many/class-{number % 4}/{'long' * 55}-{number:05}.jpg", contents[number % 9])
        return self.folder / "many"

    def test_storage_that_keeps_no_notes_costs_the_notes_alone(self):
        many = self.make_many()
        storage = FaultyStorage(self.folder.path)
        reference = self.folder / "reference"
        self.convert(many, reference)
        self.assertEqual(len(rows_of(reference)), 1491)
        for calls, error in (("write", errno.ENOSPC), ("write", errno.EIO), ("read", errno.EIO)):
            with self.subTest(calls=calls, error=errno.errorcode[error]):
                faults = storage.environment(calls, error, "/.shale/new/#", times=0)  # nameless files have such names
                self.convert(many, self.out, environment=faults)
                self.assertTrue(struck(storage.log), "no call was struck")
                self.check_same(self.out, reference)
                shutil.rmtree(self.out)

    def test_notes_leave_the_disk_to_the_shards(self):
        many = self.make_many(6000)
        reference = self.folder / "reference"
        self.convert(many, reference)
        size = sum(path.stat().st_blocks * 512 for path in reference.iterdir())
        with self.small_disk(size + 2 * MIB) as disk:  # the notes would take 1.6 MiB
            self.convert(many, disk / "out")
            self.check_same(disk / "out", reference)

    def test_memory_does_not_grow_with_them(self):
        many = self.make_many(6000)
        self.within(16, "convert", many, self.out, "--to", "record")
        self.assertEqual(len(rows_of(self.out)), 5991)


if __name__ == "__main__":
    unittest.main()
