#!/usr/bin/env python3
"""Resizing photos to a shorter side of 256, JPEG quality 90, against Pillow, OpenCV and vipsthumbnail: speed and SSIM.

    cmake --build --preset release --target resize_photos
    python bench/images.py PHOTOS [--program build/release/resize_photos] [--rounds 5] [--cpu 1]

All photos are in memory, but for vipsthumbnail, which takes files. One core (--cpu), rounds in turn, so that noise hits everybody; each
round is all photos once. SSIM is of luma, the mean over the photos, against Pillow's LANCZOS from the full decode, before any JPEG.
A peer that is not installed is left out. The last row is two threads.
"""

import argparse
import importlib.util
import io
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import numpy
from PIL import Image

SIDE, QUALITY = 256, 90


def target(width, height):
    return (SIDE, int(SIDE * height / width)) if width <= height else (int(SIDE * width / height), SIDE)


def blurred(image):
    kernel = numpy.exp(-0.5 * (numpy.arange(-5, 6) / 1.5) ** 2)
    kernel /= kernel.sum()
    image = sum(kernel[i] * image[i : image.shape[0] - 10 + i] for i in range(11))
    return sum(kernel[i] * image[:, i : image.shape[1] - 10 + i] for i in range(11))


def ssim(first, second):
    first, second = (numpy.asarray(one.convert("L"), float) for one in (first, second))
    mean1, mean2 = blurred(first), blurred(second)
    var1, var2 = blurred(first**2) - mean1**2, blurred(second**2) - mean2**2
    both = blurred(first * second) - mean1 * mean2
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    return float((((2 * mean1 * mean2 + c1) * (2 * both + c2)) / ((mean1**2 + mean2**2 + c1) * (var1 + var2 + c2))).mean())


def by_pillow(data, draft, encode=True):
    image = Image.open(io.BytesIO(data))
    size = target(*image.size)
    if draft:
        image.draft("RGB", size)
    image = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    if not encode:
        left, top = (size[0] - SIDE) // 2, (size[1] - SIDE) // 2
        return numpy.asarray(image.crop((left, top, left + SIDE, top + SIDE)))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()


def by_opencv(cv2):
    cv2.setNumThreads(1)

    def work(data):
        image = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
        image = cv2.resize(image, target(image.shape[1], image.shape[0]), interpolation=cv2.INTER_AREA)
        return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].tobytes()

    return work


class Peer:
    """Something in this process that makes one result of one photo."""

    def __init__(self, photos, work):
        self.photos, self.work = photos, work

    def round(self):
        begin = time.perf_counter()
        for data in self.photos.values():
            self.work(data)
        return time.perf_counter() - begin

    def results(self):
        return {name: self.work(data) for name, data in self.photos.items()}


class Ours:
    def __init__(self, program, folder, kind, threads, output=None):
        command = [program, folder, kind, str(threads), *([output] if output else [])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.output = output
        if output:
            self.round()  # writes the results, and is not counted

    def round(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def results(self):
        return {path.name: path.read_bytes() for path in pathlib.Path(self.output).iterdir()}


class Vips:
    def __init__(self, paths, output):
        self.output, self.groups = output, {f"{SIDE}x": [], f"x{SIDE}": []}
        for path in paths:
            width, height = Image.open(path).size
            self.groups[f"{SIDE}x" if width <= height else f"x{SIDE}"].append(path)

    def round(self):
        begin = time.perf_counter()
        environment = {**os.environ, "VIPS_CONCURRENCY": "1"}
        for size, paths in self.groups.items():  # few processes: their start is not what is measured
            options = ["--size", size, "--no-rotate", "-o", f"{self.output}/%s.jpg[Q={QUALITY},subsample_mode=on]"]
            subprocess.run(["vipsthumbnail", *options, *paths], env=environment, check=True, capture_output=True)
        return time.perf_counter() - begin

    def results(self):
        return {f"{path.stem}.JPEG": path.read_bytes() for path in pathlib.Path(self.output).iterdir()}


def quality(name, results, references):
    scores = []
    for photo, reference in references.items():
        if photo in results:
            image = Image.open(io.BytesIO(results[photo]))
            if image.size == reference.size:
                scores.append(ssim(image, reference))
    size = statistics.mean(len(data) for data in results.values())
    return f"{statistics.mean(scores):.4f} ({len(scores)} photos), {size / 1000:.1f} kB" if scores else f"{name}: other sizes"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("photos")
    parser.add_argument("--program", default="build/release/resize_photos")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", type=int, default=1)
    parser.add_argument("--references", type=int, default=200, help="how many photos are compared")
    args = parser.parse_args()
    paths = sorted(path for path in pathlib.Path(args.photos).rglob("*") if path.is_file())
    photos = {path.name: path.read_bytes() for path in paths}
    everywhere = os.sched_getaffinity(0)
    work = tempfile.mkdtemp(prefix="shale-images-")
    (pathlib.Path(work) / "ours").mkdir()
    (pathlib.Path(work) / "vips").mkdir()

    two = Ours(args.program, args.photos, "jpeg", 2)  # before this process is bound to one core
    os.sched_setaffinity(0, {args.cpu})
    steps = {
        "shale": Ours(args.program, args.photos, "jpeg", 1, f"{work}/ours"),
        "Pillow LANCZOS": Peer(photos, lambda data: by_pillow(data, False)),
        "Pillow LANCZOS, draft": Peer(photos, lambda data: by_pillow(data, True)),
    }
    if importlib.util.find_spec("cv2"):
        import cv2

        steps["OpenCV INTER_AREA"] = Peer(photos, by_opencv(cv2))
    if shutil.which("vipsthumbnail"):
        steps["vipsthumbnail"] = Vips(paths, f"{work}/vips")
    steps["shale raw 256x256"] = Ours(args.program, args.photos, "raw", 1)
    steps["Pillow raw 256x256"] = Peer(photos, lambda data: by_pillow(data, False, encode=False))
    times = {name: [] for name in [*steps, "shale, 2 threads"]}
    for _ in range(args.rounds):
        for name, step in steps.items():
            times[name].append(step.round())
        os.sched_setaffinity(0, everywhere)
        times["shale, 2 threads"].append(two.round())
        os.sched_setaffinity(0, {args.cpu})
    references = {}
    for path in paths[: args.references]:
        image = Image.open(path).convert("RGB")
        references[path.name] = image.resize(target(*image.size), Image.Resampling.LANCZOS)
    print(f"| {len(photos)} photos, {args.rounds} rounds | ms per photo | shale is | SSIM, size |\n|---|--:|--:|---|")
    for name, seconds in times.items():
        yardstick = times["shale raw 256x256" if "raw" in name else "shale"]
        ratio = statistics.median(theirs / ours for theirs, ours in zip(seconds, yardstick))
        text = "" if "raw" in name or "threads" in name else quality(name, steps[name].results(), references)
        print(f"| {name} | {statistics.median(seconds) / len(photos) * 1000:.3f} | {ratio:.2f}x | {text} |")
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
