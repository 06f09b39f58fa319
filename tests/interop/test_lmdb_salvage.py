"""convert --on-error skip of damaged LMDB files with named databases, integer keys and sorted duplicates: what comes out is as it was written, under its own key, and the rest is listed."""

import csv
import json
import random
import struct

import lmdb
import pytest
import shale
from conftest import run_shale

PAGE = 4096
DICE = random.Random(42)
INTEGERS = [struct.pack("<Q", n * 3) for n in range(500)]  # 256 and above: not in the order of their bytes
KEYS = [b"k%04d" % n for n in range(120)]


def write_file(path, **databases):
    """Databases by name: a dict of entries, with the flags of the database."""
    with lmdb.open(str(path), subdir=False, max_dbs=4, map_size=1 << 26, lock=False) as env:
        for name, (entries, flags) in databases.items():
            database = env.open_db(name.encode(), **flags)
            with env.begin(write=True, db=database) as txn:
                for key, values in entries:
                    for value in values if isinstance(values, list) else [values]:
                        txn.put(key, value)
    return path


def samples_of(out):
    """Of a finished set: key -> fields."""
    with shale.Dataset(out) as dataset:
        rows = [dataset[row] for row in range(len(dataset))]
    return {row["key"]: {name: row[name] for name in row if name != "key"} for row in rows}


def convert(source, out, *words, code=0):
    run_shale("convert", source, out, "--to", "record", "--quiet", "--overwrite", *words, code=code)
    return samples_of(out)


def damaged_pages(content, flag, most):
    pages = [page for page in range(2, len(content) // PAGE) if int.from_bytes(content[page * PAGE + 10 :][:2], "little") & flag]
    return DICE.sample(pages, min(most, len(pages)))


SETS = {
    "integer-keys": {"n": ([(key, key * 20) for key in INTEGERS], {"integerkey": True})},
    "integer-keys-json": {
        "n": ([(key, json.dumps({"a": n, "s": f"x{n}"}).encode()) for n, key in enumerate(INTEGERS)], {"integerkey": True})
    },
    "one-database": {"images": ([(key, key * 30) for key in KEYS], {})},
    "duplicates": {
        "n": ([(key, [b"%d/%d " % (n, m) * 8 for m in range((1, 4, 150)[n % 3])]) for n, key in enumerate(KEYS[:30])], {"dupsort": True})
    },
    "fixed": {
        "n": (
            [(key, [struct.pack("<Q", n + m * m) for m in range((1, 4, 700)[n % 3])]) for n, key in enumerate(KEYS[:9])],
            {"dupsort": True, "dupfixed": True, "integerdup": True},
        )
    },
}


@pytest.mark.parametrize("name", SETS)
def test_whatever_page_is_lost_the_entries_of_all_others_come_out(tmp_path, name):
    path, bad, out = write_file(tmp_path / "a.lmdb", **SETS[name]), tmp_path / "bad.lmdb", tmp_path / "out"
    whole, content = convert(path, out), path.read_bytes()
    saved = []
    for page in damaged_pages(content, 2, 8):
        bad.write_bytes(content[: page * PAGE] + bytes(PAGE) + content[(page + 1) * PAGE :])
        if run_shale("verify", bad, code=(0, 3)).returncode == 0:
            continue  # a page that is free
        assert b"pass --on-error skip" in run_shale("convert", bad, tmp_path / "no", "--to", "record", code=3).stderr
        done = run_shale("convert", bad, out, "--to", "record", "--overwrite", "--on-error", "skip", "--max-errors", "100%", code=(3, 4))
        if done.returncode == 3:  # the only page above all entries
            assert b"none of its entries is whole" in done.stderr
            continue
        found = samples_of(out)
        assert found == {key: whole[key] for key in found}
        assert list(csv.reader((out / "skipped.csv").open()))[1:]
        saved.append(len(found))  # all of them where the page listed free ones
    assert min(saved) < len(whole) and max(saved) >= len(whole) * 2 // 3


def test_a_joined_sample_comes_out_with_all_of_its_fields_or_not_at_all(tmp_path):
    # The last key has no partner in the undamaged file either.
    databases = {
        "images": ([(key, key * 30) for key in KEYS], {}),
        "labels": ([(key, b"label %s" % key * 9) for key in KEYS[:-1]], {}),
        "more": ([(key, key * 2) for key in KEYS[::2]], {}),
    }
    path, bad, out = write_file(tmp_path / "a.lmdb", **databases), tmp_path / "bad.lmdb", tmp_path / "out"
    words = ("--database", "images,labels,more")
    whole, content = convert(path, out, *words), path.read_bytes()
    lost_partners = False
    for page in damaged_pages(content, 2, 12):
        bad.write_bytes(content[: page * PAGE] + bytes(PAGE) + content[(page + 1) * PAGE :])
        if run_shale("convert", bad, tmp_path / "none", "--to", "record", "--overwrite", *words, code=(0, 3)).returncode == 0:
            continue
        done = run_shale(
            "convert", bad, out, "--to", "record", "--overwrite", *words, "--on-error", "skip", "--max-errors", "100%", code=(3, 4)
        )
        if done.returncode == 3:  # the databases have no page but this, or cannot be found
            continue
        assert done.returncode == 4
        found = samples_of(out)
        assert found == {key: whole[key] for key in found} and found
        lost = list(csv.reader((out / "skipped.csv").open()))[1:]
        lost_partners |= any("its entry in 'labels' is lost, or was never there" in row[2] for row in lost)
    assert lost_partners
    assert b"holds named databases" in run_shale("convert", bad, tmp_path / "none", "--to", "record", "--on-error", "skip", code=1).stderr


def test_json_under_integer_keys_becomes_fields(tmp_path):
    path = write_file(tmp_path / "a.lmdb", **SETS["integer-keys-json"])
    for words in ((), ("--database", "n")):
        found = convert(path, tmp_path / "out", *words)
        assert [(row["a"], row["s"]) for row in found.values()] == [(n, f"x{n}") for n in range(500)]
