"""Image work beside torchvision and Pillow: sizes of Resize and CenterCrop, where the crop lies, and the same bytes for any jobs, of JPEGs of all kinds."""

import filecmp
import io
import os

import numpy as np
import pytest
import shale
from conftest import real_torchvision, run_shale, write
from PIL import Image

SIZES = [(48, 40), (40, 48), (33, 100), (101, 34), (7, 5), (1, 9), (640, 427), (427, 640), (300, 301)]


@pytest.fixture(scope="module")
def transforms():
    real_torchvision()
    import torchvision.transforms

    return torchvision.transforms


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sizes")
    noise = np.random.default_rng(5)
    kinds = {"gray": ("L", {}), "cmyk": ("CMYK", {}), "progressive": ("RGB", {"progressive": True}), "plain": ("RGB", {})}
    for number, (width, height) in enumerate(SIZES):
        for kind, (mode, options) in kinds.items():
            few = noise.integers(0, 256, (4, 4, len(Image.new(mode, (1, 1)).getbands())), dtype=np.uint8)
            picture = Image.fromarray(few.squeeze(), mode).resize((width, height), Image.Resampling.BICUBIC)
            file = io.BytesIO()
            picture.save(file, "JPEG", quality=92, **options)
            write(folder, f"{kind}/{number}.jpg", file.getvalue())
    return folder


def pictures_of(dataset):
    with shale.Dataset(dataset, fields=["key", "image"]) as samples:
        return {os.fsdecode(samples[i]["key"]): samples[i]["image"] for i in range(len(samples))}


@pytest.mark.parametrize("side", [5, 32, 41, 224])
def test_shorter_side_is_that_of_resize(side, pictures, transforms, tmp_path):
    run_shale("convert", pictures, tmp_path / "out", "--to", "record", "--resize", f"shorter={side}")
    resize = transforms.Resize(side)
    for key, image in pictures_of(tmp_path / "out").items():
        assert Image.open(io.BytesIO(image)).size == resize(Image.open(pictures / key)).size, key


@pytest.mark.parametrize("crop", [(5, 4), (4, 5), (8, 8)])
def test_crop_lies_where_center_crop_lies(crop, pictures, transforms, tmp_path):
    width, height = crop
    small = [i for i, (w, h) in enumerate(SIZES) if w < width or h < height]
    words = ["--crop", f"center={width}x{height}", "--encode", "png", "--max-errors", "50%"]
    run_shale("convert", pictures, tmp_path / "out", "--to", "record", *words, code=4)
    made = pictures_of(tmp_path / "out")
    assert len(made) == 4 * (len(SIZES) - len(small))
    for key, image in made.items():
        source = Image.open(pictures / key)
        if source.mode == "CMYK":
            source = source.convert("RGB")
        expected = np.asarray(transforms.CenterCrop((height, width))(source)).astype(int)
        ours = np.asarray(Image.open(io.BytesIO(image))).astype(int)
        assert ours.shape == expected.shape, key
        assert abs(ours - expected).max() <= 3, key


def test_any_jobs_and_memory_give_the_same_bytes(pictures, tmp_path):
    for name, jobs, memory in (("a", 1, "256MiB"), ("b", 4, "16MiB"), ("c", 2, "64MiB")):
        run_shale("convert", pictures, tmp_path / name, "--to", "record", "--resize", "fit=60x50", "--jobs", str(jobs), "--memory", memory)
        names = sorted(os.listdir(tmp_path / "a"))
        assert sorted(os.listdir(tmp_path / name)) == names
        assert filecmp.cmpfiles(tmp_path / "a", tmp_path / name, names, shallow=False)[1:] == ([], [])
    arguments = shale.convert(str(pictures), str(tmp_path / "python"), to="record", resize="fit=60x50")
    assert filecmp.cmpfiles(tmp_path / "a", tmp_path / "python", names, shallow=False)[1:] == ([], []), arguments


@pytest.mark.parametrize("encode", ["keep", "raw"])
def test_an_image_behind_a_text_and_its_mask(encode, pictures, tmp_path):
    """Two images a sample, neither in the first field: the report counts both, and the result is read, copied and compared."""
    schema = {"caption": "str", "image": "bytes", "mask": "bytes"}
    labels = np.random.default_rng(6).integers(0, 9, (21, 30), dtype=np.uint8)
    mask = io.BytesIO()
    Image.fromarray(labels).save(mask, "PNG")
    with shale.Writer(tmp_path / "in", to="record", schema=schema) as writer:
        for path in sorted(pictures.glob("plain/*.jpg")):
            writer.write({"key": path.name, "caption": path.name, "image": path.read_bytes(), "mask": mask.getvalue()})
    words = ["--resize", "image:exact=20x10", "--resize", "mask:exact=15x7", "--encode", f"image:{encode}", "--encode", f"mask:{encode}"]
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", *words)
    run_shale("verify", tmp_path / "out", "--deep")
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "in")
    run_shale("convert", tmp_path / "out", tmp_path / "copy", "--to", "lmdb")
    with shale.Dataset(tmp_path / "copy") as samples:
        assert len(samples) == len(SIZES)
        found = samples[3]["mask"]
        pixels = np.asarray(Image.open(io.BytesIO(found)) if encode == "keep" else found)
        rows, columns = ((np.arange(n) + 0.5) * m / n for n, m in ((7, 21), (15, 30)))
        assert (pixels == labels[rows.astype(int)][:, columns.astype(int)]).all()
        assert samples[3]["caption"] == "3.jpg"
