"""Readers that people wrote for py-lmdb run over shale.lmdb unchanged, in 0 and 2 workers, with flat memory and clean hands."""

import json
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys

import msgpack
import pytest
import shale.lmdb as ours
from conftest import jpeg
from lmdb_files import write_lmdb

USER = pathlib.Path(__file__).with_name("lmdb_user.py")
MIB = 1 << 20


def child(*words, cwd, prefix=()):
    done = subprocess.run([*prefix, sys.executable, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def pictures(count):
    return [jpeg(seed) for seed in range(count)]


def write_folder2lmdb(folder):
    entries = {b"%d" % i: pickle.dumps((picture, i % 3)) for i, picture in enumerate(pictures(30))}
    keys = list(entries)
    return write_lmdb(folder / "train.lmdb", {**entries, b"__keys__": pickle.dumps(keys), b"__len__": pickle.dumps(len(keys))})


def write_coclr(folder):
    videos = {b"%09d" % i: msgpack.dumps(pictures(2 + i % 4)) for i in range(12)}
    names = [b"Class%d/v_%02d" % (i % 3, i) for i in range(12)]
    meta = {b"__order__": names, b"__keys__": list(videos), b"__len__": len(videos), b"__vlen__": [2 + i % 4 for i in range(12)]}
    return write_lmdb(folder / "videos.lmdb", {**videos, **{key: msgpack.dumps(value) for key, value in meta.items()}})


def write_tensorpack(folder):
    entries = {b"%08d" % i: pickle.dumps([picture, i]) for i, picture in enumerate(pictures(30))}
    return write_lmdb(folder / "train.lmdb", {**entries, b"__keys__": pickle.dumps(list(entries))})


def write_lsun(folder):
    for name, count in (("bedroom", 14), ("tower", 9)):
        entries = {os.urandom(20).hex().encode(): picture for picture in pictures(count)}
        write_lmdb(folder / f"{name}_train_lmdb", entries, subdir=True)
    return str(folder)


WRITERS = {"folder2lmdb": write_folder2lmdb, "lazy": write_folder2lmdb, "eager": write_folder2lmdb, "coclr": write_coclr, "tensorpack": write_tensorpack, "lsun": write_lsun}  # fmt: skip
SENT = {"folder2lmdb": "spawn", "coclr": "forkserver"}  # an open transaction cannot be sent to another process
SAMPLES = {"folder2lmdb": 30, "lazy": 30, "eager": 30, "coclr": 12, "tensorpack": 30, "lsun": 23}


@pytest.mark.parametrize("reader", WRITERS)
def test_a_reader_gives_over_shale_what_it_gives_over_py_lmdb(reader, tmp_path):
    data, work = tmp_path / "data", tmp_path / "work"
    data.mkdir()
    path = WRITERS[reader](data)
    before = {file: file.stat().st_mtime_ns for file in data.rglob("*")}

    def read(*words):
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        return json.loads(child(USER, words[0], reader, path, *words[1:], cwd=work))

    wanted = read("real", 0)
    assert len(wanted[0]) == SAMPLES[reader] and wanted[0] == wanted[1]
    assert read("shale", 0) == wanted
    if reader == "tensorpack":  # its workers would each read all of it
        return
    assert read("shale", 2, "fork") == wanted
    if reader in SENT:
        assert read("shale", 2, SENT[reader]) == wanted
    assert {file: file.stat().st_mtime_ns for file in data.rglob("*")} == before


def test_install_comes_before_lmdb_or_says_so(tmp_path):
    after = "import lmdb, shale.lmdb\ntry: shale.lmdb.install()\nexcept RuntimeError as error: print(error)"
    assert "lmdb is already imported" in child("-c", after, cwd=tmp_path)
    first = "import shale.lmdb as s; s.install(); s.install(); import lmdb; print(lmdb is s, lmdb.open is s.Environment)"
    assert child("-c", first, cwd=tmp_path) == "True True\n"


# ---- pickles and processes

def test_environments_pickle_and_open_where_they_are_used(tmp_path):
    path = write_lmdb(tmp_path / "a.lmdb", {b"k": b"v"})
    env = ours.open(path, subdir=False, readonly=True, lock=False, readahead=False, max_readers=9)
    again = pickle.loads(pickle.dumps(env))
    assert again.flags() == env.flags() and again.info() == env.info() and again.begin().get(b"k") == b"v"
    text = pickle.dumps(env)
    os.unlink(path)
    with pytest.raises(ours.Error, match="No such file"):
        pickle.loads(text).begin()
    for thing in (env.begin(), env.begin().cursor()):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(thing)


def in_forked_child(act):
    """What `act` returns in a child of fork(), where no thread of the parent lives on."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write_end, pickle.dumps(act()))
        finally:
            os._exit(0)
    os.close(write_end)
    with open(read_end, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(answer)


def test_what_was_begun_before_a_fork_goes_on_in_both_processes(tmp_path):
    entries = {b"%05d" % i: b"%d" % i * 300 for i in range(3000)}
    env = ours.open(write_lmdb(tmp_path / "a.lmdb", entries), subdir=False, readonly=True, lock=False)
    txn = env.begin()
    cursor = txn.cursor()
    cursor.set_key(b"01000")

    def read():
        own = env.begin()
        all_equal = all(txn.get(key) == own.get(key) == value for key, value in entries.items())
        return all_equal, [key for key, _ in cursor.iternext()]

    expected = (True, sorted(entries)[1000:])
    assert in_forked_child(read) == expected
    assert in_forked_child(read) == expected
    assert read() == expected


# ---- what the system sees

READ_ALL = """
import random, sys
path, kind = sys.argv[1:]
if kind == "shale":
    import shale.lmdb as lmdb
else:
    import lmdb
def resident(): return int(open("/proc/self/statm").read().split()[1]) * 4096
before = most = resident()
env = lmdb.open(path, subdir=False, readonly=True, lock=False, readahead=False)
with env.begin() as txn:
    keys = list(txn.cursor().iternext(values=False))
    random.Random(3).shuffle(keys)
for count, key in enumerate(keys):
    with env.begin() as txn: txn.get(key)
    if count % 50 == 0: most = max(most, resident())
print(max(most, resident()) - before)
"""


def test_the_resident_set_stays_flat_over_an_epoch(tmp_path):
    path = write_lmdb(tmp_path / "a.lmdb", ((b"%08d" % i, os.urandom(100_000)) for i in range(2000)))
    assert os.path.getsize(path) > 190 * MIB
    growth = {kind: int(child("-c", READ_ALL, path, kind, cwd=tmp_path)) for kind in ("shale", "real")}
    print(growth)
    assert growth["shale"] <= 16 * MIB
    assert growth["real"] > 64 * MIB  # else the test would see nothing


def test_nothing_is_made_locked_mapped_or_unlinked(tmp_path):
    if shutil.which("strace") is None:
        pytest.skip("no strace: tests/install-deps.sh --ci installs it")
    data = tmp_path / "data"
    data.mkdir()
    path = write_lmdb(data / "a.lmdb", {b"%05d" % i: b"x" * (i * 3 % 5000) for i in range(500)})
    log = tmp_path / "strace.log"
    child("-c", READ_ALL, path, "shale", cwd=tmp_path, prefix=("strace", "-f", "-y", "-o", log))
    lines = [line for line in log.read_text().splitlines() if str(data) in line and "execve(" not in line]
    calls = {match[1] for line in lines if (match := re.match(r"\d+\s+(\w+)\(", line))}
    assert "pread64" in calls and len(lines) > 1000
    assert calls <= {"openat", "stat", "newfstatat", "fstat", "statx", "fadvise64", "pread64", "close"}
    assert all("O_RDONLY" in line and "O_CREAT" not in line for line in lines if "openat(" in line)
    assert os.listdir(data) == ["a.lmdb"]
