"""HEIC and AVIF as pillow-heif writes them, and GIF: left out by name as they are, taken where --encode writes another type."""

import io
import random
import shutil

import numpy as np
import pillow_heif
import pytest
from conftest import run_shale
from PIL import Image

pillow_heif.register_heif_opener()
ROTATED, TITLE = 274, 270


def gradient(width=64, height=48, channels=3):
    y, x = np.mgrid[:height, :width]
    planes = [x * 255 // width, y * 255 // height, (x + y) % 256, 255 - x * 255 // width]
    return Image.fromarray(np.stack(planes[:channels], -1).astype(np.uint8))


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "photos" / "a"
    folder.mkdir(parents=True)
    gradient().save(folder / "0.jpg", quality=95)
    gradient().save(folder / "1.heic", quality=95)
    gradient().save(folder / "2.avif", quality=95)
    gradient().save(folder / "3.gif")
    gradient(channels=4).save(folder / "4.avif", quality=95)
    exif = Image.Exif()
    exif[ROTATED], exif[TITLE] = 6, "a photo"
    gradient().save(folder / "5.HEIC", quality=95, exif=exif)
    shutil.copy(folder / "1.heic", folder / "6.jpg")
    return folder.parent


def image_of(dataset, key):
    return Image.open(io.BytesIO(run_shale("cat", dataset, "--key", key).stdout))


def test_left_out_by_name_with_the_option_that_takes_them(pictures, tmp_path):
    done = run_shale("convert", pictures, tmp_path / "out", "--to", "record", code=4)
    assert b"picture 'heic' (type_not_taken)" in done.stdout and b"picture 'gif' (type_not_taken)" in done.stdout
    assert b"avif, gif and heic pictures are left out; --encode jpeg or png takes them" in done.stderr
    # What a telephone calls a JPEG is not kept for loaders to stumble over.
    assert b"a/6.jpg: is heic, which loaders do not decode: --encode jpeg or png takes it" in done.stdout


def test_encoded_they_are_the_pictures_that_pillow_sees(pictures, tmp_path):
    out = tmp_path / "out"
    done = run_shale("convert", pictures, out, "--to", "record", "--encode", "png")
    assert b"images: 2 avif, 1 gif, 3 heic, 1 jpeg" in done.stdout
    for name in ("1.heic", "2.avif", "3.gif", "4.avif", "5.HEIC", "6.jpg"):
        ours, theirs = image_of(out, f"a/{name}"), Image.open(pictures / "a" / name)
        theirs = theirs.convert("RGB") if name == "3.gif" else theirs
        assert (ours.mode, ours.size) == (theirs.mode, theirs.size), name
        # Another version of the library may scale the colors between its planes in another way.
        assert np.abs(np.asarray(ours).astype(int) - np.asarray(theirs)).max() <= 6, name
    turned = image_of(out, "a/5.HEIC").getexif()
    assert (turned[TITLE], turned[ROTATED]) == ("a photo", 1)
    run_shale("verify", out, "--deep", "--against", pictures)
    (pictures / "a" / "9.heic").write_bytes((pictures / "a" / "1.heic").read_bytes())
    assert b"1 sample of the source not in the dataset" in run_shale("verify", out, "--against", pictures, code=3).stdout


def test_deep_pictures_are_sixteen_bit(tmp_path):
    folder = tmp_path / "photos" / "a"
    folder.mkdir(parents=True)
    values = (np.arange(32 * 32 * 3) * 21 % 65536).astype("<u2").reshape(32, 32, 3)
    heif = pillow_heif.from_bytes(mode="RGB;16", size=(32, 32), data=values.tobytes())
    heif.save(folder / "0.heic", quality=-1)
    run_shale("convert", folder.parent, tmp_path / "out", "--to", "npy", "--encode", "raw", "--resize", "exact=32x32")
    pixels = np.load(next((tmp_path / "out").glob("*image*.npy")))
    assert pixels.dtype == np.uint16 and pixels.max() > 60000


def test_broken_files_are_named_and_never_more(pictures, tmp_path):
    whole = (pictures / "a" / "1.heic").read_bytes()
    dice = random.Random(1)
    for number in range(60):
        bad = bytearray(whole[: dice.randrange(1, len(whole))] if number % 2 else whole)
        for _ in range(dice.randrange(1, 6)):
            bad[dice.randrange(len(bad))] = dice.randrange(256)
        (pictures / "a" / f"bad{number}.heic").write_bytes(bad)
    (pictures / "a" / "cut.heic").write_bytes(whole[:-100])
    out = tmp_path / "out"
    run_shale("convert", pictures, out, "--to", "record", "--encode", "jpeg", "--max-errors", "100%", code=4)
    skipped = (out / "skipped.csv").read_text()
    assert f'a/cut.heic,truncated,"is truncated: {len(whole) - 100} bytes, its header says {len(whole)}"' in skipped
    run_shale("verify", out, "--deep")
