"""shale.Dataset over files of other tools: what their own libraries read, with an index beside, in memory, or in index_dir."""

import contextlib
import dataclasses
import json
import multiprocessing
import os
import pathlib
import shutil

import foreign_files
import lmdb
import numpy as np
import pytest
from conftest import run_shale
from dataset_workers import digests, read_all

shale_package = pytest.importorskip("shale")
from shale import Dataset, errors


def settings(foreign):
    return {"parse": foreign.options[1]} if foreign.options else {}


def plain(name, value):
    """As the makers tell it: tensors and text by their bytes."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return value.encode() if isinstance(value, str) and name != "key" else value


def check_all(ds, foreign):
    """Every sample is what the file's own library found; rows without a key have their number."""
    keys = [str(row) if foreign.keys is None else os.fsdecode(foreign.keys[row]) for row in range(len(foreign.samples))]
    found = [{name: plain(name, value) for name, value in sample.items()} for sample in ds]
    assert found == [{"key": key, **sample} for key, sample in zip(keys, foreign.samples)]


def names_in(folder):
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*"))


@pytest.fixture(scope="module", params=foreign_files.MAKERS, ids=lambda maker: maker.__name__)
def foreign(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("foreign"))


@pytest.fixture
def copied(foreign, tmp_path):
    """A copy alone in a folder, without an index."""
    (tmp_path / "data").mkdir()
    return dataclasses.replace(foreign, file=pathlib.Path(shutil.copy(foreign.file, tmp_path / "data")))


@contextlib.contextmanager
def another_state(foreign):
    """One byte of a value is another, the size and the times are not."""
    content, facts = foreign.file.read_bytes(), foreign.file.stat()
    values = [value for sample in foreign.samples for value in sample.values() if isinstance(value, bytes)]
    value = next(value for value in values if len(value) > 100 and content.count(value) == 1)
    at = content.find(value) + len(value) // 2
    for state in (content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :], content):
        foreign.file.write_bytes(state)
        os.utime(foreign.file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        if state != content:
            yield


# ---- in memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"verify": True, "cache": "drop"}, {"cache": "direct"}], ids=["plain", "verify, drop", "direct"])
def test_a_file_opens_as_it_is_and_leaves_nothing_on_disk(copied, more, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    before = names_in(tmp_path)
    ds = Dataset(copied.file, **settings(copied), **more)
    check_all(ds, copied)
    assert read_all(ds, list(range(len(ds))), 2, "fork") == digests(list(ds))
    assert names_in(tmp_path) == before


@pytest.mark.parametrize("more", [{}, {"verify": True}, {"cache": "direct"}], ids=["plain", "verify", "direct"])
def test_what_a_record_lacks_is_none(tmp_path, more):
    writer = foreign_files.TFRecordWriter(str(tmp_path / "gaps.tfrecord"))
    for row in range(6):
        features = {"image": (bytes(row), "byte"), "label": (row, "int")}
        if row % 2:
            features["caption"] = (b"c%d" % row, "byte")
        if row != 4:
            features["box"] = ([float(row), 2.0], "float")
        writer.write(features)
    writer.close()
    ds = Dataset(tmp_path / "gaps.tfrecord", **more)
    for samples, rows in [(list(ds), range(6)), (ds.__getitems__([4, 1, 4, 0]), [4, 1, 4, 0])]:
        assert [sample["image"] for sample in samples] == [bytes(row) for row in rows]
        assert [sample["caption"] for sample in samples] == [f"c{row}" if row % 2 else None for row in rows]
        assert [None if sample["box"] is None else sample["box"].tolist() for sample in samples] == [
            None if row == 4 else [row, 2] for row in rows
        ]


def test_an_lmdb_is_opened_by_its_directory_too(tmp_path):
    foreign = foreign_files.lmdb_folder(tmp_path)
    assert foreign.file.name == "data.mdb"
    check_all(Dataset(foreign.file.parent), foreign)


def test_a_file_can_be_read_while_py_lmdb_has_it_open(tmp_path):
    foreign = foreign_files.lmdb_one_file(tmp_path)
    with lmdb.open(str(foreign.file), subdir=False, map_size=1 << 30) as env, env.begin() as txn:
        check_all(Dataset(foreign.file), foreign)
        assert txn.get(foreign.keys[3]) == foreign.samples[3]["value"]


def test_what_cannot_be_located_is_refused(tmp_path):
    path = foreign_files.hdf5_gzip(tmp_path).file
    with pytest.raises(errors.UnsupportedError, match=str(path)):
        Dataset(path)


def test_maps_that_are_none_are_refused_by_name(tmp_path):
    foreign = foreign_files.lmdb_one_file(tmp_path)
    with pytest.raises(errors.UnsupportedError, match="00000000"):
        Dataset(foreign.file, parse="msgpack")


@pytest.mark.parametrize("size", [0, 100, 4096, 20_000])
def test_a_cut_file_is_refused(copied, size):
    os.truncate(copied.file, size)
    if size == 0 and copied.file.suffix == ".tfrecord":  # so is a file of no records
        assert list(Dataset(copied.file, **settings(copied))) == []
        return
    with pytest.raises(errors.Error):
        list(Dataset(copied.file, **settings(copied)))


# ---- beside the file ----------------------------------------------------------------------------------------------------


def test_an_index_beside_the_file_is_used(copied):
    run_shale("index", copied.file, *copied.options)
    before = names_in(copied.file.parent)
    check_all(Dataset(copied.file), copied)
    with pytest.raises(errors.UnsupportedError, match="--crc"):
        Dataset(copied.file, verify=True)
    run_shale("index", copied.file, *copied.options, "--crc")
    check_all(Dataset(copied.file, verify=True), copied)
    assert set(names_in(copied.file.parent)) - set(before) == {copied.file.name + ".blocks.npy"}


def test_a_stale_index_beside_the_file_is_refused(copied):
    with another_state(copied):
        run_shale("index", copied.file, *copied.options)
        Dataset(copied.file)
    with pytest.raises(errors.DamagedError, match="changed") as caught:
        Dataset(copied.file)
    assert caught.value.file == str(copied.file) and caught.value.hint
    run_shale("index", copied.file, *copied.options)
    check_all(Dataset(copied.file), copied)


def test_an_index_of_another_way_of_parsing_is_refused(tmp_path):
    foreign = foreign_files.lmdb_msgpack(tmp_path)
    run_shale("index", foreign.file, "--parse", "plain")
    with pytest.raises(errors.MismatchError, match="parse msgpack"):
        Dataset(foreign.file, parse="msgpack")
    assert list(Dataset(foreign.file).schema) == ["value"]
    check_all(Dataset(foreign.file, parse="msgpack", index_dir=tmp_path / "kept"), foreign)


# ---- in index_dir -------------------------------------------------------------------------------------------------------


def test_index_dir_is_made_once_and_made_anew_when_the_file_changes(copied, tmp_path):
    kept = tmp_path / "kept/deep"
    more = {**settings(copied), "index_dir": kept}
    with another_state(copied):
        Dataset(copied.file, **more)
    manifest = kept / (copied.file.name + ".dataset.json")
    said = manifest.read_bytes()
    check_all(Dataset(copied.file, **more), copied)
    assert manifest.read_bytes() != said, "not made anew"
    first = manifest.stat()
    check_all(Dataset(copied.file, **more), copied)
    assert (manifest.stat().st_ino, manifest.stat().st_mtime_ns) == (first.st_ino, first.st_mtime_ns), "made twice"
    os.utime(copied.file, ns=(1, 1))
    check_all(Dataset(copied.file, **more), copied)
    assert manifest.stat().st_ino == first.st_ino, "made again because of a time"
    assert names_in(copied.file.parent) == [copied.file.name]
    (shard,) = json.loads(manifest.read_bytes())["shards"]
    index = [] if shard["index"] is None else [shard["index"]["name"]]  # fixed rows need none
    assert names_in(kept) == sorted([manifest.name, *index])


def test_index_dir_holds_what_the_file_says_after_it_was_written_to(tmp_path):
    foreign = foreign_files.lmdb_one_file(tmp_path)
    more = {"index_dir": tmp_path / "kept"}
    ds = Dataset(foreign.file, **more)
    check_all(ds, foreign)
    with lmdb.open(str(foreign.file), subdir=False, map_size=1 << 30) as env, env.begin(write=True) as txn:
        txn.put(b"zzz", b"the last one")
    again = Dataset(foreign.file, **more)
    assert (len(again), again[-1]) == (len(ds) + 1, {"key": "zzz", "value": b"the last one"})


@pytest.mark.parametrize("made", [{"parse": parse, **more} for parse in ("plain", "msgpack") for more in ({}, {"verify": True})], ids=str)
def test_an_index_in_index_dir_keeps_the_way_it_was_made(tmp_path, made):
    """Whoever opens it with other options gets it as it is, or an error; who has it open goes on reading."""
    foreign = foreign_files.lmdb_msgpack(tmp_path)
    more = {"index_dir": tmp_path / "kept"}
    first = Dataset(foreign.file, **made, **more)
    wanted, files = digests(list(first)), {path: path.read_bytes() for path in (tmp_path / "kept").iterdir()}
    for asked in [{}, {"verify": True}, {"parse": "msgpack"}, {"parse": "msgpack", "verify": True}]:
        is_other_way = "parse" in asked and made["parse"] == "plain"
        if is_other_way or ("verify" in asked and "verify" not in made):
            with pytest.raises(errors.MismatchError if is_other_way else errors.UnsupportedError) as caught:
                Dataset(foreign.file, **asked, **more)
            assert caught.value.hint
        else:
            assert digests(list(Dataset(foreign.file, **asked, **more))) == wanted
        assert {path: path.read_bytes() for path in (tmp_path / "kept").iterdir()} == files
        assert digests(list(first)) == wanted


def test_an_index_that_is_made_again_keeps_its_way_of_parsing(tmp_path):
    foreign = foreign_files.lmdb_msgpack(tmp_path)
    with another_state(foreign):
        Dataset(foreign.file, parse="msgpack", index_dir=tmp_path / "kept")
    check_all(Dataset(foreign.file, index_dir=tmp_path / "kept"), foreign)


def test_an_index_dir_that_cannot_be_written_to_says_so(tmp_path):
    foreign = foreign_files.lmdb_one_file(tmp_path)
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(errors.StorageError) as caught:
        Dataset(foreign.file, index_dir=tmp_path / "file")
    assert caught.value.hint


def open_together(barrier, path, kept, parse, results, number):
    barrier.wait()
    try:
        ds = Dataset(path, parse=parse, index_dir=kept)
        results[number] = sum(digests(list(ds))) % (1 << 62)
    except Exception as error:  # the test shows which
        print(number, repr(error), flush=True)


@pytest.mark.parametrize("state", ["missing", "stale"])
def test_eight_processes_at_once_make_one_index(tmp_path, state):
    foreign = foreign_files.lmdb_msgpack(tmp_path)
    kept = tmp_path / "kept"
    wanted = sum(digests(list(Dataset(foreign.file, parse="msgpack")))) % (1 << 62)
    for _ in range(10):
        shutil.rmtree(kept, ignore_errors=True)
        if state == "stale":
            with another_state(foreign):
                Dataset(foreign.file, parse="msgpack", index_dir=kept)
        context = multiprocessing.get_context("fork")
        barrier, results = context.Barrier(8), context.Array("q", 8)
        children = [
            context.Process(target=open_together, args=(barrier, foreign.file, kept, "msgpack", results, number)) for number in range(8)
        ]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert list(results) == [wanted] * 8
        assert names_in(kept) == sorted(foreign.file.name + suffix for suffix in (".index.npy", ".dataset.json"))


