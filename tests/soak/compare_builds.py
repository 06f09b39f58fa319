#!/usr/bin/env python3
"""Do two builds of shale write the same bytes and say the same words? Every format, kind of input and option, once.

python3 tests/soak/compare_builds.py OLD NEW [--only WORD]

Runs the same commands with both programs in folders of the same content, and compares exit code, stdout, stderr and every file that
is there afterwards. Exit 1 if anything differs. Needs numpy, h5py, lmdb, msgpack and Pillow (build/peers). For whoever moves code.
"""

import argparse
import collections
import gzip
import io
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tarfile
import tempfile

import compared_commands
import h5py
import lmdb
import msgpack
import numpy as np
from PIL import Image

LIMIT_S = 60


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def picture(width, height, seed, kind="JPEG", mode="RGB", **options):
    channels = {"L": 1, "RGB": 3, "CMYK": 4, "RGBA": 4, "P": 1}[mode]
    pixels = np.random.default_rng(seed).integers(0, 255, (height // 8 + 1, width // 8 + 1, channels), np.uint8)
    image = Image.fromarray(pixels.squeeze(2) if channels == 1 else pixels, mode).resize((width, height))
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def rotated(seed):
    exif = Image.Exif()
    exif[0x112] = 6
    return picture(40, 24, seed, exif=exif)


def make_folders(root):
    """Images in class folders: odd ones, bad ones, files that are not samples, partners, tables, frames."""
    for folder, classes in (("photos", "abc"), ("more", "bc"), ("other", "bcd")):
        for number in range(24):
            name = f"{folder}/{classes[number % len(classes)]}/{'deep/' if number % 5 == 0 else ''}{number:03}.jpg"
            write(root / name, picture(16 + number, 40 - number, number + len(folder)))
    odd = {
        "x/gray.jpg": picture(20, 20, 1, mode="L"),
        "x/cmyk.jpg": picture(20, 20, 2, mode="CMYK"),
        "x/turned.jpg": rotated(3),
        "x/one.png": picture(30, 20, 4, "PNG"),
        "x/alpha.png": picture(30, 20, 5, "PNG", "RGBA"),
        "y/two.webp": picture(30, 20, 6, "WEBP", lossless=True),
        "y/three.tif": picture(30, 20, 7, "TIFF"),
        "y/four.bmp": picture(30, 20, 8, "BMP"),
        "y/five.jpg": picture(30, 20, 9, "PNG"),
        "y/six.gif": picture(30, 20, 10, "GIF", "L"),
        "y/copy.png": picture(30, 20, 4, "PNG"),
        "y/Thumbs.db": b"no image",
        ".hidden/z.jpg": picture(10, 10, 11),
        "notes.txt": b"notes",
    }
    for name, data in odd.items():
        write(root / "odd" / name, data)
        if not name.startswith("."):
            write(root / "bad" / name, data)
    write(root / "bad/x/empty.jpg", b"")
    write(root / "bad/x/cut.jpg", picture(60, 60, 12)[:-40])
    write(root / "bad/y/text.png", b"this is text")
    names = []
    for number in range(12):
        names.append(f"{number:02}.jpg")
        write(root / "flat" / names[-1], picture(24, 24, number))
    rows = [(name, "dog" if i % 3 else "cat") for i, name in enumerate(names)]
    write(root / "labels.csv", ("path,label\n" + "".join(f"{a},{b}\n" for a, b in rows)).encode())
    write(root / "labels.tsv", "".join(f"{a}\t{i % 4}\n" for i, (a, _) in enumerate(rows)).encode())
    write(root / "labels.jsonl", "".join(json.dumps({"file_name": a, "label": b, "n": 1}) + "\n" for a, b in rows).encode())
    write(root / "columns.csv", ("file,kind\n" + "".join(f"{a},{b}\n" for a, b in rows)).encode())
    write(root / "few.csv", b"path,label\n00.jpg,1\n")
    for number in range(8):
        write(root / f"pairs/{'ab'[number % 2]}/{number}.jpg", picture(20, 20, number))
        write(root / f"pairs/{'ab'[number % 2]}/{number}.txt", f"caption {number}".encode())
        write(root / f"pairs/{'ab'[number % 2]}/{number}.json", json.dumps({"id": number}).encode())
        write(root / f"image/{number}.jpg", picture(20, 20, number))
        write(root / f"mask/{number}.png", picture(20, 20, number, "PNG", "P"))
        write(root / f"tabled/{number}.jpg", picture(20, 20, number))
    table = "file_name,label,text,score\n" + "".join(f"{n}.jpg,{'uv'[n % 2]},text {n},{n / 4}\n" for n in range(8))
    write(root / "tabled/metadata.csv", table.encode())
    for video in range(4):
        for frame in range(1, 4 + video):
            write(root / f"frames/{'pq'[video % 2]}/v{video}/{frame}.jpg", picture(16, 16, video * 10 + frame))
    for split, share in (("train", 6), ("val", 3)):
        for number in range(share):
            write(root / f"splits/{split}/{'mn'[number % 2]}/{number}.jpg", picture(18, 18, number))
    for number in range(6):
        write(root / f"sounds/{'kl'[number % 2]}/{number}.wav", bytes(range(number, 200)))
    write(root / "list.txt", "".join(f"in/flat/{a}\t{b}\n" for a, b in rows).encode())
    write(root / "select.txt", b"a/deep/000.jpg\nb/001.jpg\nc/002.jpg\n")
    write(root / "train.txt", b"a/deep/000.jpg\nb/001.jpg\na/003.jpg\n")
    write(root / "val.txt", b"c/002.jpg\nb/004.jpg\n")
    write(root / "classes.txt", b"c\nb\na\nz\n")


def make_archives(root):
    for name, mode in (("photos.tar", "w"), ("photos.tar.gz", "w:gz")):
        with tarfile.open(root / name, mode, format=tarfile.PAX_FORMAT) as archive:
            for path in sorted((root / "photos").rglob("*.jpg")):
                archive.add(path, path.relative_to(root).as_posix())
    data = (root / "photos.tar.gz").read_bytes()  # the time in its header goes
    (root / "photos.tar.gz").write_bytes(gzip.compress(gzip.decompress(data), mtime=0))


def make_arrays(root):
    draw = np.random.default_rng(7)
    np.save(root / "x.npy", draw.random((200, 3, 4), np.float32))
    np.save(root / "y.npy", np.arange(200, dtype=np.int64))
    np.save(root / "z.npy", draw.integers(0, 9, 200).astype(np.uint8))
    np.save(root / "big.npy", draw.random((50, 4)).astype(">f8"))
    np.save(root / "fortran.npy", np.asfortranarray(draw.random((60, 5, 7)).astype(np.float32)))
    np.save(root / "many.npy", draw.integers(0, 255, (20000, 8), np.uint8))
    np.save(root / "weights.npy", draw.random(200))
    np.save(root / "indices.npy", np.array([5, -1, 7, 7, 0]))
    np.save(root / "rows.npy", np.array([3, 1, 2]))
    np.savez(root / "both.npz", x=draw.random((30, 2)), y=np.arange(30))
    np.savez_compressed(root / "packed.npz", x=draw.random((30, 2)), y=np.arange(30))


def make_files_of_others(root):
    with h5py.File(root / "sets.h5", "w") as file:
        file["images"] = np.random.default_rng(1).integers(0, 255, (40, 6, 6, 3), np.uint8)
        file["labels"] = np.arange(40) % 5
        file.create_dataset("chunked", data=np.arange(120).reshape(40, 3), chunks=(8, 3), compression="gzip")
    with h5py.File(root / "vlen.h5", "w") as file:
        images = file.create_dataset("image", (8,), h5py.vlen_dtype(np.uint8))
        for number in range(8):
            images[number] = np.frombuffer(picture(16, 16, number), np.uint8)
        file["label"] = np.arange(8)
    for name, value in (
        ("plain.lmdb", lambda n: picture(16, 16, n)),
        ("msgpack.lmdb", lambda n: msgpack.packb({"image": picture(16, 16, n), "label": n})),
        ("pickle.lmdb", lambda n: pickle.dumps({"pos": np.full((3, 3), n, np.float32), "y": float(n)}, 4)),
        ("folder2lmdb.lmdb", lambda n: msgpack.packb([picture(16, 16, n), n % 3])),
    ):
        with lmdb.open(str(root / name), map_size=1 << 24, subdir=False, lock=False) as base, base.begin(write=True) as tx:
            for number in range(30):
                tx.put(f"{number:08}".encode(), value(number))


def make_inputs(root):
    root.mkdir()
    for make in (make_folders, make_archives, make_arrays, make_files_of_others):
        make(root)
    for path in root.rglob("*"):  # whose time is in a listing
        os.utime(path, (1_700_000_000, 1_700_000_000))


def run(program, folder, words):
    """Exit code, what it said, and how long it took."""
    stdin = b""
    if words[0] == "<":
        stdin, words = (folder / words[1]).read_bytes(), words[2:]
    if words[0] == "!":  # spoils a file: !, name, byte
        path = folder / words[1]
        data = bytearray(path.read_bytes())
        data[int(words[2])] ^= 1
        path.write_bytes(data)
        return 0, b"", b""
    if words[0] == "rm":
        (folder / words[1]).unlink()
        return 0, b"", b""
    done = subprocess.run([program, *words], cwd=folder, input=stdin, capture_output=True, timeout=LIMIT_S, check=False)
    return done.returncode, done.stdout, done.stderr


def files_in(folder):
    return {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file() and "in" not in p.relative_to(folder).parts[:1]}


def differences(old, new, folders, said):
    """What is different now; of files only those that are not among `said`."""
    for what, left, right in zip(("exit code", "stdout", "stderr"), old, new, strict=True):
        if left != right:
            yield f"{what}: {left!r} | {right!r}"
    left, right = map(files_in, folders)
    for name in sorted((left.keys() | right.keys()) - said):
        if name not in right or name not in left:
            said.add(name)
            yield f"{name}: only {'old' if name in left else 'new'} wrote it"
        elif left[name].read_bytes() != right[name].read_bytes():
            said.add(name)
            yield f"{name}: its bytes differ"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--only", default="", help="only groups of commands with this word in them")
    arguments = parser.parse_args()
    programs = [arguments.old.resolve(), arguments.new.resolve()]
    differing = 0
    codes = collections.Counter()
    with tempfile.TemporaryDirectory() as root:
        make_inputs(pathlib.Path(root) / "in")
        for group in compared_commands.GROUPS:
            if arguments.only not in " ".join(" ".join(words) for words in group):
                continue
            folders = [pathlib.Path(root) / side / "work" for side in ("old", "new")]
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                (folder / "in").symlink_to(pathlib.Path(root) / "in")
            said = set()
            for words in group:
                results = [run(program, folder, words) for program, folder in zip(programs, folders, strict=True)]
                if words[0] not in ("!", "rm"):
                    codes[results[0][0]] += 1
                found = list(differences(*results, folders, said))
                differing += bool(found)
                if found:
                    print("shale " + " ".join(words))
                for line in found:
                    print("  " + line[:600])
    by_code = ", ".join(f"{count} with exit code {code}" for code, count in sorted(codes.items()))
    print(f"{sum(codes.values())} commands ({by_code}), {differing} of them differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
