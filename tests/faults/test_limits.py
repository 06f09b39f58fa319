"""Memory and descriptors: what a run may take is what it was granted."""

import os
import random
import resource
import shutil
import struct
import unittest
import zipfile

from fault_case import IN_MEMORY, MIB, FaultCase
from manifests import edit_manifest, hash_of_path
from shale_tool import GRAY_JPEG, IS_SANITIZED, manifest_of, npy, png, read_index, write


def few_descriptors(soft, hard):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    return limit


class Limits(FaultCase):
    @unittest.skipIf(IS_SANITIZED, "a sanitizer's memory is not the tool's")
    def test_peak_memory_with_20000_tiny_files(self):
        for i in range(20_000):
            write(f"{self.folder}/in/class-{i % 100:03}/{'x' * 60}-{i:06}.jpg", GRAY_JPEG)
        for words in (["--jobs", 1], ["--jobs", 7, "--shuffle"]):
            self.within(16, "convert", self.folder / "in", self.out, "--to", "record", "--overwrite", *words)
        self.within(16, "verify", self.out, "--deep", "--jobs", 7)
        self.within(16, "verify", self.out, "--against", self.folder / "in")
        self.within(16, "convert", self.out, self.folder / "again", "--to", "record", "--shard-samples", 1000)
        self.within(16, "cat", self.out, "--key", f"class-099/{'x' * 60}-019999.jpg")

    @unittest.skipIf(IS_SANITIZED, "a sanitizer's memory is not the tool's")
    def test_peak_memory_with_samples_of_some_mib(self):
        for i in range(24):
            write(f"{self.folder}/in/a/{i}.png", png(2100, 1000, seed=i % 3))
        self.within(16, "convert", self.folder / "in", self.out, "--to", "record", "--jobs", 7)
        self.within(16, "verify", self.out, "--deep", "--jobs", 2)

    @unittest.skipIf(IS_SANITIZED, "a sanitizer's memory is not the tool's")
    def test_peak_memory_with_frames_of_videos(self):
        frames = [png(420, 200, seed=seed) for seed in range(3)]
        for i in range(1400):  # 3.4 MB a video, 118 MB
            write(f"{self.folder}/in/a/v{i // 40:02}/{i:04}.png", frames[i % 3])
        for container in ("record", "lmdb", "hdf5"):
            self.within(16, "convert", self.folder / "in", self.folder / container, "--to", container, "--group", "frames", "--jobs", 7)
            self.within(16, "verify", self.folder / container, "--deep", "--jobs", 2)

    @unittest.skipIf(IS_SANITIZED, "a sanitizer's memory is not the tool's")
    def test_peak_memory_with_2000_columns(self):
        rows = 20
        with zipfile.ZipFile(self.folder / "in.npz", "w") as members:
            for i in range(2000):
                members.writestr(f"column_{i:05}.npy", npy("<f4", (rows, 2), struct.pack("<f", i) * 2 * rows))
        source, back = self.folder / "in.npz", self.folder / "back"
        for container in ("record", "lmdb", "hdf5", "npy"):
            out = self.folder / container
            self.within(16, "convert", source, out, "--to", container, "--shard-samples", 8)
            self.within(16, "verify", out, "--deep")
            self.within(16, "verify", out, "--against", source)
            self.within(16, "cat", out, 19, "--field", "column_01999")
            self.within(16, "convert", out, back, "--to", "record", "--overwrite")
            shutil.rmtree(out)
        # More than 65,535 bytes of names: version 2.0, as NumPy writes it.
        (index,) = back.glob("*.index.npy")
        self.assertEqual(index.read_bytes()[6], 2)
        self.assertEqual(len(read_index(index)), rows)

    def test_deep_verification_with_many_jobs_and_samples_that_fit_the_budget(self):
        write(self.folder / "in/a/1.png", png(2100, 1000))
        self.convert(self.folder / "in", self.out)
        self.ok("verify", self.out, "--deep", "--jobs", 7, "--memory", "16MiB")

    def test_a_sample_larger_than_the_budget_is_refused_with_both_numbers(self):
        write(self.folder / "in/a/large.png", png(8192, 5120))  # 40 MiB
        size = (self.folder / "in/a/large.png").stat().st_size
        words = ["convert", self.folder / "in", self.out, "--to", "record", "--memory"]
        says = ["a/large.png", f"sample is {size} bytes", "--memory leaves"]
        self.refused(*words, "16MiB", says=says)
        done = self.ok(*words, "128MiB")
        if not IS_SANITIZED:
            self.assertLessEqual(done.peak_bytes, (128 + 64) * MIB)
            self.assertGreater(done.peak_bytes, size, "the measure sees nothing")
        self.ok("verify", self.out, "--memory", "16MiB")
        self.ok("verify", self.out, "--against", self.folder / "in", "--memory", "16MiB")
        self.refused("verify", self.out, "--deep", "--memory", "16MiB", says=["sample is 4", 8 * MIB])

    def test_a_sample_too_large_is_refused_before_anything_is_written(self):
        for i in range(9):
            write(self.folder / f"in/a/{i}.png", png(300, 300, seed=i))
        write(self.folder / "in/b/large.png", png(1200, 1000))
        words = ["convert", self.folder / "in", self.out, "--to"]
        for container in ("record", "lmdb", "hdf5"):
            for more in ([], ["--dry-run"], ["--shuffle"]):
                more = ["--shard-size", 500_000, *more]
                self.refused(*words, container, *more, says=["b/large.png", "--shard-size is 500000"])
                self.assertFalse(self.out.exists(), f"{container} {more}: something was written")
        write(self.folder / "in/b/large.png", png(4000, 3000))
        for more in ([], ["--dry-run"]):
            self.refused(*words, "record", "--memory", "16MiB", *more, says=["b/large.png", "--memory leaves"])
            self.assertFalse(self.out.exists(), f"{more}: something was written")

    @unittest.skipIf(IS_SANITIZED, "a sanitizer's memory is not the tool's")
    def test_16_mib_are_enough_for_every_kind_of_input_and_option(self):
        i = self.folder / "in"
        for n in range(12):
            write(f"{i}/photos/c{n % 3}/{n}.png", png(1400, 1000, seed=n % 3))
            write(f"{i}/flat/{n}.png", png(1400, 1000, seed=n % 3))
        write(i / "labels.csv", b"".join(b"%d.png,%s\n" % (n, b"ab"[n % 2 :][:1]) for n in range(12)))
        rows, data = 8192, random.Random(1).randbytes(24 * MIB)
        write(i / "x.npy", npy("|u1", (rows, 3072), data))
        write(i / "f.npy", npy("|u1", (rows, 3072), data, fortran_order=True))
        write(i / "y.npy", npy("<i8", (rows,), data[: rows * 8]))
        write(i / "w.npy", npy("<f8", (rows,), struct.pack("<d", 1.5) * rows))
        write(i / "n.npy", npy("<i8", (rows,), struct.pack("<q", 5) * rows))
        for name, compression in (("z", zipfile.ZIP_DEFLATED), ("s", zipfile.ZIP_STORED)):
            with zipfile.ZipFile(i / f"{name}.npz", "w", compression, compresslevel=1) as members:
                members.write(i / "f.npy", "x.npy")
        made = 0

        def go(*words):
            self.within(16, *words, *([] if words[0] in ("index", "cat") else ["--jobs", 7]))

        def fresh():
            nonlocal made
            made += 1
            return self.folder / f"o{made}"

        for container, suffix in (("record", "tfrecord"), ("lmdb", "lmdb"), ("hdf5", "h5")):
            images, labelled = fresh(), fresh()
            go("convert", i / "photos", images, "--to", container, "--verify")
            go("convert", i / "flat", labelled, "--to", container, "--labels", i / "labels.csv", "--shuffle")
            go("verify", images, "--deep")
            go("verify", labelled, "--against", i / "flat", "--labels", i / "labels.csv")
            go("convert", images, fresh(), "--to", "lmdb", "--shuffle")
            go("index", images)
            foreign = self.folder / f"foreign.{suffix}"
            shutil.copy(images / f"shard-000000.{suffix}", foreign)
            go("index", foreign, "--crc", "--index-dir", fresh())
            go("verify", foreign, "--deep")
            go("convert", foreign, fresh(), "--to", "record")
            go("cat", foreign, 5)
        for container in ("npy", "hdf5", "record"):
            columns = fresh()
            go("convert", f"x={i}/x.npy", f"y={i}/y.npy", columns, "--to", container, "--shuffle")
            go("verify", columns, "--deep")
            go("convert", i / "f.npy", fresh(), "--to", container)
            go("convert", i / "z.npz", fresh(), "--to", container, "--shuffle")
        for source in ("x.npy", "f.npy", "z.npz", "s.npz"):
            go("convert", i / source, f"{fresh()}.npy")
            for draw in ([], ["--replace"], ["--weights", i / "w.npy"], ["--indices", i / "n.npy"]):
                go("resample", i / source, f"{fresh()}.npy", *draw)
        out = fresh()
        go("resample", i / "x.npy", f"{out}.npy", "--also", f"{i}/y.npy={out}-y.npy", "--save-indices", f"{out}-i.npy")
        go("resample", i / "f.npy", fresh(), "--to", "npy")

    def test_64_descriptors_are_enough_for_many_files_and_shards(self):
        source = self.many_files()
        options = {"preexec_fn": few_descriptors(64, 64)}
        self.ok("convert", source, self.out, "--to", "record", "--jobs", 2, "--shard-samples", 2, **options)
        self.assertEqual(len(manifest_of(self.out)["shards"]), 300)
        self.ok("verify", self.out, "--deep", "--jobs", 2, **options)
        self.ok("cat", self.out, 599, **options)
        self.ok("index", self.out, **options)

    def test_a_low_soft_limit_of_descriptors_is_raised(self):
        """Samples in flight keep their shards open: that may be as many shards as samples."""
        source = self.many_files()
        self.convert(source, self.out, "--shard-samples", 2)
        options = {"preexec_fn": few_descriptors(64, 4096)}
        for order in ([], ["--shuffle"]):
            again = self.folder / f"again{len(order)}"
            self.ok("convert", self.out, again, "--to", "record", "--jobs", 7, *order, **options)
            self.ok("verify", again, "--against", self.out)
        self.ok("verify", self.out, "--against", source, "--jobs", 7, **options)

    def many_files(self):
        for i in range(600):
            write(f"{self.folder}/in/class-{i % 3}/{i:03}.jpg", GRAY_JPEG)
        return self.folder / "in"


class ManyShards(FaultCase):
    base = IN_MEMORY

    def test_256_descriptors_are_enough_for_10000_shards(self):
        source = self.folder / "in/a"
        write(source / "0.jpg", GRAY_JPEG)
        for i in range(1, 10_000):
            os.link(source / "0.jpg", source / f"{i}.jpg")
        options = {"preexec_fn": few_descriptors(256, 256)}
        self.ok("convert", source.parent, self.out, "--to", "record", "--jobs", 4, "--shard-samples", 1, **options)
        self.ok("verify", self.out, "--deep", "--jobs", 4, **options)
        (self.out / "shard-009999.index.npy").unlink()
        self.assertIn("1 rebuilt", self.ok("index", self.out, **options).out)
        self.assertIn("10,000", self.ok("info", self.out, **options).out)
        self.ok("convert", self.out, self.folder / "again", "--to", "record", "--shuffle", "--jobs", 4, **options)
        self.ok("verify", self.folder / "again", "--against", self.out, "--jobs", 4, **options)


class ManyColumnFiles(FaultCase):
    base = IN_MEMORY

    def test_more_columns_than_may_be_open_are_refused_before_anything_is_written(self):
        with zipfile.ZipFile(self.folder / "in.npz", "w") as members:
            for i in range(300):
                members.writestr(f"column_{i:03}.npy", npy("<i4", (3,), struct.pack("<i", i) * 3))
        options = {"preexec_fn": few_descriptors(256, 256)}
        done = self.ok("convert", self.folder / "in.npz", self.out, "--to", "npy", code=1, **options)
        self.assertIn("a shard has 300 files, one per column, and this process may open 256", done.err)
        self.assertIn("raise the limit to 324 (ulimit -n)", done.err)
        self.assertFalse(self.out.exists())
        self.ok("convert", self.folder / "in.npz", self.out, "--to", "hdf5", **options)
        self.ok("verify", self.out, "--deep", **options)


@unittest.skipIf(IS_SANITIZED, "a sanitizer's memory is not the tool's")
class ManyColumns(FaultCase):
    base = IN_MEMORY
    within = Limits.within

    def columns(self, count, rows):
        source = self.folder / "x.npy"
        write(source, npy("<i8", (rows,), bytes(8 * rows)))
        return [f"x{i}={source}" for i in range(count)]

    def test_peak_memory_of_the_buffers_of_many_files(self):
        self.within(16, "convert", *self.columns(1600, 6144), self.out, "--to", "npy")
        self.within(16, "verify", self.out, "--deep", "--jobs", 7)

    def test_peak_memory_of_samples_of_many_fields(self):
        words = self.columns(400, 1200)
        for container in ("record", "lmdb", "hdf5"):
            first, again = self.folder / container, self.folder / "again"
            self.within(16, "convert", *words, first, "--to", container, "--shuffle")
            self.within(16, "convert", first, again, "--to", "npy", "--jobs", 7, "--overwrite")
            self.within(16, "convert", first, again, "--to", container, "--shuffle", "--overwrite")
            self.within(16, "verify", again, "--deep")
        self.within(16, "resample", self.folder / "hdf5", again, "--to", "npy", "--overwrite")

    def test_peak_memory_of_reports_of_many_columns(self):
        source = self.folder / "pairs.npy"
        write(source, npy("<f4", (200, 2), bytes(8 * 200)))
        words = [f"x{i}={source}" for i in range(2000)]
        for container in ("record", "npy"):
            self.within(16, "convert", *words, self.out, "--to", container, "--overwrite")
            self.within(16, "report", self.out, "-o", self.folder / "x.html", "--overwrite", "--jobs", 7)
        self.within(16, "convert", *self.columns(1000, 16384), self.out, "--to", "hdf5", "--overwrite")
        self.within(16, "report", self.out, "-o", self.folder / "x.html", "--overwrite", "--jobs", 7)


@unittest.skipIf(IS_SANITIZED, "a sanitizer's memory is not the tool's")
class ManyNames(FaultCase):
    """Names of 250 bytes: held in memory, 250,000 of them are more than the 64 MiB that a run may take beside --memory."""

    base = IN_MEMORY
    within = Limits.within

    def names(self, folder, suffix):
        write(folder / f"0{suffix}", GRAY_JPEG)
        place = os.open(folder, os.O_RDONLY)
        try:
            for i in range(250_000):
                os.link(f"0{suffix}", f"{'x' * 240}{i:06}{suffix}", src_dir_fd=place, dst_dir_fd=place)
        finally:
            os.close(place)

    def test_peak_memory_of_lists_of_files(self):
        source = self.folder / "in"
        self.names(source / "a", ".jpg")
        self.within(16, "convert", source, self.out, "--to", "record", "--dry-run")
        self.within(16, "convert", source, self.out, "--to", "record", "--dry-run", "--shuffle")

    def test_peak_memory_of_entries_that_are_ignored(self):
        source = self.folder / "in"
        write(source / "a/1.jpg", GRAY_JPEG)
        self.names(source, ".jpg")
        self.within(16, "convert", source, self.out, "--to", "record", code=4)  # images beside the class folders are left out
        self.within(16, "verify", self.out, "--against", source)

    def test_peak_memory_of_reports_of_forged_lists(self):
        """200 reasons of a megabyte, under right hashes."""
        write(self.folder / "in/a/1.jpg", GRAY_JPEG)
        write(self.folder / "in/a/2.jpg", b"")
        self.ok("convert", self.folder / "in", self.out, "--to", "record", code=4)
        path = self.out / "skipped.csv"
        with path.open("wb") as file:
            file.write(b"path,reason\n")
            for i in range(200):
                file.write(b"%06d,%s\n" % (i, b"%03d" % i * 333_000))
        facts = rb'"name": ?"skipped.csv", ?"bytes": ?\d+, ?"xxh3_128": ?"[0-9a-f]{32}"'
        edit_manifest(self.out, facts, b'"name":"skipped.csv","bytes":%d,"xxh3_128":"%s"' % (path.stat().st_size, hash_of_path(path)))
        self.within(16, "report", self.out, "-o", self.folder / "x.html")
        self.assertIn(b"000007", (self.folder / "x.html").read_bytes())  # the list was believed

    def test_peak_memory_of_rows_of_labels(self):
        """A row has a limit: neither one field without end nor fields without end are kept."""
        write(self.folder / "in/1.jpg", GRAY_JPEG)
        labels = self.folder / "labels.csv"
        words = ["convert", self.folder / "in", self.out, "--to", "record", "--labels", labels, "--memory", "16MiB"]
        for content, size in ((b"1.jpg,", 300 * MIB), (b"," * (8 * MIB), 8 * MIB), (b'1.jpg,"', 300 * MIB)):
            write(labels, content)
            os.truncate(labels, size)
            done = self.refused(*words, says=["labels.csv", "row 1"])
            self.assertLessEqual(done.peak_bytes, (16 + 64) * MIB)
            self.assertFalse(self.out.exists())
