"""Stock readers of Parquet read what shale writes, every sample equal: pyarrow, datasets, polars, duckdb."""

import io
import subprocess

import numpy as np
import pytest
from conftest import SHALE
from dataset_reading import manifest_of, samples_of
from PIL import Image

pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="session")
def shards(photos, shale, tmp_path_factory):
    out = tmp_path_factory.mktemp("parquet") / "out"
    shale("convert", photos, out, "--to", "parquet", "--shard-samples", "25", "--verify")
    return out


@pytest.fixture
def hub_is_away(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def files_of(dataset):
    return [str(dataset / file["name"]) for shard in manifest_of(dataset)["shards"] for file in shard["files"]]


def rows(dataset):
    return [(sample.key.decode(), sample.image, sample.label) for sample in samples_of(dataset)]


def read_rows(path):
    table = pq.ParquetFile(path, page_checksum_verification=True).read()
    return [(row["key"], row["image"]["bytes"], row["label"]) for row in table.to_pylist()]


def load(path, **options):
    import datasets

    datasets.disable_progress_bars()
    return datasets.load_dataset(str(path), **options)


def test_pyarrow_reads_every_sample(shards):
    assert [row for path in files_of(shards) for row in read_rows(path)] == rows(shards)


def test_a_page_index_has_every_page_and_the_bounds_of_labels_and_keys(shards):
    for path in files_of(shards):
        group = pq.ParquetFile(path).metadata.row_group(0)
        columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
        found = read_rows(path)
        for name, at in (("key", 0), ("label", 2)):
            statistics = columns[name].statistics
            assert (statistics.min, statistics.max) == (min(row[at] for row in found), max(row[at] for row in found))
            assert columns[name].has_column_index and columns[name].has_offset_index
        assert columns["image.bytes"].has_offset_index and not columns["image.bytes"].has_column_index
        assert all(column.compression == "UNCOMPRESSED" for column in columns.values())


def test_datasets_gives_images_and_class_names(shards, hub_is_away, tmp_path):
    pytest.importorskip("datasets")
    read = load(shards, cache_dir=str(tmp_path / "cache"))
    assert list(read) == ["train"]
    features = read["train"].features
    assert features["image"].dtype == "PIL.Image.Image"
    assert features["label"].names == manifest_of(shards)["classes"]
    assert len(read["train"]) == len(rows(shards))
    for found, (key, image, label) in zip(read["train"], rows(shards), strict=True):
        assert (found["key"], found["label"]) == (key, label)
        assert np.array_equal(np.asarray(found["image"]), np.asarray(Image.open(io.BytesIO(image))))


def test_datasets_streams(shards, hub_is_away):
    pytest.importorskip("datasets")
    assert [row["key"] for row in load(shards, split="train", streaming=True)] == [row[0] for row in rows(shards)]


def test_the_folders_of_splits_are_splits(photos, shale, hub_is_away, tmp_path):
    pytest.importorskip("datasets")
    out = tmp_path / "out"
    shale("convert", photos, out, "--to", "parquet", "--shuffle", "--split", "train=0.8,test=0.2")
    read = load(out, cache_dir=str(tmp_path / "cache"))
    assert sorted(read) == ["test", "train"]
    for name in read:
        assert [row["key"] for row in read[name].remove_columns("image")] == [row[0] for row in rows(out / name)]


def test_polars_and_duckdb_read_every_sample(shards):
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    for path in files_of(shards):
        frame = polars.read_parquet(path)
        assert [(key, image["bytes"], label) for image, label, key in frame.rows()] == read_rows(path)
        assert duckdb.sql(f"select key, image.bytes, label from '{path}'").fetchall() == read_rows(path)


def test_row_groups_are_bounded_and_their_rows_are_whole(tmp_path, shale):
    folder = tmp_path / "folder"
    (folder / "c").mkdir(parents=True)
    values = [bytes([i]) * 200_000 for i in range(40)] + [b"large" * 500_000, b""]
    for i, value in enumerate(values):
        (folder / "c" / f"{i:03}.wav").write_bytes(value)
    shale("convert", folder, tmp_path / "out.parquet", "--ext", "wav", "--row-group-size", "1MiB")
    metadata = pq.ParquetFile(tmp_path / "out.parquet").metadata
    sizes = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
    assert len(sizes) > 7 and sum(size > 1 << 20 for size in sizes) == 1
    table = pq.read_table(tmp_path / "out.parquet")
    column = table.column(0).to_pylist()
    assert [value["bytes"] if isinstance(value, dict) else value for value in column] == values
    shale("verify", "--deep", tmp_path / "out.parquet")


def test_other_groups_are_another_dataset(photos, shale, tmp_path):
    out = tmp_path / "out"
    shale("convert", photos, out, "--to", "parquet", "--row-group-size", "2MiB")
    shale("convert", photos, out, "--to", "parquet", "--row-group-size", "2MiB")
    refused = subprocess.run([SHALE, "convert", photos, out, "--to", "parquet"], capture_output=True, text=True)
    assert refused.returncode == 1 and "row groups" in refused.stderr
    for size in ("100", "2GiB"):
        refused = subprocess.run(
            [SHALE, "convert", photos, tmp_path / "x", "--to", "parquet", "--row-group-size", size], capture_output=True, text=True
        )
        assert refused.returncode == 2 and "1MiB to 1GiB" in refused.stderr
    refused = subprocess.run(
        [SHALE, "convert", photos, tmp_path / "x", "--to", "lmdb", "--row-group-size", "2MiB"], capture_output=True, text=True
    )
    assert refused.returncode == 2 and "lmdb has no row groups" in refused.stderr
