"""py-lmdb and msgpack open an lmdb shard, read every sample byte-equal in forked workers, and can write to a copy of it."""

import shutil

import lmdb
import msgpack
import pytest
from dataset_reading import index_of, manifest_of, rows_of, shard_file_of
from documented_code import blocks_of, bytes_left_by
from forked_workers import Shards, read_in_two_workers

SLACK = 64 << 10  # what a file system may round and keep for itself


@pytest.fixture(scope="module")
def lmdb_dataset(photos, shale, tmp_path_factory):
    """`photos` as lmdb shards, several of them."""
    out = tmp_path_factory.mktemp("lmdb") / "out"
    shale("convert", photos, out, "--to", "lmdb", "--shard-samples", "25")
    return out


@pytest.fixture(scope="module")
def files(lmdb_dataset):
    return [shard_file_of(lmdb_dataset, shard) for shard in manifest_of(lmdb_dataset)["shards"]]


@pytest.fixture(scope="module")
def lengths(lmdb_dataset):
    return [shard["samples"] for shard in manifest_of(lmdb_dataset)["shards"]]


def open_env(path, **more):
    return lmdb.open(str(path), subdir=False, readonly=True, lock=False, **more)


class LmdbShard:
    """One shard as its users read it."""

    def __init__(self, path, readahead, raw):
        self.env, self.raw = open_env(path, readahead=readahead), raw

    def __getitem__(self, row):
        with self.env.begin() as txn:
            value = msgpack.unpackb(txn.get(b"%08d" % row), raw=self.raw)
        return tuple(value[name.encode() if self.raw else name] for name in ("key", "label", "image"))


def entries(path):
    with open_env(path) as env, env.begin() as txn:
        return list(txn.cursor())


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("readahead", [False, True])
def test_two_forked_workers_read_every_sample(readahead, raw, files, lengths, listed):
    shards = Shards(files, lambda path: LmdbShard(path, readahead, raw), lengths)
    assert read_in_two_workers(shards) == listed
    assert len(files) == 3


def test_keys_are_ordinals_that_begin_again_in_each_shard(files, lengths):
    for path, samples in zip(files, lengths):
        assert [key for key, _ in entries(path)] == [b"%08d" % row for row in range(samples)]


def test_values_are_maps_of_key_image_and_label_and_of_no_other_types(files):
    for path in files:
        for _, value in entries(path):
            assert [(name, type(member)) for name, member in msgpack.unpackb(value).items()] == [
                ("key", bytes), ("image", bytes), ("label", int),
            ]  # fmt: skip


def test_the_index_finds_what_py_lmdb_finds(lmdb_dataset):
    for shard in manifest_of(lmdb_dataset)["shards"]:
        file = shard_file_of(lmdb_dataset, shard)
        by_index = list(rows_of(file, index_of(lmdb_dataset, shard)))
        assert by_index == [msgpack.unpackb(value) for _, value in entries(file)]


def test_the_statistics_fit(files, lengths):
    for path, samples in zip(files, lengths):
        with open_env(path) as env:
            assert env.stat()["entries"] == samples
            assert env.stat()["psize"] == 4096
            assert (env.info()["last_pgno"] + 1) * 4096 == path.stat().st_size  # cut to its data: no slack behind it


def test_no_file_is_sparse(files):
    for path in files:
        found = path.stat()
        assert found.st_blocks * 512 >= found.st_size - SLACK, path


def test_reading_leaves_no_lock_file(files, lmdb_dataset):
    for path in files:
        entries(path)
    shards = [path.name.removesuffix(".lmdb") for path in files]
    expected = {shard + suffix for shard in shards for suffix in (".lmdb", ".index.npy", ".blocks.npy")}
    assert {path.name for path in lmdb_dataset.iterdir()} - {"images.csv"} == expected | {"dataset.json"}


def test_py_lmdb_can_write_to_a_copy(files, tmp_path):
    """Overwrites, deletes, inserts in front, between and behind, grows and shrinks: the tree and its free pages must be sound."""
    copy = tmp_path / "copy.lmdb"
    shutil.copyfile(files[0], copy)
    expected = dict(entries(copy))
    changes = {b"00000003": b"", b"00000004": b"x" * 3000, b"00000005": b"y" * 300_000, b"!": b"first", b"00000007a": b"between"}
    changes |= {b"zz%05d" % number: b"v" * (number % 5000) for number in range(2000)}
    gone = [b"00000000", b"00000011", b"00000024"]
    with lmdb.open(str(copy), subdir=False, map_size=1 << 30) as env:
        for key in gone:
            with env.begin(write=True) as txn:  # one transaction each: pages are freed, and used again by the next
                assert txn.delete(key)
            del expected[key]
        for key, value in changes.items():
            expected[key] = value
        with env.begin(write=True) as txn:
            for key, value in changes.items():
                assert txn.put(key, value)
        with env.begin(write=True) as txn:
            for key in [key for key in expected if key.startswith(b"zz")][::2]:
                assert txn.delete(key)
                del expected[key]
    assert dict(entries(copy)) == expected
    assert [key for key, _ in entries(copy)] == sorted(expected)


def test_a_compacting_copy_holds_the_same_entries(files, tmp_path):
    for number, path in enumerate(files):
        copy = tmp_path / f"{number}.lmdb"
        with open_env(path) as env:
            env.copy(str(copy), compact=True)
        assert entries(copy) == entries(path)


@pytest.mark.parametrize("block", blocks_of(["formats/lmdb/FORMAT.md"], "py-lmdb-lines"))
def test_the_lines_in_the_document_read_a_sample(block, lmdb_dataset, listed, tmp_path):
    read = bytes_left_by(block, lmdb_dataset, tmp_path)
    assert read & {image for _, _, image in listed}, "no variable holds the bytes of an image of the dataset"
