"""Writes reference/ and refused/ of this folder with h5py: python make_reference.py FOLDER

reference/ holds the layout of FORMAT.md as h5py makes it of its own accord: datasets in another order, fill values, attributes,
headers with room to spare. refused/ holds what shale never writes, and damage.
"""

import pathlib
import sys

import h5py
import numpy as np

FOLDER = pathlib.Path(sys.argv[1])
NAME = f"h5py-{h5py.__version__}.h5"


def samples():
    """What tests/contract/test_golden.cpp expects: five samples, the same rule for every format."""
    return [(f"n01/{i}.jpg".encode(), b"\xff\xd8" + bytes(range(i * 50)), i - 2) for i in range(5)]


def columns():
    keys, images, labels = zip(*samples())
    offsets = lambda values: np.cumsum([0] + [len(v) for v in values]).astype("u8")
    flat = lambda values: np.frombuffer(b"".join(values), "u1")
    return {"key_offset": offsets(keys), "label": np.array(labels, "i8"), "image": flat(images), "key": flat(keys),
            "image_offset": offsets(images)}


def write(name, libver=("v108", "v110"), **changed):
    """Each value of `changed` is an array, or the arguments of create_dataset, or None: no such dataset."""
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w", libver=libver, track_order=False) as file:
        for column, values in (columns() | changed).items():
            if values is None:
                continue
            arguments = values if isinstance(values, dict) else {"data": values}
            file.create_dataset(column, track_times=False, **arguments)
        if name.startswith("reference/"):
            file["image"].attrs["from"] = "h5py"
    return path.read_bytes()


def put(name, data):
    (FOLDER / name).write_bytes(data)


write(f"reference/{NAME}")
good = columns()
sound = write("refused/cut.h5")
write("refused/chunked.h5", image={"data": good["image"], "chunks": (64,)})
write("refused/old-group.h5", libver=("earliest", "v110"), label=good["label"])
write("refused/labels-of-32-bits.h5", label=good["label"].astype("i4"))
write("refused/labels-big-endian.h5", label=good["label"].astype(">i8"))
write("refused/label-too-many.h5", label=np.arange(6, dtype="i8"))
write("refused/no-key.h5", key=None)
write("refused/a-dataset-more.h5", more=np.arange(2))
write("refused/offsets-descend.h5", image_offset=good["image_offset"][[0, 2, 1, 3, 4, 5]])
write("refused/offsets-end-early.h5", key_offset=good["key_offset"] - np.array([0, 0, 0, 0, 0, 1], "u8"))
put("refused/cut.h5", sound[:-9])
put("refused/checksum-of-superblock.h5", sound[:45] + bytes([sound[45] ^ 1]) + sound[46:])
at = sound.index(b"OHDR", sound.index(b"OHDR") + 4) + 14
put("refused/checksum-of-dataset.h5", sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
