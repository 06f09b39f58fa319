"""Folders that cannot be read, hold nothing, or change while they are read."""

import csv
import os

from fault_case import FaultCase
from shale_tool import GRAY_JPEG, RGB_JPEG, make_photos, manifest_of, samples_of, write


class InputsThatCannotBeRead(FaultCase):
    def setUp(self):
        super().setUp()
        self.source = make_photos(self.folder / "in", 6, classes=2)

    def test_a_missing_folder_is_named(self):
        self.refused("convert", self.folder / "nowhere", self.out, "--to", "record", says=[self.folder / "nowhere"])
        self.assertFalse(self.out.exists())

    def test_an_unreadable_folder_is_named(self):
        self.source.chmod(0)
        says = [f"{self.source}: ", "Permission denied"]
        self.refused_as_nobody("convert", self.source, self.out, "--to", "record", says=says)
        self.assertFalse(self.out.exists())

    def test_an_unreadable_class_folder_is_named_and_never_an_empty_class(self):
        (self.source / "class-1").chmod(0)
        for extra in ([], ["--allow-empty"]):
            says = [f"{self.source}/class-1: ", "Permission denied"]
            self.refused_as_nobody("convert", self.source, self.out, "--to", "record", *extra, says=says)
            self.assertFalse(self.out.exists())

    def test_a_folder_below_an_unreadable_one_is_named(self):
        self.source.chmod(0)
        for words in (["convert", self.source / "class-1", self.out, "--to", "record"], ["verify", self.source / "x"]):
            self.refused_as_nobody(*words, says=[words[1], "Permission denied"])

    def test_an_unreadable_file_stops_the_run_and_is_not_skipped(self):
        reference = self.folder / "reference"
        self.convert(self.source, reference, "--shard-samples", 1)
        victim = self.source / "class-1/00003.png"
        victim.chmod(0)
        words = ["convert", self.source, self.out, "--to", "record", "--shard-samples", 1]
        self.refused_as_nobody(*words, says=[f"{victim}: ", "Permission denied"])
        self.check_unfinished(self.out, reference)
        victim.chmod(0o644)
        self.convert(self.source, self.out, "--shard-samples", 1)
        self.check_same(self.out, reference)

    def test_an_unreadable_dataset_is_a_failure_and_no_damage(self):
        self.convert(self.source, self.out)
        (self.out / "shard-000000.tfrecord").chmod(0)
        says = ["shard-000000.tfrecord", "Permission denied"]
        self.refused_as_nobody("convert", self.out, self.folder / "copy", "--to", "record", says=says)
        self.refused_as_nobody("verify", self.out, says=says)


class InputsWithoutSamples(FaultCase):
    def test_an_empty_folder_is_refused(self):
        (self.folder / "in").mkdir()
        self.refused("convert", self.folder / "in", self.out, "--to", "record", says=[f"{self.folder}/in: ", "no images"])
        self.assertFalse(self.out.exists())

    def test_a_folder_without_images_is_refused(self):
        write(self.folder / "in/cats/README.txt")
        done = self.refused("convert", self.folder / "in", self.out, "--to", "record", says=["in/cats", "no image"])
        self.assertIn("--allow-empty", done.err)
        self.assertFalse(self.out.exists())

    def test_an_empty_class_is_refused_by_name(self):
        make_photos(self.folder / "in", 4, classes=2)
        (self.folder / "in/nobody").mkdir()
        says = [f"{self.folder}/in/nobody: ", "--allow-empty"]
        self.refused("convert", self.folder / "in", self.out, "--to", "record", says=says)
        self.convert(self.folder / "in", self.out, "--allow-empty")
        self.assertEqual(manifest_of(self.out)["classes"], ["class-0", "class-1", "nobody"])

    def test_zero_one_and_few_samples_make_whole_datasets_without_an_empty_shard(self):
        (self.folder / "0").mkdir()
        for count in (0, 1, 2, 3):
            source, out = self.folder / str(count), self.folder / f"out-{count}"
            make_photos(source, count, classes=1)
            with self.untouched(source):
                self.convert(source, out, "--shard-samples", 2, *(["--allow-empty"] if count == 0 else []))
                self.ok("verify", out, "--deep", "--against", source)
            manifest = manifest_of(out)
            self.assertEqual(manifest["samples"], count)
            self.assertEqual([shard["samples"] for shard in manifest["shards"]], [[], [1], [2], [2, 1]][count])
            self.assertEqual(len(os.listdir(out)), 1 + 3 * len(manifest["shards"]) + (count > 0))  # images.csv: gray is odd

    def test_a_folder_of_splits_does_not_fit_into_one_file(self):
        for split in ("train", "val"):
            make_photos(self.folder / "in" / split, 2, classes=2)
        says = [f"{self.folder}/in: ", "train, val", f"{self.folder}/in/train", "a dataset of each"]
        self.refused("convert", self.folder / "in", self.folder / "one.tfrecord", says=says)
        self.convert(self.folder / "in/train", self.folder / "train")
        self.convert(self.folder / "in/val", self.folder / "val", "--classes-from", self.folder / "train")

    def test_input_and_output_in_one_another_are_refused(self):
        source = make_photos(self.folder / "in", 4)
        with self.untouched(self.folder.path):
            for out in (source / "out", source / "class-0/deep/out", source / "../in/out"):
                self.refused("convert", source, out, "--to", "record", code=2, says=[out])
            self.refused("convert", source, source, "--to", "record", says=[source])
            self.refused("convert", source / "class-0", source, "--to", "record", says=[source])


class BadImages(FaultCase):
    def setUp(self):
        super().setUp()
        self.source = make_photos(self.folder / "in", 8, classes=2)
        self.bad = {
            b"class-0/cut.jpg": RGB_JPEG[:-2],
            b"class-0/empty.jpg": b"",
            b'class-1/a "quoted", odd\nname.png': b"",
            b"class-1/text.png": b"this is no image",
            b"class-1/\xff\xfe.jpg": GRAY_JPEG[:50],
        }
        for name, content in self.bad.items():
            write(os.path.join(os.fsencode(self.source), name), content)

    def skipped_keys(self):
        with open(self.out / "skipped.csv", encoding="utf-8", errors="surrogateescape", newline="") as file:
            return [os.fsencode(row["key"]) for row in csv.DictReader(file)]

    def test_skip_leaves_them_out_lists_them_and_exits_4(self):
        with self.untouched(self.source):
            done = self.convert(self.source, self.out, code=4)
        self.assertIn("skipped: 5", done.out)
        self.assertEqual(self.skipped_keys(), sorted(self.bad, key=lambda key: key.split(b"/")))
        self.assertEqual(manifest_of(self.out)["samples"], 8)
        self.ok("verify", self.out, "--deep", "--against", self.source)

    def test_keep_takes_them_as_they_are_and_exits_0(self):
        self.convert(self.source, self.out, "--on-error", "keep")
        kept = {key: image for key, _, image in samples_of(self.out)}
        self.assertEqual({key: kept[key] for key in self.bad}, self.bad)
        self.assertFalse((self.out / "skipped.csv").exists())
        self.ok("verify", self.out, "--against", self.source)

    def test_fail_stops_at_the_first_and_leaves_nothing_in_the_way(self):
        words = ["convert", self.source, self.out, "--to", "record", "--on-error"]
        self.refused(*words, "fail", says=["class-0/cut.jpg", "end-of-image"])
        self.assertFalse(self.out.exists(), "no shard was whole: nothing is left to stumble over")
        self.ok(*words, "keep")

    def test_more_than_max_errors_fails_and_names_the_numbers(self):
        words = ["convert", self.source, self.out, "--to", "record", "--max-errors"]
        self.refused(*words, "4", says=["class-1/", "5 bad images", "more than --max-errors allows (4)"])
        self.ok(*words, "5", code=4)

    def test_at_least_ten_bad_images_are_endured_of_a_share(self):
        for i in range(6):
            write(self.source / f"class-0/x{i}.jpg", b"")
        says = ["class-1/", "11 bad images", "more than --max-errors allows (10)"]
        self.refused("convert", self.source, self.out, "--to", "record", says=says)
        (self.source / "class-0/x5.jpg").unlink()
        self.convert(self.source, self.out, code=4)


class InputsThatChangeDuringTheRun(FaultCase):
    """The run is stopped between listing and reading (paused_after_listing), so that what happens here is certain."""

    def setUp(self):
        super().setUp()
        self.source = make_photos(self.folder / "in", 40, sides=(2, 60), classes=2)
        self.reference = self.folder / "reference"
        self.convert(self.source, self.reference, "--shard-samples", 5)
        self.victim = self.source / "class-1/00021.png"
        self.content = self.victim.read_bytes()

    def fails_after(self, change, *facts, **options):
        paused = self.paused_after_listing(self.source, self.out, "--shard-samples", 5, **options)
        change()
        code, messages = paused.resume()
        self.assertEqual(code, 1, messages)
        for fact in (str(self.victim), *facts, "\nhint: "):
            self.assertIn(fact, messages)
        self.check_unfinished(self.out, self.reference)
        # A storage fault never shrinks a dataset: once it is mended, the same command finishes the job.
        if self.victim.is_dir():
            self.victim.rmdir()
        self.victim.write_bytes(self.content)
        self.victim.chmod(0o644)
        self.convert(self.source, self.out, "--shard-samples", 5)
        self.check_same(self.out, self.reference)

    def test_a_file_that_vanishes(self):
        self.fails_after(self.victim.unlink, "file has gone: it had ")

    def test_a_file_that_shrinks(self):
        size = len(self.content)
        self.fails_after(lambda: os.truncate(self.victim, 10), f"it had {size} bytes and has 10")

    def test_a_file_that_is_emptied(self):
        self.fails_after(lambda: os.truncate(self.victim, 0), f"it had {len(self.content)} bytes and has 0")

    def test_a_file_that_grows(self):
        self.fails_after(lambda: self.victim.write_bytes(self.content + b"x"), f"it had {len(self.content)} bytes and has {len(self.content) + 1}")

    def test_a_file_that_is_written_again_with_as_many_bytes(self):
        self.fails_after(lambda: self.victim.write_bytes(self.content[::-1]), "has changed since the input was listed: it was modified in between")

    def test_a_file_that_becomes_a_folder(self):
        def change():
            self.victim.unlink()
            self.victim.mkdir()

        self.fails_after(change, "Is a directory")

    def test_a_folder_that_vanishes(self):
        moved = self.folder / "moved"
        paused = self.paused_after_listing(self.source, self.out, "--shard-samples", 5)
        (self.source / "class-1").rename(moved)
        code, messages = paused.resume()
        self.assertEqual(code, 1, messages)
        self.assertIn(f"{self.source}/class-1/", messages)
        self.check_unfinished(self.out, self.reference)
        moved.rename(self.source / "class-1")
        self.convert(self.source, self.out, "--shard-samples", 5)
        self.check_same(self.out, self.reference)

    def test_files_that_come_during_the_run_are_not_in_it(self):
        paused = self.paused_after_listing(self.source, self.out, "--shard-samples", 5)
        write(self.source / "class-0/new.jpg")
        code, messages = paused.resume()
        self.assertEqual(code, 0, messages)
        self.check_same(self.out, self.reference)


class LinksInTheInput(FaultCase):
    def setUp(self):
        super().setUp()
        self.source = make_photos(self.folder / "in", 4, classes=2)

    def test_a_link_to_a_folder_above_is_cut_and_told(self):
        (self.source / "class-0/up").symlink_to("..")
        (self.source / "class-1/here").symlink_to(".")
        done = self.convert(self.source, self.out)
        self.assertIn("3 links", done.err)
        self.ok("verify", self.out, "--against", self.source)
        # class-1 is met once more below class-0/up, with its own link: three links lead back, one does not.
        keys = [key for key, _, _ in samples_of(self.out)]
        self.assertEqual(len(keys), len(set(keys)))

    def test_links_to_files_and_folders_are_followed(self):
        elsewhere = make_photos(self.folder / "elsewhere", 2, classes=1)
        (self.source / "class-2").symlink_to(elsewhere / "class-0")
        (self.source / "class-0/link.png").symlink_to("00000.png")
        with self.untouched(self.source, elsewhere):
            self.convert(self.source, self.out)
        self.assertEqual(manifest_of(self.out)["samples"], 7)
        self.ok("verify", self.out, "--against", self.source)

    def test_a_link_that_leads_nowhere_is_named(self):
        (self.source / "class-0/gone.png").symlink_to("nothing")
        says = [f"{self.source}/class-0/gone.png: ", "broken link"]
        self.refused("convert", self.source, self.out, "--to", "record", says=says)
        self.assertFalse(self.out.exists())

    def test_links_that_lead_to_one_another_are_named(self):
        (self.source / "class-0/a.png").symlink_to("b.png")
        (self.source / "class-0/b.png").symlink_to("a.png")
        self.refused("convert", self.source, self.out, "--to", "record", says=["Too many levels of symbolic links"])
        loop = self.source / "class-0/a.png"
        for words in (["convert", loop, self.out, "--to", "record"], ["verify", loop], ["info", loop]):
            self.refused(*words, says=[f"{loop}: ", "Too many levels of symbolic links"])

    def test_a_fifo_among_the_images_is_counted_and_does_not_hang(self):
        os.mkfifo(self.source / "class-0/pipe.png")
        self.convert(self.source, self.out, code=4)
        self.assertEqual(manifest_of(self.out)["ignored"], 1)
        self.assertEqual(manifest_of(self.out)["samples"], 4)
