"""Images with files beside them, or with rows of metadata, and folders that are joined, killed at steps: the same command continues to the same bytes."""

import json
import unittest

from fault_case import IN_MEMORY
from shale_tool import make_photos, npy, write
from steps_case import StepsCase


class KilledPairs(StepsCase):
    base = IN_MEMORY

    def test_killed_at_steps(self):
        photos = make_photos(self.folder / "in", 24, sides=(20, 60))
        images = sorted(photos.rglob("*.*"))
        for number, image in enumerate(images):
            write(image.with_suffix(".txt"), b"caption %d" % number * (number % 5 + 1))
            if number != 7:
                write(image.with_suffix(".json"), b"{}")
            order = number % 2 == 1
            write(image.with_suffix(".npy"), npy(">i2" if number % 3 else "<i2", (number, 3), bytes(range(number * 6)), order))
        out = self.place / "out"

        def command(jobs, memory):
            return ["convert", photos, out, "--to", "record", "--pairs", "on", "--shuffle", "--jobs", jobs, "--memory", memory, "--shard-samples", 7]

        self.kill_at_steps(command, most=12)
        self.assertEqual(json.loads((out / "dataset.json").read_text())["options"]["pairs"], "json:json?,npy:int16 (?, 3),txt")
        self.ok("verify", out, "--against", photos, "--deep")

    def test_metadata(self):
        photos = make_photos(self.folder / "in", 24, sides=(20, 60))
        images = sorted(photos.rglob("*.*"))
        rows = [
            json.dumps({"file_name": str(image.relative_to(photos)), "caption": f"text {number}", "score": number / 4})
            for number, image in enumerate(images)
            if number != 7
        ]
        write(photos / "metadata.jsonl", "\n".join(rows).encode())
        out = self.place / "out"

        def command(jobs, memory):
            return ["convert", photos, out, "--to", "record", "--shuffle", "--jobs", jobs, "--memory", memory, "--shard-samples", 7]

        self.kill_at_steps(command, most=12)
        self.assertEqual((out / "skipped.csv").read_text().count("missing-row"), 1)
        self.ok("verify", out, "--against", photos, "--deep")

    def test_folders_that_are_joined(self):
        photos = make_photos(self.folder / "photos", 24, sides=(20, 60))
        masks = self.folder / "masks"
        for number, image in enumerate(sorted(photos.rglob("*.*"))):
            if number != 7:
                write(masks / image.relative_to(photos).with_suffix(".npy"), npy("|u1", (number,), bytes(range(number))))
        write(masks / "c000/none.npy", b"of no image")
        out = self.place / "out"
        source = [f"image={photos}", f"mask={masks}"]

        def command(jobs, memory):
            return ["convert", *source, out, "--to", "record", "--shuffle", "--jobs", jobs, "--memory", memory, "--shard-samples", 7]

        self.kill_at_steps(command, most=12)
        self.assertEqual((out / "skipped.csv").read_text().count("missing-partner"), 1)
        self.assertEqual(json.loads((out / "dataset.json").read_text())["options"]["folders"], "image,mask:uint8 (?)")
        self.assertIn("mask=c000/none.npy,no sample has its name", (out / "ignored.csv").read_text())
        self.ok("verify", out, "--against", source[0], "--against", source[1], "--deep")


if __name__ == "__main__":
    unittest.main(verbosity=2)
