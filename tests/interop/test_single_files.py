"""One file as output: py-lmdb, h5py, NumPy, zipfile and the tfrecord package open it as it is, and shale.Dataset reads what a directory holds."""

import shutil
import zipfile

import h5py
import lmdb
import msgpack
import numpy as np
import pytest
import shale as package
from tfrecord.reader import tfrecord_loader

SUFFIXES = ["lmdb", "h5", "tfrecord"]


@pytest.fixture(scope="module")
def files(photos, shale, tmp_path_factory):
    """`photos` as one file of each format, without an index."""
    folder = tmp_path_factory.mktemp("files")
    for suffix in SUFFIXES:
        shale("convert", photos, folder / f"train.{suffix}")
    return folder


@pytest.fixture(scope="module")
def directory(photos, shale, tmp_path_factory):
    out = tmp_path_factory.mktemp("directory") / "out"
    shale("convert", photos, out, "--to", "record")
    return out


def samples_of(dataset):
    return [(sample["key"], sample["label"], bytes(sample["image"])) for sample in dataset]


@pytest.fixture(scope="module")
def expected(directory):
    return samples_of(package.Dataset(directory))


def as_bytes(key):
    return key if isinstance(key, bytes) else key.encode()


def test_py_lmdb_opens_the_file(files, expected):
    with lmdb.open(str(files / "train.lmdb"), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        values = [msgpack.unpackb(value) for _, value in txn.cursor()]
        assert env.stat()["entries"] == len(expected)
    assert [(v["key"], v["label"], v["image"]) for v in values] == [(as_bytes(key), label, image) for key, label, image in expected]


def test_h5py_opens_the_file(files, expected):
    with h5py.File(files / "train.h5") as f:
        ends, image = f["image_offset"][:], f["image"][:].tobytes()
        found = [(int(f["label"][i]), image[ends[i] : ends[i + 1]]) for i in range(len(f["label"]))]
    assert found == [(label, image) for _, label, image in expected]


def test_the_tfrecord_package_opens_the_file(files, expected):
    features = {"image": "byte", "label": "int", "key": "byte"}
    found = [
        (bytes(e["key"]), int(e["label"][0]), bytes(e["image"])) for e in tfrecord_loader(str(files / "train.tfrecord"), None, features)
    ]
    assert found == [(as_bytes(key), label, image) for key, label, image in expected]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_dataset_of_the_file_alone_is_that_of_the_directory(suffix, files, expected):
    assert samples_of(package.Dataset(files / f"train.{suffix}")) == expected


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_with_its_index_the_file_is_verified_while_it_is_read(suffix, photos, shale, tmp_path, expected):
    path = tmp_path / f"train.{suffix}"
    shale("convert", photos, path, "--with-index")
    dataset = package.Dataset(path, verify=True)
    assert samples_of(dataset) == expected
    assert list(dataset.classes) == sorted(folder.name for folder in photos.iterdir() if folder.is_dir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_with_an_index_where_images_were_left_out(suffix, photos, shale, tmp_path):
    """The index is of the file, which holds all that it says; the old file and its index go only when the new ones are whole."""
    source = tmp_path / "source"
    shutil.copytree(photos, source)
    (next(source.iterdir()) / "empty.jpg").write_bytes(b"")
    (source / "README.txt").write_text("ignored")
    shale("convert", source, tmp_path / "set", "--to", "record", code=4)
    path = tmp_path / f"train.{suffix}"
    for words in ((source, path, "--with-index", "--verify"), (tmp_path / "set", path, "--with-index", "--overwrite")):
        shale("convert", *words, code=4 if words[0] == source else 0)
        assert not (tmp_path / f".{path.name}.shale").exists()
        shale("verify", path)
        assert samples_of(package.Dataset(path, verify=True)) == samples_of(package.Dataset(tmp_path / "set"))


@pytest.mark.parametrize("compress", ["none", "deflate"])
def test_numpy_and_zipfile_open_an_archive(compress, shale, tmp_path):
    arrays = {"x": np.arange(70_000, dtype="<f4").reshape(1000, 7, 10), "y": np.arange(1000)}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    path = tmp_path / "both.npz"
    shale("convert", f"x={tmp_path / 'x.npy'}", f"y={tmp_path / 'y.npy'}", path, "--compress", compress)
    with np.load(path) as archive:
        assert sorted(archive.files) == ["x", "y"]
        for name, array in arrays.items():
            assert archive[name].dtype == array.dtype
            assert (archive[name] == array).all()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        kind = zipfile.ZIP_STORED if compress == "none" else zipfile.ZIP_DEFLATED
        assert {member.compress_type for member in archive.infolist()} == {kind}
