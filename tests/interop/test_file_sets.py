"""Several files of other tools as one dataset: TFRecord shards by tfrecord's writer, LMDBs by py-lmdb, HDF5 by h5py."""

import os
import pickle
import subprocess
import sys

import conftest
import h5py
import lmdb
import numpy as np
import pytest
import shale
from conftest import run_shale
from tfrecord.writer import TFRecordWriter

FILES = 12


def sample_of(file, i):
    """What differs from file to file: the length of 'w', which one record lacks; a caption in file 5; text or bytes."""
    fields = {"id": file * 10 + i, "image": bytes([file * 20, 65 + i]), "w": [0.5, 1.5, 2.5][: 2 + file % 2]}
    if file == 5:
        fields["cap"] = f"caption {i}"
    if (file, i) == (7, 1):
        del fields["w"]
    return fields


@pytest.fixture(name="records")
def records_fixture(tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    kinds = {"id": "int", "image": "byte", "w": "float", "cap": "byte"}
    for file in range(FILES):
        writer = TFRecordWriter(str(folder / f"part-{file}.tfrecord"))
        for i in range(3):
            fields = sample_of(file, i)
            writer.write({name: (value.encode() if name == "cap" else value, kinds[name]) for name, value in fields.items()})
        writer.close()
    (folder / "README.md").write_text("twelve files\n")
    return folder


def check(sample, file, i):
    expected = sample_of(file, i)
    assert sample["id"] == expected["id"] and bytes(sample["image"]) == expected["image"] and sample["cap"] == expected.get("cap")
    if "w" in expected:
        np.testing.assert_array_equal(sample["w"], np.array(expected["w"], "f4"))
    else:
        assert sample["w"] is None


def test_files_that_differ_are_one_dataset(records, tmp_path):
    """Natural order; what files lack is optional, a length that differs free; bytes that are text in some files are bytes."""
    with shale.Dataset(records) as dataset:
        assert len(dataset) == 3 * FILES
        assert dataset.types == {"id": "integer", "image": "bytes", "w": "float32 (?)?", "cap": "text?"}
        for row in range(3 * FILES):
            check(dataset[row], *divmod(row, 3))
        check(pickle.loads(pickle.dumps(dataset))[16], 5, 1)
    assert shale.Dataset(records / "part-{1,10}.tfrecord")[3]["id"] == 100
    run_shale("convert", records, tmp_path / "out", "--to", "lmdb")
    run_shale("verify", tmp_path / "out", "--against", records)
    with shale.Dataset(tmp_path / "out") as dataset:
        for row in range(3 * FILES):
            check(dataset[row], *divmod(row, 3))
    words = [records / f"part-{file}.tfrecord" for file in (7, 5)]
    run_shale("convert", *words, tmp_path / "two", "--to", "record")
    check(shale.Dataset(tmp_path / "two")[4], 5, 1)


def test_an_index_of_each_file_serves_the_set_where_it_has_its_columns(records, tmp_path):
    for file in sorted(records.glob("*.tfrecord")):
        run_shale("index", file, "--crc")
    for command in ("info", "verify"):
        run_shale(command, records)
    run_shale("convert", records, tmp_path / "out", "--to", "hdf5")
    run_shale("verify", tmp_path / "out", "--against", records)
    check(shale.Dataset(tmp_path / "out")[22], 7, 1)


def test_a_file_that_changes_comes_or_goes_is_noticed(records):
    dataset = shale.Dataset(records)
    path = records / "part-2.tfrecord"
    content = path.read_bytes()
    path.write_bytes(content[:-5])
    with pytest.raises(shale.Error, match="part-2"):
        _ = dataset[6]
    path.write_bytes(content)
    os.rename(records / "part-3.tfrecord", records.parent / "gone")
    with pytest.raises(shale.Error, match="replaced|does not exist|not found"):
        _ = dataset[9]


def test_keys_that_begin_again(tmp_path):
    (tmp_path / "set").mkdir()
    for file in range(3):
        with lmdb.open(str(tmp_path / f"set/part{file}.lmdb"), map_size=1 << 24) as env, env.begin(write=True) as txn:
            for i in range(4):
                txn.put(b"%04d" % i, b"\xff %d %d" % (file, i))
    told = run_shale("convert", tmp_path / "set", tmp_path / "out", "--to", "record")
    assert b"the same keys are in several of the files" in told.stderr
    with shale.Dataset(tmp_path / "out") as dataset:
        assert [dataset[row]["key"] for row in (0, 5, 11)] == ["part0.lmdb/0000", "part1.lmdb/0001", "part2.lmdb/0003"]
        assert bytes(dataset[5]["value"]) == b"\xff 1 1"
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "set")


def test_a_dataset_of_variable_length_that_one_file_lacks_is_absent_there(tmp_path):
    """Beside another of variable length, or where all other rows have one size; a side that differs is free."""
    for name, words, has_tokens in (("a", True, True), ("b", True, False), ("c", False, False)):
        (tmp_path / "set").mkdir(exist_ok=True)
        with h5py.File(tmp_path / f"set/{name}.h5", "w") as file:
            file["n"] = np.arange(3)
            file["box"] = np.full((3, 2 + has_tokens, 4), 0.5, "f4")
            if words:
                file.create_dataset("word", data=[f"{name}{i}" for i in range(3)], dtype=h5py.string_dtype())
            if has_tokens:
                tokens = file.create_dataset("tokens", 3, dtype=h5py.vlen_dtype(np.int32))
                for i in range(3):
                    tokens[i] = np.arange(i)
    for opened in (tmp_path / "set", tmp_path / "set/{c,a,b}.h5"):
        with shale.Dataset(opened) as dataset:
            assert dataset.types == {"n": "integer", "box": "float32 (?, 4)", "word": "text?", "tokens": "int32 (?)?"} or opened.name != "set"
            rows = sorted((sample["word"] or "", sample["n"], sample["box"].shape, None if sample["tokens"] is None else sample["tokens"].tolist()) for sample in dataset)
        assert rows[:3] == [("", i, (2, 4), None) for i in range(3)]
        assert rows[3:6] == [(f"a{i}", i, (3, 4), list(range(i))) for i in range(3)]
        assert rows[6:] == [(f"b{i}", i, (2, 4), None) for i in range(3)]
    run_shale("convert", tmp_path / "set", tmp_path / "out", "--to", "record")
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "set")


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("several", [[2, 3, 4], [2, 2, 2]])
def test_a_feature_is_a_list_in_all_files_if_it_is_in_one(tmp_path, order, several):
    """One value in each record of a file, several in another, as many or not: what is a list within a file is one within a set."""
    kinds = {"ids": "int", "score": "float", "name": "byte", "label": "int"}
    for name in order:
        writer = TFRecordWriter(str(tmp_path / f"{order.index(name)}{name}.tfrecord"))
        for i in range(3):
            many = 1 if name == "a" else several[i]
            values = {"ids": [i] * many, "score": [i / 2] * many, "name": [b"%d" % i] * many, "label": [i]}
            writer.write({field: (value, kinds[field]) for field, value in values.items()})
        writer.close()
    pattern = tmp_path / "*.tfrecord"
    run_shale("convert", pattern, tmp_path / "out", "--to", "lmdb")
    run_shale("verify", tmp_path / "out", "--against", pattern)
    with shale.Dataset(tmp_path / "out") as dataset:
        assert dataset.types == {"ids": "int64 (?)", "label": "integer", "name": "list", "score": "float32 (?)"}
        counts = [(len(sample["ids"]), len(sample["score"]), len(sample["name"])) for sample in dataset]
        lengths = [1, 1, 1, *several] if order == "ab" else [*several, 1, 1, 1]
        assert counts == [(length,) * 3 for length in lengths]
    told = run_shale("info", pattern).stdout
    assert b"score float32 (?)" in told and b"left out feature 'ids' (" in told and b"ids (integer)" not in told


def test_fields_of_two_kinds_are_refused_by_file(tmp_path):
    for name, value in (("a.h5", np.zeros((3, 2), "f4")), ("b.h5", np.zeros((3, 2), "f8"))):
        with h5py.File(tmp_path / name, "w") as file:
            file["x"] = value
    told = run_shale("info", tmp_path / "[ab].h5", code=1).stderr
    assert b"b.h5: has x float64 (2,), but" in told and b"a.h5', the first file of the set, has x float32 (2,)" in told


def labelled(path, labels, names):
    with h5py.File(path, "w") as file:
        kind = h5py.enum_dtype({name: label for label, name in enumerate(names)}, basetype="i2") if names else "i2"
        file.create_dataset("label", data=np.array(labels), dtype=kind)
        file["x"] = np.zeros((len(labels), 2), "f4")


def test_a_note_on_several_files_is_said_once(tmp_path):
    for number in range(3):
        labelled(tmp_path / f"part-{number}.h5", [number], ["a", "b", "c"])
        with h5py.File(tmp_path / f"part-{number}.h5", "a") as file:
            file.attrs["sim"] = True
            file["x"].attrs["by"] = number
            if number == 1:
                file["x"].attrs["odd"] = number
    assert [line.split(maxsplit=1)[1] for line in run_shale("info", tmp_path).stdout.decode().splitlines() if line.startswith("  note")] == [
        "part-0.h5 and 1 other file: attributes are not read: 'sim' of the file, 'by' of 'x'",
        "part-1.h5: attributes are not read: 'sim' of the file, 'by' of 'x', 'odd' of 'x'",
    ]


def test_a_file_without_records_says_nothing_of_the_fields(records, tmp_path):
    (records / "part-3.tfrecord").write_bytes(b"")
    with shale.Dataset(records) as dataset:
        assert len(dataset) == 3 * (FILES - 1) and set(dataset.types) == {"id", "image", "w", "cap"}
    assert b"part-3.tfrecord: no samples" in run_shale("convert", records, tmp_path / "out", "--to", "record").stderr
    run_shale("verify", records)
    run_shale("verify", tmp_path / "out", "--against", records)
    for empty in ("a", "b"):
        (tmp_path / f"{empty}.tfrecord").write_bytes(b"")
    assert b"none of its 2 files has a sample" in run_shale("info", tmp_path / "{a,b}.tfrecord", code=1).stderr


def test_class_names_of_a_set_are_kept_where_a_label_means_the_same_in_all_files(tmp_path):
    labelled(tmp_path / "a.h5", [1, 0], ["cat", "dog"])
    labelled(tmp_path / "b.h5", [2, 1], ["cat", "dog", "cow"])
    labelled(tmp_path / "c.h5", [0, 1], ["dog", "cat"])
    labelled(tmp_path / "d.h5", [0, 1], [])
    for names in ("a,b", "b,a"):
        assert shale.Dataset(tmp_path / f"{{{names}}}.h5").classes == ["cat", "dog", "cow"]
    told = run_shale("info", tmp_path / "{a,c}.h5", code=1).stderr
    assert b"c.h5: its label 0 is the class 'dog', but 'cat' in" in told and b"hint:" in told
    run_shale("convert", tmp_path / "{a,c}.h5", tmp_path / "out", "--to", "npy", "--fields", "x")
    told = run_shale("convert", tmp_path / "{a,d}.h5", tmp_path / "both", "--to", "npy").stderr
    assert b"a.h5 names 2 classes, but" in told and b"d.h5 has labels without names: the set has no class names" in told


def test_files_of_splits_in_one_folder_are_a_dataset_each(tmp_path):
    (tmp_path / "set").mkdir()
    rows = {"train": 4, "val": 2, "test": 3}
    for split, count in rows.items():
        for part in range(2 if split == "train" else 1):
            with h5py.File(tmp_path / f"set/x-{split}-{part}.h5", "w") as file:
                file["x"] = np.full((count, 2), part, "f4")
    run_shale("convert", tmp_path / "set", tmp_path / "out", "--to", "npy")
    assert {split: len(shale.Dataset(tmp_path / "out", split=split)) for split in rows} == {"train": 8, "val": 2, "test": 3}
    assert [one["x"][0] for one in shale.Dataset(tmp_path / "out", split="train")] == [0] * 4 + [1] * 4
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "set")
    run_shale("verify", tmp_path / "out/train", "--against", tmp_path / "set")
    assert b"seem to be of several sets" in run_shale("ls", tmp_path / "set", code=1).stderr


def test_files_of_which_some_name_no_split_are_refused(tmp_path):
    (tmp_path / "set").mkdir()
    for name in ("train.h5", "val.h5", "extra.h5"):
        with h5py.File(tmp_path / "set" / name, "w") as file:
            file["x"] = np.zeros((3, 2), "f4")
    assert b"seem to be of several sets" in run_shale("convert", tmp_path / "set", tmp_path / "out", "--to", "npy", code=1).stderr


def read_all(dataset):
    return [(one["id"], bytes(one["image"])) for one in dataset]


def test_a_list_names_files_of_any_kind(records, tmp_path):
    names = [f"part-{number}.tfrecord" for number in (7, 5, 7)]
    (records / "files.txt").write_text("# three of twelve\n\n" + "\r\n".join(names))
    word = f"@{records / 'files.txt'}"
    expected = [(file * 10 + i, bytes([file * 20, 65 + i])) for file in (7, 5, 7) for i in range(3)]
    assert read_all(shale.Dataset(word)) == expected
    several = shale.Dataset([records / name for name in names])
    assert read_all(several) == read_all(pickle.loads(pickle.dumps(several))) == read_all(shale.Dataset(several.path)) == expected
    assert several.info.samples == shale.info([records / name for name in names]).samples == 9
    for command in ("info", "ls", "verify"):
        run_shale(command, word)
    assert run_shale("cat", word, "3", "--field", "image").stdout == expected[3][1]
    run_shale("report", word, "-o", tmp_path / "page.html")
    run_shale("convert", word, tmp_path / "out", "--to", "record")
    run_shale("verify", tmp_path / "out", "--against", word)
    assert read_all(shale.Dataset(tmp_path / "out")) == expected
    (records / "files.txt").write_text("part-1.tfrecord\npart-99.tfrecord\n")
    assert b"file 2 of the list, 'part-99.tfrecord', does not exist" in run_shale("info", word, code=1).stderr
    (records / "files.txt").write_text("# none\n")
    assert b"lists no file" in run_shale("info", word, code=1).stderr
    assert b"nothing.txt: cannot be opened" in run_shale("info", "@nothing.txt", code=1).stderr


def test_lists_of_lmdb_directories_and_arrays(tmp_path):
    for part in range(3):
        np.save(tmp_path / f"x{part}.npy", np.full((2, 3), part))
        with lmdb.open(str(tmp_path / f"part{part}.lmdb"), map_size=1 << 20) as env, env.begin(write=True) as txn:
            txn.put(b"%d" % part, b"\xff%d" % part)
    (tmp_path / "arrays.txt").write_text("x2.npy\nx0.npy\n")
    (tmp_path / "maps.txt").write_text("part1.lmdb\npart0.lmdb\n")
    run_shale("resample", f"@{tmp_path / 'arrays.txt'}", tmp_path / "rows.npy", "--seed", "1")
    assert sorted(np.load(tmp_path / "rows.npy")[:, 0]) == [0, 0, 2, 2]
    assert [one["key"] for one in shale.Dataset(f"@{tmp_path / 'maps.txt'}")] == ["1", "0"]


def test_what_a_shell_makes_of_a_pattern_is_read_by_every_command(records, tmp_path):
    words = [os.path.relpath(records / f"part-{number}.tfrecord", tmp_path) for number in (7, 5)]
    assert b"a set of 2 record files" in run_shale("info", *words, cwd=tmp_path).stdout
    assert run_shale("ls", *words, cwd=tmp_path).stdout.count(b"\n") >= 6
    assert run_shale("cat", *words, "3", "--field", "image", cwd=tmp_path).stdout == bytes([100, 65])
    run_shale("verify", *words, cwd=tmp_path)
    run_shale("report", *words, "-o", "page.html", cwd=tmp_path)
    for command in (("info", *words, "nothing"), ("cat", words[0], "nothing", "1"), ("verify", records, words[0])):
        assert b"given, expected" in run_shale(*command, cwd=tmp_path, code=2).stderr
    os.rename(records / "part-1.tfrecord", records / "a,b.tfrecord")
    told = run_shale("info", records / "a,b.tfrecord", records / "part-2.tfrecord", code=2).stderr
    assert b"has a comma or a brace in its name" in told and b"@files.txt" in told
    with pytest.raises(shale.UsageError, match="has a comma or a brace"):
        shale.Dataset([records / "a,b.tfrecord", records / "part-2.tfrecord"])


def test_more_files_than_a_shell_grants(tmp_path):
    """Each file without an index has a temporary one, which is open."""
    writer = TFRecordWriter(str(tmp_path / "one"))
    writer.write({"id": (1, "int")})
    writer.close()
    (tmp_path / "set").mkdir()
    for number in range(150):
        (tmp_path / f"set/part-{number}.tfrecord").write_bytes((tmp_path / "one").read_bytes())
    code = f"import resource, shale; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 4096)); print(len(shale.Dataset({str(tmp_path / 'set')!r})))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"150\n"


def test_more_arrays_than_may_be_open_are_converted(tmp_path):
    (tmp_path / "set").mkdir()
    for part in range(150):
        np.save(tmp_path / f"set/{part}.npy", np.arange(part, part + 3, dtype=">u2" if part % 2 else "<u2"))
    words = ["sh", "-c", 'ulimit -n 64; exec "$@"', "-", conftest.SHALE, "convert", tmp_path / "set", tmp_path / "out", "--to", "npy"]
    done = subprocess.run(words, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"59 more arrays are read in these ways" in done.stdout + done.stderr
    with shale.Dataset(tmp_path / "out") as made:
        found = [made[row][next(iter(made.types))] for row in range(len(made))]
    assert np.array_equal(found, np.concatenate([np.arange(part, part + 3) for part in range(150)]))
