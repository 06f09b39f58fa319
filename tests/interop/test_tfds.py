"""TFRecord files of TensorFlow Datasets: what features.json and the lists of labels beside them say. Written as TFDS writes them, without TensorFlow."""

import json

import numpy as np
import pytest
import shale
from conftest import run_shale
from tfrecord.writer import TFRecordWriter

PACKAGE = "tensorflow_datasets.core.features"


def tensor(*sides, dtype="float32"):
    shape = {"dimensions": [str(side) for side in sides]} if sides else {}
    return {"pythonClassName": f"{PACKAGE}.tensor_feature.Tensor", "tensor": {"shape": shape, "dtype": dtype, "encoding": "none"}}


def sequence(feature, length=-1):
    return {"pythonClassName": f"{PACKAGE}.sequence_feature.Sequence", "sequence": {"feature": feature, "length": str(length)}}


def features(**of):
    return {"pythonClassName": f"{PACKAGE}.features_dict.FeaturesDict", "featuresDict": {"features": of}}


IMAGE = {
    "pythonClassName": f"{PACKAGE}.image_feature.Image",
    "image": {"shape": {"dimensions": ["-1", "-1", "3"]}, "dtype": "uint8", "encodingFormat": "jpeg"},
}
LABEL = {"pythonClassName": f"{PACKAGE}.class_label_feature.ClassLabel", "classLabel": {"numClasses": "3"}}
BOXES = sequence(
    features(
        bbox={"pythonClassName": f"{PACKAGE}.bounding_boxes.BBoxFeature", "boundingBox": {"shape": {"dimensions": ["4"]}}}, label=LABEL
    )
)
TREE = features(
    image=IMAGE,
    label=LABEL,
    pose=tensor(3, 4),
    grid=tensor(2, 3, dtype="int32"),
    objects=BOXES,
    tracks=sequence(tensor(2)),
    tags=sequence({"text": {}}),
    ids=sequence(tensor(dtype="int64")),
)


def sample(number):
    boxes = number % 3
    return {
        "image": b"\xff\xd8\xff%d" % number,
        "label": number % 3,
        "pose": np.arange(12, dtype=np.float32).reshape(3, 4) + number,
        "grid": np.arange(6).reshape(2, 3) * number,
        "objects/bbox": np.arange(4 * boxes, dtype=np.float32).reshape(boxes, 4),
        "objects/label": np.arange(boxes),
        "tracks": np.ones((2 + number, 2), np.float32),
        "tags": [b"a"] * (1 + number % 2),
        "ids": np.array([number]),
    }


def write(folder, tree, leave=()):
    folder.mkdir()
    writer = TFRecordWriter(str(folder / "toy-train.tfrecord-00000-of-00001"))
    for number in range(7):
        example = {}
        for name, value in sample(number).items():
            flat = value if isinstance(value, (bytes, int, list)) else value.reshape(-1).tolist()
            kind = "float" if getattr(value, "dtype", None) == np.float32 else "byte" if isinstance(value, (bytes, list)) else "int"
            if name not in leave:
                example[name] = (flat, kind)
        writer.write(example)
    writer.close()
    (folder / "features.json").write_text(json.dumps(tree))
    (folder / "label.labels.txt").write_text("cat\ndog\nnewt\n")
    return folder / "toy-train.tfrecord-00000-of-00001"


INTEGERS = ("grid", "objects/label", "ids")


@pytest.mark.parametrize("leave", [(), INTEGERS])
@pytest.mark.parametrize("is_old", [False, True])
def test_shapes_and_classes_come_back(tmp_path, leave, is_old):
    """With lists of integers the file is unpacked, without them it is read in place."""
    tree = (
        {
            "type": f"{PACKAGE}.features_dict.FeaturesDict",
            "content": json.dumps(TREE["featuresDict"]),
            "proto_cls": "tensorflow_datasets.FeaturesDict",
        }
        if is_old
        else TREE
    )
    source = write(tmp_path / "1.0.0", tree, leave)
    out = tmp_path / "out"
    run_shale("convert", source, out, "--to", "lmdb")
    assert b"3: cat, dog, newt" in run_shale("info", out).stdout
    for opened in [out] if not leave else [out, source]:
        with shale.Dataset(opened) as dataset:
            for number, one in enumerate(dataset):
                for name, value in sample(number).items():
                    if name in leave:
                        continue
                    got = one[name.replace("/", "_")]
                    assert (
                        got.shape == value.shape and np.array_equal(got, value)
                        if isinstance(value, np.ndarray)
                        else list(got) == value
                        if name == "tags"
                        else got == value
                    ), name
    run_shale("verify", out, "--against", source)
    if leave:
        run_shale("index", source, "--crc")
        run_shale("verify", source, "--deep")


def test_info_says_where_shapes_and_classes_come_from(tmp_path):
    said = run_shale("info", write(tmp_path / "1.0.0", TREE, INTEGERS)).stdout.decode()
    assert "the shape of 'objects/bbox'" in said and "the names of the 3 classes come from features.json of TensorFlow Datasets" in said
    assert "objects_bbox float32 (?, 4)" in said and "pose float32 (3, 4)" in said


@pytest.mark.parametrize(
    "tree",
    [
        "",
        "[" * 100_000,
        "null",
        '{"featuresDict": 3}',
        json.dumps(features(pose=tensor(5, 5), tracks=sequence(tensor(3)), label=sequence(LABEL, 2))),
    ],
)
def test_a_description_of_something_else_changes_nothing(tmp_path, tree):
    source = write(tmp_path / "a", TREE, INTEGERS)
    (source.parent / "features.json").write_text(tree)
    (source.parent / "label.labels.txt").unlink()
    with shale.Dataset(source) as dataset:
        assert dataset[0]["pose"].shape == (12,) and dataset[2]["tracks"].shape == (8,) and dataset[2]["objects_bbox"].shape == (8,)
