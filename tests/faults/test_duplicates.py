"""The report of images: duplicates are found in whole datasets, whoever wrote which part of them, and listed with their labels; sizes are counted as they were read."""

import collections
import csv
import unittest

from fault_case import IN_MEMORY, FaultCase
from manifests import sealed
from shale_tool import make_photos, manifest_of, png, read_index, run, samples_of, write

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
        for container in ("record", "lmdb", "hdf5"):
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
        out = self.convert("twin", source=folder)
        index = read_index(out / "shard-000000.index.npy")
        self.assertEqual(index[0]["image.crc32c"], index[1]["image.crc32c"], "the test's own arithmetic")
        self.check_list(out, [])

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


if __name__ == "__main__":
    unittest.main()
