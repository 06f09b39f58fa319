"""Files that py-lmdb and h5py made: shale indexes them as they are, and finds in them what those libraries find."""

import json

import foreign_files
import numpy as np
import pytest
from conftest import run_shale
from dataset_reading import index_of, manifest_of, rows_of, shard_file_of


@pytest.fixture(scope="module", params=foreign_files.MAKERS, ids=lambda maker: maker.__name__)
def foreign(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("foreign"))


@pytest.fixture(scope="module")
def indexed(foreign, shale):
    """With its index beside it."""
    shale("index", foreign.file, *foreign.options)
    return foreign


def beside(file, suffix):
    return file.with_name(file.name + suffix)


def load_index(file):
    return np.load(beside(file, ".index.npy"), mmap_mode="r")


def expected_rows(foreign):
    """What each row of the index must give: the fields, and the key where there is one."""
    return [
        sample | ({} if foreign.keys is None else {"key": foreign.keys[row]}) for row, sample in enumerate(foreign.samples)
    ]


def test_the_index_finds_every_field_of_every_sample(indexed):
    index = load_index(indexed.file)
    assert len(index) == len(indexed.samples) >= 26
    assert list(rows_of(indexed.file, index)) == expected_rows(indexed)


def test_without_reading_the_payload_there_are_no_checksums(indexed):
    assert not [name for name in load_index(indexed.file).dtype.names if name.endswith(".crc32c")]
    assert not beside(indexed.file, ".blocks.npy").exists()


def test_indexing_changes_nothing_and_leaves_two_files(foreign, shale, tmp_path):
    copy = tmp_path / foreign.file.name
    copy.write_bytes(foreign.file.read_bytes())
    shale("index", copy, *foreign.options)
    assert {path.name for path in tmp_path.iterdir()} == {copy.name, copy.name + ".index.npy", copy.name + ".dataset.json"}
    assert copy.read_bytes() == foreign.file.read_bytes()


def test_the_index_can_lie_elsewhere(indexed, shale, tmp_path):
    elsewhere = tmp_path / "made" / "by shale"
    shale("index", indexed.file, "--index-dir", elsewhere, *indexed.options)
    name = indexed.file.name
    assert {path.name for path in elsewhere.iterdir()} == {name + ".index.npy", name + ".dataset.json"}
    assert (elsewhere / (name + ".index.npy")).read_bytes() == beside(indexed.file, ".index.npy").read_bytes()


def test_info_says_what_it_is(indexed, shale):
    info = json.loads(shale("info", indexed.file, "--json"))
    assert (info["format"], info["samples"]) == (indexed.format, len(indexed.samples))
    assert {field["name"] for field in info["fields"]} == set(indexed.samples[0])


def test_verify_finds_nothing_wrong(indexed, shale):
    shale("verify", indexed.file)


@pytest.mark.parametrize("row", [0, 1, 12, -1])
def test_cat_writes_a_field(row, indexed):
    row %= len(indexed.samples)
    for name, value in expected_rows(indexed)[row].items():
        out = run_shale("cat", indexed.file, str(row), "--field", name).stdout
        if name == "key":
            assert out == value + b"\n"
        elif isinstance(value, bytes):
            assert out == value
        else:
            assert type(value)(out) == value


def test_converted_to_record_the_samples_are_the_same(indexed, shale, tmp_path):
    shale("convert", indexed.file, tmp_path / "out", "--to", "record", *indexed.options)
    shards = manifest_of(tmp_path / "out")["shards"]
    found = [
        values for shard in shards for values in rows_of(shard_file_of(tmp_path / "out", shard), index_of(tmp_path / "out", shard))
    ]
    if indexed.keys is None:
        assert len({values.pop("key") for values in found}) == len(indexed.samples)  # shale gave each one a key
    assert found == expected_rows(indexed)
    shale("verify", tmp_path / "out")


def test_the_index_of_a_file_that_changed_is_not_believed(foreign, shale, tmp_path):
    """Refused, or the index made anew: never the bytes at an old place."""
    copy = tmp_path / foreign.file.name
    copy.write_bytes(foreign.file.read_bytes())
    shale("index", copy, *foreign.options)
    with open(copy, "ab") as file:
        file.write(bytes(1 << 20))
    name = next(iter(foreign.samples[0]))
    done = run_shale("cat", copy, "12", "--field", name, code=(0, 1, 3))
    assert done.returncode != 0 or done.stdout == foreign.samples[12][name]


@pytest.mark.parametrize("maker", [foreign_files.hdf5_gzip, foreign_files.hdf5_automatic_chunks], ids=lambda maker: maker.__name__)
def test_what_cannot_be_located_is_refused_by_name(maker, tmp_path):
    path = maker(tmp_path)
    refused = run_shale("index", path, code=1)
    assert b"pictures" in refused.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
