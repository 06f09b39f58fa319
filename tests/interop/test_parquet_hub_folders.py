"""Folders of a repository of the Hub: splits and class names as `datasets.load_dataset` has them, never mixed in silence."""

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shale
from conftest import jpeg, run_shale
from dataset_reading import manifest_of

MEDIA = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def write(file, values, **columns):
    file.parent.mkdir(parents=True, exist_ok=True)
    table = {"number": pa.array(values, pa.int64()), **columns}
    pq.write_table(pa.table(table), file, compression="none")


def write_readme(root, yaml):
    (root / "README.md").write_text(f"---\n{yaml}---\n# A repository\n")


def numbers(path, **options):
    with shale.Dataset(path, **options) as dataset:
        return [sample["number"] for sample in dataset]


def hub_splits(root, monkeypatch, cache):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(cache))
    datasets.disable_progress_bars()
    return {name: split["number"] for name, split in datasets.load_dataset(str(root)).items()}


CONFIGS = """configs:
- config_name: default
  data_files:
  - split: train_sft
    path: parts/one*
  - split: test
    path: ["parts/two-1.parquet", "more/**"]
"""
LAYOUTS = {
    "readme": (
        CONFIGS,
        {"parts/one-1": [1], "parts/one-2": [2], "parts/two-1": [3], "more/x/y": [4], "parts/three": [9]},
        {"train_sft": [1, 2], "test": [3, 4]},
    ),
    "numbered": (
        "",
        {"data/train_sft-00000-of-00002": [1], "data/train_sft-00001-of-00002": [2], "data/train_gen-00000-of-00001": [3]},
        {"train_sft": [1, 2], "train_gen": [3]},
    ),
    "folders": ("", {"train/0000": [1], "train/0001": [2], "test/0000": [3]}, {"train": [1, 2], "test": [3]}),
    "data_folders": ("", {"data/train/0000": [1], "data/test/0000": [3]}, {"train": [1], "test": [3]}),
    "other_words": ("", {"training-1": [1], "dev-1": [2], "eval-1": [3]}, {"train": [1], "validation": [2], "test": [3]}),
    "other_folders": ("", {"training/0": [1], "dev/0": [2], "testing/0": [3]}, {"train": [1], "validation": [2], "test": [3]}),
    "names": ("", {"train-1": [1], "train-2": [2], "test-1": [3]}, {"train": [1, 2], "test": [3]}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_splits_are_those_of_load_dataset(tmp_path, monkeypatch, layout):
    yaml, files, splits = LAYOUTS[layout]
    root = tmp_path / "repo"
    for name, values in files.items():
        write(root / f"{name}.parquet", values)
    write_readme(root, yaml)
    assert hub_splits(root, monkeypatch, tmp_path / "cache") == splits
    found = json.loads(run_shale("info", "--json", root).stdout)["splits"]
    assert {name: split["samples"] for name, split in found.items()} == {name: len(values) for name, values in splits.items()}
    for name, values in splits.items():
        assert numbers(root, split=name) == values
    run_shale("convert", root, tmp_path / "out", "--to", "record")
    assert {name: numbers(tmp_path / "out" / name) for name in splits} == splits
    assert run_shale("verify", tmp_path / "out", "--against", root).returncode == 0


@pytest.mark.parametrize("layout", ["readme", "numbered", "folders"])
def test_several_splits_are_never_one_dataset(tmp_path, layout):
    yaml, files, splits = LAYOUTS[layout]
    root = tmp_path / "repo"
    for name, values in files.items():
        write(root / f"{name}.parquet", values)
    write_readme(root, yaml)
    with pytest.raises(shale.errors.Error, match="holds the splits .*: pass split="):
        shale.Dataset(root)
    refused = run_shale("ls", root, code=1).stderr.decode()
    assert "holds the splits " in refused
    word = refused.split("'shale info \"")[1].split('"')[0]
    assert numbers(word) in splits.values()
    with pytest.raises(shale.errors.NotFoundError, match="no split 'x'; it holds the splits "):
        shale.Dataset(root, split="x")


def test_splits_are_verified_one_by_one(tmp_path):
    data = tmp_path / "repo" / "data"
    write(data / "train-00000-of-00001.parquet", [1, 2])
    write(data / "test-00000-of-00001.parquet", [3])
    text = run_shale("verify", tmp_path / "repo").stdout.decode()
    assert re.findall(r"(\w+)-00000-of-00001.parquet: (\d) sample", text) == [("train", "2"), ("test", "1")]
    (data / "test-00000-of-00001.parquet").write_bytes((data / "test-00000-of-00001.parquet").read_bytes()[:-20])
    found = json.loads(run_shale("verify", "--json", tmp_path / "repo", code=3).stdout)
    assert not found["ok"]
    assert found["splits"]["train"]["samples"] == 2


def test_one_split_is_the_dataset(tmp_path):
    root = tmp_path / "repo"
    write(root / "data" / "train-00000-of-00001.parquet", [1, 2])
    write(root / "data" / "other.parquet", [9])
    write_readme(root, "configs:\n- config_name: default\n  data_files:\n  - split: train\n    path: data/train-*\n")
    assert numbers(root) == numbers(root, split="train") == [1, 2]
    run_shale("convert", root, tmp_path / "out", "--to", "record")
    assert numbers(tmp_path / "out") == [1, 2]
    run_shale("index", root)
    assert numbers(root) == [1, 2]


def test_several_configurations_are_refused_by_name(tmp_path):
    root = tmp_path / "repo"
    for name in ("en", "fr"):
        write(root / name / "train-00000-of-00001.parquet", [1])
    config = "- config_name: {0}\n  data_files:\n  - split: train\n    path: {0}/train-*\n"
    write_readme(root, "configs:\n" + config.format("en") + config.format("fr"))
    for words in (["info", root], ["convert", root, tmp_path / "out", "--to", "record"]):
        refused = run_shale(*words, code=1).stderr.decode()
        assert "names 2 configurations of its files, and none as default: en, fr" in refused
        assert numbers(refused.split("'shale info \"")[1].split('"')[0]) == [1]


NAMES = """dataset_info:
  features:
  - name: label
    dtype:
      class_label:
        names:
          '0': cat
          '1': "no"
  - name: fine
    dtype:
      class_label:
        names: [a, b]
"""


def test_class_names_of_the_readme_are_taken(tmp_path):
    root = tmp_path / "repo"
    for name in ("train-00000-of-00002", "train-00001-of-00002"):
        columns = {"label": pa.array([0, 1]), "fine": pa.array([1, 0]), "image": pa.array([{"bytes": jpeg(0), "path": None}] * 2, MEDIA)}
        write(root / "data" / f"{name}.parquet", [1, 2], **columns)
    write_readme(root, NAMES)
    with shale.Dataset(root) as dataset:
        assert list(dataset.classes) == ["cat", "no"]
    with shale.Dataset(root / "data" / "train-*.parquet") as dataset:
        assert list(dataset.classes) == ["cat", "no"]
    run_shale("convert", root, tmp_path / "out", "--to", "parquet", code=4)
    manifest = manifest_of(tmp_path / "out")
    assert manifest["classes"] == ["cat", "no"]
    assert [(one["kind"], one["name"], one["reason"]) for one in manifest["left_out"]] == [("names", "fine", "not_class_names")]


def test_class_names_of_other_fields_are_named(tmp_path):
    features = {
        "label": {"names": ["cat", "dog"], "_type": "ClassLabel"},
        "fine": {"names": ["a", "b"], "_type": "ClassLabel"},
        "tags": {"feature": {"names": ["x", "y"], "_type": "ClassLabel"}, "_type": "List"},
        "objects": {"feature": {"kind": {"names": ["z"], "_type": "ClassLabel"}}, "_type": "Sequence"},
    }
    columns = {
        "label": pa.array([0, 1]),
        "fine": pa.array([1, 1]),
        "tags": pa.array([[0, 1], []], pa.list_(pa.int64())),
        "objects": pa.array([{"kind": [0]}, {"kind": []}], pa.struct([("kind", pa.list_(pa.int64()))])),
    }
    table = pa.table(columns).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(table, tmp_path / "x.parquet")
    run_shale("convert", tmp_path / "x.parquet", tmp_path / "out", "--to", "record", code=4)
    manifest = manifest_of(tmp_path / "out")
    assert manifest["classes"] == ["cat", "dog"]
    assert [(one["kind"], one["name"]) for one in manifest["left_out"]] == [("names", "fine"), ("names", "tags"), ("names", "objects.kind")]
    run_shale("convert", tmp_path / "x.parquet", tmp_path / "some", "--to", "record", "--fields", "label,fine")


@pytest.mark.parametrize("compression", ["none", "snappy"])
@pytest.mark.parametrize("order", [("keyed", "repeated"), ("repeated", "keyed"), ("keyed", "bare"), ("bare", "keyed")])
def test_keys_that_not_all_files_have_are_dropped_and_said(tmp_path, compression, order):
    paths = {"keyed": ["a.jpg", "b.jpg"], "repeated": ["c.jpg", "c.jpg"], "bare": [None, None]}
    root = tmp_path / "set"
    root.mkdir()
    for number, kind in enumerate(order):
        images = pa.array([{"bytes": jpeg(2 * number + i), "path": path} for i, path in enumerate(paths[kind])], MEDIA)
        pq.write_table(
            pa.table({"image": images}), root / f"part-{number}.parquet", compression={"image.bytes": "none", "image.path": compression}
        )
    have_fields = "repeated" in order
    said = run_shale("info", root).stderr + run_shale("info", root).stdout
    assert b"2 of 4 samples have keys and the others none" in said
    for directory in (None, tmp_path / "index"):
        with shale.Dataset(root, index_dir=directory) as dataset:
            assert [sample["key"] for sample in dataset] == ["0", "1", "2", "3"]
            assert [bytes(sample["image"]) for sample in dataset] == [jpeg(i) for i in range(4)]
            if have_fields:
                assert [sample["image_path"] for sample in dataset] == [path for kind in order for path in paths[kind]]
    run_shale("convert", root, tmp_path / "out", "--to", "record", code=0 if have_fields else 4)
    with shale.Dataset(tmp_path / "out") as dataset:
        assert [bytes(sample["image"]) for sample in dataset] == [jpeg(i) for i in range(4)]
    left_out = manifest_of(tmp_path / "out").get("left_out", [])
    expected = [] if have_fields else [{"kind": "column", "name": "key", "reason": "not_in_all_files", "samples": 2}]
    assert left_out == expected
    run_shale("verify", "--deep", root)


def test_a_repository_in_the_cache_of_the_hub_is_its_snapshot(tmp_path):
    root = tmp_path / "datasets--u--n"
    for commit, values in (("old", [9]), ("new", [1, 2])):
        write(root / "snapshots" / commit / "data" / "train-00000-of-00001.parquet", values)
        write(root / "snapshots" / commit / "data" / "test-00000-of-00001.parquet", [3])
    for name in ("blobs", "refs"):
        (root / name).mkdir()
    (root / "refs" / "main").write_text("new")
    assert numbers(root, split="train") == [1, 2]
    run_shale("convert", root, tmp_path / "out", "--to", "record")
    assert numbers(tmp_path / "out" / "test") == [3]


def test_folders_of_several_configurations_are_named(tmp_path):
    root = tmp_path / "repo"
    write(root / "default" / "train" / "0000.parquet", [1])
    write(root / "default" / "test" / "0000.parquet", [2])
    assert numbers(root, split="train") == [1]
    write(root / "en" / "train-00000-of-00001.parquet", [3])
    refused = run_shale("convert", root, tmp_path / "out", "--to", "record", code=1).stderr.decode()
    assert "holds Parquet files in 2 folders: default, en" in refused
    assert numbers(root / "en") == [3]


def test_an_arrow_file_is_refused_with_its_export(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict({"number": [1, 2]}).save_to_disk(tmp_path / "saved")
    file = tmp_path / "saved" / "data-00000-of-00001.arrow"
    for words in (["info", file], ["convert", file, tmp_path / "out", "--to", "record"]):
        refused = run_shale(*words, code=1).stderr.decode()
        assert "is an Arrow file, which is not supported as input" in refused
    monkeypatch.chdir(tmp_path)
    exec(refused.split('python3 -c "')[1].split('"')[0])
    assert numbers(tmp_path / "x.parquet") == [1, 2]


@pytest.mark.parametrize("odd", ["part-5.pq", "part-5.PARQUET", "part-5"])
def test_a_set_has_all_its_files_whatever_their_suffix(odd, tmp_path):
    for number in range(5):
        write(tmp_path / f"in/part-{number}.parquet", [number])
    write(tmp_path / "in" / odd, [5])
    assert numbers(tmp_path / "in") == [*range(6)]


def test_files_that_a_readme_names_are_missed(tmp_path):
    """A download that has not ended: the split that is there must not be taken for all."""
    write(tmp_path / "data/test-00000-of-00001.parquet", [1])
    write_readme(tmp_path, "configs:\n- data_files:\n  - {split: train, path: data/train-*}\n  - {split: test, path: data/test-*}\n")
    for command in (["info", tmp_path], ["convert", tmp_path, tmp_path / "out", "--to", "record"]):
        said = run_shale(*command, code=1).stderr.decode()
        assert "README.md: names files 'data/train-*', and there is none" in said
        assert f"""as in 'shale info "{tmp_path}/data/test-00000-of-00001.parquet"'""" in said
    assert numbers(tmp_path / "data/test-00000-of-00001.parquet") == [1]
