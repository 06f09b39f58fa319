"""LMDB files that are read as plain entries: the note on what the values are, and the commands in it."""

import io
import re
import shlex

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
    assert note_of(write_lmdb(tmp_path / "b.lmdb", {b"a": b"x", b"b": b"y"})) == (None, None)
