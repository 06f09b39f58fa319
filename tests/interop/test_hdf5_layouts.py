"""HDF5 files in the layouts of training code: h5py reads what Pillow decodes, or the files byte for byte, and so does shale."""

import json
import random

import h5py
import numpy as np
import pytest
import shale
from conftest import run_shale
from documented_code import blocks_of
from PIL import Image
from shale import Dataset, convert, errors, info


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
    told = run_shale("convert", photos, tmp_path / "train.h5", "--layout", "vlen").stderr
    assert b"layout vlen has no place for class names" in told
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


def pngs_of(dice):
    """(name, image or bytes) of every color type and depth of PNG that is read, some with transparency, interlaced by libpng's own rules."""
    noise = np.frombuffer(dice.randbytes(48 * 64 * 4), "u1").reshape(48, 64, 4)
    rgb, gray = Image.fromarray(noise[..., :3]), Image.fromarray(noise[..., 0])
    yield "rgb", rgb, {}
    yield "rgba", Image.fromarray(noise), {}
    yield "gray", gray, {}
    yield "gray-alpha", Image.merge("LA", [gray, Image.fromarray(noise[..., 3])]), {}
    yield "bilevel", gray.convert("1"), {}
    yield "palette", rgb.quantize(200), {}
    yield "palette-4-bits", rgb.quantize(16), {"bits": 4}
    yield "palette-2-bits", rgb.quantize(4), {"bits": 2}
    yield "palette-transparent", rgb.quantize(64), {"transparency": 3}
    yield "rgb-transparent", rgb, {"transparency": (1, 2, 3)}
    yield "gray-transparent", gray, {"transparency": 7}


def raw_png(color, depth, rows, interlaced=False):
    """What Pillow does not write: a PNG of these rows of bytes, unfiltered."""
    import struct
    import zlib

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 64, 48, depth, color, 0, 0, int(interlaced))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) + chunk(b"IEND", b"")


def adam7(pixels):
    """Rows of the seven passes of (H, W, bytes of a pixel)."""
    for y, x, down, right in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
        for row in pixels[y::down, x::right]:
            yield row.tobytes()


def test_fixed_png_is_what_pillow_decodes(tmp_path):
    dice = random.Random(8)
    root = tmp_path / "in/c"
    root.mkdir(parents=True)
    for name, image, words in pngs_of(dice):
        image.save(root / f"{name}.png", **words)
    for color, depth, pixel in ((0, 2, 1 / 4), (0, 4, 1 / 2), (2, 16, 6), (4, 16, 4), (6, 16, 8)):
        rows = [dice.randbytes(int(64 * pixel)) for _ in range(48)]
        (root / f"raw-{color}-{depth}.png").write_bytes(raw_png(color, depth, rows))
    for color, pixel in ((0, 1), (2, 3), (6, 4)):
        pixels = np.frombuffer(dice.randbytes(48 * 64 * pixel), "u1").reshape(48, 64, pixel)
        (root / f"interlaced-{color}.png").write_bytes(raw_png(color, 8, list(adam7(pixels)), True))
    write_noise(root / "photo.jpg", (64, 48), dice, 80)
    convert(tmp_path / "in", tmp_path / "x.h5", layout="fixed")
    with h5py.File(tmp_path / "x.h5") as file:
        for row, path in enumerate(sorted(root.iterdir())):
            pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
            assert abs(file["images"][row].astype(int) - pixels).max() <= int(path.suffix == ".jpg"), path


def test_a_png_that_cannot_be_decoded_is_refused_by_name(tmp_path):
    root = tmp_path / "in/c"
    root.mkdir(parents=True)
    rows = [random.Random(row).randbytes(64 * 3) for row in range(48)]
    for bad, message in ((raw_png(2, 8, rows[:40]), "the PNG cannot be decoded"),
                         (raw_png(0, 16, [row[:128] for row in rows]), "a gray PNG of 16 bits")):
        (root / "a.png").write_bytes(bad)
        with pytest.raises(errors.Error, match=f"(?s)c/a.png.*({message})"):
            convert(tmp_path / "in", tmp_path / "x.h5", layout="fixed")
    assert not (tmp_path / "x.h5").exists()


def test_images_of_two_sizes_are_refused_by_name(photos, tmp_path):
    import shutil

    shutil.copytree(photos, tmp_path / "in")
    write_noise(tmp_path / "in/c1/00.jpg", (64, 49), random.Random(1))
    with pytest.raises(errors.Error, match="c1/00.jpg.*64 x 49 pixels, but those before it have 64 x 48"):
        convert(tmp_path / "in", tmp_path / "train.h5", layout="fixed")
    Image.new("RGB", (64, 48)).save(tmp_path / "in/c1/00.jpg", format="BMP")
    with pytest.raises(errors.Error, match="c1/00.jpg.*layout fixed decodes only JPEG and PNG images"):
        convert(tmp_path / "in", tmp_path / "train.h5", layout="fixed")
    assert [one.name for one in tmp_path.iterdir()] == ["in"]


def layout_named_of(path):
    """The layout that info names, of a file without an index and with one, which must agree."""
    before, listed = info(path).layout, run_shale("info", path).stdout.decode()
    shale.index(path)
    assert info(path).layout == before
    assert [line.split()[1] for line in listed.splitlines() if line.startswith("  layout")] == ([before] if before else [])
    return before


@pytest.mark.parametrize("layout", ["flat", "vlen", "fixed"])
def test_info_names_the_layouts_that_are_written(layout, photos, tmp_path):
    convert(photos, tmp_path / "train.h5", layout=layout)
    assert layout_named_of(tmp_path / "train.h5") == layout
    # Its name decides nothing: any shale reads the index.
    assert "layout" not in json.loads((tmp_path / "train.h5.dataset.json").read_text())["requires"]


NUMBERS = np.arange(24)
DATASETS = {
    "caffe": (dict(data=NUMBERS.reshape(4, 1, 2, 3).astype("f4"), label=NUMBERS[:4].astype("f4")), "caffe-h5"),
    "caffe, labels (N, 1)": (dict(data=NUMBERS.reshape(4, 6), label=NUMBERS[:4].reshape(4, 1)), "caffe-h5"),
    "caffe, one number each": (dict(data=NUMBERS, label=NUMBERS), None),
    "caffe, two labels each": (dict(data=NUMBERS.reshape(4, 6), label=NUMBERS[:8].reshape(4, 2)), None),
    "caffe, and more": (dict(data=NUMBERS.reshape(4, 6), label=NUMBERS[:4], weight=NUMBERS[:4]), None),
    "RGB": (dict(images=np.zeros((4, 2, 5, 3), "u1"), labels=NUMBERS[:4]), "fixed"),
    "gray": (dict(images=np.zeros((4, 2, 5, 1), "u1"), labels=NUMBERS[:4]), None),
    "floats": (dict(images=np.zeros((4, 2, 5, 3), "f4"), labels=NUMBERS[:4]), None),
    "real labels": (dict(images=np.zeros((4, 2, 5, 3), "u1"), labels=NUMBERS[:4] / 2), None),
    "flat": (dict(text=NUMBERS.astype("u1"), text_offset=np.array([0, 9, 9, 24])), "flat"),
    "other names": (dict(x=NUMBERS.reshape(4, 6), y=NUMBERS[:4]), None),
}


@pytest.mark.parametrize("name", DATASETS)
def test_info_names_no_layout_but_exactly_those(name, tmp_path):
    datasets, layout = DATASETS[name]
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for dataset, values in datasets.items():
            file[dataset] = values
    assert layout_named_of(tmp_path / "x.h5") == layout


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
