"""Parquet files between shale, Polars and DuckDB, every value equal in both directions."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shale
from conftest import run_shale
from parquet_tables import HUGGINGFACE, ROWS, check_set, table

polars = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")


def check_file(file, out, codec, classes):
    """What is stored is read in place, the rest by way of convert."""
    if codec == "uncompressed":
        run_shale("index", file, "--crc")
        assert b"every byte is as it was written" in run_shale("verify", "--deep", file).stdout
        check_set(file, classes=classes)
    run_shale("convert", file, out, "--to", "record")
    check_set(out, classes=classes)


@pytest.mark.parametrize(
    ("codec", "rows", "statistics"),
    [*itertools.product(["uncompressed", "snappy", "gzip", "zstd", "lz4"], [7, 262_144], [True]), ("uncompressed", 7, False)],
)
def test_what_polars_writes_is_read(tmp_path, codec, rows, statistics):
    file = tmp_path / "x.parquet"
    frame = polars.from_arrow(table())
    frame.write_parquet(file, compression=codec, row_group_size=rows, statistics=statistics, data_page_size=4096)
    check_file(file, tmp_path / "out", codec, ())


def test_polars_arrays_and_categories_are_read(tmp_path):
    file = tmp_path / "x.parquet"
    frame = polars.DataFrame(
        {
            "grid": polars.Series([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], dtype=polars.Array(polars.Int32, (2, 2))),
            "kind": polars.Series(["a", "b"], dtype=polars.Categorical),
            "day": polars.Series(["2026-11-30", None]).str.to_date(),
            "none": polars.Series([None, None], dtype=polars.Null),
        }
    )
    frame.write_parquet(file)
    run_shale("convert", file, tmp_path / "out", "--to", "record", code=4)
    with shale.Dataset(tmp_path / "out") as dataset:
        assert [dataset[i]["grid"].tolist() for i in (0, 1)] == frame["grid"].to_list()
        assert [dataset[i]["kind"] for i in (0, 1)] == ["a", "b"]
        assert [dataset[i]["day"] for i in (0, 1)] == ["2026-11-30", None]


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize(
    ("codec", "rows", "dictionary"),
    [*itertools.product(["uncompressed", "snappy", "gzip", "zstd", "lz4_raw"], [2048], [True]), ("uncompressed", 122_880, False)],
)
def test_what_duckdb_writes_is_read(tmp_path, codec, rows, dictionary, version):
    file = tmp_path / "x.parquet"
    whole = table()
    options = {
        "format": "parquet",
        "compression": codec,
        "row_group_size": rows,
        "parquet_version": version,
        "kv_metadata": "{huggingface: '" + json.dumps(HUGGINGFACE) + "'}",
        **({} if dictionary else {"dictionary_size_limit": 1}),
    }
    words = ", ".join(f"{name} {value}" for name, value in options.items())
    with duckdb.connect() as connection:
        connection.register("whole", whole)
        connection.sql(f"copy (select * from whole) to '{file}' ({words})")
    check_file(file, tmp_path / "out", codec, ("cat", "dog"))


def rows_in(file, reader):
    if reader == "pyarrow":
        return pq.ParquetFile(file, page_checksum_verification=True).read().to_pylist()
    if reader == "polars":
        return polars.read_parquet(file).to_dicts()
    with duckdb.connect() as connection:
        found = connection.sql(f"select * from '{file}'")
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


@pytest.mark.parametrize("reader", ["pyarrow", "polars", "duckdb"])
def test_what_shale_writes_is_read(tmp_path, reader):
    source, out = tmp_path / "x.parquet", tmp_path / "out.parquet"
    whole = table()
    nulls = {
        f"some_{name}": pa.array([v if i % 3 else None for i, v in enumerate(whole[name].to_pylist())], whole[name].type)
        for name in NULLABLE
    }
    for name, column in nulls.items():
        whole = whole.append_column(name, column)
    pq.write_table(whole, source, row_group_size=20)
    run_shale("convert", source, out, "--drop", "boxes,when,price", "--row-group-size", "1MiB")
    run_shale("verify", "--deep", out)
    found = rows_in(out, reader)
    assert len(found) == ROWS
    for i, row in enumerate(found):
        assert row.pop("key") == f"{i:04}.jpg"
        expected = whole.slice(i, 1).drop_columns(["boxes", "when", "price"]).to_pylist()[0]
        expected["image"]["path"] = None
        assert row == expected


NULLABLE = ["label", "caption", "flag", "small"]


@pytest.mark.parametrize("reader", ["pyarrow", "polars", "duckdb"])
def test_what_a_writer_writes_is_read(tmp_path, reader):
    schema = {
        "image": "bytes",
        "text": "str?",
        "label": "int",
        "score": "float32",
        "tags": "list[str]",
        "vector": "float32 (3)",
        "frames": "list",
    }
    samples = [
        {
            "key": f"k{i}",
            "image": bytes([i]) * i,
            "text": None if i == 2 else f"t{i} ä",
            "label": i % 2,
            "score": i / 4,
            "tags": [f"t{j}" for j in range(i)],
            "vector": np.arange(i, i + 3, dtype="f4"),
            "frames": [b"f" * i, b""],
        }
        for i in range(6)
    ]
    with shale.Writer(tmp_path / "out", to="parquet", schema=schema, classes=["cat", "dog"], shard_samples=4) as writer:
        for sample in samples:
            writer.write(sample)
    files = sorted((tmp_path / "out").glob("*.parquet"))
    assert len(files) == 2
    found = [row for file in files for row in rows_in(file, reader)]
    for row, sample in zip(found, samples, strict=True):
        frames = [{"bytes": frame, "path": None} for frame in sample["frames"]]
        expected = sample | {"image": {"bytes": sample["image"], "path": None}, "vector": sample["vector"].tolist(), "frames": frames}
        assert row == expected
    assert json.loads(pq.read_metadata(files[0]).metadata[b"huggingface"])["info"]["features"]["label"]["names"] == ["cat", "dog"]


def test_times_and_decimals_come_back_as_text(tmp_path):
    source, out = tmp_path / "x.parquet", tmp_path / "out.parquet"
    pq.write_table(table(), source)
    run_shale("convert", source, out, "--fields", "when,price")
    for reader in ("pyarrow", "polars", "duckdb"):
        assert rows_in(out, reader)[1] == {"when": "2026-11-29T13:05:01", "price": "-1.25", "key": "0001.jpg"}
