"""Images with files beside them, killed at steps: the same command continues to the same bytes, partners included."""

import unittest

from fault_case import IN_MEMORY
from shale_tool import make_photos, write
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
        out = self.place / "out"

        def command(jobs, memory):
            return ["convert", photos, out, "--to", "record", "--pairs", "on", "--shuffle", "--jobs", jobs, "--memory", memory, "--shard-samples", 7]

        self.kill_at_steps(command, most=12)
        self.assertEqual((out / "skipped.csv").read_text().count("missing-partner"), 1)
        self.ok("verify", out, "--against", photos, "--deep")


if __name__ == "__main__":
    unittest.main(verbosity=2)
