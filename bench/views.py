#!/usr/bin/env python3
"""Photos into a training batch, RandomResizedCrop(224) + flip + normalise to float32: speed on one core, and pixels, beside Pillow and torchvision.

    PYTHONPATH=build/release/python python bench/views.py PHOTOS [--rounds 5] [--cpu 1] [--only speed|pixels]

All photos are in memory, batches are of 50; rounds in turn, forwards and backwards. Times are of the processor, so that others who use
the machine distort them less. Boxes are drawn by everybody's own random numbers, of one distribution. Pixels are levels of 0 to 255
before normalising, against the full decode, cropped and scaled by torchvision as it does it for images of Pillow; SSIM is of luma. A view
is decoded at the smallest scale of libjpeg's (1/8, 2/8, 4/8, 8/8) at which its box is still as large as the result; each row is of the
views that got this scale.
"""

import argparse
import io
import os
import pathlib
import statistics
import sys
import time

import numpy
import torch
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/interop"), str(ROOT / "bench")]
from conftest import real_torchvision
from images import ssim
from shale import _shale

SIDE, BATCH = 224, 50
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
STEPS = [("random_resized_crop", SIDE, SIDE, 0.08, 1.0, 3 / 4, 4 / 3), ("flip", True, 0.5)]


def photos_of(folder):
    return [path.read_bytes() for path in sorted(pathlib.Path(folder).rglob("*")) if path.suffix.lower() in (".jpeg", ".jpg")]


def open_rgb(data):
    return Image.open(io.BytesIO(data)).convert("RGB")


def pillow_view(data, drawn, functional):
    x, y, width, height = drawn[:4]
    image = functional.resized_crop(open_rgb(data), y, x, height, width, [drawn[5], drawn[4]], antialias=True)
    return functional.hflip(image) if drawn[14] else image


def runs_of(photos, v1, v2):
    tail = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])
    table = tail(torch.arange(256, dtype=torch.uint8).reshape(1, 256).expand(3, 1, 256)).contiguous().numpy().tobytes()
    ways = {
        "torchvision v1, `ToTensor`": [v1.RandomResizedCrop(SIDE), v1.RandomHorizontalFlip(), v1.ToTensor(), v1.Normalize(MEAN, STD)],
        "torchvision v2, images of Pillow": [v2.RandomResizedCrop(SIDE), v2.RandomHorizontalFlip(), v2.ToImage(), tail],
        "torchvision v2, tensors": [v2.PILToTensor(), v2.RandomResizedCrop(SIDE), v2.RandomHorizontalFlip(), tail],
    }
    batches = [photos[begin : begin + BATCH] for begin in range(0, len(photos), BATCH)]

    def torchvision_run(transform):
        for batch in batches:
            torch.stack([transform(open_rgb(data)) for data in batch])

    def shale_run(views, seed):
        for number, batch in enumerate(batches):
            drawn = views.sizes(batch, numpy.arange(len(batch), dtype=numpy.uint64) + seed + number * BATCH)
            reasons = views.load(batch, drawn, torch.empty(len(batch), 3, SIDE, SIDE).numpy())
            assert not any(reasons), reasons

    runs = {name: lambda seed, way=way: torchvision_run(v2.Compose(way)) for name, way in ways.items()}
    for name, is_scaled in (("shale", True), ("shale, `scaled_decoding=False`", False)):
        views = _shale.Views(
            STEPS, kernel="triangle", channels=3, order="chw", table=table, item_bytes=4, fill=bytes(12), scaled_decoding=is_scaled
        )
        runs[name] = lambda seed, views=views: shale_run(views, seed)
    return runs


def speed(photos, v1, v2, rounds):
    runs, times = runs_of(photos, v1, v2), {}
    for turn in range(rounds + 1):
        for name in list(runs) if turn % 2 else reversed(list(runs)):
            before = time.process_time()
            runs[name](turn * len(photos))
            if turn > 0:  # the first warms up
                times.setdefault(name, []).append((time.process_time() - before) / len(photos))
    print(f"| {len(photos)} photos, {rounds} rounds | ms per photo | x shale |\n|---|--:|--:|")
    for name in runs:
        ratios = sorted(own / shale for own, shale in zip(times[name], times["shale"]))
        middle = statistics.median(ratios)
        print(f"| {name} | {1000 * statistics.median(times[name]):.2f} | {middle:.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f}) |")


def scale_of(drawn, is_scaled):
    if is_scaled:
        for size in (1, 2, 4):
            if drawn[2] * size >= drawn[4] * 8 and drawn[3] * size >= drawn[5] * 8:
                return size
    return 8


def compare(photos, steps, is_scaled, functional):
    """(scale, mean absolute error, largest error, SSIM) of each photo."""
    views = _shale.Views(
        steps, kernel="triangle", channels=3, order="hwc", table=None, item_bytes=1, fill=bytes(3), scaled_decoding=is_scaled
    )
    for number, data in enumerate(photos):
        drawn = views.sizes([data], [number])
        made = numpy.empty((drawn[0][9], drawn[0][8], 3), numpy.uint8)
        assert views.load([data], drawn, [made]) == [None]
        expected = pillow_view(data, drawn[0], functional)
        error = numpy.abs(made.astype(int) - numpy.asarray(expected))
        yield scale_of(drawn[0], is_scaled), error.mean(), error.max(), ssim(Image.fromarray(made), expected)


def pixels(photos, v2):
    print(
        "| | scale | views | mean absolute error | of the worst view | largest | SSIM | of the worst view |\n|---|--:|--:|--:|--:|--:|--:|--:|"
    )
    for name, steps, is_scaled in [
        ("`RandomResizedCrop(224)`, `scaled_decoding=False`", STEPS, False),
        ("`RandomResizedCrop(224)`", STEPS, True),
        ("`Resize(128)`", [("resize_shorter", 128, 0)], True),
        ("`Resize(64)`", [("resize_shorter", 64, 0)], True),
        ("`Resize(32)`", [("resize_shorter", 32, 0)], True),
    ]:
        found = list(compare(photos, steps, is_scaled, v2.functional))
        for scale in sorted({one[0] for one in found}, reverse=True):
            errors, largest, scores = zip(*[one[1:] for one in found if one[0] == scale])
            print(
                f"| {name} | {scale}/8 | {len(errors)} | {statistics.mean(errors):.2f} | {max(errors):.2f} | {max(largest)} "
                f"| {statistics.mean(scores):.4f} | {min(scores):.4f} |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", type=int, default=1)
    parser.add_argument("--only", choices=["speed", "pixels"])
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {arguments.cpu})
    torch.set_num_threads(1)
    real_torchvision()
    from torchvision import transforms
    from torchvision.transforms import v2

    photos = photos_of(arguments.photos)
    if arguments.only != "pixels":
        speed(photos, transforms, v2, arguments.rounds)
    if arguments.only != "speed":
        pixels(photos, v2)


if __name__ == "__main__":
    main()
