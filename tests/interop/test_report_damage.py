"""`shale report` of what is damaged: no list and no checksum is believed unproved, and one cause is one finding."""

import os
import pathlib
import shutil
import sys

import foreign_files
import numpy as np
import pytest
from conftest import jpeg, run_shale, write
from PIL import Image
from report_facts import facts_of, flip, sheets

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from manifests import reseal_shards

LISTS = ["skipped.csv", "ignored.csv", "images.csv", "duplicates.csv"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A dataset with a row or more in each of its lists."""
    folder = tmp_path_factory.mktemp("lists")
    for number in range(6):
        write(folder, f"photos/a/{number}.jpg", jpeg(number))
    write(folder, "photos/a/again.jpg", jpeg(0))
    write(folder, "photos/a/empty.jpg", b"")
    write(folder, "photos/a/notes.txt", b"x")
    Image.new("L", (8, 6)).save(folder / "photos/a/gray.png")
    # Odd in two ways: a PNG that says it is a JPEG, and gray.
    Image.new("L", (9, 6)).save(folder / "photos/a/wrong.png")
    os.rename(folder / "photos/a/wrong.png", folder / "photos/a/wrong.jpg")
    run_shale("convert", folder / "photos", folder / "out", "--to", "record", code=4)
    assert all((folder / "out" / name).exists() for name in LISTS)
    return folder / "out"


DAMAGE = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: os.truncate(path, 0),
    "short by a row": lambda path: path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:-1])),
    "short by a byte": lambda path: os.truncate(path, path.stat().st_size - 1),
    "changed": lambda path: flip(path, path.stat().st_size - 2),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"a/other.jpg,gray,png,8,6,gray\n"),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("how", DAMAGE)
def test_a_list_that_is_not_what_the_manifest_says_is_not_believed(whole, name, how, tmp_path):
    before = facts_of(whole)
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    DAMAGE[how](out / name)
    run_shale("verify", out, code=3)
    run_shale("report", out, "-o", tmp_path / "page.html", code=3)
    page = (tmp_path / "page.html").read_text()
    assert f"{name}</bdi></code>: nothing that it lists is shown" in page
    facts = facts_of(out, code=3)
    assert [finding["file"] for finding in facts["integrity"]["met"]] == [name]
    assert facts["left_out"]["damaged_lists"] == [name]
    # What it lists is left out, and all the rest is as it was.
    expected = {**before, "damaged": True, "what": before["what"].replace("a complete", "a damaged")}
    left_out = {**before["left_out"], "damaged_lists": [name]}
    if name == "skipped.csv":
        left_out["skipped_by"] = []
        del left_out["skipped_file"]
    if name == "ignored.csv":
        left_out["ignored_by"] = []
        del left_out["ignored_file"]
    if name == "images.csv":
        expected["images"] = {key: value for key, value in before["images"].items() if key != "odd_images"}
        expected["sheets"] = [sheet for sheet in before["sheets"] if sheet["kind"] != "odd"]
        assert expected["sheets"] != before["sheets"]
    expected["left_out"] = left_out
    for member in expected:
        if member not in ("path", "integrity", "snippets"):
            assert facts[member] == expected[member], member


def test_odd_images_are_counted_once(whole, tmp_path):
    facts = facts_of(whole)
    kinds = {one["name"]: one["count"] for one in facts["images"]["odd"]}
    assert kinds == {"gray": 2, "wrong-suffix": 1}
    assert facts["images"]["odd_images"] == 2
    (odd,) = sheets(facts, "odd")
    assert odd["of_samples"] == 2 and len(odd["samples"]) == 2
    run_shale("report", whole, "-o", tmp_path / "page.html")
    assert '<h3>Odd images <span class="quiet">2</span></h3>' in (tmp_path / "page.html").read_text()


def test_images_that_were_kept_bad_are_counted_apart(tmp_path):
    for number in range(3):
        write(tmp_path, f"photos/a/{number}.jpg", jpeg(number))
        write(tmp_path, f"photos/a/bad{number}.jpg", jpeg(number)[:200])
    Image.new("L", (8, 6)).save(tmp_path / "photos/a/gray.png")
    run_shale("convert", tmp_path / "photos", tmp_path / "out", "--on-error", "keep", "--to", "record", code=(0, 4))
    facts = facts_of(tmp_path / "out")
    assert facts["images"]["odd_images"] == 4
    assert [sheet["of_samples"] for kind in ("odd", "problem") for sheet in sheets(facts, kind)] == [1, 3]


# ---- one finding per cause ------------------------------------------------------------------------------------------


@pytest.fixture
def shards(photos, tmp_path):
    run_shale("convert", photos, tmp_path / "out", "--to", "record", "--shard-samples", "25")
    return tmp_path / "out"


@pytest.mark.parametrize("name", ["shard-000001.index.npy", "shard-000001.tfrecord"])
@pytest.mark.parametrize("how", ["gone", "empty", "short by a byte", "changed"])
@pytest.mark.parametrize("words", [(), ("--verify",)], ids=str)
def test_one_damaged_file_is_one_finding(shards, name, how, words):
    if how == "changed" and name.endswith("tfrecord"):
        pytest.skip("damage within a file is told for each value that it hits")
    DAMAGE[how](shards / name)
    integrity = facts_of(shards, *words, code=3)["integrity"]
    told = integrity["met"] + integrity.get("first_findings", [])
    assert {finding["file"] for finding in told} == {name}
    if not words:
        assert len(told) == 1
    else:
        assert not integrity["met"], "verify has told it"


def test_a_damaged_value_is_told_once_with_its_key(shards):
    shard = shards / "shard-000000.tfrecord"
    for offset in range(500, shard.stat().st_size, 2000):
        flip(shard, offset)
    met = facts_of(shards, code=3)["integrity"]["met"]
    places = [(finding["file"], finding["byte"]) for finding in met]
    assert len(places) == len(set(places)) > 5
    assert all("sample" in finding for finding in met) and sum("key" in finding for finding in met) > 5, met


# ---- checksums of other tools ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("maker", [foreign_files.record_of_tfrecord, foreign_files.record_by_hand, foreign_files.record_raw])
@pytest.mark.parametrize("indexed", [False, True])
def test_checksums_of_a_tfrecord_file_are_compared(maker, indexed, tmp_path):
    foreign = maker(tmp_path)
    if indexed:
        run_shale("index", foreign.file)
    facts = facts_of(foreign.file, "--verify")
    assert facts["integrity"]["state"] == "sound" and facts["integrity"]["samples"] == len(foreign.samples)
    # A bit in the middle of the last, large payload: only its checksum can tell.
    size = foreign.file.stat().st_size
    flip(foreign.file, size - 5000)
    os.utime(foreign.file)
    if not indexed:  # else the file has changed since
        assert facts_of(foreign.file)["integrity"]["met"] == []
        facts = facts_of(foreign.file, "--verify", code=3)
        (finding,) = facts["integrity"]["first_findings"]
        assert "checksum mismatch in the payload" in finding["message"]


def test_a_file_without_checksums_stays_unproven(tmp_path):
    foreign = foreign_files.lmdb_one_file(tmp_path)
    assert facts_of(foreign.file, "--verify")["integrity"]["state"] == "unproven"


@pytest.mark.parametrize("to", ["record", "lmdb"])
def test_a_sealed_index_that_shortens_a_vector_is_not_drawn_beyond_its_bytes(to, tmp_path):
    np.savez(tmp_path / "in.npz", x=np.ones((20, 1000), "<f4"))
    out = tmp_path / "out"
    run_shale("convert", tmp_path / "in.npz", out, "--to", to)
    path = out / "shard-000000.index.npy"
    index = np.load(path)
    index["x.length"] = 0
    index["x.crc32c"] = 0
    np.save(path, index)
    reseal_shards(out)
    run_shale("report", out, "-o", tmp_path / "x.html")
