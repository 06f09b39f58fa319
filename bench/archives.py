#!/usr/bin/env python3
"""Tar archives and folders of pairs as input: a tar of tars beside `cat` and `dd`, and beside the folder that it unpacks to.

python3 bench/archives.py [--only tar|pairs] [--rounds 5] [--cache warm|cold] [--photos FOLDER] [--work FOLDER] [--json FILE]
As root (it drops caches), on a machine that does nothing else. bench/README.md explains the protocol.

tar: the archive has one archive per class, as ILSVRC2012_img_train.tar has. The machine's limit is `cat ARCHIVE > /dev/null`, then
`dd oflag=direct` of the same bytes; nobody who reads all of the input and writes all of the output is faster.
pairs: the same photos, each with a caption in NAME.txt beside it, and without: seconds per file that is read.
"""

import io
import pathlib
import tarfile

import harness
import inputs
from harness import Step
from inputs import convert, shell

COPY = 'cat "$1" > /dev/null && dd if="$1" of="$2" bs=4M iflag=fullblock oflag=direct conv=notrunc'


def parse_arguments():
    options = harness.parser(__doc__)
    inputs.add_photos(options)
    options.add_argument("--only", choices=list(BENCHES))
    options.add_argument("--cache", choices=["warm", "cold"], help="only one of the two")
    return options.parse_args()


def caches(arguments):
    return [arguments.cache] if arguments.cache else ["warm", "cold"]


def write_archive(photos, out):
    """One archive per class, in one archive."""
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as whole:
        for folder in sorted(path for path in photos.iterdir() if path.is_dir()):
            of_class = io.BytesIO()
            with tarfile.open(fileobj=of_class, mode="w", format=tarfile.USTAR_FORMAT) as archive:
                for photo in sorted(folder.iterdir()):
                    archive.add(photo, photo.name)
            member = tarfile.TarInfo(folder.name + ".tar")
            member.size = of_class.tell()
            of_class.seek(0)
            whole.addfile(member, of_class)


def write_pairs(photos, out):
    """The photos, and a caption beside each."""
    for folder in sorted(path for path in photos.iterdir() if path.is_dir()):
        (out / folder.name).mkdir(parents=True)
        for photo in sorted(folder.iterdir()):
            (out / folder.name / photo.name).write_bytes(photo.read_bytes())
            (out / folder.name / photo.with_suffix(".txt").name).write_text(f"a photo of {folder.name}, {photo.stem}\n")


def bench_tar(arguments, photos):
    archive = inputs.made_once(arguments.work / "classes.tar", lambda out: write_archive(photos, out))
    out, copy = arguments.work / "out", arguments.work / "copy"
    steps = [
        Step("tar of tars to record", convert(arguments, archive, out, "record"), [archive], output=out),
        Step("the folder to record", convert(arguments, photos, out, "record"), [photos], output=out),
        Step("cat > /dev/null, dd oflag=direct", shell(COPY, archive, copy), [archive], output=copy),
    ]
    payload = harness.size_of([photos])
    for cache in caches(arguments):
        runs = harness.alternate(steps, arguments.rounds, arguments.work, cache)
        title = f"tar of tars, {payload / 1e6:.0f} MB, {cache}"
        yield title, runs, harness.table(runs, steps[-1].name, payload, title)


def bench_pairs(arguments, photos):
    pairs = inputs.made_once(arguments.work / "pairs", lambda out: write_pairs(photos, out))
    out = arguments.work / "out"
    steps = [
        Step("photos", convert(arguments, photos, out, "record"), [photos], output=out),
        Step("photos and captions", convert(arguments, pairs, out, "record"), [pairs], output=out),
    ]
    files = {step.name: sum(path.is_file() for path in pathlib.Path(step.reads[0]).rglob("*")) for step in steps}
    for cache in caches(arguments):
        runs = harness.alternate(steps, arguments.rounds, arguments.work, cache)
        medians = {name: harness.median_of(runs[name], "synced") for name in runs}
        rows = [[name, f"{files[name]:,}", f"{medians[name]:.2f}", f"{medians[name] / files[name] * 1e6:.1f}"] for name in runs]
        title = f"folders of pairs, {cache}"
        yield title, runs, f"{title}\n\n" + harness.markdown(["input", "files", "s on disk", "us a file"], rows)


BENCHES = {"tar": bench_tar, "pairs": bench_pairs}


def main():
    arguments = parse_arguments()
    harness.needs_root()
    arguments.work.mkdir(parents=True, exist_ok=True)
    harness.needs_shale(arguments)
    photos = inputs.photos_of(arguments)
    wanted = [arguments.only] if arguments.only else list(BENCHES)
    harness.report(arguments, (result for name in wanted for result in BENCHES[name](arguments, photos)))


if __name__ == "__main__":
    main()
