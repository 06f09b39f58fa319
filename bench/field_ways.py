"""What bench/field.py measures: files made by the field's own writers, and the Python loops over them. Runs in the peers' environment.

field_ways.py tree BYTES OUT                 HDF5, a group per sample: an image of 128 x 128, a mask, a label
field_ways.py detection BYTES OUT            TFRecord as object detection has it: an image of 60 KB, boxes and labels of 1 to 20 objects
field_ways.py files BYTES FILES OUT          a folder of TFRecord files, each with its share of such records
field_ways.py loop record|lmdb IN OUT        the loop that reads it and writes another: h5py to TFRecordWriter, tfrecord to py-lmdb
field_ways.py index FOLDER                   tfrecord's own index of each file, beside it
"""

import functools
import importlib.util
import os
import sys
import types

import numpy as np

SIDE = 128
TREE_SAMPLE = SIDE * SIDE * 4
IMAGE_BYTES = 60_000
MOST_OBJECTS = 20
COMMIT_EVERY = 5000


@functools.cache
def tfrecord():
    """The package without its __init__, which imports PyTorch."""
    package = types.ModuleType("tfrecord")
    package.__path__ = importlib.util.find_spec("tfrecord").submodule_search_locations
    sys.modules["tfrecord"] = package
    import tfrecord.example_pb2 as example_pb2
    import tfrecord.iterator_utils as iterator_utils

    package.example_pb2, package.iterator_utils = example_pb2, iterator_utils
    import tfrecord.reader as reader
    import tfrecord.writer as writer

    return reader, writer


def pool():
    return np.random.default_rng(1).integers(0, 256, 1 << 24, dtype=np.uint8)


def write_tree(size, out):
    import h5py

    bytes_of = pool()
    with h5py.File(out, "w") as file:
        for number in range(size // TREE_SAMPLE):
            group = file.create_group(f"subject{number:06}")
            at = number * 7919 % (len(bytes_of) - TREE_SAMPLE)
            group["image"] = bytes_of[at : at + SIDE * SIDE * 3].reshape(SIDE, SIDE, 3)
            group["mask"] = bytes_of[at : at + SIDE * SIDE].reshape(SIDE, SIDE)
            group["label"] = number % 10


def detections(count):
    random, bytes_of = np.random.default_rng(2), pool()
    for number, objects in enumerate(random.integers(1, MOST_OBJECTS + 1, count).tolist()):
        at = number * 7919 % (len(bytes_of) - IMAGE_BYTES)
        corners = random.random((4, objects), dtype=np.float32)
        sample = {
            "image/encoded": (bytes_of[at : at + IMAGE_BYTES].tobytes(), "byte"),
            "image/filename": (b"%08d.jpg" % number, "byte"),
            "image/object/class/label": (random.integers(0, 90, objects).tolist(), "int"),
        }
        for name, values in zip(("xmin", "xmax", "ymin", "ymax"), corners):
            sample[f"image/object/bbox/{name}"] = (values.tolist(), "float")
        yield sample


def write_detections(count, out):
    _, writer = tfrecord()
    sink = writer.TFRecordWriter(out)
    for sample in detections(count):
        sink.write(sample)
    sink.close()


def write_files(size, files, out):
    os.makedirs(out)
    for number in range(files):
        write_detections(max(1, size // IMAGE_BYTES // files), os.path.join(out, f"train-{number:05}-of-{files:05}.tfrecord"))


def tree_to_record(source, out):
    import h5py

    _, writer = tfrecord()
    os.makedirs(out)
    sink = writer.TFRecordWriter(os.path.join(out, "data.tfrecord"))
    with h5py.File(source) as file:
        for name in file:
            group = file[name]
            sink.write({
                "key": (name.encode(), "byte"),
                "image": (group["image"][()].tobytes(), "byte"),
                "mask": (group["mask"][()].tobytes(), "byte"),
                "label": (int(group["label"][()]), "int"),
            })  # fmt: skip
    sink.close()


def detections_to_lmdb(source, out):
    import lmdb
    import msgpack

    reader, _ = tfrecord()
    os.makedirs(out)
    env = lmdb.open(os.path.join(out, "data.lmdb"), subdir=False, map_size=1 << 40, meminit=False, map_async=True)
    txn = env.begin(write=True)
    for number, sample in enumerate(reader.tfrecord_loader(source, None)):
        value = {name: field.tobytes() if isinstance(field, np.ndarray) else field for name, field in sample.items()}
        txn.put(b"%08d" % number, msgpack.packb(value))
        if number % COMMIT_EVERY == COMMIT_EVERY - 1:
            txn.commit()
            txn = env.begin(write=True)
    txn.commit()
    env.sync()
    env.close()


def index(folder):
    from tfrecord.tools.tfrecord2idx import create_index

    for name in sorted(os.listdir(folder)):
        if name.endswith(".tfrecord"):
            path = os.path.join(folder, name)
            create_index(path, path + ".idx")


def main(way, *words):
    if way == "tree":
        write_tree(int(words[0]), words[1])
    elif way == "detection":
        write_detections(int(words[0]) // IMAGE_BYTES, words[1])
    elif way == "files":
        write_files(int(words[0]), int(words[1]), words[2])
    elif way == "loop":
        {"record": tree_to_record, "lmdb": detections_to_lmdb}[words[0]](words[1], words[2])
    else:
        tfrecord()
        index(words[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
