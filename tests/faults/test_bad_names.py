"""Names that break tools: keys, labels and order must be those of torchvision's ImageFolder, byte for byte."""

import json
import os
import shutil

from fault_case import IN_MEMORY, FaultCase
from shale_tool import GRAY_JPEG, RGB_JPEG, manifest_of, npy, png, run, samples_of, write

# torchvision/datasets/folder.py, 0.15 to 0.29
IMAGE_SUFFIXES = (b".jpg", b".jpeg", b".jpe", b".jfif", b".png", b".ppm", b".bmp", b".pgm", b".tif", b".tiff", b".webp")

LONG = b"n" * 251 + b".png"  # 255 bytes: the most a name can have
ODD_FILES = [
    b"plain.jpg",
    b"two words.jpg",
    b" leading and trailing .jpg",
    b"new\nline.jpg",
    b"tab\tand\rreturn.jpg",
    b"dots...jpg..jpg",
    b"UPPER.JPG",
    b"Mixed.JpEg",
    b"-dash.jpg",
    b"--help.jpg",
    b"%s %n {} $HOME `id`.jpg",
    b"back\\slash.jpg",
    b"quote'\".jpg",
    b"comma,semicolon;.jpg",
    "\N{GRINNING FACE}.jpg".encode(),
    "\N{LATIN SMALL LETTER E WITH ACUTE}.jpg".encode(),  # the same letter, composed and decomposed
    "e\N{COMBINING ACUTE ACCENT}.jpg".encode(),
    b"\xff\xfe\x80.jpg",
    b"\xed\xa0\x80.jpg",  # a surrogate: not UTF-8 either
    b"\x01\x1b[31m.jpg",
    LONG,
]
ODD_FOLDERS = [b"a", b"a-b", b"a b", b"a.b", b"a/b", b"a/b/c", b"a0", b"B", b"\xc3\x28", "\N{SNOWMAN}".encode(), b"shard-000000.tfrecord"]


def image_folder_samples(root):
    """torchvision.datasets.ImageFolder.samples on bytes (its walk re-created: DatasetFolder.find_classes, make_dataset), with JPEG's other suffixes."""
    classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    samples = []
    for label, name in enumerate(classes):
        for folder, _, files in sorted(os.walk(os.path.join(root, name), followlinks=True)):
            for file in sorted(files):
                if file.lower().endswith(IMAGE_SUFFIXES):
                    samples.append((os.path.relpath(os.path.join(folder, file), root), label))
    return classes, samples


class OddNames(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.source = self.folder / "in"
        self.root = os.fsencode(self.source)

    def add(self, *parts, content=RGB_JPEG):
        write(os.path.join(self.root, *parts), content)

    def check_like_image_folder(self, *words):
        with self.untouched(self.source):
            done = run("convert", self.source, self.out, "--to", self.container, "--hidden", "keep", *words)
            self.assertEqual(done.code, 4 if "left out: picture" in done.out else 0, done.err)
            self.ok("verify", self.out, "--deep", "--against", self.source)
        classes, expected = image_folder_samples(self.root)
        found = list(samples_of(self.out))
        self.assertEqual([(key, label) for key, label, _ in found], expected)
        for key, _, image in found:
            with open(os.path.join(self.root, key), "rb") as file:
                self.assertEqual(image, file.read(), key)
        names = [name if isinstance(name, str) else bytes.fromhex(name["bytes"]) for name in manifest_of(self.out)["classes"]]
        self.assertEqual([os.fsencode(name) for name in names], classes)
        return expected

    def test_odd_file_names(self):
        for i, name in enumerate(ODD_FILES):
            self.add(b"cats", name, content=png(3, 3, seed=i))
            self.add(b"dogs", name[::-1][:200] + b".png", content=GRAY_JPEG)  # 255 bytes at most, again
        self.check_like_image_folder()

    def test_odd_folder_and_class_names(self):
        for i, folder in enumerate(ODD_FOLDERS):
            self.add(folder, b"1.jpg", content=png(3, 3, seed=i))
            self.add(b"nested", folder, b"1.jpg", content=png(4, 3, seed=i))
            self.add(b"nested", folder, b"0.PNG", content=png(4, 4, seed=i))
        self.check_like_image_folder("--shard-samples", 3)

    def test_hidden_names_are_taken_with_hidden_keep_and_counted_without(self):
        for name in (b".hidden.jpg", b".jpg", b"..jpg", b".DS_Store", b"._a.jpg", b"seen.jpg"):
            self.add(b"cats", name)
            self.add(b"cats/.folder", name)
        self.assertEqual(len(self.check_like_image_folder()), 10)
        self.convert(self.source, self.folder / "skip", "--hidden", "skip")
        manifest = manifest_of(self.folder / "skip")
        self.assertEqual((manifest["samples"], manifest["ignored"]), (1, 6))  # .folder counts once: it is not entered

    def test_suffixes_are_torchvisions_and_the_others_of_jpeg(self):
        for name in (b"a.jpg", b"a.jpeg", b"a.jpe", b"a.JFIF", b"a.png", b"a.gif", b"a.ppm", b"a.bmp", b"a.pgm", b"a.tif", b"a.tiff", b"a.webp", b"jpg", b"ajpg", b"a.jpg.txt", b"a.jpg~", b"a.JPG "):
            self.add(b"cats", name)
        self.assertEqual(len(self.check_like_image_folder()), 11)

    def test_equal_base_names_are_different_samples(self):
        for folder in (b"cats", b"cats/1", b"cats/1/1", b"dogs", b"Cats"):
            self.add(folder, b"1.jpg")
            self.add(folder, b"1.JPG")
            self.add(folder, b"1.jpg.png")
        self.assertEqual(len(self.check_like_image_folder()), 15)

    def test_a_path_of_many_folders(self):
        self.add(*[b"d" * 200] * 15, b"deep.jpg")  # 3,000 bytes of key
        self.check_like_image_folder()

    def test_a_path_longer_than_the_system_allows_is_named(self):
        folder = os.open(self.folder.path, os.O_RDONLY)
        for name in [b"in"] + [b"d" * 250] * 17:
            os.mkdir(name, dir_fd=folder)
            below = os.open(name, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = below
        with open(os.open(b"x.jpg", os.O_WRONLY | os.O_CREAT, dir_fd=folder), "wb") as file:
            file.write(RGB_JPEG)
        os.close(folder)
        try:
            self.refused("convert", self.source, self.out, "--to", "record", says=["File name too long"])
        finally:
            shutil.rmtree(self.root)  # goes by descriptors; the folder's own removal goes by paths

    def test_every_key_is_found_and_shown_safely(self):
        for i, name in enumerate(ODD_FILES):
            self.add(b"cats", name, content=png(3, 3, seed=i))
        self.convert(self.source, self.out)
        for i, name in enumerate(ODD_FILES):
            done = self.ok("cat", self.out, "--key", b"cats/" + name)
            self.assertEqual(os.fsencode(done.out), png(3, 3, seed=i), name)
            shown = json.loads(self.ok("cat", self.out, "--key", b"cats/" + name, "--json").out)["key"]
            self.assertTrue(shown.isprintable(), shown)

    def test_messages_show_names_safely(self):
        self.add(b"cats", b"evil\n\x1b[31m\xff.jpg", content=b"")
        done = self.refused("convert", self.source, self.out, "--to", "record", "--on-error", "fail")
        self.assertIn(r"cats/evil\n\x1b[31m\xff.jpg", done.err)
        self.add(b"cats", b"good.jpg")
        done = self.convert(self.source, self.out, code=4)
        self.assertIn(r"cats/evil\n\x1b[31m\xff.jpg", done.out)

    def test_input_and_output_may_have_odd_names_too(self):
        for name in (b"new\nline", b"\xff", b"with space", "\N{GRINNING FACE}".encode()):
            source, out = os.path.join(os.fsencode(self.folder.path), name), os.path.join(os.fsencode(self.folder.path), name + b".out")
            write(os.path.join(source, b"cats/1.jpg"))
            self.convert(source, out)
            self.ok("verify", out, "--against", source)
            self.ok("info", out, "--json")


class OddNamesOfFiles(FaultCase):
    """One file may be called anything: its index names it, and JSON is UTF-8 whatever is in it."""

    base = IN_MEMORY
    STEMS = (b"\xff", b"a\xfe.b", b".hidden", b"back\\slash", b"quote'\"", "\N{RIGHT-TO-LEFT OVERRIDE}".encode(), b"new\nline")

    def test_every_command_takes_them(self):
        write(self.folder / "photos/cats/1.jpg")
        write(self.folder / "photos/dogs/2.jpg", GRAY_JPEG)
        photos, root = self.folder / "photos", os.fsencode(self.folder.path)
        for stem in self.STEMS:
            for suffix in (b"lmdb", b"tfrecord", b"h5"):
                with self.subTest(stem=stem, suffix=suffix):
                    path = os.path.join(root, stem + b"." + suffix)
                    for words in (("convert", photos, path, "--with-index"), ("convert", photos, path, "--verify", "--overwrite"), ("index", path), ("index", path, "--crc")):
                        json.loads(self.ok(*words, "--json").out)
                    for words in (("info", path), ("verify", path, "--against", photos), ("ls", path), ("cat", path, "1"), ("index", path, "--dry-run")):
                        json.loads(self.ok(*words, "--json").out)
                    self.ok("convert", path, self.out, "--to", "record", "--overwrite")
                    self.ok("verify", self.out, "--against", path)

    def test_arrays_and_lists_of_outputs(self):
        write(self.folder / "x.npy", npy("<i4", (4,), bytes(16)))
        root = os.fsencode(self.folder.path)
        for number, stem in enumerate(self.STEMS):
            with self.subTest(stem=stem):
                for suffix in (b"npy", b"npz", b"pt", b"safetensors"):
                    path = os.path.join(root, stem + b"." + suffix)
                    facts = json.loads(self.ok("convert", self.folder / "x.npy", path, "--json").out)
                    self.assertTrue(facts["output"].endswith("." + suffix.decode()))
                    json.loads(self.ok("verify", path, "--json").out)
                    self.ok("convert", path, self.folder / f"out{number}-{suffix.decode()}", "--to", "npy", "--json")
                drawn = os.path.join(root, b"drawn" + stem + b".npy")
                json.loads(self.ok("resample", self.folder / "x.npy", drawn, "--json").out)

    def test_a_set_of_them(self):
        write(self.folder / "photos/cats/1.jpg")
        root = os.path.join(os.fsencode(self.folder.path), b"set\xff")
        os.mkdir(root)
        for number, stem in enumerate(self.STEMS[:2]):
            write(self.folder / f"photos/cats/{number}.png", png(3, 3, seed=number))
            self.ok("convert", self.folder / "photos", os.path.join(root, stem + b".tfrecord"))
        for words in (("info", root), ("index", root), ("verify", root), ("ls", root), ("convert", root, self.out, "--to", "record")):
            json.loads(self.ok(*words, "--json").out)
