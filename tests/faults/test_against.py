"""verify --against: the verdict is the true one, for every kind of source and set (issue 39).

Sets are made by one operation each, so what is true of them and their source is known.
"""

import os
import resource
import shutil
import struct
import subprocess
import tarfile

from against_case import AgainstCase
from shale_tool import make_photos, npy, png, run, write

SAMPLES = 12
FIELDS = "label,image"


def floats(numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


class Photos(AgainstCase):
    """Samples with keys, from folders."""

    def setUp(self):
        super().setUp()
        self.photos = make_photos(self.folder / "photos", SAMPLES)
        self.set = self.made(self.photos, "set", "--shard-samples", 5)
        self.keys = [line.split("\t")[1] for line in self.ok("ls", self.set, "--tsv").out.splitlines()]
        (self.folder / "some").write_text("key\n" + "".join(f"{key}\n" for key in self.keys[3:8]))

    def sources(self):
        """The same photos in every form that convert takes."""
        with tarfile.open(self.folder / "photos.tar", "w") as archive:
            for name in sorted(os.listdir(self.photos)):
                archive.add(self.photos / name, name)
        with open(self.folder / "photos.tar", "rb") as plain, open(self.folder / "photos.tar.gz", "wb") as packed:
            subprocess.run(["gzip", "-c"], stdin=plain, stdout=packed, check=True)
        yield self.photos
        yield self.folder / "photos.tar"
        yield self.folder / "photos.tar.gz"
        yield self.set
        yield self.made(self.photos, "copy", "--to", "lmdb", "--shuffle")
        for suffix in ("lmdb", "h5", "tfrecord"):
            yield self.made(self.set, f"one.{suffix}")

    def test_every_source_of_every_set(self):
        some, rest = self.folder / "some", "source_has_more"
        sets = {
            self.set: ("same", "other_order"),
            self.made(self.photos, "turned", "--shuffle", "--to", "hdf5"): ("other_order",),
            self.made(self.photos, "chosen", "--select", some): (rest,),
            self.made(self.set, "of_set", "--select", some, "--shuffle", "--to", "lmdb"): (rest,),
            self.made(self.set, "but", "--exclude", some): (rest,),
            self.made(self.set, "fewer", "--fields", "image"): ("other_fields",),
            self.made(self.set, "swapped", "--fields", FIELDS): ("other_fields", "same", "other_order"),
            self.made(self.set, "again.h5"): ("same", "other_order", "other_fields"),
            self.made(self.set, "again.tfrecord"): ("same", "other_order", "other_fields"),
            self.made(self.set, "again.lmdb"): ("same", "other_order"),
        }
        self.made(self.set, "parts", "--part", "1/3")
        sets[self.folder / "parts/part-00001-of-00003"] = (rest,)
        self.made(self.photos, "split", "--split", "train=0.7,val=0.3")
        sets[self.folder / "split/train"] = sets[self.folder / "split/val"] = (rest,)
        for source in self.sources():
            for dataset, verdicts in sets.items():
                if dataset.name == "fewer" and source in (self.photos, self.folder / "photos.tar", self.folder / "photos.tar.gz"):
                    verdicts = ("same", "other_order")  # labels were not asked for
                if dataset.name == "turned" and source.name == "copy":
                    verdicts = ("same",)
                with self.subTest(source=source.name, set=dataset.name):
                    self.assertIn(self.verdict(dataset, source), verdicts)

    def test_a_set_that_was_appended_to(self):
        more = make_photos(self.folder / "more", 7, seed=5)
        for old in list(more.rglob("*.*")):
            old.rename(old.with_name("more-" + old.name))
        second = self.made(more, "second", "--classes-from", self.set)
        self.ok("convert", more, self.set, "--append")
        both = self.folder / "both"
        shutil.copytree(self.photos, both)
        shutil.copytree(more, both, dirs_exist_ok=True)
        for source in (self.photos, more, second):
            self.assertEqual(self.verdict(self.set, source), "one_of_several")
        self.assertIn("1 of the 2 inputs", self.said)
        self.assertIn(self.verdict(self.set, both), ("same", "other_order"))
        shutil.copyfile(next(more.rglob("*.png")), self.photos / "class-0/new.png")
        self.assertEqual(self.verdict(self.set, self.photos, code=3), "incomplete")
        self.assertIn(f"{SAMPLES} of its {SAMPLES + 7} samples are the same in the source, 7 of other inputs; 1 sample of the source not", self.said)
        os.remove(next(more.rglob("*.*")))
        self.assertEqual(self.verdict(self.set, more, code=3), "different")
        self.assertIn(f"6 of its {SAMPLES + 7} samples are the same in the source, 1 not in the source, {SAMPLES} of other inputs", self.said)

    def test_what_differs(self):
        other = make_photos(self.folder / "other", 4, seed=99)
        for old in list(other.rglob("*.*")):
            old.rename(old.with_name("other-" + old.name))
        for source in (other, self.made(other, "other_set")):
            self.assertEqual(self.verdict(self.set, source, code=3), "another_source")
            self.assertIn("it was not made from this source", self.said)
        changed = self.folder / "changed"
        shutil.copytree(self.photos, changed)
        write(next(changed.rglob("*.*")), png(3, 3, seed=4))
        for source in (changed, self.made(changed, "changed_set")):
            self.assertEqual(self.verdict(self.set, source, code=3), "different")
            self.assertIn("11 of its 12 samples are the same", self.said)
            self.assertIn("the source has changed since", self.said)
        grown = self.folder / "grown"
        shutil.copytree(self.photos, grown)
        write(next(grown.rglob("*.*")).with_name("new.png"), png(3, 3, seed=4))
        for source in (grown, self.made(grown, "grown_set")):
            self.assertEqual(self.verdict(self.set, source, code=3), "incomplete")
        moved = self.folder / "moved"
        for number, key in enumerate(self.keys):
            write(moved / os.path.dirname(key) / f"moved-{number}{os.path.splitext(key)[1]}", (self.photos / key).read_bytes())
        self.assertEqual(self.verdict(self.set, self.made(moved, "moved_set"), code=3), "other_keys")
        os.remove(next(moved.rglob("*.*")))
        self.assertEqual(self.verdict(self.set, moved, code=3), "other_keys")
        self.assertIn("11 of its 12 samples under other keys", self.said)

    def test_a_file_beside_a_folder_with_bad_images(self):
        """A set lists those that were skipped; a file has no list, but they cannot be in it."""
        bad = self.photos / os.path.dirname(self.keys[0]) / "bad.jpg"
        write(bad, b"no image")
        for name, words in (("bad.lmdb", ()), ("bad.h5", ("--with-index",)), ("bad.tfrecord", ())):
            with self.subTest(name=name):
                one = self.made(self.photos, name, *words, code=4)
                self.assertEqual(self.verdict(one, self.photos), "same")
                self.assertIn("1 sample of the source is bad, and not in the file", self.said)
                self.assertEqual(self.verdict(self.made(self.photos, f"kept-{name}", *words, "--on-error", "keep"), self.photos), "same")
                self.assertNotIn("is bad", self.said)
        write(bad, png(3, 3, seed=4))
        self.assertEqual(self.verdict(one, self.photos, code=3), "incomplete")
        self.assertIn("is not in the dataset\n", self.said)
        self.assertNotIn("--append", self.said)

    def test_numbers_without_names_of_classes(self):
        """A copy of a file that has no place for them has the same labels."""
        unnamed = self.made(self.made(self.set, "unnamed.h5"), "unnamed")
        for source in (self.photos, self.set):
            self.assertIn(self.verdict(unnamed, source), ("same", "other_fields"))
        self.assertIn(self.verdict(self.set, unnamed), ("same", "other_fields"))

    def test_a_flat_folder_whose_labels_were_not_taken(self):
        """Files without an index record no options: they hold no labels, so none is missed."""
        flat = self.photos / "class-0"
        for suffix in ("lmdb", "h5", "tfrecord"):
            self.assertEqual(self.verdict(self.made(flat, f"flat.{suffix}", "--fields", "image"), flat), "same")

    def test_damage(self):
        """Whatever the source, the set is what is wrong; a file without checksums cannot know."""
        one = self.made(self.set, "one.lmdb")
        content = bytearray(one.read_bytes())
        content[content.index(b"\xff\xd8") + 40 if b"\xff\xd8" in content else content.index(b"\x89PNG") + 60] ^= 1
        one.write_bytes(content)
        self.assertEqual(self.verdict(one, self.set, code=3), "different")
        self.assertNotIn("intact, but", self.said)
        self.assertIn("11 of its 12 samples", self.said)
        shard = self.set / "shard-000001.tfrecord"
        copy = self.made(self.set, "copy")
        content = bytearray(shard.read_bytes())
        content[len(content) // 2] ^= 1
        shard.write_bytes(content)
        for source in (self.photos, copy):
            self.assertEqual(self.verdict(self.set, source, code=3), "damaged")
            self.assertIn("shale repair", self.said)

    def test_a_list_of_files_and_its_folder(self):
        flat = self.folder / "flat"
        for number, image in enumerate(sorted(self.photos.rglob("*.*"))):
            write(flat / f"{number}{image.suffix}", image.read_bytes())
        files = "".join(f"{image}\n" for image in sorted(flat.iterdir())).encode()
        listed = self.folder / "listed"
        (self.folder / "files").write_bytes(files)
        with open(self.folder / "files") as stdin:
            self.ok("convert", "-", listed, "--to", "record", stdin=stdin)
        self.assertEqual(self.verdict(listed, flat, code=3), "other_keys")
        self.assertIn("the list of files (--against -)", self.said)
        self.assertNotIn("note:", self.said)
        with open(self.folder / "files") as stdin:
            self.ok("verify", listed, "--against", "-", stdin=stdin)
        self.assertEqual(self.verdict(self.made(listed, "copy"), flat, code=3), "other_keys")

    def test_a_damaged_source(self):
        """Its manifest says what it held: the bytes are proved before that is believed."""
        (self.folder / "x.npy").write_bytes(npy("<i4", (6, 2), bytes(range(48))))
        rows = self.made(f"x={self.folder / 'x.npy'}", "rows", "--to", "npy")
        for source, words in ((self.set, ("--to", "lmdb")), (self.set, ("--to", "hdf5")), (self.set, ("--shuffle",)), (rows, ("--to", "npy")), (self.set, ())):
            copy = self.made(source, "copy", "--shard-samples", 5, *words)
            shard = next(path for path in sorted(copy.iterdir()) if "shard-000000" in path.name and not path.name.endswith(("index.npy", "blocks.npy")))
            content = shard.read_bytes()
            for damage in (content[:-100] + bytes([content[-100] ^ 1]) + content[-99:], content[:-1], None):
                shard.write_bytes(damage) if damage else os.remove(shard)
                with self.subTest(words=words, damage=len(damage or "")):
                    done = self.ok("verify", source, "--against", copy, code=3)
                    self.assertIn("copy: the source is damaged", done.err)
                    self.assertIn(f"the dataset itself is intact, but the source is damaged: 'shale verify {copy}' lists", done.err)
            shutil.rmtree(copy)

    def test_one_split_and_the_root_of_all(self):
        """As repair takes it."""
        for name in ("one", "two"):
            self.ok("convert", self.photos, self.folder / name, "--to", "record", "--split", "train=0.5,val=0.5")
        self.assertEqual(self.verdict(self.folder / "one/train", self.folder / "two"), "same")
        os.chdir(self.folder / "one/val")
        self.assertEqual(self.verdict(".", self.folder / "two"), "same")
        os.chdir("/")
        parts = self.folder / "parts"
        self.ok("convert", self.photos, parts, "--to", "record", "--split", "train=0.5,val=0.5", "--part", "0/1")
        for command in ("info", "verify"):
            self.refused(command, parts, says=["holds a folder of parts for each split (train, val)", f"'shale merge {parts}/train OUTPUT' joins those of one split"])

    def test_a_source_that_is_not_finished(self):
        copy = self.made(self.set, "copy")
        os.remove(copy / "dataset.json")
        self.refused("verify", self.set, "--against", copy, says=["holds shards, but no dataset.json"])
        write(self.photos / "class-2/zz.png", png(300, 300))
        unfinished = self.folder / "unfinished"
        self.ok("convert", self.photos, unfinished, "--to", "record", "--shard-samples", 4, code=1, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)))
        self.refused("verify", self.set, "--against", unfinished, says=["is an unfinished dataset"])

    def test_a_layout_without_the_names_of_fields(self):
        vlen, same = self.made(self.photos, "v.h5", "--layout", "vlen"), self.made(self.photos, "same.h5", "--layout", "vlen")
        self.refused("verify", vlen, "--against", self.photos, says=["convert the folder to another file in the same way"])
        self.assertEqual(self.verdict(vlen, same), "same")

    def test_images_that_were_worked_on(self):
        work = ("--resize", "exact=8x8", "--encode", "png")
        for name, words in (("small", ()), ("raw", ("--encode", "raw", "--to", "npy")), ("chosen", ("--select", self.folder / "some"))):
            words = (*work[:2], *words) if "--encode" in words else (*work, *words)
            for source in (self.photos, self.set):
                made = self.folder / f"{name}-{source.name}"
                self.ok("convert", source, made, *(() if "--to" in words else ("--to", "record")), *words)
                for against in (self.photos, self.set):
                    with self.subTest(set=made.name, source=against.name):
                        wanted = ("source_has_more",) if name == "chosen" else ("same", "other_fields")
                        self.assertIn(self.verdict(made, against), wanted)


class Arrays(AgainstCase):
    """Rows without keys."""

    def setUp(self):
        super().setUp()
        self.x = self.array("x.npy", npy("<f4", (20, 3), floats(range(60))))
        self.y = self.array("y.npy", npy("<i8", (20,), struct.pack("<20q", *(n // 2 for n in range(20)))))
        self.arrays = (f"x={self.x}", f"y={self.y}")

    def array(self, name, content):
        (self.folder / name).write_bytes(content)
        return self.folder / name

    def test_every_source_of_every_set(self):
        rows = self.folder / "rows"
        rows.write_text("row\n3\n4\n11\n")
        first = self.made(self.arrays, "first", "--to", "npy")
        sources = [self.arrays, self.arrays[::-1], (first,), (self.made(self.arrays, "z.npz"),), (self.made(self.arrays, "z.safetensors"),)]
        for container in ("npy", "hdf5", "record", "lmdb"):
            for name, words, verdicts in (
                ("all", (), ("same",)),
                ("shuffled", ("--shuffle",), ("other_order",)),
                ("chosen", ("--select", rows), ("source_has_more",)),
                ("fewer", ("--fields", "x"), ("other_fields",)),
                ("swapped", ("--fields", "y,x"), ("other_fields", "same")),
            ):
                made = self.made(self.arrays, f"{container}-{name}", "--to", container, *words)
                for source in sources:
                    with self.subTest(set=made.name, source=source):
                        self.assertIn(self.verdict(made, *source), verdicts)
        for name in ("one.h5", "one.npz", "one.pt", "one.safetensors"):
            made = self.made(self.arrays, name)
            for source in sources:
                with self.subTest(set=name, source=source):
                    self.assertEqual(self.verdict(made, *source), "same")

    def test_what_differs(self):
        made = self.made(self.arrays, "made", "--to", "npy")
        numbers = list(map(float, range(60)))
        numbers[7] = -1.0
        other = self.array("other.npy", npy("<f4", (20, 3), floats(numbers)))
        self.assertEqual(self.verdict(made, f"x={other}", self.arrays[1], code=3), "different")
        self.assertIn("row 2", self.said)
        self.assertIn("19 of its 20 samples are the same", self.said)
        fewer = self.array("fewer.npy", npy("<f4", (18, 3), floats(range(54))))
        short = self.array("short.npy", npy("<i8", (18,), struct.pack("<18q", *(n // 2 for n in range(18)))))
        self.assertEqual(self.verdict(made, f"x={fewer}", f"y={short}", code=3), "different")
        self.assertEqual(self.verdict(self.made((f"x={fewer}", f"y={short}"), "less", "--to", "npy"), *self.arrays, code=3), "incomplete")
        nothing = self.array("nothing.npy", npy("<f4", (20, 3), floats(range(100, 160))))
        self.assertEqual(self.verdict(made, f"x={nothing}", self.arrays[1], code=3), "another_source")
        self.ok("convert", f"x={fewer}", f"y={short}", made, "--append")
        self.assertEqual(self.verdict(made, *self.arrays, code=0), "one_of_several")

    def test_damage(self):
        made = self.made(self.arrays, "made", "--to", "npy")
        shard = made / "shard-000000.x.npy"
        content = bytearray(shard.read_bytes())
        content[-5] ^= 1
        shard.write_bytes(content)
        self.assertEqual(self.verdict(made, *self.arrays, code=3), "damaged")
        wider = self.array("wider.npy", npy("<f8", (20, 3), struct.pack("<60d", *range(60))))
        told = run("verify", made, "--against", f"x={wider}", "--against", self.arrays[1])
        self.assertEqual(told.code, 2)
        self.assertNotIn("give each array the name", told.err)


if __name__ == "__main__":
    import unittest

    unittest.main()
