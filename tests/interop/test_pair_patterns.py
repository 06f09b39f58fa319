"""Partners by the endings of their names: in one folder, and in parallel trees. And equal shards."""

import io
import json
import tarfile
import zipfile

import numpy as np
import pytest
import shale
from conftest import run_shale, write
from PIL import Image


def picture(seed, channels=3):
    out = io.BytesIO()
    shape = (9, 7, 3) if channels == 3 else (9, 7)
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, shape, np.uint8)).save(out, "PNG")
    return out.getvalue()


def written(root, names):
    made = {name: picture(number, 1 if "mask" in name or "gt" in name else 3) for number, name in enumerate(names)}
    for name, content in made.items():
        write(root, name, content)
    return made


def samples_of(out):
    return {sample["key"]: sample for sample in shale.Dataset(out, decode=None)}


CARVANA = "image=*.jpg,mask=*_mask.png"
CITYSCAPES = "image=leftImg8bit/*_leftImg8bit.png,mask=gtFine/*_gtFine_labelIds.png"


def test_in_one_folder(tmp_path):
    made = written(tmp_path / "in", [f"{n}{end}" for n in "abc" for end in (".jpg", "_mask.png")])
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--pairs", CARVANA)
    found = samples_of(tmp_path / "out")
    assert list(found) == ["a.jpg", "b.jpg", "c.jpg"]
    assert all(found[f"{n}.jpg"]["image"] == made[f"{n}.jpg"] and found[f"{n}.jpg"]["mask"] == made[f"{n}_mask.png"] for n in "abc")
    assert "label" not in found["a.jpg"]
    assert b"same samples" in run_shale("verify", tmp_path / "out", "--against", tmp_path / "in").stdout
    assert b"nothing was done" in run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--pairs", CARVANA).stdout


def test_a_partner_without_image_is_ignored_and_listed(tmp_path):
    """It is of a type that is taken; no image has its name."""
    written(tmp_path / "in", ["a.jpg", "a_mask.png", "b_mask.png"])
    done = run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--pairs", CARVANA)
    assert b"left out" not in done.stdout
    assert (tmp_path / "out/ignored.csv").read_text().splitlines()[1:] == ["b_mask.png,no sample has its name"]


def test_in_class_folders_and_of_two_patterns_the_longer_one(tmp_path):
    made = written(tmp_path / "in", [f"{folder}/{n}{end}" for folder in ("x", "y") for n in "ab" for end in (".png", "_mask.png")])
    write(tmp_path / "in", "x/a.json", b'{"n": 1}')
    write(tmp_path / "in", "x/b.json", b'{"n": 2}')
    for n in "ab":
        write(tmp_path / "in", f"y/{n}.json", b"{}")
    shale.convert(tmp_path / "in", tmp_path / "out", "lmdb", pairs="image=*.png,mask=*_mask.png,facts=*.json")
    found = samples_of(tmp_path / "out")
    assert list(found) == ["x/a.png", "x/b.png", "y/a.png", "y/b.png"]
    assert [found[key]["label"] for key in found] == [0, 0, 1, 1]
    assert found["y/b.png"]["mask"] == made["y/b_mask.png"] and json.loads(found["x/b.png"]["facts"]) == {"n": 2}


@pytest.mark.parametrize("archived", [False, True])
def test_in_parallel_trees(tmp_path, archived):
    names = [f"{town}/{town}_{n}" for town in ("aachen", "bonn") for n in range(3)]
    made = written(tmp_path / "in", [f"leftImg8bit/{n}_leftImg8bit.png" for n in names] + [f"gtFine/{n}_gtFine_labelIds.png" for n in names])
    for name in names:
        write(tmp_path / "in", f"gtFine/{name}_gtFine_polygons.json", b"{}")
    source = tmp_path / "in"
    if archived:
        source = tmp_path / "in.zip"
        with zipfile.ZipFile(source, "w") as archive:
            for path in sorted((tmp_path / "in").rglob("*.*")):
                archive.write(path, path.relative_to(tmp_path / "in"))
    run_shale("convert", source, tmp_path / "out", "--to", "record", "--pairs", CITYSCAPES, "--shuffle")
    found = samples_of(tmp_path / "out")
    assert set(found) == {f"leftImg8bit/{n}_leftImg8bit.png" for n in names}
    assert all(found[f"leftImg8bit/{n}_leftImg8bit.png"]["mask"] == made[f"gtFine/{n}_gtFine_labelIds.png"] for n in names)
    assert b"same samples" in run_shale("verify", tmp_path / "out", "--against", source).stdout
    run_shale("convert", source, tmp_path / "small", "--to", "npy", "--pairs", CITYSCAPES, "--resize", "exact=4x4", "--encode", "raw")
    assert np.load(next((tmp_path / "small").glob("*.mask.npy"))).shape == (6, 4, 4)


def test_what_has_no_partner_is_counted(tmp_path):
    written(tmp_path / "in", ["a.jpg", "a_mask.png", "b.jpg", "c.jpg", "c_mask.png", "d_mask.png", "notes.png"])
    said = run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--pairs", CARVANA, code=4)
    assert b"1 sample is without a partner" in said.stderr
    assert "b.jpg,missing-partner" in (tmp_path / "out/skipped.csv").read_text()
    assert "d_mask.png" in (tmp_path / "out/ignored.csv").read_text()
    refused = run_shale("convert", tmp_path / "in", tmp_path / "no", "--to", "record", "--pairs", CARVANA, "--on-error", "fail", code=1).stderr
    assert b"b.jpg" in refused


def test_arrays_by_a_pattern_and_a_prefix(tmp_path):
    for n in range(3):
        write(tmp_path / "in", f"img_{n}.png", picture(n))
        out = io.BytesIO()
        np.save(out, np.full((n + 1, 2), n, "f4"))
        write(tmp_path / "in", f"pose_{n}.npy", out.getvalue())
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--pairs", "photo=img_*.png,pose=pose_*.npy")
    found = samples_of(tmp_path / "out")
    assert all((found[f"img_{n}.png"]["pose"] == np.full((n + 1, 2), n)).all() for n in range(3))
    assert "photo" in found["img_0.png"]
    options = json.loads((tmp_path / "out/dataset.json").read_text())["options"]
    assert options["pairs"] == "photo=img_*.png,pose=pose_*.npy:float32 (?, 2)"
    assert b"same samples" in run_shale("verify", tmp_path / "out", "--against", tmp_path / "in").stdout


@pytest.mark.parametrize("words", ["image=*.jpg", "image=*.jpg,mask=x.png", "image=*.jpg,image=*.png", "key=*.jpg,mask=*.png", "image=a/*.jpg,mask=*.png", "image=*.jpg,m:n=*.png"])
def test_patterns_that_mean_nothing_are_refused(tmp_path, words):
    written(tmp_path / "in", ["a.jpg"])
    assert b"--pairs" in run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--pairs", words, code=2).stderr


def folder_of(root, count):
    return written(root, [f"{n % 2}/{n}.png" for n in range(count)])


@pytest.mark.parametrize("count, shards, sizes", [(12, 3, [4, 4, 4]), (11, 3, [4, 4, 3]), (5, 5, [1] * 5), (7, 1, [7])])
def test_equal_shards(tmp_path, count, shards, sizes):
    folder_of(tmp_path / "in", count)
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--shards", str(shards), "--shuffle")
    made = [len(np.load(path)) for path in sorted((tmp_path / "out").glob("*.index.npy"))]
    assert made == sizes
    assert b"nothing was done" in run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--shards", str(shards), "--shuffle").stdout


def test_equal_shards_of_parts(tmp_path):
    folder_of(tmp_path / "in", 16)
    parts = [tmp_path / f"p{n}" for n in range(2)]
    for n, part in enumerate(parts):
        shale.convert(tmp_path / "in", part, "record", shards=4, parts=(n, 2))
    run_shale("merge", *parts, tmp_path / "all")
    assert [len(np.load(path)) for path in sorted((tmp_path / "all").glob("*.index.npy"))] == [4] * 4
    assert b"multiple of 2" in run_shale("convert", tmp_path / "in", tmp_path / "q", "--to", "record", "--shards", "3", "--part", "0/2", code=2).stderr


def test_shards_that_cannot_be_are_refused(tmp_path):
    folder_of(tmp_path / "in", 10)
    words = ("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--shards")
    assert b"pass --shards 5" in run_shale(*words, "6", code=2).stderr
    assert b"exclude each other" in run_shale(*words, "2", "--shard-samples", "3", code=2).stderr
    assert b"--shards 0" in run_shale(*words, "0", code=2).stderr
    assert b"--shards" in run_shale("convert", tmp_path / "in", tmp_path / "x.lmdb", "--shards", "2", code=2).stderr


@pytest.mark.parametrize("patterns", [CARVANA, CITYSCAPES])
def test_info_offers_the_patterns(tmp_path, patterns):
    ends = (".jpg", "_mask.png") if patterns == CARVANA else ("_leftImg8bit.png", "_gtFine_labelIds.png")
    tops = ("", "") if patterns == CARVANA else ("leftImg8bit/a/", "gtFine/a/")
    written(tmp_path / "in", [f"{top}{n}{end}" for n in "abc" for top, end in zip(tops, ends)])
    said = run_shale("info", tmp_path / "in")
    assert f"--pairs '{patterns}'".encode() in said.stdout + said.stderr
    written(tmp_path / "plain", [f"{n}.jpg" for n in "abc"])
    said = run_shale("info", tmp_path / "plain")
    assert b"--pairs" not in said.stdout + said.stderr


def test_shards_of_a_stream_and_behind_a_dataset_are_refused(tmp_path):
    folder_of(tmp_path / "in", 4)
    with tarfile.open(tmp_path / "in.tgz", "w:gz") as archive:
        archive.add(tmp_path / "in", ".")
    (tmp_path / "names").write_text("0\n1\n")
    words = ("--to", "record", "--shards", "2")
    refused = run_shale("convert", tmp_path / "in.tgz", tmp_path / "out", *words, "--classes-from", tmp_path / "names", code=2).stderr
    assert b"known at its end" in refused and b"--shard-samples" in refused
    run_shale("convert", tmp_path / "in", tmp_path / "out", *words)
    assert b"--shards with --append" in run_shale("convert", tmp_path / "in", tmp_path / "out", *words, "--append", code=2).stderr
