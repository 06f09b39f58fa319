"""Storage that fails under io_uring: its requests pass by any library, so a file system makes the faults (faulty_folder.py)."""

import contextlib
import errno
import filecmp
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

SHALE = os.environ["SHALE"]
HERE = pathlib.Path(__file__).parent
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def can_mount():
    try:
        import mfusepy  # noqa: F401
    except (ImportError, OSError):
        return False
    return os.geteuid() == 0 and os.access("/dev/fuse", os.R_OK | os.W_OK)


pytestmark = pytest.mark.skipif(not can_mount(), reason="FUSE takes root, /dev/fuse and libfuse")


@contextlib.contextmanager
def faulty(folder, requests, error, skip, times):
    """`folder` as it is seen through FUSE; yields the mount point and a function that says which requests failed."""
    mountpoint, log = folder.parent / "mounted", folder.parent / "log"
    mountpoint.mkdir(exist_ok=True)
    log.write_text("")
    words = [folder, mountpoint, log, requests, error, skip, times]
    server = subprocess.Popen([sys.executable, HERE / "faulty_folder.py", *map(str, words)])
    try:
        while not os.path.ismount(mountpoint):
            assert server.poll() is None, "FUSE did not start"
            os.sched_yield()
        yield mountpoint, lambda: log.read_text().splitlines()
    finally:
        subprocess.run(["umount", "-l", mountpoint], check=False)
        server.wait()


def convert(folder, out, *words):
    return subprocess.run([SHALE, "convert", folder, out, *words], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})


@pytest.fixture
def place(tmp_path):
    """A folder of arrays of 1 MiB and what they become without faults."""
    shown = tmp_path / "shown"
    shown.mkdir()
    numbers = np.random.default_rng(1).integers(0, 1 << 40, (4096, 32))
    np.save(shown / "x.npy", numbers)
    np.savez(shown / "z.npz", x=numbers)
    assert convert(shown / "x.npy", tmp_path / "whole", "--to", "record", "--shard-samples", "1500").returncode == 0
    return shown


def compare(out, whole):
    names = sorted(os.listdir(whole))
    assert sorted(os.listdir(out)) == names
    assert filecmp.cmpfiles(out, whole, names, shallow=False)[0] == names


def run_with(place, requests, error, skip, times):
    """One convert on the faulty folder, judged, and the same again without faults."""
    whole = place.parent / "whole"
    with faulty(place, requests, error, skip, times) as (mounted, struck):
        done = convert(mounted / "x.npy", mounted / "out", "--to", "record", "--shard-samples", "1500")
        hits = struck()
    story = f"{requests} {errno.errorcode[error]} skip={skip} times={times}: exit {done.returncode} {hits[:3]}\n{done.stderr}"
    if done.returncode == 0:
        if hits and (requests, error) != ("open", errno.ESTALE):  # the kernel opens once more by itself
            assert "retried" in done.stderr, story
    else:
        assert done.returncode == 1, story
        assert os.strerror(error) in done.stderr, story
        assert str(place.parent) in done.stderr, story
        assert error not in NO_ROOM or "\nhint: " in done.stderr, story
        assert not (place / "out/dataset.json").exists(), story
        again = convert(place / "x.npy", place / "out", "--to", "record", "--shard-samples", "1500")
        assert again.returncode == 0, story + again.stderr
    compare(place / "out", whole)
    subprocess.run(["rm", "-r", place / "out"], check=True)
    return done, hits


@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE])
@pytest.mark.parametrize("requests", ["read", "write", "open"])
def test_a_hiccup_is_repeated(place, requests, error):
    for skip in (0, 1):
        done, hits = run_with(place, requests, error, skip, times=1)
        assert hits and done.returncode == 0, done.stderr


@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE])
@pytest.mark.parametrize("requests", ["read", "write"])
def test_what_stays_is_reported(place, requests, error):
    done, _ = run_with(place, requests, error, 2, times=0)
    assert done.returncode == 1


@pytest.mark.parametrize("error", NO_ROOM)
@pytest.mark.parametrize("requests", ["write", "create", "mkdir"])
def test_no_room_ends_the_run(place, requests, error):
    done, hits = run_with(place, requests, error, 1, times=0)
    assert hits and done.returncode == 1


def test_fsync_is_not_repeated(place):
    done, hits = run_with(place, "fsync", errno.EIO, 2, times=1)
    assert done.returncode == 1 and len(hits) == 1
