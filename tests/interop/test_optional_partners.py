"""Folders that are joined with --partners any: an image without a file in the other folder is a sample that lacks the field."""

import io
import json

import pytest
import shale
from conftest import jpeg, run_shale, write
from PIL import Image


def mask(size):
    file = io.BytesIO()
    Image.new("L", size, 1).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(name="folders")
def folders_fixture(tmp_path):
    for number in range(6):
        content = jpeg(number)
        write(tmp_path / "photos", f"{'cat' if number < 3 else 'dog'}/{number}.jpg", content)
        if number % 2 == 0:
            write(tmp_path / "masks", f"{'cat' if number < 3 else 'dog'}/{number}.png", mask(Image.open(io.BytesIO(content)).size))
    return [f"image={tmp_path}/photos", f"mask={tmp_path}/masks"]


def against(option, folders):
    return [word for folder in folders for word in (option, folder)]


@pytest.mark.parametrize("options", [(), ("--resize", "exact=8x8"), ("--shuffle",), ("--fields", "image,mask")], ids=str)
def test_a_sample_without_partner_lacks_the_field(tmp_path, folders, options):
    out = tmp_path / "out"
    run_shale("convert", *folders, out, "--to", "record", "--partners", "any", *options)
    assert json.loads((out / "dataset.json").read_text())["options"]["folders"] == "image,mask?"
    with shale.Dataset(out) as dataset:
        assert dataset.types["mask"] == "bytes?" and len(dataset) == 6
        for sample in dataset:
            assert (sample["mask"] is None) == (int(sample["key"].split("/")[1][0]) % 2 == 1)
    run_shale("convert", *folders, out, "--to", "record", "--partners", "any", *options)  # is complete
    assert b"the source holds the same samples" in run_shale("verify", out, *against("--against", folders)).stdout
    shard = out / "shard-000000.tfrecord"
    before = shard.read_bytes()
    shard.write_bytes(before[:-9] + bytes(9))
    run_shale("repair", out, *against("--from", folders))
    assert shard.read_bytes() == before


@pytest.mark.parametrize("to", ["record", "hdf5"])
def test_pixels_of_images_that_some_samples_lack(tmp_path, folders, to):
    """Of a folder alone, too: these ended with a crash."""
    work = ("--encode", "raw", "--resize", "exact=8x8")
    for inputs, options in ((folders, ("--partners", "any", "--drop", "label")), ([tmp_path / "photos"], ("--pairs", "on", "--drop", "label"))):
        out = tmp_path / f"out{len(inputs)}"
        for number in (0, 2) if len(inputs) == 1 else ():
            write(tmp_path / "photos", f"cat/{number}.mask", (tmp_path / f"masks/cat/{number}.png").read_bytes())
        run_shale("convert", *inputs, out, "--to", to, *work, *options)
        with shale.Dataset(out) as dataset:
            assert dataset.types == {"image": "uint8 (8, 8, 3)", "mask": "uint8 (8, 8)?"}
            lacking = [sample["mask"] is None for sample in dataset]
            assert lacking == [number % 2 == 1 if len(inputs) == 2 else number not in (0, 2) for number in range(6)]
            assert all(sample["mask"] is None or sample["mask"].max() == 1 for sample in dataset)
        words = against("--against", inputs) if len(inputs) == 2 else ["--against", inputs[0]]
        assert b"the source holds the same samples" in run_shale("verify", out, "--deep", *words).stdout


def test_a_partner_that_comes_or_goes_is_a_difference(tmp_path, folders):
    run_shale("convert", *folders, tmp_path / "out", "--to", "lmdb", "--partners", "any")
    write(tmp_path / "masks", "cat/1.png", mask((4, 4)))
    (tmp_path / "masks/cat/0.png").unlink()
    told = run_shale("verify", tmp_path / "out", *against("--against", folders), code=3).stderr.decode()
    assert "sample 'cat/1.jpg': field 'mask': value differs from the source: found absent, expected" in told
    assert "sample 'cat/0.jpg': field 'mask': value differs from the source: found" in told and "expected absent" in told


def test_without_the_option_it_is_bad_content_and_other_inputs_refuse_it(tmp_path, folders):
    run_shale("convert", *folders, tmp_path / "out", "--to", "record", code=4)
    assert b"missing-partner" in (tmp_path / "out/skipped.csv").read_bytes()
    told = run_shale("convert", *folders, tmp_path / "out", "--to", "record", "--partners", "any", code=1).stderr
    assert b"folders: image,mask before, image,mask? now" in told
    assert b"--partners" in run_shale("convert", tmp_path / "photos", tmp_path / "no", "--to", "record", "--partners", "any", code=2).stderr
    assert b"cannot hold field 'mask', which some samples lack" in run_shale("convert", *folders, tmp_path / "x.npz", "--partners", "any", "--encode", "raw", "--resize", "exact=8x8", code=1).stderr
