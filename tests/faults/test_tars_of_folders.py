"""The tar archive of a folder that looks like one of WebDataset's samples is still that folder to the dataset that was made of it."""

import gzip
import os

from fault_case import IN_MEMORY, FaultCase
from shale_tool import png, write
from tar_archives import tar_of


class TarsOfFolders(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.photos = self.folder / "photos"
        self.names = sorted(f"{'abc'[i % 3]}/{i:02}" for i in range(24))
        for i, name in enumerate(self.names):
            write(self.photos / f"{name}.png", png(5, 4, i))
            write(self.photos / f"{name}.txt", b"caption %d" % i)
        self.pack()

    def pack(self):
        """Without entries for folders, as `tar` makes it of a list of files."""
        files = sorted(os.path.relpath(os.path.join(top, name), self.photos) for top, _, names in os.walk(self.photos) for name in names)
        self.tar = tar_of(self.folder / "x.tar", *((name, (self.photos / name).read_bytes()) for name in files))
        write(self.folder / "x.tar.gz", gzip.compress(self.tar.read_bytes()))

    def compared(self, *words, code=0):
        """The same by name and, where the words do not say otherwise, as streams."""
        said = [self.ok("verify", self.out, "--against", self.tar, *words, code=code)]
        if "pairs" not in words:
            said.append(self.ok("verify", self.out, "--against", self.folder / "x.tar.gz", *words, code=code))
            with open(self.tar, "rb") as stdin:
                said.append(self.ok("verify", self.out, "--against", "-", *words, code=code, stdin=stdin))
        return said

    def test_it_is_compared_as_the_folder(self):
        self.assertIn("caption", self.ok("cat", self.tar, "0", "--field", "txt").out)  # by itself it is one of samples
        self.convert(self.photos, self.out, "--pairs", "off")
        for done in self.compared():
            self.assertIn("24 samples", done.out)
        write(self.photos / f"{self.names[5]}.png", png(5, 4, 99))
        self.pack()
        for done in self.compared(code=3):
            self.assertIn(f"{self.names[5]}.png", done.err)

    def test_texts_beside_images(self):
        self.convert(self.photos, self.out, "--pairs", "on")
        self.assertIn("24 samples", self.ok("verify", self.out, "--against", self.tar).out)
        write(self.photos / f"{self.names[7]}.txt", b"other words")
        self.pack()
        self.assertIn(f"{self.names[7]}.png", self.ok("verify", self.out, "--against", self.tar, code=3).err)
        self.refused(
            "verify",
            self.out,
            "--against",
            self.folder / "x.tar.gz",
            code=2,
            says=("a comparison of samples of several files is not for a stream",),
        )

    def test_shards_are_made_again_from_it(self):
        for words in ("--pairs", "off"), ("--pairs", "on"):
            self.convert(self.photos, self.out, *words, "--shard-samples", "6", "--overwrite")
            for source in (self.tar, self.folder / "x.tar.gz"):
                if words[1] == "on" and source != self.tar:
                    continue
                with self.subTest(words=words, source=source):
                    shard = self.out / "shard-000001.tfrecord"
                    whole = shard.read_bytes()
                    shard.write_bytes(whole[:-9])
                    self.ok("repair", self.out, "--from", source)
                    self.assertEqual(shard.read_bytes(), whole)

    def test_samples_of_other_keys_are_no_folder(self):
        self.convert(self.photos, self.out, "--pairs", "off")
        members = [
            (f"{prefix}{i:04}.{extension}", content)
            for prefix in ("",)
            for i in range(9)
            for extension, content in (("cls", b"1"), ("png", png(5, 4, i)))
        ]
        for prefix in ("", "d/"):
            other = tar_of(self.folder / "other.tar", *((prefix + name, content) for name, content in members))
            with self.subTest(prefix):
                done = self.ok("verify", self.out, "--against", other, code=3)
                self.assertIn("none of its keys is in this source", done.err)
                self.assertNotIn("class folder", done.out + done.err)
