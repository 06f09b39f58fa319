"""A shale.Dataset of a `datasets.Dataset`, and the other way round, over the same Parquet files."""

import io
import os
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shale
from conftest import jpeg
from PIL import Image

datasets = pytest.importorskip("datasets")

ROWS = 30
IMAGES = [jpeg(i) for i in range(ROWS)]
FEATURES = datasets.Features(
    {"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"]), "score": datasets.Value("float32")}
)
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def hub_is_away(monkeypatch, tmp_path):
    """The caches of `datasets` and of the Hub are in the test's folder."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    datasets.disable_progress_bars()


def write_repository(root):
    """Two files of train with 20 rows, one of test with 10, as push_to_hub names them."""
    data = root / "data"
    data.mkdir(parents=True)
    (root / "README.md").write_text("---\n---\n")
    for name, begin in (("train-00000-of-00002", 0), ("train-00001-of-00002", 10), ("test-00000-of-00001", 20)):
        rows = range(begin, begin + 10)
        columns = {
            "image": [{"bytes": IMAGES[i], "path": None} for i in rows],
            "label": [i % 2 for i in rows],
            "score": [None if i == 3 else float("nan") if i == 0 else i / 2 for i in rows],
        }
        table = pa.table(columns, FEATURES.arrow_schema)
        pq.write_table(table, data / f"{name}.parquet", compression={"image.bytes": "none", "score": "snappy"}, use_dictionary=["label"])
    return root


@pytest.fixture
def repository(tmp_path):
    return write_repository(tmp_path / "pets")


def loaded(root, **options):
    return datasets.load_dataset(str(root), **options)


def from_the_hub(tmp_path):
    """What load_dataset("someone/pets") gives, and leaves in both caches."""
    root = tmp_path / "hub" / "datasets--someone--pets"
    local = loaded(write_repository(root / "snapshots" / COMMIT))
    (root / "blobs").mkdir()
    for number, file in enumerate(sorted((root / "snapshots" / COMMIT / "data").iterdir())):
        file.rename(root / "blobs" / f"{number:064}")
        file.symlink_to(f"../../../blobs/{number:064}")
    (made,) = {os.path.dirname(file["filename"]) for split in local.values() for file in split.cache_files}
    cache = tmp_path / "cache" / "someone___pets" / "default" / "0.0.0" / COMMIT
    cache.parent.mkdir(parents=True)
    shutil.move(made, cache)
    for split in local:
        (cache / f"{COMMIT}-{split}.arrow").rename(cache / f"pets-{split}.arrow")
    info = cache / "dataset_info.json"
    info.write_text(info.read_text().replace(f'"dataset_name": "{COMMIT}"', '"dataset_name": "pets"'))
    return datasets.load_dataset("someone/pets")


def check_same(found, ds):
    assert len(found) == len(ds)
    for sample, row in zip(found, ds.cast_column("image", datasets.Image(decode=False)), strict=True):
        assert bytes(sample["image"]) == row["image"]["bytes"]
        assert sample["label"] == row["label"]
        np.testing.assert_equal(sample["score"], row["score"])


def test_a_dataset_of_the_hub_is_read_from_the_files_in_the_cache(tmp_path):
    ds = from_the_hub(tmp_path)
    for split in ("train", "test"):
        with shale.Dataset.from_hf(ds[split]) as found:
            check_same(found, ds[split])
            assert found.classes == ["cat", "dog"]
            assert COMMIT in found.path


def test_order_and_selection_hold(tmp_path):
    train = from_the_hub(tmp_path)["train"]
    for ds in (
        train.shuffle(seed=1),
        train.select([7, 3, 3]),
        train.filter(lambda label: label == 1, input_columns="label"),
        train.sort("label"),
    ):
        with shale.Dataset.from_hf(ds) as found:
            check_same(found, ds)


def test_arguments_of_a_dataset_are_taken(tmp_path):
    ds = from_the_hub(tmp_path)["test"].shuffle(seed=2)
    with shale.Dataset.from_hf(ds, fields=["image", "label"], decode="rgb8", as_tuple=("label", "image")) as found:
        for (label, image), row in zip(found, ds, strict=True):
            assert label == row["label"]
            assert np.array_equal(image, np.asarray(row["image"].convert("RGB")))
    with pytest.raises(shale.errors.UsageError, match="indices follow"):
        shale.Dataset.from_hf(ds, indices=[0])


def test_files_that_older_versions_note_are_found_for_each_split(repository):
    splits = loaded(repository)
    names = ("train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001")
    noted = {str(repository / "data" / f"{name}.parquet"): {"num_bytes": 1, "checksum": None} for name in names}
    for ds in splits.values():
        ds.info.download_checksums = noted
        with shale.Dataset.from_hf(ds) as found:
            check_same(found, ds)


def test_files_of_this_machine_are_passed(repository):
    ds = loaded(repository)["train"].shuffle(seed=3)
    with shale.Dataset.from_hf(ds, repository / "data" / "train-*.parquet") as found:
        check_same(found, ds)


def test_without_files_the_hint_exports_them(repository, tmp_path, monkeypatch):
    ds = loaded(repository)["train"].map(lambda row: {"score": 1.0})
    with pytest.raises(shale.errors.UnsupportedError, match="are not known") as refused:
        shale.Dataset.from_hf(ds)
    monkeypatch.chdir(tmp_path)
    exec(refused.value.hint.partition("export it: ")[2], {"ds": ds, "datasets": datasets})
    with shale.Dataset.from_hf(ds, "train.parquet") as found:
        check_same(found, ds)


def test_values_that_map_made_are_not_looked_for_in_the_files(tmp_path):
    ds = from_the_hub(tmp_path)["train"].map(lambda row, i: {"score": -1.0 if i == 5 else row["score"]}, with_indices=True)
    with pytest.raises(shale.errors.UnsupportedError, match="are not known"):
        shale.Dataset.from_hf(ds)


@pytest.mark.parametrize("files", ["train-*.parquet", "test-*.parquet"])
def test_other_files_are_refused(repository, files):
    splits = loaded(repository)
    wrong = splits["test" if "train" in files else "train"]
    with pytest.raises(shale.errors.MismatchError, match="rows, but the table"):
        shale.Dataset.from_hf(wrong, repository / "data" / files)


def test_rows_that_lie_together_are_refused_with_what_takes_them(tmp_path):
    from_the_hub(tmp_path)
    for ds in (
        datasets.load_dataset("someone/pets", split="train[5:8]"),
        datasets.load_dataset("someone/pets", split="train").select(range(5, 8)),
    ):
        with pytest.raises(shale.errors.MismatchError, match="20 rows, but .* has 3\nhint: .*indices="):
            shale.Dataset.from_hf(ds)


def test_files_with_other_values_are_refused(repository):
    train = loaded(repository)["train"]
    ds = datasets.concatenate_datasets([train.select(range(10, 20)), train.select(range(10))])
    with pytest.raises(shale.errors.MismatchError, match="'image' is another value"):
        shale.Dataset.from_hf(ds, repository / "data" / "train-*.parquet")
    ds = train.map(lambda row, i: {"score": -1.0 if i == 4 else row["score"]}, with_indices=True)
    with pytest.raises(shale.errors.MismatchError, match=re.escape("row 4: 'score'")):
        shale.Dataset.from_hf(ds, repository / "data" / "train-*.parquet")


def test_what_may_differ_in_any_row_is_compared_in_all(tmp_path):
    file = tmp_path / "x.parquet"
    rows = range(1000)
    datasets.Dataset.from_dict({"text": [f"t{i}" for i in rows], "label": [i % 3 for i in rows], "n": list(rows)}).to_parquet(file)
    ds = datasets.load_dataset("parquet", data_files=str(file), split="train")
    with shale.Dataset.from_hf(ds.shuffle(seed=1), file) as found:
        assert [sample["n"] for sample in found] == ds.shuffle(seed=1)["n"]
    with shale.Dataset.from_hf(ds.map(lambda row: {"label": row["label"]}), file) as found:
        assert len(found) == 1000
    changed = ds.map(lambda row: {"label": 7} if row["n"] == 333 else {})
    for made, words in (
        (changed, "row 333: 'label'"),
        (changed.shuffle(seed=1), "row 333: 'label'"),
        (ds.class_encode_column("text"), "row 0: 'text'"),
        (ds.cast_column("label", datasets.Value("string")), "row 0: 'label'"),
        (ds.select(range(999)).add_item({"text": "x", "label": 1, "n": 5}), "row 999: "),
        (
            datasets.concatenate_datasets(
                [ds.select(range(300)), ds.select(range(301, 302)), ds.select(range(300, 301)), ds.select(range(302, 1000))]
            ),
            "row 300: ",
        ),
    ):
        with pytest.raises(shale.errors.MismatchError, match=words):
            shale.Dataset.from_hf(made, file)


def test_splits_are_to_be_chosen(repository):
    with pytest.raises(shale.errors.UsageError, match=r"choose a split: ds\['train'\]"):
        shale.Dataset.from_hf(loaded(repository))
    with pytest.raises(shale.errors.UsageError, match="expected a datasets.Dataset"):
        shale.Dataset.from_hf([1, 2])


def check_to_hf(path, columns, **options):
    with shale.Dataset(path, **options) as dataset:
        ds = dataset.to_hf()
        assert isinstance(ds, datasets.Dataset)
        assert ds.features["label"].names == dataset.classes
        assert sorted(ds.column_names) == columns
        assert len(ds) == len(dataset)
        for row, sample in zip(ds, dataset, strict=True):
            assert np.array_equal(np.asarray(row["image"]), np.asarray(Image.open(io.BytesIO(sample["image"]))))
            assert row["label"] == sample["label"]
        return ds


def test_what_shale_wrote_becomes_a_dataset_of_datasets(photos, shale, tmp_path):
    shale("convert", photos, tmp_path / "out", "--to", "parquet", "--shuffle", "--shard-samples", "25")
    shale("convert", photos, tmp_path / "out.parquet")
    (tmp_path / "out").rename(tmp_path / "out[1] *")  # names, not patterns
    for path in (tmp_path / "out[1] *", tmp_path / "out.parquet"):
        check_to_hf(path, ["image", "key", "label"])
    check_to_hf(tmp_path / "out[1] *", ["image", "key", "label"], indices=[60, 1, 1, 30])


def test_files_of_others_become_one_and_come_back(repository):
    with shale.Dataset(repository / "data" / "train-*.parquet") as dataset:
        files = [str(repository / "data" / f"train-0000{i}-of-00002.parquet") for i in range(2)]
        with shale.Dataset.from_hf(dataset.to_hf(), files) as back:
            check_same(back, dataset.to_hf())
    check_to_hf(repository / "data" / "test-00000-of-00001.parquet", ["image", "label", "score"], indices=range(9, 3, -2))


def test_other_containers_are_refused_with_the_conversion(dataset):
    with shale.Dataset(dataset) as found, pytest.raises(shale.errors.UnsupportedError, match="--to parquet"):
        found.to_hf()
