"""Same input and same options give the same bytes, whatever the machine is doing."""

import os
import shutil

from fault_case import FaultCase
from shale_tool import make_photos, png, write


class SameBytes(FaultCase):
    @classmethod
    def variants(cls):
        """Words and environments that must not matter."""
        perturbed = {"MALLOC_PERTURB_": "165"}
        return {
            "one job": (["--jobs", 1], {}),
            "two jobs, little memory": (["--jobs", 2, "--memory", "16MiB"], {}),
            "seven jobs": (["--jobs", 7, "--memory", "16MiB"], {"MALLOC_PERTURB_": "90"}),
            "much memory": (["--jobs", 2, "--memory", "256MiB"], perturbed),
            "direct": (["--io", "direct", "--jobs", 7], perturbed),
            "buffered": (["--io", "buffered", "--jobs", 1], perturbed),
            "verified": (["--verify", "--progress", "plain"], {"TZ": "Pacific/Auckland", "LANG": "tr_TR.UTF-8"}),
            "as json": (["--json", "--quiet", "--max-errors", "50%"], {"SLURM_CPUS_PER_TASK": "3"}),
        }

    def setUp(self):
        super().setUp()
        # Batches end at other samples with every --jobs and --memory: some MiB are needed to make several of them.
        self.source = make_photos(self.folder / "in", 500, sides=(2, 160), classes=5)
        for i in range(4):
            write(self.source / f"class-{i}/large.png", png(1100, 1000, seed=i))
            write(self.source / f"class-{i}/empty.png", b"")

    def compare(self, *words):
        reference = self.folder / "reference"
        self.convert(self.source, reference, *words, code=4)
        for name, (extra, environment) in self.variants().items():
            with self.subTest(name):
                self.convert(self.source, self.out, *words, *extra, environment=environment, code=4)
                self.check_same(self.out, reference)
                shutil.rmtree(self.out)
        with self.subTest("another working directory, relative paths, a link to the input, a trailing slash"):
            (self.folder / "here").mkdir()
            (self.folder / "here/link").symlink_to(self.source)
            self.convert("./link/", "./../out/", *words, cwd=self.folder / "here", code=4)
            self.check_same(self.out, reference)
            shutil.rmtree(self.out)
        with self.subTest("a copy of the input, its folders written in another order, other times"):
            copy = self.folder / "copy"
            paths = [os.path.join(place, name) for place, _, names in os.walk(self.source) for name in names]
            self.dice.shuffle(paths)
            for path in paths:
                to = copy / os.path.relpath(path, self.source)
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, to)
                os.utime(to, (0, 0))
            self.convert(copy, self.out, *words, code=4)
            self.check_same(self.out, reference)

    def test_shards_of_a_size(self):
        self.compare("--shard-size", "1500kB")

    def test_shuffled_shards_of_a_number(self):
        self.compare("--shuffle", "--seed", 7, "--shard-samples", 60)

    def test_seeds_differ(self):
        for seed in (0, 1):
            self.convert(self.source, self.folder / f"seed-{seed}", "--shuffle", "--seed", seed, code=4)
        zero, one = (self.folder / f"seed-{seed}/shard-000000.{self.suffix}" for seed in (0, 1))
        self.assertNotEqual(zero.read_bytes(), one.read_bytes())

    def test_a_dataset_made_of_a_dataset(self):
        first = self.folder / "first"
        self.convert(self.source, first, "--shard-samples", 33, code=4)
        reference = self.folder / "again"
        self.convert(first, reference, "--shard-size", "1500kB")
        for name, (extra, environment) in self.variants().items():
            with self.subTest(name):
                self.convert(first, self.out, "--shard-size", "1500kB", *extra, environment=environment)
                self.check_same(self.out, reference)
                shutil.rmtree(self.out)
