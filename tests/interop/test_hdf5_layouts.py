"""HDF5 files in the layouts of training code: h5py reads what Pillow decodes, or the files byte for byte, and so does shale."""

import random

import h5py
import numpy as np
import pytest
from conftest import run_shale
from documented_code import blocks_of
from PIL import Image
from shale import Dataset, convert, errors


def write_noise(path, size, dice, quality=None):
    """JPEGs from some hundred bytes to more than a collection of the global heap."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.frombytes("RGB", size, dice.randbytes(3 * size[0] * size[1])).save(path, quality=quality or dice.randint(1, 95))


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root, dice = tmp_path_factory.mktemp("layouts") / "photos", random.Random(5)
    for number in range(60):
        write_noise(root / f"c{number % 3}" / f"{number:02}.jpg", (64, 48), dice)
    return root


@pytest.fixture(scope="module")
def samples(photos):
    """(path, label) as torchvision's ImageFolder has them."""
    return [(path, label) for label in range(3) for path in sorted((photos / f"c{label}").iterdir())]


def test_vlen_is_every_file_for_h5py_and_for_shale(photos, samples, tmp_path):
    run_shale("convert", photos, tmp_path / "train.h5", "--layout", "vlen")
    expected = [(path.read_bytes(), label) for path, label in samples]
    sizes = [len(image) for image, _ in expected]
    assert min(sizes) < 1500 and max(sizes) > 4200
    with h5py.File(tmp_path / "train.h5") as file:
        assert set(file) == {"images", "labels"} and file["labels"].dtype == np.int64
        assert h5py.check_vlen_dtype(file["images"].dtype) == np.uint8
        assert [(file["images"][row].tobytes(), int(file["labels"][row])) for row in range(len(expected))] == expected
        assert [image.tobytes() for image in file["images"][:]] == [image for image, _ in expected]
    run_shale("index", tmp_path / "train.h5", "--crc")
    run_shale("verify", tmp_path / "train.h5", "--deep")
    assert [(bytes(one["images"]), one["labels"]) for one in Dataset(tmp_path / "train.h5")] == expected
    assert run_shale("cat", tmp_path / "train.h5", "7", "--field", "images").stdout == expected[7][0]
    convert(tmp_path / "train.h5", tmp_path / "again.h5", layout="vlen")
    assert (tmp_path / "again.h5").read_bytes() == (tmp_path / "train.h5").read_bytes()
    convert(tmp_path / "train.h5", tmp_path / "set", to="record")
    assert [(bytes(one["images"]), one["labels"]) for one in Dataset(tmp_path / "set")] == expected


def test_others_write_to_a_vlen_file(photos, samples, tmp_path):
    """The global heap is one that the library can add to."""
    convert(photos, tmp_path / "train.h5", layout="vlen")
    with h5py.File(tmp_path / "train.h5", "r+") as file:
        file["images"][3] = np.frombuffer(b"replaced" * 2000, "u1")
        file["more"] = np.arange(10)
    with h5py.File(tmp_path / "train.h5") as file:
        found = [image.tobytes() for image in file["images"][:]]
    assert found == [b"replaced" * 2000 if row == 3 else path.read_bytes() for row, (path, _) in enumerate(samples)]


@pytest.mark.parametrize("jobs", [1, 3])
def test_fixed_is_what_pillow_decodes(jobs, photos, samples, tmp_path):
    convert(photos, tmp_path / "train.h5", layout="fixed", jobs=jobs)
    with h5py.File(tmp_path / "train.h5") as file:
        assert file["images"].shape == (60, 48, 64, 3) and file["images"].dtype == np.uint8 and file["images"].chunks is None
        for row, (path, label) in enumerate(samples):
            pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
            assert abs(file["images"][row].astype(int) - pixels).max() <= 1, path
            assert file["labels"][row] == label
        images = file["images"][:]
    run_shale("verify", tmp_path / "train.h5")
    with Dataset(tmp_path / "train.h5") as dataset:
        assert all((one["images"] == images[row]).all() for row, one in enumerate(dataset))


def test_images_of_two_sizes_are_refused_by_name(photos, tmp_path):
    import shutil

    shutil.copytree(photos, tmp_path / "in")
    write_noise(tmp_path / "in/c1/00.jpg", (64, 49), random.Random(1))
    with pytest.raises(errors.Error, match="c1/00.jpg.*64 x 49 pixels, but those before it have 64 x 48"):
        convert(tmp_path / "in", tmp_path / "train.h5", layout="fixed")
    Image.new("RGB", (64, 48)).save(tmp_path / "in/c1/00.jpg", format="PNG")
    with pytest.raises(errors.Error, match="layout fixed decodes JPEG images only"):
        convert(tmp_path / "in", tmp_path / "train.h5", layout="fixed")
    assert [one.name for one in tmp_path.iterdir()] == ["in"]


def test_flat_is_the_default(photos, tmp_path):
    for words in ({}, {"layout": "flat"}):
        convert(photos, tmp_path / f"{len(words)}.h5", **words)
        convert(photos, tmp_path / f"set{len(words)}", to="hdf5", **words)
    assert (tmp_path / "0.h5").read_bytes() == (tmp_path / "1.h5").read_bytes()
    for path in (tmp_path / "set0").iterdir():
        assert path.name == "dataset.json" or path.read_bytes() == (tmp_path / "set1" / path.name).read_bytes()


def test_what_does_not_fit_is_refused(photos, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((4, 3)))
    for words in ([photos, "out", "--to", "hdf5", "--layout", "vlen"], [photos, "a.lmdb", "--layout", "fixed"]):
        assert b"it is a layout of one HDF5 file" in run_shale("convert", *words, code=2, cwd=tmp_path).stderr
    told = run_shale("convert", "x.npy", "a.h5", "--layout", "vlen", code=1, cwd=tmp_path).stderr
    assert b"has images and integer labels alone" in told
    assert sorted(one.name for one in tmp_path.iterdir()) == ["x.npy"]


@pytest.mark.parametrize("block", blocks_of(["formats/hdf5/FORMAT.md"], "h5py-layouts"))
def test_the_lines_in_the_document_read_an_image(block, photos, samples, tmp_path, monkeypatch):
    convert(photos, tmp_path / "train.h5", layout="vlen")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(block, names)
    assert (names["image"], names["label"]) == (samples[7][0].read_bytes(), samples[7][1])
