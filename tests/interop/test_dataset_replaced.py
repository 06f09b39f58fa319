"""An open Dataset whose files are replaced, rewritten or damaged: the next read says so, or gives what was there when it was opened."""

import os
import shutil

import lmdb
import numpy as np
import numpy.random  # workers of torch use it: no import after the fork
import pytest
import torch
from conftest import run_shale
from dataset_reading import index_of, manifest_of
from loader_sets import make_maps

shale_package = pytest.importorskip("shale")
from shale import Dataset, errors

ROWS, SHARD_ROWS = 60, 25
CONTAINERS = ["record", "lmdb", "hdf5", "npy"]
VERIFIED = [False, "auto", True]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Maps for the containers of samples, arrays for npy."""
    folder = tmp_path_factory.mktemp("sources")
    make_maps(folder / "maps.lmdb", ROWS)
    np.save(folder / "x.npy", np.arange(ROWS * 7, dtype="<f4").reshape(ROWS, 7))
    np.save(folder / "label.npy", np.arange(ROWS))
    return folder


def convert(sources, container, out, *words):
    inputs = [f"{name}={sources / name}.npy" for name in ("x", "label")] if container == "npy" else [sources / "maps.lmdb"]
    parse = [] if container == "npy" else ["--parse", "msgpack"]
    parse += ["--fields", "image,caption,label,score"] if container == "hdf5" else []
    run_shale("convert", *inputs, out, "--to", container, "--shard-samples", str(SHARD_ROWS), *parse, *words)


@pytest.mark.parametrize("verify", VERIFIED)
@pytest.mark.parametrize("container", CONTAINERS)
def test_a_set_that_is_overwritten_is_another_one(sources, tmp_path, container, verify):
    convert(sources, container, tmp_path / "out")
    ds, untouched = (Dataset(tmp_path / "out", verify=verify) for _ in range(2))
    first = ds[0]["key"]
    convert(sources, container, tmp_path / "out", "--shuffle", "--seed", "2", "--overwrite")
    number = next(name for name, field in ds.schema.items() if field["kind"] == "integer")
    reads = [lambda: ds[0], lambda: ds[ROWS - 1], lambda: list(ds), lambda: ds.column(number), lambda: untouched[0]]
    for read in reads:
        with pytest.raises(errors.MismatchError, match="was replaced after it was opened") as caught:
            read()
        assert caught.value.file.endswith("dataset.json") and caught.value.hint
    assert {sample["key"] for sample in Dataset(tmp_path / "out", verify=verify)} >= {first}


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_set_that_is_touched_or_read_only_is_the_same(sources, tmp_path, container):
    convert(sources, container, tmp_path / "out")
    ds = Dataset(tmp_path / "out")
    before = repr(list(ds))
    for path in (tmp_path / "out").iterdir():
        os.utime(path, ns=(1, 1))
        path.chmod(0o444)
    assert repr(list(ds)) == before


def kept(where, tmp_path, file):
    """How a foreign file is opened: its index in memory, beside it, in a folder, with checksums."""
    if where in ("beside", "checksums"):
        run_shale("index", file, *(["--crc"] if where == "checksums" else []))
    return {"index_dir": tmp_path / "indexes"} if where == "folder" else {}


def write_lmdb(path, seed, rows=200):
    with lmdb.open(str(path), subdir=False, map_size=1 << 26) as env, env.begin(write=True) as txn:
        for row in range(rows):
            txn.put(b"%06d" % row, bytes([(row * 7 + seed) % 256]) * 300)


@pytest.mark.parametrize("verify", [False, "auto"])
@pytest.mark.parametrize("where", ["memory", "beside", "folder", "checksums"])
def test_a_foreign_file_that_is_replaced_or_written_to_is_refused(tmp_path, where, verify):
    file, other = tmp_path / "st.lmdb", tmp_path / "other.lmdb"
    write_lmdb(file, 1)
    write_lmdb(other, 2)
    assert file.stat().st_size == other.stat().st_size
    shutil.copy(file, tmp_path / "saved")
    more = {"verify": verify, **kept(where, tmp_path, file)}

    def refused(ds):
        for read in (lambda: ds[3], lambda: ds.__getitems__([5, 9]), lambda: ds.column("key.length")):
            with pytest.raises(errors.MismatchError, match="changed since") as caught:
                read()
            assert caught.value.file == str(file) and caught.value.hint

    ds = Dataset(file, **more)
    right = list(ds)
    os.utime(file, ns=(1, 1))
    shutil.copy(file, tmp_path / "copy")
    os.replace(tmp_path / "copy", file)
    assert list(ds) == right, "the same file, copied over itself"
    os.replace(other, file)
    refused(ds)
    with pytest.raises(errors.MismatchError):
        list(torch.utils.data.DataLoader(ds, batch_size=None, num_workers=1))
    os.replace(tmp_path / "saved", file)
    ds = Dataset(file, **more)
    assert list(ds) == right
    with lmdb.open(str(file), subdir=False, map_size=1 << 26) as env:
        for _ in range(4):
            with env.begin(write=True) as txn:
                for row in range(0, 200, 3):
                    txn.put(b"%06d" % row, os.urandom(300))
            refused(ds)


@pytest.mark.parametrize("container", ["record", "lmdb", "hdf5"])
def test_a_flipped_label_is_never_read(sources, tmp_path, container):
    convert(sources, container, tmp_path / "out")
    number = next(name for name, field in Dataset(tmp_path / "out").schema.items() if field["kind"] == "integer")
    shard = manifest_of(tmp_path / "out")["shards"][1]
    path, rows = tmp_path / "out" / shard["index"]["name"], index_of(tmp_path / "out", shard)
    content = bytearray(path.read_bytes())
    at = len(content) - rows.nbytes + 3 * rows.dtype.itemsize + rows.dtype.fields[number][1]
    flipped = int(rows[number][3]) ^ 1
    content[at] ^= 1
    path.write_bytes(content)
    ds, unproved = Dataset(tmp_path / "out"), Dataset(tmp_path / "out", verify=False)
    for read in (lambda: ds[SHARD_ROWS], lambda: ds[SHARD_ROWS + 3], lambda: ds.column(number), lambda: ds.find("no such key")):
        with pytest.raises(errors.DamagedError, match="file hash mismatch") as caught:
            read()
        assert caught.value.file == str(path)
    assert ds[0][number] == unproved[0][number], "another shard"
    assert unproved[SHARD_ROWS + 3][number] == flipped


def test_verify_is_auto_true_or_false(sources, tmp_path):
    convert(sources, "record", tmp_path / "out")
    assert Dataset(tmp_path / "out").verify == "auto"
    for wrong in ("yes", "", "True"):
        with pytest.raises(errors.UsageError, match="verify"):
            Dataset(tmp_path / "out", verify=wrong)


@pytest.mark.usefixtures("collected")
def test_few_descriptors_are_enough(sources, tmp_path):
    """Where the process may open no more, shards that are not being read are closed."""
    import resource

    convert(sources, "record", tmp_path / "out", "--overwrite")
    run_shale("convert", tmp_path / "out", tmp_path / "many", "--to", "record", "--shard-samples", "2")
    right = [sample["key"] for sample in Dataset(tmp_path / "out")]
    here = len(os.listdir("/proc/self/fd"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    ds = Dataset(tmp_path / "many")
    resource.setrlimit(resource.RLIMIT_NOFILE, (here + 12, hard))
    try:
        assert [sample["key"] for sample in ds] == right
        assert [sample["key"] for sample in ds.__getitems__(range(ROWS))] == right
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
