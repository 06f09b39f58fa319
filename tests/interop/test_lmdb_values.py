"""What the values of LMDB files are made of beside pickles: msgpack maps in maps, as msgpack and msgpack-numpy pack them."""

import json

import msgpack
import numpy as np
import shale
from conftest import run_shale
from lmdb_files import write_lmdb


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
