"""The base of the tests of archives: a folder of photos, and what its archive must give."""

import os
import shutil

from fault_case import IN_MEMORY, FaultCase
from shale_tool import make_photos, png, write

PHOTO = png(6, 5)


class ArchiveCase(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.photos = self.folder / "photos"
        self.archive = self.folder / "photos.tar"

    def make_set(self):
        """Photos with all that a folder of them may hold besides: nested, hidden, ignored, skipped, odd names."""
        make_photos(self.photos, 30)
        first = self.photos / sorted(os.listdir(self.photos))[0]
        write(first / "deeper/still/x.png", PHOTO)
        write(first / ("long " + 110 * "n" + ".png"), PHOTO)
        write(first / (5 * (60 * "d" + "/") + "x.png"), PHOTO)
        write(first / "not an image.txt", b"text")
        write(first / ".hidden.png", PHOTO)
        write(first / "empty.png", b"")
        write(first / "truncated.png", PHOTO[:-12])
        write(os.fsencode(first) + b"/\xff\xfe.png", PHOTO)
        write(first / "caf\u00e9.png", PHOTO)
        write(self.photos / "README.txt", b"text")
        return self.photos

    def same_as_folder(self, archive, *words, code=4, folder=None):
        shutil.rmtree(self.folder / "of folder", ignore_errors=True)
        shutil.rmtree(self.folder / "of archive", ignore_errors=True)
        of_folder = self.convert(folder or self.photos, self.folder / "of folder", *words, code=code)
        of_archive = self.convert(archive, self.folder / "of archive", *words, code=code)
        splits = [""] if (self.folder / "of folder/dataset.json").exists() else sorted(os.listdir(self.folder / "of folder"))
        self.assertEqual(sorted(os.listdir(self.folder / "of archive")), splits if splits[0] else sorted(os.listdir(self.folder / "of folder")))
        for split in (name for name in splits if name != "duplicates.csv"):
            self.check_same(self.folder / "of folder" / split, self.folder / "of archive" / split)
        self.assertEqual(of_archive.out.replace("of archive", "of folder"), of_folder.out)
        return self.folder / "of archive"
