"""TFRecord files that TensorFlow Datasets itself wrote (tfds_sets.py), read without it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import shale
from conftest import run_shale
from tfds_sets import ANIMALS, episode, sample

WRITTEN = Path(__file__).parent / "tfds_written"
TYPES = {
    "audio": "int64 (?)",
    "box": "float32 (4,)",
    "bytes": "int16 (2, 8)",
    "flag": "integer",
    "frames": "list",
    "grid": "int64 (2, 3)",
    "image": "bytes",
    "label": "integer",
    "nested_a": "real",
    "nested_b_c": "text",
    "number": "integer",
    "objects_bbox": "float32 (?, 4)",
    "objects_label": "int64 (?)",
    "objects_name": "list",
    "packed": "bytes",
    "pairs": "float32 (3, 2)",
    "path": "float32 (?, 2)",
    "pose": "float32 (3, 4)",
    "ragged_ragged_flat_values": "int64 (?)",
    "ragged_ragged_row_lengths_0": "int64 (?)",
    "text": "text",
    "tokens": "int64 (?)",
    "translation_de": "text",
    "translation_en": "text",
    "words": "list",
}


@pytest.fixture
def toy(tmp_path):
    return Path(shutil.copytree(WRITTEN / "toy", tmp_path / "toy"))


def compare(found, number):
    given = sample(number)
    for name in ("pose", "grid", "bytes", "path", "box", "pairs", "audio"):
        assert found[name].shape == given[name].shape and np.array_equal(found[name], given[name]), name
    for name in ("label", "text", "flag"):
        assert found[name] == given[name], name
    assert (found["nested_a"], found["nested_b_c"]) == (given["nested"]["a"], given["nested"]["b"]["c"])
    assert np.array_equal(found["objects_bbox"], np.array([one["bbox"] for one in given["objects"]], np.float32).reshape(-1, 4))
    assert found["objects_label"].tolist() == [one["label"] for one in given["objects"]]
    assert found["objects_name"] == [one["name"].encode() for one in given["objects"]]
    assert (found["tokens"].tolist(), found["words"]) == (given["tokens"], [word.encode() for word in given["words"]])
    assert found["image"].startswith(b"\x89PNG") and len(found["frames"]) == len(given["frames"])
    assert found["ragged_ragged_row_lengths_0"].tolist() == [len(row) for row in given["ragged"]]
    assert found["ragged_ragged_flat_values"].tolist() == sum(given["ragged"], [])


def test_what_was_given_comes_back(toy, tmp_path):
    """Both splits: in one of the files no record has a value of `audio`."""
    run_shale("convert", toy, tmp_path / "out", "--to", "lmdb")
    for split, numbers in (("train", range(5)), ("test", range(5, 7))):
        with shale.Dataset(tmp_path / "out", split=split) as dataset:
            assert dataset.types == TYPES
            assert sorted(one["number"] for one in dataset) == list(numbers)
            for one in dataset:
                compare(one, one["number"])
            assert dataset.classes == ANIMALS
    run_shale("verify", tmp_path / "out", "--against", toy)


@pytest.mark.parametrize("file", ["toy-test.tfrecord-00000-of-00002", "toy-train.tfrecord-00001-of-00002"])
def test_a_file_alone_has_the_types_of_all(toy, tmp_path, file):
    run_shale("convert", toy / file, tmp_path / "out", "--to", "record")
    with shale.Dataset(tmp_path / "out") as dataset:
        assert dataset.types == TYPES


def test_in_place(toy):
    with shale.Dataset(toy / "toy-train.tfrecord*") as dataset:
        assert len(dataset) == 5
        for one in dataset:
            given = sample(one["number"])
            for name in ("pose", "bytes", "path", "box", "pairs"):
                assert np.array_equal(one[name], given[name]), name


def test_info_describes_each_split_of_a_folder(toy):
    said = run_shale("info", toy).stdout.decode()
    assert f"{toy}/toy-train.tfrecord-*-of-*: a set of 2 record files" in said and "toy-test.tfrecord-*-of-*: a set of 2" in said
    facts = json.loads(run_shale("info", toy, "--json").stdout)
    assert facts["kind"] == "splits" and {name: one["samples"] for name, one in facts["splits"].items()} == {"train": 5, "test": 2}


def test_files_that_are_missing_or_short_are_named(toy, tmp_path):
    train = [toy / f"toy-train.tfrecord-0000{number}-of-00002" for number in (0, 1)]
    content = train[0].read_bytes()
    train[1].unlink()
    train[0].write_bytes(content[: 16 + int.from_bytes(content[:8], "little")])
    for said in (
        run_shale("info", toy / "toy-train*").stdout,
        run_shale("convert", toy, tmp_path / "out", "--to", "lmdb").stderr,
        run_shale("index", toy / "toy-train*", "--index-dir", tmp_path / "index").stdout,
    ):
        assert b"by the names of the others a file is missing: " in said and b"toy-train.tfrecord-00001-of-00002" in said
        assert b"has 1 records, but dataset_info.json beside it says 2" in said


def test_steps_of_episodes_are_samples(tmp_path):
    robot = Path(shutil.copytree(WRITTEN / "robot", tmp_path / "robot"))
    assert f"shale convert {robot} out --to record --parse episodes" in run_shale("info", robot).stdout.decode()
    run_shale("convert", robot, tmp_path / "steps", "--to", "lmdb", "--parse", "episodes")
    run_shale("verify", tmp_path / "steps", "--against", robot)
    with shale.Dataset(tmp_path / "steps") as dataset:
        assert len(dataset) == 2 + 3 + 4
        steps = [(one["episode"], one["step"]) for one in dataset]
        starts = [row for row, one in enumerate(dataset) if one["is_first"]]
        assert [steps[row] for row in starts] == [(0, 0), (1, 0), (2, 0)] and steps == sorted(steps)
        for one in dataset:
            given = episode(one["metadata_id"])
            step = given["steps"][one["step"]]
            assert one["observation_state"].tolist() == step["observation"]["state"].tolist()
            assert one["action"].tolist() == step["action"].tolist() and one["reward"] == step["reward"]
            assert one["is_first"] == step["is_first"] and one["instruction"] == step["instruction"]
            assert one["metadata_path"] == given["metadata"]["path"] and one["observation_image"].startswith(b"\x89PNG")
    run_shale("convert", robot, tmp_path / "episodes", "--to", "lmdb")
    with shale.Dataset(tmp_path / "episodes") as dataset:
        assert sorted(len(one["steps_action"]) for one in dataset) == [2, 3, 4] and dataset.types["steps_action"] == "float32 (?, 7)"


def test_records_that_are_not_episodes_have_no_steps(toy, tmp_path):
    said = run_shale("convert", toy / "toy-test.tfrecord*", tmp_path / "out", "--to", "lmdb", "--parse", "episodes", code=1).stderr
    assert b"a record is not an episode of RLDS" in said and b"leave out --parse episodes" in said
