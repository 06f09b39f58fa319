"""convert of a damaged dataset: refused, unless --on-error skip is written out; then all that is whole is taken, and the rest is listed."""

import csv
import json
import os
import random
import shutil
import struct

from fault_case import IN_MEMORY, MIB, FaultCase
from shale_tool import differences, make_frames, make_photos, manifest_of, npy, read_index, run, write
from steps import Steps

SKIP = ("--on-error", "skip", "--max-errors", "90%")
ROW_BYTES = 60_000


def flip(path, *places):
    content = bytearray(path.read_bytes())
    for place in places:
        content[place] ^= 0x10
    path.write_bytes(content)


def cut(path, bytes_left):
    os.truncate(path, bytes_left)


def files_of(dataset, shard):
    """The files of a shard that hold its samples."""
    return [dataset / file["name"] for file in manifest_of(dataset)["shards"][shard]["files"]]


class DamagedSources(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.source = make_photos(self.folder / "in", 60, sides=(20, 70))
        self.bad, self.copy = self.folder / "bad", self.folder / "copy"

    def make(self, *inputs, container="record", words=("--shard-samples", 20)):
        """self.out is sound; self.bad is to be damaged."""
        for out in (self.out, self.bad, self.copy):
            shutil.rmtree(out, ignore_errors=True)
        self.ok("convert", *(inputs or [self.source]), self.out, "--to", container, *words, "--quiet")
        shutil.copytree(self.out, self.bad)

    def keys(self, dataset):
        return self.ok("ls", dataset, "--keys", "escaped").out.splitlines()

    def listed(self, dataset=None):
        path = (dataset or self.copy) / "skipped.csv"
        return list(csv.reader(path.read_text().splitlines()))[1:] if path.exists() else []

    def skips(self, lost, container="record", words=(), source=None):
        """The copy has all samples but those at these rows, in their order, and is clean; without the option it is refused."""
        for out in (self.copy, self.folder / "refused"):
            shutil.rmtree(out, ignore_errors=True)
        source = source or self.bad
        done = self.refused("convert", source, self.folder / "refused", "--to", container, *words, code=3)
        self.assertIn("pass --on-error skip to leave out what is damaged", done.err)
        done = self.ok("convert", source, self.copy, "--to", container, *SKIP, *words, code=4)
        rows = self.listed()
        self.assertEqual({reason for _, reason, _ in rows}, {"damaged-input"})
        manifest = manifest_of(self.copy)
        self.assertEqual(manifest["skipped"], len(rows))
        if lost is not None:
            self.assertEqual(len(rows), len(lost), rows)
            whole = [key for row, key in enumerate(self.keys(self.out)) if row not in lost]
            self.assertEqual(self.keys(self.copy), whole)
        self.assertEqual(manifest["samples"] + len(rows), manifest_of(self.out)["samples"])
        self.ok("verify", self.copy)
        self.compared()
        return rows

    def compared(self):
        """Against the sound set: nothing differs, and it has more. Against the damaged one: that it is damaged."""
        facts = json.loads(run("verify", self.copy, "--against", self.out, "--json").out)
        self.assertIn(facts["comparison"]["verdict"], ("same", "incomplete"), facts)  # listed by their own keys, or not
        self.assertIn("the source is damaged", self.ok("verify", self.copy, "--against", self.bad, code=3).err)

    def test_values_and_keys(self):
        for container in ("record", "lmdb", "hdf5", "webdataset", "parquet"):
            with self.subTest(container=container):
                self.make(container=container)
                index = read_index(self.bad / "shard-000001.index.npy")
                (shard,) = files_of(self.bad, 1)
                flip(shard, index[3]["image.offset"] + 9, index[8]["key.offset"])
                keys = self.keys(self.out)
                rows = self.skips({23, 28}, container)
                self.assertEqual([row[0] for row in rows], [keys[23], "shard-000001 row 8"])
                self.assertRegex(rows[0][2], rf"^{shard.name}: byte \d+: checksum mismatch")
                self.skips({23, 28}, "lmdb", ["--jobs", 1, "--memory", "16MiB"])
                again = self.folder / "again"
                self.ok("convert", self.bad, again, "--to", "lmdb", *SKIP, "--jobs", 3, code=4)
                self.assertEqual(differences(self.copy, again), [])
                shutil.rmtree(again)

    def test_shards_that_are_cut_or_missing(self):
        for container in ("record", "lmdb", "hdf5", "webdataset", "parquet"):
            with self.subTest(container=container):
                self.make(container=container)
                (shard,) = files_of(self.bad, 1)
                index = read_index(self.bad / "shard-000001.index.npy")
                end = index[11]["image.offset"] + index[11]["image.length"] - 1
                cut(shard, end)
                lost = {20 + i for i, row in enumerate(index) if max(row[f"{f}.offset"] + row[f"{f}.length"] for f in ("key", "image")) > end}
                self.assertIn(31, lost)
                self.skips(lost, container)
                shard.unlink()
                rows = self.skips(set(range(20, 40)), "lmdb")
                self.assertEqual(rows[0], ["shard-000001 row 0", "damaged-input", f"{shard.name}: is missing, but the manifest lists it"])
                plan = self.ok("convert", self.bad, self.folder / "plan", "--to", "lmdb", "--on-error", "skip", "--dry-run", code=1)
                self.assertIn("files of 1 of 3 shards of the input are missing or truncated", plan.out + plan.err)

    def test_one_file_with_its_index(self):
        """As for a set: what the checksums of the index prove is taken. A longer file is another file."""
        for name in ("x.lmdb", "x.h5", "x.tfrecord"):
            with self.subTest(name=name):
                whole, bad = self.folder / name, self.folder / f"bad-{name}" / name
                self.ok("convert", self.source, whole, "--with-index")
                bad.parent.mkdir()
                for path in sorted(self.folder.path.glob(name + "*")):
                    shutil.copy(path, bad.parent)
                content = whole.read_bytes()
                image = (self.source / self.keys(whole)[31]).read_bytes()
                flip(bad, content.index(image) + len(image) // 2)
                self.refused("convert", bad, self.copy, "--to", "record", code=3, says=["has changed since it was indexed"])
                done = self.ok("convert", bad, self.copy, "--to", "record", *SKIP, code=4)
                self.assertIn("samples that are not as they were are left out", done.err)
                self.assertEqual([(row[0], row[1]) for row in self.listed()], [(self.keys(whole)[31], "damaged-input")])
                self.assertEqual(self.keys(self.copy), [key for row, key in enumerate(self.keys(whole)) if row != 31])
                self.ok("verify", self.copy)
                bad.write_bytes(content + bytes(4096))
                self.refused("convert", bad, self.copy, "--to", "record", *SKIP, "--overwrite", code=3, says=["has changed since it was indexed"])
                shutil.rmtree(self.copy)
                if name != "x.h5":  # whose keys are at its end
                    self.check_truncated(whole, bad, content[: content.index(image)])

    def check_truncated(self, whole, bad, left):
        bad.write_bytes(left)
        self.refused("convert", bad, self.copy, "--to", "record", code=3, says=["has changed since it was indexed"])
        self.ok("convert", bad, self.copy, "--to", "record", *SKIP, code=4)
        index = read_index(f"{whole}.index.npy")
        ends = [max(int(row[f"{field}.offset"]) + int(row[f"{field}.length"]) for field in ("key", "image")) for row in index]
        self.assertEqual(self.keys(self.copy), [key for key, end in zip(self.keys(whole), ends) if end <= len(left)])
        self.ok("verify", self.copy)
        shutil.rmtree(self.copy)

    def test_too_many(self):
        self.make()
        files_of(self.bad, 2)[0].unlink()
        self.refused("convert", self.bad, self.copy, "--to", "record", "--on-error", "skip", says=["more than --max-errors allows (10)"])

    def test_indexes_and_lists(self):
        """An index can be made again, if its shard is whole; what an earlier run left out is not a sample."""
        write(self.source / "class-0/bad.png", b"")
        for out in (self.out, self.bad):
            self.ok("convert", self.source, out, "--to", "record", "--shard-samples", 20, code=4)
        flip(self.bad / "shard-000001.index.npy", 400)
        for words in ((), SKIP):
            self.refused("convert", self.bad, self.copy, "--to", "record", *words, code=3, says=["shard-000001.index.npy", "run 'shale index "])
        (shard,) = files_of(self.bad, 1)
        flip(shard, 60)
        self.ok("index", self.bad, code=3)
        done = self.ok("convert", self.bad, self.copy, "--to", "record", *SKIP, code=4)
        rows = self.listed()
        self.assertEqual([rows[0][1], len(rows), rows[20][0]], ["empty", 21, "shard-000001 row 19"])
        self.assertEqual(manifest_of(self.copy)["skipped"], 21)
        shutil.copy(self.out / "shard-000001.index.npy", self.bad)
        (self.bad / "skipped.csv").unlink()
        (self.bad / "shard-000002.blocks.npy").unlink()  # values have checksums
        done = self.ok("convert", self.bad, self.copy, "--to", "record", *SKIP, "--overwrite", code=4)
        self.assertIn("what skipped.csv of the input lists is not taken over: skipped.csv: is missing", done.err)
        self.assertEqual(len(self.listed()), 1)
        self.ok("verify", self.copy)

    def test_choices_orders_and_parts(self):
        self.make()
        index = read_index(self.bad / "shard-000001.index.npy")
        (shard,) = files_of(self.bad, 1)
        flip(shard, index[3]["image.offset"] + 9)
        key = self.keys(self.out)[23]
        for words in (["--shuffle"], ["--classes", key.split("/")[0]], ["--select", self.list_of(key, self.keys(self.out)[0])], ["--fields", "image"]):
            with self.subTest(words=words):
                done = self.ok("convert", self.bad, self.copy, "--to", "lmdb", *words, *SKIP, "--overwrite", code=4)
                self.assertEqual([row[0] for row in self.listed()], [key], done.err)
                self.ok("verify", self.copy)
        self.ok("convert", self.bad, self.copy, "--to", "lmdb", "--fields", "label", *SKIP, "--overwrite")
        for part in range(3):
            self.ok("convert", self.bad, self.folder / "parts", "--to", "lmdb", "--part", f"{part}/3", *SKIP, code=4 if part == 1 else 0)
        self.ok("merge", self.folder / "parts", self.folder / "merged", code=4)
        self.assertEqual([row[0] for row in self.listed(self.folder / "merged")], [key])
        self.ok("convert", self.bad, self.folder / "splits", "--to", "lmdb", "--split", "a=0.5,b=0.5", *SKIP, code=4)
        self.assertEqual(sum(len(self.listed(self.folder / "splits" / name)) for name in "ab"), 1)
        files_of(self.bad, 2)[0].unlink()
        self.ok("convert", self.bad, self.copy, "--to", "lmdb", "--classes", key.split("/")[0], *SKIP, "--overwrite", code=4)
        self.assertEqual(len(self.listed()), 21)  # of any class

    def list_of(self, *keys):
        path = self.folder / "keys.txt"
        path.write_text("".join(f"{key}\n" for key in keys))
        return path

    def make_rows(self, container):
        """Three shards of 40 rows, x in three blocks."""
        if not (self.folder / "x.npy").exists():
            noise = random.Random(5).randbytes(120 * ROW_BYTES)
            write(self.folder / "x.npy", npy("|u1", (120, ROW_BYTES), noise))
            write(self.folder / "y.npy", npy("<i8", (120,), struct.pack("<120q", *range(120))))
        self.make(f"x={self.folder / 'x.npy'}", f"y={self.folder / 'y.npy'}", container=container, words=("--shard-samples", 40))
        shards = manifest_of(self.bad)["shards"]
        self.assertEqual(len(shards), 3)
        return files_of(self.bad, 1)[0]

    def lost_rows(self, container, words=(), source=None):
        self.ok("convert", source or self.bad, self.copy, "--to", container, *SKIP, *words, "--overwrite", code=4)
        self.ok("verify", self.copy)
        return [int(row[0]) for row in self.listed()]

    def test_rows_of_one_size(self):
        """They have no checksums: the blocks that they lie in say which are whole."""
        for container in ("npy", "hdf5", "pt", "safetensors"):
            with self.subTest(container=container):
                shard = self.make_rows(container)
                place = MIB + 5
                flip(shard, place)
                content = shard.read_bytes()
                base = content.index((self.folder / "x.npy").read_bytes()[-120 * ROW_BYTES :][40 * ROW_BYTES : 40 * ROW_BYTES + 64])
                in_block = {40 + row for row in range(40) if base + row * ROW_BYTES < 2 * MIB and base + (row + 1) * ROW_BYTES > MIB}
                self.refused("convert", self.bad, self.copy, "--to", "npy", code=3, says=["pass --on-error skip"])
                self.assertEqual(self.lost_rows(container, ["--shard-samples", 7]), sorted(in_block))
                y = json.loads(self.ok("cat", self.copy, len(range(40)) - 1, "--json").out)["fields"]["y"]
                self.assertEqual(y["value"] if isinstance(y, dict) else y, 39)
                self.compared()
                self.assertEqual(self.lost_rows("record"), sorted(in_block))
                self.check_one_array(self.folder / f"one-{container}.npy", in_block)
                for words in (["--shuffle"], ["--exclude", self.list_of(0, 1, 2)]):
                    self.refused("convert", self.bad, self.folder / "refused", "--to", "npy", *words, code=3, says=["pass --on-error skip"])
                    shutil.rmtree(self.folder / "refused", ignore_errors=True)
                    self.assertEqual(len(self.lost_rows(container, words)), len(in_block))
                cut(shard, place)
                first = 40 if container == "hdf5" else 40 + (MIB - base) // ROW_BYTES  # there y lies behind x
                self.assertEqual(self.lost_rows(container), list(range(first, 80)))
                (self.bad / "shard-000001.blocks.npy").unlink()
                self.assertEqual(self.lost_rows(container, ["--jobs", 1, "--memory", "16MiB"]), list(range(40, 80)))
                self.ok("convert", self.bad, self.copy, "--to", "lmdb", "--fields", "y", *SKIP, "--overwrite", code=0 if container in ("npy", "pt", "safetensors") else 4)

    def check_one_array(self, one, lost):
        self.refused("convert", self.bad, one, "--fields", "x", code=3, says=["pass --on-error skip"])
        self.ok("convert", self.bad, one, "--fields", "x", *SKIP, code=4)
        rows = (self.folder / "x.npy").read_bytes()[-120 * ROW_BYTES :]
        whole = b"".join(rows[row * ROW_BYTES : (row + 1) * ROW_BYTES] for row in range(120) if row not in lost)
        self.assertEqual(one.read_bytes()[-len(whole) :], whole)
        self.assertIn(f"({120 - len(lost)},".encode(), one.read_bytes()[:128])

    def test_a_sound_dataset_gives_the_same_bytes(self):
        for container in ("npy", "record"):
            self.make_rows("npy") if container == "npy" else self.make()
            for words in ([], ["--shuffle"]):
                first, second = self.folder / "first", self.folder / "second"
                self.ok("convert", self.out, first, "--to", container, *words, "--overwrite")
                self.ok("convert", self.out, second, "--to", container, *words, *SKIP, "--overwrite")
                self.assertEqual(differences(first, second), [])

    def test_lists(self):
        for container in ("record", "lmdb", "hdf5", "webdataset", "parquet"):
            with self.subTest(container=container):
                self.make(make_frames(self.folder / "frames", 12), container=container, words=("--group", "frames", "--shard-samples", 6))
                index = read_index(self.bad / "shard-000000.index.npy")
                flip(files_of(self.bad, 0)[0], index[2]["frames.offset"] + index[2]["frames.length"] // 2)
                self.skips({2}, container)

    def test_ragged_and_optional_fields(self):
        write(self.folder / "flat/metadata.jsonl", b"".join(
            json.dumps({"file_name": f"{i}.png", "boxes": [[i, j] for j in range(i % 3 + 1)], **({"note": f"n{i}"} if i % 2 else {})}).encode() + b"\n" for i in range(12)))
        make_photos(self.folder / "p", 12, classes=1)
        for i, path in enumerate(sorted((self.folder / "p").rglob("*.png"))):
            shutil.copy(path, self.folder / f"flat/{i}.png")
        for container in ("record", "lmdb", "hdf5", "webdataset"):
            with self.subTest(container=container):
                self.make(self.folder / "flat", container=container, words=("--shard-samples", 6))
                place = json.loads(self.ok("cat", self.bad, 7, "--json").out)["fields"]["boxes"]["offset"]
                flip(files_of(self.bad, 1)[0], place)
                rows = self.skips({7}, container)
                self.assertIn("checksum mismatch", rows[0][2])

    def test_other_outputs_and_images_that_are_worked_on(self):
        self.make()
        index = read_index(self.bad / "shard-000001.index.npy")
        flip(files_of(self.bad, 1)[0], index[3]["image.offset"] + 9)
        files_of(self.bad, 2)[0].unlink()
        for output, words in (("one.lmdb", ()), ("one.h5", ()), ("worked", ("--to", "record", "--resize", "exact=8x8", "--encode", "png")), ("raw", ("--to", "npy", "--resize", "exact=8x8", "--encode", "raw"))):
            with self.subTest(output=output):
                done = self.ok("convert", self.bad, self.folder / output, *words, *SKIP, "--json", code=4)
                facts = json.loads(done.out)
                self.assertEqual((facts["samples"], facts["skipped"]), (39, 21), facts)
                self.ok("verify", self.folder / output)
        self.ok("convert", self.source, self.copy, "--to", "lmdb", "--quiet")
        self.ok("convert", self.bad, self.copy, "--append", *SKIP, code=1)  # all keys are there

    def test_repair_of_what_was_made_of_a_damaged_set(self):
        for container in ("record", "npy"):
            with self.subTest(container=container):
                if container == "npy":
                    flip(self.make_rows(container), MIB + 5)
                else:
                    self.make()
                    flip(files_of(self.bad, 1)[0], read_index(self.bad / "shard-000001.index.npy")[3]["image.offset"])
                self.ok("convert", self.bad, self.copy, "--to", container, "--shard-samples", 16, *SKIP, code=4)
                flip(files_of(self.copy, 2)[0], 200)
                self.ok("repair", self.copy, "--from", self.bad)
                self.ok("verify", self.copy)

    def test_a_set_that_is_replaced_while_it_is_read(self):
        """Not damage: neither refused as such, nor left out."""
        self.make(words=("--shard-samples", 7))
        steps = Steps(self, self.folder, self.copy)
        words = ["convert", self.bad, self.copy, "--to", "lmdb", "--shard-samples", 20, "--jobs", 1]
        told = 0
        for number in range(1, len(steps.recorded(words)[1]), 2):
            for more in ((), SKIP):
                shutil.rmtree(self.copy, ignore_errors=True)
                shutil.rmtree(self.bad)
                shutil.copytree(self.out, self.bad)
                again = ("convert", self.source, self.bad, "--to", "record", "--shard-samples", 13, "--shuffle", "--overwrite", "--quiet")
                done = steps.stopped([*words, *more], number, lambda words=again: self.ok(*words))
                self.assertIn(done.code, (0, 1), f"{number}: {done.err}")
                if done.code == 1:
                    self.assertIn("the input was replaced or removed while it was read", done.err)
                    told += 1
                self.assertFalse(self.listed())
        self.assertGreater(told, 0)
