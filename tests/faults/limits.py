"""Memory and descriptors: what a run may take is what it was granted."""

import pathlib
import resource
import unittest

from fault_case import FaultCase
from shale_tool import GRAY_JPEG, IS_SANITIZED, manifest_of, png, run, write

__all__ = ["Limits"]

MIB = 1 << 20


def few_descriptors(soft, hard):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    return limit


class Limits(FaultCase):
    def within(self, budget_mib, *words, code=0):
        # Until the program starts, the child is a copy of this process and counts its memory.
        own = int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        self.assertLess(own, 80 * MIB, "this test itself is too large")
        done = self.ok(*words, "--memory", f"{budget_mib}MiB", code=code)
        self.assertLessEqual(done.peak_bytes, (budget_mib + 64) * MIB, f"{words}: {done.peak_bytes / MIB:.0f} MiB")
        return done

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
        self.refused("cat", self.out, 0, "--memory", "16MiB", says=["sample is 4", 16 * MIB])
        self.ok("cat", self.out, 0, "--memory", "128MiB")

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
