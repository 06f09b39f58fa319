"""Every hash and digest in a dataset, computed again from the documents with Python's xxhash and crc32c."""

import json
import re

import crc32c
import numpy as np
import pytest
import xxhash
from conftest import ROOT
from dataset_reading import block_hashes, file_hash, index_of, manifest_of, samples_of


def files_named(node):
    """Every {"name", "bytes", "xxh3_128"} anywhere in the manifest."""
    if isinstance(node, dict):
        if {"name", "bytes", "xxh3_128"} <= node.keys():
            yield node
        for value in node.values():
            yield from files_named(value)
    elif isinstance(node, list):
        for value in node:
            yield from files_named(value)


def programs_of_the_document():
    """What the Python blocks of docs/digests.md define."""
    text = (ROOT / "docs/digests.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block, names)
    return names


DOCUMENT = programs_of_the_document()


def digest_of(samples):
    fields = ((s.key, [("image", "bytes", s.image), ("label", "integer", s.label)]) for s in samples)
    return dict(zip(("content", "ordered", "keys"), DOCUMENT["digests"](fields)))


@pytest.fixture(scope="module")
def manifest(dataset):
    return manifest_of(dataset)


def test_the_schema_is_image_and_label(manifest):
    assert [(field["name"], field["kind"]) for field in manifest["schema"]] == [("image", "bytes"), ("label", "integer")]


def test_the_block_list_holds_the_hash_of_every_mebibyte(dataset, manifest):
    rows = 0
    for shard in manifest["shards"]:
        blocks = np.load(dataset / f"{shard['name']}.blocks.npy")
        expected = [h for file in shard["files"] for h in block_hashes(dataset / file["name"])]
        assert blocks.dtype == np.uint8 and blocks.shape == (len(expected), 16)
        assert [row.tobytes() for row in blocks] == expected
        rows = max(rows, len(expected))
    assert rows > 1, "no shard is larger than a block: the test says little"


def test_every_file_has_the_size_and_hash_of_the_manifest(dataset, manifest):
    listed = {file["name"]: file for file in files_named(manifest)}
    assert set(listed) | {"dataset.json"} == {path.name for path in dataset.iterdir()}
    for name, file in listed.items():
        assert file["bytes"] == (dataset / name).stat().st_size, name
        assert file["xxh3_128"] == file_hash(dataset / name), name


def test_the_manifest_hashes_itself(dataset, manifest):
    data = (dataset / "dataset.json").read_bytes()
    at = data.rindex(b'"hash": "') + len(b'"hash": "')
    assert list(manifest)[-1] == "hash"
    assert data[at : at + 32].decode() == manifest["hash"]
    assert xxhash.xxh3_128_hexdigest(data[:at] + data[at + 32 :]) == manifest["hash"]


def test_the_index_is_a_packed_little_endian_table(dataset, manifest):
    expected = [
        ("key.offset", "<u8"), ("key.length", "<u8"), ("key.crc32c", "<u4"), ("key_hash", "<u8"),
        ("image.offset", "<u8"), ("image.length", "<u8"), ("image.crc32c", "<u4"), ("label", "<i8"),
        ("record.offset", "<u8"), ("record.length", "<u8"),
    ]  # fmt: skip
    for shard in manifest["shards"]:
        assert index_of(dataset, shard).dtype == np.dtype(expected)


def test_every_field_has_its_crc32c_and_every_key_its_hash(dataset):
    count = 0
    for sample in samples_of(dataset):
        assert int(sample.row["image.crc32c"]) == crc32c.crc32c(sample.image), sample.key
        assert int(sample.row["key.crc32c"]) == crc32c.crc32c(sample.key), sample.key
        assert int(sample.row["key_hash"]) == xxhash.xxh3_64_intdigest(sample.key), sample.key
        count += 1
    assert count == 61


def test_the_vectors_of_the_document_are_what_its_program_gives():
    text = (ROOT / "docs/digests.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z, ]+) \| `(\w{32})` \| `(\w{32})` \| `(\w{32})` \|$", text, re.MULTILINE)
    assert len(rows) >= 8
    for names, *expected in rows:
        samples = [DOCUMENT["SAMPLES"][name] for name in names.split(", ") if name != "none"]
        assert DOCUMENT["digests"](samples) == expected, names


def test_the_digests_of_each_shard_are_those_of_its_samples(dataset, manifest):
    samples = list(samples_of(dataset))
    for shard in manifest["shards"]:
        assert shard["digest"] == digest_of(s for s in samples if s.shard["name"] == shard["name"]), shard["name"]


def test_the_digests_of_the_dataset_are_those_of_all_samples(dataset, manifest, shale):
    assert manifest["digest"] == digest_of(samples_of(dataset))
    assert json.loads(shale("info", dataset, "--json"))["content_digest"] == manifest["digest"]["content"]


def test_the_totals_are_the_sums_over_the_shards(manifest):
    for total, member in [("samples", "samples"), ("payload_bytes", "payload_bytes")]:
        assert manifest[total] == sum(shard[member] for shard in manifest["shards"])
    assert manifest["shard_count"] == len(manifest["shards"])


def test_the_digests_do_not_depend_on_the_shards(photos, dataset, shale, tmp_path):
    shale("convert", photos, tmp_path / "one", "--to", "record")
    shale("convert", photos, tmp_path / "shuffled", "--to", "record", "--shuffle", "--seed", "7")
    expected = digest_of(samples_of(dataset))
    one, shuffled = digest_of(samples_of(tmp_path / "one")), digest_of(samples_of(tmp_path / "shuffled"))
    assert one == expected
    assert shuffled["content"] == expected["content"] and shuffled["keys"] == expected["keys"]
    assert shuffled["ordered"] != expected["ordered"]
