"""Makes LMDB, HDF5 and TFRecord files as other tools make them, and reads them back with those tools: what shale must find in them."""

import dataclasses
import pathlib
import pickle
import random
import struct

import h5py
import lmdb
import msgpack
import numpy as np
from tfrecord import example_pb2
from tfrecord.writer import TFRecordWriter

# Values that lie in a leaf page of LMDB, just in it, just beyond it, and on many overflow pages; the first is empty.
SIZES = [0, 1, 100, 1999, 2020, 2021, 2022, 2100, 4079, 4080, 4081, 10_000, 200_000] * 3
SHAPE = (12, 16, 3)


@dataclasses.dataclass
class Foreign:
    """A file, and its samples as its own library reads them: {"value": b"..."}, {"images": b"...", "labels": 3}, ..."""

    file: pathlib.Path
    format: str
    samples: list
    keys: list | None = None  # None: the container holds none
    options: tuple = ()  # how shale is to read it


def values():
    dice = random.Random(7)
    return [dice.randbytes(size) for size in SIZES]


def label_of(row):
    return row % 5 - 1


# ---- LMDB ---------------------------------------------------------------------------------------------------------------


def put_all(path, entries, subdir=False, batch=10):
    """As users do: a large map, some transactions. Returns the data file and what py-lmdb finds in it."""
    with lmdb.open(str(path), subdir=subdir, map_size=1 << 30) as env:
        for at in range(0, len(entries), batch):
            with env.begin(write=True) as txn:
                for key, value in entries[at : at + batch]:
                    txn.put(key, value)
    with lmdb.open(str(path), subdir=subdir, readonly=True, lock=False) as env, env.begin() as txn:
        found = list(txn.cursor())
    assert dict(found) == dict(entries)
    return (path / "data.mdb" if subdir else path), found


def plain(path, entries, subdir=False):
    file, found = put_all(path, entries, subdir)
    return Foreign(file, "lmdb", [{"value": value} for _, value in found], [key for key, _ in found])


def lmdb_one_file(folder):
    return plain(folder / "plain.lmdb", [(b"%08d" % row, value) for row, value in enumerate(values())])


def lmdb_folder(folder):
    """In a folder, keys as LSUN has them: in no order when they are put."""
    dice = random.Random(8)
    return plain(folder / "plain", [(dice.randbytes(20).hex().encode(), value) for value in values()], subdir=True)


def lmdb_pickled(folder):
    """As folder2lmdb: decimal keys that do not sort as numbers, pickled tuples, and two entries that describe the others. As plain entries."""
    keys = [b"%d" % row for row in range(len(SIZES))]
    entries = [(key, pickle.dumps((value, label_of(row)))) for row, (key, value) in enumerate(zip(keys, values()))]
    entries += [(b"__keys__", pickle.dumps(keys)), (b"__len__", pickle.dumps(len(keys)))]
    return dataclasses.replace(plain(folder / "pickled.lmdb", entries), options=("--parse", "plain"))


def lmdb_with_free_pages(folder):
    """Entries that were overwritten and deleted: the file has pages that belong to nobody."""
    path = folder / "edited.lmdb"
    put_all(path, [(b"%08d" % row, value) for row, value in enumerate(values())])
    with lmdb.open(str(path), subdir=False, map_size=1 << 30) as env:
        for row in range(0, len(SIZES), 3):
            with env.begin(write=True) as txn:
                txn.delete(b"%08d" % row)
        for row in range(1, len(SIZES), 3):
            with env.begin(write=True) as txn:
                txn.put(b"%08d" % row, b"%d" % row * (row * 50))
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        found = list(txn.cursor())
    return Foreign(path, "lmdb", [{"value": value} for _, value in found], [key for key, _ in found])


def lmdb_msgpack(folder):
    entries = [
        (b"%08d" % row, msgpack.packb({"image": value, "label": label_of(row)})) for row, value in enumerate(values())
    ]
    file, found = put_all(folder / "maps.lmdb", entries)
    keys = [key for key, _ in found]
    return Foreign(file, "lmdb", [msgpack.unpackb(value) for _, value in found], keys, ("--parse", "msgpack"))


# ---- HDF5 ---------------------------------------------------------------------------------------------------------------


def pictures():
    return np.random.default_rng(7).integers(0, 256, (len(SIZES), *SHAPE), dtype=np.uint8)


def labels(dtype):
    return np.array([label_of(row) for row in range(len(SIZES))], dtype=dtype)


def columns_of(path, names):
    """The samples by h5py: a dataset of one number a row gives numbers, any other the bytes of the row."""
    with h5py.File(path, "r") as file:
        rows = len(file[names[0]])
        read = {name: file[name] if file[name].ndim > 1 or file[name].dtype == object else file[name][:].tolist() for name in names}
        return [
            {name: value.tobytes() if isinstance(value := column[row], np.ndarray) else value for name, column in read.items()}
            for row in range(rows)
        ]


def hdf5_vlen(folder):
    path = folder / "vlen.h5"
    with h5py.File(path, "w") as file:
        images = file.create_dataset("images", (len(SIZES),), dtype=h5py.vlen_dtype(np.uint8))
        for row, value in enumerate(values()):
            images[row] = np.frombuffer(value, np.uint8)
        file["labels"] = labels("i8")
    return Foreign(path, "hdf5", columns_of(path, ["images", "labels"]))


def hdf5_fixed(folder):
    path = folder / "fixed.h5"
    with h5py.File(path, "w") as file:
        file["images"] = pictures()
        file["labels"] = labels("i4")
        file["weight"] = np.linspace(-1, 1, len(SIZES))
    return Foreign(path, "hdf5", columns_of(path, ["images", "labels", "weight"]))


def hdf5_chunk_of_one(folder):
    path = folder / "chunked.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=pictures(), chunks=(1, *SHAPE))
        file["labels"] = labels("i8")
    return Foreign(path, "hdf5", columns_of(path, ["images", "labels"]))


def hdf5_flat(folder):
    """All bytes in one dataset, and where each value begins in another."""
    path = folder / "flat.h5"
    with h5py.File(path, "w") as file:
        file["image"] = np.frombuffer(b"".join(values()), np.uint8)
        file["image_offset"] = np.cumsum([0, *SIZES], dtype="u8")
        file["label"] = labels("i8")
    with h5py.File(path, "r") as file:
        offset, label = file["image_offset"][:], file["label"][:].tolist()
        found = [file["image"][offset[row] : offset[row + 1]].tobytes() for row in range(len(SIZES))]
    return Foreign(path, "hdf5", [{"image": image, "label": number} for image, number in zip(found, label)])


# ---- TFRecord -----------------------------------------------------------------------------------------------------------


def write_records(path, payloads):
    with open(path, "wb") as file:
        for payload in payloads:
            length = struct.pack("<Q", len(payload))
            file.write(length + TFRecordWriter.masked_crc(length) + payload + TFRecordWriter.masked_crc(payload))


def record_of_tfrecord(folder):
    """The writer of the package: protobuf's runtime puts the features in an order of its own."""
    path = folder / "train-00000-of-00001"
    writer = TFRecordWriter(str(path))
    for row, value in enumerate(values()):
        writer.write({
            "image/encoded": (value, "byte"), "image/class/label": (label_of(row), "int"), "index": (row, "int"),
            "image/filename": (b"n%d.JPEG" % row, "byte"), "bbox": ([row / 7, 0.5, -1.0, 2.0], "float"), "score": (row / 3, "float"),
        })  # fmt: skip
    writer.close()
    return Foreign(path, "record", [
        {
            "image_encoded": value, "image_class_label": label_of(row), "index_": row, "image_filename": b"n%d.JPEG" % row,
            "bbox": struct.pack("<4f", row / 7, 0.5, -1.0, 2.0), "score": float(np.float32(row / 3)),
        }
        for row, value in enumerate(values())
    ])  # fmt: skip


def delimited(number, content):
    """A field of protobuf."""
    length, varint = len(content), b""
    while length > 127:
        varint += bytes([length & 127 | 128])
        length >>= 7
    return bytes([number << 3 | 2]) + varint + bytes([length]) + content


def record_by_hand(folder):
    """Features in another order in each record, one of them twice, with keys and unpacked numbers. protobuf reads them back."""
    path = folder / "by_hand.tfrecords"
    dice = random.Random(9)
    payloads = []
    for row, value in enumerate(values()):
        features = [
            ("key", delimited(1, delimited(1, b"%d.jpg" % row))), ("image", delimited(1, delimited(1, value))),
            ("label", delimited(3, b"\x08" + bytes([row % 5]))), ("weight", delimited(2, b"\x0d" + struct.pack("<f", row))),
        ]  # fmt: skip
        dice.shuffle(features)
        entries = [delimited(1, delimited(1, name.encode()) + delimited(2, feature)) for name, feature in features]
        earlier = delimited(1, delimited(1, b"image") + delimited(2, delimited(1, delimited(1, b"not this one"))))
        payloads.append(delimited(1, b"".join([earlier, *entries])))
    write_records(path, payloads)
    samples, keys = [], []
    for payload in payloads:
        feature = example_pb2.Example.FromString(payload).features.feature
        keys.append(feature["key"].bytes_list.value[0])
        samples.append({
            "image": feature["image"].bytes_list.value[0], "label": feature["label"].int64_list.value[0],
            "weight": feature["weight"].float_list.value[0],
        })  # fmt: skip
    return Foreign(path, "record", samples, keys)


def record_raw(folder):
    """Frames around something else than Examples."""
    path = folder / "raw.tfrecord"
    write_records(path, values())
    return Foreign(path, "record", [{"value": value} for value in values()])


MAKERS = [
    record_of_tfrecord, record_by_hand, record_raw,
    lmdb_one_file, lmdb_folder, lmdb_pickled, lmdb_with_free_pages, lmdb_msgpack,
    hdf5_vlen, hdf5_fixed, hdf5_chunk_of_one, hdf5_flat,
]  # fmt: skip


# ---- what cannot be located, and is unpacked to be converted --------------------------------------------------------------


def hdf5_gzip(folder):
    path = folder / "gzip.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("pictures", data=pictures(), chunks=(1, *SHAPE), compression="gzip")
        file["labels"] = labels("i8")
    return Foreign(path, "hdf5", columns_of(path, ["pictures", "labels"]))


def hdf5_automatic_chunks(folder):
    """What chunks=True gives: a picture lies in many chunks, and a chunk holds pieces of many pictures."""
    path = folder / "automatic.h5"
    with h5py.File(path, "w") as file:
        many = np.random.default_rng(7).integers(0, 256, (256, 96, 96, 3), dtype=np.uint8)
        file.create_dataset("pictures", data=many, chunks=True)
        file["labels"] = np.arange(256)
        assert file["pictures"].chunks[1:] != (96, 96, 3)
    return Foreign(path, "hdf5", columns_of(path, ["pictures", "labels"]))


def hdf5_all_filters(folder):
    """gzip behind shuffle, with checksums, and automatic chunks, of everything: also of references to the global heap."""
    path = folder / "filters.h5"
    names = [f"b\u00e4r {row}" * (row % 3) for row in range(len(SIZES))]
    with h5py.File(path, "w") as file:
        packed = {"compression": "gzip", "shuffle": True, "fletcher32": True}
        file.create_dataset("features", data=np.random.default_rng(8).normal(size=(len(SIZES), 9, 7)).astype("f4"), **packed)
        file.create_dataset("pictures", data=pictures(), chunks=(7, 5, 16, 2), **packed)
        file.create_dataset("labels", data=labels(">i4"), **packed)
        file.create_dataset("names", data=names, dtype=h5py.string_dtype(), compression="gzip")
        sounds = file.create_dataset("sounds", (len(SIZES),), dtype=h5py.vlen_dtype(np.uint8), compression="gzip")
        for row, value in enumerate(values()):
            sounds[row] = np.frombuffer(value, np.uint8)
    return Foreign(path, "hdf5", columns_of(path, ["features", "pictures", "labels", "names", "sounds"]))


UNPACKED = [hdf5_gzip, hdf5_automatic_chunks, hdf5_all_filters]


def hdf5_lzf(folder):
    """A filter that h5py brings along and the HDF5 library has not."""
    path = folder / "lzf.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("pictures", data=pictures(), compression="lzf")
    return path
