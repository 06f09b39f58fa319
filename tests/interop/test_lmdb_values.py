"""What the values of LMDB files are made of: msgpack maps in maps, as msgpack and msgpack-numpy pack them, JSON, what is compressed one by one, and several values for a key."""

import collections
import json
import os
import pickle
import random
import shutil
import struct
import zlib

import lmdb
import lz4.block
import lz4.frame
import msgpack
import numpy as np
import pytest
import shale
import zstandard
from conftest import run_shale
from lmdb_files import write_lmdb, write_with_flags


def packed(value):
    """As msgpack_numpy.packb() packs: its encode() of arrays and numbers, of msgpack-numpy 0.4.8."""

    def encode(one):
        if isinstance(one, np.ndarray):
            return {b"nd": True, b"type": one.dtype.str, b"kind": b"", b"shape": one.shape, b"data": one.tobytes()}
        return {b"nd": False, b"type": one.dtype.str, b"data": one.tobytes()}

    return msgpack.packb(value, default=encode)


def samples_in(path, **more):
    with shale.Dataset(path, **more) as dataset:
        return [dataset[row] for row in range(len(dataset))]


def info(path, *words):
    return json.loads(run_shale("info", path, "--json", *words).stdout)


def write_maps(path, rows):
    write_lmdb(path, {b"%04d" % number: packed(row) for number, row in enumerate(rows)})
    return path


def test_maps_in_maps_are_fields_of_both_names(tmp_path):
    boxes = [np.arange(number % 3 * 4, dtype=np.float32).reshape(-1, 4) for number in range(12)]
    rows = [
        {
            "image": b"\xff\xd8%d" % number,
            "meta": {"w": number, "scale": np.float32(number / 4), "boxes": boxes[number], "by": {"name": "me"} if number else None},
        }
        for number in range(12)
    ]
    path = write_maps(tmp_path / "a.lmdb", rows)
    assert "left_out" not in info(path)
    for number, sample in enumerate(samples_in(path)):
        assert sample["image"] == rows[number]["image"] and sample["meta_w"] == number and sample["meta_scale"] == number / 4
        assert np.array_equal(sample["meta_boxes"], boxes[number]) and sample["meta_by_name"] == ("me" if number else None)
    run_shale("index", path, "--crc")
    run_shale("verify", path, "--deep")
    run_shale("convert", path, tmp_path / "out", "--to", "record", "--verify")


def test_maps_whose_names_are_numbers_or_that_are_too_deep_stay_out(tmp_path):
    deep = 1
    for _ in range(20):
        deep = {"a": deep}
    path = tmp_path / "a.lmdb"
    write_lmdb(path, {b"%d" % number: msgpack.packb({"x": number, "classes": {1: "cat"}, "deep": deep}) for number in range(3)})
    assert [field["name"] for field in info(path)["fields"]] == ["x"]
    assert [one["name"] for one in info(path)["left_out"]] == ["classes", "deep" + "_a" * 16]


def test_values_of_which_one_is_not_a_map_are_plain_and_said(tmp_path):
    path = tmp_path / "a.lmdb"
    write_lmdb(path, {b"0": msgpack.packb({"x": 1}), b"1": msgpack.packb({"x": 2}), b"2": b"no map"})
    assert "read as plain entries; sample '2': msgpack:" in run_shale("info", path).stdout.decode()


@pytest.mark.parametrize("dump", [msgpack.packb, pickle.dumps])
def test_maps_whose_names_collide_are_plain_and_said(dump, tmp_path):
    path = tmp_path / "a.lmdb"
    write_lmdb(path, {b"%d" % number: dump({"a": {"b": number}, "a_b": 1, "c": 2}) for number in range(3)})
    told = run_shale("convert", path, tmp_path / "out", "--to", "record").stderr.decode()
    assert "note: read as plain entries; sample '0': " in told and "field 'a_b' occurs twice" in told


PACKINGS = [zlib.compress, zstandard.compress, lz4.frame.compress, lz4.block.compress]
ROWS = [{"x": np.arange(number, dtype=np.float32), "name": f"row {number}"} for number in range(12)]


@pytest.mark.parametrize("pack", PACKINGS)
@pytest.mark.parametrize("dump", [pickle.dumps, packed])
def test_what_is_compressed_one_by_one_is_converted(tmp_path, pack, dump):
    path = tmp_path / "a.lmdb"
    write_lmdb(path, {b"%d" % number: pack(dump(row)) for number, row in enumerate(ROWS)} | {b"length": dump(12)})
    assert " that are compressed with " in run_shale("info", path).stdout.decode()
    run_shale("convert", path, tmp_path / "out", "--to", "record", "--verify")
    for sample, row in zip(samples_in(tmp_path / "out"), ROWS, strict=True):
        assert sample["name"] == row["name"] and np.array_equal(sample["x"], row["x"])
    run_shale("verify", tmp_path / "out", "--against", path)


@pytest.mark.parametrize("pack", PACKINGS)
def test_a_compressed_value_that_is_truncated_is_named(tmp_path, pack):
    values = {b"%d" % number: pack(pickle.dumps({"x": bytes(range(200))})) for number in range(3)}
    write_lmdb(tmp_path / "a.lmdb", values | {b"1": values[b"1"][:-5]})
    done = run_shale("convert", tmp_path / "a.lmdb", tmp_path / "out", "--to", "record", code=3)
    assert b"sample '1'" in done.stderr and not (tmp_path / "out/dataset.json").exists()


def test_json_objects_are_fields(tmp_path):
    rows = [
        {
            "name": f"n{number}",
            "score": number if number % 2 else number / 2,
            "box": [1, 2, 3, number],
            "points": [[1.5, number]] * (number % 3),
            "tags": ["a", "é"][: number % 3],
            "odd": [1, "a", None, 'x"\n'],
            "key": "k",
            "offset": number,
            "meta": {"size": {"w": number}, "by": None if number == 3 else {"x": True}},
        }
        for number in range(12)
    ]
    path = tmp_path / "a.lmdb"
    write_lmdb(path, {b"%d" % number: json.dumps(row, indent=number % 2).encode() for number, row in enumerate(rows)} | {b"length": b"12"})
    said = run_shale("info", path).stdout.decode()
    assert "the values are JSON; 'shale convert " in said
    run_shale("convert", path, tmp_path / "out", "--to", "lmdb", "--verify")
    for number, (sample, row) in enumerate(zip(samples_in(tmp_path / "out"), rows, strict=True)):
        assert (sample["name"], sample["score"], sample["key_"], sample["offset_"]) == (row["name"], row["score"], "k", number)
        assert sample["box"].dtype == np.int64 and sample["box"].tolist() == row["box"]
        assert (
            sample["points"].dtype == np.float64
            and sample["points"].tolist() == row["points"]
            and sample["points"].shape == (number % 3, 2)
        )
        assert sample["tags"] == row["tags"] and json.loads(sample["odd"]) == row["odd"]
        assert sample["meta_size_w"] == number and sample["meta_by_x"] == (None if number == 3 else 1)
    run_shale("verify", tmp_path / "out", "--against", path)
    run_shale("convert", path, tmp_path / "plain", "--to", "record", "--parse", "plain")
    assert samples_in(tmp_path / "plain")[0]["value"] == json.dumps(rows[0], indent=0).encode()


def test_json_lists_and_integers_beyond_64_bits(tmp_path):
    write_lmdb(tmp_path / "a.lmdb", {b"%d" % number: lz4.frame.compress(json.dumps([number] * number).encode()) for number in range(12)})
    run_shale("convert", tmp_path / "a.lmdb", tmp_path / "a", "--to", "record")
    assert [sample["values"].tolist() for sample in samples_in(tmp_path / "a")] == [[number] * number for number in range(12)]
    write_lmdb(tmp_path / "b.lmdb", {b"%d" % number: json.dumps({"id": 10**19 * number + 1, "x": 10**19}).encode() for number in range(3)})
    run_shale("convert", tmp_path / "b.lmdb", tmp_path / "b", "--to", "record")
    assert [(sample["id"], sample["x"]) for sample in samples_in(tmp_path / "b")] == [
        (str(10**19 * number + 1), str(10**19)) for number in range(3)
    ]


def test_no_digit_of_an_integer_in_json_is_lost(tmp_path):
    rows = [
        {"x": 2**53 + 1, "list": [2**53 + 1, 1], "n": 2**53 + 1},
        {"x": 0.5, "list": [0.5], "n": 1},
        {"x": None, "list": [], "n": -(2**63)},
    ]
    write_lmdb(tmp_path / "a.lmdb", {b"%d" % number: json.dumps(row).encode() for number, row in enumerate(rows)})
    run_shale("convert", tmp_path / "a.lmdb", tmp_path / "out", "--to", "record")
    samples = samples_in(tmp_path / "out")
    assert [sample["x"] for sample in samples] == ["9007199254740993", "0.5", None]
    assert [json.loads(sample["list"]) for sample in samples] == [row["list"] for row in rows]
    assert [sample["n"] for sample in samples] == [row["n"] for row in rows]


@pytest.mark.parametrize(
    ("rows", "fact"),
    [
        ([{"a": 1}, {"a": "x"}], "sample '1': field 'a' is text, but in the values before it integer"),
        ([{"a": {"b": 1}, "a_b": 2}] * 2, "sample '0': field 'a_b' occurs twice"),
        ([{"a": 1}, {"a": float("nan")}], "sample '1': the value is not JSON of at most 65536 values, 64 deep"),
    ],
)
def test_a_note_says_why_values_that_are_json_stay_whole(rows, fact, tmp_path):
    write_lmdb(tmp_path / "a.lmdb", {b"%d" % number: json.dumps(row).encode() for number, row in enumerate(rows)})
    done = run_shale("convert", tmp_path / "a.lmdb", tmp_path / "out", "--to", "record")
    assert f"note: the values are JSON, but are taken whole; {fact}\n" in done.stderr.decode()
    assert b"makes fields of them" not in done.stderr
    assert [json.loads(sample["value"]) for sample in samples_in(tmp_path / "out")][0] == rows[0]
    assert b"besides" not in run_shale("verify", tmp_path / "out", "--against", tmp_path / "a.lmdb").stdout


@pytest.mark.parametrize("bad", [b"{", b'{"a": NaN}', b"[" * 100 + b"]" * 100, b"7", b'{"b": [' + b"0," * 70_000 + b"0]}"])
def test_values_of_which_one_is_not_json_stay_as_they_are(tmp_path, bad):
    values = {b"0": b'{"a": 1}', b"1": bad, b"2": b'{"a": 2}'}
    write_lmdb(tmp_path / "a.lmdb", values)
    run_shale("convert", tmp_path / "a.lmdb", tmp_path / "out", "--to", "record")
    assert [sample["value"] for sample in samples_in(tmp_path / "out")] == list(values.values())


def test_pickled_dicts_with_entries_that_describe_the_file(tmp_path):
    meta = {b"__len__": pickle.dumps(12), b"__keys__": pickle.dumps([b"%d" % number for number in range(12)])}
    write_lmdb(tmp_path / "a.lmdb", {b"%d" % number: pickle.dumps(row) for number, row in enumerate(ROWS)} | meta)
    assert [sample["name"] for sample in samples_in(tmp_path / "a.lmdb")] == [row["name"] for row in ROWS]
    run_shale("index", tmp_path / "a.lmdb", "--crc")
    run_shale("verify", tmp_path / "a.lmdb", "--deep")


DICE = random.Random(41)
DUPLICATES = {
    "any": ({}, [(b"k%d" % (number % 7), DICE.randbytes(DICE.randint(1, 60))) for number in range(60)]),
    "tree": ({}, [(b"one", b"x"), (b"two", b"y")] + [(b"many", DICE.randbytes(DICE.randint(1, 400))) for _ in range(2000)]),
    "fixed": ({"dupfixed": True}, [(b"many" if number % 9 else b"few%d" % number, b"%07d" % number) for number in range(3000)]),
    "integers": (
        {"dupfixed": True, "integerdup": True},
        [(b"k%d" % (number % 5), struct.pack("<Q", DICE.randrange(1 << 62))) for number in range(3000)],
    ),
    "integer keys": ({"integerkey": True}, [(struct.pack("<I", number % 300), DICE.randbytes(9)) for number in range(2000)]),
    "reverse keys": ({"reverse_key": True}, [(b"%d" % (number % 300), DICE.randbytes(9)) for number in range(2000)]),
}


def write_duplicates(path, kind, deleted=0):
    """In the database "d"; without the first so many pairs, which are deleted again. Returns those that are there, as py-lmdb reads them."""
    flags, pairs = DUPLICATES[kind]
    with lmdb.open(str(path), subdir=False, max_dbs=2, map_size=1 << 26, lock=False) as env:
        database = env.open_db(b"d", dupsort=True, **flags)
        with env.begin(write=True, db=database) as txn:
            for key, value in pairs:
                txn.put(key, value)
        if deleted:
            with env.begin(write=True, db=database) as txn:
                for key, value in pairs[:deleted]:
                    txn.delete(key, value)
        with env.begin(db=database) as txn:
            return list(txn.cursor())


@pytest.mark.parametrize("kind", DUPLICATES)
@pytest.mark.parametrize("deleted", [0, 20])
def test_each_value_of_a_key_is_a_sample(tmp_path, kind, deleted):
    path = tmp_path / "a.lmdb"
    expected = write_duplicates(path, kind, deleted)
    assert "its keys may have several values (MDB_DUPSORT)" in run_shale("info", path, "--database", "d").stdout.decode()
    assert [sample["value"] for sample in samples_in(path)] == [value for _, value in expected]
    run_shale("index", path, "--crc")
    run_shale("verify", path, "--deep")
    run_shale("convert", path, tmp_path / "out", "--to", "lmdb", "--verify")
    numbers = collections.Counter()
    keys = []
    for key, _ in expected:
        keys.append(key + b"/%d" % numbers[key])
        numbers[key] += 1
    with lmdb.open(str(tmp_path / "out/shard-000000.lmdb"), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        written = [msgpack.unpackb(value) for _, value in txn.cursor()]
    assert [(one["key"], one["value"]) for one in written] == list(zip(keys, (value for _, value in expected)))
    run_shale("verify", tmp_path / "out", "--against", path)
    run_shale("convert", path, tmp_path / "mixed", "--to", "record", "--shuffle", "--verify")
    run_shale("verify", tmp_path / "mixed", "--against", path)


def test_several_values_of_a_key_are_not_joined(tmp_path):
    """With which of them would the entry of another database go? By itself it is converted, as the hint says."""
    path = tmp_path / "a.lmdb"
    expected = write_duplicates(path, "fixed")
    with lmdb.open(str(path), subdir=False, max_dbs=2, map_size=1 << 26, lock=False) as env, env.begin(write=True) as txn:
        txn.put(b"many", b"one", db=env.open_db(b"a", txn=txn))
    for order in ("a,d", "d,a"):
        said = run_shale("convert", path, tmp_path / "out", "--to", "record", "--database", order, code=1).stderr
        assert b"have sorted duplicates" in said and b"takes it by itself, without --parse" in said, said
        assert not (tmp_path / "out").exists()
    run_shale("convert", path, tmp_path / "out", "--to", "record", "--database", "d")
    assert len(samples_in(tmp_path / "out")) == len(expected)


@pytest.mark.parametrize("kind", list(DUPLICATES)[:3])
def test_damage_of_a_file_whose_keys_have_several_values(tmp_path, kind):
    """Bytes of pages that only such files have are changed, and the file is truncated: nothing crashes, and what was indexed is found."""
    path = tmp_path / "a.lmdb"
    write_duplicates(path, kind)
    whole = path.read_bytes()
    run_shale("index", path, "--crc")
    stamps = path.stat()
    dice = random.Random(41)
    pages = [page for page in range(2, len(whole) // 4096) if whole[page * 4096 + 10] & 0x72]
    for number in range(24):
        damaged = bytearray(whole)
        for _ in range(1 + number % 3):
            damaged[dice.choice(pages) * 4096 + dice.choice([8, 10, 12, 13, 14, 16, 17, dice.randrange(4096)])] ^= 1 << dice.randrange(8)
        if number % 6 == 5:
            damaged = damaged[: dice.randrange(4096, len(damaged))]
        path.write_bytes(damaged)
        os.utime(path, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
        if damaged != whole:
            run_shale("verify", path, code=(1, 3))
        shutil.copy(path, tmp_path / "b.lmdb")
        run_shale("convert", tmp_path / "b.lmdb", tmp_path / "out", "--to", "record", "--overwrite", code=(0, 1, 3))
        run_shale("convert", tmp_path / "b.lmdb", tmp_path / "out", "--to", "record", "--overwrite", "--on-error", "skip", code=(0, 1, 3, 4))


def test_the_main_database_may_have_several_values_for_a_key(tmp_path):
    path = write_with_flags(tmp_path / "a.lmdb", [(b"a", pickle.dumps({"x": number})) for number in range(9)], 0x04)
    assert len(samples_in(path)) == 9
    with shale.Dataset(path, parse="pickle", fields=["x"], index_dir=tmp_path / "i") as dataset:
        assert sorted(dataset[row]["x"] for row in range(9)) == list(range(9))
