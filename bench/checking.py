#!/usr/bin/env python3
"""The images of a folder, before it is packed: shale verify --deep beside a pool of processes that opens each with Pillow and loads it.

    PYTHON-WITH-PILLOW bench/checking.py [--photos DIR] [--rounds 3] ...        # 20,000 photos, warm

Both use all cores, and read every file; the pool is the script that everybody writes for ImageNet.
"""

import concurrent.futures
import os
import sys

import harness
import inputs
from harness import HERE, Step


def opened(path):
    from PIL import Image

    try:
        with Image.open(path) as image:
            image.load()
    except Exception as error:
        return f"{path}: {error}"
    return None


def check_with_pillow(folder):
    files = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        bad = [line for line in pool.map(opened, files, chunksize=64) if line]
    print(*bad, sep="\n", end="")


def parse_arguments():
    options = harness.parser(__doc__)
    inputs.add_photos(options)
    arguments = options.parse_args()
    harness.needs_shale(arguments)
    return arguments


def results(arguments):
    photos = inputs.photos_of(arguments)
    steps = [
        Step("shale verify --deep", [arguments.shale, "verify", photos, "--deep", "--quiet"], [photos], syncs=False),
        Step("shale verify", [arguments.shale, "verify", photos, "--quiet"], [photos], syncs=False),
        Step("Python: a pool that opens each with Pillow", [sys.executable, HERE / "checking.py", "pool", photos], [photos], syncs=False),
    ]
    title = "20,000 photos in a folder"
    runs = harness.alternate(steps, arguments.rounds, arguments.work, "warm")
    yield title, runs, harness.table(runs, "shale verify --deep", harness.size_of([photos]), title)


if __name__ == "__main__":
    if sys.argv[1:2] == ["pool"]:
        check_with_pillow(sys.argv[2])
    else:
        harness.run(parse_arguments(), results)
