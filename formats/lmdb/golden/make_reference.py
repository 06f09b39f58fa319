"""Writes reference/ and refused/ of this folder with py-lmdb and msgpack: python make_reference.py FOLDER

reference/ is written by liblmdb itself. The files of refused/ have pages of 512 bytes, so that they are small: laid by the
script, read by py-lmdb while they are still sound, then damaged.
"""

import pathlib
import struct
import sys
import tempfile

import lmdb
import msgpack

FOLDER = pathlib.Path(sys.argv[1])
NAME = "py-lmdb-3.0.0.lmdb"
PAGE = 512


def samples(count):
    """What tests/contract/test_golden.cpp expects: the same rule for every format."""
    for i in range(count):
        image = b"\xff\xd8" + bytes(range(i * 50))
        yield b"%08d" % i, msgpack.packb({"key": f"n01/{i}.jpg".encode(), "image": image, "label": i - 2})


def write_reference(path):
    with lmdb.open(str(path), subdir=False, map_size=1 << 20, lock=False) as env, env.begin(write=True) as txn:
        for key, value in samples(5):
            txn.put(key, value, append=True)


def node_page(number, entries, overflow_page):
    """A leaf. A value of 230 bytes or more lies on overflow pages."""
    offsets, nodes, upper = b"", b"", PAGE
    for key, value in entries:
        size, flags, inside = (len(value), 0, value) if len(value) < 230 else (len(value), 1, struct.pack("<Q", overflow_page))
        node = struct.pack("<HHHH", size & 0xFFFF, size >> 16, flags, len(key)) + key + inside
        node += b"\0" * (len(node) % 2)
        upper -= len(node)
        offsets, nodes = offsets + struct.pack("<H", upper), node + nodes
    head = struct.pack("<QHHHH", number, 0, 2, 16 + len(offsets), upper) + offsets
    return head.ljust(PAGE - len(nodes), b"\0") + nodes


def meta_page(number, entries, overflow_pages):
    free = struct.pack("<IHHQQQQQ", PAGE, 8, 0, 0, 0, 0, 0, (1 << 64) - 1)
    main = struct.pack("<IHHQQQQQ", 0, 0, 1, 0, 1, overflow_pages, entries, 2 + overflow_pages)
    head = struct.pack("<QHHIIIQQ", number, 0, 8, 0, 0xBEEFC0DE, 1, 0, 1 << 20)
    return (head + free + main + struct.pack("<QQ", 2 + overflow_pages, number)).ljust(PAGE, b"\0")


def sound_file(entries):
    """Two meta pages, the overflow pages of the only large value, a leaf."""
    entries = list(entries)
    large = b"".join(value for _, value in entries if len(value) >= 230)
    pages = (15 + len(large)) // PAGE + 1 if large else 0
    overflow = (struct.pack("<QHHI", 2, 0, 4, pages) + large).ljust(pages * PAGE, b"\0") if large else b""
    data = meta_page(0, len(entries), pages) + meta_page(1, len(entries), pages) + overflow + node_page(2 + pages, entries, 2)
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with lmdb.open(file.name, subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
            assert list(txn.cursor()) == entries
    return data


def put(name, data):
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def patched(data, offset, new):
    return data[:offset] + new + data[offset + len(new) :]


(FOLDER / "reference").mkdir(exist_ok=True)
(FOLDER / "reference" / NAME).unlink(missing_ok=True)
write_reference(FOLDER / "reference" / NAME)

small = sound_file(samples(2))  # page 2: the leaf
large = sound_file([(b"00000000", msgpack.packb({"key": b"a", "image": b"\xff\xd8" * 150, "label": 7}))])  # page 3: the leaf
leaf = 2 * PAGE
(node,) = struct.unpack_from("<H", large, 3 * PAGE + 16)
put("refused/cut.lmdb", small[:-100])
put("refused/version-999.lmdb", patched(small, 20, struct.pack("<I", 999)))
put("refused/page-flags.lmdb", patched(small, leaf + 10, struct.pack("<H", 4)))
put("refused/key-order.lmdb", patched(small, leaf + 16, small[leaf + 18 : leaf + 20] + small[leaf + 16 : leaf + 18]))
put("refused/overflow-beyond-end.lmdb", patched(large, 3 * PAGE + node + 16, struct.pack("<Q", 99)))
