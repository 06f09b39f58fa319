"""Stock readers of tar shards read what shale writes, every sample equal: webdataset, wids, tarfile, GNU tar, bsdtar."""

import io
import json
import math
import shutil
import subprocess
import tarfile

import numpy as np
import pytest
from conftest import SHALE
from dataset_reading import manifest_of, samples_of
from PIL import Image

ODD_KEYS = ["a.b/c.d", "with blank", "h\xe9llo", "100%", "__x__", "/lead", "a//b", "..", "x.JPEG", "long" * 40]


@pytest.fixture(scope="session")
def shards(photos, shale, tmp_path_factory):
    out = tmp_path_factory.mktemp("tars") / "out"
    shale("convert", photos, out, "--to", "webdataset", "--shard-samples", "25", "--verify")
    return out


def files_of(dataset):
    return [str(dataset / file["name"]) for shard in manifest_of(dataset)["shards"] for file in shard["files"]]


def expected(dataset):
    """(key in the tar, image, label) of each sample, from shale's own index."""
    return [(sample.key.decode().removesuffix(".JPEG"), sample.image, sample.label) for sample in samples_of(dataset)]


def test_webdataset_reads_every_sample(shards):
    import webdataset

    read = webdataset.WebDataset(files_of(shards), shardshuffle=False)
    assert [(s["__key__"], s["jpg"], int(s["cls"])) for s in read] == expected(shards)
    pairs = webdataset.WebDataset(files_of(shards), shardshuffle=False).decode("pil").to_tuple("jpg", "cls")
    for (picture, label), (_, image, wanted) in zip(pairs, expected(shards), strict=True):
        assert label == wanted
        assert np.array_equal(np.asarray(picture), np.asarray(Image.open(io.BytesIO(image)).convert("RGB")))


def test_webdataset_takes_a_brace_pattern(shards):
    import webdataset

    pattern = str(shards / "shard-{000000..000002}.tar")
    assert sum(1 for _ in webdataset.WebDataset(pattern, shardshuffle=False)) == 61


def test_wids_reads_every_sample(shards, tmp_path):
    import wids

    index = {"__kind__": "wids-shard-index-v1", "wids_version": 1, "name": "x", "shardlist": [{"url": path, "nsamples": shard["samples"]} for path, shard in zip(files_of(shards), manifest_of(shards)["shards"], strict=True)]}
    (tmp_path / "index.json").write_text(json.dumps(index))
    read = wids.ShardListDataset(str(tmp_path / "index.json"), transformations=[], keep=True)
    assert len(read) == 61
    for i, (key, image, label) in enumerate(expected(shards)):
        sample = read[i]
        assert (sample["__key__"], sample[".jpg"].read(), int(sample[".cls"].read())) == (key, image, label)


def members_of_tarfile(path):
    with tarfile.open(path) as tar:
        assert all(member.isreg() for member in tar)
        return {member.name: tar.extractfile(member).read() for member in tar}


def wanted_members(dataset):
    return {f"{key}.{suffix}": data for key, image, label in expected(dataset) for suffix, data in (("jpg", image), ("cls", str(label).encode()))}


def test_tarfile_reads_every_member(shards):
    found = {}
    for path in files_of(shards):
        found |= members_of_tarfile(path)
    assert found == wanted_members(shards)


@pytest.mark.parametrize("program", ["tar", "bsdtar"])
def test_tar_programs_unpack_every_member(program, shards, tmp_path):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    for path in files_of(shards):
        done = subprocess.run([program, "-xf", path, "-C", tmp_path], capture_output=True, check=True)
        assert done.stderr == b""
    found = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == wanted_members(shards)


def test_stdout_is_one_archive(photos, shards, shale, tmp_path):
    done = subprocess.run([SHALE, "convert", photos, "-", "--to", "webdataset"], capture_output=True, check=True)
    shale("convert", photos, tmp_path / "one.tar")
    assert done.stdout == (tmp_path / "one.tar").read_bytes()
    assert b"wrote 61 samples of webdataset to stdout" in done.stderr
    listed = subprocess.run(["tar", "-tf", "-"], input=done.stdout, capture_output=True, check=True)
    assert sorted(listed.stdout.decode().split()) == sorted(wanted_members(shards))
    with open(tmp_path / "redirected.tar", "wb") as file:
        subprocess.run([SHALE, "convert", photos, "-", "--to", "wds", "--quiet"], stdout=file, check=True)
    assert (tmp_path / "redirected.tar").read_bytes() == done.stdout


def test_two_names_that_readers_take_for_one_are_refused(photos, shale, tmp_path):
    jpeg = next((photos / "n00").iterdir())
    for name in ("a.jpg", "a.jpeg"):
        (tmp_path / "in/c").mkdir(parents=True, exist_ok=True)
        shutil.copy(jpeg, tmp_path / "in/c" / name)
    done = subprocess.run([SHALE, "convert", tmp_path / "in", tmp_path / "out", "--to", "webdataset"], capture_output=True)
    assert done.returncode == 1
    assert b"c/a.jpeg" in done.stderr and b"c/a.jpg" in done.stderr and b"--layout whole-keys" in done.stderr
    shale("convert", tmp_path / "in", tmp_path / "kept", "--to", "webdataset", "--layout", "whole-keys")
    assert set(members_of_tarfile(tmp_path / "kept/shard-000000.tar")) == {"c/a%2Ejpg.jpg", "c/a%2Ejpg.cls", "c/a%2Ejpeg.jpg", "c/a%2Ejpeg.cls"}


def test_every_kind_of_field_comes_back_decoded(tmp_path):
    import shale
    import webdataset

    boxes = np.arange(8, dtype=np.float32).reshape(2, 4)
    schema = {"image": "bytes", "label": "integer", "text": "text", "meta": "json", "score": "real", "boxes": "float32 (?, 4)", "frames": "list"}
    numbers = [0.1, -0.0, 1.0, 1e22, math.inf, -math.inf, math.nan, 5e-324, 0.30000000000000004, -3.0]
    with shale.Writer(tmp_path / "out", to="webdataset", schema=schema) as writer:
        for i, key in enumerate(ODD_KEYS):
            frames = [b"\xff\xd8\xff" + bytes([i]), b"raw"][: i % 3]
            writer.write(
                {"key": key, "image": b"\x89PNG\r\n\x1a\n" + bytes(i), "label": -i, "text": f"h\xe9 {i}"}
                | {"meta": json.dumps({"i": i}), "score": numbers[i], "boxes": boxes + i, "frames": frames}
            )
    assert subprocess.run([SHALE, "verify", tmp_path / "out", "--deep"]).returncode == 0
    read = list(webdataset.WebDataset(files_of(tmp_path / "out"), shardshuffle=False).decode())
    assert len(read) == len(ODD_KEYS) and len({sample["__key__"] for sample in read}) == len(ODD_KEYS)
    for i, sample in enumerate(read):
        assert sample["png"] == b"\x89PNG\r\n\x1a\n" + bytes(i)
        assert (sample["cls"], sample["txt"], sample["meta.json"]) == (-i, f"h\xe9 {i}", {"i": i})
        assert repr(float(sample["score.json"])) == repr(numbers[i])
        assert np.array_equal(sample["boxes.npy"], boxes + i)
        assert [name for name in sorted(sample) if name.startswith("frames.")] == [["frames.list"], ["frames.00000.jpg"], ["frames.00000.jpg", "frames.00001.bin"]][i % 3]
    dataset = shale.Dataset(tmp_path / "out")
    assert [dataset[i]["key"] for i in range(len(dataset))] == [key.encode() for key in ODD_KEYS] or [dataset[i]["key"] for i in range(len(dataset))] == ODD_KEYS


def test_what_a_tar_cannot_hold_is_refused(tmp_path):
    import shale

    with pytest.raises(shale.Error, match="differ only in case") as refused:
        shale.Writer(tmp_path / "case", to="webdataset", schema={"A": "bytes", "a": "bytes"})
    assert "--rename" in refused.value.hint or "rename" in refused.value.hint
    with pytest.raises(shale.Error, match="the name of a member has 5004 bytes"), shale.Writer(tmp_path / "long", to="webdataset", schema={"x": "bytes"}) as writer:
        writer.write({"key": "k" * 4998, "x": b""})


def test_datasets_of_hugging_face_reads_every_sample(shards):
    datasets = pytest.importorskip("datasets")

    read = datasets.load_dataset("webdataset", data_files=files_of(shards), split="train", streaming=True)
    assert [(s["__key__"], s["cls"]) for s in read.remove_columns("jpg")] == [(key, label) for key, _, label in expected(shards)]
