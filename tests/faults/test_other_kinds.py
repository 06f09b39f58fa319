"""A sound file of another kind than the place takes, under any name: refused, but never called damaged."""

import gzip
import io
import sqlite3
import tarfile
import zipfile

from fault_case import BUG_MARKS, IN_MEMORY, FaultCase
from shale_tool import RGB_JPEG, make_photos, npy, png, run, write

FOUR = npy("<f4", (6, 2), bytes(48))
# What shale reads in no place. A header alone is as good as a file for some: nothing behind it is looked at.
OTHERS = {
    "csv": b"path,label\na.jpg,0\nb.jpg,1\n", "txt": b"hello world\n", "png": png(8, 6), "gz": gzip.compress(b"a,b\n" * 500),
    "parquet": b"PAR1" + bytes(40) + b"PAR1", "zst": b"\x28\xb5\x2f\xfd" + bytes(20), "bin": bytes(4096),
    "mat": b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\x01IM" + bytes(64),
}  # fmt: skip
# {} is the file.
EVERYWHERE = [
    "convert {} O --to record", "convert x={} O --to npy", "convert x={} y=good.npy O --to lmdb", "convert good.npy {} O.npy", "convert image=photos mask={} O --to record",
    "convert photos O --to record --labels {}", "convert photos O --to record --classes-from {}", "convert photos O --to record --select {}",
    "convert photos O --to record --exclude {}", "convert photos O --to record --split train={}", "convert photos O --to record --listing {}",
    "convert good.npy O.npy --select {}", "convert {} set --to record --append", "verify {}", "info {}", "cat {} 0", "index {} --index-dir O", "resample {} O.npy",
    "resample good.npy O.npy --indices {}", "resample good.npy O.npy --weights {}",
    "resample good.npy O.npy --also {}=P.npy", "repair {} --from set",
]  # fmt: skip
AS_SOURCE = ["verify set --against {}", "verify set --against x={}", "verify one.npy --against {}", "verify {} --against photos"]


class OtherKinds(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        make_photos(self.folder / "photos", 6)
        write(self.folder / "good.npy", FOUR)
        self.ok("convert", "photos", "set", "--to", "record", cwd=self.folder.path)
        self.ok("convert", "good.npy", "one.npy", cwd=self.folder.path)

    def never_damaged(self, content, name, lines):
        write(self.folder / name, content)
        for number, line in enumerate(lines):
            words = line.format(name).replace(" O", f" {name}-{number}-O").replace("=P", f"={name}-{number}-P").split()
            done = run(*words, cwd=self.folder.path)
            story = f"shale {' '.join(words)}: exit {done.code}\n{done.out}{done.err}"
            self.assertIn(done.code, (0, 1, 2, 3, 4), story)
            for mark in (*BUG_MARKS, "was truncated"):
                self.assertNotIn(mark, done.err, story)

    def test_files_that_shale_does_not_read(self):
        for kind, content in OTHERS.items():
            names = [f"a.{kind}", f"{kind}.npy", *(f"{kind}.{suffix}" for suffix in ("h5", "lmdb", "tfrecord") if kind == "gz")]
            for name in names:
                self.never_damaged(content, name, EVERYWHERE + AS_SOURCE)

    def test_files_that_it_reads_elsewhere(self):
        for suffix, source in {"h5": "good.npy", "lmdb": "photos", "tfrecord": "photos"}.items():
            self.ok("convert", source, f"made.{suffix}", cwd=self.folder.path)
        found = {path.suffix[1:]: path.read_bytes() for path in self.folder.path.glob("made.*")}
        with tarfile.open(fileobj=(buffer := io.BytesIO()), mode="w") as archive:
            archive.add(self.folder / "photos", "photos")
        found["tar"] = buffer.getvalue()
        for kind, member, content in (("npz", "x.npy", FOUR), ("zip", "cat/0.jpg", RGB_JPEG)):
            with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
                archive.writestr(member, content)
            found[kind] = buffer.getvalue()
        sqlite3.connect(self.folder / "made.sqlite").execute("create table t(a)").connection.close()
        found["sqlite"] = (self.folder / "made.sqlite").read_bytes()
        for kind, content in found.items():
            self.never_damaged(content, f"a.{kind}", EVERYWHERE)
            self.never_damaged(content, f"{kind}.npy", EVERYWHERE)

    def test_images_with_the_suffix_of_another_kind_are_images(self):
        photos = self.folder / "named"
        for kind, content in {"png": OTHERS["png"], "jpg": RGB_JPEG}.items():
            for suffix in ("jpg", "png", "webp", "tif", "bmp", "JPEG"):
                write(photos / f"class-0/{kind}.{suffix}", content)
        self.ok("convert", photos, self.out, "--to", "record")
        self.ok("verify", self.out, "--against", photos)
