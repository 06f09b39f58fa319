"""LMDB files that are read as plain entries: the note on what the values are, and the commands in it."""

import io
import json
import pickle
import re
import shlex
import struct

import msgpack
import numpy as np
import pytest
import shale
import torch
from conftest import run_shale
from lmdb_files import write_lmdb

JPEG = b"\xff\xd8\xff\xe0" + bytes(300)


def note_of(path):
    """The note, and the words of the command in it."""
    note = re.search(r"the (?:values|keys) .*", run_shale("info", path).stdout.decode())
    command = re.search(r"'shale (.*)' (?:makes|writes)", note[0]) if note else None
    return note and note[0], command and shlex.split(command[1])


def npy(array):
    into = io.BytesIO()
    np.save(into, array)
    return into.getvalue()


def test_suffixes_of_keys(tmp_path):
    entries = {
        b"%d%s" % (k, end): value
        for k in range(600)
        for end, value in ((b".jpg", JPEG + b"%d" % k), (b".cls", b"%d" % (k % 7)), (b".a_txt", b"a cat"))
    }
    path = write_lmdb(tmp_path / "a b.lmdb", entries)
    note, words = note_of(path)
    assert 'OUT --to record --parse "image={key}.jpg, a_txt={key}.a_txt, label:integer={key}.cls"' in note
    words[words.index("OUT")] = str(tmp_path / "out")
    run_shale(*words)
    with shale.Dataset(tmp_path / "out") as dataset:
        found = {sample["key"]: sample for sample in dataset}
    assert len(found) == 600
    for key, sample in found.items():
        key = key.decode() if isinstance(key, bytes) else key
        assert sample["image"] == JPEG + key.encode() and sample["label"] == int(key) % 7 and sample["a_txt"] == "a cat"


@pytest.mark.parametrize("name", ["npy", "pt"])
def test_files_as_values(tmp_path, name):
    def saved(k):
        if name == "npy":
            return npy(np.full(3, k))
        into = io.BytesIO()
        torch.save(torch.full((3,), k), into)
        return into.getvalue()

    path = write_lmdb(tmp_path / "a.lmdb", {b"k%d" % k: saved(k) for k in range(3)})
    _, words = note_of(path)
    assert words[-2:] == [">", f"0.{name}"]
    assert run_shale(*words[:-2]).stdout == saved(0)


@pytest.mark.parametrize("suffix", [b"", b".$(id)", b".%d", b".a,b", b".{key}"])
def test_values_of_several_kinds_are_counted(tmp_path, suffix):
    entries = {b"a" + suffix: JPEG, b"b": b"text", b"c": npy(np.ones(3)), b"d" + suffix: b"\0\1\xff" * 9, b"e": b"more"}
    path = write_lmdb(tmp_path / "a.lmdb", entries)
    note, words = note_of(path)
    assert (
        note == "the values are of several kinds (.npy files: 1, images: 1, other bytes: 1, texts: 2): each is taken as it is, as bytes"
        and not words
    )
    assert note_of(write_lmdb(tmp_path / "b.lmdb", {b"a": b"\xff", b"b": b"\0y"})) == (None, None)


def test_texts(tmp_path):
    path = write_lmdb(tmp_path / "a b.lmdb", {b"k%d" % k: f"täxt {k}".encode() for k in range(5)})
    note, words = note_of(path)
    assert note.startswith("the values are texts; ")
    words[words.index("OUT")] = str(tmp_path / "out")
    run_shale(*words)
    with shale.Dataset(tmp_path / "out") as dataset:
        assert dataset.types == {"value": "text"}
        assert [(one["key"], one["value"]) for one in dataset] == [(f"k{k}", f"täxt {k}") for k in range(5)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("varies", [False, True])
def test_rows_of_numbers(tmp_path, dtype, varies):
    rows = [(np.random.default_rng(k).normal(size=128 + (k if varies else 0)) * 1000).astype(dtype) for k in range(7)]
    path = write_lmdb(tmp_path / "a.lmdb", {b"k%d" % k: row.tobytes() for k, row in enumerate(rows)})
    note, words = note_of(path)
    assert (f"as rows of 128 {dtype} have; if they are" if not varies else f"may be rows of {dtype} of different lengths") in note
    with shale.Dataset(path, parse=words[-1], index_dir=tmp_path / "index") as dataset:
        assert dataset.types == {"value": f"{dtype} ({'?' if varies else 128})" if varies else f"{dtype} (128,)"}
        assert all(np.array_equal(one["value"], row) and one["value"].dtype == dtype for one, row in zip(dataset, rows))
    words[words.index("OUT")] = str(tmp_path / "out")
    run_shale(*words)
    run_shale("verify", tmp_path / "out", "--against", path)
    with shale.Dataset(tmp_path / "out") as dataset:
        assert all(np.array_equal(one["value"], row) for one, row in zip(dataset, rows))


def test_a_value_that_is_no_row_of_these_numbers_is_named(tmp_path):
    path = write_lmdb(tmp_path / "a.lmdb", {b"a": bytes(8), b"b": bytes(9)})
    said = run_shale("info", path, "--parse", "value:float32={key}", code=1).stderr
    assert b"sample 'b'" in said and b"the value of field 'value' has 9 bytes, which is not a row of float32" in said


@pytest.mark.parametrize("form", ["<I", "<Q"])
def test_values_that_begin_with_their_length(tmp_path, form):
    values = [bytes([255, 0, k]) * (k + 1) for k in range(5)]
    path = write_lmdb(tmp_path / "a.lmdb", {b"%d" % k: struct.pack(form, len(value)) + value for k, value in enumerate(values)})
    note, words = note_of(path)
    assert f"begin with their own length, in {struct.calcsize(form)} bytes" in note
    assert words[0] == "cat" and words[3:] == ["|", "tail", "-c", f"+{struct.calcsize(form) + 1}", ">", "0.bin"]
    assert run_shale(*words[:3]).stdout[struct.calcsize(form) :] == values[0]


@pytest.mark.parametrize(
    ("value", "fault"),
    [(b'{"a": NaN}', "byte"), (b'\xef\xbb\xbf{"a": 1}', "it begins with a byte order mark"), (b"[" * 100 + b"]" * 100, "it is nested too deep"), (b"[CLS] a text", None)],
)
def test_a_first_value_that_is_nearly_json_is_said(tmp_path, value, fault):
    path = write_lmdb(tmp_path / "a.lmdb", {b"a": value, b"b": b'{"a": 2}'})
    for said in (run_shale("info", path).stdout, run_shale("convert", path, tmp_path / "out", "--to", "record").stderr):
        assert (b"read as plain entries; sample 'a': the value begins like JSON, but " in said) == (fault is not None)
        assert (fault or "texts").encode() in said


def datum(numbers, label, is_packed):
    def varint(number):
        return bytes([number & 0x7F | 0x80]) + varint(number >> 7) if number > 0x7F else bytes([number])

    head = b"".join(bytes([tag]) + varint(number) for tag, number in zip((0x08, 0x10, 0x18, 0x28), (*numbers.shape, label)))
    data = numbers.astype("<f4").tobytes()
    floats = b"\x32" + varint(len(data)) + data if is_packed else b"".join(b"\x35" + data[at : at + 4] for at in range(0, len(data), 4))
    return head + floats


@pytest.mark.parametrize("is_packed", [False, True])
def test_datum_messages_with_float_data(tmp_path, is_packed):
    images = [np.random.default_rng(k).normal(size=(3, 4 + k, 300)).astype("f4") for k in range(4)]
    path = write_lmdb(tmp_path / "a.lmdb", {b"%08d" % k: datum(image, 3 * k, is_packed) for k, image in enumerate(images)})
    note, words = note_of(path)
    assert note.startswith("the values are Datum messages with float_data; ")
    words[words.index("OUT")] = str(tmp_path / "out")
    run_shale(*words)
    run_shale("verify", tmp_path / "out", "--against", path)
    with shale.Dataset(tmp_path / "out") as dataset:
        assert dataset.types == {"image": "float32 (3, ?, 300)", "label": "integer"}
        assert all(np.array_equal(one["image"], image) and one["label"] == 3 * k for k, (one, image) in enumerate(zip(dataset, images)))


LISTS = {
    "numbers": ([[k, k + 0.5, 3.0] for k in range(5)], "float64 (3,)"),
    "of other lengths": ([list(range(k)) for k in range(5)], "int64 (?)"),
    "of lists": ([[[k, 1], [2, 3]] for k in range(5)], "int64 (2, 2)"),
    "texts": ([["a", "b" * k] for k in range(5)], "list"),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("dump", [json.dumps, msgpack.packb, lambda one: pickle.dumps(one, 2), pickle.dumps], ids=["json", "msgpack", "pickle 2", "pickle"])
def test_values_that_are_nothing_but_a_list(tmp_path, name, dump):
    lists, kind = LISTS[name]
    values = [dump(one) for one in lists]
    path = write_lmdb(tmp_path / "a.lmdb", {b"k%d" % k: one if isinstance(one, bytes) else one.encode() for k, one in enumerate(values)})
    run_shale("convert", path, tmp_path / "out", "--to", "record")
    with shale.Dataset(tmp_path / "out") as dataset:
        if list(dataset.types) != ["values"]:  # pickled lists of one length are fields by number
            assert dump not in (json.dumps, msgpack.packb) and name != "of other lengths", dataset.types
            return
        assert dataset.types["values"] in (kind, "list of text")
        for one, expected in zip(dataset, lists):
            found = one["values"]
            assert [text if isinstance(text, str) else text.decode() for text in found] == expected if name == "texts" else np.asarray(found).tolist() == expected
    run_shale("verify", tmp_path / "out", "--against", path)
