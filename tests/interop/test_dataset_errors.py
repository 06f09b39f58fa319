"""What is damaged, cut, missing or another one raises, and says where: file, offset, shard, sample and key as attributes."""

import copy
import json
import os
import pickle
import shutil
import subprocess
import sys
import traceback

import numpy as np
import pytest
import torch
from dataset_reading import index_of, manifest_of, shard_file_of
from loader_sets import key_of, make_maps, map_of

shale_package = pytest.importorskip("shale")
from shale import Dataset, errors

ROWS, SHARD_ROWS = 60, 25
VICTIM = 31  # row 6 of shard-000001
CACHES = ["keep", "drop", "direct"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory, shale):
    folder = tmp_path_factory.mktemp("whole")
    make_maps(folder / "maps.lmdb", ROWS)
    shale("convert", folder / "maps.lmdb", folder / "out", "--to", "record", "--parse", "msgpack", "--shard-samples", str(SHARD_ROWS))
    return folder / "out"


@pytest.fixture
def victim(whole, tmp_path):
    """A copy to be damaged: its folder, the data file of shard 1, and the place of each field of row VICTIM."""
    shutil.copytree(whole, tmp_path / "out")
    shard = manifest_of(tmp_path / "out")["shards"][1]
    row = index_of(tmp_path / "out", shard)[VICTIM - SHARD_ROWS]
    places = {name: (int(row[name + ".offset"]), int(row[name + ".length"])) for name in ("key", "image", "caption", "frames")}
    assert all(length for _, length in places.values())
    return tmp_path / "out", shard_file_of(tmp_path / "out", shard), places


def flip(path, offset, mask=0xFF):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ mask]))
        file.flush()
        os.fsync(file.fileno())


def check(error, file, offset=None, key=True):
    """The error names the victim in every attribute, also behind pickle, which brings it from a worker process."""
    for seen in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (seen.file, seen.sample, seen.shard) == (str(file), VICTIM, "shard-000001")
        if key:
            assert os.fsencode(seen.key) == key_of(VICTIM)
        if offset is not None:
            assert seen.offset == offset
        assert seen.hint and str(file) in str(seen) and seen.hint in str(seen)


READS = {
    "alone": lambda ds: ds[VICTIM],
    "in a batch": lambda ds: ds.__getitems__([2, VICTIM, 59, VICTIM, 0]),
}


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("field", ["image", "caption", "frames"])
def test_a_flipped_byte_is_found_where_it_is(victim, field, read, cache):
    folder, file, places = victim
    offset, length = places[field]
    flip(file, offset + length - 1)
    with pytest.raises(errors.DamagedError, match="checksum") as caught:
        read(Dataset(folder, verify=True, cache=cache))
    check(caught.value, file, offset)
    with pytest.raises(errors.DamagedError):
        Dataset(folder, [field], verify=True, cache=cache)[VICTIM]
    others = Dataset(folder, verify=True, cache=cache)
    assert len(others.__getitems__([row for row in range(ROWS) if row != VICTIM])) == ROWS - 1


def test_without_verify_bytes_are_taken_as_they_lie(victim):
    folder, file, places = victim
    flip(file, places["image"][0], 1)
    ds = Dataset(folder, verify=False)
    damaged, sound = ds[VICTIM]["image"], ds[VICTIM + 1]["key"]
    assert damaged[0] ^ 1 == map_of(VICTIM)["image"][0] and sound


@pytest.mark.parametrize("field", ["caption", "frames"])
def test_bytes_that_no_longer_make_a_value_are_damage_with_the_sample(victim, field):
    """Text that is not UTF-8, a list whose framing leads out of it: also without verify."""
    folder, file, places = victim
    for at in range(2):
        flip(file, places[field][0] + at, 0x80)
    with pytest.raises(errors.DamagedError) as caught:
        Dataset(folder, verify=False)[VICTIM]
    check(caught.value, file, places[field][0])


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("fields", [None, ["image"]], ids=["all", "image"])
def test_a_file_that_is_cut_while_open_raises(victim, read, cache, fields):
    folder, file, places = victim
    ds = Dataset(folder, fields, cache=cache)
    before, behind = ds[VICTIM - 1], ds[VICTIM + 1]
    offset, length = places["image"]
    os.truncate(file, offset + length // 2)
    with pytest.raises(errors.DamagedError) as caught:
        read(ds)
    check(caught.value, file, key=fields is None and places["key"][0] < offset)
    assert ds[VICTIM - 1] == before
    with pytest.raises(errors.DamagedError):
        ds[VICTIM + 1]
    assert behind


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("size", [0, 4096, 4097])
def test_a_file_cut_to_a_page_or_nothing_raises_in_every_way_of_reading(victim, cache, size):
    folder, file, _ = victim
    ds = Dataset(folder, cache=cache)
    sound = ds[0]
    ds[VICTIM]
    os.truncate(file, size)
    for read in READS.values():
        with pytest.raises(errors.DamagedError) as caught:
            read(ds)
        check(caught.value, file, key=False)
    assert ds[0] == sound


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_file_that_was_cut_before_raises_when_it_is_touched(victim, read):
    folder, file, _ = victim
    os.truncate(file, file.stat().st_size - 1)
    ds = Dataset(folder)
    assert ds[0] and len(ds) == ROWS
    with pytest.raises(errors.DamagedError) as caught:
        read(ds)
    check(caught.value, file, key=False)


def test_a_file_that_is_gone_raises_when_it_is_touched(victim):
    folder, file, _ = victim
    file.unlink()
    ds = Dataset(folder)
    assert ds[0]
    with pytest.raises(errors.Error) as caught:
        ds[VICTIM]
    assert (caught.value.file, caught.value.shard, caught.value.sample) == (str(file), "shard-000001", VICTIM)


# ---- the index ----------------------------------------------------------------------------------------------------------


def edit_index(path, name, value):
    index = np.load(path, mmap_mode="r+")
    index[VICTIM - SHARD_ROWS][name] = value
    index.flush()


@pytest.mark.parametrize(("name", "value"), [("image.length", 1 << 40), ("image.offset", 1 << 62), ("key.length", (1 << 64) - 1), ("frames.offset", (1 << 64) - 2)])
def test_an_index_that_points_outside_is_damage(victim, name, value):
    folder, file, _ = victim
    index = folder / "shard-000001.index.npy"
    edit_index(index, name, value)
    for read in READS.values():
        with pytest.raises(errors.DamagedError) as caught:
            read(Dataset(folder, verify=False))
        check(caught.value, index, key=False)
    assert Dataset(folder, verify=False)[VICTIM + 1]
    with pytest.raises(errors.DamagedError, match="file hash mismatch"):
        Dataset(folder)[VICTIM + 1]


def test_an_index_row_without_a_value_gives_none(victim):
    folder, _, _ = victim
    for name, value in [("offset", (1 << 64) - 1), ("length", 0)]:
        edit_index(folder / "shard-000001.index.npy", "image." + name, value)
    assert Dataset(folder, verify=False)[VICTIM]["image"] is None


@pytest.mark.parametrize("size", [0, 5, 127, -1], ids=["empty", "magic cut", "header cut", "last byte cut"])
def test_an_index_that_is_cut_is_damage(victim, size):
    folder, _, _ = victim
    index = folder / "shard-000001.index.npy"
    os.truncate(index, size if size >= 0 else index.stat().st_size - 1)
    ds = Dataset(folder)
    with pytest.raises(errors.DamagedError) as caught:
        ds[VICTIM]
    check(caught.value, index, key=False)
    with pytest.raises(errors.DamagedError):
        ds.column("label")


def test_an_index_that_is_cut_while_open_is_damage(victim):
    folder, _, _ = victim
    ds = Dataset(folder)
    ds[VICTIM]
    os.truncate(folder / "shard-000001.index.npy", (folder / "shard-000001.index.npy").stat().st_size - 150)
    for read in [lambda: ds[49], lambda: ds.__getitems__([48, 49]), lambda: ds.column("label")]:
        with pytest.raises(errors.DamagedError) as caught:
            read()
        assert caught.value.file == str(folder / "shard-000001.index.npy")


def test_an_index_of_another_schema_is_damage(victim, photos, shale, tmp_path):
    folder, _, _ = victim
    shale("convert", photos, tmp_path / "other", "--to", "record")
    shutil.copy(tmp_path / "other/shard-000000.index.npy", folder / "shard-000001.index.npy")
    with pytest.raises(errors.DamagedError) as caught:
        Dataset(folder)[VICTIM]
    check(caught.value, folder / "shard-000001.index.npy", key=False)


# ---- the manifest -------------------------------------------------------------------------------------------------------


def test_a_manifest_with_any_wrong_byte_is_damage(victim):
    folder, _, _ = victim
    path = folder / "dataset.json"
    text = path.read_bytes()
    for at in [1, len(text) // 2, len(text) - 20]:
        path.write_bytes(text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :])
        with pytest.raises(errors.DamagedError, match="dataset.json"):
            Dataset(folder)
    for size in [0, 10, len(text) - 1]:
        path.write_bytes(text[:size])
        with pytest.raises(errors.DamagedError, match="dataset.json"):
            Dataset(folder)


def test_what_is_no_dataset_is_refused_by_name(victim, tmp_path):
    folder, _, _ = victim
    (folder / "dataset.json").unlink()
    with pytest.raises(errors.MismatchError, match="holds shards, but no dataset.json"):
        Dataset(folder)
    (folder / ".shale").mkdir()
    (folder / ".shale/lock").write_text("shale works here: this folder goes when its run ends\n")
    with pytest.raises(errors.MismatchError, match="unfinished"):
        Dataset(folder)
    with pytest.raises(errors.NotFoundError):
        Dataset(tmp_path / "nowhere")
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").mkdir()
    for path in ("text", "empty"):
        with pytest.raises(errors.UnsupportedError):
            Dataset(tmp_path / path)


def test_a_dataset_that_was_replaced_is_not_mixed_with_the_old_one(victim, photos, shale):
    folder, _, _ = victim
    ds = Dataset(folder)
    fresh = Dataset(folder)
    ds[0]
    shale("convert", photos, folder, "--to", "record", "--overwrite")
    with pytest.raises(errors.MismatchError):
        fresh[0]
    with pytest.raises(errors.Error):
        ds[VICTIM]


def test_arguments_that_are_off_are_refused(victim):
    folder, _, _ = victim
    for more in [{"cache": "all"}, {"decode": "jpeg"}, {"decode": {"label": "pil"}}, {"parse": "json"}]:
        with pytest.raises(errors.UsageError):
            Dataset(folder, **more)


# ---- workers ------------------------------------------------------------------------------------------------------------


def test_a_worker_hands_the_error_to_the_training_loop(victim):
    folder, file, places = victim
    flip(file, places["image"][0])
    loader = torch.utils.data.DataLoader(Dataset(folder, ["image", "label"], verify=True), batch_size=4, num_workers=1)
    with pytest.raises(errors.DamagedError, match=f"{file}(.|\n)*sample {VICTIM}|{file}(.|\n)*sample") as caught:
        for _ in loader:
            pass
    traceback.clear_frames(caught.tb)  # they hold the iterator, and it the worker


# ---- the second look ----------------------------------------------------------------------------------------------------

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
/* The page cache that is wrong where the disk is right: reads through it that begin at WRONG_OFFSET get one bit flipped. */
static ssize_t spoil(const char* name, int fd, void* into, size_t size, off_t offset) {
  ssize_t (*real)(int, void*, size_t, off_t) = (ssize_t (*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, name);
  ssize_t got = real(fd, into, size, offset);
  const char* wrong = getenv("WRONG_OFFSET");
  if (wrong && got > 0 && offset == atoll(wrong) && !(fcntl(fd, F_GETFL) & O_DIRECT)) *(char*)into ^= 1;
  return got;
}
ssize_t pread(int fd, void* into, size_t size, off_t offset) { return spoil("pread", fd, into, size, offset); }
ssize_t pread64(int fd, void* into, size_t size, off_t offset) { return spoil("pread64", fd, into, size, offset); }
"""

READ_ONE = """
import json, sys
from shale import Dataset
path, verify, row = json.loads(sys.argv[1])
print(Dataset(path, ["image"], verify=verify)[row]["image"].hex())
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_wrong_page_cache_is_read_around(victim, tmp_path):
    """A value whose checksum is wrong is read once more, past the cache."""
    folder, file, places = victim
    (tmp_path / "shim.c").write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "shim.so", tmp_path / "shim.c", "-ldl"], check=True)
    fd = os.open(file, os.O_RDONLY)
    try:
        os.set_blocking(fd, True)
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_DIRECT)
    except OSError:
        pytest.skip("no direct reads on this file system: the second look cannot be told from the first")
    finally:
        os.close(fd)
    preloads = f"{os.environ.get('LD_PRELOAD', '')} {tmp_path / 'shim.so'}".strip()  # a sanitizer's runtime comes first
    environment = {**os.environ, "LD_PRELOAD": preloads, "WRONG_OFFSET": str(places["image"][0])}

    def read(verify):
        words = [sys.executable, "-c", READ_ONE, json.dumps([str(folder), verify, VICTIM])]
        return bytes.fromhex(subprocess.run(words, env=environment, check=True, capture_output=True).stdout.decode())

    with open(file, "rb") as data:
        data.seek(places["image"][0])
        right = data.read(places["image"][1])
    assert read(verify=True) == right
    assert read(verify=False) == bytes([right[0] ^ 1]) + right[1:], "the shim spoils nothing: this proves nothing"
