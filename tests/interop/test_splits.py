"""A dataset per split: the same as a run for each, every sample in exactly one, shares by class; what Python's functions make of it."""

import collections
import filecmp
import json
import os

import jsonschema
import numpy as np
import pytest
from conftest import jpeg, run_shale, write
from test_json_schema import check


def rows_of(dataset):
    """(key, label, class) of each sample."""
    lines = run_shale("ls", dataset, "--tsv").stdout.decode().splitlines()
    return [tuple(line.split("\t")[1:4]) for line in lines]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("splits")
    seed = 0
    for split, counts in {"train": (20, 12, 1), "val": (5, 0, 2), "test": (3, 3, 0)}.items():
        for name, count in zip(("ant", "bee", "train"), counts):  # a class may be named like a split
            for number in range(count):
                seed += 1
                write(folder, f"{split}/{name}/{number}.jpg", jpeg(seed))
    write(folder, "README.txt", b"what is beside the splits is left out")
    return folder


def assert_same_tree(one, other):
    names = sorted(os.listdir(one))
    assert names == sorted(os.listdir(other))
    assert filecmp.cmpfiles(one, other, names, shallow=False)[1:] == ([], [])


def test_info_ends_with_one_command_for_all_splits(root):
    told = run_shale("info", root).stdout.decode()
    assert told.count("next: ") == 1 and told.endswith(f"next: shale convert {root} out --to record\n")


def test_folder_of_splits_is_a_run_for_each(root, tmp_path):
    run_shale("convert", root, tmp_path / "all", "--to", "record")
    for split in ("train", "val", "test"):
        table = [] if split == "train" else ["--classes-from", tmp_path / "train"]
        run_shale("convert", root / split, tmp_path / split, "--to", "record", *table)
        assert_same_tree(tmp_path / "all" / split, tmp_path / split)
    assert sorted(os.listdir(tmp_path / "all")) == ["test", "train", "val"]
    run_shale("verify", tmp_path / "all", "--against", root)


def test_splits_of_datasets_are_converted_one_by_one(root, tmp_path):
    run_shale("convert", root, tmp_path / "record", "--to", "record")
    run_shale("convert", tmp_path / "record", tmp_path / "lmdb", "--to", "lmdb")
    for split in ("train", "val", "test"):
        assert rows_of(tmp_path / "lmdb" / split) == rows_of(tmp_path / "record" / split)


@pytest.mark.parametrize("kind", ["folder", "dataset", "arrays"])
def test_shares_of_each_class(kind, root, tmp_path):
    """Each sample is in exactly one part, and each class is divided by its share."""
    source = [root / "train"]
    if kind == "dataset":
        run_shale("convert", root / "train", tmp_path / "source", "--to", "lmdb", "--shuffle")
        source = [tmp_path / "source"]
    if kind == "arrays":
        labels = np.random.default_rng(3).integers(0, 4, 200).astype(">i2")
        np.save(tmp_path / "x.npy", np.arange(200, dtype=np.int32))
        np.save(tmp_path / "y.npy", labels)
        source = [f"x={tmp_path}/x.npy", f"label={tmp_path}/y.npy"]
    words = ["convert", *source, tmp_path / "out", "--to", "npy" if kind == "arrays" else "record", "--split", "train=0.75,val=0.25", "--seed", "9"]
    run_shale(*words)
    whole = collections.Counter()
    parts = {}
    for part in ("train", "val"):
        if kind == "arrays":
            x, y = (np.load(tmp_path / f"out/{part}/shard-000000.{name}.npy") for name in ("x", "label"))
            assert (labels[x] == y).all()
            parts[part] = list(zip(x.tolist(), y.tolist()))
        else:
            parts[part] = [(key, label) for key, label, _ in rows_of(tmp_path / "out" / part)]
        whole.update(key for key, _ in parts[part])
    expected = range(200) if kind == "arrays" else [key for key, _, _ in rows_of(tmp_path / "source")] if kind == "dataset" else None
    if expected is None:
        expected = [os.path.relpath(os.path.join(at, name), root / "train") for at, _, names in os.walk(root / "train") for name in names]
    assert whole == collections.Counter(expected)
    counts = {part: collections.Counter(label for _, label in rows) for part, rows in parts.items()}
    for label, count in counts["train"].items():
        both = count + counts["val"][label]
        assert both == 1 or abs(counts["val"][label] - both / 4) <= 1, counts
    # Again, by other threads and memory: nothing is done, for it would be the same.
    assert run_shale(*words, "--jobs", "1", "--memory", "16MiB").stdout.count(b"already complete") == 2


def test_shares_come_after_a_choice(root, tmp_path):
    write(tmp_path, "without.txt", b"key\nant/0.jpg\nant/1.jpg\n")
    run_shale("convert", root / "train", tmp_path / "out", "--to", "record", "--split", "train=0.5,val=0.5", "--exclude", tmp_path / "without.txt")
    keys = [key for part in ("train", "val") for key, _, _ in rows_of(tmp_path / "out" / part)]
    assert len(keys) == len(set(keys)) == 31
    assert not {"ant/0.jpg", "ant/1.jpg"} & set(keys)


def test_json_of_splits(root, tmp_path):
    def printed(name, *words, code=0):
        return check(name, json.loads(run_shale(*words, "--json", code=code).stdout))

    made = printed("convert_splits", "convert", root, tmp_path / "out", "--to", "record", "--verify")
    assert made["samples"] == sum(each["samples"] for each in made["splits"].values()) == 46
    assert printed("convert_splits", "convert", root, tmp_path / "plan", "--to", "record", "--dry-run")["samples"] == 46
    assert printed("verify_splits", "verify", tmp_path / "out")["ok"]
    assert list(printed("info_splits", "info", tmp_path / "out")["splits"]) == ["train", "test", "val"]
    # The digest of all parts is that of the whole.
    whole = json.loads(run_shale("convert", root / "train", tmp_path / "whole", "--to", "record", "--json").stdout)
    parts = printed("convert_splits", "convert", root / "train", tmp_path / "parts", "--to", "record", "--split", "train=0.8,val=0.2")
    assert parts["content_digest"] == whole["content_digest"]
    os.remove(tmp_path / "out/val/dataset.json")
    assert "error" in printed("verify_splits", "verify", tmp_path / "out", code=(1, 3))["splits"]["val"]
    with pytest.raises(jsonschema.ValidationError):
        check("convert", made)


def test_parts_of_splits_are_merged_one_by_one(root, tmp_path):
    split = ["--split", "train=0.8,val=0.2", "--to", "record"]
    run_shale("convert", root / "train", tmp_path / "whole", *split)
    for part in range(3):
        run_shale("convert", root / "train", tmp_path / "parts", *split, "--part", f"{part}/3")
    for name in ("train", "val"):
        run_shale("merge", tmp_path / "parts" / name, tmp_path / "merged" / name)
        assert rows_of(tmp_path / "merged" / name) == rows_of(tmp_path / "whole" / name)


def test_append_to_one_split(root, tmp_path):
    run_shale("convert", root, tmp_path / "out", "--to", "record")
    write(tmp_path, "more/bee/new.jpg", jpeg(1000))
    run_shale("convert", tmp_path / "more", tmp_path / "out/val", "--append")
    assert rows_of(tmp_path / "out/val")[-1] == ("bee/new.jpg", "1", "bee")
    run_shale("verify", tmp_path / "out")


def test_python(root, tmp_path):
    shale = pytest.importorskip("shale")
    made = shale.convert(root, tmp_path / "out", "record")
    assert list(made.splits) == ["train", "test", "val"] and made.samples == 46
    assert list(shale.Dataset(tmp_path / "out", split="val").classes) == ["ant", "bee", "train"]
    halves = shale.convert(root / "train", tmp_path / "halves", "lmdb", split={"train": 0.5, "val": 0.5})
    assert halves.splits["train"].samples + halves.splits["val"].samples == halves.samples == 33
    assert shale.convert(root, tmp_path / "out", "record").was_complete
