"""A dataset that was appended to: whoever has it open goes on reading, and other libraries read every shard of it."""

import os
import pickle
import shutil

import h5py
import lmdb
import msgpack
import numpy as np
import numpy.random  # workers of torch use it: no import after the fork
import pytest
import torch
from conftest import run_shale
from dataset_reading import manifest_of

shale_package = pytest.importorskip("shale")
import shale
from shale import Dataset, errors

ROWS, SHARD_ROWS = 60, 25
CONTAINERS = ["record", "lmdb", "hdf5", "npy"]


@pytest.fixture
def out(tmp_path):
    """Arrays x and label in two halves: the first one is converted by `begin`, the second one appended by `append`."""
    for half in (0, 1):
        np.save(tmp_path / f"x{half}.npy", np.arange(ROWS * 7, dtype="<f4").reshape(ROWS, 7) + 1000 * half)
        np.save(tmp_path / f"label{half}.npy", np.arange(ROWS) + ROWS * half)
    return tmp_path / "out"


def columns(out, half):
    return [f"{name}={out.parent / name}{half}.npy" for name in ("x", "label")]


def begin(out, container):
    run_shale("convert", *columns(out, 0), out, "--to", container, "--shard-samples", str(SHARD_ROWS))


def append(out):
    run_shale("convert", *columns(out, 1), out, "--append")


@pytest.mark.parametrize("verify", [False, "auto", True])
@pytest.mark.parametrize("container", CONTAINERS)
def test_an_open_dataset_goes_on_reading_what_it_opened(out, container, verify):
    begin(out, container)
    ds, untouched = (Dataset(out, verify=verify) for _ in range(2))
    first = repr(ds[0])
    whole = repr(list(Dataset(out)))
    for appended in (1, 2):
        append(out) if appended == 1 else run_shale("convert", *columns(out, 0), out, "--append")
        assert len(ds) == ROWS and repr(ds[0]) == first
        assert repr(list(ds)) == whole and repr(list(untouched)) == whole
        loader = torch.utils.data.DataLoader(ds, batch_size=None, num_workers=1)
        assert [int(sample["label"]) for sample in loader] == list(range(ROWS))
    now = Dataset(out, verify=verify)
    assert now.column("label").tolist() == [*range(2 * ROWS), *range(ROWS)]
    run_shale("convert", *columns(out, 1), out, "--to", container, "--overwrite")
    with pytest.raises(errors.MismatchError, match="was replaced after it was opened"):
        list(ds)


def test_other_libraries_read_every_shard(out):
    def shards(container):
        shutil.rmtree(out, ignore_errors=True)
        begin(out, container)
        append(out)
        return [out / shard["files"][0]["name"] for shard in manifest_of(out)["shards"]]

    labels = []
    for path in shards("lmdb"):
        with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
            labels += [msgpack.unpackb(value)["label"] for _, value in txn.cursor()]
    assert labels == list(range(2 * ROWS))
    rows = []
    for path in shards("hdf5"):
        with h5py.File(path) as file:
            rows += file["label"][:].tolist()
    assert rows == list(range(2 * ROWS))


def test_from_python(out, tmp_path):
    begin(out, "record")
    done = shale.convert({"x": tmp_path / "x1.npy", "label": tmp_path / "label1.npy"}, out, append=True)
    assert (done.appended, done.samples, done.shards, done.was_complete) == (ROWS, 2 * ROWS, 6, False)
    assert shale.convert({"x": tmp_path / "x1.npy", "label": tmp_path / "label1.npy"}, out, append=True).was_complete
    assert shale.verify(out) and shale.info(out).samples == 2 * ROWS
    with pytest.raises(errors.UsageError):
        shale.convert(columns(out, 1), out, "record", new_classes="append")
    assert os.path.exists(out / "dataset.json")


def test_a_pickled_dataset_is_the_one_that_was_opened(out):
    """A worker that is started after an append finds the rows of then; one of a dataset that was replaced refuses it."""
    begin(out, "record")
    ds = Dataset(out)
    pickled = pickle.dumps(ds)
    append(out)
    run_shale("convert", *columns(out, 0), out, "--append")
    for again in (pickle.loads(pickled), pickle.loads(pickle.dumps(pickle.loads(pickled)))):
        assert len(again) == ROWS and again.info.samples == 3 * ROWS
        assert again.column("label").tolist() == [sample["label"] for sample in again] == list(range(ROWS))
        with pytest.raises(KeyError):
            again.find("60")
        with pytest.raises(IndexError):
            again[ROWS]
    loader = torch.utils.data.DataLoader(ds, batch_size=None, num_workers=1, multiprocessing_context="spawn")
    assert [int(sample["label"]) for sample in loader] == list(range(ROWS))
    appended = pickle.dumps(Dataset(out))
    run_shale("convert", *columns(out, 1), out, "--to", "record", "--overwrite")
    for one in (pickled, appended):
        with pytest.raises(errors.MismatchError, match="was replaced after it was opened"):
            len(pickle.loads(one))
