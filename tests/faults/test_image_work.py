"""Image work as a step of the conversion: the same bytes for any jobs, memory and kill; damage follows --on-error; what verify, repair, append and merge make of it."""

import ast
import pathlib
import shutil
import struct
import unittest
import zlib

from fault_case import IN_MEMORY, FaultCase
from shale_tool import CMYK_JPEG, GRAY_JPEG, RGB_JPEG, make_frames, make_photos, manifest_of, png, run, samples_of, write
from steps_case import StepsCase

RESIZE = ("--resize", "shorter=24", "--quality", 80)


def make_mixed(root):
    """Photos of all sizes and types, one of which is large."""
    photos = make_photos(root, 24, sides=(8, 200))
    for number, content in enumerate((RGB_JPEG, GRAY_JPEG, CMYK_JPEG, png(658, 569), png(1400, 900), b"P5\n40 30\n255\n" + b"7" * 1200)):
        write(photos / f"class-{number % 3}/more-{number}", content)
    (photos / "class-2/more-2").rename(photos / "class-2/more-2.jpg")
    for number, suffix in enumerate(("jpg", "jpg", None, "png", "png", "pgm")):
        if suffix:
            (photos / f"class-{number % 3}/more-{number}").rename(photos / f"class-{number % 3}/more-{number}.{suffix}")
    return photos


def blank_png(width, height, most=None, pixel=1):
    """A gray PNG (RGBA of 16 bits if a pixel has 8 bytes) that is small, however many pixels it has; `most`: whose pixels end after so many bytes, in whole chunks."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    rows = zlib.compress(bytes((pixel * width + 1) * height), 1)[:most]
    header = struct.pack(">IIBBBBB", width, height, *((16, 6) if pixel == 8 else (8, 0)), 0, 0, 0)
    return png(1, 1)[:8] + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def deep_png(width, height, color, bits=16, seed=0):
    """Of a color type of PNG: 0 gray, 2 RGB, 4 and 6 the same with alpha."""
    whole = png({0: 1, 2: 3, 4: 2, 6: 4}[color] * width * (bits // 8), height, seed)
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
    return whole[:12] + header + struct.pack(">I", zlib.crc32(header)) + whole[33:]


def array_of(path):
    """The shape of an .npy file, and its data."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<H", data[8:10])
    return ast.literal_eval(data[10 : 10 + length].decode())["shape"], data[10 + length :]


def pixels_of(image):
    """Width, height and rows of a gray PNG of 8 bits whose rows are not filtered."""
    width, height = struct.unpack(">II", image[16:24])
    data, at = b"", 8
    while at < len(image):
        (length,) = struct.unpack(">I", image[at : at + 4])
        if image[at + 4 : at + 8] == b"IDAT":
            data += image[at + 8 : at + 8 + length]
        at += 12 + length
    lines = zlib.decompress(data)
    return width, height, [lines[1 + y * (width + 1) : (y + 1) * (width + 1)] for y in range(height)]


class ImageWork(FaultCase):
    base = IN_MEMORY

    def setUp(self):
        super().setUp()
        self.photos = make_mixed(self.folder / "photos")

    def work(self, source, name, *words, code=0):
        out = self.folder / name
        self.ok("convert", source, out, "--to", "record", *words, code=code)
        return out

    def test_any_jobs_and_memory_give_the_same_bytes(self):
        words = ["convert", self.photos, "--to", "record", "--shuffle", "--shard-samples", 9, *RESIZE]
        self.ok(*words, self.out, "--jobs", 1)
        for jobs, memory in ((1, 16), (4, 16), (2, 64), (3, 256)):
            with self.subTest(jobs=jobs, memory=memory):
                other = self.folder / f"{jobs}-{memory}"
                self.within(memory, *words, other, "--jobs", jobs)
                self.check_same(self.out, other)

    def test_images_have_the_size_and_what_needs_no_change_its_bytes(self):
        self.work(self.photos, "out", "--resize", "exact=30x20", "--only-larger")
        for key, _, image in samples_of(self.out):
            source = (self.photos / key.decode()).read_bytes()
            if source.startswith(b"\x89PNG"):
                width, height = struct.unpack(">II", source[16:24])
                is_larger = width > 30 or height > 20
                self.assertEqual(struct.unpack(">II", image[16:24]), (30, 20) if is_larger else (width, height), key)
                self.assertEqual(image == source, not is_larger, key)
        changed = manifest_of(self.out)["images"]["changed"]
        self.assertEqual(changed["kept"] + changed["resized"], 30)

    def test_what_does_not_decode_follows_on_error(self):
        """One is cut short, which its header tells; of the other only decoding tells."""
        bad = {"class-1/cut.jpg": RGB_JPEG[:-40], "class-1/cut.png": blank_png(90, 70, most=20)}
        for name, content in bad.items():
            write(self.photos / name, content)
        skipped = self.work(self.photos, "skipped", "--resize", "shorter=4", code=4)
        for name in bad:
            self.assertIn(name, (skipped / "skipped.csv").read_text())
        self.assertEqual(manifest_of(skipped)["samples"], 30)
        kept = self.work(self.photos, "kept", "--resize", "shorter=4", "--on-error", "keep")
        self.assertEqual(manifest_of(kept)["samples"], 32)
        images = {key.decode(): image for key, _, image in samples_of(kept)}
        for name, content in bad.items():
            self.assertEqual(images[name], content)
        for made in (skipped, kept):
            self.ok("verify", made, "--against", self.photos)
        words = ["convert", self.photos, self.out, "--to", "record", "--resize", "shorter=4", "--jobs", 3]
        self.refused(*words, "--on-error", "keep", "--encode", "raw", "--crop", "center=2x2", code=2, says=["--encode raw"])
        for name in bad:
            self.refused(*words, "--on-error", "fail", says=[name])
            (self.photos / name).unlink()
        self.assertFalse(self.out.exists())

    def test_an_image_beyond_the_memory_ends_the_run(self):
        """Even with --on-error skip: were it left out, the result would depend on the machine."""
        wide = self.folder / "wide"
        write(wide / "class-0/wide.png", blank_png(16000, 8000))
        words = ["--crop", "center=9000x6000", "--on-error", "skip", "--memory", "64MiB"]
        done = self.refused("convert", wide, self.out, "--to", "record", *words)
        self.assertRegex(done.err, r"class-0/wide.png.*16000 x 8000 pixels takes \d{8,} bytes, but at this --memory \d{8} may be taken for that\nhint: pass a larger --memory: \d+MiB is enough")

    def test_images_of_sixteen_bits_and_with_alpha(self):
        """The same bytes for any jobs and memory, verified and repaired from the source; large ones within the memory."""
        deep = self.folder / "deep"
        for number, (color, bits) in enumerate(((0, 16), (2, 16), (4, 16), (6, 16), (6, 8), (4, 8)) * 2):
            write(deep / f"class-{number % 2}/{number:02}.png", deep_png(90 + 7 * number, 120 - 6 * number, color, bits, number))
        for number in range(3):
            write(deep / f"class-1/large-{number}.png", blank_png(1400, 1100 + number, pixel=8))
        words = ["convert", deep, "--to", "record", "--shard-samples", 6, "--resize", "shorter=33", "--crop", "center=31x32"]
        self.ok(*words, self.out, "--jobs", 1)
        for jobs, memory in ((4, 16), (3, 64)):
            self.within(memory, *words, self.folder / f"{jobs}", "--jobs", jobs)
            self.check_same(self.out, self.folder / f"{jobs}")
        kinds = {image[24:26] for _, _, image in samples_of(self.out)}
        self.assertEqual(kinds, {bytes((16, color)) for color in (0, 2, 4, 6)} | {bytes((8, color)) for color in (4, 6)})
        self.ok("verify", self.out, "--against", deep, "--memory", "16MiB")
        shard = self.folder / "3/shard-000001.tfrecord"
        content = bytearray(shard.read_bytes())
        content[len(content) // 2] ^= 1
        shard.write_bytes(content)
        self.ok("repair", self.folder / "3", "--from", deep)
        self.check_same(self.out, self.folder / "3")

    def test_bad_images_only_are_a_failure(self):
        junk = self.folder / "junk"
        for number in range(12):
            write(junk / f"class-0/{number:02}.jpg", b"no image")
        self.refused("convert", junk, self.out, "--to", "record", says=["'class-0/00.jpg'", "'class-0/02.jpg'", "--max-errors"])
        for number in range(3, 12):
            (junk / f"class-0/{number:02}.jpg").unlink()
        self.refused("convert", junk, self.out, "--to", "record", says=["3 bad images", "class-0/00.jpg"])
        self.assertFalse(self.out.exists())

    def test_large_images_use_the_memory_one_after_another(self):
        """The heaps of four threads keep nothing of what each of them had for a moment."""
        large = self.folder / "large"
        for number in range(8):
            write(large / f"class-0/{number}.png", blank_png(6000, 4000))
        self.within(16, "convert", large, self.out, "--to", "record", "--resize", "shorter=400", "--jobs", 4)
        self.assertEqual(manifest_of(self.out)["images"]["changed"], {"resized": 8})

    def test_verify_finds_another_source(self):
        self.work(self.photos, "out", *RESIZE)
        self.ok("verify", self.out, "--against", self.photos, "--memory", "16MiB")
        path = self.photos / "class-1/00004.png"
        write(path, png(*struct.unpack(">II", path.read_bytes()[16:24]), seed=99))
        done = run("verify", self.out, "--against", self.photos)
        self.assertEqual(done.code, 3, done.out + done.err)
        self.assertIn("class-1/00004.png", done.err + done.out)
        self.assertIn("image work", done.err + done.out)
        self.assertIn("1 finding", done.err + done.out)

    def test_verify_finds_another_frame(self):
        videos = make_frames(self.folder / "videos", 9)
        self.work(videos, "out", "--group", "frames", "--resize", "exact=9x8")
        self.ok("verify", self.out, "--against", videos)
        frame = sorted((videos / "class-1/video-4").iterdir())[2]
        write(frame, png(31, 7, seed=5))
        done = run("verify", self.out, "--against", videos)
        self.assertEqual((done.code, "video-4" in done.out + done.err), (3, True), done.out + done.err)

    def test_arrays_of_pixels(self):
        words = ["--resize", "exact=6x5", "--encode", "raw"]
        self.ok("convert", self.photos, self.out, "--to", "npy", *words)
        (path,) = self.out.glob("*.image.npy")
        shape, data = array_of(path)
        self.assertEqual(shape, (30, 5, 6, 3))
        self.assertEqual(len(data), 30 * 90)
        self.ok("convert", self.photos, self.folder / "h5", "--to", "hdf5", *words, "--jobs", 3)
        self.assertEqual(manifest_of(self.folder / "h5")["digest"]["content"], manifest_of(self.out)["digest"]["content"])
        for made in (self.out, self.folder / "h5"):
            self.ok("verify", made, "--deep")
            self.ok("verify", made, "--against", self.photos)

    def test_masks_take_the_nearest_pixel(self):
        masks = make_photos(self.folder / "masks", 9, sides=(12, 60))
        self.work(masks, "out", "--masks", "image", "--resize", "exact=10x7")
        key, _, image = next(samples_of(self.out))
        width, height, source = pixels_of((masks / key.decode()).read_bytes())
        rows = [bytes(source[int((y + 0.5) * height / 7)][int((x + 0.5) * width / 10)] for x in range(10)) for y in range(7)]
        self.ok("convert", masks, self.folder / "raw", "--to", "npy", "--masks", "image", "--resize", "exact=10x7", "--encode", "raw")
        shape, data = array_of(next((self.folder / "raw").glob("*.image.npy")))
        self.assertEqual(shape, (9, 7, 10))
        self.assertEqual(data[:70], b"".join(rows))
        self.assertEqual(struct.unpack(">II", image[16:24]), (10, 7))

    def test_appended_by_the_same_rule_only(self):
        whole = self.work(self.photos, "out", *RESIZE)
        more = make_photos(self.folder / "more/x", 6).parent
        (more / "x").rename(more / "class-1")
        for other in (("--resize", "shorter=25", "--quality", 80), ("--resize", "shorter=24"), ()):
            self.refused("convert", more, whole, "--append", *other, says=["image work"])
        self.ok("convert", more, whole, "--append", *RESIZE)
        self.ok("verify", whole)
        self.assertEqual(manifest_of(whole)["samples"], 36)

    def test_parts_merge_and_shards_are_made_again(self):
        words = ["--shuffle", "--shard-samples", 7, *RESIZE]
        whole = self.work(self.photos, "whole", *words)
        for part in range(3):
            self.work(self.photos, "parts", "--part", f"{part}/3", *words)
        self.ok("merge", self.folder / "parts", self.out)
        for fact in ("digest", "transform", "images"):
            self.assertEqual(manifest_of(self.out)[fact], manifest_of(whole)[fact], fact)
        self.ok("verify", self.out, "--against", self.photos)
        hurt = self.folder / "hurt"
        shutil.copytree(whole, hurt)
        shard = hurt / "shard-000001.tfrecord"
        shard.write_bytes(shard.read_bytes()[:-100])
        self.ok("repair", hurt, "--from", self.photos)
        self.check_same(hurt, whole)


class KilledImageWork(StepsCase):
    base = IN_MEMORY

    def test_killed_at_steps(self):
        photos = make_photos(self.folder / "photos", 24, sides=(20, 80))
        write(photos / "class-1/00001.png", png(20, 20)[:-30])
        out = self.place / "out"
        words = ["convert", photos, out, "--to", "record", "--shuffle", "--shard-samples", 7, *RESIZE, "--max-errors", 5]
        self.kill_at_steps(lambda jobs, memory: [*words, "--jobs", jobs, "--memory", memory], most=8)
        self.assertIn("transform", manifest_of(out))


if __name__ == "__main__":
    unittest.main(verbosity=2)
