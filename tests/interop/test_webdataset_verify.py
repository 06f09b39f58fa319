"""What verify says of WebDataset tars of other tools: their images, the folder that they were made of, sums, a part of their blocks."""

import gzip
import hashlib
import json
import subprocess

import pytest
from conftest import jpeg, run_shale, write

COUNT, BAD = 12, "000000008"


@pytest.fixture
def unpacked(tmp_path):
    """Images with captions and metadata, as img2dataset stores them."""
    for number in range(COUNT):
        for suffix, content in (("jpg", jpeg(number)), ("txt", b"caption %d" % number), ("json", b'{"n": %d}' % number)):
            write(tmp_path, f"unpacked/{number:09d}.{suffix}", content)
    return tmp_path / "unpacked"


@pytest.fixture
def tars(unpacked):
    """Two tars of GNU tar."""
    folder = unpacked.parent / "tars"
    folder.mkdir()
    for shard in range(2):
        names = sorted(path.name for path in unpacked.iterdir() if int(path.stem) // 6 == shard)
        subprocess.run(["tar", "--create", "--file", folder / f"{shard:05d}.tar", "--directory", unpacked, *names], check=True)
    return folder


def blank_image(tars):
    """The pixels of an image become zeros; its header stays."""
    path = tars / "00001.tar"
    content = bytearray(path.read_bytes())
    begin = content.index(BAD.encode() + b".jpg") + 512
    size = len(jpeg(int(BAD)))
    content[begin + 20 : begin + size - 2] = bytes(size - 22)
    path.write_bytes(content)


def verified(*words, code=0):
    return run_shale("verify", *words, code=code).stdout.decode()


@pytest.mark.parametrize("path", ["tars", "tars/00001.tar"])
def test_deep_decodes_the_images(tars, path):
    assert "the images decode (other payload not checked)" in verified(tars.parent / path, "--deep")
    blank_image(tars)
    facts = json.loads(verified(tars.parent / path, "--deep", "--json", code=3))
    (finding,) = facts["first_findings"]
    assert finding["key"] == BAD and finding["field"] == "image" and finding["message"].startswith("the image is bad")
    assert "structure is intact" in verified(tars.parent / path)


def test_deep_with_an_index_says_that_the_file_is_as_it_was(tars):
    blank_image(tars)
    run_shale("index", tars, "--crc")
    facts = json.loads(verified(tars, "--deep", "--json", code=4))
    assert facts["bad_when_written"] == facts["findings"] == 1


@pytest.mark.parametrize("path", ["tars", "tars/00001.tar"])
@pytest.mark.parametrize("is_indexed", [False, True])
def test_against_the_folder_that_they_were_made_of(tars, unpacked, path, is_indexed):
    if is_indexed:
        run_shale("index", tars.parent / path, "--crc")
    source = unpacked
    if path != "tars":
        source = tars.parent / "half"
        source.mkdir()
        subprocess.run(["tar", "--extract", "--file", tars.parent / path, "--directory", source], check=True)
    assert "the source holds the same samples" in verified(tars.parent / path, "--against", source)
    with open(source / f"{BAD}.txt", "a") as file:
        file.write("x")
    (source / "000000007.jpg").unlink()
    findings = json.loads(verified(tars.parent / path, "--against", source, "--json", code=3))["first_findings"]
    assert {(finding["key"], finding.get("field") or "") for finding in findings} == {(BAD, "txt"), ("000000007", "")}


def test_an_image_in_the_tar_that_differs_from_the_folder(tars, unpacked):
    blank_image(tars)
    (finding,) = json.loads(verified(tars, "--against", unpacked, "--json", code=3))["first_findings"]
    assert finding["key"] == BAD and finding["field"] == "image"


@pytest.mark.parametrize("word", ["00001.tar.gz", "0000{0..1}.tar.gz", "*.tar.gz", "."])
def test_compressed_tars_are_compared(tars, unpacked, word):
    run_shale("convert", tars, tars.parent / "out", "--to", "record", "--quiet")
    subprocess.run(["gzip", *tars.glob("*.tar")], check=True)
    sources = [tars.parent / "out"] if word == "00001.tar.gz" else [tars.parent / "out", unpacked]
    for source in sources:
        done = run_shale("verify", word, "--against", source, "--json", cwd=tars, code=3 if word == "00001.tar.gz" else 0).stdout
        facts = json.loads(done)
        if word == "00001.tar.gz":  # half of the samples
            assert facts["samples"] == COUNT // 2 and facts["comparison"]["not_in_dataset"] == COUNT // 2
        else:
            assert facts["samples"] == COUNT and facts["findings"] == 0
    with open(unpacked / f"{BAD}.txt", "a") as file:
        file.write("x")
    findings = json.loads(run_shale("verify", word, "--against", unpacked, "--json", cwd=tars, code=3).stdout)["first_findings"]
    assert (BAD, "txt") in {(finding["key"], finding.get("field")) for finding in findings}


def test_a_tar_on_stdin_is_compared_with_all_its_fields(tars):
    path = tars / "00001.tar"
    content = path.read_bytes()
    run_shale("convert", path, tars.parent / "out", "--to", "record", "--quiet")
    changed = content.replace(b"caption 8", b"caption 9")
    for dataset in (path, tars.parent / "out"):
        for packed in (content, gzip.compress(content)):
            assert b"the source holds the same samples" in run_shale("verify", dataset, "--against", "-", stdin=packed).stdout
        (finding,) = json.loads(run_shale("verify", dataset, "--against", "-", "--json", stdin=changed, code=3).stdout)["first_findings"]
        assert finding["key"] == BAD and finding["field"] == "txt"


def test_sums_and_parts(tars):
    lines = verified(tars, "--export", "sha256sum").splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert sums == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in tars.glob("*.tar")}
    error = run_shale("verify", tars, "--sample", "0/2", code=1).stderr.decode()
    assert "has no lists of blocks" in error and "--crc" in error
    run_shale("index", tars, "--crc")
    for part in range(2):
        assert f"part {part}/2" in verified(tars, "--sample", f"{part}/2")
    blank_image(tars)
    verified(tars, code=3)
