"""What the benchmarks read, made once below --work, and the environment of the peers."""

import os
import shutil
import subprocess
import sys

import harness
from harness import HERE, MIB, ROOT, say

PHOTO_COUNT = 20_000
REPEATED_COUNT, REPEATED_CONTENTS = 6000, 100


def add_photos(options):
    options.add_argument("--photos", type=type(ROOT), default=ROOT.parent / "shared/data/imagenet-sample",
                         help="class folders with photos, multiplied to 20,000 files")  # fmt: skip


def made_once(path, make):
    """Calls make(path) unless it has succeeded before; a half-made one is made again."""
    done = done_mark(path)
    if not done.exists():
        say(f"making {path}")
        harness.remove(path)
        make(path)
        os.sync()
        done.touch()
    return path


def forget(path):
    """Removes what made_once made."""
    done_mark(path).unlink(missing_ok=True)
    harness.remove(path)


def done_mark(path):
    return path.with_name(path.name + ".done")


def photos_of(arguments):
    return made_once(arguments.work / "photos", lambda path: multiply_photos(arguments.photos, path))


def multiply_photos(sample, out):
    """Copies of real photos in 1000 class folders: n01440764_0/n01440764_tench_000.JPEG ... Real copies, no links.

    Each copy has its name behind the end of the picture, so that no two are duplicates, which shale would look for and prove.
    """
    photos = sorted(p for p in sample.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
    if not photos:
        raise SystemExit(f"bench: {sample} holds no JPEGs\nhint: name a folder of photos with --photos")
    copies = -(-PHOTO_COUNT // len(photos))
    for copy in range(copies):
        for photo in photos:
            folder = out / f"{photo.parent.name}_{copy // 20}"
            folder.mkdir(parents=True, exist_ok=True)
            name = f"{photo.stem}_{copy:03}.JPEG"
            (folder / name).write_bytes(photo.read_bytes() + name.encode())


def repeat_photos(sample, out):
    """Real copies of 100 photos, byte for byte, in the class of the photo and in two more."""
    photos = sorted(p for p in sample.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))[:REPEATED_CONTENTS]
    if len(photos) < REPEATED_CONTENTS:
        raise SystemExit(f"bench: {sample} holds fewer than {REPEATED_CONTENTS} JPEGs\nhint: name a folder of photos with --photos")
    for copy in range(REPEATED_COUNT // REPEATED_CONTENTS):
        for photo in photos:
            folder = out / f"{photo.parent.name}_{copy // 20}"
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(photo, folder / f"{photo.stem}_{copy:03}.JPEG")


def write_blob(photos, out):
    """All photos in one file: the bytes that dd writes."""
    with open(out, "wb") as sink:
        for path in sorted(photos.rglob("*.JPEG")):
            with open(path, "rb") as source:
                shutil.copyfileobj(source, sink, MIB)


def list_of(arguments, photos):
    """The photos in the order of ImageFolder, a line each: label, tab, path below the folder."""
    path = arguments.work / "photos.list"
    with open(path, "w") as sink:
        for label, folder in enumerate(sorted(photos.iterdir())):
            sink.writelines(f"{label}\t{folder.name}/{name}\n" for name in sorted(os.listdir(folder)))
    return path


def lmdb_writer(arguments):
    """bench/lmdb_writer.c, compiled."""
    program = arguments.work / "lmdb_writer"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "lmdb"], check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-o", program, HERE / "lmdb_writer.c", *flags], check=True)
    return program


def peers_of(arguments):
    """The Python of the peers' environment."""
    return environment(arguments.peers or arguments.work / "peers", HERE / "peers.txt")


def environment(venv, pins):
    """The Python of an environment, which is made if it is missing or has other pins."""
    stamp = venv / "shale-pins"
    if not stamp.exists() or stamp.read_bytes() != pins.read_bytes():
        say(f"setting up the peers in {venv}")
        if not (venv / "bin/python").exists():
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin/python", "-m", "pip", "install", "-q", "--no-deps", "-r", pins], check=True)
        stamp.write_bytes(pins.read_bytes())
    return venv / "bin/python"


def convert(arguments, source, out, to, *more):
    return [arguments.shale, "convert", source, out, "--to", to, "--quiet", *more]


def shell(script, *words):
    return ["sh", "-ec", script, "sh", *map(str, words)]
