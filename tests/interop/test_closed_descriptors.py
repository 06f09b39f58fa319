"""Python started with its standard descriptors closed: no file of shale's gets their numbers, and all is read and written as ever."""

import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

pytest.importorskip("shale")

AT_WORK = """
import os, sys
import numpy, shale

folder, closed = sys.argv[1], [int(number) for number in sys.argv[2]]
met = []

def look(done, total):
    for number in closed:
        try:
            met.append((number, os.readlink(f"/proc/self/fd/{number}")))
        except OSError:
            pass

ds = shale.Dataset(folder + "/f.h5")  # a child of the library's reads it, whose standard descriptors are /dev/null
rows = ds.__getitems__(range(len(ds)))
assert [row["y"] for row in rows] == list(range(50)), rows
assert ds.column("y").tolist() == list(range(50))
shale.resample(folder + "/x.npy", folder + "/drawn.npy", permute=True, save_indices=folder + "/rows.npy", progress=look)
shale.resample(folder + "/x.npy", folder + "/set", to="hdf5", seed=1, progress=look)
drawn = numpy.load(folder + "/drawn.npy")
assert numpy.array_equal(drawn, numpy.load(folder + "/x.npy")[numpy.load(folder + "/rows.npy")])
assert len(shale.Dataset(folder + "/set", verify=True).__getitems__(range(1000))) == 1000
assert not [path for number, path in met if folder in path], met
open(folder + "/done", "w").close()
"""


@pytest.mark.parametrize("closed", ["0", "1", "2", "01", "12", "012"])
def test_files_are_read_and_written_all_the_same(tmp_path, closed):
    """Findings A10: the child's /dev/null went over the HDF5 file's own descriptor, and a whole file was damaged."""
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["x"], file["y"] = np.arange(150.0).reshape(50, 3), np.arange(50)
    np.save(tmp_path / "x.npy", np.arange(4000).reshape(1000, 4))

    def close():
        for number in closed:
            os.close(int(number))

    run = subprocess.run([sys.executable, "-c", AT_WORK, str(tmp_path), closed], preexec_fn=close)
    assert (run.returncode, (tmp_path / "done").exists()) == (0, True)
