#!/usr/bin/env python3
"""What a report costs: time, peak memory and size of the page, medians of warm runs.

    PYTHONPATH=build/release/python python3 bench/report.py --work /x        # 20,000 photos, and 10^6 samples in 1000 classes

The limits (issue 22): 10^6 samples in 30 s and 5 MB within --memory + 64 MiB; 20,000 photos in 3 s. The photos are those of bench/inputs.py; the million are
small JPEGs (some 900 bytes), all different.
"""

import argparse
import io
import pathlib
import random
import statistics

import harness
import inputs
from harness import ROOT, Step, say

MEMORY = 256 << 20


def million(out, samples):
    """A dataset of so many small pictures, written by shale.Writer; some in a thousand are gray."""
    import shale
    from PIL import Image

    dice = random.Random(22)
    pictures = []
    for _ in range(500):
        file = io.BytesIO()
        size = dice.choice([(32, 32), (48, 32), (32, 40)])
        Image.frombytes("RGB", size, dice.randbytes(size[0] * size[1] * 3)).resize(size).save(file, "JPEG", quality=30)
        pictures.append(file.getvalue())
    classes = [f"class {number:04}" for number in range(1000)]
    # Their own number behind the end of the picture makes them differ.
    rows = ({"image": pictures[row % 500] + b"%d" % row, "label": (row * 7919) % 1000} for row in range(samples))
    shale.from_iterable(rows, out, "record", {"image": "bytes", "label": "integer"}, classes=classes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="where inputs and pages are written: 8 GB")
    parser.add_argument("--shale", type=pathlib.Path, default=ROOT / "build/release/shale")
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    inputs.add_photos(parser)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    photos = inputs.photos_of(arguments)

    def convert(out):
        harness.measured(Step("convert", [arguments.shale, "convert", photos, out, "--to", "record"], syncs=False))

    sets = {
        "20,000 photos": inputs.made_once(arguments.work / "report-photos", convert),
        f"{arguments.samples:,} samples": inputs.made_once(arguments.work / "report-million", lambda out: million(out, arguments.samples)),
    }
    page = arguments.work / "report.html"
    for name, dataset in sets.items():
        step = Step(name, [arguments.shale, "report", dataset, "-o", page, "--memory", f"{MEMORY >> 20}MiB", "--quiet"], syncs=False)
        runs = []
        for number in range(arguments.rounds + 1):
            page.unlink(missing_ok=True)
            run = harness.measured(step)
            if number > 0:  # the first one warms the page cache
                runs.append(run)
        seconds = [run.returned for run in runs]
        say(
            f"{name}: {statistics.median(seconds):.2f} s ({min(seconds):.2f}-{max(seconds):.2f}), "
            f"page {page.stat().st_size / 1e6:.2f} MB, peak {max(run.rss_bytes for run in runs) / (1 << 20):.0f} MiB "
            f"(allowed {(MEMORY >> 20) + 64})"
        )


if __name__ == "__main__":
    main()
