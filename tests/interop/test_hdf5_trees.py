"""HDF5 files as h5py, PyTables and MATLAB leave them: their filters and types, trees of groups, a group per sample, a group per episode."""

import json

import h5py
import numpy as np
import pytest
from conftest import run_shale

ROWS = 60
NUMBERS = np.random.default_rng(41).integers(0, 1000, (ROWS, 30), dtype="i4")
IMAGES = np.repeat(np.random.default_rng(41).integers(0, 255, (ROWS, 5, 7), dtype="u1"), 40, axis=2)


def arrays_in(out):
    """Of a set of one npy shard, by field."""
    names = (path.name.split(".") for path in out.glob("shard-000000.*.npy"))
    return {name[1]: np.load(out / ".".join(name)) for name in names if name[1] not in ("blocks", "index")}


# ---- filters and types


@pytest.mark.parametrize("filters", [{}, {"shuffle": True}, {"fletcher32": True}], ids=str)
def test_what_h5py_compressed_with_lzf_is_read(filters, shale, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("numbers", data=NUMBERS, chunks=(7, 11), compression="lzf", **filters)
        file.create_dataset("images", data=IMAGES, chunks=True, compression="lzf", **filters)
        file.create_dataset("noise", data=np.random.default_rng(1).random((ROWS, 9)), compression="lzf", **filters)
        file.create_dataset("zeros", data=np.zeros((ROWS, 3000), "f4"), compression="lzf", **filters)
        expected = {name: dataset[()] for name, dataset in file.items()}

    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "npy")

    found = arrays_in(tmp_path / "out")
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert np.array_equal(found[name], values), name


def test_bit_fields_are_the_numbers_that_pytables_keeps_booleans_as(shale, tmp_path):
    flags = (np.arange(10) % 3 == 0).astype("u1")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["x"] = np.arange(20, dtype="f4").reshape(10, 2)
        space = h5py.h5s.create_simple((10,))
        valid = h5py.h5d.create(file.id, b"valid", h5py.h5t.NATIVE_B8, space)
        valid.write(h5py.h5s.ALL, h5py.h5s.ALL, flags, mtype=h5py.h5t.NATIVE_B8)
        wide = h5py.h5d.create(file.id, b"wide", h5py.h5t.STD_B16BE, space)
        wide.write(h5py.h5s.ALL, h5py.h5s.ALL, 256 * flags.astype("u2"), mtype=h5py.h5t.STD_B16LE)

    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "npy")

    found = arrays_in(tmp_path / "out")
    assert found["valid"].tolist() == flags.tolist() and found["wide"].tolist() == (256 * flags.astype("u2")).tolist()


# ---- a group per sample, a group per episode


def rows_of(out):
    """The samples of a set of one hdf5 shard as h5py sees them: key, and the value of each field (None: absent)."""
    fields = json.loads((out / "dataset.json").read_text())["schema"]
    with h5py.File(out / "shard-000000.h5") as file:
        columns = {name: dataset[()] for name, dataset in file.items()}

    def value(field, row):
        name = field["name"]
        if name + "_present" in columns and not columns[name + "_present"][row]:
            return None
        if name + "_offset" not in columns:
            return columns[name][row]
        begin, end = columns[name + "_offset"][row : row + 2]
        if name + "_first" in columns:
            first, last = columns[name + "_first"][row : row + 2]
            ends = columns[name + "_offset"]
            return [bytes(columns[name][ends[i] : ends[i + 1]]) for i in range(first, last)]
        if field["kind"] != "tensor":
            return bytes(columns[name][begin:end])
        shape = columns[name + "_shape"][row] if name + "_shape" in columns else (-1,)
        return columns[name][begin:end].reshape(shape)

    ends = columns["key_offset"]
    keys = [bytes(columns["key"][ends[i] : ends[i + 1]]).decode() for i in range(len(ends) - 1)]
    return {key: {field["name"]: value(field, row) for field in fields} for row, key in enumerate(keys)}


def assert_same(found, expected):
    assert list(found) == list(expected)
    for key, values in expected.items():
        assert found[key].keys() == values.keys(), key
        for name, value in values.items():
            got = found[key][name]
            assert np.array_equal(got, value) if isinstance(value, np.ndarray) else got == value, (key, name, got)


STORED = [{}, {"compression": "gzip", "chunks": True, "shuffle": True}, {"compression": "lzf"}]


@pytest.mark.parametrize("parent", ["", "data/"], ids=["root", "group"])
@pytest.mark.parametrize("stored", STORED, ids=["plain", "gzip", "lzf"])
def test_a_group_per_sample_is_recognized(parent, stored, shale, tmp_path):
    samples = {}
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for i in (0, 1, 2, 10, 11):
            image = np.arange((4 + i) * 6, dtype=">f4").reshape(4 + i, 6)
            group = file.create_group(f"{parent}subject{i}")
            group.create_dataset("scan/image", data=image, **stored)
            group["label"] = np.int16(i % 3)
            group.create_dataset("words", data=["a", "bé"][: i % 3], dtype=h5py.string_dtype(), shape=(min(i % 3, 2),))
            group["tokens"] = np.arange(7, dtype="u2")
            group.create_dataset("note", data=f"note {i}")
            sequence = group.create_dataset("sequence", (), dtype=h5py.vlen_dtype("i4"))
            sequence[()] = np.arange(i, dtype="i4")
            group.attrs["age"] = 40.0 + i
            if i != 2:
                group["mask"] = image > 5
            samples[f"subject{i}"] = {
                "age": 40.0 + i,
                "label": i % 3,
                "mask": None if i == 2 else image > 5,
                "note": f"note {i}".encode(),
                "scan_image": image.astype("<f4"),
                "sequence": np.arange(i, dtype="i4"),
                "tokens": np.arange(7, dtype="u2"),
                "words": [b"a", "bé".encode()][: i % 3],
            }

    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5")

    assert_same(rows_of(tmp_path / "out"), samples)


def episodes_file(path, **stored):
    """demo_9 and demo_10 of 3 and 5 steps, as RLBench and ALOHA have them."""
    steps = {}
    with h5py.File(path, "w") as file:
        for number, (name, length) in enumerate({"demo_9": 3, "demo_10": 5}.items()):
            image = np.arange(length * 12, dtype="u1").reshape(length, 2, 2, 3) + number
            action = np.arange(length * 2, dtype="f4").reshape(length, 2) - number
            group = file.create_group(name)
            group.create_dataset("obs/image", data=image, **stored)
            group.create_dataset("action", data=action, **stored)
            group["words"] = [f"step {t}" for t in range(length)]
            group["task"] = f"task {number}"
            for t in range(length):
                values = {"action": action[t], "episode": number, "obs_image": image[t], "step": t}
                steps[f"{name}/{t}"] = values | {"task": f"task {number}".encode(), "words": f"step {t}".encode()}
    return steps


@pytest.mark.parametrize("stored", STORED, ids=["plain", "gzip", "lzf"])
def test_steps_of_episodes_are_samples_where_they_are_asked_for(stored, shale, tmp_path):
    steps = episodes_file(tmp_path / "in.h5", **stored)

    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5", "--parse", "episodes")

    assert_same(rows_of(tmp_path / "out"), steps)


def test_episodes_are_samples_with_ragged_fields_otherwise(shale, tmp_path):
    steps = episodes_file(tmp_path / "in.h5")

    run = run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5")

    assert b"--parse episodes" in run.stderr
    found = rows_of(tmp_path / "out")
    assert list(found) == ["demo_9", "demo_10"]
    assert np.array_equal(found["demo_10"]["action"], np.array([steps[f"demo_10/{t}"]["action"] for t in range(5)]))
    assert found["demo_9"]["words"] == [b"step 0", b"step 1", b"step 2"]


def test_a_dataset_per_sample_is_read_where_it_is_asked_for(shale, tmp_path):
    arrays = {f"s{i}": np.arange((4 + i) * 3, dtype="i8").reshape(4 + i, 3) for i in (1, 2, 10)}
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for name, array in arrays.items():
            file[name] = array

    refusal = run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5", code=1).stderr
    assert b"--parse samples" in refusal
    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5", "--parse", "samples")

    assert_same(rows_of(tmp_path / "out"), {name: {"value": array} for name, array in arrays.items()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda group: group.create_dataset("x", data=np.zeros((2, 3), "i2")),
            b"dataset 'x' of 's1' is int16 (2, 3), but that of 's0' is float32 (4, 3)",
        ),
        (
            lambda group: group.create_dataset("x", data=np.zeros(2, "f4")),
            b"dataset 'x' of 's1' is float32 (2,), but that of 's0' is float32 (4, 3)",
        ),
    ],
    ids=["type", "axes"],
)
def test_groups_that_differ_in_kind_are_refused_by_name(change, message, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["s0/x"], file["s0/y"], file["s1/y"] = np.zeros((4, 3), "f4"), 1, 2
        change(file["s1"])

    words = ("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5", "--parse", "samples")
    assert message in run_shale(*words, code=1).stderr
    run_shale(*words, "--fields", "y")
    assert_same(rows_of(tmp_path / "out"), {"s0": {"y": 1}, "s1": {"y": 2}})


@pytest.mark.parametrize("others", [{}, {"c": np.zeros(5)}], ids=["in_place", "of_other_lengths"])
def test_names_that_are_exchanged_are_those_of_the_input_again(others, shale, tmp_path):
    """One of the two is compressed: what is asked for decides whether the file is unpacked (issue 40)."""
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("a", data=np.arange(36).reshape(9, 4), chunks=(3, 4), compression="gzip")
        file["b"] = np.ones((9, 2), "f4")
        for name, values in others.items():
            file[name] = values
    out = tmp_path / "out"
    shale("convert", tmp_path / "in.h5", out, "--to", "npy", "--fields", "a,b", "--rename", "a:b,b:a")

    report = json.loads(shale("verify", out, "--against", tmp_path / "in.h5", "--json"))
    assert (report["comparison"]["verdict"], report["comparison"]["same"]) == ("same", 9)
    written = (out / "shard-000000.a.npy").read_bytes()
    (out / "shard-000000.a.npy").unlink()
    shale("repair", out, "--from", tmp_path / "in.h5")
    assert (out / "shard-000000.a.npy").read_bytes() == written
