"""Sets made with --parse or --database: verify and repair read the source as it was read then."""

import json
import pickle

import lmdb
import msgpack
import pytest
from conftest import run_shale
from lmdb_files import write_lmdb

PATTERN = "image=im/%d, label:integer=lb/%d"


def packed(i):
    return {"image": b"\xff\xd8" + bytes([i]) * i, "label": i}


def write_source(folder, parse):
    source = folder / "source.lmdb"
    if parse[0] == "--database":
        with lmdb.open(str(source), subdir=False, max_dbs=2, map_size=1 << 24) as env:
            for name in ("images", "labels"):
                with env.begin(write=True, db=env.open_db(name.encode())) as txn:
                    for i in range(9):
                        txn.put(b"%04d" % i, b"%s %d" % (name.encode(), i))
    elif parse[1] == PATTERN:
        write_lmdb(source, [(b"im/%d" % i, b"%d" % i) for i in range(9)] + [(b"lb/%d" % i, b"%d" % i) for i in range(9)])
    else:
        dumps = msgpack.packb if parse[1] == "msgpack" else pickle.dumps
        write_lmdb(source, [(b"%04d" % i, dumps(packed(i))) for i in range(9)])
    return source


@pytest.mark.parametrize("parse", [("--parse", "msgpack"), ("--parse", "pickle"), ("--parse", "plain"), ("--parse", PATTERN), ("--database", "images,labels")], ids=str)
def test_verify_and_repair_know_how_the_source_was_parsed(tmp_path, parse):
    source, out = write_source(tmp_path, parse), tmp_path / "out"
    run_shale("convert", source, out, "--to", "record", *parse)
    manifest = json.loads((out / "dataset.json").read_text())
    assert manifest["options"][parse[0][2:]] == parse[1]
    assert b"the source holds the same samples" in run_shale("verify", out, "--against", source).stdout
    run_shale("convert", source, out, "--to", "record", *parse)  # is complete
    shard = out / "shard-000000.tfrecord"
    before = shard.read_bytes()
    shard.write_bytes(before[:-9] + bytes(9))
    run_shale("verify", out, code=3)
    run_shale("repair", out, "--from", source)
    assert shard.read_bytes() == before
    run_shale("verify", out, "--against", source)


def test_what_was_not_asked_for_is_not_recorded(tmp_path):
    source = write_source(tmp_path, ("--parse", "pickle"))
    run_shale("convert", source, tmp_path / "out", "--to", "record")
    assert "parse" not in json.loads((tmp_path / "out/dataset.json").read_text())["options"]
    run_shale("verify", tmp_path / "out", "--against", source)


def test_a_set_of_files_and_a_join_are_read_as_they_were(tmp_path):
    (tmp_path / "set").mkdir()
    for number in range(2):
        write_lmdb(tmp_path / f"set/{number}.lmdb", [(b"%d%03d" % (number, i), msgpack.packb(packed(i))) for i in range(4)])
    run_shale("convert", tmp_path / "set", tmp_path / "out", "--to", "lmdb", "--parse", "msgpack")
    assert b"the source holds the same samples" in run_shale("verify", tmp_path / "out", "--against", tmp_path / "set").stdout
    words = [f"{name}={tmp_path}/set/0.lmdb" for name in ("lq", "gt")]
    run_shale("convert", *words, tmp_path / "join", "--to", "record", "--parse", "msgpack", "--on", "key")
    told = run_shale("verify", tmp_path / "join", "--against", words[0], "--against", words[1], "--on", "key").stdout
    assert b"the source holds the same samples" in told


@pytest.mark.parametrize("parse", [("--parse", "msgpack"), ("--database", "images,labels")], ids=str)
def test_a_copy_of_the_set_knows_it_too(tmp_path, parse):
    source = write_source(tmp_path, parse)
    run_shale("convert", source, tmp_path / "out", "--to", "record", *parse)
    run_shale("convert", tmp_path / "out", tmp_path / "copy", "--to", "lmdb")
    assert json.loads((tmp_path / "copy/dataset.json").read_text())["options"][parse[0][2:]] == parse[1]
    run_shale("verify", tmp_path / "copy", "--against", source)
    run_shale("convert", tmp_path / "out", tmp_path / "copy", "--to", "lmdb")  # is complete


def test_characters_that_need_escapes_are_recorded(tmp_path):
    pattern = "image=im\\n\n%d, label:integer=lb\\x\\%d"
    source = tmp_path / "source.lmdb"
    write_lmdb(source, [(b"im\\n\n%d" % i, b"%d" % i) for i in range(9)] + [(b"lb\\x\\%d" % i, b"%d" % i) for i in range(9)])
    run_shale("convert", source, tmp_path / "out", "--to", "record", "--parse", pattern)
    assert json.loads((tmp_path / "out/dataset.json").read_text())["options"]["parse"] == "image=im\\\\n\\n%d, label:integer=lb\\\\x\\\\%d"
    run_shale("verify", tmp_path / "out", "--against", source)
    run_shale("convert", source, tmp_path / "out", "--to", "record", "--parse", pattern)  # is complete
    run_shale("convert", tmp_path / "out", tmp_path / "copy", "--to", "lmdb")
    run_shale("convert", tmp_path / "out", tmp_path / "copy", "--to", "lmdb")
    run_shale("verify", tmp_path / "copy", "--against", source)
