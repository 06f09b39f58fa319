"""What shale.Dataset costs: memory that does not grow, page cache that is given back, and nothing but reading done to the files."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import dataset_workers
import pytest
import torch
import xxhash
from dataset_workers import InOrder, rows_in_disorder
from loader_sets import make_maps, packed

shale_package = pytest.importorskip("shale")
Dataset = shale_package.Dataset
MIB = 1 << 20
HERE = os.path.dirname(os.path.abspath(__file__))
# torch imports dill where it is installed, and that writes a file and removes it, to find a folder for temporary ones.
BASE = f"import json, os, sys; sys.modules['dill'] = None; sys.path.insert(0, {HERE!r}); import dataset_workers\n"
LARGE_SAMPLES = 3000


def run_python(script, *words, prefix=()):
    """What the script printed as JSON."""
    done = subprocess.run([*prefix, sys.executable, "-c", BASE + script, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def large():
    """3000 samples of 50 to 150 KB, 290 MiB, in 20 shards, on a disk."""
    from conftest import run_shale

    with tempfile.TemporaryDirectory(dir=os.environ.get("SHALE_TEST_DISK", "/var/tmp")) as folder:
        yield packed(run_shale, folder, LARGE_SAMPLES, 20, (50_000, 150_000))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    from conftest import run_shale

    return packed(run_shale, tmp_path_factory.mktemp("small"), 30_000, 3)


def forget(folder):
    """Has the page cache give up the files of a folder, so that reading them is charged to who reads."""
    for path in pathlib.Path(folder).iterdir():
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


# ---- 10^9 samples -------------------------------------------------------------------------------------------------------

OPEN_ONE = """
import time, numpy, shale
before, begin = dataset_workers.resident_bytes("VmHWM"), time.monotonic()
ds = shale.Dataset(sys.argv[1])
seconds = time.monotonic() - begin
rows = [0, 9_999, 10_000, 29_999]
labels = [sample["label"] for sample in ds.__getitems__(rows)] + [ds[29_999]["label"]]
grown = dataset_workers.resident_bytes("VmHWM") - before
try: ds[999_999_999]
except shale.errors.DamagedError as error: missing = error.file
print(json.dumps([len(ds), labels, os.path.basename(missing), grown, seconds]))
"""


def multiply(folder, out, shards):
    """A manifest of so many shards in the form of docs/manifest.md: those of `folder`, then repetitions of the first."""
    lines = (folder / "dataset.json").read_text().split("\n")
    begin, end = lines.index('"shards": [') + 1, lines.index("],", lines.index('"shards": ['))
    real, first = lines[begin:end], json.loads(lines[begin].rstrip(","))
    head = "\n".join(lines[:begin])
    for name, value in [("samples", shards * first["samples"]), ("shard_count", shards)]:
        head, count = re.subn(rf'(?m)^"{name}": \d+', f'"{name}": {value}', head)
        assert count == 1
    head, count = re.subn(r'(?m)^("source": .*"samples":)\d+', rf"\g<1>{shards * first['samples']}", head)
    assert count == 1
    form = json.dumps(first, separators=(",", ":")).replace("shard-000000", "shard-%06d")
    names = form.count("%06d")
    form = re.sub(r"%(?!06d)", "%%", form)
    with open(out / "dataset.json", "w") as file:
        hasher = xxhash.xxh3_128()

        def put(text):
            hasher.update(text.encode())
            file.write(text)

        put(head + "\n" + "\n".join(line.rstrip(",") + "," for line in real))
        for number in range(len(real), shards):
            put("\n" + form % ((number,) * names) + ("," if number < shards - 1 else ""))
        put('\n],\n"hash": "')
        hasher.update(b'"\n}\n')
        file.write(hasher.hexdigest() + '"\n}\n')


def test_a_billion_samples_in_a_hundred_thousand_shards_open_in_little_memory(small, tmp_path):
    for path in small.iterdir():
        if path.name != "dataset.json":
            (tmp_path / path.name).symlink_to(path)
    multiply(small, tmp_path, 100_000)
    samples, labels, missing, grown, seconds = run_python(OPEN_ONE, tmp_path)
    print(f"manifest of {(tmp_path / 'dataset.json').stat().st_size / MIB:.1f} MiB, opened in {seconds:.2f} s, peak grew {grown / MIB:.1f} MiB")
    assert (samples, labels, missing) == (1_000_000_000, [0, 9_999, 10_000, 29_999, 29_999], "shard-099999.index.npy")
    assert grown <= 32 * MIB


# ---- an epoch -----------------------------------------------------------------------------------------------------------


def resident(batch):
    return os.getpid(), dataset_workers.resident_bytes(), sum(len(sample["image"]) for sample in batch)


@pytest.mark.parametrize("more", [{}, {"cache": "drop", "verify": True}, {"cache": "direct"}], ids=["keep", "drop, verify", "direct"])
def test_workers_do_not_grow_over_an_epoch(large, more):
    """From 1 % to 100 %: what each of two workers has resident, batch by batch."""
    rows = rows_in_disorder(LARGE_SAMPLES, LARGE_SAMPLES, 8)
    loader = torch.utils.data.DataLoader(
        Dataset(large, **more), batch_sampler=InOrder(rows, 15), num_workers=2, multiprocessing_context="fork", collate_fn=resident
    )
    batches = list(loader)
    assert sum(size for _, _, size in batches) == sum(Dataset(large).column("image.length")) > 280 * MIB
    for worker in {pid for pid, _, _ in batches}:
        seen = [memory for pid, memory, _ in batches if pid == worker]
        print(f"worker: {seen[0] / MIB:.1f} MiB at first, {max(seen) / MIB:.1f} MiB at most")
        assert max(seen) - seen[0] <= 16 * MIB


# ---- a memory cgroup ----------------------------------------------------------------------------------------------------

IN_CGROUP = """
group, path, cache, workers = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
with open(group + "/cgroup.procs", "w") as procs: procs.write(str(os.getpid()))
import torch, shale
name = "file" if os.path.exists(group + "/memory.max") else "total_cache"
def charge():
    with open(group + "/memory.stat") as lines: facts = dict(line.split() for line in lines)
    return int(facts[name])
ds = shale.Dataset(path, cache=cache)
rows = dataset_workers.rows_in_disorder(len(ds), min(len(ds), 20_000), 9)
loader = torch.utils.data.DataLoader(ds, batch_sampler=dataset_workers.InOrder(rows, 15), num_workers=workers, collate_fn=len)
before, most, samples = charge(), 0, 0
for count in loader:
    samples += count
    most = max(most, charge())
print(json.dumps([samples, before, most]))
"""


@pytest.fixture
def cgroup():
    """A memory cgroup of 256 MiB."""
    for root, limit in [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")]:
        path = f"{root}/shale-test-{os.getpid()}"
        try:
            os.mkdir(path)
        except OSError:
            continue
        try:
            with open(f"{path}/{limit}", "r+") as file:
                file.write(str(256 * MIB))
            break
        except OSError:  # no memory controller behind this folder
            os.rmdir(path)
    else:
        pytest.skip("no memory cgroup can be made here: not root, or no memory controller")
    yield path
    os.rmdir(path)


def charges(cgroup, folder, cache, workers):
    forget(folder)
    samples, before, most = run_python(IN_CGROUP, cgroup, folder, cache, workers)
    print(f"{cache}, {workers} workers: file charge {before / MIB:.0f} MiB before, {most / MIB:.0f} MiB at most")
    return samples, most


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("cache", ["drop", "direct"])
def test_in_a_cgroup_little_is_charged_for_files(large, cgroup, cache, workers):
    samples, most = charges(cgroup, large, cache, workers)
    assert samples == LARGE_SAMPLES and most <= 128 * MIB


def test_in_a_cgroup_large_indexes_are_given_back_too(cgroup):
    """3.3 million samples of a few bytes: the indexes alone are 226 MiB, in shards of 4 MiB."""
    from conftest import run_shale

    with tempfile.TemporaryDirectory(dir=os.environ.get("SHALE_TEST_DISK", "/var/tmp")) as folder:
        path = packed(run_shale, folder, 3_300_000, 60, (4, 12))
        samples, most = charges(cgroup, path, "drop", 0)
        assert samples == 20_000 and most <= 128 * MIB


def test_the_measure_sees_what_is_kept(large, cgroup):
    """The control of the test above."""
    samples, most = charges(cgroup, large, "keep", 0)
    assert samples == LARGE_SAMPLES and most > 128 * MIB


# ---- nothing but reading ------------------------------------------------------------------------------------------------

READ_ALL = """
import shale
for path, more in json.loads(sys.argv[1]):
    print("reading", path, flush=True)
    ds = shale.Dataset(path, **more)
    rows = dataset_workers.rows_in_disorder(len(ds), 300, 10)
    samples = ds.__getitems__(rows)
    assert ds[rows[0]] == samples[0] and len(list(ds)) == len(ds)
    ds.column("label"), ds.find(ds[5]["key"])
    assert dataset_workers.forked(lambda: ds[7] == ds.__getitems__([7, 8])[0])
os.chdir("/")
print(json.dumps("read"))
"""


@pytest.fixture(scope="module")
def places(tmp_path_factory, shale):
    """A folder with datasets and files of others, and what to open in it."""
    from conftest import run_shale

    folder = tmp_path_factory.mktemp("places")
    make_maps(folder / "maps.lmdb", 80)
    make_maps(folder / "indexed.lmdb", 80)
    shale("index", folder / "indexed.lmdb", "--crc", "--parse", "msgpack")
    (folder / "kept").mkdir()
    shale("index", folder / "maps.lmdb", "--index-dir", folder / "kept", "--parse", "msgpack")
    (folder / "small").mkdir()
    opened = [(folder / "maps.lmdb", {"parse": "msgpack"}), (folder / "indexed.lmdb", {"verify": True})]
    opened += [(folder / "maps.lmdb", {"parse": "msgpack", "index_dir": str(folder / "kept"), "cache": "drop"})]
    for to in ("record", "lmdb", "hdf5"):
        (folder / to).mkdir()
        path = packed(run_shale, folder / to, 200, 4, to=to)
        opened += [(path, {"verify": True}), (path, {"cache": "drop"}), (path, {"cache": "direct"})]
    return folder, json.dumps([(str(path), more) for path, more in opened])


def listing(folder):
    return {path: (path.lstat().st_size, path.lstat().st_mtime_ns, path.lstat().st_ino) for path in sorted(folder.rglob("*"))}


READING_CALLS = {
    "open", "openat", "read", "pread64", "close", "fstat", "newfstatat", "stat", "lstat", "statx", "access", "faccessat", "faccessat2",
    "fadvise64", "lseek", "fcntl", "readlink", "readlinkat", "getdents64", "execve", "write",
}  # fmt: skip


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
def test_no_system_call_creates_locks_maps_or_unlinks(places, tmp_path):
    folder, opened = places
    before = listing(folder)
    trace = tmp_path / "trace"
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode:
        pytest.skip("strace may not trace here")
    assert run_python(READ_ALL, opened, prefix=["strace", "-f", "-y", "-qq", "-s", "0", "-e", "trace=!io_uring_enter", "-o", str(trace)]) == "read"
    calls = {}
    for line in trace.read_text().splitlines():
        found = re.match(r"\d+ +(\w+)\((.*)", line)
        if found:
            calls.setdefault(found[1], []).append(found[2])
    about = [(name, words) for name, lines in calls.items() for words in lines if str(folder) in words]
    assert len([words for name, words in about if name == "openat"]) > 20
    assert {name for name, _ in about if name != "execve"} <= READING_CALLS
    for name, words in about:
        if name in ("open", "openat"):
            assert "O_RDONLY" in words and "O_CREAT" not in words and "O_TRUNC" not in words, words
        if name == "fcntl":
            assert "LK" not in words, words
    for name in ("flock", "unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "ftruncate", "truncate", "link", "symlink"):
        assert name not in calls, calls[name]
    assert listing(folder) == before


ONE_BATCH = """
import shale
ds = shale.Dataset(sys.argv[1], ["image"], cache="drop")
ds[0], ds[1]
rows = [row * int(sys.argv[3]) for row in dataset_workers.rows_in_disorder(50, 50, 13)]
sys.stdout.flush(), os.mkdir(sys.argv[2])
ds.__getitems__(rows)
os.rmdir(sys.argv[2])
print(json.dumps(shale.io_backend()))
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
@pytest.mark.parametrize("step, requests", [(4, 50), (1, 2)])
def test_a_batch_is_read_in_the_order_of_the_disk_with_many_reads_in_flight(step, requests, tmp_path, shale):
    """50 samples in disorder: handed to the kernel at once, neighbours as one of up to 1 MiB, and given back in the order of their offsets."""
    from conftest import run_shale

    path = packed(run_shale, tmp_path, 200, 1, (20_000, 30_000))
    trace = tmp_path / "trace"
    words = ["strace", "-f", "-y", "-qq", "-o", str(trace), "-e", "trace=io_uring_enter,fadvise64,mkdir,rmdir"]
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode:
        pytest.skip("strace may not trace here")
    backend = run_python(ONE_BATCH, path, tmp_path / "mark", str(step), prefix=words)
    text = trace.read_text()
    batch = text[text.index("mkdir(") : text.index("rmdir(")]
    dropped = [int(offset) for offset in re.findall(r"fadvise64\(\d+<[^>]*tfrecord>, (\d+), \d+, POSIX_FADV_DONTNEED", batch)]
    assert 0 < len(dropped) <= 50 and dropped == sorted(dropped), "those that share a page at once"
    if backend == "io_uring":
        submitted = [int(count) for count in re.findall(r"io_uring_enter\(\d+<[^>]*>, (\d+)", batch)]
        print("submitted at once:", submitted)
        assert submitted.count(requests) == 1, "the samples; the rows of the index lie close together and are read as one"


def test_a_read_only_mount_is_enough(places):
    folder, opened = places
    script = f"mount --bind '{folder}' '{folder}' && mount -o remount,bind,ro '{folder}' && ! touch '{folder}/x' 2>/dev/null && exec \"$@\""
    prefix = ["unshare", "-m", "sh", "-c", script, "sh"]
    if subprocess.run([*prefix, "true"], capture_output=True).returncode:
        pytest.skip("no read-only mount can be made here: not root")
    assert run_python(READ_ALL, opened, prefix=prefix) == "read"
