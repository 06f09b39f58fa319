"""What image work keeps of an image, and what it says that it cannot: depth, alpha, pages, which way up. Read by NumPy and by a PNG reader that is written here."""

import io
import json
import struct
import zlib

import numpy as np
import pytest
import shale
from conftest import run_shale, write
from PIL import Image

WIDTH, HEIGHT = 61, 47
SMALL = (24, 18)
RESIZE = ("--resize", f"exact={SMALL[0]}x{SMALL[1]}")


def levels(channels, seed=0):
    """Slopes with noise, over all of 16 bits."""
    dice = np.random.default_rng(seed)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    planes = [x * 900 + y * 150, 65535 - x * 1000, np.where(x > y, 1000, 64000), np.where(x // 9 % 2 == 0, 65535, y * 1390)]
    wanted = planes[:channels] if channels != 2 else [planes[0], planes[3]]
    noisy = np.stack(wanted, -1) + dice.integers(-300, 300, (HEIGHT, WIDTH, channels))
    return noisy.clip(0, 65535).astype(np.uint16)


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png16(pixels, *more):
    """A PNG of 16 bits, with further chunks before its pixels."""
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 16, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(more) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def tiff16(pixels, order, planar=False):
    """A TIFF of 16 bits in one strip, or a strip for each plane."""
    height, width, channels = pixels.shape
    planes = [pixels[..., c] for c in range(channels)] if planar else [pixels]
    strips = [plane.astype(order + "u2").tobytes() for plane in planes]
    at, offsets = 8, []
    for strip in strips:
        offsets.append(at)
        at += len(strip)
    tails = [
        struct.pack(f"{order}{len(offsets)}I", *offsets),
        struct.pack(f"{order}{len(strips)}I", *map(len, strips)),
        struct.pack(f"{order}{channels}H", *[16] * channels),
    ]
    places = [at, at + len(tails[0]), at + len(tails[0]) + len(tails[1])]
    one = len(strips) == 1
    bits = (258, 3, channels, 16 if channels == 1 else places[2])
    tags = [(256, 4, 1, width), (257, 4, 1, height), bits, (259, 3, 1, 1), (262, 3, 1, 1 if channels == 1 else 2)]
    tags += [(273, 4, len(strips), offsets[0] if one else places[0]), (277, 3, 1, channels), (278, 4, 1, height)]
    tags += [(279, 4, len(strips), len(strips[0]) if one else places[1]), (284, 3, 1, 2 if planar else 1)]
    directory = struct.pack(order + "H", len(tags))
    for tag, kind, count, value in tags:
        short = kind == 3 and count == 1
        directory += struct.pack(order + "HHI", tag, kind, count) + (
            struct.pack(order + "HH", value, 0) if short else struct.pack(order + "I", value)
        )
    body = b"".join(strips + tails)
    return (
        (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8 + len(body)) + body + directory + struct.pack(order + "I", 0)
    )


def read_png(content):
    """Its pixels as they are stored: (H, W, channels), of 8 or 16 bits."""
    width, height, bits, color = struct.unpack(">IIBB", content[16:26])
    data, at = b"", 8
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        if content[at + 4 : at + 8] == b"IDAT":
            data += content[at + 8 : at + 8 + length]
        at += 12 + length
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[color]
    step = channels * bits // 8
    raw, stride = zlib.decompress(data), width * step
    before, rows = bytearray(stride), b""
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for i in range(stride):
            left, up = line[i - step] if i >= step else 0, before[i]
            corner = before[i - step] if i >= step else 0
            near = min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))[2]
            line[i] = (line[i] + (0, left, up, (left + up) // 2, near)[kind]) & 255
        rows, before = rows + line, line
    return np.frombuffer(rows, ">u2" if bits == 16 else "u1").reshape(height, width, channels)


def kernel(t):
    t = np.abs(t)
    inner, middle, outer = 16 * t**3 - 28 * t**2 + 12, -7 * t**3 + 36 * t**2 - 59 * t + 30, t**3 - 8 * t**2 + 21 * t - 18
    return np.where(t <= 1, inner, np.where(t <= 2, middle, np.where(t < 3, outer, 0))) / 12


def weights(source, result):
    places = (np.arange(source) + 0.5)[None] - ((np.arange(result) + 0.5) * source / result)[:, None]
    found = kernel(places / max(source / result, 1))
    return found / found.sum(1, keepdims=True)


def scaled(pixels):
    """By the same kernel in double precision."""
    pixels = pixels.astype(float)
    if pixels.shape[-1] % 2 == 0:
        alpha = scaled(pixels[..., -1:])
        colors = scaled(pixels[..., :-1] * pixels[..., -1:]) / np.maximum(alpha, 1)
        return np.concatenate([np.where(alpha > 2000, colors, np.nan), alpha], -1)
    return np.einsum("yh,hwc,xw->yxc", weights(HEIGHT, SMALL[1]), pixels, weights(WIDTH, SMALL[0]))


def images_of(out):
    with shale.Dataset(out, fields=["key", "image"]) as dataset:
        return {dataset[row]["key"]: bytes(dataset[row]["image"]) for row in range(len(dataset))}


def check_near(made, wanted):
    wanted = wanted.clip(0, 65535)
    assert made.shape == wanted.shape
    assert np.nanmax(np.abs(made.astype(float) - wanted)) <= 1


@pytest.fixture(scope="module")
def files():
    named = {f"{channels}.png": (png16(levels(channels)), levels(channels)) for channels in (1, 2, 3, 4)}
    named["sbit.png"] = (png16(levels(1), chunk(b"sBIT", b"\x0c")), levels(1))
    for order, name in (("<", "little"), (">", "big")):
        for planar in (False, True):
            named[f"{name}{'-planes' if planar else ''}.tif"] = (tiff16(levels(3), order, planar), levels(3))
        named[f"{name}-gray.tif"] = (tiff16(levels(1), order), levels(1))
    named["levels.pgm"] = (b"P5\n61 47\n65535\n" + levels(1).astype(">u2").tobytes(), levels(1))
    return named


def folder_of(root, files):
    for name, content in files.items():
        write(root, f"kind/{name}", content)
    return root


def test_sixteen_bits_stay_sixteen_when_scaled(files, tmp_path):
    source = folder_of(tmp_path / "in", {name: content for name, (content, _) in files.items()})
    run_shale("convert", source, tmp_path / "out", "--to", "lmdb", *RESIZE)
    made = images_of(tmp_path / "out")
    assert len(made) == len(files)
    for name, (_, pixels) in files.items():
        check_near(read_png(made[f"kind/{name}"]), scaled(pixels))
    assert "same samples" in run_shale("verify", tmp_path / "out", "--against", source).stdout.decode()


def test_values_are_untouched_by_a_crop_and_by_another_type(files, tmp_path):
    source = folder_of(tmp_path / "in", {name: content for name, (content, _) in files.items()})
    run_shale("convert", source, tmp_path / "out", "--to", "record", "--crop", "center=61x47", "--encode", "png", "--strip-metadata")
    run_shale("convert", source, tmp_path / "cut", "--to", "record", "--crop", "center=21x17")
    whole, cut = images_of(tmp_path / "out"), images_of(tmp_path / "cut")
    for name, (_, pixels) in files.items():
        assert (read_png(whole[f"kind/{name}"]) == pixels).all(), name
        assert (read_png(cut[f"kind/{name}"]) == pixels[15:32, 20:41]).all(), name


def test_raw_pixels_are_uint16(files, tmp_path):
    opaque = {name: pixels for name, (_, pixels) in files.items() if pixels.shape[-1] % 2 == 1}
    source = folder_of(tmp_path / "in", {name: files[name][0] for name in opaque})
    shale.convert(source, tmp_path / "out", to="npy", encode="raw", resize="exact=24x18")
    rows = np.load(next((tmp_path / "out").glob("*image.npy")))
    assert rows.dtype == np.uint16 and len(rows) == len(opaque)
    for row, name in zip(rows, sorted(opaque)):
        check_near(row, np.broadcast_to(scaled(opaque[name]), (*SMALL[::-1], 3)))


def test_a_set_of_both_depths_is_asked_about(tmp_path):
    source = folder_of(tmp_path / "in", {"deep.png": png16(levels(3))})
    Image.fromarray((levels(3) >> 8).astype(np.uint8)).save(source / "kind/plain.png")
    words = ("convert", source, tmp_path / "out", "--to", "npy", "--encode", "raw", *RESIZE)
    refused = run_shale(*words, code=1)
    assert b"kind/plain.png" in refused.stderr and b"--depth 8" in refused.stderr
    for depth, dtype in ((8, "u1"), (16, "u2")):
        run_shale("convert", source, tmp_path / str(depth), *words[3:], "--depth", str(depth))
        deep, plain = np.load(next((tmp_path / str(depth)).glob("*image.npy")))
        assert deep.dtype == dtype
        assert np.abs(deep.astype(int) - plain).max() <= (2 if depth == 8 else 257)


def test_a_jpeg_of_sixteen_bits_is_refused_by_name(tmp_path):
    source = folder_of(tmp_path / "in", {"deep.png": png16(levels(3))})
    words = ("convert", source, tmp_path / "out", "--to", "lmdb", "--encode", "jpeg")
    refused = run_shale(*words, code=1)
    assert b"kind/deep.png" in refused.stderr and b"--depth 8" in refused.stderr
    made = run_shale(*words, "--depth", "8")
    assert b"1 to-8-bits" in made.stdout


def test_alpha_stays_in_a_png_and_is_counted_where_it_goes(tmp_path):
    pixels = (levels(4) >> 8).astype(np.uint8)
    gray = Image.fromarray(pixels[..., 0])
    gray.putalpha(Image.fromarray(pixels[..., 3]))
    clear = Image.fromarray(pixels[..., :3]).quantize(16)
    source = tmp_path / "in"
    (source / "kind").mkdir(parents=True)
    Image.fromarray(pixels).save(source / "kind/rgba.png")
    Image.fromarray(pixels).save(source / "kind/rgba.webp", lossless=True, exact=True)
    gray.save(source / "kind/la.png")
    clear.save(source / "kind/palette.png", transparency=3)
    run_shale("convert", source, tmp_path / "out", "--to", "lmdb", *RESIZE)
    made = images_of(tmp_path / "out")
    for name, channels in (("rgba.png", 4), ("rgba.webp", 4), ("la.png", 2), ("palette.png", 4)):
        ours = read_png(made[f"kind/{name}"])
        assert ours.shape == (*SMALL[::-1], channels), name
        with Image.open(source / f"kind/{name}") as picture:
            values = np.asarray(picture.convert("RGBA" if channels == 4 else "LA"))
        gap = np.abs(ours.astype(float) - scaled(values).clip(0, 255))
        assert np.nanmax(gap[..., -1]) <= 1, name
        assert np.nanmax(np.where(ours[..., -1:] > 20, gap, 0)) <= 1, name
    white = run_shale("convert", source, tmp_path / "white", "--to", "lmdb", *RESIZE, "--alpha", "white")
    assert b"4 alpha-over-white" in white.stdout
    assert read_png(images_of(tmp_path / "white")["kind/rgba.png"]).shape == (*SMALL[::-1], 3)
    assert b"4 alpha-over-white" in run_shale("convert", source, tmp_path / "jpeg", "--to", "lmdb", "--encode", "jpeg").stdout


def test_masks_of_sixteen_bits_and_with_alpha_have_raw_values(tmp_path):
    mask = np.zeros((HEIGHT, WIDTH, 1), np.uint16)
    mask[10:30, 10:40] = 40000
    small = Image.fromarray((mask[..., 0] > 0).astype(np.uint8) * 7)
    faces = {"image": tmp_path / "img", "mask": tmp_path / "masks"}
    for name in ("a", "b", "c"):
        write(faces["image"], f"{name}.png", png16(levels(3)) + bytes(5000 if name == "a" else 0))
    write(faces["mask"], "a.png", png16(mask))
    small.save(faces["mask"] / "b.png")
    opaque = small.convert("LA")
    opaque.save(faces["mask"] / "c.png")
    inputs = [f"{name}={folder}" for name, folder in faces.items()]
    run_shale("convert", *inputs, tmp_path / "out", "--to", "npy", "--encode", "raw", "--resize", f"exact={WIDTH}x{HEIGHT}")
    rows = np.load(next((tmp_path / "out").glob("*mask.npy")))
    assert rows.dtype == np.uint16
    assert (rows[0] == mask[..., 0]).all()
    assert (rows[1] == np.asarray(small)).all() and (rows[2] == np.asarray(small)).all()


def test_earlier_rules_can_be_asked_for(files, tmp_path):
    """A set that does not say its depth and alpha has those of earlier versions."""
    source = folder_of(tmp_path / "in", {"a.png": files["4.png"][0]})
    words = ("--to", "lmdb", *RESIZE, "--depth", "8", "--alpha", "white")
    run_shale("convert", source, tmp_path / "out", *words)
    parameters = json.loads((tmp_path / "out/dataset.json").read_text())["transform"][0]["parameters"]
    assert "depth" not in parameters and "alpha" not in parameters
    assert b"nothing was done" in run_shale("convert", source, tmp_path / "out", *words).stdout
    assert "same samples" in run_shale("verify", tmp_path / "out", "--against", source).stdout.decode()
    assert "depth 8, alpha white" in run_shale("info", tmp_path / "out").stdout.decode()


def odd_of(out):
    rows = (out / "images.csv").read_text().splitlines()[1:]
    return {key: odd.split() for key, odd, *_ in (row.split(",") for row in rows)}


def test_pages_and_floats_are_listed_as_such(tmp_path):
    picture = Image.fromarray((levels(3) >> 8).astype(np.uint8))
    other = picture.rotate(180)
    source = tmp_path / "in/kind"
    source.mkdir(parents=True)
    for name, kind in (("five.tif", "TIFF"), ("film.png", "PNG"), ("film.webp", "WEBP"), ("gif.png", "GIF")):
        picture.save(source / name, kind, save_all=True, append_images=[other] * 4)
        picture.save(source / f"one-{name}", kind)
    Image.fromarray(levels(1)[..., 0].astype(np.float32)).save(source / "float.tif")
    run_shale("convert", source.parent, tmp_path / "out", "--to", "record")
    odd = odd_of(tmp_path / "out")
    assert {key for key, what in odd.items() if "pages" in what} == {
        f"kind/{name}" for name in ("five.tif", "film.png", "film.webp", "gif.png")
    }
    assert odd["kind/float.tif"] == ["float", "gray"]
    (source / "float.tif").unlink()
    worked = run_shale("convert", source.parent, tmp_path / "worked", "--to", "record", *RESIZE, code=4)
    assert b"4 to-first-page" in worked.stdout
    left_out = [{"kind": "pages", "name": "image", "reason": "first_page_taken", "samples": 4}]
    assert json.loads(run_shale("info", tmp_path / "worked", "--json").stdout)["left_out"] == left_out


def test_padding_in_a_jpeg_hides_no_damage(tmp_path):
    buffer = io.BytesIO()
    Image.fromarray((levels(3) >> 8).astype(np.uint8)).save(buffer, "JPEG")
    photo = buffer.getvalue()
    tables = photo.index(b"\xff\xdb")
    padded = {
        "before-the-end": photo[:-2] + bytes(99) + photo[-2:],
        "between-segments": photo[:tables] + b"stray" * 20 + photo[tables:],
        "behind-it": photo + b"x" * 99,
    }
    source = folder_of(tmp_path / "in", {f"{name}.jpg": content for name, content in {"as-it-was": photo, **padded}.items()})
    run_shale("convert", source, tmp_path / "out", "--to", "npy", *RESIZE, "--encode", "raw")
    rows = np.load(next((tmp_path / "out").glob("*image.npy")))
    assert len(rows) == 4 and (rows == rows[0]).all()
    left_over = photo[:-2] + photo[-60:-2] + photo[-2:]
    folder_of(tmp_path / "in", {"left-over.jpg": left_over})
    assert b"1 bad image" in run_shale("convert", source, tmp_path / "again", "--to", "npy", *RESIZE, "--encode", "raw", code=4).stdout


def test_what_raw_pixels_cannot_say_is_said(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    photo = Image.fromarray((levels(3) >> 8).astype(np.uint8))
    (tmp_path / "img").mkdir()
    (tmp_path / "mask").mkdir()
    for name in "ab":
        photo.save(tmp_path / f"img/{name}.jpg", exif=exif)
        photo.convert("L").transpose(Image.Transpose.ROTATE_270).save(tmp_path / f"mask/{name}.png")
    words = ("convert", f"image={tmp_path / 'img'}", f"mask={tmp_path / 'mask'}")
    said = run_shale(*words, tmp_path / "out", "--to", "npy", "--encode", "raw", *RESIZE).stderr
    assert b"2 images have an EXIF orientation, which raw pixels cannot say" in said
    assert b"2 masks are of another size than the image" in said and b"--apply-rotation" in said
    said = run_shale(*words, tmp_path / "turned", "--to", "npy", "--encode", "raw", *RESIZE, "--apply-rotation").stderr
    assert b"orientation" not in said and b"another size" not in said
