"""The interpreter ends, and hears signals, while threads are inside shale."""

import signal
import subprocess
import sys

import lmdb
import numpy as np
import pytest
from conftest import ROOT, jpeg
from loader_sets import make_maps, packed

pytest.importorskip("shale")
import shale as package
from shale import errors

# ---- its end --------------------------------------------------------------------------------------------------------------

AT_WORK = """
import os, signal, sys, threading
import shale, shale.lmdb

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell ignores it
folder = sys.argv[1]
begun = threading.Barrier(4)

def read():
    ds = shale.Dataset(folder + "/out")
    while True:
        yield ds.__getitems__(range(40))

def decode():
    ds = shale.Dataset(folder + "/photos", decode="rgb8")
    while True:
        yield ds.__getitems__(range(20))

def look_up():
    key = shale.Dataset(folder + "/out")[7]["key"]
    while True:
        ds = shale.Dataset(folder + "/out")
        yield ds.column("label"), ds.find(key)

def map_of_keys():
    env = shale.lmdb.open(folder + "/maps.lmdb", subdir=False, readonly=True)
    while True:
        with env.begin() as txn:
            yield [txn.get(key) for key, value in txn.cursor()]

def refuse():
    while True:
        try:
            yield shale.Dataset(folder + "/nothing")
        except shale.Error:
            yield

def resample():
    turns = threading.Event()
    while True:
        options = dict(memory="16MiB", overwrite=True, progress=lambda done, total: turns.wait(0.0001))
        yield shale.resample(folder + "/x.npy", f"{folder}/{threading.get_ident()}.npy", **options)

def run(work):
    for turn, _ in enumerate(work):
        if turn == 1:
            begun.wait()

for _ in range(3):
    threading.Thread(target=run, args=[globals()[sys.argv[2]]()], daemon=True).start()
begun.wait()
"""
ENDS = {"exit": ("sys.exit(7)", 7), "end": ("", 0), "Ctrl-C": ("os.kill(os.getpid(), signal.SIGINT)\nwhile True: pass", -signal.SIGINT)}


@pytest.fixture(scope="module")
def sources(tmp_path_factory, photos, shale):
    folder = tmp_path_factory.mktemp("sources")
    make_maps(folder / "maps.lmdb", 60)
    shale("convert", folder / "maps.lmdb", folder / "out", "--to", "record", "--parse", "msgpack")
    shale("convert", photos, folder / "photos", "--to", "record")
    np.save(folder / "x.npy", np.zeros((200_000, 4)))
    return folder


@pytest.mark.parametrize(
    ("work", "end"),
    [("read", "exit"), ("read", "Ctrl-C"), ("decode", "end"), ("look_up", "end"), ("map_of_keys", "exit"), ("refuse", "exit"), ("resample", "exit")],
)
def test_the_exit_code_is_the_one_asked_for(sources, work, end):
    """Findings C1: threads that wanted the interpreter's lock back when it had ended took the whole process with them."""
    how, code = ENDS[end]
    run = subprocess.run([sys.executable, "-c", AT_WORK + how, str(sources), work], capture_output=True, text=True, timeout=300)
    assert run.returncode == code, run.stderr
    assert "terminate" not in run.stderr and "FATAL" not in run.stderr


def test_all_bindings_go_through_one_guard():
    """Only bindings/interpreter.* gives the lock back, takes it, imports or calls what is Python code."""
    calls = ["gil_scoped", "PyEval_", "PyGILState", "import_(", "PyImport_", "PyObject_Call", "PyErr_CheckSignals"]
    for path in sorted((ROOT / "python/bindings").glob("*.?pp")):
        if path.stem == "interpreter":
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert "or_parked" in line or not any(call in line for call in calls), f"{path}:{number}: {line}"


# ---- signals --------------------------------------------------------------------------------------------------------------


class Heard(Exception):
    pass


def raises_when_interrupted(act, function):
    """What `act` raises if signals come all the time, and their handler raises in `function` alone."""

    def hear(signum, frame):
        if frame.f_code is function.__code__:
            raise Heard

    before = signal.signal(signal.SIGALRM, hear)
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
    try:
        act()
    except (Heard, errors.Error) as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def broken_at_its_end(tmp_path_factory, shale):
    """A dataset whose last shard is missing: whoever reads all of it comes to an error."""
    path = packed(shale, tmp_path_factory.mktemp("broken"), 140_000, 2, sizes=(1, 3))
    for file in path.glob("shard-000001.*"):
        file.unlink()
    return path


LONG_CALLS = {
    "rows": (lambda ds: ds.__getitems__(range(69_000, 71_000)), package.Dataset._read_through),
    "find": (lambda ds: ds.find("none"), package.Dataset.find),
    "column": (lambda ds: ds.column("label"), package.Dataset.column),
}


@pytest.mark.parametrize(("act", "function"), LONG_CALLS.values(), ids=LONG_CALLS)
def test_a_signal_is_heard_in_the_middle_of_a_call(broken_at_its_end, act, function):
    """Findings C7. Without a look at the signals on the way, the error of the last shard comes first."""
    ds = package.Dataset(broken_at_its_end)
    assert isinstance(raises_when_interrupted(lambda: act(ds), function), Heard)
    with pytest.raises(errors.Error):
        act(ds)


def test_a_signal_is_heard_between_two_images(tmp_path):
    path = tmp_path / "photos.lmdb"
    with lmdb.open(str(path), subdir=False, map_size=1 << 24) as env, env.begin(write=True) as txn:
        for row in range(201):  # the last one is cut
            txn.put(b"%03d" % row, jpeg(3)[: None if row < 200 else -200])
    ds = package.Dataset(path, decode="rgb8")
    assert isinstance(raises_when_interrupted(lambda: ds.__getitems__(range(201)), package.Dataset._read_through), Heard)
    with pytest.raises(errors.ContentError):
        ds.__getitems__(range(201))
