"""_shale.Views, which decodes images into a batch: the pixels of Pillow and torchvision, or a reason to leave the image to them."""

import io
import pathlib
import random
import struct
import zlib

import numpy as np
import pytest
from conftest import real_torchvision
from PIL import Image
from shale import ContentError, UsageError, _shale

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "fuzz/corpus"
PLAIN = {"kernel": "triangle", "channels": 3, "order": "hwc", "table": None, "item_bytes": 1, "fill": b"\0\0\0", "scaled_decoding": True}


def views(*steps, **changes):
    return _shale.Views(list(steps), **{**PLAIN, **changes})


def picture(mode, size=(61, 47), seed=0):
    """Smooth, with some noise; of alpha everything from 0 to 255."""
    dice = random.Random(seed)
    if mode == "1":
        return picture("L", size, seed).convert("1")
    if mode == "P":
        return picture("RGB", size, seed).quantize(200)
    if mode == "I;16":
        return Image.fromarray(np.frombuffer(dice.randbytes(size[0] * size[1] * 2), np.uint16).reshape(size[1], size[0]))
    noise = Image.frombytes(mode, size, dice.randbytes(size[0] * size[1] * len(Image.new(mode, (1, 1)).getbands())))
    smooth = noise.resize((max(size[0] // 8, 1), max(size[1] // 8, 1))).resize(size, Image.BICUBIC)
    return Image.blend(noise, smooth, 0.7)


def saved(mode, kind, size=(61, 47), **options):
    file = io.BytesIO()
    picture(mode, size).save(file, kind, **options)
    return file.getvalue()


def nearest(image, width, height):
    """Image.resize(..., NEAREST), but for centers that lie between two pixels: there Pillow takes the one to which its rounding errors lead."""
    pixels = np.asarray(image)
    down = (2 * np.arange(height) + 1) * image.height // (2 * height)
    across = (2 * np.arange(width) + 1) * image.width // (2 * width)
    return Image.fromarray(pixels[down][:, across])


def replayed(content, drawn, kernel=Image.BILINEAR, fill=0):
    """What a drawn view shows, by Pillow, as the caller does it for an image that was not taken."""
    x, y, width, height, scaled_width, scaled_height, left, top, window_width, window_height = drawn[:10]
    with Image.open(io.BytesIO(content)) as image:
        image = image.convert("RGB")
    image = image.crop((x, y, x + width, y + height))
    if kernel == Image.NEAREST:
        image = nearest(image, scaled_width, scaled_height)
    else:
        image = image.resize((scaled_width, scaled_height), kernel)
    window = Image.new(image.mode, (window_width, window_height), fill)
    window.paste(image, (-left, -top))
    if drawn[14]:
        window = window.transpose(Image.FLIP_LEFT_RIGHT)
    return np.asarray(window.transpose(Image.FLIP_TOP_BOTTOM) if drawn[15] else window)


def loaded(made, contents, seeds=None, dtype=np.uint8, shape=None):
    """Results and drawn views, each image into an array of its own; None for one that was not taken."""
    drawn = made.sizes(contents, np.array(range(len(contents)) if seeds is None else seeds, np.uint64))
    arrays = [None if view is None else np.empty(shape or (view[9], view[8], 3), dtype) for view in drawn]
    reasons = made.load(contents, drawn, arrays)
    return [array if reason is None else None for array, reason in zip(arrays, reasons)], drawn, reasons


TAKEN: dict = {
    "jpeg": ("RGB", "JPEG", {}),
    "jpeg gray": ("L", "JPEG", {}),
    "jpeg cmyk": ("CMYK", "JPEG", {}),
    "jpeg progressive": ("RGB", "JPEG", {"progressive": True}),
    "jpeg as rgb": ("RGB", "JPEG", {"keep_rgb": True}),
    "png": ("RGB", "PNG", {}),
    "png gray": ("L", "PNG", {}),
    "png bilevel": ("1", "PNG", {}),
    "png gray alpha": ("LA", "PNG", {}),
    "png alpha": ("RGBA", "PNG", {}),
    "png palette": ("P", "PNG", {}),
    "png palette with transparency": ("P", "PNG", {"transparency": 3}),
    "png transparent color": ("RGB", "PNG", {"transparency": (1, 2, 3)}),
    "webp": ("RGB", "WEBP", {}),
    "webp lossless": ("RGB", "WEBP", {"lossless": True}),
    "webp alpha": ("RGBA", "WEBP", {}),
    "webp alpha lossless": ("RGBA", "WEBP", {"lossless": True}),
}
LEFT: dict = {
    "png of 16-bit gray": ("I;16", "PNG", {}),
    "gif": ("P", "GIF", {}),
    "bmp": ("RGB", "BMP", {}),
    "ppm": ("RGB", "PPM", {}),
    "tiff": ("RGB", "TIFF", {}),
}


@pytest.mark.parametrize("kind", TAKEN)
def test_all_pixels_are_those_of_pillow(kind):
    mode, container, options = TAKEN[kind]
    content = saved(mode, container, **options)
    [pixels], _, [reason] = loaded(views(), [content])
    assert reason is None
    with Image.open(io.BytesIO(content)) as image:
        assert np.array_equal(pixels, np.asarray(image.convert("RGB")))


def png(color_type, bits, is_interlaced, dice):
    """Noise in a PNG of a kind that Pillow cannot write; a palette or transparency that is shorter than it could be."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    def rows(columns, count):
        row_bytes = (columns * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color_type] * bits + 7) // 8
        return b"".join(bytes([dice.randrange(5)]) + dice.randbytes(row_bytes) for _ in range(count)) if columns else b""

    width, height = dice.randrange(1, 30), dice.randrange(1, 30)
    data = rows(width, height)
    if is_interlaced:
        passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
        data = b"".join(rows(max(width - x + dx - 1, 0) // dx, max(height - y + dy - 1, 0) // dy) for x, y, dx, dy in passes)
    colors = dice.randrange(1, 2**bits + 1) if color_type == 3 else 0
    more = chunk(b"PLTE", dice.randbytes(3 * colors)) if colors else b""
    if color_type < 4 and dice.random() < 0.5:
        more += chunk(b"tRNS", dice.randbytes(dice.randrange(1, colors + 1)) if colors else bytes({0: 2, 2: 6}[color_type]))
    header = struct.pack(">IIBBBBB", width, height, bits, color_type, 0, 0, is_interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


@pytest.mark.filterwarnings("ignore:Palette images with Transparency")
@pytest.mark.parametrize("is_interlaced", [False, True])
@pytest.mark.parametrize(
    "color_type, bits", [(0, 1), (0, 2), (0, 4), (0, 8), (2, 8), (2, 16), (3, 1), (3, 2), (3, 4), (3, 8), (4, 8), (4, 16), (6, 8), (6, 16)]
)
def test_all_pixels_of_any_png_are_those_of_pillow(color_type, bits, is_interlaced):
    dice = random.Random(color_type * 100 + bits)
    for _ in range(10):
        content = png(color_type, bits, is_interlaced, dice)
        [pixels], _, [reason] = loaded(views(), [content])
        assert reason is None
        with Image.open(io.BytesIO(content)) as image:
            assert np.array_equal(pixels, np.asarray(image.convert("RGB")))


@pytest.mark.parametrize("path", sorted((CORPUS / "jpeg_rgb").glob("*.jpg")), ids=lambda path: path.stem)
def test_all_pixels_of_a_jpeg_are_those_of_decode_rgb8(path):
    [pixels], _, [reason] = loaded(views(), [path.read_bytes()])
    assert reason is None
    assert np.array_equal(pixels, _shale.decode_rgb8(path.read_bytes(), "hwc"))


@pytest.mark.parametrize("kind", LEFT)
def test_what_pillow_reads_otherwise_is_left_to_it(kind):
    mode, container, options = LEFT[kind]
    _, drawn, [reason] = loaded(views(("resize_shorter", 20, 0)), [saved(mode, container, **options)])
    if kind == "tiff":  # which Pillow turns by its orientation, so that its size is another one
        assert drawn == [None] and reason == "has no drawn view"
        drawn = [views(("resize_shorter", 20, 0)).draw(61, 47, 0)]
        [reason] = views(("resize_shorter", 20, 0)).load([saved(mode, container, **options)], drawn, [np.empty((20, 25, 3), np.uint8)])
    assert drawn[0][:6] == (0, 0, 61, 47, 25, 20)
    assert reason.startswith("cannot be decoded here: ")


@pytest.mark.parametrize("kernel, filter", [("triangle", Image.BILINEAR), ("cubic", Image.BICUBIC), ("nearest", Image.NEAREST)])
@pytest.mark.parametrize("kind", TAKEN)
def test_a_view_is_within_one_level_of_pillow(kind, kernel, filter):
    mode, container, options = TAKEN[kind]
    if (mode, kernel) == ("1", "cubic"):
        pytest.skip("where everything overshoots: Pillow clips between its passes, here is only clipped at the end")
    content = saved(mode, container, size=(180, 120), **options)
    steps = [("random_resized_crop", 48, 40, 0.08, 1.0, 3 / 4, 4 / 3), ("flip", True, 0.5), ("flip", False, 0.5)]
    made = views(*steps, kernel=kernel, scaled_decoding=False)
    results, drawn, _ = loaded(made, [content] * 12)
    for pixels, view in zip(results, drawn):
        expected = replayed(content, view, filter)
        assert np.abs(pixels.astype(int) - expected).max() <= (0 if kernel == "nearest" else 1)
    assert len({view[14:] for view in drawn}) > 2


def test_padding_lies_where_pillow_puts_it():
    content = saved("RGB", "PNG", size=(30, 20))
    made = views(("flip", True, 0.5), ("random_crop", 24, 30, 5, 9, 0, 0, True), ("flip", True, 0.5), fill=b"\x05\x06\x07")
    results, drawn, _ = loaded(made, [content] * 20)
    for pixels, view in zip(results, drawn):
        assert np.array_equal(pixels, replayed(content, view, fill=(5, 6, 7)))


@pytest.mark.parametrize("gray", [False, True])
def test_gray_is_that_of_pillow(gray):
    content = saved("RGB", "PNG")
    made = views(gray=gray, channels=3 if gray else 1, fill=b"\0\0\0" if gray else b"\0")
    [pixels], _, _ = loaded(made, [content], shape=(47, 61, 3) if gray else (47, 61))
    with Image.open(io.BytesIO(content)) as image:
        expected = np.asarray(image.convert("L"))
    assert np.array_equal(pixels, np.stack([expected] * 3, -1) if gray else expected)


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("layout", ["chw", "hwc"])
def test_normalized_elements_equal_those_of_torchvision_to_the_bit(name, layout):
    torch = pytest.importorskip("torch")
    real_torchvision()
    from torchvision.transforms import v2

    dtype = getattr(torch, name)
    tail = v2.Compose([v2.ToDtype(dtype, scale=True), v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
    every_level = torch.arange(256, dtype=torch.uint8).reshape(1, 256).expand(3, 1, 256).contiguous()
    table = tail(every_level).contiguous().view(torch.uint8).numpy().tobytes()
    size = dtype.itemsize
    made = views(("center_crop", 40, 30), order=layout, table=table, item_bytes=size, fill=bytes(3 * size))
    content = saved("RGB", "PNG")
    shape = (1, 3, 30, 40) if layout == "chw" else (1, 30, 40, 3)
    batch = torch.empty(shape, dtype=dtype)
    drawn = made.sizes([content], [0])
    assert made.load([content], drawn, batch.view(torch.uint8).numpy()) == [None]
    pixels = torch.from_numpy(replayed(content, drawn[0]).copy()).permute(2, 0, 1).contiguous()
    expected = tail(pixels)
    assert torch.equal(batch[0] if layout == "chw" else batch[0].permute(2, 0, 1), expected)


@pytest.mark.parametrize("mode", ["P", "L"])
def test_values_of_masks_are_those_of_torchvision(mode):
    torch = pytest.importorskip("torch")
    tv_tensors = real_torchvision().tv_tensors
    from torchvision.transforms.v2 import functional

    content = saved(mode, "PNG", size=(90, 70))
    with Image.open(io.BytesIO(content)) as image:
        mask = tv_tensors.Mask(torch.from_numpy(np.array(image)))
    made = views(("random_resized_crop", 41, 37, 0.01, 1.0, 0.4, 2.5), ("flip", True, 0.5), values=True, channels=1, fill=b"\0")
    results, drawn, reasons = loaded(made, [content] * 200, shape=(37, 41))
    assert reasons == [None] * 200
    for values, view in zip(results, drawn):
        expected = functional.resized_crop(mask, view[1], view[0], view[3], view[2], [37, 41])
        assert np.array_equal(values, functional.hflip(expected) if view[14] else expected)


@pytest.mark.parametrize("mode", ["1", "RGB", "LA", "I;16"])
def test_masks_without_one_byte_each_are_left_to_pillow(mode):
    made = views(values=True, channels=1, fill=b"\0")
    _, _, [reason] = loaded(made, [saved(mode, "PNG")], shape=(47, 61))
    assert reason.startswith("cannot be decoded here: png of ")


def test_an_image_gets_its_seed_and_one_that_is_no_image_disturbs_no_other():
    content, other = saved("RGB", "JPEG"), saved("RGB", "PNG", size=(33, 20))
    made = views(("random_resized_crop", 16, 16, 0.08, 1.0, 0.75, 1.5))
    drawn = made.sizes([content, None, b"text", other, b"", content], np.arange(6, dtype=np.uint64))
    assert [view is None for view in drawn] == [False, True, True, False, True, False]
    assert drawn[0] == made.draw(61, 47, 0) and drawn[3] == made.draw(33, 20, 3) and drawn[0] != drawn[5]
    batch = np.zeros((6, 16, 16, 3), np.uint8)
    reasons = made.load([content, None, b"text", other, b"", content], drawn, batch)
    assert reasons == [None, "is missing", "is not an image of a known type", None, "is empty", None]
    assert not batch[[1, 2, 4]].any() and batch[[0, 3, 5]].any(axis=(1, 2, 3)).all()


def test_truncated_and_damaged_jpegs_are_left_to_pillow():
    whole = saved("RGB", "JPEG", size=(200, 200))
    part = whole[: len(whole) // 2]
    patched_over = part + b"\xff\xd9"
    Image.open(io.BytesIO(patched_over)).load()
    _, _, reasons = loaded(views(), [whole, part, patched_over])
    assert reasons[0] is None
    assert reasons[1].startswith("is truncated: ")
    assert reasons[2].startswith("is damaged: ")


def test_a_crop_that_is_too_large_names_its_image():
    made = views(("random_crop", 50, 40, 0, 0, 0, 0, False))
    with pytest.raises(ContentError, match="^sample 1: a crop of 50 x 40 of an image of 20 x 20\n") as caught:
        made.sizes([saved("RGB", "PNG"), saved("RGB", "PNG", size=(20, 20))], [1, 2])
    assert caught.value.sample == 1


def test_a_view_of_billions_of_pixels_is_refused_before_there_is_memory_for_it():
    line = saved("L", "PNG", size=(65535, 1))
    made = views(("resize_shorter", 256, 0))
    with pytest.raises(ContentError, match="^sample 1: a view of 16776960 x 256 pixels of an image of 65535 x 1 scaled to") as caught:
        made.sizes([saved("RGB", "PNG"), line], [1, 2])
    assert caught.value.sample == 1
    assert views(("resize_shorter", 256, 2560)).sizes([line], [1])[0][4:6] == (2560, 1)


@pytest.mark.parametrize(
    "steps, taken",
    [
        ([], 0),
        ([("flip", True, 0.5), ("resize", 9, 9), ("center_crop", 5, 5), ("flip", False, 1)], 4),
        ([("center_crop", 5, 5), ("resize", 9, 9)], 1),
        ([("random_resized_crop", 9, 9, 0, 1, 1, 1), ("resize_shorter", 9, 0)], 1),
    ],
)
def test_steps_are_taken_up_to_one_that_scales_again(steps, taken):
    assert views(*steps).taken == taken


@pytest.mark.parametrize(
    "steps",
    [
        ["flip"],
        [()],
        [(3,)],
        [("turn", 1)],
        [("resize", 9)],
        [("resize", 0, 9)],
        [("resize", -1, 9)],
        [("resize", 9, 1 << 40)],
        [("resize", 9, 9.5)],
        [("resize_shorter", 0, 0)],
        [("flip", 0.5, True)],
        [("flip", True, 1.5)],
        [("flip", True, float("nan"))],
        [("random_resized_crop", 9, 9, 1.0, 0.5, 1, 1)],
        [("random_resized_crop", 9, 9, 0.5, 1.0, 0, 1)],
        [("random_resized_crop", 9, 9, 0.5, 1.0, 1, float("inf"))],
        [("random_crop", 9, 9, 0, 0, 0, 0, "yes")],
    ],
)
def test_odd_steps_are_refused(steps):
    with pytest.raises(UsageError):
        views(*steps)


@pytest.mark.parametrize(
    "changes",
    [{"kernel": "lanczos"}, {"channels": 4}, {"order": "nchw"}, {"table": b"x"}, {"item_bytes": 3}, {"fill": b""}, {"values": True}],
)
def test_odd_settings_are_refused(changes):
    with pytest.raises(UsageError):
        views(**changes)


def test_memory_that_does_not_fit_is_refused():
    content = saved("RGB", "PNG")
    made = views(("resize", 4, 4))
    drawn = made.sizes([content, content], [0, 1])
    frozen = np.zeros((2, 4, 4, 3), np.uint8)
    frozen.flags.writeable = False
    for into in (
        np.zeros((2, 4, 4, 2), np.uint8),
        np.zeros((2, 4, 8, 3), np.uint8)[:, :, ::2],
        np.zeros((2, 4, 4, 3), np.float32),
        [np.zeros((4, 4, 3), np.uint8)],
        [np.zeros((4, 4, 3), np.uint8), None],
        [np.zeros((4, 4, 3), np.uint8), "memory"],
        frozen,
        bytes(96),
    ):
        with pytest.raises(UsageError):
            made.load([content, content], drawn, into)


def test_views_that_were_not_drawn_are_refused():
    content = saved("RGB", "PNG", size=(8, 8))
    made = views(("center_crop", 4, 4))
    [good] = made.sizes([content], [0])
    into = np.zeros((1, 4, 4, 3), np.uint8)
    assert made.load([content], [good], into) == [None]
    odd = [(), good[:15], list(good), (0.5,) + good[1:], (1 << 70,) + good[1:], "view"]
    for place in range(14):
        odd += [good[:place] + (number,) + good[place + 1 :] for number in (-1, 1 << 32, (1 << 63) - 1, -(1 << 63))]
    odd += [good[:place] + (7,) + good[place + 1 :] for place in (0, 1, 6, 7, 8, 9, 10, 11, 12, 13)]
    for view in odd:
        with pytest.raises(UsageError):
            made.load([content], [view], into)
    with pytest.raises(UsageError):
        made.load([content], [], into)
    with pytest.raises(UsageError):
        made.load([bytearray(content)], [good], into)
    with pytest.raises(UsageError):
        made.sizes([content], [1, 2])


def test_threads_get_what_one_gets():
    from concurrent.futures import ThreadPoolExecutor

    contents = [saved(*TAKEN[kind][:2], size=(150, 130), **TAKEN[kind][2]) for kind in TAKEN]
    made = views(("random_resized_crop", 32, 32, 0.08, 1.0, 0.75, 1.5))

    def batch(_):
        return np.stack(loaded(made, contents)[0])

    alone = batch(0)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(made, alone) for made in pool.map(batch, range(8)))
