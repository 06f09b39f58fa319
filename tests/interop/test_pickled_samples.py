"""LMDB files of pickled samples as molecules and graphs are handed round, made by the libraries that people use, and read back equal."""

from __future__ import annotations

import collections
import copyreg
import datetime
import decimal
import pathlib
import pickle
import sys
import types
import weakref

import lmdb
import numpy as np
import pytest
import shale
import torch
from conftest import run_shale

SIZES = [3, 1, 4, 2]


def write(path, samples, protocol=-1):
    with lmdb.open(str(path), subdir=False, map_size=1 << 26) as environment, environment.begin(write=True) as transaction:
        for number, sample in enumerate(samples):
            transaction.put(b"%d" % number, pickle.dumps(sample, protocol))
        transaction.put(b"length", pickle.dumps(len(samples), protocol))  # as OC20's files say how many there are
    return str(path)


def atoms(number):
    """The attributes of one structure, as OC20's LMDBs have them."""
    count = SIZES[number]
    generator = torch.Generator().manual_seed(number)
    return {
        "edge_index": torch.randint(0, count, (2, 2 * count), generator=generator),
        "x": None,
        "pos": torch.rand((count, 3), generator=generator),
        "cell": torch.eye(3).reshape(1, 3, 3) * (1 + number),
        "atomic_numbers": torch.arange(count, dtype=torch.float32),
        "natoms": count,
        "tags": torch.arange(count)[::1],
        "y": -1.5 * number,
        "force": torch.rand((count, 3), generator=generator, dtype=torch.float64),
        "fixed": torch.zeros(count, dtype=torch.bool),
        "half": torch.ones((count, 2), dtype=torch.bfloat16),
        "sid": 100 + number,
        "note": f"réf {number}",
    }


@pytest.fixture
def graph_classes(monkeypatch):
    """Classes that pickle as those of torch_geometric do, versions 1 and 2, under their names."""
    for name in ("torch_geometric", "torch_geometric.data", "torch_geometric.data.data", "torch_geometric.data.storage"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))

    def named(module, base):
        base.__module__, base.__qualname__ = module, base.__name__
        setattr(sys.modules[module], base.__name__, base)
        return base

    class DataEdgeAttr:
        pass

    class DataTensorAttr:
        pass

    class GlobalStorage:
        def __init__(self, parent, mapping):
            self._mapping = mapping
            self._parent = weakref.ref(parent)

        def __getstate__(self):
            return {**self.__dict__, "_parent": self._parent()}

    class Data:
        pass

    for cls in (DataEdgeAttr, DataTensorAttr, Data):
        named("torch_geometric.data.data", cls)
    named("torch_geometric.data.storage", GlobalStorage)

    def first_version(attributes):
        data = Data()
        data.__dict__.update(attributes)
        return data

    def second_version(attributes):
        data = Data()
        data.__dict__.update(_edge_attr_cls=DataEdgeAttr, _tensor_attr_cls=DataTensorAttr)
        data.__dict__["_store"] = GlobalStorage(data, attributes)
        return data

    return {"dict": dict, "1": first_version, "2": second_version}


@pytest.mark.parametrize("version", ["dict", "1", "2"])
def test_tensors_of_pickled_graphs(tmp_path, graph_classes, version):
    source = write(tmp_path / "data.lmdb", [graph_classes[version](atoms(number)) for number in range(len(SIZES))])
    shale.convert(source, tmp_path / "out", to="record", parse="pickle")
    dataset = shale.Dataset(tmp_path / "out")
    types_of = dataset.types
    assert types_of["pos"] == "float32 (?, 3)" and types_of["cell"] == "float32 (1, 3, 3)" and types_of["edge_index"] == "int64 (2, ?)"
    assert "x" not in types_of and len(dataset) == len(SIZES)
    for number in range(len(SIZES)):
        sample, expected = dataset[number], atoms(number)
        for name, value in expected.items():
            if isinstance(value, torch.Tensor) and value.dtype != torch.bfloat16:
                assert sample[name].dtype == value.numpy().dtype and np.array_equal(sample[name], value.numpy()), name
            elif isinstance(value, torch.Tensor):
                assert sample[name].dtype == torch.bfloat16 and torch.equal(sample[name].view(torch.int16), value.view(torch.int16))
            elif value is not None:
                assert sample[name] == value, name


def test_tensors_that_do_not_lie_in_c_order_are_refused_by_name(tmp_path):
    source = write(tmp_path / "data.lmdb", [{"pos": torch.arange(6).reshape(2, 3).t()}])
    with pytest.raises(shale.Error, match="expected a tensor in C order"):
        shale.convert(source, tmp_path / "out", to="record", parse="pickle")


def test_nothing_of_a_pickle_is_run(tmp_path):
    marker = tmp_path / "marker"

    class Bomb:
        def __reduce__(self):
            return open, (str(marker), "w")

    source = write(tmp_path / "data.lmdb", [{"pos": Bomb()}])
    marker.unlink(missing_ok=True)
    with pytest.raises(shale.Error, match="not plain data"):
        shale.convert(source, tmp_path / "out", to="record", parse="pickle")
    assert not marker.exists()


def test_what_no_field_can_hold_stops_none_of_the_others(tmp_path):
    """The message names the entry and the field, for what is wrong with an array of NumPy too."""
    samples = [{"n": i, "ints": [1, None], "dates": np.array(["a", None]), "big": np.ones(2, ">i4"), "mixed": "text" if i < 2 else i} for i in range(4)]
    source = write(tmp_path / "data.lmdb", samples)
    for options, code in (((), 4), (("--fields", "n"), 0), (("--fields", "n", "--shuffle"), 0)):
        done = run_shale("convert", source, tmp_path / f"out{code}{len(options)}{options[:1]}", "--to", "record", *options, code=code)
        told = done.stderr.decode()
        for name, fact in (
            ("ints", "field 'ints' is a list of numbers or of other values, expected bytes, a string, a list of these, a number or an array"),
            ("dates", "field 'dates': the value has a call (numpy._core.multiarray _reconstruct), expected an array of numbers"),
            ("big", "field 'big': the value has a call (numpy dtype), expected a dtype that is not big-endian"),
        ):
            assert f"'{name}' is left out: in the value of '0' {fact}" in told.replace("numpy.core", "numpy._core")
        assert "'mixed' is left out: in the value of '2' field 'mixed' is integer, but in the values before it text" in told
    with shale.Dataset(source) as dataset:
        assert dataset.types == {"n": "integer"} and [sample["n"] for sample in dataset] == list(range(4))
    told = run_shale("convert", source, tmp_path / "no", "--to", "record", "--fields", "ints", code=2).stderr
    assert b"'ints'" in told


class Slots:
    __slots__ = ("x",)

    def __reduce_ex__(self, protocol):
        return copyreg.__newobj__, (Slots, 1, 2)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_what_is_not_plain_data_is_left_out_by_name(tmp_path, protocol):
    """Sets, dates, calls, classes and dicts by number; mappings by other names are dicts."""
    odd = {
        "tags": {"a", "b"}, "frozen": frozenset([1]), "taken": datetime.datetime(2020, 1, 2), "day": datetime.date(2020, 1, 2),
        "path": pathlib.PurePosixPath("a/b"), "price": decimal.Decimal("1.5"), "huge": 1 << 80, "span": range(3), "kind": dict,
        "by_number": {0: "cat", 1: "dog"}, "deep": [1, {"a": {2}}], "point": complex(1, 2), "made": Slots(),
    }  # fmt: skip
    if protocol == 2:
        del odd["tags"], odd["frozen"]  # calls of 'set', whose elements are a list
    samples = [{"n": i, **odd, "meta": collections.OrderedDict(a=i, b="x"), "d": collections.defaultdict(list, c=1.5)} for i in range(4)]
    source = write(tmp_path / "data.lmdb", samples, protocol)
    told = run_shale("convert", source, tmp_path / "out", "--to", "record", code=4).stderr.decode()
    for name in odd:
        assert f"'{name}' is left out: in the value of '0' field '{name}'" in told, name
    if protocol > 2:
        assert "'tags' is left out: in the value of '0' field 'tags': pickle holds a set" in told
    assert "field 'day': pickle refers to 'datetime.date', which is not plain data" in told
    for opened in (source, tmp_path / "out"):
        with shale.Dataset(opened) as dataset:
            assert dict(dataset.types) == {"n": "integer", "meta_a": "integer", "meta_b": "text", "d_c": "real"}
            assert [(one["n"], one["meta_a"], one["meta_b"], one["d_c"]) for one in dataset] == [(i, i, "x", 1.5) for i in range(4)]
    run_shale("verify", tmp_path / "out", "--against", source)


def test_lists_of_strings_are_lists(tmp_path):
    """In place too; a string that a list has twice lies in the pickle once."""
    word = "again"
    samples = [{"caps": [f"caption {i}", word, "№ 2", word][: i + 1], "frames": (b"\xff\xd8" * i, b"x"), "none": [], "n": i} for i in range(4)]
    source = write(tmp_path / "data.lmdb", samples)
    for opened in (source, tmp_path / "out", tmp_path / "copy"):
        if opened != source:
            run_shale("convert", source, opened, "--to", "record" if opened.name == "out" else "lmdb")
            run_shale("verify", opened, "--deep", "--against", source)
        with shale.Dataset(opened) as dataset:
            assert dataset.types == {"caps": "list of text", "frames": "list", "none": "list of text", "n": "integer"}
            for row, expected in enumerate(samples):
                assert {name: value for name, value in dataset[row].items() if name != "key"} == expected | {"frames": list(expected["frames"])}
    run_shale("index", source, "--crc")
    run_shale("verify", source, "--deep")
    assert run_shale("cat", source, "2", "--field", "caps", "--element", "2").stdout.decode() == "№ 2"
    with shale.Dataset(source, lazy="caps") as dataset:
        assert dataset[3]["caps"][1:] == [word, "№ 2", word]
