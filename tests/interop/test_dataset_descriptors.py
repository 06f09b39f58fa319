"""shale.Dataset reads at random from more shards than a process may have files open."""

import os
import subprocess
import sys

import numpy as np
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
