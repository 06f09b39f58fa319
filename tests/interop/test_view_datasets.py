"""shale.Dataset and shale.torch.ImageFolder with torchvision's transforms: the same samples as without shale, with the same random numbers, though
only what a leading crop shows of an image is decoded."""

import io
import re

import numpy as np
import pytest
import shale
import shale.torch
import torch
from conftest import real_torchvision
from PIL import Image
from shale import _shale
from view_sets import encoded, packed, photo, sizes, with_masks

real_torchvision()
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

pytestmark = pytest.mark.filterwarnings("ignore:The transform `ToTensor:UserWarning")
THREE = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
PHOTOS = 12


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    odd = [photo(90, 80, mode="L"), photo(90, 80, form="PNG"), photo(90, 80, form="BMP"), photo(20, 10), photo(80, 70, mode="CMYK")]
    return packed([*(photo(*size, seed) for seed, size in enumerate(sizes(PHOTOS))), *odd], tmp_path_factory.mktemp("led"))


def as_array(image):
    return image.to(torch.float32).numpy() if isinstance(image, torch.Tensor) else np.asarray(image).astype(np.float32)


def same_but_for_rounding(found, expected, levels=1.0, unit=1.0):
    assert type(found) is type(expected)
    assert not isinstance(found, Image.Image) or found.mode == expected.mode
    found, expected = as_array(found), as_array(expected)
    assert found.shape == expected.shape
    assert np.abs(found - expected).mean() <= levels * unit


PIPELINES: list = [
    lambda T: [T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(*THREE)],
    lambda T: [T.RandomResizedCrop((40, 64), scale=(0.3, 0.4), interpolation=v1.InterpolationMode.BICUBIC), T.ColorJitter(0.2), T.RandomVerticalFlip()],
    lambda T: [T.Resize(72), T.CenterCrop(64), T.ToTensor()],
    lambda T: [T.Resize((30, 40)), T.RandomCrop(20)],
    lambda T: [T.CenterCrop(64), T.RandomRotation(10)],
    lambda T: [T.Compose([T.Resize(72)]), T.PILToTensor()],
    lambda T: [T.RandomRotation(10), T.Resize(72)],
    lambda T: [T.RandomCrop(8), T.ToTensor()],
]


@pytest.mark.parametrize("T", [v1, v2], ids=["v1", "v2"])
@pytest.mark.parametrize("make", PIPELINES, ids=map(str, range(len(PIPELINES))))
def test_an_image_folder_gives_what_the_transform_gives_of_the_whole_image(T, make, photos):
    compose = T.Compose(make(T))
    plain = shale.torch.ImageFolder(photos)
    torch.manual_seed(7)
    expected = [(compose(image), label) for image, label in plain]
    state = torch.get_rng_state()

    torch.manual_seed(7)
    found = list(shale.torch.ImageFolder(photos, transform=compose))

    assert torch.equal(torch.get_rng_state(), state), "as many random numbers were drawn"
    unit = 1 / 255 / 0.22 if isinstance(expected[0][0], torch.Tensor) and expected[0][0].is_floating_point() else 1
    for (image, label), (other, number) in zip(found, expected):
        assert label == number
        same_but_for_rounding(image, other, unit=unit)


@pytest.mark.parametrize("decode", ["pil", "torchrgb8", "tv"])
@pytest.mark.parametrize("as_tuple", [None, ("image", "label")])
def test_a_dataset_gives_what_the_transform_gives_of_the_whole_sample(decode, as_tuple, photos):
    for each in (
        [v2.RandomResizedCrop(64), v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(torch.float32)],
        [v2.ToImage(), v2.ToDtype(torch.uint8, scale=True), v2.Resize(72), v2.CenterCrop(64)],
    ):
        compose = v2.Compose(each)
        torch.manual_seed(3)
        expected = [compose(sample) for sample in shale.Dataset(photos, decode=decode, as_tuple=as_tuple)]
        torch.manual_seed(3)
        found = list(shale.Dataset(photos, decode=decode, as_tuple=as_tuple, transform=compose))

        image = "image" if as_tuple is None else 0
        for sample, other in zip(found, expected):
            assert type(sample) is type(other) and len(sample) == len(other)
            same_but_for_rounding(sample[image], other[image])
            assert sample["label" if as_tuple is None else 1] == other["label" if as_tuple is None else 1]


def test_masks_are_cropped_with_their_image_and_keep_their_values(tmp_path):
    with shale.Writer(tmp_path / "set", schema={"image": "bytes", "mask": "bytes"}) as writer:
        for sample in with_masks(PHOTOS):
            writer.write(sample)
    for way, leading in (("tv", v2.RandomResizedCrop(32)), ("pil", v2.RandomResizedCrop(32)), ("tv", v2.Resize((30, 40))), ("tv", v2.CenterCrop(300))):
        ways = {"image": way, "mask": "tv_mask"}
        compose = v2.Compose([leading, v2.RandomHorizontalFlip(), v2.RandomVerticalFlip(), v2.ToImage(), v2.ToDtype(torch.float32), v2.Normalize(*THREE)])
        torch.manual_seed(3)
        expected = [compose(sample) for sample in shale.Dataset(tmp_path / "set", decode=ways)]
        torch.manual_seed(3)
        found = list(shale.Dataset(tmp_path / "set", decode=ways, transform=compose))

        for sample, other in zip(found, expected):
            assert isinstance(sample["mask"], tv_tensors.Mask) and torch.equal(sample["mask"], other["mask"])
            same_but_for_rounding(sample["image"], other["image"], unit=1 / 0.22)


def test_masks_that_no_drawn_view_gives_are_those_of_torchvision(tmp_path):
    """torch's mode "nearest" is not symmetric: to turn over and scale is not to scale and turn over."""
    with shale.Writer(tmp_path / "set", schema={"image": "bytes", "mask": "bytes"}) as writer:
        for sample in with_masks(4):
            writer.write(sample)
    plain = shale.Dataset(tmp_path / "set", decode={"image": "pil", "mask": "tv_mask"})
    exact = v1.InterpolationMode.NEAREST_EXACT
    for each in ([v2.RandomHorizontalFlip(1.0), v2.Resize((12, 27))], [v2.RandomVerticalFlip(1.0), v2.Resize((12, 27))], [v2.Resize((12, 27), exact)]):
        compose = v2.Compose([*each, v2.ToImage()])
        expected = torch.stack([compose(sample)["mask"].as_subclass(torch.Tensor) for sample in plain])
        (batch,) = shale.torch.Loader(plain, 4, transform=compose)
        assert torch.equal(batch["mask"].as_subclass(torch.Tensor), expected)
        found = shale.Dataset(plain.path, decode=plain.decode, transform=compose)
        assert torch.equal(torch.stack([sample["mask"].as_subclass(torch.Tensor) for sample in found]), expected)


def test_arrays_in_a_sample_are_what_the_transforms_make_of_them(tmp_path):
    with shale.Writer(tmp_path / "set", schema={"image": "bytes", "map": ("uint8", (4, 5, 3))}) as writer:
        writer.write({"key": "0", "image": photo(60, 50), "map": np.arange(60, dtype=np.uint8).reshape(4, 5, 3)})
    for each in ([v2.RandomResizedCrop(8), v2.ToImage()], [v2.ToImage(), v2.CenterCrop(8)]):
        torch.manual_seed(3)
        plain = shale.Dataset(tmp_path / "set", decode="pil")[0]
        expected = None
        try:
            expected = v2.Compose(each)(plain)
        except ValueError as error:  # of images of two sizes
            with pytest.raises(ValueError, match=re.escape(str(error))):
                shale.Dataset(tmp_path / "set", decode="pil", transform=v2.Compose(each))[0]
            continue
        torch.manual_seed(3)
        found = shale.Dataset(tmp_path / "set", decode="pil", transform=v2.Compose(each))[0]
        assert type(found["map"]) is type(expected["map"]) and torch.equal(found["map"], expected["map"])
        same_but_for_rounding(found["image"], expected["image"])


def test_values_are_torchs_of_the_same_pixels_to_the_bit(photos):
    for T in (v1, v2):
        each = [T.Resize(72), T.CenterCrop(64), T.RandomHorizontalFlip(1), T.ToTensor(), T.Normalize(*THREE)]
        pixels, values = (list(shale.torch.ImageFolder(photos, transform=T.Compose(some))) for some in (each[:3], each))
        for (image, _), (found, _) in zip(pixels, values):
            assert torch.equal(found, each[4](each[3](image)))


def test_only_the_crop_is_decoded(photos, monkeypatch):
    def whole(*_):
        raise AssertionError("an image was decoded as a whole")

    monkeypatch.setattr(Image.Image, "convert", whole)
    monkeypatch.setattr(_shale, "decode_rgb8", whole)
    rows = [row for row, key in enumerate(shale.Dataset(photos).column("key")) if int(key[2:6]) < PHOTOS]
    folder = shale.torch.ImageFolder(photos, transform=v1.Compose([v1.RandomResizedCrop(8), v1.ToTensor()]))

    assert [folder[row][0].shape for row in rows] == [(3, 8, 8)] * PHOTOS
    folder.transform = v1.Compose([v1.ToTensor()])
    with pytest.raises(shale.errors.ContentError, match="as a whole"):
        folder[rows[0]]


def test_a_transform_that_is_set_or_changed_later_counts(photos):
    folder = shale.torch.ImageFolder(photos, transform=v1.Resize((8, 8)))
    assert folder[0][0].size == (8, 8)
    folder.transform.size = (9, 10)
    assert folder[0][0].size == (10, 9)
    folder.transform = None
    assert folder[0][0].size == shale.torch.ImageFolder(photos)[0][0].size


@pytest.mark.parametrize("value", [b"", b"not an image", photo(200, 150)[:1500]], ids=["empty", "text", "truncated"])
def test_damage_is_the_same_error_as_without_a_transform(value, tmp_path):
    path = packed([photo(50, 50), photo(50, 50), value], tmp_path)
    with pytest.raises(shale.errors.ContentError) as plain:
        shale.Dataset(path, decode="pil")[1]
    for transform in (v2.Resize(8), v2.RandomResizedCrop(8)):
        with pytest.raises(shale.errors.ContentError) as error:
            shale.Dataset(path, decode="pil", transform=transform)[1]
        assert re.sub("0x[0-9a-f]+", "", str(error.value)) == re.sub("0x[0-9a-f]+", "", str(plain.value))
        assert (error.value.key, error.value.sample) == (plain.value.key, plain.value.sample)


def test_workers_of_a_data_loader_draw_what_they_would_draw(photos):
    compose = v1.Compose([v1.RandomResizedCrop(32), v1.RandomHorizontalFlip(), v1.PILToTensor()])

    class Plain(torch.utils.data.Dataset):
        def __init__(self):
            self.inner = shale.torch.ImageFolder(photos)

        def __len__(self):
            return len(self.inner)

        def __getitem__(self, row):
            image, label = self.inner[row]
            return compose(image), label

    def epoch(dataset):
        torch.manual_seed(2)
        return list(torch.utils.data.DataLoader(dataset, batch_size=4, num_workers=2, shuffle=True))

    for (images, labels), (others, numbers) in zip(epoch(shale.torch.ImageFolder(photos, transform=compose)), epoch(Plain())):
        assert torch.equal(labels, numbers)
        same_but_for_rounding(images, others)


def test_a_sixteen_bit_image_is_what_pillow_makes_of_it(tmp_path):
    value = encoded(Image.fromarray(np.arange(80 * 90, dtype=np.uint16).reshape(80, 90)), "PNG")
    path = packed([value], tmp_path)
    compose = v2.Resize((20, 20))

    found = shale.Dataset(path, decode="pil", transform=compose)[0]["image"]

    same_but_for_rounding(found, compose(Image.open(io.BytesIO(value)).convert("RGB")))
