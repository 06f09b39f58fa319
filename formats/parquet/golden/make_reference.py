"""Writes reference/ and refused/ of this folder, by FORMAT.md alone: python make_reference.py FOLDER"""

import pathlib
import struct
import sys
import zlib

FOLDER = pathlib.Path(sys.argv[1])
FILE_BYTES = 2424  # what shale's size rule gives for these five rows: the zeros in front of the footer make up for the rest
JSON = (
    '{"info": {"features": {"image": {"_type": "Image"}, "label": {"dtype": "int64", "_type": "Value"}, '
    '"key": {"dtype": "string", "_type": "Value"}}}}'
)
SCHEMA = "image\tbytes\nlabel\tinteger\n"


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def zigzag(number):
    return varint((number << 1) ^ (number >> 63))


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return varint(len(value)) + value


def items(kind, elements):
    head = bytes([len(elements) << 4 | kind]) if len(elements) < 15 else bytes([0xF0 | kind]) + varint(len(elements))
    return head + b"".join(elements)


def struct_of(*fields):
    """Fields as (id, type, bytes); a number is an i32 (type 5) or an i64 (type 6)."""
    out, last = b"", 0
    for number, kind, value in fields:
        out += bytes([(number - last) << 4 | kind])
        out += zigzag(value) if isinstance(value, int) else value
        last = number
    return out + b"\0"


def page(slots, body):
    crc = zlib.crc32(body)
    header = struct_of((1, 5, slots), (2, 5, 0), (3, 5, 3), (4, 5, 3))
    head = [(1, 5, 0), (2, 5, len(body)), (3, 5, len(body)), (4, 5, crc - (crc >> 31 << 32)), (5, 12, header)]
    return struct_of(*head) + body


def levels(level, slots):
    run = varint(slots << 1) + bytes([level])
    return struct.pack("<I", len(run)) + run


def write_samples():
    """What tests/contract/test_golden.cpp expects: five samples, the same rule for every format."""
    keys = [f"n01/{i}.jpg".encode() for i in range(5)]
    images = [b"\xff\xd8" + bytes(range(i * 50)) for i in range(5)]
    numbers = [struct.pack("<q", i - 2) for i in range(5)]
    with_length = lambda values: b"".join(struct.pack("<I", len(value)) + value for value in values)
    leaves = [  # path, type, page, nulls, bounds
        (["image", "bytes"], 6, page(5, levels(2, 5) + with_length(images)), 0, None),
        (["image", "path"], 6, page(5, levels(1, 5)), 5, None),
        (["label"], 2, page(5, levels(1, 5) + b"".join(numbers)), 0, (numbers[0], numbers[-1])),
        (["key"], 6, page(5, levels(1, 5) + with_length(keys)), 0, (keys[0], keys[-1])),
    ]
    out, begins = b"PAR1", []
    for leaf in leaves:
        begins.append(len(out))
        out += leaf[2]
    column_indexes, offset_indexes = {}, {}
    for number, (_, _, _, nulls, bounds) in enumerate(leaves):
        if bounds:
            index = struct_of(
                (1, 9, items(1, [b"\2"])),
                (2, 9, items(8, [text(bounds[0])])),
                (3, 9, items(8, [text(bounds[1])])),
                (4, 5, 0),
                (5, 9, items(6, [zigzag(nulls)])),
            )
            column_indexes[number] = (len(out), len(index))
            out += index
    for number, leaf in enumerate(leaves):
        place = struct_of((1, 6, begins[number]), (2, 5, len(leaf[2])), (3, 6, 0))
        index = struct_of((1, 9, items(12, [place])))
        offset_indexes[number] = (len(out), len(index))
        out += index
    chunks = []
    for number, (path, kind, stored, nulls, bounds) in enumerate(leaves):
        statistics = [(3, 6, nulls)] + ([(5, 8, text(bounds[1])), (6, 8, text(bounds[0]))] if bounds else [])
        meta = struct_of(
            (1, 5, kind),
            (2, 9, items(5, [zigzag(0), zigzag(3)])),
            (3, 9, items(8, [text(name) for name in path])),
            (4, 5, 0),
            (5, 6, 5),
            (6, 6, len(stored)),
            (7, 6, len(stored)),
            (9, 6, begins[number]),
            (12, 12, struct_of(*statistics)),
            (13, 9, items(12, [struct_of((1, 5, 0), (2, 5, 0), (3, 5, 1))])),
        )
        fields = [(2, 6, 0), (3, 12, meta), (4, 6, offset_indexes[number][0]), (5, 5, offset_indexes[number][1])]
        if bounds:
            fields += [(6, 6, column_indexes[number][0]), (7, 5, column_indexes[number][1])]
        chunks.append(struct_of(*fields))
    total = sum(len(leaf[2]) for leaf in leaves)
    group = struct_of((1, 9, items(12, chunks)), (2, 6, total), (3, 6, 5), (5, 6, 4), (6, 6, total), (7, 4, 0))
    string = [(6, 5, 0), (10, 12, struct_of((1, 12, struct_of())))]
    schema = [
        struct_of((4, 8, text("schema")), (5, 5, 3)),
        struct_of((3, 5, 1), (4, 8, text("image")), (5, 5, 2)),
        struct_of((1, 5, 6), (3, 5, 1), (4, 8, text("bytes"))),
        struct_of((1, 5, 6), (3, 5, 1), (4, 8, text("path")), *string),
        struct_of((1, 5, 2), (3, 5, 1), (4, 8, text("label"))),
        struct_of((1, 5, 6), (3, 5, 1), (4, 8, text("key")), *string),
    ]
    pairs = [("huggingface", JSON), ("shale.schema", SCHEMA)]
    footer = struct_of(
        (1, 5, 1),
        (2, 9, items(12, schema)),
        (3, 6, 5),
        (4, 9, items(12, [group])),
        (5, 9, items(12, [struct_of((1, 8, text(key)), (2, 8, text(value))) for key, value in pairs])),
        (6, 8, text("shale version 1.0.0 (build 1)")),
        (7, 9, items(12, [struct_of((1, 12, struct_of()))] * 4)),
    )
    zeros = FILE_BYTES - len(out) - len(footer) - 8
    return out + bytes(max(zeros, 0)) + footer + struct.pack("<I", len(footer)) + b"PAR1"


def put(name, data):
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def changed(data, offset, to):
    return data[:offset] + to + data[offset + len(to) :]


sound = write_samples()
put("reference/python.parquet", sound)
put("refused/value.parquet", changed(sound, 60, b"x"))
put("refused/level.parquet", changed(sound, 32, b"\1"))
put("refused/magic.parquet", changed(sound, 0, b"PARE"))
put("refused/zeros.parquet", changed(sound, len(sound) - 900, b"x"))
put("refused/rows.parquet", sound.replace(b"\x16\x0a\x19\x1c", b"\x16\x0c\x19\x1c"))
put("refused/truncated.parquet", sound[:-20])
