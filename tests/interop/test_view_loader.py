"""shale.torch.Loader with a Compose: batches against torchvision's own transforms of the same images."""

import io
import os

import numpy as np
import pytest
import shale
import shale.torch
import torch
from conftest import real_torchvision
from PIL import Image
from view_sets import encoded, order_of, packed, photo, picture, sizes, with_masks

real_torchvision()
from shale.torch import transforms as own
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

pytestmark = pytest.mark.filterwarnings("ignore:The transform `ToTensor:UserWarning")
THREE = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
PHOTOS = 24


@pytest.fixture(scope="module")
def values():
    return [photo(*size, seed) for seed, size in enumerate(sizes(PHOTOS))]


@pytest.fixture(scope="module")
def photos(values, tmp_path_factory):
    return packed(values, tmp_path_factory.mktemp("views"))


def opened(value):
    return Image.open(io.BytesIO(value)).convert("RGB")


def in_order(values):
    return [values[number] for number in order_of(len(values))]


def drawn_of(loader, images, epoch=0):
    """What the loader draws for images of these sizes, in the order of the dataset."""
    seeds = shale.order.sample_seeds(loader.seed, epoch, np.arange(len(images)))
    return [loader._views._views.draw(*image.size, int(seed)) for image, seed in zip(images, seeds)]


def by_torchvision(image, drawn, antialias=True):
    """The drawn view by torchvision's functions, of a PIL image."""
    F = v2.functional
    x, y, width, height, scaled_width, scaled_height, *_ = drawn
    image = F.resized_crop(image, y, x, height, width, [scaled_height, scaled_width])
    left, top, width, height = drawn[6:10]
    image = F.crop(image, top, left, height, width)
    image = F.horizontal_flip(image) if drawn[14] else image
    return F.vertical_flip(image) if drawn[15] else image


def differs(found, expected):
    """The mean of the absolute differences, in levels."""
    assert found.shape == expected.shape
    return (found.to(torch.float32) - expected.to(torch.float32)).abs().mean().item()


FIXED: list = [
    lambda T: [T.Resize(96), T.CenterCrop(80)],
    lambda T: [T.Resize((50, 70))],
    lambda T: [T.Resize((50, 70), interpolation=v1.InterpolationMode.BICUBIC)],
    lambda T: [T.Resize((50, 70), interpolation=v1.InterpolationMode.NEAREST)],
    lambda T: [T.CenterCrop(64)],
    lambda T: [T.CenterCrop((500, 60))],
    lambda T: [T.Resize(40, max_size=60), T.CenterCrop(40)],
    lambda T: [T.Resize((64, 64)), T.Grayscale()],
    lambda T: [T.Resize((64, 64)), T.Grayscale(3)],
    lambda T: [T.Resize((64, 64)), T.RandomHorizontalFlip(1.0)],
    lambda T: [T.Resize((64, 64)), T.RandomVerticalFlip(1)],
    lambda T: [T.RandomHorizontalFlip(1), T.CenterCrop(75)],
]


@pytest.mark.parametrize("T", [v1, v2], ids=["v1", "v2"])
@pytest.mark.parametrize("make", FIXED, ids=map(str, range(len(FIXED))))
def test_what_is_not_random_is_within_two_levels_of_torchvision(T, make, photos, values):
    compose = T.Compose([*make(T), T.PILToTensor()])
    loader = shale.torch.Loader(photos, PHOTOS, transform=compose, num_threads=1, scaled_decoding=False)
    expected = torch.stack([compose(opened(value)) for value in in_order(values)])

    (batch,) = loader

    assert loader._views.plan.rest == []
    assert batch["image"].dtype == torch.uint8
    assert differs(batch["image"], expected) <= (0.5 if T is v1 else 2)
    assert batch["label"].tolist() == [0] * (PHOTOS // 2) + [1] * (PHOTOS // 2)


@pytest.mark.parametrize("scaled, most", [(False, 1), (True, 6)])
def test_a_random_resized_crop_is_torchvisions_of_the_same_box(scaled, most, photos, values):
    compose = v2.Compose([v2.RandomResizedCrop(48), v2.RandomHorizontalFlip(), v2.RandomVerticalFlip(), v2.PILToTensor()])
    loader = shale.torch.Loader(photos, PHOTOS, transform=compose, seed=5, scaled_decoding=scaled)
    images = [opened(value) for value in in_order(values)]
    drawn = drawn_of(loader, images)
    expected = torch.stack([v2.functional.pil_to_tensor(by_torchvision(*each)) for each in zip(images, drawn)])

    (batch,) = loader

    assert differs(batch["image"], expected) <= most
    assert len({each[14:] for each in drawn}) == 4, "all four ways of turning an image over"
    assert len({each[:4] for each in drawn}) > PHOTOS // 2


def test_boxes_are_distributed_as_torchvisions_are(photos):
    loader = shale.torch.Loader(photos, 1, transform=v2.RandomResizedCrop(48))
    ours = [loader._views._views.draw(300, 200, seed)[:4] for seed in range(3000)]
    image = torch.empty(3, 200, 300)
    torch.manual_seed(0)
    theirs = [v1.RandomResizedCrop.get_params(image, (0.08, 1.0), (3 / 4, 4 / 3)) for _ in range(3000)]

    for place, other in ((0, 1), (1, 0), (2, 3), (3, 2)):
        mine, real = (np.array(each, float) for each in ([one[place] for one in ours], [one[other] for one in theirs]))
        assert abs(mine.mean() - real.mean()) < 5 * real.std() / len(real) ** 0.5 * 1.5
        assert np.abs(np.quantile(mine, [0.1, 0.5, 0.9]) - np.quantile(real, [0.1, 0.5, 0.9])).max() < 12


def test_random_crops_with_padding_are_torchvisions(photos, values):
    compose = v2.Compose([v2.RandomCrop(420, padding=(3, 5), pad_if_needed=True, fill=9), v2.PILToTensor()])
    loader = shale.torch.Loader(photos, PHOTOS, transform=compose, seed=2)
    images = [opened(value) for value in in_order(values)]

    (batch,) = loader

    for found, image, drawn in zip(batch["image"], images, drawn_of(loader, images)):
        left, top = -drawn[6], -drawn[7]
        expected = torch.full((3, 420, 420), 9, dtype=torch.uint8)
        whole = v2.functional.pil_to_tensor(image)
        right, low = min(420, left + image.width), min(420, top + image.height)
        expected[:, max(top, 0) : low, max(left, 0) : right] = whole[:, max(-top, 0) : low - top, max(-left, 0) : right - left]
        assert differs(found, expected) < 0.5


def ends(T):
    floats = [T.ToTensor(), T.Normalize(*THREE)]
    if T is v1:
        return [floats]
    to = [[T.ToImage(), T.ToDtype(dtype, scale=True), T.Normalize(*THREE)] for dtype in (torch.float32, torch.float16, torch.bfloat16)]
    return [floats, *to, [T.ToImage(), T.ToDtype(torch.uint8, scale=True)]]


@pytest.mark.parametrize("T", [v1, v2, own], ids=["v1", "v2", "own"])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last], ids=["chw", "hwc"])
def test_normalized_values_are_torchs_of_the_same_pixels_to_the_bit(T, layout, photos):
    geometry = [T.RandomResizedCrop(32), T.RandomHorizontalFlip()]
    (plain,) = shale.torch.Loader(photos, PHOTOS, transform=T.Compose([*geometry, T.PILToTensor()]), seed=3)
    for end in ends(T):
        (batch,) = shale.torch.Loader(photos, PHOTOS, transform=T.Compose([*geometry, *end]), seed=3, memory_format=layout)
        expected = torch.stack([v2.Compose(end)(v2.functional.to_pil_image(image)) for image in plain["image"]])

        assert torch.equal(batch["image"].as_subclass(torch.Tensor), expected.as_subclass(torch.Tensor)), end
        assert batch["image"].dtype == expected.dtype
        assert batch["image"].is_contiguous(memory_format=layout)
        assert isinstance(batch["image"], tv_tensors.Image) == (T is v2 and isinstance(end[0], v2.ToImage))


@pytest.mark.parametrize("T", [v1, v2, own], ids=["v1", "v2", "own"])
@pytest.mark.parametrize("channels", [1, 3])
def test_gray_values_are_torchs_of_the_same_pixels_to_the_bit(T, channels, photos):
    geometry, end = [T.CenterCrop((300, 40)), T.Grayscale(channels)], [T.ToTensor(), T.Normalize([0.4] * channels, [0.3] * channels)]
    (plain,) = shale.torch.Loader(photos, PHOTOS, transform=T.Compose([*geometry, T.PILToTensor()]))
    (batch,) = shale.torch.Loader(photos, PHOTOS, transform=T.Compose([*geometry, *end]))

    expected = torch.stack([T.Compose(end)(v2.functional.to_pil_image(image)) for image in plain["image"]])

    assert batch["image"].shape == (PHOTOS, channels, 300, 40)
    assert torch.equal(batch["image"], expected)


@pytest.mark.parametrize("shuffle", [False, "random", "block"])
def test_batches_are_the_same_with_any_number_of_threads_and_in_every_batch_size(shuffle, photos):
    compose = v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), v2.ToImage()])

    def epoch(threads, size, **more):
        loader = shale.torch.Loader(photos, size, transform=compose, shuffle=shuffle, seed=11, num_threads=threads, drop_last=False, even_batches=False, **more)
        batches = list(loader)
        keys = [key for batch in batches for key in batch["key"]]
        return dict(zip(keys, torch.cat([batch["image"] for batch in batches])))

    first = epoch(0, 5)
    assert len(first) == PHOTOS
    for threads, size, more in [(1, 5, {}), (4, 5, {}), (2, 7, {"reuse_buffers": False})]:
        other = epoch(threads, size, **more)
        assert first.keys() == other.keys()
        assert all(torch.equal(first[key], other[key]) for key in first)


def test_another_epoch_and_another_seed_draw_other_boxes(photos):
    compose = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage()])
    loader = shale.torch.Loader(photos, PHOTOS, transform=compose, seed=1)
    (first,), (second,) = list(loader), list(loader)
    (other,) = shale.torch.Loader(photos, PHOTOS, transform=compose, seed=2)

    assert not torch.equal(first["image"], second["image"])
    assert not torch.equal(first["image"], other["image"])


def test_a_resumed_epoch_has_the_same_pixels(photos):
    compose = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage()])

    def loader():
        return shale.torch.Loader(photos, 4, transform=compose, shuffle=True, seed=1)

    whole = list(loader())
    begun = loader()
    rest = iter(begun)
    next(rest), next(rest)
    resumed = loader()
    resumed.load_state_dict(begun.state_dict())

    found = list(resumed)

    assert len(found) == len(whole) - 2
    for batch, expected in zip(found, whole[2:]):
        assert batch["key"] == expected["key"] and torch.equal(batch["image"], expected["image"])


def test_a_forked_process_has_the_same_batches(photos, tmp_path):
    compose = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage()])
    loader = shale.torch.Loader(photos, PHOTOS, transform=compose, seed=1)
    (expected,) = shale.torch.Loader(photos, PHOTOS, transform=compose, seed=1, num_threads=0)

    child = os.fork()
    if child == 0:
        status = 1
        try:
            (batch,) = loader
            status = 0 if bytes(batch["image"].numpy()) == bytes(expected["image"].numpy()) else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_a_plain_function_still_gets_each_sample(photos):
    seen = []
    (batch,) = shale.torch.Loader(photos, PHOTOS, transform=lambda sample: seen.append(sample) or sample)

    assert len(seen) == PHOTOS and isinstance(batch["image"][0], bytes)


# --- what is left to Python


@pytest.mark.parametrize("decode, kind", [("pil", Image.Image), ("torchrgb8", torch.Tensor), ("tv", tv_tensors.Image)])
def test_what_is_left_gets_the_sample_with_the_image_that_it_would_have_got(decode, kind, photos):
    seen = []

    def look(sample):
        seen.append((type(sample), sample["image"], sorted(sample)))
        return sample

    compose = v2.Compose([v2.RandomResizedCrop(32), look, v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    loader = shale.torch.Loader(shale.Dataset(photos, decode=decode), PHOTOS, transform=compose)

    (batch,) = loader

    assert batch["image"].shape == (PHOTOS, 3, 32, 32) and batch["image"].dtype == torch.float32
    assert len(seen) == PHOTOS
    for of, image, names in seen:
        assert of is dict and names == ["image", "key", "label"]
        assert isinstance(image, kind) and (kind is not torch.Tensor or type(image) is kind)
        assert (image.size if decode == "pil" else tuple(image.shape[1:])) == (32, 32)


def test_transforms_of_v1_that_are_left_get_the_image_alone(photos):
    seen = []
    compose = v1.Compose([v1.RandomResizedCrop(32), v1.Lambda(lambda image: seen.append(image.size) or image), v1.ToTensor()])

    (batch,) = shale.torch.Loader(photos, PHOTOS, transform=compose, memory_format=torch.channels_last)

    assert seen == [(32, 32)] * PHOTOS
    assert batch["image"].shape == (PHOTOS, 3, 32, 32) and batch["image"].dtype == torch.float32
    assert batch["image"].is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("T", [v1, v2], ids=["v1", "v2"])
def test_a_second_resize_is_done_in_python_with_all_behind_it(T, photos, values):
    compose = T.Compose([T.Resize((90, 80)), T.CenterCrop(70), T.Resize((20, 30)), T.PILToTensor()])
    loader = shale.torch.Loader(photos, PHOTOS, transform=compose, scaled_decoding=False)

    (batch,) = loader

    assert [type(each).__name__ for each in loader._views.plan.taken] == ["Resize", "CenterCrop"]
    assert "cannot be done together" in repr(loader)
    assert differs(batch["image"], torch.stack([compose(opened(value)) for value in in_order(values)])) < 1


def test_a_pipeline_of_which_nothing_is_translated_runs_in_python(photos, values):
    compose = v2.Compose([v2.GaussianBlur(3), v2.Resize((20, 20)), v2.PILToTensor()])
    loader = shale.torch.Loader(photos, PHOTOS, transform=compose)

    (batch,) = loader

    assert loader._views.plan.taken == []
    torch.manual_seed(0)
    assert differs(batch["image"], torch.stack([compose(opened(value)) for value in in_order(values)])) < 2


def test_print_says_what_runs_where(photos):
    compose = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage(), v2.ColorJitter(0.1), v2.ToDtype(torch.float32)])
    text = repr(shale.torch.Loader(photos, 4, transform=compose, num_threads=2))

    first, threads, python, unseeded = text.splitlines()
    assert first.startswith("shale.torch.Loader(")
    assert "RandomResizedCrop, ToImage" in threads and "image" in threads
    assert "ColorJitter, ToDtype" in python and "not among the transforms" in python
    assert "ColorJitter, by random numbers of torch" in unseeded

    plain = repr(shale.torch.Loader(photos, 4, transform=lambda sample: sample))
    assert len(plain.splitlines()) == 1
    refused = repr(shale.torch.Loader(shale.Dataset(photos, decode="pil", transform=lambda sample: sample), 4, transform=compose))
    assert "has a transform of its own" in refused


def test_images_of_several_sizes_are_a_list(photos, values):
    compose = v2.Compose([v2.Resize(40), v2.PILToTensor()])

    (batch,) = shale.torch.Loader(photos, PHOTOS, transform=compose, scaled_decoding=False)

    assert isinstance(batch["image"], list)
    for found, value in zip(batch["image"], in_order(values)):
        assert differs(found, compose(opened(value))) < 1


def test_as_tuple_and_collate_fn_and_several_datasets(photos):
    compose = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage()])
    (named,) = shale.torch.Loader(photos, PHOTOS, transform=compose)
    (pair,) = shale.torch.Loader(photos, PHOTOS, transform=compose, as_tuple=("image", "label"))
    (inner,) = shale.torch.Loader(shale.Dataset(photos, decode="pil", as_tuple=("image", "label")), PHOTOS, transform=compose)
    (collated,) = shale.torch.Loader(photos, PHOTOS, transform=compose, collate_fn=lambda samples: [sample["image"] for sample in samples])
    batches = list(shale.torch.Loader([photos, photos], PHOTOS, transform=compose))

    assert isinstance(pair, tuple) and isinstance(inner, tuple)
    for other in (pair[0], inner[0], torch.stack(collated), batches[0]["image"]):
        assert torch.equal(other, named["image"])
    assert len(batches) == 2 and not torch.equal(batches[1]["image"], named["image"]), "sample 24 has another seed than sample 0"


# --- masks


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    path = tmp_path_factory.mktemp("masked") / "set"
    schema = {"image": "bytes", "mask": "bytes"}
    with shale.Writer(path, schema=schema) as writer:
        for sample in with_masks(PHOTOS):
            writer.write(sample)
    return path


def test_masks_get_the_same_box_and_torchvisions_values(masked):
    raw = list(shale.Dataset(masked))
    compose = v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    loader = shale.torch.Loader(shale.Dataset(masked, decode={"image": "pil", "mask": "tv_mask"}), PHOTOS, transform=compose, seed=4)
    images = [opened(sample["image"]) for sample in raw]

    (batch,) = loader

    assert isinstance(batch["mask"], tv_tensors.Mask) and batch["mask"].shape == (PHOTOS, 32, 32)
    for found, sample, drawn in zip(batch["mask"], raw, drawn_of(loader, images)):
        mask = tv_tensors.Mask(torch.from_numpy(np.array(Image.open(io.BytesIO(sample["mask"])))))
        assert torch.equal(found.as_subclass(torch.Tensor), by_torchvision(mask, drawn).as_subclass(torch.Tensor))


def test_masks_that_only_pillow_reads_are_the_same_as_those_of_the_threads(masked, tmp_path, monkeypatch):
    """16 bits and colors have other types; a mask of another type among others does not change them."""
    compose = v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), v2.ToImage()])
    ways = {"image": "pil", "mask": "tv_mask"}

    def masks_of(path):
        return next(iter(shale.torch.Loader(shale.Dataset(path, decode=ways), PHOTOS, transform=compose, seed=4)))["mask"]

    as_png = masks_of(masked)
    for form, mode in [("BMP", "L"), ("WEBP", "RGB"), ("PNG", "I;16")]:
        with shale.Writer(tmp_path / mode, schema={"image": "bytes", "mask": "bytes"}) as writer:
            for number, sample in enumerate(shale.Dataset(masked)):
                levels = np.array(Image.open(io.BytesIO(sample["mask"])))
                image = Image.fromarray(levels.astype(np.uint16) if mode == "I;16" else levels).convert(mode)
                mask = encoded(image, form, **({"lossless": True} if form == "WEBP" else {}))
                writer.write({"key": str(number), "image": sample["image"], "mask": mask if number % 2 or mode == "L" else sample["mask"]})
        other = masks_of(tmp_path / mode)
        assert len(other) == PHOTOS and isinstance(other, tv_tensors.Mask if mode == "L" else list)
        for found, expected in zip(other, as_png):
            values = found.as_subclass(torch.Tensor).to(torch.uint8)
            assert torch.equal(values if values.ndim == 2 else values[0], expected.as_subclass(torch.Tensor)), mode


@pytest.fixture(scope="module")
def stereo(tmp_path_factory):
    """Two images and a gray mask of one size each, but for sample 3, whose right image is larger, and 5, whose mask is smaller."""
    path = tmp_path_factory.mktemp("stereo") / "set"
    with shale.Writer(path, schema={"left": "bytes", "right": "bytes", "mask": "bytes"}) as writer:
        for number, (width, height) in enumerate(sizes(8)):
            other = (width + 20, height + 20) if number == 3 else (width, height)
            masked = (width - 1, height) if number == 5 else (width, height)
            sample = {"left": photo(width, height, number), "right": photo(*other, number), "mask": photo(*masked, number, form="PNG", mode="L")}
            writer.write({"key": str(number), **sample})
    return shale.Dataset(path, decode={"left": "pil", "right": "pil", "mask": "gray8"})


def test_further_images_get_the_box_of_the_first(stereo):
    compose = v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), v2.PILToTensor()])
    whole = [0, 1, 2, 4, 6, 7]
    (batch,) = shale.torch.Loader(stereo, 8, transform=compose, indices=whole, scaled_decoding=False)

    assert torch.equal(batch["left"], batch["right"]), "the same picture"
    assert batch["mask"].shape == (6, 32, 32)
    assert differs(batch["mask"], v2.functional.rgb_to_grayscale(batch["left"])[:, 0]) < 12, "nearest beside bilinear"
    for row, field in ((3, "right"), (5, "mask")):
        with pytest.raises(shale.errors.ContentError, match=f"sample {row} '{row}': field '{field}' does not go with another: its size is not that of the image in field 'left'"):
            list(shale.torch.Loader(stereo, 8, transform=compose, indices=[0, row]))
    loader = shale.torch.Loader(stereo, 8, transform=compose, on_error="skip")
    (batch,) = loader
    assert batch["key"] == ["0", "1", "2", "4", "4", "6", "6", "7"]
    assert [each.row for each in loader.skipped] == [3, 5]


def test_which_field_is_the_image_is_said_where_it_is_not_clear(stereo):
    plain = shale.Dataset(stereo.path)
    loader = shale.torch.Loader(plain, 8, transform=v2.Compose([v2.Resize((8, 8)), v2.PILToTensor()]))
    assert loader._views is None and "several fields of kind bytes" in repr(loader)
    assert isinstance(next(iter(loader))["left"][0], bytes)
    (batch,) = shale.torch.Loader(shale.Dataset(stereo.path, fields=["right"]), 8, transform=v2.Compose([v2.Resize((8, 8)), v2.PILToTensor()]))
    assert batch["right"].shape == (8, 3, 8, 8)


# --- images of other types, and damage


def odd_images():
    gray16 = Image.fromarray(picture(120, 90)[..., 0].astype(np.uint16) * 40)
    rgba = Image.fromarray(picture(120, 90)).convert("RGBA")
    rgba.putalpha(Image.fromarray(picture(120, 90, 5)[..., 0]))
    return {
        "gray": photo(120, 90, mode="L"),
        "CMYK": photo(120, 90, mode="CMYK"),
        "16-bit": encoded(gray16, "PNG"),
        "alpha": encoded(rgba, "PNG"),
        "palette": photo(120, 90, form="PNG", mode="P"),
        "1x1": photo(1, 1),
        "1x50": photo(1, 50),
        "small": photo(10, 12),
        "PNG named .jpg": photo(120, 90, form="PNG"),
        "WebP": photo(120, 90, form="WEBP", lossless=True),
        "GIF": photo(120, 90, form="GIF", mode="P"),
        "BMP": photo(120, 90, form="BMP"),
        "TIFF": photo(120, 90, form="TIFF"),
        "progressive": photo(120, 90, progressive=True),
        "restart markers": photo(120, 90, restart_marker_rows=1),
        "4:1:1": photo(120, 90, subsampling=2),
        "PPM": photo(120, 90, form="PPM"),
    }


@pytest.mark.parametrize("T", [v1, v2], ids=["v1", "v2"])
def test_images_of_every_type_are_what_pillow_and_torchvision_make_of_them(T, tmp_path):
    odd = odd_images()
    compose = T.Compose([T.Resize((64, 64)), T.CenterCrop(80), T.PILToTensor()])
    path = packed(list(odd.values()), tmp_path)
    (batch,) = shale.torch.Loader(path, len(odd), transform=compose, scaled_decoding=False)

    names = in_order(list(odd))
    for name, found in zip(names, batch["image"]):
        assert differs(found, compose(opened(odd[name]))) <= (0.6 if T is v1 else 2), name


def test_a_random_crop_larger_than_the_image_is_an_error_that_names_the_sample(photos):
    loader = shale.torch.Loader(photos, 4, transform=v2.Compose([v2.RandomCrop(1000), v2.ToImage()]))
    with pytest.raises(shale.errors.ContentError, match="sample 0 'a/0000.jpg': field 'image' cannot be cropped: a crop of 1000 x 1000 of an image of"):
        next(iter(loader))


@pytest.fixture(scope="module")
def damaged(values, tmp_path_factory):
    broken = list(values)
    broken[4] = values[4][: len(values[4]) // 2]
    broken[6] = b"not an image"
    broken[10] = b""
    return packed(broken, tmp_path_factory.mktemp("damaged"))


def test_damage_is_the_error_that_decoding_by_itself_raises(damaged):
    compose = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage()])
    for row in (2, 3, 5):
        with pytest.raises(shale.errors.ContentError) as alone:
            shale.Dataset(damaged, decode="pil")[row]
        with pytest.raises(shale.errors.ContentError) as error:
            list(shale.torch.Loader(damaged, 4, transform=compose, indices=[row]))
        assert (error.value.sample, error.value.key, error.value.shard) == (alone.value.sample, alone.value.key, alone.value.shard)
        assert str(error.value).split(":")[:3] == str(alone.value).split(":")[:3]


@pytest.mark.parametrize("shuffle", [False, "random", "block"])
def test_a_damaged_image_is_replaced_by_the_next_of_the_order(shuffle, damaged):
    compose = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage()])

    def keys(threads, size=4):
        loader = shale.torch.Loader(damaged, size, transform=compose, shuffle=shuffle, seed=3, on_error="skip", num_threads=threads)
        batches = list(loader)
        assert [each.row for each in loader.skipped] == [2, 3, 5]
        assert all(batch["image"].shape == (size, 3, 32, 32) for batch in batches)
        return [key for batch in batches for key in batch["key"]], torch.cat([batch["image"] for batch in batches])

    first = keys(0)
    for other in (keys(3), keys(2, 6)):
        assert first[0] == other[0] and len(first[0]) == PHOTOS
        assert torch.equal(first[1], other[1])
    assert not any("0004" in key or "0006" in key or "0010" in key for key in first[0])


def test_a_transform_that_raises_names_the_sample(photos):
    def fail(sample):
        if sample["key"].endswith("0006.jpg"):
            raise ZeroDivisionError("here")
        return sample

    loader = shale.torch.Loader(photos, 4, transform=v2.Compose([v2.RandomResizedCrop(32), fail]))
    with pytest.raises(ZeroDivisionError) as error:
        list(loader)
    assert any("sample 3 of" in note for note in getattr(error.value, "__notes__", ["sample 3 of"]))


def test_arguments_that_do_not_fit_are_refused(photos):
    with pytest.raises(shale.errors.UsageError, match="memory_format"):
        shale.torch.Loader(photos, 4, transform=v2.Resize(8), memory_format="hwc")
    with pytest.raises(shale.errors.UsageError, match="channels_last"):
        shale.torch.Loader(photos, 4, memory_format=torch.channels_last)


def test_memory_does_not_grow_with_the_epochs(photos):
    psutil = pytest.importorskip("psutil")
    compose = v2.Compose([v2.RandomResizedCrop(96), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    loader = shale.torch.Loader(photos, 8, transform=compose, shuffle=True, num_threads=2)

    def epochs(count):
        for _ in range(count):
            for batch in loader:
                del batch
        return psutil.Process().memory_info().rss

    before = epochs(10)
    assert epochs(30) - before < 8 << 20


# --- shale.torch.transforms by themselves


def test_our_own_transforms_of_one_image_are_torchvisions(values):
    for pair in [
        (own.Resize((40, 50)), v2.Resize((40, 50))),
        (own.Resize(40, interpolation="bicubic"), v2.Resize(40, interpolation=v2.InterpolationMode.BICUBIC)),
        (own.CenterCrop((300, 50)), v2.CenterCrop((300, 50))),
        (own.Grayscale(3), v2.Grayscale(3)),
        (own.RandomHorizontalFlip(1), v2.RandomHorizontalFlip(1)),
        (own.ToTensor(), v1.ToTensor()),
        (own.Compose([own.ToImage(), own.ToDtype(torch.float16, scale=True), own.Normalize(*THREE)]),
         v2.Compose([v2.ToImage(), v2.ToDtype(torch.float16, scale=True), v2.Normalize(*THREE)])),
    ]:
        for image in (opened(values[0]), v2.functional.pil_to_tensor(opened(values[0]))):
            if isinstance(pair[1], v1.ToTensor) and isinstance(image, torch.Tensor):
                continue
            found, expected = (each(image) for each in pair)
            assert isinstance(found, Image.Image) == isinstance(expected, Image.Image)
            found, expected = (each if isinstance(each, torch.Tensor) else torch.as_tensor(np.array(each)) for each in (found, expected))
            assert differs(found, expected) < 1


def test_our_own_random_crops_follow_torchs_seed(values):
    image = opened(values[0])
    for make in (lambda: own.RandomResizedCrop(32), lambda: own.RandomCrop(20, padding=4)):
        torch.manual_seed(1)
        first = np.array(make()(image))
        torch.manual_seed(1)
        assert np.array_equal(first, np.array(make()(image)))
        assert first.shape in ((32, 32, 3), (20, 20, 3))
