"""Writes reference/, unsorted/ and refused/ of this folder with the `tfrecord` package: python make_reference.py FOLDER

Protobuf's Python runtime puts the entries of a map in an order that changes from process to process. reference/ holds a file
whose features came out sorted by name, as shale writes them, unsorted/ one whose features did not.
"""

import io
import pathlib
import struct
import subprocess
import sys

from tfrecord.writer import TFRecordWriter

FOLDER = pathlib.Path(sys.argv[1])
NAME = "tfrecord-1.14.6.tfrecord"


def write_samples(path):
    """What tests/contract/test_golden.cpp expects: five samples, the same rule for every format."""
    writer = TFRecordWriter(path)
    for i in range(5):
        image = b"\xff\xd8" + bytes(range(i * 50))
        writer.write({"image": (image, "byte"), "key": (f"n01/{i}.jpg".encode(), "byte"), "label": (i - 2, "int")})
    writer.close()


def is_sorted(frames):
    return all(x == sorted(x) for x in ([frame.find(name) for name in (b"image", b"key", b"label")] for frame in frames))


def frames_of(data):
    stream, frames = io.BytesIO(data), []
    while header := stream.read(12):
        frames.append(stream.read(struct.unpack("<Q", header[:8])[0]))
        stream.read(4)
    return frames


def put(name, data):
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


if len(sys.argv) > 2:
    write_samples(sys.argv[2])
    sys.exit()
found = {}
while len(found) < 2:
    scratch = FOLDER / "scratch"
    subprocess.run([sys.executable, __file__, sys.argv[1], str(scratch)], check=True)
    data = scratch.read_bytes()
    scratch.unlink()
    found.setdefault("reference" if is_sorted(frames_of(data)) else "unsorted", data)
for folder, data in found.items():
    put(f"{folder}/{NAME}", data)

sound = found["reference"]
first = 16 + struct.unpack("<Q", sound[:8])[0]  # bytes of the first frame
put("refused/length-crc.tfrecord", sound[: first + 9] + bytes([sound[first + 9] ^ 1]) + sound[first + 10 :])
put("refused/payload-crc.tfrecord", sound[: first - 1] + bytes([sound[first - 1] ^ 1]) + sound[first:])
put("refused/cut-in-payload.tfrecord", sound[:-7])
put("refused/cut-in-header.tfrecord", sound[: first + 5])
length = struct.pack("<Q", 1 << 40)
put("refused/overlong-length.tfrecord", sound[:first] + length + TFRecordWriter.masked_crc(length) + sound[first + 12 :])
payload = b"not an Example"
length = struct.pack("<Q", len(payload))
put("refused/no-example.tfrecord", length + TFRecordWriter.masked_crc(length) + payload + TFRecordWriter.masked_crc(payload))
