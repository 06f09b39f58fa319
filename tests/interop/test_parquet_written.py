"""Stock readers of Parquet read what shale writes, every sample equal: pyarrow, datasets, polars, duckdb."""

import io
import os
import shutil
import subprocess

import numpy as np
import pytest
from conftest import SHALE, run_shale
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


def of_classes(photos, folder, names):
    """A photo of each class; names are bytes."""
    for photo, name in zip(sorted(photos.rglob("*.JPEG")), names, strict=False):
        os.makedirs(os.fsencode(folder) + b"/" + name)
        shutil.copy(photo, os.fsencode(folder) + b"/" + name + b"/1.jpg")
    return folder


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


@pytest.fixture
def odd_photos(photos, tmp_path):
    """With two lists beside the shards, of what is no image and of images that come twice: more files than the one shard."""
    folder = tmp_path / "odd"
    shutil.copytree(photos, folder)
    first = min(folder.rglob("*.JPEG"))
    shutil.copy(first, first.with_name("twice.jpg"))
    first.with_name("notes.txt").write_text("x")
    return folder


def test_datasets_takes_no_list_for_data(odd_photos, shale, hub_is_away, tmp_path):
    out, parts = tmp_path / "out", tmp_path / "parts"
    shale("convert", odd_photos, out, "--to", "parquet")
    assert {path.name for path in out.glob("*.csv")} == {"duplicates.csv", "ignored.csv", "images.csv"}
    assert load(out, split="train")["key"] == [sample.key.decode() for sample in samples_of(out)]
    for number in range(2):
        shale("convert", odd_photos, parts, "--to", "parquet", "--part", f"{number}/2")
    assert not list(parts.rglob("README.md"))  # parts are no datasets yet
    shale("merge", parts, tmp_path / "merged")
    assert load(tmp_path / "merged", split="train")["key"] == load(out, split="train")["key"]


def test_splits_have_the_names_that_they_were_given(photos, shale, hub_is_away, tmp_path):
    out = tmp_path / "out"
    shale("convert", photos, out, "--to", "parquet", "--split", "fold-0=0.5,holdout=0.5")
    assert load(out)["fold_0"]["key"] == [sample.key.decode() for sample in samples_of(out / "fold-0")]
    assert load(out)["holdout"]["key"] == [sample.key.decode() for sample in samples_of(out / "holdout")]
    assert "README" not in shale("convert", out, tmp_path / "again", "--to", "record")  # it is no entry that is left out


def test_splits_in_parts_are_splits_when_they_are_merged(photos, shale, hub_is_away, tmp_path):
    parts, out = tmp_path / "parts", tmp_path / "out"
    for number in range(2):
        shale("convert", photos, parts, "--to", "parquet", "--split", "fold0=0.5,holdout=0.5", "--part", f"{number}/2")
    assert not list(parts.rglob("README.md"))
    for split in ("fold0", "holdout"):
        shale("merge", f"{parts / split}/", f"{out / split}/", "--move")
    splits = load(out)
    assert list(splits) == ["fold0", "holdout"]
    for name, rows in splits.items():
        assert rows["key"] == [sample.key.decode() for sample in samples_of(out / name)]


def test_a_readme_has_the_lines_of_shale_and_the_text_of_its_owner(photos, shale, tmp_path):
    out = tmp_path / "out"
    shale("convert", photos, out, "--to", "parquet")
    readme = out / "README.md"
    own = readme.read_text()
    shale("convert", photos, out, "--to", "record", "--overwrite")
    assert not readme.exists()
    shale("convert", photos, out, "--to", "parquet", "--overwrite")
    assert readme.read_text() == own

    readme.write_text(own + "Photos.\n")
    shale("convert", photos, out, "--to", "record", "--overwrite")
    assert readme.read_text().endswith("\nPhotos.\n") and "configs:" not in readme.read_text()
    readme.write_text(own + "Photos.\n")
    shale("convert", of_classes(photos, tmp_path / "others", [b"ant", b"bee"]), out, "--to", "parquet", "--overwrite")
    assert readme.read_text().endswith("\nPhotos.\n")
    assert '"ant"' in readme.read_text() and "configs:" in readme.read_text()


def test_a_readme_whose_lines_were_changed_stays_and_a_note_says_so(photos, shale, tmp_path):
    out = tmp_path / "out"
    shale("convert", photos, out, "--to", "parquet")
    changed = "---\nlicense: mit\n" + (out / "README.md").read_text().removeprefix("---\n")
    (out / "README.md").write_text(changed)
    said = run_shale("convert", photos, out, "--to", "parquet", "--overwrite", code=(0, 4)).stderr.decode()
    assert (out / "README.md").read_text() == changed
    assert f"{out}/README.md stays as it is: `datasets` takes files, splits and class names" in said


NAMES_OF_SPLITS = ["0", "yes", "null", "1e3", "all", "[ab]", "a*", "?", "b:c", "train[a]", 'a"b', "- x", "#a"]


def test_splits_of_any_name_are_loaded(photos, shale, hub_is_away, tmp_path):
    share = 1 / len(NAMES_OF_SPLITS)
    out = tmp_path / "out"
    shale("convert", photos, out, "--to", "parquet", "--split", ",".join(f"{name}={share}" for name in NAMES_OF_SPLITS))
    splits = load(out)
    assert list(splits) == ["0", "yes", "null", "1e3", "all_", "_ab_", "a_", "_", "b_c", "train_a_", "a_b", "__x", "_a"]
    for name, rows in zip(NAMES_OF_SPLITS, splits.values(), strict=True):
        assert rows["key"] == [sample.key.decode() for sample in samples_of(out / name)]


@pytest.mark.parametrize(
    "name", [b"a\x7fb", "a\x80b".encode(), "a\x85b".encode(), "a\u2028b".encode(), b"a\xef\xbf\xbeb", b"yes", b"caf\xe9"]
)
def test_classes_of_any_name_are_loaded(name, photos, shale, hub_is_away, tmp_path):
    out = tmp_path / "out"
    shale("convert", of_classes(photos, tmp_path / "photos", [name, b"zz"]), out, "--to", "parquet")
    label = load(out, split="train").features["label"]
    if name == b"caf\xe9":
        assert label.dtype == "int64"  # no name that is not UTF-8 has room in a file
    else:
        assert label.names == [name.decode(), "zz"]


def test_a_split_that_is_written_again_has_its_own_classes(photos, shale, hub_is_away, tmp_path):
    source, out = of_classes(photos, tmp_path / "photos", [b"ant", b"bee"]), tmp_path / "out"
    shale("convert", photos, out, "--to", "parquet", "--split", "train=0.5,test=0.5")
    for split in ("train", "test"):
        shale("convert", source, f"{out / split}/", "--to", "parquet", "--overwrite")
    splits = load(out)
    assert [rows.features["label"].names for rows in splits.values()] == [["ant", "bee"]] * 2
    assert splits["train"]["key"] == ["ant/1.jpg", "bee/1.jpg"]


def test_polars_and_duckdb_read_every_sample(shards):
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    for path in files_of(shards):
        frame = polars.read_parquet(path)
        assert [(key, image["bytes"], label) for image, label, key in frame.rows()] == read_rows(path)
        assert duckdb.sql(f"select key, image.bytes, label from '{path}'").fetchall() == read_rows(path)


BOXES = [np.arange(4 * count, dtype="f4").reshape(count, 4) for count in (2, 0, 1, 3, 1)]
TENSORS = {
    "boxes": ("float32 (?, 4)", BOXES),
    "points": ("float64 (?, 1)", [box[:, :1].astype("f8") for box in BOXES]),
    "tokens": ("int32 (?)", [np.arange(count, dtype="i4") for count in (0, 3, 1, 0, 70_000)]),
    "maybe": ("int64 (?, 2)?", [None if row % 2 else np.full((row, 2), row) for row in range(5)]),
    "small": ("uint16 (?)", [np.arange(count, dtype="u2") for count in (1, 0, 5, 2, 3)]),
    "cube": ("float32 (2, 3, 4)", [np.full((2, 3, 4), row, "f4") for row in range(5)]),
    "free": ("int16 (?, ?)?", [None if row == 2 else np.full((row, 3), row, "i2") for row in range(5)]),
}


@pytest.fixture(scope="module")
def tensors(tmp_path_factory):
    import shale

    out = tmp_path_factory.mktemp("tensors") / "out"
    with shale.Writer(out, to="parquet", schema={name: kind for name, (kind, _) in TENSORS.items()}) as writer:
        for row in range(5):
            writer.write({name: values[row] for name, (_, values) in TENSORS.items()})
    return out


def same(found, expected):
    return found is None if expected is None else np.array_equal(np.asarray(found), expected) and np.shape(found) == expected.shape


def test_tensors_of_any_shape_are_lists_or_npy_files(tensors, shale):
    import shale as package

    shale("verify", tensors, "--deep")
    dataset = package.Dataset(tensors)
    (path,) = files_of(tensors)
    rows = pq.ParquetFile(path, page_checksum_verification=True).read().to_pylist()
    for name, (_, values) in TENSORS.items():
        for row, value in enumerate(values):
            assert same(dataset[row].get(name), value), (name, row)
            stored = rows[row][name]
            if isinstance(stored, bytes):
                stored = np.load(io.BytesIO(stored))
            elif stored is not None:
                stored = np.reshape(np.array(stored, value.dtype), (len(stored), *value.shape[1:]))
            assert same(stored, value), (name, row)
    assert {name for name in TENSORS if isinstance(rows[0][name], bytes)} == {"small", "cube", "free"}


def test_lists_of_lists_go_to_datasets_and_back(tensors, shale, hub_is_away, tmp_path):
    rows = load(tensors, split="train")
    for name in ("boxes", "points", "tokens", "maybe"):
        values = TENSORS[name][1]
        assert [None if value is None else value.tolist() for value in values] == rows[name]
    theirs = tmp_path / "theirs.parquet"
    rows.select_columns(["boxes", "tokens"]).to_parquet(str(theirs))
    shale("convert", theirs, tmp_path / "again", "--to", "parquet", "--verify")
    assert load(tmp_path / "again", split="train")["boxes"] == rows["boxes"]


def test_the_readme_has_the_features_of_every_file(shards, tensors, hub_is_away):
    import datasets

    for dataset in (shards, tensors):
        by_readme = load(dataset, split="train").features
        by_file = datasets.Dataset.from_parquet(files_of(dataset)).features
        assert by_readme == by_file


def test_classes_that_were_appended_have_names(photos, shale, hub_is_away, tmp_path):
    out, more = tmp_path / "out", tmp_path / "more"
    shale("convert", photos, out, "--to", "parquet")
    (more / "zebra").mkdir(parents=True)
    shutil.copy(min(photos.rglob("*.JPEG")), more / "zebra" / "z.jpg")
    shale("convert", more, out, "--append", "--new-classes", "append")
    rows = load(out, split="train")
    assert rows.features["label"].int2str(rows[-1]["label"]) == "zebra"


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


def test_a_flipped_bit_in_a_file_without_index_is_found(photos, tmp_path, shale):
    file = tmp_path / "one.parquet"
    shale("convert", photos, file)
    shale("verify", file)
    content = bytearray(file.read_bytes())
    content[content.rfind(b"\xff\xd8\xff") + 300] ^= 1
    file.write_bytes(content)
    found = subprocess.run([SHALE, "verify", file], capture_output=True, text=True)
    assert found.returncode == 3 and "1 finding" in found.stdout


def test_other_groups_are_another_dataset(photos, shale, tmp_path):
    out = tmp_path / "out"
    shale("convert", photos, out, "--to", "parquet", "--row-group-size", "2MiB")
    shale("convert", photos, out, "--to", "parquet", "--row-group-size", "2MiB")
    refused = subprocess.run([SHALE, "convert", photos, out, "--to", "parquet"], capture_output=True, text=True)
    assert refused.returncode == 1 and "row groups" in refused.stderr
    refused = subprocess.run(
        [SHALE, "convert", photos, tmp_path / "x", "--to", "parquet", "--row-group-size", "0"], capture_output=True, text=True
    )
    assert refused.returncode == 2 and "at least one row" in refused.stderr
    for size in ("100", "2GiB"):
        refused = subprocess.run(
            [SHALE, "convert", photos, tmp_path / "x", "--to", "parquet", "--row-group-size", size], capture_output=True, text=True
        )
        assert refused.returncode == 2 and "1MiB to 1GiB" in refused.stderr
    refused = subprocess.run(
        [SHALE, "convert", photos, tmp_path / "x", "--to", "lmdb", "--row-group-size", "2MiB"], capture_output=True, text=True
    )
    assert refused.returncode == 2 and "lmdb has no row groups" in refused.stderr
