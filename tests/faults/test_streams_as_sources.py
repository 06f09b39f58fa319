"""A stream as what a dataset was made from: `verify --against` and `repair --from` read it once, and say exactly what differs."""

import gzip
import os
import shutil

import stream_case
from shale_tool import make_photos, png, snapshot, write
from stream_case import PHOTO, zstd
from tar_archives import tar_of


class StreamsAsSources(stream_case.StreamCase):
    def setUp(self):
        super().setUp()
        make_photos(self.photos, 60, classes=4)
        first = self.photos / sorted(os.listdir(self.photos))[0]
        write(first / "truncated.png", PHOTO[:-12])
        write(first / "notes.txt", b"text")
        write(first / "deeper/x.png", PHOTO)
        self.make_table()
        self.pack()

    def pack(self, *leave_out, **more):
        names = [name for name in self.in_order() if name not in leave_out]
        members = [(name, (self.photos / name).read_bytes()) for name in names]
        tar_of(self.folder / "x.tar", *members, *more.get("members", ()))
        write(self.stream, gzip.compress((self.folder / "x.tar").read_bytes(), 1))
        return [name for name in names if name.endswith(".png") and "truncated" not in name]

    def verify(self, *words, code=0, source=None):
        done = self.ok("verify", self.out, "--against", source or self.stream, *words, code=code)
        if code == 0:
            self.assertNotIn("finding", done.out)
        return done.out + done.err

    def test_the_same_samples(self):
        orders = {"stream": (self.stream, "--classes-from", self.table), "shuffled": (self.photos, "--shuffle", "--shard-size", "16KiB")}
        for container in ("record", "lmdb", "hdf5", "webdataset", "parquet"):
            self.container = container
            for order, (source, *words) in orders.items():
                with self.subTest(container=container, order=order):
                    shutil.rmtree(self.out, ignore_errors=True)
                    self.convert(source, self.out, *words, code=4)
                    self.verify()
                    self.verify("--jobs", "1", "--memory", "16MiB")
        write(self.folder / "x.tzst", zstd((self.folder / "x.tar").read_bytes()))
        self.verify(source=self.folder / "x.tzst")
        with open(self.folder / "x.tar", "rb") as file:
            self.ok("verify", self.out, "--against", "-", stdin=file)

    def test_what_differs_is_named(self):
        self.convert(self.photos, self.out, "--shard-size", "16KiB", code=4)
        names = self.pack()
        whole = {name: (self.photos / name).read_bytes() for name in names}
        changed = bytearray(whole[names[7]])
        changed[40] ^= 1
        write(self.photos / names[7], bytes(changed))
        write(self.photos / names[9], whole[names[9]] + b"!")
        self.pack(names[3], members=((names[12], whole[names[12]]), ("zebra/new.png", PHOTO)))
        said = self.verify(code=3)
        for name, fact in {
            names[7]: "sample differs from the source file: found crc32c",
            names[9]: "sample differs in size from the source file",
            names[3]: "sample is not in the source",
            names[12]: "source has two files of this name",
            "zebra/new.png": "source file is not in the dataset",
        }.items():
            line = next((line for line in said.splitlines() if f"'{name}'" in line), "")
            self.assertIn(fact, line, said)
        self.assertIn("5 findings", said)
        # A folder says the same of what one can have.
        self.assertIn("4 findings", self.verify(code=3, source=self.pack_folder(names[3])))

    def pack_folder(self, left_out):
        (self.photos / left_out).unlink()
        write(self.photos / "zebra/new.png", PHOTO)
        return self.photos

    def test_labels(self):
        self.convert(self.stream, self.out, "--classes-from", self.table, code=4)
        classes = sorted(self.table.read_text().split())
        shutil.rmtree(self.out)
        write(self.table, "".join(f"{name}\n" for name in reversed(classes)).encode())
        self.convert(self.stream, self.out, "--classes-from", self.table, code=4)
        self.verify()  # other numbers, the same names
        labels = self.folder / "labels.csv"
        names = [name for name in self.in_order() if name.endswith(".png")]
        rows = [f"{name},{len(name) % 3}\n" for name in names]
        write(labels, "".join(rows).encode())
        shutil.rmtree(self.out)
        self.convert(self.stream, self.out, "--labels", labels, code=4)
        self.verify("--labels", labels)
        self.assertIn("labels were not compared", self.verify())
        rows[5] = f"{names[5]},7\n"
        write(labels, "".join(rows).encode())
        said = self.verify("--labels", labels, code=3)
        self.assertIn("label differs from the source", said)
        self.assertIn(f"'{names[5]}'", said)
        self.assertIn("1 finding", said)

    def test_labels_that_were_cast_are_not_compared(self):
        for odd in self.photos.glob("*/truncated.png"):
            odd.unlink()
        self.pack()
        self.ok("convert", self.photos, self.out, "--to", "record", "--cast", "label:float32")
        said = self.verify()
        self.assertIn("labels were not compared: they were cast", said)
        self.assertIn("without the field 'label'", said)

    def test_one_file_without_names_of_classes(self):
        self.out = self.folder / "x.tfrecord"
        for odd in self.photos.glob("*/truncated.png"):
            odd.unlink()
        self.pack()
        self.ok("convert", self.photos, self.out)
        self.ok("index", self.out)
        self.assertIn("labels were not compared", self.verify())

    def test_image_work(self):
        for number in range(5):
            write(self.photos / f"{number}big/1.png", png(90, 70, number))
        self.pack()
        self.convert(self.photos, self.out, "--resize", "shorter=20", "--only-larger", "--encode", "png", code=4)
        self.verify()
        write(self.photos / "3big/1.png", png(90, 70, 77))
        self.pack()
        said = self.verify(code=3)
        self.assertIn("'3big/1.png'", said)
        self.assertIn("1 finding", said)

    def test_a_truncated_stream_ends_the_comparison(self):
        self.convert(self.photos, self.out, code=4)
        write(self.stream, self.stream.read_bytes()[:-2000])
        self.refused("verify", self.out, "--against", self.stream, says=("gzip data end in the middle", "the source is damaged"))

    def test_what_cannot_be_compared(self):
        for name in self.in_order():
            if name.endswith(".png"):
                write((self.photos / name).with_suffix(".txt"), b"text")
        self.pack()
        self.convert(self.photos, self.out, code=4)
        with open(self.stream, "rb") as stdin:
            self.refused("verify", self.out, "--against", "-", stdin=stdin, code=2, says=("samples of several files is not for a stream",))
        self.refused("verify", self.out, "--against", self.stream, code=2, says=("samples of several files is not for a stream",))

    def test_repair(self):
        for words, source in (
            (("--classes-from", self.table), "-"),
            (("--classes-from", self.table, "--on-error", "keep"), self.stream),
        ):
            with self.subTest(words):
                shutil.rmtree(self.out, ignore_errors=True)
                self.convert(self.stream, self.out, "--shard-size", "8KiB", *words, code=0 if "keep" in words else 4)
                whole = snapshot(self.out)
                for name in ("shard-000001.tfrecord", "shard-000004.tfrecord"):
                    (self.out / name).unlink()
                self.repair(source)
                self.assertEqual(snapshot(self.out), whole)
                for name in ("ignored.csv", "images.csv"):
                    (self.out / name).unlink()
                self.repair(source)
                self.assertEqual(snapshot(self.out), whole)

    def repair(self, source, code=0):
        with open(self.folder / "x.tar", "rb") as file:
            return self.ok("repair", self.out, "--from", source, code=code, stdin=file)

    def test_repair_from_another_stream(self):
        self.convert(self.stream, self.out, "--shard-size", "8KiB", "--classes-from", self.table, code=4)
        (self.out / "shard-000001.tfrecord").unlink()
        left = snapshot(self.out)
        names = self.pack()
        for name in names[5:25]:  # of the same size, so that only the hash of what is made tells
            photo = bytearray((self.photos / name).read_bytes())
            photo[-14] ^= 1
            write(self.photos / name, bytes(photo))
        self.pack()
        done = self.ok("repair", self.out, "--from", self.stream, code=3)
        self.assertIn("made again it is another file", done.out + done.err)
        self.assertEqual(snapshot(self.out), left)
        write(self.stream, gzip.compress(tar_of(self.folder / "y.tar", (names[0], PHOTO)).read_bytes()))
        self.assertIn("ends before", self.ok("repair", self.out, "--from", self.stream, code=1).err)
        self.assertEqual(snapshot(self.out), left)

    def test_repair_of_a_shuffled_dataset_needs_the_archive(self):
        self.convert(self.photos, self.out, "--shuffle", "--shard-size", "8KiB", code=4)
        (self.out / "shard-000001.tfrecord").unlink()
        self.refused("repair", self.out, "--from", self.stream, code=2, says=("--shuffle is not for a stream",))
        self.repair(self.folder / "x.tar")
