"""An .npz with a member beyond 4 GiB (zip64), and one behind it: made by shale, read by NumPy, and by unzip where it is installed.

Takes 13 GiB of disk under $TMPDIR; says so and passes where they are not free.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROWS, WIDTH = 4_300_000, 1024  # 4.1 GiB of bytes
NEEDED = 13 << 30


def main():
    with tempfile.TemporaryDirectory(prefix="shale-large-") as name:
        folder = pathlib.Path(name)
        if shutil.disk_usage(folder).free < NEEDED:
            print(f"large npz: not tried, {folder} has less than {NEEDED >> 30} GiB free")
            return 0
        large = np.lib.format.open_memmap(folder / "x.npy", "w+", "u1", (ROWS, WIDTH))  # sparse
        marked = [0, 1, ROWS // 2, ROWS - 1]
        for row in marked:
            large[row] = row % 251 + 1
        large.flush()
        del large
        np.save(folder / "y.npy", np.arange(ROWS))
        archive = folder / "out.npz"
        subprocess.run([os.environ["SHALE"], "convert", f"x={folder}/x.npy", f"y={folder}/y.npy", archive, "--quiet"], check=True)
        if shutil.which("unzip"):
            subprocess.run(["unzip", "-tqq", archive], check=True)
        with np.load(archive) as read:
            assert read.files == ["x", "y"], read.files
            assert np.array_equal(read["y"], np.arange(ROWS))
            found = read["x"]
            assert found.shape == (ROWS, WIDTH), found.shape
            for row in marked:
                assert (found[row] == row % 251 + 1).all(), row
            assert np.count_nonzero(found[:, 0]) == len(marked)
        print(f"large npz: {archive.stat().st_size} bytes, read back")
        return 0


if __name__ == "__main__":
    sys.exit(main())
