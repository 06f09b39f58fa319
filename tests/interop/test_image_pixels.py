"""What the decoders and the filter make of every kind of image, beside Pillow: full size value by value, resized within a tolerance."""

import functools
import io
import random
import struct
import zlib

import numpy as np
import pytest
from conftest import run_shale, write
from PIL import Image, ImageOps

SIDES = (61, 47)
SMALL = (24, 18)
# Pillow may bring another release of these codecs: the inverse DCT and the upsampling of chroma may round differently.
LOSSY_MEAN, LOSSY_MOST = 0.5, 6
RESIZED_MEAN = 2  # levels; at most 1.5 on 2026-11-24, where the kernels, Keys' and Lanczos3, differ most: a sawtooth

pytestmark = pytest.mark.skipif(b"--resize" not in run_shale("convert", "--help").stdout, reason="this program has no --resize")


def smooth(mode="RGB", size=SIDES, seed=0):
    """A picture with gradients, an edge and a little noise: every value differs from its neighbors, and a swap of channels or sides shows."""
    width, height = size
    dice = random.Random(seed)
    values = bytearray()
    for y in range(height):
        for x in range(width):
            red = 40 + 170 * x // width + dice.randrange(8)
            green = 225 - 190 * y // height - dice.randrange(8)
            values += bytes((red, green, 30 if x > y else 200))
    return Image.frombytes("RGB", size, bytes(values)).convert(mode)


def alpha():
    picture = smooth("RGBA")
    picture.putalpha(Image.frombytes("L", SIDES, bytes(range(256)) * 11 + bytes(SIDES[0] * SIDES[1] - 256 * 11)))
    return picture


def gray16():
    rows = np.arange(SIDES[0] * SIDES[1], dtype=np.uint16).reshape(SIDES[1], SIDES[0]) * 22
    return Image.fromarray(rows)


def transparent_palette():
    picture = smooth().quantize(16)
    picture.info["transparency"] = 3
    return picture


def saved(picture, kind, **options):
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def animated(kind, **options):
    return saved(smooth(), kind, save_all=True, append_images=[smooth(seed=1).rotate(180)], duration=50, **options)


def ascii_ppm(picture):
    """P3 with a comment and a largest level that is not 255; an odd one, for Pillow rounds halves to even and shale rounds them up."""
    numbers = " ".join(str(value % 102) for value in picture.tobytes())
    return f"P3\n# made by hand\n{picture.width} {picture.height}\n101\n{numbers}\n".encode()


def interlaced_png(picture):
    """Adam7, which Pillow reads and does not write: seven pictures of the same pixels, one behind the other."""
    pixels, data = np.asarray(picture), b""
    for top, left, down, right in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
        for row in pixels[top::down, left::right]:
            data += b"\0" + row.tobytes()

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", picture.width, picture.height, 8, 2, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def turned(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return saved(smooth(), "JPEG", quality=92, exif=exif)


# A folder takes no name that ends in .gif, as ImageFolder takes none; content decides what a file is.
LOSSLESS = {
    "alpha.png": lambda: saved(alpha(), "PNG"),
    "bit.bmp": lambda: saved(smooth("1"), "BMP"),
    "bit.png": lambda: saved(smooth("1"), "PNG"),
    "bit.tif": lambda: saved(smooth("1"), "TIFF", compression="group4"),
    "deflate.tif": lambda: saved(smooth(), "TIFF", compression="tiff_adobe_deflate"),
    "gray.bmp": lambda: saved(smooth("L"), "BMP"),
    "gray.pgm": lambda: saved(smooth("L"), "PPM"),
    "gray.png": lambda: saved(smooth("L"), "PNG"),
    "gray.tif": lambda: saved(smooth("L"), "TIFF"),
    "gray16.png": lambda: saved(gray16(), "PNG"),
    "grayalpha.png": lambda: saved(alpha().convert("LA"), "PNG"),
    "interlaced.png": lambda: interlaced_png(smooth()),
    "interlaced_gif.jpg": lambda: saved(smooth().quantize(64), "GIF", interlace=1),
    "lossless.webp": lambda: saved(smooth(), "WEBP", lossless=True),
    "lossless_alpha.webp": lambda: saved(alpha(), "WEBP", lossless=True, exact=True),
    "lzw.tif": lambda: saved(smooth(), "TIFF", compression="tiff_lzw"),
    "moving_gif.jpg": lambda: animated("GIF"),
    "moving.webp": lambda: animated("WEBP", lossless=True),
    "palette.bmp": lambda: saved(smooth().quantize(32), "BMP"),
    "palette_gif.jpg": lambda: saved(smooth().quantize(32), "GIF"),
    "palette.png": lambda: saved(smooth().quantize(32), "PNG"),
    "palette4.png": lambda: saved(smooth().quantize(16), "PNG", bits=4),
    "palette.tif": lambda: saved(smooth().quantize(32), "TIFF"),
    "png_named.jpg": lambda: saved(smooth(), "PNG"),
    "rgb.bmp": lambda: saved(smooth(), "BMP"),
    "rgb.ppm": lambda: saved(smooth(), "PPM"),
    "rgb.png": lambda: saved(smooth(), "PNG"),
    "rgb.tif": lambda: saved(smooth(), "TIFF"),
    "see_through_gif.jpg": lambda: saved(transparent_palette(), "GIF", transparency=3),
    "see_through.png": lambda: saved(transparent_palette(), "PNG", transparency=3),
    "text.ppm": lambda: ascii_ppm(smooth()),
}
LOSSY = {
    "420.jpg": lambda: saved(smooth(), "JPEG", quality=90),
    "422.jpg": lambda: saved(smooth(), "JPEG", quality=90, subsampling=1),
    "444.jpg": lambda: saved(smooth(), "JPEG", quality=90, subsampling=0),
    "alpha.webp": lambda: saved(alpha(), "WEBP", quality=90, exact=True),
    "cmyk.jpg": lambda: saved(smooth("CMYK"), "JPEG", quality=90),
    "gray.jpg": lambda: saved(smooth("L"), "JPEG", quality=90),
    "jpeg.tif": lambda: saved(smooth(), "TIFF", compression="jpeg"),
    "lossy.webp": lambda: saved(smooth(), "WEBP", quality=90),
    "progressive.jpg": lambda: saved(smooth(), "JPEG", quality=90, progressive=True),
    **{f"turned{n}.jpg": functools.partial(turned, n) for n in (3, 6)},
}


def by_pillow(content, turn=False):
    """RGB over white; of 16 bits the upper 8."""
    picture = Image.open(io.BytesIO(content))
    if turn:
        picture = ImageOps.exif_transpose(picture)
    if picture.mode.startswith("I"):
        return Image.fromarray((np.asarray(picture).astype(np.uint32) >> 8).astype(np.uint8)).convert("RGB")
    if "A" in picture.mode or "transparency" in picture.info:
        over = Image.new("RGBA", picture.size, "white")
        over.alpha_composite(picture.convert("RGBA"))
        picture = over
    return picture.convert("RGB")


def by_shale(folder, out, files, *words):
    """The pixels of each file, through the program."""
    for name, content in files.items():
        write(folder, f"kind/{name}", content)
    run_shale("convert", folder, out, "--to", "npy", "--encode", "raw", "--depth", "8", *words, code=(0, 4))  # 4: pictures of several pages
    rows = np.concatenate([np.load(path) for path in sorted(out.glob("*image.npy"))])
    assert len(rows) == len(files)
    return dict(zip(sorted(files), rows))


def distance(ours, pillow):
    gap = np.abs(ours.astype(int) - np.asarray(pillow).astype(int))
    return gap.mean(), gap.max()


@pytest.fixture(scope="module")
def files():
    return {name: make() for name, make in {**LOSSLESS, **LOSSY}.items()}


def test_full_size_is_what_pillow_decodes(files, tmp_path):
    pixels = by_shale(tmp_path / "in", tmp_path / "out", files, "--resize", f"exact={SIDES[0]}x{SIDES[1]}")
    far = {}
    for name, ours in pixels.items():
        mean, most = distance(ours, by_pillow(files[name]))
        if most > 0 if name in LOSSLESS else mean > LOSSY_MEAN or most > LOSSY_MOST:
            far[name] = (mean, most)
    assert far == {}


def test_resized_is_near_what_pillow_makes(files, tmp_path):
    pixels = by_shale(tmp_path / "in", tmp_path / "out", files, "--resize", f"exact={SMALL[0]}x{SMALL[1]}")
    far = {}
    for name, ours in pixels.items():
        mean, _ = distance(ours, by_pillow(files[name]).resize(SMALL, Image.Resampling.LANCZOS))
        if mean > RESIZED_MEAN:
            far[name] = mean
    assert far == {}


@pytest.mark.parametrize("size", [(1, 1), (1, 300), (300, 1)])
def test_narrow_pictures(size, tmp_path):
    files = {
        "a.png": saved(smooth(size=size), "PNG"),
        "b.webp": saved(smooth(size=size), "WEBP", lossless=True),
        "c.bmp": saved(smooth(size=size), "BMP"),
    }
    same = by_shale(tmp_path / "in", tmp_path / "same", files, "--resize", f"exact={size[0]}x{size[1]}")
    small = (1, min(size[1], 40))
    less = by_shale(tmp_path / "in", tmp_path / "less", files, "--resize", f"exact={small[0]}x{small[1]}")
    for name, content in files.items():
        assert distance(same[name], by_pillow(content)) == (0, 0), name
        assert distance(less[name], by_pillow(content).resize(small, Image.Resampling.LANCZOS))[0] <= RESIZED_MEAN, name


@pytest.mark.parametrize("orientation", range(1, 9))
def test_rotation_is_applied_as_pillow_does(orientation, tmp_path):
    content = turned(orientation)
    wanted = by_pillow(content, turn=True)
    words = ("--apply-rotation", "--resize", f"exact={wanted.width}x{wanted.height}")
    ours = by_shale(tmp_path / "in", tmp_path / "out", {"a.jpg": content}, *words)["a.jpg"]
    mean, most = distance(ours, wanted)
    assert mean <= LOSSY_MEAN and most <= LOSSY_MOST
