"""A stock TFRecord/Example reader opens a record shard and reads every sample byte-equal, also in forked and spawned workers."""

import hashlib
import multiprocessing
import struct

import crc32c
import pytest
from dataset_reading import manifest_of, samples_of
from tfrecord.reader import tfrecord_loader

FEATURES = {"image": "byte", "label": "int", "key": "byte"}


def shard_files(dataset):
    return [str(dataset / file["name"]) for shard in manifest_of(dataset)["shards"] for file in shard["files"]]


def read_shard(path):
    """In a worker: (key, label, hash of the image) of each sample, by the stock reader."""
    found = []
    for example in tfrecord_loader(path, None, FEATURES):
        found.append((bytes(example["key"]), int(example["label"][0]), hashlib.sha256(example["image"]).hexdigest()))
    return found


def expected(dataset):
    return [(s.key, s.label, hashlib.sha256(s.image).hexdigest()) for s in samples_of(dataset)]


def test_the_stock_reader_sees_the_source_files(dataset, photos):
    seen = [sample for path in shard_files(dataset) for sample in read_shard(path)]
    assert seen == expected(dataset)
    for key, _, image_hash in seen:
        assert hashlib.sha256((photos / key.decode()).read_bytes()).hexdigest() == image_hash
    assert len(seen) == 61


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_stock_reader_works_in_two_processes(method, dataset):
    with multiprocessing.get_context(method).Pool(2) as workers:
        parts = workers.map(read_shard, shard_files(dataset), chunksize=1)
    assert [sample for part in parts for sample in part] == expected(dataset)


def test_every_feature_is_there_and_no_other(dataset):
    for path in shard_files(dataset):
        for example in tfrecord_loader(path, None, None):
            assert set(example) == set(FEATURES)


def masked(data):
    """Source: tensorflow/core/lib/hash/crc32c.h, Mask()."""
    crc = crc32c.crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_frames_carry_right_masked_checksums_and_are_the_records_of_the_index(dataset):
    rows = iter(samples_of(dataset))
    for path in shard_files(dataset):
        with open(path, "rb") as file:
            data = file.read()
        at = 0
        while at < len(data):
            length, length_crc = struct.unpack_from("<QI", data, at)
            payload = data[at + 12 : at + 12 + length]
            (payload_crc,) = struct.unpack_from("<I", data, at + 12 + length)
            assert length_crc == masked(data[at : at + 8]), (path, at)
            assert payload_crc == masked(payload), (path, at)
            row = next(rows).row
            assert at <= int(row["record.offset"])
            assert int(row["record.offset"]) + int(row["record.length"]) <= at + length + 16
            assert at + 12 <= int(row["image.offset"])
            assert int(row["image.offset"]) + int(row["image.length"]) <= at + 12 + length
            at += length + 16
        assert at == len(data)
    assert next(rows, None) is None
