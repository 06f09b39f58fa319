"""LMDB files in which a sample is several entries, in one database or in several, as text recognition, super-resolution and others have them."""

import gzip
import json
import os
import pathlib
import pickle
import sys
import types
import zlib

import lmdb
import numpy as np
import pytest
import shale
from conftest import run_shale
from lmdb_files import write_lmdb

WORDS = ["shop", "café", "N° 5", "a,b\tc", "東京"] * 30
IMAGES = [b"\xff\xd8\xff" + bytes([number]) * (50 if number % 3 else 5000) for number in range(len(WORDS))]
PATTERN = "image=image-%09d, label=label-%09d, count=num-samples, from=1"


def write_text_recognition(path, subdir=False, more=()):
    entries = {b"image-%09d" % number: image for number, image in enumerate(IMAGES, 1)}
    entries |= {b"label-%09d" % number: word.encode() for number, word in enumerate(WORDS, 1)}
    write_lmdb(path, entries | {b"num-samples": str(len(WORDS)).encode()} | dict(more), subdir=subdir)
    return path


def samples_of(path, fields, **more):
    with shale.Dataset(path, fields=["key", *fields], **more) as dataset:
        return [tuple(dataset[row][name] for name in ("key", *fields)) for row in range(len(dataset))]


def info(path, *words, code=0):
    return json.loads(run_shale("info", path, "--json", *words, code=code).stdout)


EXPECTED = [(f"{number:09}", image, word) for number, (image, word) in enumerate(zip(IMAGES, WORDS), 1)]


@pytest.mark.parametrize("subdir", [False, True])
def test_text_recognition_is_recognized_by_every_command(tmp_path, subdir):
    path = write_text_recognition(tmp_path / "st.lmdb", subdir)
    assert info(path)["samples"] == len(WORDS)
    assert samples_of(path, ["image", "label"]) == EXPECTED
    assert run_shale("cat", path, "1", "--field", "label").stdout.decode() == "café"
    assert run_shale("ls", path, "--keys", "raw").stdout.decode().split() == [key for key, _, _ in EXPECTED]
    run_shale("convert", path, tmp_path / "out", "--to", "record")
    assert samples_of(tmp_path / "out", ["image", "label"]) == EXPECTED
    run_shale("verify", tmp_path / "out", "--against", path)
    run_shale("index", path, "--crc")
    run_shale("verify", path, "--deep")
    assert samples_of(path, ["image", "label"], verify=True) == EXPECTED
    run_shale("convert", path, tmp_path / "again", "--to", "record", "--verify")


def test_the_pattern_that_the_note_names_reads_the_same(tmp_path):
    path = write_text_recognition(tmp_path / "st.lmdb")
    assert f"--parse '{PATTERN}'" in run_shale("info", path).stdout.decode()
    assert samples_of(path, ["image", "label"], parse=PATTERN) == EXPECTED
    assert samples_of(path, ["label"], parse="label=label-%09d, from=1", index_dir=tmp_path / "i") == [(key, word) for key, _, word in EXPECTED]


def test_what_no_pattern_takes_is_left_out_and_said(tmp_path):
    path = write_text_recognition(tmp_path / "st.lmdb", more={b"path-%09d" % 7: b"x", b"licence": b"MIT"})
    assert "value (bytes)" in run_shale("info", path).stdout.decode()
    done = run_shale("convert", path, tmp_path / "out", "--to", "record", "--parse", PATTERN, code=4)
    assert b"2 entries are left out, such as 'licence'" in done.stderr
    left_out = info(tmp_path / "out")["left_out"]
    assert [(one["kind"], one["name"], one["reason"]) for one in left_out] == [("entry", "licence", "no_pattern"), ("entry", "path-000000007", "no_pattern")]
    assert samples_of(tmp_path / "out", ["image", "label"]) == EXPECTED


def test_samples_by_key_and_fields_that_some_lack(tmp_path):
    entries = {b"%05d.jpg" % number: b"\xff\xd8\xff%d" % number for number in range(20)}
    entries |= {b"%05d.cls" % number: b"%d" % (number % 3) for number in range(20) if number != 11}
    write_lmdb(tmp_path / "a.lmdb", entries)
    found = samples_of(tmp_path / "a.lmdb", ["image", "class"], parse="image={key}.jpg, class:integer={key}.cls")
    assert found == [(f"{number:05}", b"\xff\xd8\xff%d" % number, None if number == 11 else number % 3) for number in range(20)]


@pytest.mark.parametrize("pattern, code, said", [
    ("image=image-%09d, label=lable-%09d, count=num-samples, from=1", 1, "no entry has a key like 'lable-000000001', of field 'label'"),
    ("image=image-%09d, count=num-samples", 1, "has no entry 'image-000000000', but 'num-samples' counts 150 samples"),
    ("image=image-%09d, count=nothing", 1, "has no entry 'nothing', which is to count the samples"),
    ("label:integer=label-%09d, from=1", 1, "the value of field 'label' is 'shop', which is not a number"),
    ("image:text=image-%09d, from=1", 1, "the value of field 'image' is not UTF-8"),
    ("image=image", 2, "has no %d and no {key}"),
])
def test_patterns_that_do_not_fit_say_why(tmp_path, pattern, code, said):
    path = write_text_recognition(tmp_path / "st.lmdb")
    assert said in run_shale("info", path, "--parse", pattern, code=code).stderr.decode()


def test_a_damaged_count_is_found_and_nothing_is_left_out_in_silence(tmp_path):
    path = write_text_recognition(tmp_path / "st.lmdb", more={b"num-samples": b"149"})
    assert "value (bytes)" in run_shale("info", path).stdout.decode()
    done = run_shale("convert", path, tmp_path / "out", "--to", "record", "--parse", PATTERN, code=4)
    assert b"2 entries are left out, such as 'image-000000150'" in done.stderr


def test_super_resolution_is_read_by_name(tmp_path):
    names = [f"{number:04}_s{part:03}" for number in (1, 2) for part in (1, 2, 3)]
    path = tmp_path / "gt.lmdb"
    write_lmdb(path, {name.encode(): b"\x89PNG\r\n\x1a\n" + name.encode() for name in names}, subdir=True)
    (path / "meta_info.txt").write_text("".join(f"{name}.png (12,16,3) 1\n" for name in names))
    assert samples_of(path, ["image"]) == [(name, b"\x89PNG\r\n\x1a\n" + name.encode()) for name in names]


def write_databases(path, databases):
    env = lmdb.open(str(path), subdir=False, max_dbs=8, map_size=1 << 26, lock=False)
    for name, entries in databases.items():
        database = env.open_db(name.encode())
        with env.begin(write=True, db=database) as txn:
            for key, value in entries.items():
                txn.put(key, value)
    env.close()
    return path


KEYS = [b"%04d" % number for number in range(300)]
NAMED = {"images": {key: b"\xff" + key * (1000 if key < b"0009" else 10) for key in KEYS}, "labels": {key: b"label %s" % key for key in KEYS}}


def test_named_databases_are_listed_read_and_joined(tmp_path):
    path = write_databases(tmp_path / "n.lmdb", NAMED)
    said = run_shale("info", path, code=1).stderr.decode()
    assert "'images' (300 entries), 'labels' (300 entries)" in said and "--database images,labels'" in said
    joined = [(key.decode(), NAMED["images"][key], f"label {key.decode()}") for key in KEYS]
    assert samples_of(path, ["images", "labels"], database="images,labels") == joined
    assert samples_of(path, ["value"], database="labels", index_dir=tmp_path / "i") == [(key.decode(), b"label " + key) for key in KEYS]
    shale.convert(path, tmp_path / "out", to="record", database=["images", "labels"])
    shale.verify(tmp_path / "out")
    assert samples_of(tmp_path / "out", ["labels"]) == [(key.decode(), f"label {key.decode()}") for key in KEYS]
    run_shale("index", path, "--crc", "--database", "images,labels")
    run_shale("verify", path, "--deep")
    assert info(path)["samples"] == 300
    run_shale("verify", tmp_path / "out", "--against", path)
    assert b"has no database 'image'" in run_shale("info", path, "--database", "image", code=2).stderr


def test_databases_with_keys_of_their_own(tmp_path):
    labels = {key: b"x" for key in KEYS if key != b"0003"} | {b"9999": b"y"}
    path = write_databases(tmp_path / "n.lmdb", {**NAMED, "labels": labels})
    done = run_shale("convert", path, tmp_path / "out", "--to", "lmdb", "--database", "images,labels", code=4)
    assert b"1 entry is left out, such as '9999': the first database has no such key" in done.stderr
    assert [label for _, label in samples_of(tmp_path / "out", ["labels"])].count(None) == 1


def test_the_only_database_is_read_and_in_it_layouts_are_recognized(tmp_path):
    path = write_databases(tmp_path / "n.lmdb", {"data": {b"%d" % number: pickle.dumps({"x": number, "y": "abc"}) for number in range(12)}})
    assert "read from 'data', the one database in the file" in run_shale("info", path).stdout.decode()
    assert samples_of(path, ["x", "y"]) == [(str(number), number, "abc") for number in range(12)]


@pytest.fixture()
def graphs(monkeypatch):
    """Makes objects of a class that is known to the writer of a file, and not to shale."""
    module = types.ModuleType("graph_lib.data")
    monkeypatch.setitem(sys.modules, "graph_lib", types.ModuleType("graph_lib"))
    monkeypatch.setitem(sys.modules, "graph_lib.data", module)
    module.Graph = type("Graph", (), {"__module__": "graph_lib.data"})

    def graph(**attributes):
        made = module.Graph()
        made.__dict__.update(attributes)
        return made

    return graph


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_objects_of_unknown_classes_are_their_attributes_in_the_order_of_numbers(tmp_path, graphs, protocol):
    rows = [{"pos": np.full((1 + number % 3, 3), number, np.float32), "y": -1.5 * number, "sid": 100 + number} for number in range(12)]
    entries = {b"%d" % number: pickle.dumps(graphs(**row, index=number), protocol) for number, row in enumerate(rows)}
    path = tmp_path / "data.lmdb"
    write_lmdb(path, entries | {b"length": pickle.dumps(len(rows), protocol)})
    assert "objects of 'graph_lib.data.Graph'" in run_shale("info", path).stdout.decode()
    with shale.Dataset(path, fields=["key", "pos", "y", "sid", "index_"]) as dataset:
        assert [dataset[row]["key"] for row in range(12)] == [str(number) for number in range(12)]
        for number, row in enumerate(rows):
            assert np.array_equal(dataset[number]["pos"], row["pos"]) and dataset[number]["y"] == row["y"] and dataset[number]["index_"] == number
    run_shale("index", path, "--crc")
    run_shale("verify", path, "--deep")
    run_shale("convert", path, tmp_path / "out", "--to", "record", "--verify")


def test_dicts_in_dicts_and_objects_in_objects_are_fields_of_both_names(tmp_path, graphs):
    value = {"image": b"x", "meta": {"size": {"w": 3, "h": 4}, "name": "a"}, "graph": graphs(edges=np.zeros((2, 5), np.int64))}
    write_lmdb(tmp_path / "a.lmdb", {b"%d" % number: pickle.dumps(value) for number in range(3)})
    with shale.Dataset(tmp_path / "a.lmdb") as dataset:
        sample = dataset[1]
        assert sample["meta_size_w"] == 3 and sample["meta_size_h"] == 4 and sample["meta_name"] == "a"
        assert sample["graph_edges"].shape == (2, 5)


def test_calls_that_make_values_are_refused_also_in_objects(tmp_path, graphs):
    class Trap:
        def __reduce__(self):
            return open, (str(tmp_path / "trap"), "w")

    write_lmdb(tmp_path / "a.lmdb", {b"%d" % number: pickle.dumps(graphs(x=Trap())) for number in range(3)})
    assert "pickle refers to 'io.open'" in run_shale("info", tmp_path / "a.lmdb").stdout.decode()
    assert not (tmp_path / "trap").exists()


@pytest.mark.parametrize("pack", [zlib.compress, gzip.compress])
def test_pickles_that_are_compressed_one_by_one_are_converted(tmp_path, pack):
    rows = [{"x": np.arange(number, dtype=np.float32), "name": f"row {number}"} for number in range(12)]
    entries = {b"%d" % number: pack(pickle.dumps(row)) for number, row in enumerate(rows)}
    path = tmp_path / "a.lmdb"
    write_lmdb(path, entries | {b"length": pickle.dumps(12)})
    assert "pickles that are compressed with" in run_shale("info", path).stdout.decode()
    for words in ([], ["--parse", "pickle"]):
        out = tmp_path / f"out{len(words)}"
        run_shale("convert", path, out, "--to", "record", *words)
        assert samples_of(out, ["name"]) == [(str(number), row["name"]) for number, row in enumerate(rows)]
        run_shale("verify", out, "--against", path)
    run_shale("convert", path, tmp_path / "plain", "--to", "record", "--parse", "plain")
    assert samples_of(tmp_path / "plain", ["value"])[0] == ("0", entries[b"0"])


def test_what_looks_like_compressed_pickles_and_is_not_stays_as_it_is(tmp_path):
    values = {b"a%d" % number: zlib.compress(b"\x80\x04 no pickle" * number) for number in range(1, 9)}
    write_lmdb(tmp_path / "a.lmdb", values)
    run_shale("convert", tmp_path / "a.lmdb", tmp_path / "out", "--to", "record")
    assert samples_of(tmp_path / "out", ["value"]) == [(key.decode(), value) for key, value in values.items()]


def test_names_that_are_not_utf8_are_in_every_file_and_answer(tmp_path):
    """Of the file, of a database and of what is left out: an index of such a file could not be written."""
    path = os.path.join(os.fsencode(tmp_path), b"a\xff.lmdb")
    with lmdb.open(str(tmp_path / "a.lmdb"), subdir=False, max_dbs=2, map_size=1 << 24) as env:
        for name in (b"i\xff", b"other"):
            with env.begin(write=True, db=env.open_db(name)) as txn:
                for i in range(3):
                    txn.put(b"%d" % i, b"\xfe%d" % i)
                txn.put(b"\xff", b"no pattern takes it")
    os.rename(tmp_path / "a.lmdb", path)
    parse = ("--database", b"i\xff", "--parse", "v=%d")
    for command in (("index", path, *parse, "--crc"), ("info", path), ("verify", path, "--deep"), ("ls", path), ("cat", path, "0"), ("convert", path, tmp_path / "out", "--to", "record", *parse)):
        code = 4 if command[0] == "convert" else 0
        answer = json.loads(run_shale(*command, "--json", code=code).stdout)
        assert "error" not in answer
    assert json.loads(run_shale("info", tmp_path / "out", "--json").stdout)["left_out"][0]["name"] == "\\xff"
    manifest = json.loads(pathlib.Path(os.fsdecode(path + b".dataset.json")).read_bytes())
    assert manifest["shards"][0]["files"][0]["name"] == {"bytes": b"a\xff.lmdb".hex()} and manifest["layout"]["database"] == {"bytes": b"i\xff".hex()}
    assert b"the source holds the same samples" in run_shale("verify", path, "--against", tmp_path / "out").stdout
