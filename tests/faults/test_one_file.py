"""One file as output where the disk is full, memory is short, or the name is a link."""

import json
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

    def varied(self):
        """A folder whose metadata gives fields of several shapes, that some samples lack, JSON and lists of text: the first sample lacks most."""
        folder = self.folder / "varied"
        rows = []
        for i in range(9):
            write(folder / f"{i}.png", png(8, 8, seed=i))
            row = {"file_name": f"{i}.png", "boxes": [[i, 1, 2]] * (1 + i % 3), "said": ["a", "é"][: i % 3], "about": {"i": i}}
            rows.append(row if i % 4 == 0 else {**row, "n": i, "wave": [0.5] * i, "note": f"n{i}"})
        write(folder / "metadata.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
        return folder

    def facts(self, path):
        done = self.ok("info", "--json", path)
        return json.loads(done.out)

    def test_an_index_that_was_copied_under_another_name_leads_nowhere(self):
        """It names the file that was indexed, which lies beside the copy and is another one by now."""
        for name in ("x.lmdb", "x.h5", "x.tfrecord"):
            with self.subTest(name=name):
                whole, copy = self.folder / name, self.folder / f"copy-{name}"
                self.ok("convert", self.photos, whole, "--with-index")
                for path in sorted(self.folder.path.glob(name + "*")):
                    (self.folder / f"copy-{path.name}").write_bytes(path.read_bytes())
                content = bytearray(whole.read_bytes())
                content[content.index(b"IHDR") + 40] ^= 1
                copy.write_bytes(content)
                says = [f"the index beside it is that of '{name}'", f"copy-{name}.dataset.json"]
                self.refused("convert", copy, self.out, "--to", "record", says=says)
                self.refused("cat", copy, 0, says=says)
                self.refused("verify", copy, says=says)
                self.refused("index", copy, says=["move it away"])
                for path in self.folder.path.glob(f"copy-{name}.*"):
                    path.unlink()
                copy.write_bytes(whole.read_bytes())
                self.ok("index", copy, "--crc")
                self.ok("cat", copy, 0)

    def test_a_file_alone_says_what_its_fields_are(self):
        """Whatever its first sample lacks: every command reads it as what it is, and it is the source's equal."""
        folder = self.varied()
        self.ok("convert", folder, self.folder / "set", "--to", "record")
        expected = self.facts(self.folder / "set")
        for name in ("x.lmdb", "x.h5", "x.tfrecord"):
            with self.subTest(name=name):
                file, back = self.folder / name, self.folder / f"back-{name[2:]}"
                self.ok("convert", folder, file)
                found = self.facts(file)
                if name != "x.tfrecord":
                    self.assertEqual(found["fields"], expected["fields"])
                shapes = {field["name"]: (field["kind"], field.get("shape")) for field in found["fields"]}
                self.assertEqual(shapes["boxes"], ("tensor", [None, 3]))
                self.assertEqual(shapes["wave"], ("tensor", [None]))
                self.ok("verify", file)
                self.ok("verify", file, "--deep")
                self.ok("index", file, "--crc", "--index-dir", self.folder / f"index-{name}")
                self.ok("convert", file, back, "--to", "lmdb")
                if name != "x.tfrecord":
                    self.assertEqual(self.facts(back)["content_digest"], expected["content_digest"])
                    self.assertIn("the source holds the same samples", self.ok("verify", file, "--against", self.folder / "set").out)
