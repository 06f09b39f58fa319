"""Images as photos are: smooth, with edges, of many types, and as datasets of shale."""

import io

import numpy as np
import shale
from PIL import Image


def picture(width, height, seed=0):
    """(H, W, 3) uint8 with gradients, waves and edges."""
    dice = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    waves = [
        128 + 80 * np.sin((x * dice.uniform(1, 4) + y * dice.uniform(1, 4)) / max(width, height) * 6 + dice.uniform(0, 6)) for _ in range(3)
    ]
    array = np.stack(waves, axis=2)
    array[height // 4 : height // 2, width // 3 : width // 2] = dice.integers(0, 256, 3)
    return array.clip(0, 255).astype(np.uint8)


def encoded(image, form="JPEG", **more):
    file = io.BytesIO()
    image.save(file, form, **({"quality": 92} if form == "JPEG" else {}), **more)
    return file.getvalue()


def photo(width, height, seed=0, form="JPEG", mode="RGB", **more):
    return encoded(Image.fromarray(picture(width, height, seed)).convert(mode), form, **more)


def sizes(count):
    """Of images, wide and high, none smaller than 100 pixels."""
    dice = np.random.default_rng(7)
    return [(int(w), int(h)) for w, h in dice.integers(100, 400, (count, 2))]


def packed(values, folder):
    """A dataset of them, of class a for even numbers and b for others. Samples are in the order of `order_of`; suffixes say nothing."""
    with shale.Writer(folder / "set", schema={"image": "bytes", "label": "int"}, classes=["a", "b"]) as writer:
        for number in order_of(len(values)):
            label = number % 2
            writer.write({"key": f"{'ab'[label]}/{number:04}.jpg", "image": values[number], "label": label})
    return folder / "set"


def order_of(count):
    """The numbers of the values in the order of a packed dataset."""
    return [*range(0, count, 2), *range(1, count, 2)]


def with_masks(count):
    """Keys and values of a dataset of images and masks with a palette: {"key", "image", "mask"}."""
    for number, (width, height) in enumerate(sizes(count)):
        levels = picture(width, height, number)[..., 0] // 64
        mask = Image.fromarray(levels, "P")
        mask.putpalette([0, 0, 0, 200, 10, 10, 10, 200, 10, 10, 10, 200] + [0] * 756)
        yield {"key": f"{number:03}", "image": photo(width, height, number), "mask": encoded(mask, "PNG")}
