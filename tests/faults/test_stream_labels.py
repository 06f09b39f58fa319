"""A file of labels for an archive that is read as a stream: what the unpacked folder gives, byte for byte, whatever the form of the file; and what
does not go together is named and counted."""

import gzip
import json
import shutil

import stream_case
from shale_tool import png, write
from stream_case import PHOTO
from tar_archives import tar_of


class StreamLabels(stream_case.StreamCase):
    def setUp(self):
        super().setUp()
        self.labels = self.folder / "labels.csv"

    def make_flat(self, nested=True, name="photo{:03}.png"):
        for number in range(24):
            folder = "deep/er/" if nested and number % 3 == 0 else ""
            write(self.photos / folder / name.format(number + 1), png(5 + number, 4, number))
        write(self.photos / "notes.txt", b"text")
        write(self.photos / ".hidden/photo001.png", PHOTO)
        write(self.photos / "truncated.png", PHOTO[:-12])
        archive = tar_of(self.folder / "x.tar", *((name, (self.photos / name).read_bytes()) for name in self.paths())).read_bytes()
        write(self.stream, gzip.compress(archive, 1))

    def paths(self):
        return sorted((str(path.relative_to(self.photos)) for path in self.photos.rglob("*.*") if path.is_file()), key=self.place)

    @staticmethod
    def place(path):
        folder, _, name = path.rpartition("/")
        return (folder, name)

    def rows(self, names=("ant", "bee", "cat"), key=lambda path: path):
        """A row for each photo but one, and one for a photo that is not there."""
        photos = [path for path in self.paths() if path.endswith(".png") and not path.startswith(".")]
        photos[5] = "missing.png"
        return [(key(path), names[number % len(names)]) for number, path in enumerate(photos)]

    def same(self, *words, code=4):
        return self.same_as_folder(self.stream, "--labels", self.labels, *words, code=code, table=False)

    def test_every_form_of_a_file(self):
        self.make_flat()
        stem = lambda path: path[: -len(".png")]
        name = lambda path: path.rpartition("/")[2]
        for form, rows in {
            "paths": self.rows(),
            "numbers": self.rows(("7", "-1", "3")),
            "names": self.rows(key=name),
            "stems": self.rows(key=lambda path: stem(name(path))),
            "paths without suffix": self.rows(key=stem),
            "dots": self.rows(key=lambda path: "./" + path),
            "odd keys": [*self.rows(), ("deep//x.png", "ant"), ("deep/", "ant"), ("/x.png", "bee")],
        }.items():
            with self.subTest(form):
                write(self.labels, "".join(f"{key},{label}\n" for key, label in [("path", "label"), *reversed(rows)]).encode())
                out = self.same()
                self.assertIn(b"missing", (out / "ignored.csv").read_bytes())
                self.assertIn(b"missing-row", (out / "skipped.csv").read_bytes())
        self.ok("verify", out, "--against", self.photos, "--labels", self.labels)
        self.labels = self.folder / "labels.jsonl"
        write(self.labels, "".join(json.dumps({"file": key, "what": label}) + "\n" for key, label in self.rows()).encode())
        self.same("--label-column", "what", "--key-column", "file", "--hidden", "keep")

    def test_a_flat_archive_has_no_note_on_folders(self):
        self.make_flat(nested=False)
        write(self.labels, "".join(f"{key},{label}\n" for key, label in self.rows()).encode())
        self.assertNotIn("whatever folder", self.convert(self.stream, self.out, "--labels", self.labels, code=4).err)
        self.same("--memory", "16MiB", "--jobs", "1")

    def test_a_class_table(self):
        self.make_flat()
        write(self.table, b"cat\nbee\nzebra\nant\n")
        write(self.labels, "".join(f"{key},{label}\n" for key, label in [*self.rows(), ("gone.png", "dog")]).encode())
        self.same("--classes-from", self.table)  # nobody has the class that the table lacks
        write(self.labels, "".join(f"{key},{label}\n" for key, label in self.rows(("ant", "dog"))).encode())
        for source in (self.photos, self.stream):
            self.refused("convert", source, self.out, "--to", "record", "--labels", self.labels, "--classes-from", self.table, says=("dog",))
        write(self.labels, "".join(f"{key},{label}\n" for key, label in self.rows(("3", "4"))).encode())
        says = ("label 4 is not one of the class table's 4 labels", "hint: write class names")
        for source in (self.photos, self.stream):
            self.refused("convert", source, self.out, "--to", "record", "--labels", self.labels, "--classes-from", self.table, says=says)

    def test_ground_truth(self):
        self.make_flat(nested=False, name="ILSVRC2012_val_{:08}.png")
        (self.photos / "truncated.png").unlink()
        archive = [(path, (self.photos / path).read_bytes()) for path in reversed(self.paths())]
        write(self.stream, gzip.compress(tar_of(self.folder / "x.tar", *archive).read_bytes(), 1))
        self.labels = self.folder / "ILSVRC2012_validation_ground_truth.txt"
        write(self.folder / "map_clsloc.txt", b"n02119789 1 kit_fox\nn02100735 2 English_setter\nn02110185 3 husky\n")
        write(self.labels, "".join(f"{number % 3 + 1}\n" for number in range(24)).encode())
        self.convert(self.photos, self.folder / "of folder", "--labels", self.labels)
        self.convert(self.stream, self.out, "--labels", self.labels)
        rows = [sorted(line.split("\t")[1:] for line in self.ok("ls", out, "--tsv").out.splitlines()) for out in (self.folder / "of folder", self.out)]
        self.assertEqual(*([row[:3] for row in side] for side in rows))
        shutil.rmtree(self.out)
        write(self.labels, b"1\n2\n3\n" * 7)
        self.refused("convert", self.stream, self.out, "--to", "record", "--labels", self.labels, says=("has 21 rows", "24 images"))
        write(self.labels, b"1\n2\n3\n" * 8)
        tar_of(self.folder / "x.tar", ("odd.png", PHOTO), *archive[1:])
        write(self.stream, gzip.compress((self.folder / "x.tar").read_bytes(), 1))
        self.refused("convert", self.stream, self.out, "--to", "record", "--labels", self.labels, says=("no number in its name", "odd.png"))

    def test_what_does_not_go_together(self):
        self.make_flat()
        words = ("--to", "record", "--labels", self.labels)
        write(self.labels, "".join(f"{key},{label}\n" for key, label in self.rows()[:5]).encode())
        self.refused("convert", self.stream, self.out, *words, "--on-error", "fail", says=("has no label in", "photo"))
        self.refused("convert", self.stream, self.out, *words, "--max-errors", "2", says=("more than --max-errors",))
        write(self.labels, b"other/a.png,ant\nother/b.png,bee\n")
        self.refused("convert", self.stream, self.out, *words, says=("other/a.png", "is not an image below"))
        write(self.labels, b"".join(b"%s,1\n" % path.encode() for path in self.paths() if path.endswith(".png")) + b"gone.png,2\n")
        self.refused("convert", self.stream, self.out, *words, "--on-error", "fail", says=("gone.png", "is not an image below"))
        write(self.labels, b"photo001.png,1\nphoto001.png,2\n")
        self.refused("convert", self.stream, self.out, *words, says=("more than one row",))
        write(self.labels, b"x,ant\nphoto001,1\n")
        self.refused("convert", self.stream, self.out, *words, says=("labels are all integers or all names",))
        tar_of(self.folder / "x.tar", ("a/x.png", PHOTO), ("b/x.png", PHOTO))
        write(self.stream, gzip.compress((self.folder / "x.tar").read_bytes()))
        write(self.labels, b"x.png,1\n")
        self.refused("convert", self.stream, self.out, *words, says=("key 'x.png' names two files, a/x.png and b/x.png",))
        tar_of(self.folder / "x.tar", ("a/x.png", PHOTO), ("a/x.png", PHOTO))
        write(self.stream, gzip.compress((self.folder / "x.tar").read_bytes()))
        self.refused("convert", self.stream, self.out, *words, says=("a/x.png", "not unique"))

    def test_many_rows_in_little_memory(self):
        members = [(f"f{number % 7}/{number * 7919 % 20000:05}.png", PHOTO) for number in range(20000)]
        content = tar_of(self.folder / "x.tar", *members).read_bytes()
        write(self.labels, "".join(f"{number:05},{number % 1000}\n" for number in range(20000)).encode())
        self.convert_bytes(content, self.out, "--labels", self.labels, "--memory", "16MiB")
        lines = [line.split("\t") for line in self.ok("ls", self.out, "--tsv").out.splitlines()]
        self.assertEqual(len(lines), 20000)
        for line in lines[::97]:
            self.assertEqual(int(line[1][3:8]) % 1000, int(line[2]), line)
