"""Datasets as older versions of shale wrote them."""

from fault_case import IN_MEMORY, FaultCase
from manifests import edit_manifest
from shale_tool import make_photos, write


class CopiesWithoutOrigin(FaultCase):
    """A copy that does not say what the first set was made from is compared by what its first key says."""

    base = IN_MEMORY

    def copy_of(self, source, name, *words):
        self.ok("convert", source, self.folder / f"{name}-first", "--to", "record", *words)
        copy = self.folder / name
        self.ok("convert", self.folder / f"{name}-first", copy, "--to", "hdf5")
        edit_manifest(copy, rb',"origin":"[a-z ]*"', b"")
        return copy

    def test_both_kinds_of_folder_are_told_apart(self):
        photos = make_photos(self.folder / "in", 6)
        by_class = self.copy_of(photos, "classes")
        self.assertNotIn("labels were not compared", self.ok("verify", by_class, "--against", photos).out)
        (photos / "class-1/00001.png").rename(photos / "class-0/00001.png")
        self.refused("verify", by_class, "--against", photos, code=3, says=["class-1/00001.png"])
        keys = sorted(str(path.relative_to(photos)) for path in photos.rglob("*.png"))
        for name, labels in {"numbers": range(6), "names": ["cat", "dog"] * 3}.items():
            write(self.folder / f"{name}.csv", "".join(f"{key},{label}\n" for key, label in zip(keys, labels)).encode())
            flat = self.copy_of(photos, name, "--labels", self.folder / f"{name}.csv")
            self.assertIn("labels were not compared", self.ok("verify", flat, "--against", photos).out)
            self.ok("verify", flat, "--against", photos, "--labels", self.folder / f"{name}.csv")
