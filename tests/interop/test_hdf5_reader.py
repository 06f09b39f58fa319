"""Plain h5py opens an hdf5 shard and reads every sample byte-equal, in workers that opened it before and after the fork."""

import time

import h5py
import numpy as np
import pytest
from dataset_reading import index_of, manifest_of, rows_of, shard_file_of
from documented_code import blocks_of, bytes_left_by, lines_of
from forked_workers import Shards, read_in_two_workers

TYPES = {"image": "|u1", "image_offset": "<u8", "label": "<i8", "key": "|u1", "key_offset": "<u8"}
DOCUMENT = ["formats/hdf5/FORMAT.md"]


@pytest.fixture(scope="module")
def hdf5_dataset(photos, shale, tmp_path_factory):
    """`photos` as hdf5 shards, several of them."""
    out = tmp_path_factory.mktemp("hdf5") / "out"
    shale("convert", photos, out, "--to", "hdf5", "--shard-samples", "25")
    return out


@pytest.fixture(scope="module")
def files(hdf5_dataset):
    return [shard_file_of(hdf5_dataset, shard) for shard in manifest_of(hdf5_dataset)["shards"]]


@pytest.fixture(scope="module")
def lengths(hdf5_dataset):
    return [shard["samples"] for shard in manifest_of(hdf5_dataset)["shards"]]


class Hdf5Shard:
    """One shard as its users read it."""

    def __init__(self, path):
        self.file = h5py.File(path, "r")

    def value(self, name, row):
        offset = self.file[name + "_offset"]
        return self.file[name][offset[row] : offset[row + 1]].tobytes()

    def __getitem__(self, row):
        return self.value("key", row), int(self.file["label"][row]), self.value("image", row)


@pytest.mark.parametrize("opens_early", [False, True], ids=["opened after the fork", "opened before the fork"])
def test_two_forked_workers_read_every_sample(opens_early, files, lengths, listed):
    assert read_in_two_workers(Shards(files, Hdf5Shard, lengths, opens_early)) == listed
    assert len(files) == 3


def test_one_dataset_a_column_and_nothing_else(files, lengths):
    for path, samples in zip(files, lengths):
        with h5py.File(path, "r") as file:
            assert {name: dataset.dtype.str for name, dataset in file.items()} == TYPES
            for name in ("image", "key"):
                offsets = file[name + "_offset"][:]
                assert offsets.shape == (samples + 1,)
                assert offsets[0] == 0 and offsets[-1] == file[name].shape[0]
                assert np.all(offsets[1:] >= offsets[:-1])
            assert file["label"].shape == (samples,)


def test_storage_is_contiguous_without_filters(files):
    for path in files:
        with h5py.File(path, "r") as file:
            for name, dataset in file.items():
                assert dataset.chunks is None and dataset.compression is None, name
                assert dataset.id.get_create_plist().get_layout() == h5py.h5d.CONTIGUOUS, name
                assert dataset.id.get_offset() is not None, name


def test_no_object_has_a_time_or_an_attribute(files):
    for path in files:
        with h5py.File(path, "r") as file:
            for name in [".", *file]:
                assert h5py.h5g.get_objinfo(file.id, name.encode()).mtime == 0, name
                assert len(file[name].attrs) == 0, name


def test_the_index_finds_what_h5py_finds(hdf5_dataset):
    for shard in manifest_of(hdf5_dataset)["shards"]:
        reader = Hdf5Shard(shard_file_of(hdf5_dataset, shard))
        for row, values in enumerate(rows_of(shard_file_of(hdf5_dataset, shard), index_of(hdf5_dataset, shard))):
            assert (values["key"], values["label"], values["image"]) == reader[row]


def test_two_conversions_give_the_same_bytes(hdf5_dataset, photos, shale, tmp_path):
    # A time that HDF5 puts into a file is in whole seconds: let the next one begin.
    written = max(path.stat().st_mtime for path in hdf5_dataset.iterdir())
    time.sleep(max(0, 1.1 - (time.time() - written)))
    shale("convert", photos, tmp_path / "again", "--to", "hdf5", "--shard-samples", "25", "--jobs", "1")
    first = {path.name: path.read_bytes() for path in hdf5_dataset.iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == first


@pytest.mark.parametrize("block", blocks_of(DOCUMENT, "h5py-lines"))
def test_the_lines_in_the_document_read_a_sample(block, hdf5_dataset, listed, tmp_path):
    read = bytes_left_by(block, hdf5_dataset, tmp_path)
    assert read & {image for _, _, image in listed}, "no variable holds the bytes of an image of the dataset"


@pytest.mark.parametrize("block", blocks_of(DOCUMENT, "h5py-lines"))
def test_the_reader_is_three_lines(block):
    assert len(lines_of(block)) <= 3, block
