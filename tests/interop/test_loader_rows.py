"""shale.torch.Loader and arrays: rows are read to where their batch has them, whatever the container, and stay right when somebody changes them."""

import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import shale
import torch
from conftest import run_shale
from shale import _batch_memory
from shale.torch import Loader

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS, WIDTH = 61, 5000


def table():
    return np.random.default_rng(7).standard_normal((ROWS, 2, WIDTH)).astype("f4")


@pytest.fixture(scope="module", params=["npy", "hdf5", "lmdb", "record"])
def arrays(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    np.save(folder / "x.npy", table())
    run_shale("convert", folder / "x.npy", folder / "set", "--to", request.param, "--shard-samples", "23")
    return folder / "set"


@pytest.fixture
def stacked(monkeypatch):
    """How many tensors of rows were put together by a copy."""
    found, column = [], _batch_memory._column

    def counting(values, *more):
        found.extend([1] * isinstance(values[0], np.ndarray))
        return column(values, *more)

    monkeypatch.setattr(_batch_memory, "_column", counting)
    return found


def name_of_rows(path):
    return next(name for name, field in shale.Dataset(path).schema.items() if field["kind"] == "tensor")


def order_of(loader, epoch=0):
    return loader._draw.order(epoch)[:].tolist()


@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_rows_go_straight_into_their_batch(arrays, shuffle, threads, stacked):
    name, expected = name_of_rows(arrays), table()
    loader = Loader(arrays, 16, shuffle=shuffle, num_threads=threads)
    for epoch in range(2):
        batches = [batch[name] for batch in loader]
        assert [len(batch) for batch in batches] == [16, 16, 16, 13]
        assert torch.cat(batches).numpy().tobytes() == expected[order_of(loader, epoch)].tobytes()
    assert not stacked


def test_block_gives_the_same_values(arrays):
    name = name_of_rows(arrays)
    loader = Loader(arrays, 16, shuffle="block", shuffle_block="128KiB", shuffle_buffer="512KiB")
    assert torch.cat([batch[name] for batch in loader]).numpy().tobytes() == table()[order_of(loader)].tobytes()


def test_a_transform_may_change_replace_or_keep_its_row(arrays, stacked):
    name, expected, kept = name_of_rows(arrays), table(), []

    def add(sample):
        sample[name] += 1
        return sample

    def halve(sample):
        return {**sample, name: sample[name] / 2}

    def keep(sample):
        kept.append((sample[name][0, :3], sample[name][0, :3].copy()))
        return (sample[name],)

    def some_are_new(sample):
        return sample[name].copy() if sample[name][0, 0] > 0 else sample[name]

    assert torch.cat([batch[name] for batch in Loader(arrays, 7, transform=add)]).numpy().tobytes() == (expected + 1).tobytes()
    assert not stacked
    assert torch.cat([batch[name] for batch in Loader(arrays, 7, transform=halve)]).numpy().tobytes() == (expected / 2).tobytes()
    assert torch.cat(list(Loader(arrays, 7, transform=some_are_new))).numpy().tobytes() == expected.tobytes()
    assert len(stacked) > 9
    for _ in range(3):
        for _ in Loader(arrays, 7, transform=keep, num_threads=2):
            pass
    assert all(view.tobytes() == copy.tobytes() for view, copy in kept)


def test_a_row_that_is_drawn_twice_is_there_twice(arrays):
    name = name_of_rows(arrays)
    (batch,) = Loader(shale.Dataset(arrays, indices=[5, 60, 5, 0, 5]), 5)
    assert batch[name].numpy().tobytes() == table()[[5, 60, 5, 0, 5]].tobytes()
    (pair,) = Loader(arrays, 3, indices=[2, 1, 2], as_tuple=(name,))
    assert pair[0].numpy().tobytes() == table()[[2, 1, 2]].tobytes()


def test_batches_may_be_kept_and_memory_is_used_again(arrays):
    name, expected = name_of_rows(arrays), table()
    loader = Loader(arrays, 8, num_threads=2)
    kept = list(loader)
    assert torch.cat([batch[name] for batch in kept]).numpy().tobytes() == expected.tobytes()
    del kept
    for _ in range(2):
        addresses = {batch[name].data_ptr() for batch in loader}
        assert len(addresses) < 8


def test_what_torch_cannot_hold_is_a_list_as_before(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(40, dtype=">f4").reshape(10, 4))
    run_shale("convert", tmp_path / "x.npy", tmp_path / "set", "--to", "npy")
    (batch,) = Loader(tmp_path / "set", 10)
    name = name_of_rows(tmp_path / "set")
    assert np.stack([np.asarray(row) for row in batch[name]]).tolist() == np.arange(40).reshape(10, 4).tolist()


def test_several_datasets_and_subclasses_are_stacked(tmp_path, stacked):
    np.save(tmp_path / "x.npy", table())
    run_shale("convert", tmp_path / "x.npy", tmp_path / "set", "--to", "npy")
    name = name_of_rows(tmp_path / "set")

    class Doubled(shale.Dataset):
        def __getitem__(self, row):
            return {name: super().__getitem__(row)[name] * 2}

    both = Loader([tmp_path / "set", tmp_path / "set"], 61)
    assert [batch[name].numpy().tobytes() == table().tobytes() for batch in both] == [True, True]
    assert torch.cat([batch[name] for batch in Loader(Doubled(tmp_path / "set"), 16)]).numpy().tobytes() == (table() * 2).tobytes()
    assert len(stacked) == 6


def test_a_damaged_row_of_a_batch_is_replaced_and_the_others_are_right(tmp_path):
    np.save(tmp_path / "x.npy", table())
    run_shale("convert", tmp_path / "x.npy", tmp_path / "set", "--to", "record")
    shard = next((tmp_path / "set").glob("*.tfrecord"))
    content = bytearray(shard.read_bytes())
    content[content.find(table()[20].tobytes()) + 100] ^= 1
    shard.write_bytes(content)
    name, expected = name_of_rows(tmp_path / "set"), table()
    with pytest.raises(shale.DamagedError, match="checksum"):
        list(Loader(tmp_path / "set", 16))
    loader = Loader(tmp_path / "set", 16, on_error="skip")
    expected[20] = expected[21]
    assert torch.cat([batch[name] for batch in loader]).numpy().tobytes() == expected.tobytes()
    assert [each.row for each in loader.skipped] == [20]


READ = """
import sys, shale.torch
for batch in shale.torch.Loader(sys.argv[1], 61, num_threads=0):
    pass
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
def test_neighbours_are_one_read(tmp_path):
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode:
        pytest.skip("strace may not trace here")
    np.save(tmp_path / "x.npy", table())
    run_shale("convert", tmp_path / "x.npy", tmp_path / "set", "--to", "npy")
    without = [sys.executable, ROOT / "tests/support/without_io_uring.py"]  # requests of io_uring are not seen
    trace = tmp_path / "trace"
    strace = ["strace", "-f", "-y", "-qq", "-s", "0", "-e", "trace=pread64,preadv", "-o", trace]
    subprocess.run([*without, *strace, sys.executable, "-c", READ, tmp_path / "set"], check=True)
    row = 2 * WIDTH * 4
    large = [int(line.rsplit("= ", 1)[1]) for line in trace.read_text().splitlines() if "set" in line and "= " in line and "index" not in line]
    assert [size for size in large if size >= row] == [ROWS * row]
