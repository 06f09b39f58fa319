"""shale.decode_rgb8 gives the pixels of Pillow's Image.open(...).convert("RGB"), and refuses what Pillow refuses."""

import io
import pathlib
import random
import warnings

import numpy as np
import pytest
import shale as shale_package  # "shale" is the fixture that runs the tool
from PIL import Image, features

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "fuzz/corpus/jpeg_rgb"  # YCCK, arithmetic: Pillow cannot write them

# Pillow brings a libjpeg-turbo of its own. Of these every pixel was seen to equal those of 2.1.5; another may round by 1.
SAME_PIXELS = ("2.1.5", "3.2.0")
ALLOWED = 0 if features.version("libjpeg_turbo") in SAME_PIXELS else 1


def saved(mode, size, seed=0, **options):
    """A JPEG of a smooth picture with noise on it."""
    dice = random.Random(seed)
    noise = Image.frombytes(mode, size, dice.randbytes(size[0] * size[1] * len(mode)))
    smooth = noise.resize((max(size[0] // 8, 1), max(size[1] // 8, 1))).resize(size, Image.BICUBIC)
    file = io.BytesIO()
    Image.blend(noise, smooth, 0.7).save(file, "JPEG", **options)
    return file.getvalue()


def pillow(content):
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image.convert("RGB"))


def check_pixels(content):
    expected = pillow(content)
    pixels = shale_package.decode_rgb8(content)
    assert (pixels.dtype, pixels.shape) == (np.uint8, expected.shape)
    assert np.abs(pixels.astype(int) - expected).max() <= ALLOWED
    planes = shale_package.decode_rgb8(content, "chw")
    assert planes.dtype == np.uint8
    assert np.array_equal(planes, pixels.transpose(2, 0, 1))


KINDS = {
    "gray": ("L", {}),
    "gray progressive": ("L", {"progressive": True}),
    "4:4:4": ("RGB", {"subsampling": 0}),
    "4:2:2": ("RGB", {"subsampling": 1}),
    "4:2:0": ("RGB", {"subsampling": 2}),
    "4:2:0 progressive": ("RGB", {"subsampling": 2, "progressive": True}),
    "4:2:0 restarts": ("RGB", {"subsampling": 2, "restart_marker_rows": 1}),
    "stored as RGB": ("RGB", {"keep_rgb": True}),
    "cmyk": ("CMYK", {}),
    "cmyk progressive": ("CMYK", {"progressive": True}),
}


@pytest.mark.parametrize("quality", [30, 75, 100])
@pytest.mark.parametrize("kind", KINDS)
def test_pixels_of_every_kind(kind, quality):
    mode, options = KINDS[kind]
    check_pixels(saved(mode, (203, 157), quality=quality, **options))


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.jpg")), ids=lambda path: path.stem)
def test_pixels_of_kinds_that_pillow_only_reads(path):
    check_pixels(path.read_bytes())


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_pixels_of_every_small_size(mode):
    for width in range(1, 18):
        for height in range(1, 18):
            check_pixels(saved(mode, (width, height)))


def test_the_orientation_of_exif_is_not_applied():
    exif = Image.Exif()
    exif[0x0112] = 6
    check_pixels(saved("RGB", (40, 20), exif=exif))


def test_a_second_image_in_the_file_is_left_alone():
    check_pixels(saved("RGB", (40, 20)) + saved("RGB", (64, 64)))


def test_a_cut_file_is_refused_as_pillow_refuses_it():
    content = saved("RGB", (24, 24), quality=50)
    for bad in [content[:length] for length in range(3, len(content))]:
        with pytest.raises((OSError, SyntaxError)):
            pillow(bad)
        with pytest.raises(ValueError):
            shale_package.decode_rgb8(bad)


def test_all_pixels_without_an_end_are_taken_as_pillow_takes_them():
    check_pixels(saved("RGB", (24, 24))[:-2] + b"x" * 200)


def test_damage_that_pillow_decodes_gives_the_same_pixels():
    dice = random.Random(20261121)
    compared = 0
    for trial in range(400):
        content = bytearray(saved("RGB", (48, 40), seed=trial, quality=60, subsampling=trial % 3))
        scan = content.index(b"\xff\xda") + 14
        content[dice.randrange(scan, len(content) - 2)] ^= 1 << dice.randrange(8)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = pillow(bytes(content))
        except (OSError, SyntaxError):
            continue
        pixels = shale_package.decode_rgb8(bytes(content))
        assert np.abs(pixels.astype(int) - expected).max() <= ALLOWED, f"trial {trial}"
        compared += 1
    assert compared > 100
