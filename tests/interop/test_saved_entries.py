"""convert --on-error skip of damaged LMDB files that py-lmdb wrote: whatever page is lost, what comes out is as it was written, under its own key."""

import csv
import json
import pickle
import random
import zlib

import lmdb
import msgpack
import numpy as np
import pytest
import shale
from conftest import run_shale
from lmdb_files import write_lmdb

PAGE = 4096
SKIP = ("--on-error", "skip", "--max-errors", "100%", "--quiet")


def entries(pack):
    dice = random.Random(3)
    return {b"k%05d" % n: pack(n, dice.randbytes(dice.choice((5, 200, 1500, 3000)))) for n in range(150)}


def listed(out):
    return list(csv.reader((out / "skipped.csv").read_text().splitlines()))[1:]


@pytest.mark.parametrize("is_packed", [False, True])
def test_all_entries_of_pages_that_are_whole_come_out(tmp_path, is_packed):
    def pack(number, content):
        return zlib.compress(pickle.dumps({"x": np.arange(number), "b": content})) if is_packed else content

    path, bad, whole = tmp_path / "a.lmdb", tmp_path / "bad.lmdb", tmp_path / "whole"
    written = entries(pack)
    write_lmdb(path, written)
    run_shale("convert", path, whole, "--to", "record", "--quiet")
    fields = "xb" if is_packed else ["value"]

    def samples(out):
        keys = run_shale("ls", out, "--keys", "escaped").stdout.split()
        with shale.Dataset(out) as dataset:
            return {key: [bytes(dataset[row][field]) for field in fields] for row, key in enumerate(keys)}

    everything = samples(whole)
    content = path.read_bytes()
    assert len(everything) == len(written)
    for page in random.Random(5).sample(range(2, len(content) // PAGE), 12):
        if content[page * PAGE + 10] & 1:
            continue  # a branch page: what is below it cannot be reached
        bad.write_bytes(content[: page * PAGE] + bytes(PAGE) + content[(page + 1) * PAGE :])
        out = tmp_path / f"out-{page}"
        done = run_shale("convert", bad, out, "--to", "record", *SKIP, code=(0, 4))
        if done.returncode == 0:
            continue  # a page that is free
        found = samples(out)
        assert found == {key: everything[key] for key in found}
        assert len(found) > len(everything) - 60
        assert listed(out)


@pytest.mark.parametrize("form, pack, bad", [("msgpack", msgpack.packb, b"\xc1bad"), ("pickle", pickle.dumps, b"\x80\x02bad.")])
def test_values_that_are_not_of_the_form_are_left_out(tmp_path, form, pack, bad):
    """One of them refused the whole file."""
    path = tmp_path / "a.lmdb"
    with lmdb.open(str(path), subdir=False, map_size=1 << 26, lock=False) as env, env.begin(write=True) as txn:
        for number in range(300):
            txn.put(b"%05d" % number, bad if number in (0, 7) else pack({"x": b"%d" % number * 100, "y": number}))
    words = ["convert", path, tmp_path / "out", "--to", "record", "--parse", form]

    assert b"sample '00000'" in run_shale(*words, code=1).stderr
    run_shale(*words, "--on-error", "skip", code=4)

    with shale.Dataset(tmp_path / "out") as dataset:
        assert [(sample["x"], sample["y"]) for sample in dataset] == [(b"%d" % n * 100, n) for n in range(300) if n not in (0, 7)]
    rows = (tmp_path / "out/skipped.csv").read_text()
    assert "00000,damaged-input" in rows and "00007,damaged-input" in rows and len(rows.splitlines()) == 3


def test_a_file_of_another_form_is_refused_all_the_same(tmp_path):
    path = tmp_path / "a.lmdb"
    with lmdb.open(str(path), subdir=False, map_size=1 << 26, lock=False) as env, env.begin(write=True) as txn:
        for number in range(50):
            txn.put(b"%05d" % number, b"plain %d" % number)
    refused = run_shale("convert", path, tmp_path / "out", "--to", "record", "--parse", "msgpack", "--on-error", "skip", code=1).stderr
    assert b"--parse plain" in refused


def test_keys_that_no_longer_fit_their_count_are_named(tmp_path):
    path = tmp_path / "a.lmdb"
    write_lmdb(
        path,
        {b"num-samples": b"90"} | {b"%s-%06d" % (kind, number): b"x" * 300 for kind in (b"image", b"label") for number in range(1, 91)},
    )
    content = path.read_bytes()
    leaf = next(page for page in range(4, len(content) // PAGE) if content[page * PAGE + 10] == 2)
    path.write_bytes(content[: leaf * PAGE] + bytes(PAGE) + content[(leaf + 1) * PAGE :])
    said = run_shale("convert", path, tmp_path / "out", "--to", "record", *SKIP[:4], code=4).stderr
    assert b"'num-samples' counts samples" in said and b"each entry is taken as a sample" in said


@pytest.mark.parametrize("to", ["record", "npy"])
def test_a_dry_run_counts_what_would_be_lost(tmp_path, to):
    """It counted each lost part as a sample that is written."""
    np.save(tmp_path / "x.npy", np.arange(1000.0).reshape(100, 10))
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:6000])
    words = ["convert", tmp_path / "x.npy", tmp_path / "out", "--to", to, "--on-error", "skip"]

    said = run_shale(*words, "--dry-run", code=4).stdout
    facts = json.loads(run_shale(*words, "--dry-run", "--json", code=4).stdout)
    done = json.loads(run_shale(*words, "--json", code=4).stdout)

    assert b"would write 73 samples" in said and b"would skip: 1 bad sample" in said
    assert all(facts[name] == done[name] for name in ("samples", "skipped", "shards"))
