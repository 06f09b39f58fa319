"""Writes reference/ and refused/ of this folder: python make_reference.py FOLDER (made with safetensors 0.8.0)"""

import pathlib
import struct
import sys

import torch
from safetensors.torch import save

FOLDER = pathlib.Path(sys.argv[1])


def put(name, data):
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def file_of(header, rows):
    return struct.pack("<Q", len(header)) + header + rows


# What tests/contract/test_golden.cpp expects: five rows of 2 x 3 numbers, their bytes counted up by 1, rows by 50.
numbers = bytearray((i * 50 + byte) % 256 for i in range(5) for byte in range(12))
rows = torch.frombuffer(numbers, dtype=torch.uint16).reshape(5, 2, 3)
sound = save({"x": rows}, metadata={"made by": "make_reference.py"})
put("reference/safetensors-0.8.0.safetensors", sound)

header = sound[8 : 8 + struct.unpack("<Q", sound[:8])[0]]
put("refused/a-byte-more.safetensors", sound + b"\0")
put("refused/another-dtype.safetensors", save({"x": rows.view(torch.int16)}))
put("refused/bfloat16.safetensors", save({"x": rows.view(torch.bfloat16)}))
put("refused/cut-in-header.safetensors", sound[:60])
put("refused/cut-in-rows.safetensors", sound[:-1])
put("refused/gap.safetensors", file_of(header.replace(b"[0,60]", b"[1,61]"), bytes(61)))
put("refused/long-header.safetensors", struct.pack("<Q", 2**40) + sound[8:])
put("refused/outside.safetensors", file_of(header.replace(b"[0,60]", b"[0,99]"), bytes(60)))
put("refused/shape.safetensors", file_of(header.replace(b"[5,2,3]", b"[4,2,3]"), bytes(60)))
