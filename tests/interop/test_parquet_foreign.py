"""Parquet files by the programs that write them: pyarrow over its codecs, encodings and page versions, and `datasets`."""

import csv
import itertools
import json
import re
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shale
from conftest import run_shale
from parquet_tables import IMAGES, MEDIA, ROWS, check_set, table

STORED = {"image.bytes": "none", "caption": "snappy", "label": "zstd", "tags.list.element": "gzip", "score": "snappy"}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [False, True, ["label", "caption", "tags.list.element"]])
@pytest.mark.parametrize("compression", ["none", STORED])
def test_stored_media_are_read_in_place(tmp_path, version, dictionary, compression):
    file = tmp_path / "x.parquet"
    pq.write_table(
        table(),
        file,
        compression=compression,
        use_dictionary=dictionary,
        data_page_version=version,
        row_group_size=20,
        write_page_checksum=True,
    )
    run_shale("index", file, "--crc")
    check_set(file)
    assert "every byte is as it was written" in run_shale("verify", "--deep", file).stdout.decode()
    with shale.Dataset(file) as dataset:
        assert [dataset[i]["key"] for i in (0, 7)] == ["0000.jpg", "0007.jpg"]
    index = np.load(f"{file}.index.npy")
    content = file.read_bytes()
    assert all(content[o : o + n] == IMAGES[i] for i, (o, n) in enumerate(zip(index["image.offset"], index["image.length"], strict=True)))


def test_encodings_of_version_2_are_read(tmp_path):
    file = tmp_path / "x.parquet"
    encodings = {
        "image.bytes": "DELTA_LENGTH_BYTE_ARRAY",
        "caption": "DELTA_BYTE_ARRAY",
        "label": "DELTA_BINARY_PACKED",
        "score": "BYTE_STREAM_SPLIT",
        "price": "DELTA_BYTE_ARRAY",
    }
    pq.write_table(
        table(), file, compression="none", use_dictionary=False, column_encoding=encodings, data_page_version="2.0", row_group_size=20
    )
    run_shale("index", file)
    check_set(file)


@pytest.mark.parametrize(("codec", "version"), list(itertools.product(["snappy", "gzip", "zstd", "lz4"], ["1.0", "2.0"])))
def test_compressed_media_are_converted(tmp_path, codec, version):
    file, out = tmp_path / "x.parquet", tmp_path / "out"
    pq.write_table(table(), file, compression=codec, data_page_version=version, row_group_size=20)
    refused = run_shale("index", file, code=1)
    assert "cannot be located in place" in refused.stderr.decode()
    run_shale("convert", file, out, "--to", "record")
    check_set(out)
    assert "the source holds the same samples" in run_shale("verify", out, "--against", file).stdout.decode()


def test_info_of_compressed_media_lists_columns_and_the_command(tmp_path):
    file, data = tmp_path / "x.parquet", tmp_path / "hub" / "data"
    data.mkdir(parents=True)
    pq.write_table(table(), file, compression="zstd", row_group_size=20)
    text = run_shale("info", file).stdout.decode()
    assert re.search(r"\n    image  +bytes \(50,\)  .*  zstd\n", text)
    assert "rows = 50, row groups = 3, written by = parquet-cpp-arrow" in text
    command = shlex.split(text.split("convert  shale ")[1].split("\n")[0])
    run_shale(*[str(tmp_path / "out") if word == "out" else word for word in command])
    check_set(tmp_path / "out")
    facts = json.loads(run_shale("info", "--json", file).stdout)
    assert [one["compression"] for one in facts["arrays"] if one["path"] == "image"] == ["zstd"]
    for name in ("train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001"):
        (data / f"{name}.parquet").write_bytes(file.read_bytes())
    text = run_shale("info", tmp_path / "hub").stdout.decode()
    assert text.count("row groups = 3") == 2
    assert "files = 2, of which this is the first: " in text


@pytest.mark.parametrize(("codec", "version"), [("snappy", "1.0"), ("zstd", "2.0")])
def test_compressed_media_are_verified(tmp_path, codec, version):
    file = tmp_path / "x.parquet"
    pq.write_table(table(), file, compression=codec, data_page_version=version, row_group_size=20, write_page_checksum=True)
    text = run_shale("verify", file).stdout.decode()
    assert "50 samples in 1 shard: the container's structure and its checksums are intact" in text
    assert "OUT --to record' converts it" in text
    place = pq.ParquetFile(file).metadata.row_group(1).column(0)
    content = bytearray(file.read_bytes())
    content[place.dictionary_page_offset + place.total_compressed_size // 2] ^= 1
    file.write_bytes(content)
    assert b"page has the CRC" in run_shale("verify", file, code=3).stderr


def test_files_of_a_folder_are_a_set_and_those_of_splits_are_several(tmp_path):
    data = tmp_path / "hub" / "data"
    data.mkdir(parents=True)
    (tmp_path / "hub" / "README.md").write_text("---\n---\n")
    for split, part in (("train", 0), ("train", 1), ("test", 0)):
        rows = range(part * 25, part * 25 + 25)
        pq.write_table(
            table(rows, paths=False), data / f"{split}-{part:05}-of-0000{2 if split == 'train' else 1}.parquet", compression=STORED
        )
    check_set(f"{data}/train-*.parquet", range(50))
    run_shale("convert", tmp_path / "hub", tmp_path / "out", "--to", "record")
    check_set(tmp_path / "out" / "train", range(50))
    check_set(tmp_path / "out" / "test", range(25))


def test_what_no_field_can_hold_is_left_out_by_name(tmp_path):
    file = tmp_path / "x.parquet"
    odd = {
        "x": [1, 2, 3],
        "m": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
        "deep": [[[[1]]]] * 3,
        "holes": [[1, None]] * 3,
    }
    pq.write_table(pa.table(odd), file)
    found = run_shale("convert", file, tmp_path / "out", "--to", "record", code=4)
    for column in ("m.key_value.key", "deep.list", "holes.list.element"):
        assert column in (found.stdout + found.stderr).decode()
    with shale.Dataset(tmp_path / "out") as dataset:
        assert [dataset[i]["x"] for i in range(3)] == [1, 2, 3]


def test_a_file_with_paths_alone_says_how_to_embed_the_files(tmp_path):
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"image": pa.array([{"bytes": None, "path": "/x/a.jpg"}] * 3, MEDIA)}), file)
    refused = run_shale("info", file, code=1)
    assert "holds no bytes of 'image'" in refused.stderr.decode()
    assert "embed_table_storage" in refused.stderr.decode()


def test_flipped_bytes_of_a_page_are_found_by_its_crc(tmp_path):
    file = tmp_path / "x.parquet"
    pq.write_table(table(), file, compression="none", use_dictionary=False, write_page_checksum=True)
    content = bytearray(file.read_bytes())
    content[content.index(IMAGES[9]) + 100] ^= 1
    file.write_bytes(content)
    found = run_shale("verify", "--deep", file, code=3)
    assert "page has the CRC" in (found.stdout + found.stderr).decode()


def test_what_datasets_writes_is_read_as_it_reads_it(tmp_path):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"]), "text": datasets.Value("string")}
    )
    rows = {
        "image": [{"bytes": image, "path": None} for image in IMAGES],
        "label": [i % 2 for i in range(ROWS)],
        "text": [f"t{i}" for i in range(ROWS)],
    }
    made = datasets.Dataset.from_dict(rows, features=features)
    file = tmp_path / "train.parquet"
    made.to_parquet(file)
    run_shale("index", file)
    with shale.Dataset(file) as dataset:
        assert [bytes(dataset[i]["image"]) for i in range(ROWS)] == IMAGES
        assert [dataset[i]["text"] for i in range(ROWS)] == rows["text"]
        assert [dataset[i]["label"] for i in range(ROWS)] == rows["label"]


def test_what_save_to_disk_wrote_is_refused_with_its_export(tmp_path):
    saved = tmp_path / "saved"
    saved.mkdir()
    for name in ("state.json", "dataset_info.json"):
        (saved / name).write_text("{}")
    (saved / "data-00000-of-00001.arrow").write_bytes(b"ARROW1")
    for words in (["info", saved], ["convert", saved, tmp_path / "out", "--to", "record"]):
        refused = run_shale(*words, code=1).stderr.decode()
        assert "Arrow files, which are not supported" in refused
        assert "load_from_disk" in refused


def test_flipped_bits_are_an_error_or_another_file(tmp_path):
    file = tmp_path / "x.parquet"
    pq.write_table(table(range(4)), file, compression={"image.bytes": "none"}, row_group_size=2)
    whole = file.read_bytes()
    random = np.random.default_rng(1)
    for _ in range(100):
        content = bytearray(whole)
        for at in random.integers(0, len(whole), 3):
            content[at] ^= 1 << int(random.integers(8))
        file.write_bytes(content)
        run_shale("verify", file, code=(0, 1, 3))


def test_a_page_larger_than_the_memory_is_refused_with_what_is_enough(tmp_path):
    file, out = tmp_path / "x.parquet", tmp_path / "out"
    pq.write_table(pa.table({"blob": [bytes(40 << 20)], "n": [1]}), file, compression="zstd", use_dictionary=False, write_statistics=False)
    words = ["convert", file, out, "--to", "record"]
    refused = run_shale(*words, "--memory", "16MiB", code=1).stderr.decode()
    assert "in column 'blob'" in refused
    run_shale(*words, "--memory", re.search(r"(\d+MiB) is enough", refused)[1])
    with shale.Dataset(out) as dataset:
        assert dataset[0]["blob"] == bytes(40 << 20)


def test_text_pages_are_unpacked_within_the_memory(tmp_path):
    file = tmp_path / "x.parquet"
    texts = pa.table({name: [name * (1 << 20)] * 40 for name in "ab"})
    pq.write_table(texts, file, compression="zstd", use_dictionary=False, write_statistics=False)
    for words in (
        ["index", file, "--index-dir", tmp_path / "index"],
        ["verify", file],
        ["convert", file, tmp_path / "out", "--to", "record"],
    ):
        refused = run_shale(*words, "--memory", "16MiB", code=1).stderr.decode()
        run_shale(*words, "--memory", re.search(r"(\d+MiB) is enough", refused)[1])
    with shale.Dataset(tmp_path / "out") as dataset:
        assert len(dataset) == 40
        assert (dataset[39]["a"], dataset[39]["b"]) == ("a" * (1 << 20), "b" * (1 << 20))


def test_what_cannot_be_located_is_refused_before_a_page_is_read(tmp_path):
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"blob": [b"x" * 1000, None]}), file, compression="zstd", use_dictionary=False)
    content = bytearray(file.read_bytes())
    content[60:90] = bytes(30)
    file.write_bytes(content)
    assert b"cannot be located in place" in run_shale("index", file, code=1).stderr


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_table_without_rows_has_no_samples(tmp_path, dictionary):
    folder = tmp_path / "set"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1, 2]}), folder / "a.parquet")
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), folder / "b.parquet", use_dictionary=dictionary)
    with shale.Dataset(folder / "b.parquet") as dataset:
        assert len(dataset) == 0
    run_shale("convert", folder, tmp_path / "out", "--to", "record")
    with shale.Dataset(tmp_path / "out") as dataset:
        assert [dataset[i]["a"] for i in range(2)] == [1, 2]


def test_small_columns_are_compared_with_the_crc_of_their_pages(tmp_path):
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"s": ["a", "bb", None, "a"]}), file, compression="lz4", write_page_checksum=True, write_statistics=False)
    content = bytearray(file.read_bytes())
    content[content.index(b"\x01\0\0\0a") + 4] ^= 2
    file.write_bytes(content)
    with pytest.raises(shale.errors.DamagedError, match="page has the CRC"):
        shale.Dataset(file)
    assert b"page has the CRC" in run_shale("cat", file, "0", "--field", "s", code=3).stderr


def write_texts(file, flipped=(), **options):
    texts = pa.table({"t": [f"text{i:02}" for i in range(24)], "n": range(24), "image": [b"bytes %d" % i * 99 for i in range(24)]})
    pq.write_table(texts, file, write_page_checksum=True, **{"compression": "none", "use_dictionary": False} | options)
    content = bytearray(file.read_bytes())
    groups = pq.ParquetFile(file).metadata
    for group in flipped:
        place = groups.row_group(group).column(0)
        first = place.dictionary_page_offset if place.has_dictionary_page else place.data_page_offset
        content[first + place.total_compressed_size - 5] ^= 1
    file.write_bytes(content)


def test_a_damaged_file_has_no_hint_that_cannot_help(tmp_path):
    whole, one, truncated = (tmp_path / f"{name}.parquet" for name in ("whole", "one", "truncated"))
    write_texts(one, flipped=[0])
    write_texts(whole, row_group_size=5)
    truncated.write_bytes(whole.read_bytes()[:-20])
    for file in (one, truncated):
        for words in (["verify", file], ["convert", file, tmp_path / "out", "--to", "record"]):
            refused = run_shale(*words, code=3).stderr
            assert b"--on-error skip" not in refused
            assert refused.count(b"the file is damaged") <= 1
        run_shale("convert", file, tmp_path / "out", "--to", "record", "--on-error", "skip", code=3)


@pytest.mark.parametrize("options", [{}, {"compression": "zstd"}, {"compression": "snappy", "use_dictionary": True}])
def test_row_groups_that_are_whole_are_taken_of_a_damaged_file(tmp_path, options):
    file, out = tmp_path / "x.parquet", tmp_path / "out"
    write_texts(file, flipped=[0, 2], row_group_size=5, **options)
    refused = run_shale("convert", file, out, "--to", "record", code=3).stderr.decode()
    assert "--on-error skip" in refused
    assert refused.count("the file is damaged") <= 1
    run_shale("convert", file, out, "--to", "record", "--on-error", "skip", code=4)
    with shale.Dataset(out) as dataset:
        rows = [*range(5, 10), *range(15, 24)]
        found = [(dataset[i]["t"], dataset[i]["n"], bytes(dataset[i]["image"])) for i in range(len(dataset))]
        assert found == [(f"text{i:02}", i, b"bytes %d" % i * 99) for i in rows]
    with open(out / "skipped.csv", newline="") as lines:
        lost = list(csv.reader(lines))[1:]
    assert len(lost) == 2
    assert "row group 0, rows 0 to 4: column 't': page has the CRC" in str(lost[0])
    assert "row group 2, rows 10 to 14: column 't': page has the CRC" in str(lost[1])


def test_a_codec_that_is_not_supported_has_the_line_that_writes_another(tmp_path, monkeypatch):
    pq.write_table(pa.table({"t": ["a", "b"]}), tmp_path / "b.parquet", compression="brotli")
    refused = run_shale("info", tmp_path / "b.parquet", code=1).stderr.decode()
    assert "compressed with brotli, which is not supported" in refused
    monkeypatch.chdir(tmp_path)
    exec(refused.split('python3 -c "')[1].split('"')[0])
    run_shale("info", "x.parquet")


def test_flipped_bits_of_values_beside_the_file_are_found_by_whoever_reads_them(tmp_path):
    file, values = tmp_path / "x.parquet", tmp_path / "x.parquet.values"
    pq.write_table(pa.table({"t": [f"text{i}" for i in range(8)], "label": list(range(8))}), file, compression="zstd")
    run_shale("index", file)
    content = bytearray(values.read_bytes())
    content[0] ^= 4
    values.write_bytes(content)
    run_shale("convert", file, tmp_path / "out", "--to", "record", code=3)
    with pytest.raises(shale.errors.DamagedError):
        shale.Dataset(file)[0]
    run_shale("verify", file, code=3)
