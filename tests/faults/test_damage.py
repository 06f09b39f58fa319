"""Any damage to any file of a dataset is found, and the file named."""

import json
import os
import shutil
import struct

from fault_case import BUG_MARKS, IN_MEMORY, FaultCase
from manifests import edit_manifest, hash_of_file
from shale_tool import IS_SANITIZED, make_photos, manifest_of, png, read_index, run, write

FLIPS = 60 if IS_SANITIZED else 300
MOST_BYTES = 256 << 20  # of a run at the default --memory of 256 MiB: less than that


class Damage(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.source = make_photos(self.folder / "in", 60, sides=(2, 70))
        write(self.source / "class-0/00000.png", png(1100, 1000))  # a shard of more than one block
        write(self.source / "class-1/bad.png", b"")  # for skipped.csv
        self.convert(self.source, self.out, "--shard-size", "1200kB", "--shard-samples", 25, code=4)
        self.names = sorted(os.listdir(self.out))
        self.assertEqual(len(manifest_of(self.out)["shards"]), 3)
        self.assertEqual(len(self.names), 3 * 3 + 3)

    def damage_is_found(self, name, *words, story=""):
        """verify exits 3 and names the file."""
        done = run("verify", self.out, *words)
        self.assertEqual(done.code, 3, f"{story} {name}: {done.out}{done.err}")
        self.assertIn(f"{name}: ", done.err, story)
        for mark in BUG_MARKS:
            self.assertNotIn(mark, done.err, story)

    def damaged(self, name, change):
        """Changes the content of a file, looks whether verify finds it, puts the old content back."""
        path = self.out / name
        content = path.read_bytes()
        changed = bytearray(content)
        story = change(changed) or ""
        self.assertNotEqual(changed, content)
        path.write_bytes(changed)
        self.damage_is_found(name, story=story)
        path.write_bytes(content)

    def test_a_shard_of_zeros_names_its_samples_by_row(self):
        """Keys whose checksum fails are not shown."""
        for format_name in ("record", "lmdb", "hdf5", "webdataset", "parquet"):
            out = self.folder / format_name
            self.ok("convert", self.source, out, "--to", format_name, code=4)
            shard = next(path for path in sorted(out.iterdir()) if path.suffix in (".tfrecord", ".mdb", ".lmdb", ".h5", ".tar", ".parquet"))
            shard.write_bytes(bytes(shard.stat().st_size))
            done = run("verify", out)
            self.assertEqual(done.code, 3, done.err)
            self.assertNotIn("\\x00", done.err)
            if format_name == "record":  # of the others the whole container is named
                self.assertIn("sample 0: field", done.err)

    def test_every_flipped_bit(self):
        positions = []
        for name in self.names:
            size = (self.out / name).stat().st_size
            positions += [(name, place) for place in {0, size - 1, size // 2}]
        while len(positions) < FLIPS:
            name = self.dice.choice(self.names)
            positions.append((name, self.dice.randrange((self.out / name).stat().st_size)))
        for name, place in positions:
            bit = self.dice.randrange(8)

            def flip(content):
                content[place] ^= 1 << bit
                return f"bit {bit} of byte {place}"

            self.damaged(name, flip)
        self.ok("verify", self.out, "--deep")

    def flip_in_image(self, path, row):
        """Flips a bit in the image of a row, which lies in the second shard."""
        sample = json.loads(self.ok("cat", self.out, row, "--json").out)
        self.assertEqual(sample["shard"], path.name.split(".")[0])
        content = bytearray(path.read_bytes())
        content[sample["fields"]["image"]["offset"] + 10] ^= 1
        path.write_bytes(content)

    def test_a_damaged_sample_is_named_with_its_place(self):
        path = self.out / f"shard-000001.{self.suffix}"
        self.flip_in_image(path, row=40)
        done = run("verify", self.out)
        self.assertRegex(done.err, rf"shard-000001\.{self.suffix}: byte \d+: sample 'class-\d/\d+\.png': field 'image': .*: found .*, expected ")

    def test_files_cut_short_or_grown(self):
        for name in self.names:
            size = (self.out / name).stat().st_size
            for left in {0, 1, size // 2, size - 1}:
                self.damaged(name, lambda content, left=left: content.__delitem__(slice(left, None)))
            self.damaged(name, lambda content: content.extend(b"\0"))
            self.damaged(name, lambda content: content.extend(b"\n"))
            self.damaged(name, lambda content: content.insert(0, 0))

    def test_files_that_are_gone(self):
        for name in self.names:
            (self.out / name).rename(self.folder / "saved")
            for depth in ("--quick", "--full"):
                if name == "dataset.json":  # without it the rest is an unfinished run
                    self.refused("verify", self.out, depth, says=[f"{self.out}: "])
                else:
                    self.damage_is_found(name, depth)
            (self.folder / "saved").rename(self.out / name)

    def test_a_block_of_zeros(self):
        for name in self.names:
            def blank(content):
                begin = len(content) // 8192 * 4096
                content[begin : begin + 4096] = bytes(len(content[begin : begin + 4096]))

            self.damaged(name, blank)

    def swap(self, left, right):
        os.rename(self.out / left, self.folder / "saved")
        os.rename(self.out / right, self.out / left)
        os.rename(self.folder / "saved", self.out / right)

    def test_two_files_swapped(self):
        for suffix in (self.suffix, "index.npy", "blocks.npy"):
            names = [f"shard-00000{i}.{suffix}" for i in (1, 2)]
            self.swap(*names)
            for name in names:
                self.damage_is_found(name)
            self.swap(*names)

    def test_two_shards_swapped_with_all_their_files(self):
        for suffix in (self.suffix, "index.npy", "blocks.npy"):
            self.swap(f"shard-000001.{suffix}", f"shard-000002.{suffix}")
        self.damage_is_found(f"shard-000001.{self.suffix}")
        self.damage_is_found("shard-000002.index.npy")

    def test_files_of_another_dataset(self):
        """As whole as can be, but not those of this set: same names, one image is another."""
        other = self.folder / "other"
        (self.source / "class-1/00001.png").write_bytes(png(20, 20, seed=99))
        self.convert(self.source, other, "--shard-size", "1200kB", "--shard-samples", 25, code=4)
        changed = [name for name in self.names if (self.out / name).read_bytes() != (other / name).read_bytes()]
        shard = next(name for name in changed if name.endswith(f".{self.suffix}"))
        self.assertTrue({"dataset.json", shard.replace(self.suffix, "index.npy"), shard.replace(self.suffix, "blocks.npy")} < set(changed))
        for name in changed:
            (self.folder / "saved").write_bytes((self.out / name).read_bytes())
            shutil.copyfile(other / name, self.out / name)
            self.damage_is_found(shard if name == "dataset.json" else name)  # a whole manifest that the shard does not fit
            (self.folder / "saved").rename(self.out / name)
        self.ok("verify", self.out)

    def test_a_shard_too_many(self):
        shutil.copyfile(self.out / f"shard-000002.{self.suffix}", self.out / f"shard-000003.{self.suffix}")
        name = f"shard-000003.{self.suffix}"
        self.assertIn(f"note: {name} is not part of the dataset, but whatever reads", self.ok("verify", self.out).out)
        self.assertIn(f"{name}: is not part of the dataset", self.ok("verify", self.out, "--strict", code=3).err)

    def test_whole_shards_of_another_source_are_not_this_source(self):
        path = self.source / "class-2/00002.png"
        content = path.read_bytes()
        for change, fact in (
            (lambda: path.write_bytes(content[:-1] + b"\x83"), "byte"),
            (lambda: path.write_bytes(content + b"x"), "size"),
            (lambda: path.unlink(), "not in the source"),
            (lambda: path.rename(self.source / "class-1/00002.png"), "not in the source"),
            (lambda: write(self.source / "class-2/new.png"), "not in the dataset"),
        ):
            change()
            done = run("verify", self.out, "--against", self.source)
            self.assertEqual(done.code, 3, done.out + done.err)
            self.assertIn(fact, done.err)
            for name in ("class-1/00002.png", "class-2/new.png"):
                (self.source / name).unlink(missing_ok=True)
            path.write_bytes(content)
        self.ok("verify", self.out, "--against", self.source)

    def test_a_forged_length_is_damage_and_takes_no_memory(self):
        """Findings A18: with right hashes, so that nothing but the length is wrong."""
        path = self.out / "shard-000001.index.npy"
        content, row = path.read_bytes(), read_index(path)[3]
        place = struct.pack("<QQ", row["image.offset"], row["image.length"])
        self.assertEqual(content.count(place), 1)
        for length in (1 << 31, 1 << 32, 1 << 63, (1 << 64) - 1):
            forged = content.replace(place, struct.pack("<QQ", row["image.offset"], length))
            path.write_bytes(forged)
            edit_manifest(self.out, hash_of_file(content), hash_of_file(forged))
            for words in (["verify"], ["verify", "--deep"], ["cat", 28]):
                done = run(words[0], self.out, *words[1:])
                self.assertEqual(done.code, 3, f"{words}, {length}: {done.err}")
                self.assertRegex(done.err, f"shard-000001.* {length} bytes")
                if not IS_SANITIZED:
                    self.assertLess(done.peak_bytes, MOST_BYTES)
            edit_manifest(self.out, hash_of_file(forged), hash_of_file(content))

    def test_a_damaged_dataset_is_no_source(self):
        path = self.out / f"shard-000001.{self.suffix}"
        self.flip_in_image(path, row=40)
        copy = self.folder / "copy"
        self.refused("convert", self.out, copy, "--to", self.container, code=3, says=["sample 'class-", "checksum mismatch"])
        self.assertFalse((copy / "dataset.json").exists())
        codes = {run("cat", self.out, row).code for row in range(manifest_of(self.out)["samples"])}
        self.assertEqual(codes, {0, 3})

    def test_index_makes_lost_files_anew_byte_for_byte_and_vouches_for_nothing_damaged(self):
        for name in self.names:
            if not name.endswith(".npy"):
                continue
            content = (self.out / name).read_bytes()
            for damage in (None, b"", content[:-1], b"\0" * len(content)):
                (self.out / name).unlink() if damage is None else (self.out / name).write_bytes(damage)
                self.ok("index", self.out)
                self.assertEqual((self.out / name).read_bytes(), content)
        self.assertEqual(sorted(os.listdir(self.out)), self.names)
        shard = self.out / f"shard-000000.{self.suffix}"
        shard.write_bytes(shard.read_bytes()[:-1])
        (self.out / "shard-000000.index.npy").unlink()
        done = run("index", self.out)
        self.assertEqual(done.code, 3)
        self.assertIn("shard-000000: not rebuilt: ", done.out)
        self.assertFalse((self.out / "shard-000000.index.npy").exists())
