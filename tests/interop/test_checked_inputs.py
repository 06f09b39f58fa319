"""Folders and archives before they are converted: info, ls, cat, verify and report say what a conversion then finds."""

import io
import json
import os
import shlex
import subprocess
import tarfile
import zipfile

import numpy as np
import pytest
from conftest import SHALE, run_shale
from PIL import Image
from test_json_schema import printed


def jpeg(seed=0, size=(64, 48), kind="JPEG"):
    image = Image.new("RGB", size)
    image.putdata([((x * 9 + seed * 31) % 256, (x * 5) % 256, (seed * 7 + x) % 256) for x in range(size[0] * size[1])])
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def photos(tmp_path):
    for i, name in enumerate(("cats/1.jpg", "cats/2.jpg", "cats/deep/3.jpg", "dogs/4.jpg")):
        put(tmp_path / "photos" / name, jpeg(i))
    put(tmp_path / "photos/dogs/5.png", jpeg(5, kind="PNG"))
    put(tmp_path / "photos/dogs/notes.txt", "not a sample")
    return tmp_path / "photos"


@pytest.fixture(params=["folder", "archive", "zip"])
def either(photos, request):
    if request.param == "folder":
        return photos
    if request.param == "zip":
        with zipfile.ZipFile(photos.parent / "photos.zip", "w") as archive:
            for path in sorted(photos.rglob("*.*")):
                archive.write(path, path.relative_to(photos))
        return photos.parent / "photos.zip"
    with tarfile.open(photos.parent / "photos.tar", "w") as tar:
        tar.add(photos, arcname=".")
    return photos.parent / "photos.tar"


def test_info_counts_what_a_conversion_writes(either, tmp_path):
    said = printed("info_input", "info", either)
    run_shale("convert", either, tmp_path / "out", "--to", "record")
    made = printed("info", "info", tmp_path / "out")
    assert (
        (said["samples"], said["class_names"], said["ignored"])
        == (made["samples"], made["class_names"], made["ignored"])
        == (5, ["cats", "dogs"], 1)
    )
    assert said["class_samples"] == [3, 2] and said["files"] == {".jpg": 4, ".png": 1} and said["bytes"] == made["bytes"]
    assert said["images"]["types"] == made["images"]["types"] and "refusal" not in said and said["bad"] == 0


def test_info_and_verify_read_a_compressed_archive_once(photos, tmp_path):
    with tarfile.open(tmp_path / "photos.tgz", "w:gz") as tar:
        tar.add(photos, arcname=".")
    said = printed("info_input", "info", tmp_path / "photos.tgz")
    assert (said["samples"], said["ignored"], said["images"]["types"]) == (5, 1, {"jpeg": 4, "png": 1})
    assert b"5 samples" in run_shale("verify", tmp_path / "photos.tgz").stdout
    refused = run_shale("ls", tmp_path / "photos.tgz", code=1).stderr
    assert b"is a stream" in refused and b"convert it" in refused


def test_info_of_a_compressed_archive_names_its_classes_and_what_a_conversion_needs(photos, tmp_path):
    archive, out = tmp_path / "photos.tgz", tmp_path / "out"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(photos, arcname=".")
    said = printed("info_input", "info", archive)
    assert (said["input_kind"], said["class_names"], said["class_samples"]) == ("image folder", ["cats", "dogs"], [3, 2])
    assert "--classes-from" in said["refusal"]["hint"] and b"next:" not in run_shale("info", archive).stdout
    assert said["refusal"]["message"] in run_shale("convert", archive, out, "--to", "record", code=2).stderr.decode()
    put(tmp_path / "classes.txt", "cats\ndogs\n")
    run_shale("convert", archive, out, "--to", "record", "--classes-from", tmp_path / "classes.txt")
    put(tmp_path / "numbers/7/1.jpg", jpeg())
    for folder, code in ((photos / "dogs", 1), (tmp_path / "numbers", 0)):  # a flat one; classes that are numbers
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(folder, arcname=".")
        told = run_shale("info", archive).stdout.decode()
        run_shale("convert", archive, tmp_path / f"out{code}", "--to", "record", code=code)
        assert ("next:" in told) == (code == 0) and ("--labels FILE" in told) == (code == 1)


def test_ls_and_cat_are_those_of_the_dataset(either, photos, tmp_path):
    run_shale("convert", either, tmp_path / "out", "--to", "record")
    assert run_shale("ls", either, "--tsv").stdout == run_shale("ls", tmp_path / "out", "--tsv").stdout
    for row in range(5):
        assert run_shale("cat", either, str(row)).stdout == run_shale("cat", tmp_path / "out", str(row)).stdout
    assert run_shale("cat", either, "--key", "cats/deep/3.jpg").stdout == (photos / "cats/deep/3.jpg").read_bytes()
    assert run_shale("cat", either, "3", "--field", "label").stdout == b"1\n"
    assert b"no row 5" in run_shale("cat", either, "5", code=1).stderr


def broken(photos):
    """Names of what is bad by its beginning and end, and of what only decoding finds."""
    put(photos / "cats/cut.jpg", jpeg(9)[:-200])
    put(photos / "dogs/empty.jpg", b"")
    put(photos / "dogs/page.png", "<html>404</html>")
    middle = bytearray(jpeg(3))
    middle[len(middle) // 2 : len(middle) // 2 + 60] = b"\xff\xd9" * 30
    put(photos / "dogs/short.jpg", bytes(middle))
    return ["cats/cut.jpg", "dogs/empty.jpg", "dogs/page.png"], ["dogs/short.jpg"]


@pytest.mark.parametrize("jobs", [1, 3])
def test_verify_names_what_a_conversion_skips_and_deep_what_does_not_decode(photos, tmp_path, jobs):
    bad, undecodable = broken(photos)
    run_shale("convert", photos, tmp_path / "out", "--to", "record", "--max-errors", "99%", code=4)
    assert sorted(line.split(",")[0] for line in (tmp_path / "out/skipped.csv").read_text().splitlines()[1:]) == bad
    for words, names in (([], bad), (["--deep"], sorted(bad + undecodable))):
        told = printed("verify_input", "verify", photos, "--jobs", str(jobs), *words, code=3)
        assert [one["key"] for one in told["first_findings"]] == names and told["findings"] == len(names) and not told["ok"]
        stderr = run_shale("verify", photos, "--jobs", str(jobs), *words, code=3).stderr.decode()
        assert [line.split(": ")[0] for line in stderr.splitlines() if not line.startswith("hint")] == [
            f"{photos}/{name}" for name in names
        ]


def test_verify_of_a_sound_folder_and_of_splits(either, photos, tmp_path):
    told = printed("verify_input", "verify", either, "--deep")
    assert told["ok"] and told["samples"] == 5 and told["undecoded"] == 0
    (tmp_path / "sets").mkdir()
    for name in ("train", "val"):
        os.symlink(photos, tmp_path / "sets" / name)
    assert printed("verify_input", "verify", tmp_path / "sets")["samples"] == 10
    assert {name: one["samples"] for name, one in printed("info_splits", "info", tmp_path / "sets")["splits"].items()} == {
        "train": 5,
        "val": 5,
    }


def test_pictures_that_are_not_taken_are_said_to_be_missing(photos):
    put(photos / "cats/6.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100))
    assert "heic" in printed("info_input", "info", photos)["left_out"]
    assert "heic" in printed("verify_input", "verify", photos, code=4)["notes"][-1]


def test_what_a_conversion_refuses_is_said_with_the_rest(photos):
    (photos / "empty").mkdir()
    said = printed("info_input", "info", photos)
    assert "class 'empty' has no images" in said["refusal"]["message"] and said["class_samples"] == [3, 2, 0]
    assert b"next:" not in run_shale("info", photos).stdout and run_shale("verify", photos).returncode == 0


def test_the_command_for_each_list_of_labels_that_is_seen_works(tmp_path):
    for i in range(3):
        put(tmp_path / f"flat/{i}.jpg", jpeg(i))
    put(tmp_path / "labels.csv", "path,label\n" + "".join(f"{i}.jpg,{'ab'[i % 2]}\n" for i in range(3)))
    put(tmp_path / "flat/val.txt", "".join(f"{i}.jpg {i}\n" for i in range(3)))
    put(tmp_path / "flat/other.csv", "path,label\nx.jpg,a\n")
    put(tmp_path / "flat/read.txt", "nothing about labels\n")
    said = printed("info_input", "info", "flat", cwd=tmp_path)
    assert said["classes"] == 0 and "no class folders" in said["refusal"]["message"]
    seen = {one["file"]: one for one in said["labels"]}
    assert set(seen) == {"flat/other.csv", "flat/val.txt", "labels.csv"} and "command" not in seen["flat/other.csv"]
    for i, name in enumerate(("flat/val.txt", "labels.csv")):
        words = shlex.split(seen[name]["command"])
        words[words.index("out")] = f"out{i}"
        assert seen[name]["samples"] == 3
        subprocess.run([SHALE, *words[1:]], check=True, cwd=tmp_path, capture_output=True)
        assert json.loads(run_shale("info", tmp_path / f"out{i}", "--json").stdout)["samples"] == 3


def test_a_list_of_labels_that_needs_options_is_shown_with_them(tmp_path):
    for i in range(3):
        put(tmp_path / f"flat/{i}.jpg", jpeg(i))
    put(tmp_path / "flat/labels.csv", "id,breed\n0,a\n1,b\n2,a\n")
    said = run_shale("info", tmp_path / "flat").stdout
    assert b"labels.csv: not used: row 1 looks like a header" in said and b"pass --key-column 'id' --label-column 'breed'" in said
    told = run_shale("verify", tmp_path / "flat", "--sample", "50%", code=2).stderr
    assert b"--sample reads a part of the blocks of a dataset" in told


def test_a_report_shows_the_samples_before_they_are_packed(either, tmp_path):
    facts = json.loads(run_shale("report", either, "--json", "-o", tmp_path / "r.html").stdout)
    assert facts["samples"] == 5 and facts["classes"] and facts["format"] == "image folder"
    assert facts["images"]["types"] and not facts["damaged"] and (tmp_path / "r.html").stat().st_size > 10_000


def test_what_says_which_files_are_samples_is_taken_as_by_convert(tmp_path):
    arrays, empty = tmp_path / "arrays", tmp_path / "empty"
    for i, name in enumerate(("a/0.npy", "a/1.npy", "b/0.npy")):
        (arrays / name).parent.mkdir(parents=True, exist_ok=True)
        np.save(arrays / name, np.full((2, 3), i, "f4"))
        put(empty / name.replace(".npy", ".jpg"), jpeg(i))
    (empty / "none").mkdir()
    assert b"--ext npy" in run_shale("info", arrays, code=1).stderr
    said = printed("info_input", "info", arrays, "--ext", "npy")
    assert (said["samples"], said["class_names"], said["files"]) == (3, ["a", "b"], {".npy": 3})
    assert f"next: shale convert --ext npy {arrays} out --to record" in run_shale("info", arrays, "--ext", "npy").stdout.decode()
    for folder, option in ((arrays, ("--ext", "npy")), (empty, ("--allow-empty",))):
        run_shale("convert", folder, tmp_path / "out", "--to", "record", *option, "--overwrite")
        made = printed("ls", "ls", tmp_path / "out")
        assert [row["key"] for row in printed("ls", "ls", folder, *option)["rows"]] == [row["key"] for row in made["rows"]]
        assert run_shale("cat", folder, "2", *option).stdout == run_shale("cat", tmp_path / "out", "2").stdout
        assert b"3 samples" in run_shale("verify", folder, *option).stdout
        assert json.loads(run_shale("report", folder, "--json", *option).stdout)["samples"] == 3
    refused = run_shale("info", tmp_path / "out", "--allow-empty", code=2).stderr
    assert b"--allow-empty is for a folder or an archive that is not converted yet" in refused


def test_labels_of_a_flat_folder_are_shown_before_it_is_converted(tmp_path):
    for i in range(3):
        put(tmp_path / f"flat/{i}.jpg", jpeg(i))
    put(tmp_path / "l.csv", "0.jpg,dog\n1.jpg,cat\n2.jpg,dog\n")
    put(tmp_path / "cut.csv", "0.jpg,dog,5\n1.jpg,cat,6\n2.jpg,dog,7\n")
    flat = tmp_path / "flat"
    assert b"--labels FILE" in run_shale("ls", flat, code=1).stderr
    with_labels = ("--labels", tmp_path / "l.csv")
    assert [row["class"] for row in printed("ls", "ls", flat, *with_labels)["rows"]] == ["dog", "cat", "dog"]
    assert run_shale("cat", flat, "1", "--field", "label", *with_labels).stdout == b"0\n"
    assert printed("info_input", "info", flat, *with_labels)["class_samples"] == [1, 2]
    assert json.loads(run_shale("report", flat, "--json", *with_labels).stdout)["classes"] is not None
    assert [row["key"] for row in printed("ls", "ls", flat, "--labels", "none")["rows"]] == ["0.jpg", "1.jpg", "2.jpg"]
    assert (
        run_shale("cat", flat, "1", "--field", "label", "--labels", tmp_path / "cut.csv", "--key-column", "1", "--label-column", "3").stdout
        == b"6\n"
    )
    assert b"needs --labels" in run_shale("ls", flat, "--label-column", "3", code=2).stderr


def test_one_image_is_named_as_such(photos, tmp_path):
    for name in ("cats/1.jpg", "dogs/5.png"):
        for words in (("info", photos / name), ("convert", photos / name, tmp_path / "out", "--to", "record")):
            told = run_shale(*words, code=1).stderr.decode()
            assert "is one image" in told and "pass the folder that it is in" in told and "--raw" not in told


def test_other_folders_are_refused_as_before(tmp_path):
    put(tmp_path / "other/notes.txt", "nothing")
    for words in (["info", "other"], ["verify", "other"], ["ls", "other"]):
        assert b"holds no images" in run_shale(*words, code=1, cwd=tmp_path).stderr
    (tmp_path / "none").mkdir()
    assert b"is neither a shale dataset" in run_shale("info", "none", code=1, cwd=tmp_path).stderr


def test_a_plan_says_what_is_in_the_folder_and_leaves_nothing(photos, tmp_path):
    told = run_shale("convert", photos, tmp_path / "out", "--to", "record", "--dry-run").stdout.decode()
    assert "classes  2 classes: cats 3, dogs 2" in told and "files    4 .jpg, 1 .png" in told and "notes.txt" in told
    assert not (tmp_path / "out").exists()
