"""What Python pickled as a dict of arrays and lists, as the batches of CIFAR are: columns, read by a reader that executes nothing."""

import json
import os
import pickle
import pickletools

import numpy as np
import pytest
import shale
from conftest import run_shale

ROWS = 60


def test_bytes_that_end_in_nul_are_never_cut(tmp_path):
    write(tmp_path / "x.pkl", {"a": [1, 2, 3], "digest": [b"a\0", b"b\0\0", b"ab"], "word": [b"a", b"\0b", b""]})
    assert b"digest" in run_shale("convert", tmp_path / "x.pkl", tmp_path / "out", "--to", "record", code=4).stdout
    assert [(sample["a"], sample["word"]) for sample in shale.Dataset(tmp_path / "out")] == [(1, b"a"), (2, b"\0b"), (3, b"")]


def batch(seed=0):
    dice = np.random.default_rng(seed)
    return {
        "batch_label": f"training batch {seed} of 5",
        "labels": dice.integers(0, 10, ROWS).tolist(),
        "data": dice.integers(0, 256, (ROWS, 48)).astype("u1"),
        "filenames": [f"picture_{seed}_{i}.png" for i in range(ROWS)],
    }


def write(path, value, protocol=4):
    path.write_bytes(pickle.dumps(value, protocol=protocol))


def with_bytes(value):
    if isinstance(value, dict):
        return {key.encode(): with_bytes(one) for key, one in value.items()}
    if isinstance(value, list):
        return [with_bytes(one) for one in value]
    return value.encode() if isinstance(value, str) else value


def write_as_python2(path, value):
    """Protocol 2 of Python 2, where all strings are bytes: other opcodes than those of protocol 3, of the same form."""
    content = bytearray(pickle.dumps(with_bytes(value), protocol=3))
    codes = {"PROTO": None, "SHORT_BINBYTES": b"U", "BINBYTES": b"T"}
    places = [(op.name, at) for op, _, at in pickletools.genops(bytes(content)) if op.name in codes]
    for name, at in places:
        content[at : at + 2] = b"\x80\x02" if name == "PROTO" else codes[name] + content[at + 1 : at + 2]
    path.write_bytes(content)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5, "python2"])
def test_a_batch_of_cifar(protocol, tmp_path):
    path, expected = tmp_path / "data_batch_1", batch()
    write_as_python2(path, expected) if protocol == "python2" else write(path, expected, protocol)

    done = run_shale("convert", path, tmp_path / "out", "--to", "npy")

    assert b"batch_label" in done.stderr
    for name in ("data", "labels", "filenames"):
        found = np.load(tmp_path / "out" / f"shard-000000.{name}.npy")
        assert np.array_equal(found.astype(str) if name == "filenames" else found, expected[name])
    assert b"the same samples" in run_shale("verify", tmp_path / "out", "--against", path).stdout


def test_batches_are_one_input(tmp_path):
    paths = [tmp_path / f"data_batch_{number}" for number in range(1, 6)]
    for number, path in enumerate(paths):
        write(path, batch(number))

    run_shale("convert", *paths, tmp_path / "out", "--to", "record", "--fields", "data,labels", "--rename", "labels:label")

    with shale.Dataset(tmp_path / "out") as dataset:
        assert np.array_equal(
            np.stack([sample["data"] for sample in dataset]), np.concatenate([batch(number)["data"] for number in range(5)])
        )
        assert [sample["label"] for sample in dataset] == [label for number in range(5) for label in batch(number)["labels"]]
    assert json.loads(run_shale("info", *paths, "--json").stdout)["samples"] == 5 * ROWS


@pytest.mark.parametrize("write_one", [write, write_as_python2])
def test_names_of_classes_lie_beside_the_batches_of_cifar(write_one, tmp_path):
    names = [f"kind {label}" for label in range(10)]
    write_one(tmp_path / "batches.meta", {"num_vis": 3072, "label_names": names, "num_cases_per_batch": ROWS})
    path = tmp_path / "data_batch_1"
    write_one(path, batch())

    run_shale("convert", path, tmp_path / "out", "--to", "record", "--fields", "data,labels", "--rename", "labels:label")
    run_shale("convert", path, tmp_path / "drawn", "--to", "record", "--shuffle", "--rename", "labels:label")

    for name in ("out", "drawn"):
        with shale.Dataset(tmp_path / name) as dataset:
            assert dataset.classes == names
    assert shale.info(path).classes == 10
    assert b"the same samples" in run_shale("verify", tmp_path / "out", "--against", path).stdout
    (tmp_path / "batches.meta").write_bytes(b"\x80\x02damaged.")
    run_shale("convert", path, tmp_path / "none", "--to", "record", "--rename", "labels:label")
    with shale.Dataset(tmp_path / "none") as dataset:
        assert not dataset.classes


def test_fine_and_coarse_labels_of_cifar(tmp_path):
    write(tmp_path / "meta", {"fine_label_names": ["oak", "rose"], "coarse_label_names": ["plant"]})
    path = tmp_path / "train"
    write(path, {"data": np.zeros((4, 3), "u1"), "fine_labels": [0, 1, 1, 0], "coarse_labels": [0] * 4})

    both = run_shale("convert", path, tmp_path / "both", "--to", "record")
    run_shale("convert", path, tmp_path / "fine", "--to", "record", "--fields", "data,fine_labels", "--rename", "fine_labels:label")

    assert b"names the classes of fine_labels, coarse_labels" in both.stderr
    with shale.Dataset(tmp_path / "fine") as dataset:
        assert dataset.classes == ["oak", "rose"]


def test_commands_read_it_as_it_is(tmp_path):
    path, expected = tmp_path / "data_batch_1", batch()
    write(path, expected)

    facts = json.loads(run_shale("info", path, "--json").stdout)
    assert facts["samples"] == ROWS and [field["name"] for field in facts["fields"]] == ["labels", "data", "filenames"]
    assert len(run_shale("ls", path, "--tsv").stdout.splitlines()) == ROWS
    assert run_shale("cat", path, "7", "--field", "data").stdout == expected["data"][7].tobytes()
    assert run_shale("cat", path, "7", "--field", "labels").stdout == b"%d\n" % expected["labels"][7]
    with shale.Dataset(path) as dataset:
        assert dataset[59]["labels"] == expected["labels"][59] and np.array_equal(dataset[59]["data"], expected["data"][59])
    run_shale("convert", path, tmp_path / "shuffled", "--to", "npy", "--shuffle")
    assert sorted(np.load(tmp_path / "shuffled" / "shard-000000.labels.npy")) == sorted(expected["labels"])


@pytest.mark.parametrize(
    "value", [np.arange(12.0).reshape(4, 3), {"x": np.arange(4), "y": [0.5, 1, 2, 3], "z": (True, False, True, False)}]
)
def test_arrays_and_lists_of_numbers(value, tmp_path):
    write(tmp_path / "x.pkl", value)

    run_shale("convert", tmp_path / "x.pkl", tmp_path / "out", "--to", "npy")

    for name, expected in (value if isinstance(value, dict) else {"x": value}).items():
        found = np.load(tmp_path / "out" / f"shard-000000.{name}.npy")
        assert found.dtype == np.array(expected).dtype and np.array_equal(found, expected)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_arrays_in_fortran_order_and_big_endian_ones(protocol, tmp_path):
    value = {
        "f": np.asfortranarray(np.arange(24.0).reshape(4, 3, 2)),
        "big": np.arange(12, dtype=">i4").reshape(4, 3),
        "both": np.asfortranarray(np.arange(12, dtype=">c8").reshape(4, 3)),
        "text": np.array(["a", "bc", "d", "\u00e9"], dtype=">U2"),
    }
    write(tmp_path / "x.pkl", value, protocol)

    run_shale("convert", tmp_path / "x.pkl", tmp_path / "out", "--to", "npy")

    for name, expected in value.items():
        found = np.load(tmp_path / "out" / f"shard-000000.{name}.npy")
        assert found.dtype == expected.dtype.newbyteorder("<") and np.array_equal(found, expected)
    run_shale("convert", tmp_path / "x.pkl", tmp_path / "drawn", "--to", "npy", "--shuffle")
    assert sorted(np.load(tmp_path / "drawn" / "shard-000000.big.npy").tolist()) == value["big"].tolist()
    assert b"the same samples" in run_shale("verify", tmp_path / "out", "--against", tmp_path / "x.pkl").stdout
    with shale.Dataset(tmp_path / "x.pkl") as dataset:
        assert np.array_equal(dataset[3]["f"], value["f"][3]) and np.array_equal(dataset[2]["big"], value["big"][2])


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def test_nothing_is_executed(tmp_path):
    write(tmp_path / "x.pkl", {"x": np.arange(4), "trap": Trap(tmp_path / "trapped")})

    done = run_shale("convert", tmp_path / "x.pkl", tmp_path / "out", "--to", "npy", code=4)

    assert b"trap" in done.stderr and not (tmp_path / "trapped").exists()
    assert np.array_equal(np.load(tmp_path / "out" / "shard-000000.x.npy"), np.arange(4))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({}, "it is empty"),
        ({"a": []}, "'a' is an empty list"),
        ({"a": [1, "x"]}, "'a' is a list, but not of numbers"),
        ({"a": [2**63]}, "'a' is a list, but"),
        ({"b": {}}, "'b' is a dict"),
    ],
)
def test_what_is_no_column_is_named(value, why, tmp_path):
    write(tmp_path / "x.pkl", value)
    assert why in run_shale("convert", tmp_path / "x.pkl", tmp_path / "out", "--to", "npy", code=1).stderr.decode()


def test_messages_name_the_pickle_and_no_descriptor(tmp_path):
    write(tmp_path / "rows.pkl", {"a": [1, 2], "b": [1, 2, 3]})
    told = run_shale("convert", tmp_path / "rows.pkl", tmp_path / "out", "--to", "npy", code=1).stderr.decode()
    assert told.startswith(f"shale: {tmp_path}/rows.pkl: column 'b' has 3 rows, but 'a' has 2")
    write(tmp_path / "old.pkl", {"x": np.asfortranarray(np.arange(600, dtype=">f4").reshape(20, 30))}, protocol=2)
    done = run_shale("convert", tmp_path / "old.pkl", tmp_path / "out", "--to", "npy")
    assert b"old.pkl" in done.stdout + done.stderr and b"/proc/" not in done.stdout + done.stderr


def test_a_folder_of_batches_has_a_command_that_converts_one(tmp_path):
    folder = tmp_path / "cifar"
    folder.mkdir()
    for number in range(1, 4):
        write(folder / f"data_batch_{number}", batch(number))
    write(folder / "batches.meta", {"label_names": ["a", "b"], "num_vis": 3072})
    (folder / "readme.html").write_text("<html>")
    for words in (("info", folder), ("convert", folder, tmp_path / "out", "--to", "npy")):
        told = run_shale(*words, code=1).stderr.decode()
        assert "holds no images, but files such as 'data_batch_" in told
    name = told.partition('shale convert "')[2].partition('"')[0]
    run_shale("convert", name, tmp_path / "out", "--to", "npy", "--fields", "data,labels")


@pytest.mark.parametrize("value", [7, "text", {}, {"a": 1}, ({"x": np.arange(3)}, 1), {"x": np.array([object()])}])
def test_what_is_no_dict_of_columns_is_refused(value, tmp_path):
    write(tmp_path / "x.pkl", value)

    run_shale("convert", tmp_path / "x.pkl", tmp_path / "out", "--to", "npy", code=1)
    run_shale("info", tmp_path / "x.pkl", code=1)
