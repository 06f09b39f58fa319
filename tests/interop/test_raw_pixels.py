"""Images as arrays: their size without --resize, their channels and axes, as NumPy and Pillow have them; and that a dataset can be continued, compared and repaired."""

import io
import json

import numpy as np
import pytest
import shale
from conftest import run_shale, write
from PIL import Image

SIDE = 24


def pixels(seed, channels=3, side=SIDE, dtype=np.uint8):
    dice = np.random.default_rng(seed)
    shape = (side, side + 4) if channels == 1 else (side, side + 4, channels)
    return dice.integers(0, np.iinfo(dtype).max + 1, shape).astype(dtype)


def encoded(array, kind="PNG", **options):
    out = io.BytesIO()
    Image.fromarray(array).save(out, kind, **options)
    return out.getvalue()


def folder_of(root, arrays, kind="PNG"):
    for name, array in arrays.items():
        write(root, name, encoded(array, kind))
    return root


def rows_of(out, field="image"):
    return np.concatenate([np.load(path) for path in sorted(out.glob(f"*{field}.npy"))])


def parameters(out, field=0):
    return json.loads((out / "dataset.json").read_text())["transform"][field]["parameters"]


GRAY = {f"{k % 2}/{k}.png": pixels(k, 1) for k in range(6)}
RGB = {f"{k % 2}/{k}.png": pixels(k) for k in range(6)}
RAW = ("--to", "npy", "--encode", "raw")


@pytest.mark.parametrize("words, shape", [((), ()), (("--axes", "hwc"), ()), (("--axes", "chw"), (1,))])
def test_gray_images_of_one_size_are_planes(tmp_path, words, shape):
    source = folder_of(tmp_path / "in", GRAY)
    run_shale("convert", source, tmp_path / "out", *RAW, *words)
    rows = rows_of(tmp_path / "out")
    assert rows.shape == (6, *shape, SIDE, SIDE + 4) and rows.dtype == np.uint8
    assert all((row.reshape(SIDE, -1) == GRAY[name]).all() for row, name in zip(rows, sorted(GRAY)))


@pytest.mark.parametrize("words", [(), ("--color", "rgb"), ("--axes", "chw")])
def test_colors_come_last_or_first(tmp_path, words):
    source = folder_of(tmp_path / "in", RGB)
    run_shale("convert", source, tmp_path / "out", *RAW, *words)
    first = np.stack([RGB[name] for name in sorted(RGB)])
    assert (rows_of(tmp_path / "out") == (first.transpose(0, 3, 1, 2) if "chw" in words else first)).all()


def test_gray_among_colors_is_repeated(tmp_path):
    """Also where the largest is gray."""
    arrays = {"a/0.png": pixels(0, 1), "a/1.png": pixels(1) // 128, "a/2.png": pixels(2) // 128}
    source = folder_of(tmp_path / "in", arrays)
    assert max(source.rglob("*.png"), key=lambda path: path.stat().st_size).name == "0.png"
    run_shale("convert", source, tmp_path / "out", *RAW)
    rows = rows_of(tmp_path / "out")
    assert (rows[0] == arrays["a/0.png"][..., None]).all() and (rows[1] == arrays["a/1.png"]).all()


def test_a_color_image_among_gray_ones_is_asked_about(tmp_path):
    source = folder_of(tmp_path / "in", GRAY)
    for k in range(10, 80):
        write(source, f"0/{k}.png", encoded(pixels(k, 1)))
    write(source, "1/5.png", encoded(np.zeros((SIDE, SIDE + 4, 3), np.uint8)))
    refused = run_shale("convert", source, tmp_path / "out", *RAW, code=1).stderr
    assert b"1/5.png" in refused and b"has colors" in refused and b"--color" in refused
    made = run_shale("convert", source, tmp_path / "gray", *RAW, "--color", "gray")
    assert b"1 to-gray" in made.stdout
    run_shale("convert", source, tmp_path / "rgb", *RAW, "--color", "rgb")
    assert (rows_of(tmp_path / "rgb") == rows_of(tmp_path / "gray")[..., None]).all()


def test_gray_of_colors_is_what_pillow_makes(tmp_path):
    arrays = dict(RGB)
    source = folder_of(tmp_path / "in", arrays)
    wide = [np.asarray(Image.fromarray(arrays[name]).convert("L")) for name in sorted(arrays)]
    run_shale("convert", source, tmp_path / "out", *RAW, "--color", "gray")
    assert (rows_of(tmp_path / "out") == np.stack(wide)).all()
    run_shale("convert", source, tmp_path / "png", "--to", "lmdb", "--encode", "png", "--color", "gray")
    for row, image in zip(shale.Dataset(tmp_path / "png", decode=None), wide):
        with Image.open(io.BytesIO(row["image"])) as picture:
            assert picture.mode == "L" and (np.asarray(picture) == image).all()


@pytest.mark.parametrize("kind, options", [("JPEG", {"quality": 92}), ("JPEG", {"quality": 92, "subsampling": 0, "progressive": True})])
def test_gray_of_a_jpeg_is_its_luma(tmp_path, kind, options):
    smooth = (np.mgrid[0:40, 0:60, 0:3].sum(0) * 2).astype(np.uint8)
    photo = encoded(smooth, kind, **options)
    write(tmp_path / "in", "a/1.jpg", photo)
    run_shale("convert", tmp_path / "in", tmp_path / "raw", *RAW, "--color", "gray")
    with Image.open(io.BytesIO(photo)) as picture:
        picture.draft("L", picture.size)
        luma = np.asarray(picture)
    assert luma.ndim == 2 and (rows_of(tmp_path / "raw")[0] == luma).all()
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "lmdb", "--color", "gray", "--quality", "95")
    with Image.open(io.BytesIO(shale.Dataset(tmp_path / "out", decode=None)[0]["image"])) as picture:
        assert picture.format == "JPEG" and picture.mode == "L"
        assert np.abs(np.asarray(picture).astype(int) - luma).mean() < 2


def test_a_gray_jpeg_becomes_rgb(tmp_path):
    gray = (np.mgrid[0:40, 0:60].sum(0) * 2).astype(np.uint8)
    write(tmp_path / "in", "a/1.jpg", encoded(gray, "JPEG"))
    write(tmp_path / "in", "a/2.png", encoded(gray))
    write(tmp_path / "in", "a/3.png", encoded(np.dstack([gray, 255 - gray])))
    for words in ((), ("--encode", "jpeg"), ("--resize", "exact=30x20")):
        out = tmp_path / f"out{len(words)}{words[:1]}"
        run_shale("convert", tmp_path / "in", out, "--to", "lmdb", "--color", "rgb", *words)
        for row in shale.Dataset(out, decode=None):
            with Image.open(io.BytesIO(row["image"])) as picture:
                values = np.asarray(picture)
                assert picture.mode == ("RGBA" if row["key"] == "a/3.png" and "jpeg" not in words else "RGB")
                assert np.ptp(values[..., :3], axis=2).max() <= 2


def test_sixteen_bits_stay_gray_and_gray_of_sixteen_bits_is_weighed(tmp_path):
    deep = {f"a/{k}.png": pixels(k, 1, dtype=np.uint16) for k in range(3)}
    source = folder_of(tmp_path / "in", deep)
    run_shale("convert", source, tmp_path / "out", *RAW)
    rows = rows_of(tmp_path / "out")
    assert rows.dtype == np.uint16 and (rows == np.stack(list(deep.values()))).all()


def test_the_first_of_another_size_is_named_with_both_sizes(tmp_path):
    source = folder_of(tmp_path / "in", {**GRAY, "1/9.png": pixels(9, 1, side=8)})
    refused = run_shale("convert", source, tmp_path / "out", *RAW, code=1).stderr
    assert b"'1/9.png'" in refused and b"12 x 8" in refused and b"28 x 24" in refused
    assert not (tmp_path / "out/dataset.json").exists()
    run_shale("convert", source, tmp_path / "small", *RAW, "--resize", "exact=4x4")
    assert rows_of(tmp_path / "small").shape == (7, 4, 4)


def test_a_rule_that_keeps_proportions_gives_one_size(tmp_path):
    source = folder_of(tmp_path / "in", RGB)
    run_shale("convert", source, tmp_path / "out", *RAW, "--resize", "shorter=12", "--only-larger")
    assert rows_of(tmp_path / "out").shape == (6, 12, 14, 3)
    assert parameters(tmp_path / "out")["size"] == "14x12"


def test_a_set_is_compared_repaired_and_continued(tmp_path):
    source = folder_of(tmp_path / "in", GRAY)
    out = tmp_path / "out"
    words = ("convert", source, out, "--to", "record", "--encode", "raw", "--axes", "chw")
    run_shale(*words)
    assert parameters(out).items() >= {"color": "gray", "axes": "chw", "size": "28x24"}.items()
    assert b"nothing was done" in run_shale(*words).stdout
    assert b"nothing was done" in run_shale(*words, "--color", "gray").stdout
    assert b"gray before" in run_shale(*words, "--color", "rgb", code=1).stderr
    assert b"axes" in run_shale(*words[:-2], code=1).stderr
    assert b"same samples" in run_shale("verify", out, "--against", source).stdout
    shard = next(out.glob("*.tfrecord"))
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-9] + b"x" + whole[-8:])
    run_shale("verify", out, code=3)
    run_shale("repair", out, "--from", source)
    assert shard.read_bytes() == whole
    run_shale("convert", folder_of(tmp_path / "more", {"1/8.png": pixels(8, 1)}), out, "--append", "--encode", "raw", "--axes", "chw")
    assert len(shale.Dataset(out)) == 7


def test_parts_are_one_dataset(tmp_path):
    source = folder_of(tmp_path / "in", GRAY)
    words = ("--to", "npy", "--encode", "raw", "--color", "gray", "--shuffle")
    run_shale("convert", source, tmp_path / "whole", *words)
    parts = [tmp_path / f"p{k}" for k in range(2)]
    for k, part in enumerate(parts):
        run_shale("convert", source, part, *words, "--part", f"{k}/2")
    run_shale("merge", *parts, tmp_path / "merged")
    assert (rows_of(tmp_path / "merged") == rows_of(tmp_path / "whole")).all()


def test_masks_keep_their_values(tmp_path):
    write(tmp_path / "img", "1.png", encoded(pixels(1)))
    write(tmp_path / "mask", "1.png", encoded(pixels(2, 1) % 5))
    inputs = (f"image={tmp_path / 'img'}", f"mask={tmp_path / 'mask'}")
    run_shale("convert", *inputs, tmp_path / "out", *RAW, "--color", "gray", "--axes", "chw")
    assert rows_of(tmp_path / "out").shape == (1, 1, SIDE, SIDE + 4)
    assert (rows_of(tmp_path / "out", "mask")[0] == pixels(2, 1) % 5).all()
    assert b"which is a mask" in run_shale("convert", *inputs, tmp_path / "no", *RAW, "--color", "mask:gray", code=2).stderr


def test_what_means_nothing_is_refused(tmp_path):
    source = folder_of(tmp_path / "in", GRAY)
    assert b"--axes has no effect" in run_shale("convert", source, tmp_path / "no", "--to", "npy", "--axes", "chw", code=2).stderr
    assert b"one of hwc, chw" in run_shale("convert", source, tmp_path / "no", *RAW, "--axes", "cwh", code=2).stderr
    assert b"one of rgb, gray, keep" in run_shale("convert", source, tmp_path / "no", *RAW, "--color", "grey", code=2).stderr
    run_shale("convert", source, tmp_path / "set", "--to", "lmdb")
    refused = run_shale("convert", tmp_path / "set", tmp_path / "no", *RAW, code=2).stderr
    assert b"of one size" in refused and b"--resize exact=WxH" in refused


def test_from_python(tmp_path):
    source = folder_of(tmp_path / "in", RGB)
    made = shale.convert(source, tmp_path / "out", "npy", encode="raw", color={"image": "gray"}, axes="chw")
    assert made.samples == 6
    assert shale.Dataset(tmp_path / "out")[0]["image"].shape == (1, SIDE, SIDE + 4)


def test_where_every_sample_is_bad_nothing_is_written(tmp_path):
    """Masks with colors have no raw values."""
    for k in range(3):
        write(tmp_path / "img", f"{k}.png", encoded(pixels(k)))
        write(tmp_path / "mask", f"{k}.png", encoded(pixels(k + 3)))
    inputs = (f"image={tmp_path / 'img'}", f"mask={tmp_path / 'mask'}")
    refused = run_shale("convert", *inputs, tmp_path / "out", *RAW, code=1).stderr
    assert b"nothing to write" in refused and b"colors" in refused
