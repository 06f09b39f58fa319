"""The base of the tests of streams: a folder of photos, and the archive of it that is read as a stream."""

import io
import os
import shutil
import subprocess
import tarfile

from fault_case import IN_MEMORY, FaultCase
from shale_tool import make_photos, png, write

PHOTO = png(6, 5)


def zstd(data, *options):
    return subprocess.run(["zstd", "-q", *options], input=data, capture_output=True, check=True).stdout


class StreamCase(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.photos = self.folder / "photos"
        self.table = self.folder / "classes"
        self.stream = self.folder / "x.tar.gz"

    def make_set(self):
        """Photos, with what a folder of them may hold besides: nested, hidden, ignored, skipped."""
        make_photos(self.photos, 30)
        first = self.photos / sorted(os.listdir(self.photos))[0]
        write(first / "deeper/still/x.png", PHOTO)
        write(first / "deeper-/x.png", PHOTO)
        write(first / ("long " + 110 * "n" + ".png"), PHOTO)
        write(first / "not an image.txt", b"text")
        write(first / ".hidden.png", PHOTO)
        write(first / ".hidden/a.png", PHOTO)
        write(first / ".hidden/b.png", PHOTO)
        write(first / "empty.png", b"")
        write(first / "truncated.png", PHOTO[:-12])
        write(self.photos / "README.txt", b"text")
        self.make_table()

    def make_table(self):
        names = sorted(name for name in os.listdir(self.photos) if (self.photos / name).is_dir())
        write(self.table, "".join(f"{name}\n" for name in names).encode())

    def in_order(self):
        """The paths of all files in the order of ImageFolder."""
        paths = [os.path.relpath(os.path.join(top, name), self.photos) for top, _, names in os.walk(self.photos) for name in names]
        return sorted(paths, key=lambda path: (path.split("/")[0], os.path.dirname(path) + "\0" + os.path.basename(path)))

    def archive_in_order(self, top=""):
        """The bytes of an archive of the photos, so that a stream has the samples in the order of the folder."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as writer:
            for name in self.in_order():
                writer.add(self.photos / name, arcname=top + name)
        return archive.getvalue()

    def convert_bytes(self, content, out, *words, source="-", **options):
        """Converts them from stdin."""
        write(self.folder / "stdin", content)
        with open(self.folder / "stdin", "rb") as file:
            return self.convert(source, out, *words, stdin=file, **options)

    def same_as_folder(self, source, *words, code=4, content=None, table=True):
        for place in ("of folder", "of stream"):
            shutil.rmtree(self.folder / place, ignore_errors=True)
        words = [*words, "--classes-from", self.table] if table else words
        of_folder = self.convert(self.photos, self.folder / "of folder", *words, code=code)
        if content is None:
            of_stream = self.convert(source, self.folder / "of stream", *words, code=code)
        else:
            of_stream = self.convert_bytes(content, self.folder / "of stream", *words, source=source, code=code)
        self.check_same(self.folder / "of folder", self.folder / "of stream")
        self.assertEqual(of_stream.out.replace("of stream", "of folder"), of_folder.out)
        return self.folder / "of stream"
