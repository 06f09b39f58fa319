"""What an image says of itself, EXIF above all, reaches transforms in Python wherever it would without shale."""

import io

import pytest
import shale
import shale.torch
from conftest import real_torchvision
from PIL import Image, ImageOps, PngImagePlugin
from view_sets import encoded, order_of, packed, picture

real_torchvision()
from torchvision import transforms as v1
from torchvision.transforms import v2

TURNED = Image.Exif()
TURNED[0x0112] = 6  # a quarter turn


def chunks_behind_the_pixels(png):
    """The same PNG with its EXIF behind its pixels, where some programs write it."""
    begin = png.index(b"eXIf") - 4
    end = begin + 12 + int.from_bytes(png[begin : begin + 4], "big")
    return png[:begin] + png[end:-12] + png[begin:end] + png[-12:]


def images():
    photo = Image.fromarray(picture(90, 60))
    text = PngImagePlugin.PngInfo()
    text.add_itxt("XML:com.adobe.xmp", '<x:xmpmeta tiff:Orientation="8"/>')
    for form in ("JPEG", "PNG", "WEBP", "TIFF", "AVIF"):
        yield encoded(photo, form, exif=TURNED.tobytes())
        yield encoded(photo.convert("L"), form, dpi=(72, 72))
    yield encoded(photo, "JPEG", icc_profile=b"a profile", comment=b"a comment")
    yield encoded(photo, "PNG", pnginfo=text)
    yield chunks_behind_the_pixels(encoded(photo, "PNG", exif=TURNED.tobytes()))
    for mode in ("L", "RGB", "P"):
        yield encoded(photo.convert(mode), "PNG", transparency={"RGB": (9, 8, 7)}.get(mode, 3))
    yield encoded(photo.convert("P"), "GIF", transparency=3)
    yield encoded(photo, "BMP")


VALUES = list(images())


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return packed(VALUES, tmp_path_factory.mktemp("info"))


class Seen:
    """A transform that notes what images say of themselves."""

    def __init__(self):
        self.info = []

    def __call__(self, image):
        # Of animations: without meaning for one image, and known only when it is decoded.
        self.info.append({name: value for name, value in image.info.items() if name not in ("timestamp", "duration")})
        return image


def expected():
    seen = Seen()
    for number in order_of(len(VALUES)):
        seen(Image.open(io.BytesIO(VALUES[number])).convert("RGB"))
    return seen.info


@pytest.mark.filterwarnings("ignore:Palette images")
@pytest.mark.parametrize("before", [[], [v1.Resize(40)], [v1.CenterCrop(30)], [v1.RandomResizedCrop(30)]], ids=["all", "resized", "middle", "crop"])
def test_a_transform_behind_a_crop_sees_what_pillow_says_of_the_image(before, photos):
    for read in (shale.torch.ImageFolder, lambda path, transform: shale.torch.Loader(path, 5, transform=transform, num_threads=1)):
        seen = Seen()
        list(read(photos, v1.Compose([*before, seen, v1.PILToTensor()])))
        assert seen.info == expected()


def test_the_sample_of_v2_has_it_too(photos):
    seen = Seen()
    compose = v2.Compose([v2.Resize(40), lambda sample: {**sample, "image": seen(sample["image"])}, v2.PILToTensor()])
    list(shale.torch.Loader(photos, 5, transform=compose, num_threads=1))
    assert seen.info[0]["exif"] == TURNED.tobytes()
    list(shale.Dataset(photos, decode="pil", transform=compose))
    assert seen.info[len(VALUES) :] == seen.info[: len(VALUES)]


@pytest.mark.parametrize("before", [[v1.Grayscale(3)], [v1.Resize(40), v2.Grayscale(3)], [v1.Grayscale(1), v1.Resize(40)]], ids=["gray", "small", "one channel"])
def test_what_torchvision_forgets_of_a_gray_image_is_forgotten(before, photos):
    seen, here = Seen(), Seen()
    v1.Compose([*before, seen])(Image.open(io.BytesIO(VALUES[0])).convert("RGB"))
    for read in (shale.torch.ImageFolder, lambda path, transform: shale.torch.Loader(path, 5, transform=transform, num_threads=1)):
        list(read(photos, v1.Compose([*before, here, v1.PILToTensor()])))
    for info in (here.info[0], here.info[len(VALUES)]):
        assert info.keys() == seen.info[0].keys()


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["TIFF", "JPEG"])
def test_images_that_pillow_turns_itself_are_turned(form, orientation, tmp_path):
    turned = Image.Exif()
    turned[0x0112] = orientation
    value = encoded(Image.fromarray(picture(50, 30)), form, exif=turned.tobytes())
    path = packed([value], tmp_path)
    for order in ([], [v1.Resize(20)], [v1.CenterCrop(16)], [v1.Resize((20, 40)), ImageOps.exif_transpose], [v1.RandomVerticalFlip(1)]):
        compose = v1.Compose([*order, v1.PILToTensor()])
        expected = compose(Image.open(io.BytesIO(value)).convert("RGB"))
        (batch,) = shale.torch.Loader(path, 1, transform=compose, scaled_decoding=False)
        for found in (shale.torch.ImageFolder(path, compose)[0][0], batch["image"][0]):
            assert found.shape == expected.shape and (found.int() - expected.int()).abs().max() <= 2


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
def test_photos_are_turned_by_exif_transpose(form, tmp_path):
    value = encoded(Image.fromarray(picture(500, 375)), form, exif=TURNED.tobytes())
    path = packed([value], tmp_path)
    for order in ([ImageOps.exif_transpose, v1.Resize(50)], [v1.Resize(50), ImageOps.exif_transpose]):
        compose = v1.Compose([*order, v1.ToTensor()])
        shape = compose(Image.open(io.BytesIO(value)).convert("RGB")).shape
        assert shape == (3, 66, 50)
        (batch,) = shale.torch.Loader(path, 1, transform=compose)
        assert shale.torch.ImageFolder(path, compose)[0][0].shape == batch["image"][0].shape == shape
    for order in ([ImageOps.exif_transpose, v2.Resize(50)], [v2.Resize(50), ImageOps.exif_transpose]):
        compose = v2.Compose([*order, v2.ToImage()])
        (batch,) = shale.torch.Loader(path, 1, transform=compose)
        assert shale.torch.ImageFolder(path, compose)[0][0].shape == batch["image"][0].shape == shape


def test_our_own_transforms_keep_it():
    own = shale.torch.transforms
    image = Image.open(io.BytesIO(VALUES[0])).convert("RGB")
    for transform in (own.Resize(20), own.CenterCrop(20), own.RandomHorizontalFlip(1), own.Grayscale(), own.RGB()):
        assert transform(image).info == image.info and image.info["exif"]


def test_an_image_that_pillow_does_not_open_is_an_error_that_names_the_sample(photos, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 90 * 60 // 2 - 1)
    compose = v1.Compose([v1.Resize(40), Seen(), v1.PILToTensor()])
    with pytest.raises(shale.ContentError, match="0000.jpg.*exceeds limit"):
        list(shale.torch.Loader(photos, 5, transform=compose))
