#!/usr/bin/env python3
"""Listing class folders of photos, from a cold disk and from a slow server, beside find and the loop of ImageFolder.

sudo python3 bench/listing.py [--only disk|server] [--beside PROGRAM] [--rounds 5] ...
The server is bench/slow_folder.py: a FUSE file system, each of whose answers takes --milliseconds. bench/README.md has the table.
"""

import contextlib
import os
import pathlib
import subprocess
import time

import harness
import inputs
from harness import HERE, Step
from inputs import shell

# torchvision's make_dataset, and the size of each file, which a converter wants as well.
IMAGE_FOLDER = """
import os, sys
found = []
for name in sorted(entry.name for entry in os.scandir(sys.argv[1]) if entry.is_dir()):
    for folder, _, files in sorted(os.walk(os.path.join(sys.argv[1], name), followlinks=True)):
        for file in sorted(files):
            found.append((os.path.join(folder, file), os.path.getsize(os.path.join(folder, file))))
assert found
"""
SERVED_CLASSES = 100  # a sample of the photos: find asks for one file at a time


def parse_arguments():
    options = harness.parser(__doc__)
    inputs.add_photos(options)
    options.add_argument("--only", choices=["disk", "server"])
    options.add_argument("--milliseconds", type=float, default=1.0, help="of each answer of the server (default: 1)")
    options.add_argument("--beside", type=pathlib.Path, help="another build of shale, measured in turn with this one")
    return options.parse_args()


def steps_of(arguments, folder):
    def listed_by(program):
        return [program, "convert", folder, arguments.work / "none", "--to", "record", "--dry-run", "--quiet"]

    steps = [
        Step("shale convert --dry-run", listed_by(arguments.shale), syncs=False),
        Step("find -printf %s", shell('find "$1" -type f -printf "%s\\n" > /dev/null', folder), syncs=False),
        Step("the loop of ImageFolder, with sizes", [inputs.peers_of(arguments), "-c", IMAGE_FOLDER, folder], syncs=False),
    ]
    if arguments.beside:
        steps.insert(1, Step(f"{arguments.beside}", listed_by(arguments.beside.resolve()), syncs=False))
    return steps


@contextlib.contextmanager
def served(arguments, folder):
    """The folder, as a server shows it."""
    mount_point = arguments.work / "server"
    mount_point.mkdir(exist_ok=True)
    server = subprocess.Popen([inputs.peers_of(arguments), HERE / "slow_folder.py", folder, mount_point, str(arguments.milliseconds)])
    try:
        while not os.path.ismount(mount_point):
            if server.poll() is not None:
                raise SystemExit("bench: the server does not start\nhint: apt-get install libfuse2 fuse")
            time.sleep(0.1)
        yield mount_point
    finally:
        subprocess.run(["umount", mount_point], check=False)
        server.wait()


def some_classes(photos):
    def make(path):
        path.mkdir()
        for folder in sorted(photos.iterdir())[:SERVED_CLASSES]:
            (path / folder.name).mkdir()
            for photo in folder.iterdir():
                os.link(photo, path / folder.name / photo.name)

    return make


def measured(arguments, folder, title, files):
    runs = harness.alternate(steps_of(arguments, folder), arguments.rounds, arguments.work, "cold")
    header = [title, "s", "spread", "us per file", "CPU s", "x find"]
    rows = []
    for name, of_step in runs.items():
        seconds = [run.returned for run in of_step]
        median = harness.median_of(of_step, "returned")
        rows.append([
            name,
            f"{median:.2f}",
            harness.spread(seconds),
            f"{median / files * 1e6:.0f}",
            f"{harness.median_of(of_step, 'cpu'):.2f}",
            harness.ratio(runs, name, "find -printf %s", "returned"),
        ])  # fmt: skip
    return title, runs, harness.markdown(header, rows)


def benches(arguments):
    photos = inputs.photos_of(arguments)
    if arguments.only != "server":
        count = sum(1 for _ in photos.rglob("*.JPEG"))
        yield measured(arguments, photos, f"{count:,} files of a cold disk", count)
    if arguments.only != "disk":
        some = inputs.made_once(arguments.work / "some-photos", some_classes(photos))
        count = sum(1 for _ in some.rglob("*.JPEG"))
        with served(arguments, some) as folder:
            yield measured(arguments, folder, f"{count:,} files of a server, {arguments.milliseconds:g} ms an answer", count)


def main():
    arguments = parse_arguments()
    harness.needs_root()
    harness.run(arguments, benches)


if __name__ == "__main__":
    main()
