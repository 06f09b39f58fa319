"""The index of a set of files: one manifest, a list per file, and what changes in the set."""

import json
import os
import pickle
import shutil
import subprocess

import h5py
import lmdb
import numpy as np
import pytest
import shale
import shale.torch
from conftest import SHALE, run_shale
from tfrecord.writer import TFRecordWriter

FILES, ROWS = 12, 3


def write_records(path, file, rows=ROWS):
    writer = TFRecordWriter(str(path))
    for row in range(rows):
        writer.write({"image": (b"\xff%d-%d" % (file, row), "byte"), "label": (file * 10 + row, "int")})
    writer.close()


def make_records(folder):
    for file in range(FILES):
        write_records(folder / f"part-{file}.tfrecord", file)


def make_lmdbs(folder):
    for file in range(FILES):
        with lmdb.open(str(folder / f"part-{file}.lmdb"), map_size=1 << 20, subdir=file % 2 == 0, lock=False) as env, env.begin(write=True) as txn:
            for row in range(ROWS):
                txn.put(b"%04d" % row, b"\xff%d-%d" % (file, row))


def make_hdf5(folder):
    for file in range(FILES):
        with h5py.File(folder / f"part-{file}.h5", "w") as h5:
            h5["image"] = np.full((ROWS, 2, 2), file, "u1")
            h5["label"] = np.arange(ROWS) + 10 * file


def make_texts(folder):
    """Rows that an index finds."""
    for file in range(FILES):
        with h5py.File(folder / f"part-{file}.h5", "w") as h5:
            h5["text"] = np.array([b"%d-%d" % (file, row) for row in range(ROWS)], h5py.special_dtype(vlen=bytes))
            h5["label"] = np.arange(ROWS) + 10 * file


def make_arrays(folder):
    for file in range(FILES):
        np.save(folder / f"x{file}.npy", np.full((ROWS, 2), file, "f4"))


MAKERS = {"record": make_records, "lmdb": make_lmdbs, "hdf5": make_hdf5, "texts": make_texts, "npy": make_arrays}


@pytest.fixture
def records(tmp_path):
    (tmp_path / "set").mkdir()
    make_records(tmp_path / "set")
    return tmp_path / "set"


def plain(sample):
    return {name: bytes(value) if isinstance(value, memoryview) else value.tolist() if hasattr(value, "tolist") else value for name, value in sample.items()}


def samples_of(path, **options):
    with shale.Dataset(path, **options) as dataset:
        return [plain(dataset[row]) for row in range(len(dataset))]


def manifest_of(folder):
    return json.loads((folder / "dataset.json").read_text())


@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("kind", MAKERS)
def test_an_indexed_set_is_the_set(kind, crc, tmp_path):
    """Dataset over it equals Dataset over each file; all commands read it; nothing stands beside the files."""
    folder = tmp_path / "set"
    folder.mkdir()
    MAKERS[kind](folder)
    names = sorted(os.listdir(folder), key=lambda name: int("".join(filter(str.isdigit, name.replace("h5", "")))))
    expected = [{**sample, **({"key": str(at * ROWS + row)} if sample.get("key") == str(row) else {})} for at, name in enumerate(names) for row, sample in enumerate(samples_of(folder / name))]
    fingerprint = json.loads(run_shale("info", folder, "--json").stdout)["source"]["fingerprint"]
    done = shale.index(folder, crc=crc)
    assert sorted(os.listdir(folder)) == sorted([*names, ".shale-index"])
    manifest = manifest_of(folder / ".shale-index")
    assert "file_set" in manifest["requires"] and manifest["source"]["fingerprint"] == fingerprint
    assert [shard["name"] for shard in manifest["shards"]] == names and done.files[0].samples == FILES * ROWS
    found = samples_of(folder)
    assert found == expected
    assert pickle.loads(pickle.dumps(shale.Dataset(folder)))[7].keys() == expected[7].keys()
    assert b"indexed by shale" in run_shale("info", folder).stdout
    assert len(run_shale("ls", folder, "--tsv").stdout.splitlines()) >= FILES * ROWS
    for command in ("verify", "report"):
        run_shale(command, folder, *(["-o", tmp_path / "page.html"] if command == "report" else []))
    run_shale("convert", folder, tmp_path / "out", "--to", "record")
    run_shale("verify", tmp_path / "out", "--against", folder)
    before = {file.name: file.read_bytes() for file in (folder / ".shale-index").iterdir()}
    told = run_shale("index", folder).stdout
    assert b"files: 0 indexed, 12 as they were" in told
    assert before == {file.name: file.read_bytes() for file in (folder / ".shale-index").iterdir()}


def test_a_changed_file_is_indexed_again_alone(records):
    shale.index(records)
    index = records / ".shale-index"
    before = {file.name: file.stat().st_mtime_ns for file in index.glob("*.npy")}
    content = (records / "part-5.tfrecord").read_bytes()
    write_records(records / "part-5.tfrecord", 7, 4)
    for words in (("info", records), ("verify", records), ("ls", records), ("cat", records, "0"), ("convert", records, records.parent / "out", "--to", "record")):
        assert b"part-5.tfrecord: has changed since it was indexed" in run_shale(*words, code=3).stderr
    with pytest.raises(shale.DamagedError, match="part-5.tfrecord.*has changed since it was indexed"):
        shale.Dataset(records)
    assert b"files: 1 indexed, 11 as they were" in run_shale("index", records).stdout
    after = {file.name: file.stat().st_mtime_ns for file in index.glob("*.npy")}
    assert len(after) == FILES and len(before.items() & after.items()) == FILES - 1
    assert len(shale.Dataset(records)) == FILES * ROWS + 1
    # In the same size, it is only noticed by those who read it.
    (records / "part-5.tfrecord").write_bytes(content)
    run_shale("index", records)
    write_records(records / "part-5.tfrecord", 9)
    dataset = shale.Dataset(records)
    assert plain(dataset[0])["label"] == 0
    with pytest.raises(shale.Error, match="part-5.tfrecord.*has changed since it was indexed"):
        _ = dataset[16]
    for words in (("verify", records), ("ls", records), ("cat", records, "0"), ("convert", records, records.parent / "out", "--to", "record")):
        assert b"has the same size, but" in run_shale(*words, code=3).stderr


def test_a_file_that_is_missing_new_or_renamed(records):
    shale.index(records)
    os.rename(records / "part-5.tfrecord", records / "part-20.tfrecord")
    for words in (("info", records), ("verify", records), ("cat", records, "0")):
        told = run_shale(*words, code=3)
        assert b"part-5.tfrecord" in told.stderr + told.stdout and b"missing" in told.stderr + told.stdout
    with pytest.raises(shale.errors.DamagedError, match="part-5.tfrecord.*is missing"):
        shale.Dataset(records)
    assert b"files: 0 indexed, 12 as they were, 1 gone" in run_shale("index", records).stdout
    assert [sample["label"] for sample in samples_of(records)][-1] == 52
    write_records(records / "part-30.tfrecord", 30)
    assert b"1 file is not in the index, and not read: part-30.tfrecord" in run_shale("info", records).stdout
    assert len(shale.Dataset(records)) == FILES * ROWS
    assert b"files: 1 indexed, 12 as they were" in run_shale("index", records).stdout
    assert samples_of(records)[-1]["label"] == 302


def test_a_file_that_changes_the_schema(records):
    shale.index(records)
    writer = TFRecordWriter(str(records / "part-99.tfrecord"))
    writer.write({"image": (b"\xfe", "byte"), "weight": (0.5, "float")})
    writer.close()
    assert b"files: 1 indexed, 12 as they were" in run_shale("index", records).stdout
    with shale.Dataset(records) as dataset:
        assert dataset.types == {"image": "bytes", "label": "integer?", "weight": "float32?"} or dataset.types["label"] == "integer?"
        assert plain(dataset[4])["label"] == 11 and dataset[FILES * ROWS]["weight"] == 0.5


@pytest.mark.parametrize("crc", [(), ("--crc",)])
def test_damage_of_each_file_of_the_index_is_found_and_mended(records, crc):
    run_shale("index", records, *crc)
    index = records / ".shale-index"
    expected = samples_of(records)
    for name in ("00004.index.npy", *(["00004.blocks.npy"] if crc else []), "dataset.json"):
        for damage in ("flip", "cut", "remove"):
            content = bytearray((index / name).read_bytes())
            if damage == "flip":
                content[-40] ^= 1
                (index / name).write_bytes(content)
            elif damage == "cut":
                (index / name).write_bytes(content[:-9])
            else:
                (index / name).unlink()
            if (name, damage) != ("dataset.json", "remove"):
                run_shale("verify", records, code=3)
            run_shale("index", records, *crc)
            run_shale("verify", records)
            assert samples_of(records) == expected
            run_shale("index", shutil.rmtree(index) or records, *crc)


def test_what_is_not_ours_stays(records):
    index = records / ".shale-index"
    index.mkdir()
    (index / "notes.txt").write_text("mine")
    run_shale("index", records, code=1)
    assert os.listdir(index) == ["notes.txt"]
    (index / "notes.txt").rename(index / "dataset.json")
    run_shale("index", records, code=1)
    run_shale("index", records, "--index-dir", index, code=1)
    assert (index / "dataset.json").read_text() == "mine"
    shutil.rmtree(index)
    (records.parent / "elsewhere").mkdir()
    index.symlink_to(records.parent / "elsewhere")
    run_shale("index", records, code=1)
    assert os.listdir(records.parent / "elsewhere") == []
    index.unlink()
    assert b"cannot be that of their index" in run_shale("index", records, "--index-dir", records, code=2).stderr


def test_a_pattern_a_list_and_several_paths_have_an_index_dir(records, tmp_path):
    pattern, files = str(records / "part-*.tfrecord"), [records / "part-7.tfrecord", records / "part-3.tfrecord"]
    (records / "some.txt").write_text("part-7.tfrecord\npart-3.tfrecord\n")
    for number, words in enumerate(([pattern], [f"@{records}/some.txt"], files)):
        assert b"pass --index-dir" in run_shale("index", *words, code=2).stderr
        run_shale("index", *words, "--index-dir", tmp_path / f"i{number}", "--crc")
        assert b"indexed by shale" in run_shale("info", *words, "--index-dir", tmp_path / f"i{number}").stdout
        run_shale("verify", *words, "--index-dir", tmp_path / f"i{number}")
    assert samples_of(pattern, index_dir=tmp_path / "i0") == samples_of(records)
    assert [sample["label"] for sample in samples_of(f"@{records}/some.txt", index_dir=tmp_path / "i1")] == [70, 71, 72, 30, 31, 32]
    (records / "some.txt").write_text("part-3.tfrecord\npart-7.tfrecord\n")
    assert b"were indexed in another order" in run_shale("info", f"@{records}/some.txt", "--index-dir", tmp_path / "i1", code=1).stderr
    run_shale("index", f"@{records}/some.txt", "--index-dir", tmp_path / "i1")
    assert [sample["label"] for sample in samples_of(f"@{records}/some.txt", index_dir=tmp_path / "i1")] == [30, 31, 32, 70, 71, 72]
    assert b"is the index of a set of files" in run_shale("info", tmp_path / "i1", code=2).stderr
    with pytest.raises(shale.errors.UsageError, match="is the index of a set of files"):
        shale.Dataset(tmp_path / "i1")


def test_what_cannot_be_located_in_one_file_is_left_out_of_all(records, tmp_path):
    writer = TFRecordWriter(str(records / "part-50.tfrecord"))
    for label in ([1, 2], [1, 2, 3]):
        writer.write({"image": (b"\xfe", "byte"), "label": (label, "int")})
    writer.close()
    run_shale("convert", records, tmp_path / "out", "--to", "record")
    before = samples_of(records)
    run_shale("index", records)
    assert samples_of(records) == before and before[0].keys() == {"key", "image"}
    run_shale("convert", records, tmp_path / "again", "--to", "record")
    assert samples_of(tmp_path / "again") == samples_of(tmp_path / "out") and samples_of(tmp_path / "out")[-1]["label"] == [1, 2, 3]


def test_a_state_and_a_pickled_dataset_outlive_an_index_of_the_same_files(records):
    dataset = shale.Dataset(records)
    loader = shale.torch.Loader(dataset, 4, shuffle=True)
    next(iter(loader))
    state, pickled = loader.state_dict(), pickle.dumps(dataset)
    for crc in (False, True):
        shale.index(records, crc=crc)
        shale.torch.Loader(shale.Dataset(records), 4, shuffle=True).load_state_dict(state)
        assert len(pickle.loads(pickled)) == FILES * ROWS
    indexed = pickle.dumps(shale.Dataset(records))
    write_records(records / "part-5.tfrecord", 9)
    shale.index(records)
    with pytest.raises(shale.Error, match="the state is of dataset"):
        shale.torch.Loader(shale.Dataset(records), 4, shuffle=True).load_state_dict(state)
    with pytest.raises(shale.Error, match="was replaced after it was opened"):
        _ = pickle.loads(indexed)[0]


def test_the_set_may_be_copied_with_its_index(records, tmp_path):
    shale.index(records)
    shutil.copytree(records, tmp_path / "copy")
    assert samples_of(tmp_path / "copy") == samples_of(records)
    assert b"files: 0 indexed, 12 as they were" in run_shale("index", tmp_path / "copy").stdout


def test_an_index_beside_each_file_still_serves(records):
    for file in sorted(records.iterdir()):
        run_shale("index", file, "--crc")
    assert b"every byte is as it was written" in run_shale("verify", records).stdout
    assert len(samples_of(records)) == FILES * ROWS


def flip_bit(path):
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def swap(one, other):
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


ARRAY_CHANGES = {
    "removed": lambda folder: (folder / "x3.npy").unlink(),
    "renamed": lambda folder: (folder / "x3.npy").rename(folder / "x30.npy"),
    "swapped": lambda folder: swap(folder / "x3.npy", folder / "x4.npy"),
    "longer": lambda folder: np.save(folder / "x3.npy", np.zeros((ROWS + 1, 2), "f4")),
    "empty": lambda folder: (folder / "x3.npy").write_bytes(b""),
    "flipped": lambda folder: flip_bit(folder / "x3.npy"),
}


@pytest.mark.parametrize("change", ARRAY_CHANGES)
def test_arrays_that_are_not_what_was_indexed_are_read_by_nothing(tmp_path, change):
    folder, out = tmp_path / "set", tmp_path / "out"
    folder.mkdir()
    make_arrays(folder)
    run_shale("convert", folder, tmp_path / "before", "--to", "record")
    shale.index(folder, crc=True)
    ARRAY_CHANGES[change](folder)
    for words in (
        ("ls", folder),
        ("cat", folder, "0"),
        ("verify", folder),
        ("report", folder, "-o", tmp_path / "page.html"),
        ("convert", folder, out, "--to", "record"),
        ("convert", folder, out, "--to", "npy", "--shuffle"),
        ("convert", f"a={folder}", f"b={folder}", out, "--to", "record"),
        ("info", f"a={folder}", f"b={folder}"),
        ("resample", folder, tmp_path / "drawn.npy"),
        ("verify", tmp_path / "before", "--against", folder),
    ):
        told = run_shale(*words, code=3)
        assert b"x3.npy" in told.stdout + told.stderr, words
    if change not in ("swapped", "flipped"):
        assert b"x3.npy" in run_shale("info", folder, code=3).stderr
    with pytest.raises(shale.DamagedError, match="x3.npy"), shale.Dataset(folder) as dataset:
        _ = dataset[3 * ROWS]
    assert not out.exists()
    if change != "empty":
        shale.index(folder)
        run_shale("convert", folder, out, "--to", "record")


def test_one_array_that_is_not_what_was_indexed(tmp_path):
    file = tmp_path / "x.npy"
    np.save(file, np.arange(20).reshape(10, 2))
    shale.index(file, index_dir=tmp_path / "index")
    flip_bit(file)
    for words in (("convert", file, tmp_path / "out", "--to", "record"), ("info", file), ("verify", file), ("cat", file, "0")):
        assert b"x.npy: has changed since it was indexed" in run_shale(*words, "--index-dir", tmp_path / "index", code=3).stderr
    shale.index(file, index_dir=tmp_path / "index")
    run_shale("convert", file, tmp_path / "out", "--to", "record", "--index-dir", tmp_path / "index")


def test_arrays_that_are_new_are_not_read_before_they_are_indexed(tmp_path):
    make_arrays(tmp_path)
    run_shale("index", tmp_path)
    np.save(tmp_path / "x99.npy", np.zeros((ROWS, 2), "f4"))
    told = run_shale("convert", tmp_path, tmp_path.parent / "fewer", "--to", "record")
    assert b"1 file is not in the index, and not read: x99.npy" in told.stderr
    assert len(shale.Dataset(tmp_path.parent / "fewer")) == FILES * ROWS
    pattern, index = str(tmp_path / "x?.npy"), tmp_path.parent / "index"
    run_shale("index", pattern, "--index-dir", index)
    run_shale("convert", pattern, tmp_path.parent / "some", "--to", "record", "--index-dir", index)
    assert len(shale.Dataset(tmp_path.parent / "some")) == 10 * ROWS


def test_hints_name_the_command_that_indexes_the_set_again(records):
    shale.index(records, crc=True)
    index, command = records / ".shale-index", f"shale index {records}".encode()
    before = {name: (index / name).read_bytes() for name in ("dataset.json", "00004.blocks.npy", "00004.index.npy")}

    def check(*words, hint=command):
        told = run_shale(*words, code=3)
        assert hint in told.stderr.split(b"hint: ")[1], told.stderr

    for damaged in (b"", before["dataset.json"][:-9], before["dataset.json"].replace(b"image", b"imagf")):
        (index / "dataset.json").write_bytes(damaged)
        check("info", records)
        check("ls", records)
        check("convert", records, records.parent / "out", "--to", "record")
        check("verify", records)
        with pytest.raises(shale.DamagedError, match="dataset.json") as caught:
            shale.Dataset(records)
        assert f"shale index {records}" in caught.value.hint
    (index / "dataset.json").write_bytes(before["dataset.json"])
    for name in ("00004.blocks.npy", "00004.index.npy"):
        (index / name).unlink()
        check("verify", records)
        if name == "00004.index.npy":
            check("ls", records, hint=b"shale index")
            check("convert", records, records.parent / "out", "--to", "record", hint=b"shale index")
        (index / name).write_bytes(before[name])
    (records / "part-5.tfrecord").unlink()
    check("info", records)
    check("verify", records)


def test_a_block_list_of_an_array_that_is_missing(tmp_path):
    make_arrays(tmp_path)
    shale.index(tmp_path, crc=True)
    (tmp_path / ".shale-index/00004.blocks.npy").unlink()
    with pytest.raises(shale.DamagedError, match="00004.blocks.npy") as caught, shale.Dataset(tmp_path, verify=True) as dataset:
        _ = dataset[4 * ROWS]
    assert "shale index" in caught.value.hint


def test_a_dataset_with_an_index_dir_makes_the_index_of_a_set(records, tmp_path):
    pattern, index = str(records / "*.tfrecord"), tmp_path / "index"
    assert len(shale.Dataset(pattern, index_dir=index)) == FILES * ROWS
    before = (index / "dataset.json").read_bytes()
    assert len(shale.Dataset(pattern, index_dir=index)) == FILES * ROWS
    assert (index / "dataset.json").read_bytes() == before
    write_records(records / "part-5.tfrecord", 7, 4)
    assert len(shale.Dataset(pattern, index_dir=index)) == FILES * ROWS + 1
    files = sorted(records.glob("*.tfrecord"))
    assert samples_of(files, index_dir=tmp_path / "other", verify=True)[0]["label"] == 0
    assert manifest_of(tmp_path / "other")["shards"][0]["files"][0]["xxh3_128"]


@pytest.mark.parametrize("name", ["", "*.tfrecord"])
def test_a_file_that_is_gone_is_named_where_there_is_an_index_dir(records, tmp_path, name):
    words, index = str(records / name), tmp_path / "index"
    assert len(shale.Dataset(words, index_dir=index)) == FILES * ROWS
    (records / "part-3.tfrecord").unlink()
    with pytest.raises(shale.DamagedError, match="part-3.tfrecord: is missing") as caught:
        shale.Dataset(words, index_dir=index)
    assert "shale index" in caught.value.hint
    run_shale("index", words, "--index-dir", index)
    assert len(shale.Dataset(words, index_dir=index)) == (FILES - 1) * ROWS
    # One that nobody asks for any more is not gone.
    few = [str(path) for path in sorted(records.glob("*.tfrecord"))[:2]]
    assert len(shale.Dataset(few, index_dir=index)) == 2 * ROWS


def test_a_plan_of_a_set_is_one_plan(records):
    told = run_shale("index", records, "--dry-run").stdout
    assert b"would index 36 samples of record" in told and b"files: 12\n" in told and told.count(b"index: ") == 1
    assert not (records / ".shale-index").exists()
    assert b"pass --index-dir" in run_shale("index", records / "part-*.tfrecord", "--dry-run", code=2).stderr


@pytest.mark.parametrize("kind", MAKERS)
def test_more_files_than_may_be_open_are_a_set(tmp_path, kind):
    """Without an index, with one, and while it is made."""
    folder, out = tmp_path / "set", tmp_path / "out"
    folder.mkdir()
    MAKERS[kind](folder)
    for file in sorted(folder.iterdir()):
        for copy in range(1, 9):
            (shutil.copytree if file.is_dir() else shutil.copy)(file, file.with_name(file.name.replace(".", f"{copy}00.")))
    for words in (("info",), ("ls",), ("convert", out, "--to", "record"), ("index",), ("verify",), ("ls",)):
        command = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", SHALE, words[0], folder, *words[1:]]
        done = subprocess.run(list(map(os.fspath, command)), capture_output=True, check=False)
        assert done.returncode == 0, (words, done.stderr)
    assert len(shale.Dataset(out)) == 9 * FILES * ROWS


@pytest.mark.parametrize(
    ("name", "make", "what"),
    [
        ("gone", lambda path: path.symlink_to("nowhere"), "a link to nothing"),
        ("x.bin", lambda path: path.write_bytes(b"\0\1\2\xff" * 40), "not a file like the others"),
        ("x.npy", lambda path: np.save(path, np.arange(3)), "not a file like the others"),
    ],
)
def test_what_stands_in_the_way_in_an_indexed_folder_is_named(tmp_path, name, make, what):
    make_records(tmp_path)
    run_shale("index", tmp_path)
    make(tmp_path / name)
    for command in (["info"], ["ls"], ["verify"], ["cat", "0"], ["index"]):
        said = run_shale(command[0], tmp_path, *command[1:], code=1).stderr.decode()
        assert f"is indexed as a set of files, but '{name}' in it is {what}" in said, said
    (tmp_path / name).unlink()
    run_shale("index", tmp_path)
    assert "36" in run_shale("info", tmp_path).stdout.decode()


def test_folders_that_come_after_the_index_are_not_of_the_set(tmp_path):
    make_records(tmp_path)
    run_shale("index", tmp_path)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/part-9.tfrecord").write_bytes(b"x")
    for command in (["info"], ["ls"], ["verify"], ["cat", "0"], ["index"]):
        run_shale(command[0], tmp_path, *command[1:])
    assert len(shale.Dataset(tmp_path)) == 36
