"""What verify --against says of values that differ: absent ones, elements of lists, shards that are not there."""

import msgpack
import numpy as np
import pytest
import shale
from conftest import jpeg, run_shale, write
from lmdb_files import write_lmdb


def sample(number, **changed):
    fields = {"image": b"\xff" * (number + 1), "caps": ["one", f"cap {number}"], "text": "text", "count": 5} | changed
    return {name: value for name, value in fields.items() if value is not None}


def write_source(path, changes):
    write_lmdb(path, [(b"%04d" % number, msgpack.packb(sample(number, **changes.get(number, {})))) for number in range(6)])
    return path


SOURCE = {1: {"count": 0}, 2: {"text": ""}, 3: {"caps": ["one", "other"]}, 4: {"caps": ["one"]}, 5: {"count": None, "text": None}}
OTHER = {1: {"count": None}, 2: {"text": None}, 3: {"caps": None}, 5: {"count": None, "text": None}}


def test_absent_values_and_elements_are_called_so(tmp_path):
    source, other = write_source(tmp_path / "a.lmdb", SOURCE), write_source(tmp_path / "b.lmdb", OTHER)
    for name, path in (("a", source), ("b", other)):
        run_shale("convert", path, tmp_path / name, "--to", "record", "--parse", "msgpack")
    told = run_shale("verify", tmp_path / "a", "--against", other, code=3).stderr.decode()
    for line in (
        "sample '0001': field 'count': value differs from the source: found 0, expected absent",
        "sample '0002': field 'text': value differs from the source: found 0 bytes, expected absent",
        "sample '0003': field 'caps': value differs from the source: found 2 elements, expected absent",
        "sample '0004': field 'caps': sample has another number of elements than the source: found 1, expected 2",
    ):
        assert line in told
    assert "0005" not in told and "file" not in told.replace("shale", "")
    told = run_shale("verify", tmp_path / "b", "--against", tmp_path / "a", code=3).stderr.decode()
    assert "found absent, expected 0" in told and "found absent, expected 2 elements" in told and str(2**64 - 1) not in told
    told = run_shale("cat", tmp_path / "b", "--key", "0003", "--field", "caps", "--element", "0", code=1).stderr
    assert b"sample '0003' lacks field 'caps'" in told


def test_an_element_that_differs_is_numbered_in_its_list(tmp_path):
    for name, caps in (("a", ["b", "c"]), ("b", ["b", "x"])):
        shale.from_iterable([{"tags": ["t"] * 3, "caps": caps}], tmp_path / name, schema={"tags": "list[str]", "caps": "list[str]"})
    told = run_shale("verify", tmp_path / "a", "--against", tmp_path / "b", code=3).stderr
    assert b"field 'caps': element 1 differs from the source" in told


def test_another_shape_of_the_same_bytes_is_a_difference(tmp_path):
    for name, shape in (("a", (2, 3)), ("b", (3, 2))):
        shale.from_iterable([{"x": np.zeros(shape, "f4")}], tmp_path / name, schema={"x": "float32 (?, ?)"})
    told = run_shale("verify", tmp_path / "a", "--against", tmp_path / "b", code=3).stderr
    assert b"field 'x': sample differs in shape from the source: found (2, 3), expected (3, 2)" in told


def test_a_field_that_is_absent_in_all_samples_is_seen(tmp_path):
    for name, schema in (("more", {"n": int, "note": "str?"}), ("less", {"n": int})):
        shale.from_iterable([{"n": 1}, {"n": 2}], tmp_path / name, schema=schema)
    for one, other, said in (("more", "less", "without the field 'note'"), ("less", "more", "with the field 'note' besides")):
        assert said in run_shale("verify", tmp_path / one, "--against", tmp_path / other).stdout.decode()


@pytest.mark.parametrize("lost", ["shard-000001.tfrecord", "shard-000001.index.npy"])
def test_samples_of_a_missing_shard_are_not_called_unknown(tmp_path, lost):
    for number in range(5):
        write(tmp_path / "photos", f"cat/{number}.jpg", jpeg(number))
    run_shale("convert", tmp_path / "photos", tmp_path / "out", "--to", "record", "--shard-samples", "2")
    (tmp_path / "out" / lost).unlink()
    done = run_shale("verify", tmp_path / "out", "--against", tmp_path / "photos", code=3)
    assert b"1 finding: 3 of its 5 samples are the same in the source; 2 samples of the source not compared: shard-000001 cannot be read" in done.stdout
    assert done.stderr.count(lost.encode()) == 1 and b"skipped.csv" not in done.stderr
    write(tmp_path / "photos", "cat/new.jpg", jpeg(9))
    assert run_shale("verify", tmp_path / "out", "--against", tmp_path / "photos", code=3).stderr.count(b"nor in skipped.csv") == 1
