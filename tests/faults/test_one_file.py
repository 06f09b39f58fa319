"""One file as output where the disk is full, memory is short, or the name is a link."""

import os

from fault_case import IN_MEMORY, FaultCase
from shale_tool import IS_SANITIZED, make_frames, make_photos, npy, png, write


class OneFile(FaultCase):
    base = IN_MEMORY
    arrays = (".npy", ".npz", ".pt", ".safetensors")
    outputs = ("x.lmdb", "x.h5", "x.tfrecord", *(f"x{suffix}" for suffix in arrays), "x.xunge.lmdb", "x.caffe.lmdb", "x.coclr.lmdb", "x.vlen.h5")

    def setUp(self):
        super().setUp()
        self.photos = make_photos(self.folder / "in", 40, sides=(40, 80))
        self.frames = make_frames(self.folder / "frames", 6, sides=(40, 60))
        write(self.folder / "x.npy", npy("<i8", (4000, 8), self.dice.randbytes(4000 * 64)))

    def command(self, out):
        """Images, or an array where the output holds nothing else; a.LAYOUT.suffix is a file in that layout."""
        if out.suffix in self.arrays:
            return ["convert", self.folder / "x.npy", out]
        layout = out.name.split(".")[1:-1]
        of_frames = "coclr" in layout
        return ["convert", self.frames if of_frames else self.photos, out, *(["--group", "frames"] if of_frames else []), *(["--layout", *layout] if layout else [])]

    def test_a_full_disk(self):
        """A note says that it may not fit, or the check refuses it, or a write fails: never a file under the final name, and then it works."""
        for name in self.outputs:
            whole = self.folder / name.replace("x.", "whole.", 1)
            self.ok(*self.command(whole))
            pages = (whole.stat().st_size + 4095) // 4096
            for free in sorted({1, 3, pages // 2, pages - 8, pages - 1, pages, pages + 1, pages + 2}):
                with self.subTest(name=name, free=free), self.small_disk(f"{4 * free}k") as disk:
                    out = disk / name
                    self.refused(*self.command(out), says=[disk, " free"] if free <= pages - 8 else [disk])
                    self.assertEqual(os.listdir(disk), [])
                    self.remount(disk, "size=16m")
                    self.ok(*self.command(out))
                    self.assertEqual(out.read_bytes(), whole.read_bytes())
                    self.assertEqual(os.listdir(disk), [name])

    def test_a_full_disk_keeps_the_file_that_was_to_be_replaced(self):
        for name in self.outputs:
            with self.subTest(name=name), self.small_disk("128k") as disk:
                write(disk / name, b"old")
                self.refused(*self.command(disk / name), "--overwrite", says=[disk])
                self.assertEqual((disk / name).read_bytes(), b"old")
                self.assertEqual(os.listdir(disk), [name])

    def test_16_mib_of_memory(self):
        if IS_SANITIZED:
            self.skipTest("a sanitizer's memory is not the tool's")
        for i in range(24):
            write(self.photos / f"class-0/large-{i}.png", png(1400, 1000, seed=i % 3))
            write(self.frames / f"class-0/large-{i // 2}/{i}.png", png(1400, 1000, seed=i % 3))
        write(self.folder / "x.npy", npy("<i8", (600_000, 8), self.dice.randbytes(1 << 20) * 37)[: 128 + 600_000 * 64])
        for name in self.outputs:
            with self.subTest(name=name):
                words = self.command(self.folder / f"made-{name}")
                self.within(16, *words, "--jobs", 7)
                self.assertGreater((self.folder / f"made-{name}").stat().st_size, 24 << 20)

    def test_a_link_as_output(self):
        """It is a name like another: refused if it is taken, replaced itself with --overwrite; what it leads to stays."""
        for name in self.outputs:
            for target in ("precious", "nowhere"):
                with self.subTest(name=name, target=target):
                    place = self.folder / f"{target}-{name}"
                    write(place / "precious", b"precious")
                    out = place / name
                    out.symlink_to(target)
                    with self.untouched(place):
                        self.refused(*self.command(out), says=[out, "already exists"])
                    self.ok(*self.command(out), "--overwrite")
                    self.assertFalse(out.is_symlink())
                    self.assertGreater(out.stat().st_size, 1000)
                    self.assertEqual((place / "precious").read_bytes(), b"precious")
                    self.assertEqual(sorted(os.listdir(place)), sorted(["precious", name]))
