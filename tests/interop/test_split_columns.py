"""`convert --split-by`: arrays of one file that are named after splits become a dataset per split."""

import json
import shutil

import h5py
import numpy as np
import pytest
import shale as shale_package
from conftest import run_shale

SPLITS = {"train": 10, "val": 3, "test": 4}


def arrays_of(split):
    rows, seed = SPLITS[split], len(split)
    return {"images": np.random.default_rng(seed).integers(0, 256, (rows, 4, 3), dtype="u1"), "labels": np.arange(rows) % 3 + seed}


def write_file(path, pattern):
    arrays = {pattern.format(split=split, name=name): values for split in SPLITS for name, values in arrays_of(split).items()}
    if path.suffix == ".npz":
        np.savez(path, version=np.int64(2), **arrays)
        return
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            file.create_dataset(name, data=values, compression="gzip")


FILES = [
    ("in.h5", "{split}_{name}"),
    ("in.h5", "{split}/{name}"),
    ("in.npz", "{split}_{name}"),
    ("in.npz", "{name}_{split}"),
    ("in.h5", "{name}/{split}"),
]


@pytest.mark.parametrize(("name", "pattern"), FILES)
def test_each_split_is_a_dataset(name, pattern, shale, tmp_path):
    write_file(tmp_path / name, pattern)
    by = "prefix" if pattern.startswith("{split}") else "suffix"
    words = ["convert", name, "out", "--to", "npy", "--split-by", by]

    offered = json.loads(run_shale("info", name, "--json", cwd=tmp_path).stdout)["commands"]
    told = run_shale(*words, cwd=tmp_path).stderr
    again = run_shale(*words, cwd=tmp_path).stdout

    assert offered == [f"shale convert {name} out --to npy --split-by {by}"]
    assert (b"1 entry beside the splits is left out: version" in told) == (name == "in.npz")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(SPLITS) and b"already complete" in again
    for split in SPLITS:
        samples = list(shale_package.Dataset(tmp_path / "out", split=split))
        for field, values in arrays_of(split).items():
            assert np.array_equal([sample[field] for sample in samples], values), field


@pytest.mark.parametrize(("name", "pattern"), FILES[:3])
def test_splits_are_compared_and_repaired_from_the_file(name, pattern, tmp_path):
    write_file(tmp_path / name, pattern)
    run_shale("convert", name, "out", "--to", "npy", "--split-by", "prefix", cwd=tmp_path)
    shutil.copytree(tmp_path / "out", tmp_path / "copy")
    shard = tmp_path / "out/test/shard-000000.images.npy"
    shard.write_bytes(shard.read_bytes()[:-1] + b"!")

    run_shale("verify", "out", "--against", name, cwd=tmp_path, code=3)
    run_shale("repair", "out/test", "--from", name, cwd=tmp_path)
    run_shale("verify", "out", "--against", name, cwd=tmp_path)
    run_shale("verify", "out/val", "--against", name, cwd=tmp_path)

    assert shard.read_bytes() == (tmp_path / "copy/test/shard-000000.images.npy").read_bytes()


def test_a_compound_type_per_split(shale, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for split, rows in SPLITS.items():
            file[split] = np.array([(i, i / 2) for i in range(rows)], dtype=[("id", "<i4"), ("value", "<f8")])

    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "npy", "--split-by", "prefix")

    for split, rows in SPLITS.items():
        assert [(s["id"], s["value"]) for s in shale_package.Dataset(tmp_path / "out", split=split)] == [(i, i / 2) for i in range(rows)]


def test_python_and_other_options(tmp_path):
    write_file(tmp_path / "in.h5", "{split}_{name}")

    made = shale_package.convert(tmp_path / "in.h5", tmp_path / "out", to="npy", split_by="prefix", cast={"labels": "int32"}, shuffle=True)

    assert {name: each.samples for name, each in made.splits.items()} == SPLITS
    labels = [int(sample["labels"]) for sample in shale_package.Dataset(tmp_path / "out", split="train")]
    assert sorted(labels) == sorted(arrays_of("train")["labels"])
    with pytest.raises(shale_package.errors.UsageError, match="split_by excludes fields, drop and rename"):
        shale_package.convert(tmp_path / "in.h5", tmp_path / "no", to="npy", split_by="prefix", fields="images")


def test_what_has_no_splits_is_refused(tmp_path):
    np.savez(tmp_path / "in.npz", x=np.arange(3), train=np.arange(3))
    np.savez(tmp_path / "twice.npz", **{"train_x": np.arange(3), "train/x": np.arange(3)})
    np.savez(tmp_path / "rows.npz", train_x=np.arange(3), train_y=np.arange(4), test_x=np.arange(2))
    np.save(tmp_path / "in.npy", np.arange(3))

    for name, message, code in (
        ("in.npz", b"--split-by prefix: no array is named after a split", 2),
        ("twice.npz", b"two arrays of the split 'train' would be called 'x'", 1),
        ("rows.npz", b"column 'train_y' has 4 rows, but 'train_x' has 3", 1),
        ("in.npy", b"the input is not a file of named arrays", 2),
    ):
        assert message in run_shale("convert", name, "out", "--to", "npy", "--split-by", "prefix", cwd=tmp_path, code=code).stderr
        assert not list(tmp_path.glob("out/*"))
