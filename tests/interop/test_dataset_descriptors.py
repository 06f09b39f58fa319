"""shale.Dataset reads at random from more shards, and more columns, than a process may have files open."""

import os
import resource
import shutil
import subprocess
import sys

import numpy as np
import pytest
import shale

SHARDS, DESCRIPTORS = 10_000, 256
READER = f"""
import os, random, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({DESCRIPTORS}, {DESCRIPTORS}))
import shale
dataset = shale.Dataset(sys.argv[1])
dice = random.Random(1)
for _ in range(5):
    rows = [dice.randrange({SHARDS}) for _ in range(1000)]
    assert [int(sample["x"][0]) for sample in dataset.__getitems__(rows)] == rows
assert int(dataset[{SHARDS} - 1]["x"][0]) == {SHARDS} - 1
assert len(os.listdir("/proc/self/fd")) < {DESCRIPTORS}
"""


def test_10000_shards_with_256_descriptors(tmp_path):
    numbers = np.arange(SHARDS * 2, dtype=np.int64).reshape(SHARDS, 2) // 2
    np.save(tmp_path / "x.npy", numbers)
    shale.convert(f"x={tmp_path}/x.npy", tmp_path / "out", to="record", shard_samples=1)
    done = subprocess.run([sys.executable, "-c", READER, tmp_path / "out"], env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


COLUMNS = 300
COLUMN_READER = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
import numpy as np
import pytest
import shale
columns = int(sys.argv[2])
for options in ({}, {"cache": "direct"}, {"cache": "drop"}, {"verify": True}):
    dataset = shale.Dataset(sys.argv[1], **options)
    for rows in ([5], [39, 0, 17, 17], list(range(40))):
        for row, sample in zip(rows, dataset.__getitems__(rows)):
            assert all(sample[f"c{i:03}"] == row * 1000 + i for i in range(0, columns, 2)), (options, row)
            assert all((sample[f"c{i:03}"] == [row, i]).all() for i in range(1, columns, 2)), (options, row)
    assert list(dataset.column("c298")) == [row * 1000 + 298 for row in range(40)]
    assert len(os.listdir("/proc/self/fd")) <= 64
"""


def test_300_columns_with_128_descriptors(tmp_path):
    rows = np.arange(40)
    columns = {
        f"c{i:03}": np.stack([rows, np.full(40, i)], axis=1).astype(np.float32) if i % 2 else rows * 1000 + i for i in range(COLUMNS)
    }
    np.savez(tmp_path / "in.npz", **columns)
    shale.convert(tmp_path / "in.npz", tmp_path / "out", to="npy", shard_samples=25)
    done = subprocess.run([sys.executable, "-c", COLUMN_READER, tmp_path / "out", str(COLUMNS)], env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def write_columns(path, columns, rows, add=0):
    np.savez(path, **{f"c{i:04}": np.arange(rows) * 7 + i + add for i in range(columns)})


@pytest.mark.parametrize("options", [{}, {"cache": "direct"}, {"verify": True}], ids=str)
def test_a_set_of_many_columns_that_is_replaced_or_removed(tmp_path, options):
    write_columns(tmp_path / "in.npz", 100, 60)
    write_columns(tmp_path / "other.npz", 100, 60, add=1)
    shale.convert(tmp_path / "in.npz", tmp_path / "out", to="npy", shard_samples=25)
    dataset = shale.Dataset(tmp_path / "out", **options)
    assert dataset[59]["c0099"] == 59 * 7 + 99
    shale.convert(tmp_path / "other.npz", tmp_path / "out", to="npy", shard_samples=25, overwrite=True)
    reads = [lambda: dataset[59], lambda: dataset.__getitems__([3, 30]), lambda: dataset.column("c0001")]
    for read in reads:
        with pytest.raises(shale.errors.MismatchError, match="was replaced after it was opened"):
            read()
    dataset = shale.Dataset(tmp_path / "out", **options)
    assert dataset[59]["c0099"] == 59 * 7 + 100
    shutil.rmtree(tmp_path / "out")
    for read in (lambda: dataset[59], lambda: dataset[0], lambda: dataset.column("c0001")):
        with pytest.raises(shale.errors.MismatchError, match="was removed"):
            read()


WORKERS = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
import shale, torch

class Counted(torch.utils.data.Dataset):
    def __init__(self, path):
        self.dataset = shale.Dataset(path)
    def __len__(self):
        return len(self.dataset)
    def __getitems__(self, rows):
        samples = self.dataset.__getitems__(rows)
        ours = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")]
        count = sum(path.startswith(sys.argv[1]) for path in ours)
        return [(row, int(sample["c1999"]), count) for row, sample in zip(rows, samples)]

data = Counted(sys.argv[1])
data.__getitems__([0])  # files that are open before the fork
for workers in (0, 2):
    loader = torch.utils.data.DataLoader(data, batch_size=16, num_workers=workers, collate_fn=list)
    seen = [sample for batch in loader for sample in batch]
    assert [(row, number) for row, number, _ in seen] == [(row, row * 7 + 1999) for row in range(len(data))]
    assert max(count for *_, count in seen) <= 64
"""


def test_2000_columns_written_by_a_writer_and_read_by_workers(tmp_path):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2200:
        pytest.skip("a writer of 2000 columns keeps 2000 files open")
    with shale.Writer(tmp_path / "out", "npy", "first", shard_samples=25) as writer:
        for row in range(60):
            writer.write({f"c{i:04}": row * 7 + i for i in range(2000)})
    done = subprocess.run([sys.executable, "-c", WORKERS, tmp_path / "out"], env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
