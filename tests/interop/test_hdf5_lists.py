"""Lists of HDF5 files, as the `source:` of Caffe's HDF5Data names them: one dataset of the rows of all files.

What Caffe reads is re-created here in three lines (`listed_rows`): the words of the list, each a file relative to the current
directory, its rows one after the other (caffe, src/caffe/layers/hdf5_data_layer.cpp)."""

import json
import os
import pickle

import h5py
import numpy as np
import pytest
import shale
from conftest import run_shale
from shale import Dataset, convert, errors


def write_file(path, rows, first=0, dtype="f4", **options):
    data = (np.arange(rows * 12).reshape(rows, 3, 2, 2) + 1000 * first).astype(dtype)
    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=data, **options)
        file.create_dataset("label", data=np.arange(first, first + rows, dtype="f4").reshape(rows, 1), **options)


def listed_rows(text, folder):
    rows = []
    for word in text.split():
        with h5py.File(folder / word) as file:
            rows += list(zip(file["data"][:], file["label"][:]))
    return rows


def check_rows(samples, expected):
    found = list(samples)
    assert len(found) == len(expected)
    for one, (data, label) in zip(found, expected):
        assert np.array_equal(one["data"], data) and np.array_equal(one["label"], label)
        assert np.asarray(one["data"]).dtype == data.dtype


TEXT = "a.h5 sub/b.hdf5\n\n\tc.h5\r\na.h5"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    write_file(tmp_path / "a.h5", 5)
    write_file(tmp_path / "sub/b.hdf5", 1, 5)
    write_file(tmp_path / "c.h5", 7, 6)
    (tmp_path / "train.txt").write_text(TEXT)
    return tmp_path


def test_a_list_is_the_rows_of_its_files(folder):
    """A file that is listed twice is read twice, as in Caffe's own example (02-brewing-logreg)."""
    expected = listed_rows(TEXT, folder)
    assert len(expected) == 18
    info = shale.info(folder / "train.txt")
    assert (info.samples, info.shards, info.layout, info.format) == (18, 4, "caffe-h5", "hdf5")
    assert b"a set of 4 hdf5 files" in run_shale("info", folder / "train.txt").stdout
    with Dataset(folder / "train.txt") as dataset:
        check_rows((dataset[row] for row in range(18)), expected)
        check_rows([dataset[row] for row in (17, 0, 5, 6)], [expected[row] for row in (17, 0, 5, 6)])
        again = pickle.loads(pickle.dumps(dataset))
        check_rows((again[row] for row in range(18)), expected)
    assert run_shale("cat", folder / "train.txt", "6", "--field", "data").stdout == expected[6][0].tobytes()
    for words in ({"to": "record"}, {"to": "npy"}, {"to": "hdf5", "shard_samples": 4}):
        convert(folder / "train.txt", folder / "out", overwrite=True, **words)
        with Dataset(folder / "out") as dataset:
            check_rows((dataset[row] for row in range(18)), expected)
    assert not list(folder.glob("*.dataset.json"))


def test_workers_read_a_list(folder):
    torch = pytest.importorskip("torch")
    loader = torch.utils.data.DataLoader(Dataset(folder / "train.txt"), batch_size=3, num_workers=2, persistent_workers=True)
    expected = listed_rows(TEXT, folder)
    for _ in range(2):
        check_rows([{"data": data, "label": label} for batch in loader
                    for data, label in zip(batch["data"].numpy(), batch["label"].numpy())], expected)


def test_an_indexed_list_is_verified_by_its_checksums(folder):
    run_shale("verify", folder / "train.txt")
    assert b"run 'shale index" in run_shale("verify", folder / "train.txt").stderr + run_shale("verify", folder / "train.txt").stdout
    place = ("--index-dir", folder / "index")
    run_shale("index", folder / "train.txt", "--crc", *place)
    assert "content   unknown" not in run_shale("info", folder / "train.txt", *place).stdout.decode()
    run_shale("verify", folder / "train.txt", "--deep", *place)
    convert(folder / "train.txt", folder / "out", to="npy")
    run_shale("verify", folder / "out", "--against", folder / "train.txt", *place)
    with Dataset(folder / "train.txt", verify=True, index_dir=folder / "index") as dataset:
        check_rows((dataset[row] for row in range(18)), listed_rows(TEXT, folder))
    with open(folder / "c.h5", "r+b") as file:
        file.seek(-20, os.SEEK_END)
        file.write(b"\xff\xfe")
    told = run_shale("verify", folder / "train.txt", *place, code=3)
    assert b"c.h5" in told.stdout + told.stderr


def test_compressed_and_chunked_files_are_converted(folder):
    write_file(folder / "sub/b.hdf5", 3, 50, compression="gzip")
    write_file(folder / "c.h5", 4, 60, chunks=True)
    with h5py.File(folder / "d.h5", "w") as file:  # whole rows in chunks, which could be indexed
        file.create_dataset("data", data=np.ones((2, 3, 2, 2), "f4"), chunks=(1, 3, 2, 2))
        file.create_dataset("label", data=np.ones((2, 1), "f4"), chunks=(1, 1))
    text = TEXT + " d.h5"
    (folder / "train.txt").write_text(text)
    convert(folder / "train.txt", folder / "out", to="record")
    with Dataset(folder / "out") as dataset:
        check_rows((dataset[row] for row in range(len(dataset))), listed_rows(text, folder))
    told = run_shale("info", folder / "train.txt", code=1).stderr
    assert b"sub/b.hdf5: dataset 'data' is compressed (deflate)" in told and b"'shale convert' reads it" in told


def test_names_are_relative_to_the_list_or_else_to_the_current_directory(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("cwd")
    run_shale("info", folder / "train.txt", cwd=elsewhere)
    lists = tmp_path_factory.mktemp("lists")
    (lists / "train.txt").write_text(TEXT)
    assert b"file 1 of the list, 'a.h5', does not exist" in run_shale("info", lists / "train.txt", code=1, cwd=elsewhere).stderr
    convert_there = run_shale("convert", lists / "train.txt", "out", "--to", "npy", cwd=folder)
    assert convert_there.returncode == 0
    (lists / "c.h5").symlink_to(folder / "c.h5")  # the same file twice is no doubt
    run_shale("info", lists / "train.txt", cwd=folder)
    write_file(lists / "a.h5", 5)
    told = run_shale("info", lists / "train.txt", code=2, cwd=folder).stderr
    assert b"file 1 of the list, 'a.h5', is one file in the folder of the list and another in the current directory" in told
    (lists / "train.txt").write_text(str(folder / "a.h5"))
    run_shale("info", lists / "train.txt", cwd=elsewhere)


def test_a_list_that_was_moved_with_its_files(folder, tmp_path_factory):
    """ModelNet40's train_files.txt names its files from two folders above it; other lists have another machine's paths."""
    elsewhere = tmp_path_factory.mktemp("cwd")
    for kind, at in (("train.txt", ""), ("list.files", "@")):
        path = folder / kind
        path.write_text("data/modelnet40/a.h5\n/home/you/c.h5\ndata//sub/b.hdf5\n")
        facts = json.loads(run_shale("info", f"{at}{path}", "--json", cwd=elsewhere).stdout)
        assert facts["samples"] == json.loads(run_shale("info", folder / "a.h5", folder / "c.h5", folder / "sub/b.hdf5", "--json").stdout)["samples"]
        path.write_text("data/modelnet40/gone.h5\n")
        assert b"file 1 of the list, 'data/modelnet40/gone.h5', does not exist" in run_shale("info", f"{at}{path}", code=1, cwd=elsewhere).stderr


OTHERS = {
    "dtype": (dict(dtype="f8"), b"has data float64 (3, 2, 2), but 'a.h5', the first file of the set, has data float32 (3, 2, 2)"),
    "shape": (dict(shape=(4, 3, 2, 5)), b"has data float32 (3, 2, 5), but"),
    "no label": (dict(names=("data",)), b"has no field 'label', but 'a.h5', the first file of the set, has label"),
    "more": (dict(names=("data", "label", "weight")), b"has weight"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_files_that_differ_are_refused_by_name(name, folder):
    words, message = OTHERS[name]
    shape, names = words.get("shape", (4, 3, 2, 2)), words.get("names", ("data", "label"))
    with h5py.File(folder / "c.h5", "w") as file:
        for one in names:
            file[one] = np.zeros(shape if one == "data" else (shape[0], 1), words.get("dtype", "f4") if one == "data" else "f4")
    for command in (["info"], ["verify"], ["cat"], ["convert"]):
        more = {"cat": ["0"], "convert": ["out", "--to", "npy"]}.get(command[0], [])
        told = run_shale(*command, "train.txt", *more, code=1, cwd=folder).stderr
        assert b"c.h5" in told and message in told, told
    assert not (folder / "out").exists()


def test_a_file_without_rows_is_noted(folder):
    with h5py.File(folder / "c.h5", "w") as file:
        file["data"], file["label"] = np.zeros((0, 3, 2, 2), "f4"), np.zeros((0, 1), "f4")
    assert b"c.h5: no samples" in run_shale("info", "train.txt", cwd=folder).stdout
    told = run_shale("convert", "train.txt", "out", "--to", "npy", cwd=folder)
    assert b"note: c.h5: no samples" in told.stderr
    run_shale("verify", "out", "--against", "train.txt", cwd=folder)


HOSTILE = {
    "a directory": (lambda folder: (folder / "d.h5").mkdir(), "a.h5 d.h5", b"d.h5: is a folder, not a regular file"),
    "a FIFO": (lambda folder: os.mkfifo(folder / "p.h5"), "p.h5 a.h5", b"p.h5: is special, not a regular file"),
    "a device": (lambda folder: (folder / "z.h5").symlink_to("/dev/zero"), "z.h5", b"z.h5: is special, not a regular file"),
    "absent": (lambda folder: None, "a.h5 no.h5", b"file 2 of the list, 'no.h5', does not exist"),
    "a dangling link": (lambda folder: (folder / "l.h5").symlink_to("nowhere"), "l.h5", b"does not exist"),
    "another format": (lambda folder: (np.save(folder / "x.npy", np.zeros(3)), (folder / "x.npy").rename(folder / "x.h5")), "a.h5 x.h5", b"x.h5"),
    "itself": (lambda folder: (folder / "me.h5").symlink_to("train.txt"), "me.h5", b"me.h5"),
    "nothing in it": (lambda folder: (folder / "e.h5").touch(), "e.h5", b"e.h5"),
    "many": (lambda folder: None, "a.h5 " * 1_000_000, b"lists more than 65536 HDF5 files"),
    "very long": (lambda folder: None, "a.h5" + " " * (17 << 20), b"lists more than 65536 HDF5 files, or has more than 16777216 bytes"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_lists_are_refused_by_name(name, folder):
    prepare, text, message = HOSTILE[name]
    prepare(folder)
    (folder / "train.txt").write_text(text)
    for words in (["info", "train.txt"], ["verify", "train.txt"], ["index", "train.txt", "--index-dir", "i"], ["convert", "train.txt", "out", "--to", "npy"]):
        told = run_shale(*words, code=(1, 2, 3), cwd=folder)
        assert message in told.stderr, (words, told)
    assert not (folder / "out").exists()


@pytest.mark.parametrize("text", ["a.h5 b.jpg", "a.h5\0", "", "  ", "the file a.h5", "a.h5 " * 2 + "and more\n", "a.h5 \x1b.h5"])
def test_other_text_files_are_what_they_were(text, folder):
    (folder / "other.txt").write_text(text)
    for words in (["info", "other.txt"], ["convert", "other.txt", "out", "--to", "npy"]):
        told = run_shale(*words, code=1, cwd=folder).stderr
        expected = b"is neither a shale dataset" if words[0] == "info" else b"is empty" if not text else b"is not a file that shale reads as input"
        assert expected in told, told


def test_a_list_by_another_name_is_not_one(folder):
    (folder / "train.txt").rename(folder / "train.list")
    assert b"is neither a shale dataset" in run_shale("info", "train.list", code=1, cwd=folder).stderr


def test_a_changed_list_and_a_changed_file_are_noticed(folder):
    with Dataset(folder / "train.txt") as dataset:
        _ = dataset[0]
        (folder / "train.txt").write_text(TEXT)  # the same words
        _ = dataset[1]
        write_file(folder / "new.h5", 7, 600)
        os.replace(folder / "new.h5", folder / "c.h5")
        with pytest.raises(errors.Error, match="c.h5.*has changed since it was opened"):
            _ = dataset[8]
        (folder / "train.txt").write_text("a.h5")
        with pytest.raises(errors.Error, match="replaced after it was opened"):
            _ = dataset[0]


def test_the_same_command_finds_a_changed_file(folder):
    convert(folder / "train.txt", folder / "out", to="npy")
    assert convert(folder / "train.txt", folder / "out", to="npy").was_complete
    write_file(folder / "c.h5", 7, 600)
    with pytest.raises(errors.Error):
        convert(folder / "train.txt", folder / "out", to="npy")
