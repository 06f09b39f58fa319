"""shale.Dataset over processes: pickled, forked, spawned, with files open or not, while threads read; never above 64 descriptors.

SHALE_TEST_SPAWN_16=1 also has 16 spawned workers read: they import torch 16 times, which takes longer than all the rest together.
SHALE_TEST_READS=N has each combination read N samples (default 200,000).
"""

import concurrent.futures
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading

import pytest
from conftest import drawn, run_shale
from dataset_workers import digests, forked, open_files, read_all, rows_in_disorder, short_digests
from loader_sets import make_maps, packed

shale_package = pytest.importorskip("shale")
Dataset = shale_package.Dataset
pytestmark = pytest.mark.usefixtures("collected")
READS = int(os.environ.get("SHALE_TEST_READS", "200000"))
METHODS = ["fork", "spawn", "forkserver"]
COMBINATIONS = drawn([(method, workers) for method in METHODS for workers in (1, 4, 16) if (method, workers) != ("spawn", 16)], 4)
if os.environ.get("SHALE_TEST_SPAWN_16"):
    COMBINATIONS.append(("spawn", 16))
multiprocessing.set_forkserver_preload(["torch"])
ROWS, SHARDS = 20_000, 7


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """20,000 samples of 100 to 1000 bytes in 7 shards."""
    return packed(run_shale, tmp_path_factory.mktemp("small"), ROWS, SHARDS)


@pytest.fixture(scope="module")
def hundred(tmp_path_factory):
    """1000 samples in 100 shards."""
    return packed(run_shale, tmp_path_factory.mktemp("hundred"), 1000, 100)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    path = tmp_path_factory.mktemp("foreign") / "maps.lmdb"
    make_maps(path, 200)
    return path


@pytest.fixture(scope="module")
def expected(small):
    """What one process reads, and the rows it was asked for."""
    seed = 20_26
    print("seed", seed)
    rows = rows_in_disorder(ROWS, READS, seed)
    return rows, read_all(Dataset(small), rows, 0, None, short_digests)


# ---- workers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "workers"), COMBINATIONS)
def test_workers_read_what_one_process_reads(small, expected, method, workers):
    rows, wanted = expected
    ds = Dataset(small)
    ds[0]
    assert len(wanted) == READS
    assert read_all(ds, rows, workers, method, short_digests) == wanted


@pytest.mark.parametrize("opened", [False, True], ids=["not opened", "opened"])
@pytest.mark.parametrize(
    ("method", "more"),
    [*((method, {}) for method in METHODS), ("fork", {"cache": "drop", "verify": True}), ("fork", {"cache": "direct"})],
    ids=[*METHODS, "fork, drop, verify", "fork, direct"],
)
def test_it_makes_no_difference_whether_the_parent_has_read(hundred, method, opened, more):
    ds = pickle.loads(pickle.dumps(Dataset(hundred, **more)))
    rows = rows_in_disorder(1000, 1000, 1)
    wanted = digests(Dataset(hundred).__getitems__(rows))
    if opened:
        assert digests(ds.__getitems__(rows)) == wanted
    assert read_all(ds, rows, 2, method) == wanted
    assert read_all(ds, rows, 0, None) == wanted


@pytest.mark.parametrize("method", METHODS)
def test_an_index_in_memory_reaches_every_worker(foreign, method):
    ds = Dataset(foreign, parse="msgpack", verify=True)
    rows = rows_in_disorder(200, 600, 2)
    wanted = digests(ds.__getitems__(rows))
    assert read_all(ds, rows, 2, method) == wanted == read_all(Dataset(foreign, parse="msgpack"), rows, 2, method)


@pytest.mark.parametrize("more", [{}, {"fields": ["image", "label"], "decode": {"image": None}, "verify": True, "cache": "drop"}])
def test_it_pickles_to_no_more_than_4_kib(small, hundred, foreign, more):
    fresh = [Dataset(path, **more, parse=parse) for path, parse in [(small, None), (hundred, None), (foreign, "msgpack")]]
    for ds in fresh:
        for _ in ds:
            pass
        assert len(pickle.dumps(ds)) <= 4096
        again = pickle.loads(pickle.dumps(ds))
        assert (len(again), again[7], again.schema, again.classes) == (len(ds), ds[7], ds.schema, ds.classes)


def test_it_pickles_with_relative_paths_to_another_directory(small, tmp_path):
    words = "import pickle, sys, os; from shale import Dataset; sys.stdout.buffer.write(pickle.dumps(Dataset('set')))"
    package = os.path.dirname(os.path.dirname(os.path.abspath(shale_package.__file__)))
    done = subprocess.run(
        [sys.executable, "-c", words], cwd=small.parent, stdout=subprocess.PIPE, check=True, env={**os.environ, "PYTHONPATH": package}
    )
    assert pickle.loads(done.stdout)[0] == Dataset(small)[0]


# ---- fork ---------------------------------------------------------------------------------------------------------------


def test_a_fork_of_a_fork_reads(small):
    ds = Dataset(small)
    rows = [0, 19_999, 5000, 12_345]
    wanted = digests(ds.__getitems__(rows))
    reads = lambda: digests(ds.__getitems__(rows)) == wanted and ds[7] == seventh
    seventh = ds[7]
    assert forked(lambda: reads() and forked(lambda: reads() and forked(reads)) and reads())
    assert reads()


def test_fork_while_threads_read(hundred):
    """The child finds locks taken, a ring in use, a shard half open: it must need none of them."""
    ds = Dataset(hundred)
    rows = rows_in_disorder(1000, 200, 3)
    wanted = digests(ds.__getitems__(rows))
    stop, threads = threading.Event(), 3

    def read():
        while not stop.is_set():
            assert digests(ds.__getitems__(rows)) == wanted
        return True

    def child():
        # What a thread of the parent was about to open at the fork is nobody's here.
        return digests(ds.__getitems__(rows)) == wanted and len(open_files(hundred)) <= 64 + threads

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        readers = [pool.submit(read) for _ in range(threads)]
        try:
            assert all(forked(child) for _ in range(40))
        finally:
            stop.set()
        assert all(reader.result() for reader in readers)
    assert digests(ds.__getitems__(rows)) == wanted


def test_a_child_gives_back_what_came_with_the_fork(hundred):
    ds = Dataset(hundred)
    rows = list(range(0, 1000, 9))
    wanted = digests(ds.__getitems__(rows))
    before = sorted(open_files(hundred))
    assert 30 < len(before) <= 64

    def child():
        ds[3]
        few = len(open_files(hundred)) < 10
        return few and digests(ds.__getitems__(rows)) == wanted and len(open_files(hundred)) <= 64

    assert forked(child)
    assert sorted(open_files(hundred)) == before
    assert digests(ds.__getitems__(rows)) == wanted


def test_a_child_that_closed_everything_keeps_the_files_it_opened_since(hundred):
    """As a daemon does. The numbers of the parent's files then stand for files of its own."""
    ds = Dataset(hundred)
    rows = list(range(0, 1000, 9))
    wanted = digests(ds.__getitems__(rows))
    last = max(int(name) for name in os.listdir("/proc/self/fd"))

    def child():
        os.closerange(3, last + 1)
        own = [os.open("/proc/self/status", os.O_RDONLY) for _ in range(last)]
        reads = digests(ds.__getitems__(rows)) == wanted
        return reads and all(os.readlink(f"/proc/self/fd/{number}").endswith("/status") for number in own)

    assert forked(child)


FORKS_AND_DROPS = """
import os, sys
sys.path.insert(0, {here!r})
import dataset_workers
if {refused}: dataset_workers.refuse_io_uring()
import shale
assert shale.io_backend() == ({backend!r} or shale.io_backend())
ds = shale.Dataset({path!r})
rows = list(range(0, 1000, 9))
wanted = dataset_workers.digests(ds.__getitems__(rows))
def drops():
    global ds
    ds = None
    return True
def reads_and_drops():
    same = dataset_workers.digests(ds.__getitems__(rows)) == wanted
    return drops() and same
for act in (drops, reads_and_drops):
    assert dataset_workers.forked(act, 20), act
pid = os.fork()  # and one that leaves as a script does, through the end of the interpreter
if pid: assert dataset_workers.wait_for(pid, 20) == 0
assert dataset_workers.digests(ds.__getitems__(rows)) == wanted
print("done")
"""


@pytest.mark.parametrize("refused", [False, True], ids=["io_uring if there is one", "threads"])
def test_a_child_that_only_drops_the_dataset_does_not_hang(hundred, refused):
    """Its parent's threads are not there to be joined."""
    script = FORKS_AND_DROPS.format(
        here=os.path.dirname(__file__), refused=refused, backend="threads" if refused else "", path=str(hundred)
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "done", done.stderr


REFUSED = """
import json, sys
sys.path.insert(0, {here!r})
import dataset_workers
dataset_workers.refuse_io_uring()
from shale import Dataset, io_backend
assert io_backend() == "threads"
ds = Dataset({path!r}, cache={cache!r}, verify=True)
rows = dataset_workers.rows_in_disorder(1000, 3000, 4)
print(json.dumps([dataset_workers.read_all(ds, rows, workers, "fork") for workers in (0, 2)]))
"""


@pytest.mark.parametrize("cache", ["keep", "direct"])
def test_where_the_kernel_refuses_io_uring_the_same_is_read(hundred, cache):
    import json

    script = REFUSED.format(here=os.path.dirname(__file__), path=str(hundred), cache=cache)
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    rows = rows_in_disorder(1000, 3000, 4)
    wanted = digests(Dataset(hundred).__getitems__(rows))
    assert json.loads(done.stdout) == [wanted, wanted]


# ---- descriptors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"cache": "direct"}, {"cache": "drop", "verify": True}], ids=["keep", "direct", "drop"])
def test_at_most_64_descriptors_whatever_is_read(hundred, more):
    ds = Dataset(hundred, **more)
    for at, row in enumerate(rows_in_disorder(1000, 2000, 5)):
        ds[row]
        if at % 50 == 0:
            assert len(open_files(hundred)) <= 64
    for batch in range(20):
        ds.__getitems__(rows_in_disorder(1000, 500, batch))
        assert len(open_files(hundred)) <= 64
    ds.column("label"), ds.find("7")
    assert 40 < len(open_files(hundred)) <= 64
    del ds
    assert open_files(hundred) == []


def test_at_most_64_descriptors_while_many_threads_read(hundred):
    ds = Dataset(hundred)
    most = []
    stop = threading.Event()

    def watch():
        while not stop.is_set():
            most.append(len(open_files(hundred)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for _ in pool.map(lambda seed: ds.__getitems__(rows_in_disorder(1000, 300, seed)), range(200)):
                pass
    finally:
        stop.set()
        watcher.join()
    print("most descriptors", max(most), "in", len(most), "looks")
    assert max(most) <= 64


def test_a_low_limit_on_descriptors_is_enough(hundred):
    """80 for the whole process, of which Python and numpy have some."""
    script = (
        "import resource, sys; sys.path.insert(0, sys.argv[2]); import dataset_workers, shale\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (len(dataset_workers.open_files()) + 66,) * 2)\n"
        "ds = shale.Dataset(sys.argv[1], verify=True)\n"
        "print(len(ds.__getitems__(dataset_workers.rows_in_disorder(1000, 5000, 6))))"
    )
    done = subprocess.run([sys.executable, "-c", script, hundred, os.path.dirname(__file__)], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"5000\n"
