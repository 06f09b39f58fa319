"""What the tests of the command line share: the program, small real images, folders of them, and a reader of datasets.

Python's standard library only: these tests run wherever shale is built.
"""

import ast
import base64
import collections
import filecmp
import hashlib
import json
import os
import pathlib
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOBODY = 65534


def find_shale():
    path = pathlib.Path(os.environ.get("SHALE", ROOT / "build/release/shale")).resolve()
    if not os.access(path, os.X_OK):
        sys.exit(f"{path}: no such program\nhint: build it (tests/run.sh), or set SHALE to its path")
    return path


SHALE = find_shale()
# Under a sanitizer memory and time are not those of the tool.
IS_SANITIZED = any(mark in SHALE.read_bytes() for mark in (b"__asan_init", b"__tsan_init"))

# ---- images -------------------------------------------------------------------------------------------------------------

# Made once with Pillow 13.0 (quality 30 to 50, optimize=True): 8 x 6 gray, 10 x 7 RGB, 6 x 6 CMYK.
GRAY_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19iZ2hnPk1xeXBkeFxl"
    "Z2P/wAALCAAGAAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAABv/EABYQAQEBAAAAAAAAAAAAAAAAAAIABP/aAAgBAQAAPwAacpv/2Q=="
)
RGB_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5mo"
    "q6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAAHAAoDASIAAhEB"
    "AxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAAID/8QAHxABAAEDBAMAAAAAAAAAAAAAAQIAAxEEEhMhFGGh/8QAFQEBAQAAAAAAAAAAAAAAAAAAAAH/xAAU"
    "EQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwDGw6WMVPFkhkiWp5fXbUruVOWI94LVvB9pSiP/2Q=="
)
CMYK_JPEG = base64.b64decode(
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAbEhQXFBEbFxYXHhwbIChCKyglJShROj0wQmBVZWRfVV1baniZgWpxkHNbXYW1hpCeo6utq2eAvMm6pseZqKuk"
    "/8AAFAgABgAGBEMRAE0RAFkRAEsRAP/EABYAAQEBAAAAAAAAAAAAAAAAAAMBAv/EACAQAAICAAcBAQAAAAAAAAAAAAECAxEABBITIWGxIpL/2gAOBEMA"
    "TQBZAEsAAD8AmZmpUEzvuDg0WN93qHgxnMzUqCZ33BwaLG+71DwYPMzUqCZ33BwaLG+71DwYPNzKAgkkkLgDUfo8/oeDH//Z"
)


def npy(descr, shape, data, fortran_order=False):
    """The bytes of an .npy file, version 1.0, as NumPy writes it but for the room to grow."""
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran_order}, 'shape': {shape!r}, }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin-1") + data


def png(width, height, seed=0):
    """A gray PNG of noise, stored uncompressed: about width * height bytes, the same on every machine."""
    dice = random.Random(seed)
    rows = b"".join(b"\0" + dice.randbytes(width) for _ in range(height))
    pieces = [rows[i : i + 65535] for i in range(0, len(rows), 65535)]
    blocks = b"".join(struct.pack("<BHH", i == len(pieces) - 1, len(piece), 0xFFFF ^ len(piece)) + piece for i, piece in enumerate(pieces))
    data = b"\x78\x01" + blocks + struct.pack(">I", zlib.adler32(rows))

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


# ---- folders ------------------------------------------------------------------------------------------------------------


def write(path, content=RGB_JPEG):
    """Writes a file, its folders too; `path` may be bytes, for names that are not UTF-8.

    One that is there is not emptied first: ext4 would bring it to the disk when it is closed.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666), "wb") as file:
        file.write(content)
        file.truncate()


def make_photos(root, count, sides=(2, 40), classes=3, seed=0):
    """An image folder of `count` PNGs of noise with sides in a range, the same for the same arguments."""
    dice = random.Random(seed)
    for i in range(count):
        side = dice.randint(*sides)
        write(f"{root}/class-{i % classes}/{i:05}.png", png(side, side, seed=i))
    return pathlib.Path(root)


def make_frames(root, videos, sides=(2, 40), classes=3):
    """Folders of frames, CLASS/VIDEO/NUMBER.png: PNGs of noise, 3 to 11 of them in a video."""
    for i in range(videos):
        side = random.Random(i).randint(*sides)
        for frame in range(3 + i % 9):
            write(f"{root}/class-{i % classes}/video-{i}/{frame}.png", png(side, side, seed=i + frame))
    return pathlib.Path(root)


def snapshot(folder):
    """Relative path -> hash of the content, or the link's target, of everything below a folder."""
    found = {}
    for place, folders, names in os.walk(os.fsencode(folder)):
        for name in names + folders:
            path = os.path.join(place, name)
            if os.path.islink(path):
                found[os.path.relpath(path, os.fsencode(folder))] = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, os.fsencode(folder))] = hashlib.file_digest(file, "sha256").hexdigest()
            else:
                found[os.path.relpath(path, os.fsencode(folder))] = None
    return found


def differences(left, right):
    """What `diff -r` would say of two flat folders of files: names missing on one side, names whose bytes differ."""
    ours, theirs = set(os.listdir(left)), set(os.listdir(right))
    both = sorted(ours & theirs)
    same, different, failed = filecmp.cmpfiles(left, right, both, shallow=False)
    return sorted(ours ^ theirs) + different + failed


class Folder:
    """A fresh folder under $TMPDIR (or `base`) that anybody may enter, removed with everything in it."""

    def __init__(self, base=None):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="shale-test-", dir=base))
        self.path.chmod(0o755)

    def __str__(self):
        return str(self.path)

    def __truediv__(self, name):
        return self.path / name

    def remove(self):
        for place, folders, _ in os.walk(self.path):
            os.chmod(place, 0o755)
            for name in folders:
                if not os.path.islink(os.path.join(place, name)):
                    os.chmod(os.path.join(place, name), 0o755)
        shutil.rmtree(self.path)


# ---- the program --------------------------------------------------------------------------------------------------------

Run = collections.namedtuple("Run", "code out err peak_bytes")


def start(
    *words, program=SHALE, cwd=None, environment=None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen
):
    """The program under way, its output in pipes; words may be paths, numbers or bytes."""
    # os.fspath: a pathlib.Path holds invalid UTF-8 as surrogates, which subprocess turns back into bytes.
    command = [program, *(word if isinstance(word, bytes) else str(word) for word in words)]
    env = {**os.environ, "LC_ALL": "C", **(environment or {})}
    return subprocess.Popen(command, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, **popen)


def few_descriptors(limit):
    """For preexec_fn. Shards then become durable a few at a time: a quarter of the descriptors may be files that wait for it."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


def run(*words, **options):
    """Runs the program to its end: exit code (negative: the signal), both outputs, peak resident bytes."""
    # A preexec_fn makes subprocess fork: with vfork the program would inherit the peak of this process.
    process = start(*words, **{"preexec_fn": lambda: None, **options})
    out, err = process.stdout.read(), process.stderr.read()  # messages are short: neither pipe fills up meanwhile
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    process.stderr.close()
    text = [stream.decode("utf-8", errors="surrogateescape") for stream in (out, err)]
    return Run(process.returncode, *text, usage.ru_maxrss * 1024)


# ---- datasets -----------------------------------------------------------------------------------------------------------


def manifest_of(dataset):
    return json.loads(pathlib.Path(dataset, "dataset.json").read_bytes())


def read_index(path):
    """The rows of an index, each a dict by column: docs/index.md without NumPy."""
    data = pathlib.Path(path).read_bytes()
    assert data[:6] == b"\x93NUMPY", path
    (length,) = struct.unpack("<H", data[8:10]) if data[6] == 1 else struct.unpack("<I", data[8:12])
    begin = (10 if data[6] == 1 else 12) + length
    columns = ast.literal_eval(data[begin - length : begin].decode())["descr"]
    row = struct.Struct("<" + "".join({"<u8": "Q", "<i8": "q", "<u4": "I", "<f8": "d"}[dtype] for _, dtype in columns))
    names = [name for name, _ in columns]
    return [dict(zip(names, values)) for values in row.iter_unpack(data[begin:])]


def samples_of(dataset):
    """(key, label, image bytes) of every sample, in order."""
    for shard in manifest_of(dataset)["shards"]:
        data = pathlib.Path(dataset, shard["files"][0]["name"]).read_bytes()
        for row in read_index(pathlib.Path(dataset, shard["index"]["name"])):
            key, image = (data[row[f"{f}.offset"] :][: row[f"{f}.length"]] for f in ("key", "image"))
            yield key, row["label"], image
