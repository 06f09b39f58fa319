"""Classes, labels, order, keys and bytes are those of torchvision.datasets.ImageFolder, however odd the names are."""

import json
import os

import pytest
from conftest import jpeg, write
from dataset_reading import manifest_of, samples_of

ORDER = ["n/b.jpg", "n/a/z.jpg", "n/a-b/y.jpg", "n/a/c/x.jpg", "n/a b/w.jpg", "n/a.b/v.jpg", "n/a0/u.jpg", "n/a!/t.jpg"]
CLASSES = ["n01/a.jpg", "n01-x/a.jpg", "n01 x/a.jpg", "n01.x/a.jpg", "n01/x/a.jpg", "n01-x/y/z/a.jpg", "N01/a.jpg", "10/a.jpg", "9/a.jpg"]
NAMES = ["c/1.jpg", "c/10.jpg", "c/2.jpg", "c/a b.jpg", "c/a  b.jpg", "c/a.b.c.jpg", "c/-.jpg", "c/ .jpg", "c/~.jpg", "c/a'\"`$.jpg", "c/%s{}.jpg", "c/a,b.jpg", "c/back\\slash.jpg"]
SUFFIXES = ["c/a.JPG", "c/b.JPEG", "c/c.Jpeg", "c/d.jpeg", "c/e.jpg", "c/a.jpg", "c/f.jpg.jpg"]
NOT_IMAGES = ["c/a.jpg", "c/README.txt", "c/jpg", "c/a.jpg.txt", "c/a.json", "c/ajpg", "c/Thumbs.db", "top.jpg", "c/a.gif.bak"]
UNICODE = ["caf\u00e9/a.jpg", "cafe\u0301/a.jpg", "\u65e5\u672c/\u732b.jpg", "\U0001f600/\U0001f431.jpg", "z/\uffee.jpg", "z/\U00010000.jpg", "z/\u00df.jpg"]
CONTROL = ["line\nbreak/a\nb.jpg", "line\nbreak/a\tb.jpg", "tab\tbed/\x01.jpg", "cr\rx/a.jpg", "del\x7f/a.jpg"]
LONG = ["c/" + "x" * 251 + ".jpg", "c/" + "\u00e4" * 125 + ".jpg", "/".join(["deep" * 10] * 20) + "/a.jpg"]
TREES = {
    "order of '-' and '/'": ORDER,
    "class names that begin alike": CLASSES,
    "spaces, dots, quotes, braces": NAMES,
    "suffixes in any case": SUFFIXES,
    "files that are no images": NOT_IMAGES,
    "unicode": UNICODE,
    "control characters": CONTROL,
    "long names": LONG,
}


def plant(root, names):
    for seed, name in enumerate(names):
        write(root, name, jpeg(seed) if name.lower().endswith((".jpg", ".jpeg")) else b"\"not an image\"")  # JSON too


def agree(image_folder, shale, root, out):
    """Converts the folder and compares every sample with what ImageFolder lists."""
    real = image_folder(str(root))
    shale("convert", root, out, "--to", "record", code=(0, 4))  # 4: an image beside the class folders, which torchvision passes over
    packed = list(samples_of(out))

    keys = [os.fsencode(os.path.relpath(path, root)) for path, _ in real.samples]
    assert [s.key for s in packed] == keys
    assert [s.label for s in packed] == [label for _, label in real.samples]
    assert manifest_of(out)["classes"] == real.classes
    for sample, (path, _) in zip(packed, real.samples):
        with open(path, "rb") as file:
            assert sample.image == file.read(), path
    shale("verify", out, "--against", root)


@pytest.mark.parametrize("names", list(TREES.values()), ids=list(TREES))
def test_samples_are_those_of_image_folder(names, image_folder, shale, tmp_path):
    plant(tmp_path / "photos", names)
    agree(image_folder, shale, tmp_path / "photos", tmp_path / "out")


def test_links_to_files_and_folders_are_followed(image_folder, shale, tmp_path):
    root = tmp_path / "photos"
    plant(root, ["a/1.jpg", "b/2.jpg", "b/sub/3.jpg"])
    plant(tmp_path, ["elsewhere/4.jpg", "elsewhere/deep/5.jpg", "6.jpg"])
    (root / "a/link.jpg").symlink_to("1.jpg")
    (root / "b/outside.jpg").symlink_to(tmp_path / "6.jpg")
    (root / "b/to-folder").symlink_to(tmp_path / "elsewhere")
    (root / "c").symlink_to(tmp_path / "elsewhere")  # a class
    (root / "d").symlink_to("b")  # a class that is another class
    agree(image_folder, shale, root, tmp_path / "out")


def test_hard_links_are_files_like_others(image_folder, shale, tmp_path):
    root = tmp_path / "photos"
    plant(root, ["a/1.jpg"])
    (root / "b").mkdir()
    (root / "b/1.jpg").hardlink_to(root / "a/1.jpg")
    agree(image_folder, shale, root, tmp_path / "out")


def test_names_that_are_not_utf8_keep_their_bytes(shale, image_folder, tmp_path):
    root = os.fsencode(tmp_path / "photos")
    names = [b"\xff\xfe/\xe9t\xe9.jpg", b"ok/a\x80.jpg"]
    for seed, name in enumerate(names):
        os.makedirs(os.path.join(root, os.path.dirname(name)))
        with open(os.path.join(root, name), "wb") as file:
            file.write(jpeg(seed))
    real = image_folder(os.fsdecode(root))
    shale("convert", os.fsdecode(root), tmp_path / "out", "--to", "record")
    packed = [(s.key, s.label) for s in samples_of(tmp_path / "out")]
    assert packed == [(os.fsencode(os.path.relpath(path, os.fsdecode(root))), label) for path, label in real.samples]
    shale("verify", tmp_path / "out", "--against", os.fsdecode(root))


def test_a_trailing_slash_or_a_relative_path_changes_nothing(photos, shale, tmp_path):
    outs = []
    for number, (root, cwd) in enumerate([(f"{photos}/", None), (photos.name, photos.parent), (".", photos)]):
        outs.append(tmp_path / f"out{number}")
        shale("convert", root, outs[-1], "--to", "record", cwd=cwd)
    manifests = {(out / "dataset.json").read_bytes() for out in outs}
    assert len(manifests) == 1


@pytest.mark.parametrize("names", [["a/1.jpg", "b/readme.txt"], ["readme.txt"], ["top.jpg"], []])
def test_what_image_folder_refuses_is_refused(names, image_folder, shale, tmp_path):
    root = tmp_path / "photos"
    root.mkdir()
    plant(root, names)
    with pytest.raises(FileNotFoundError):
        image_folder(str(root))
    shale("convert", root, tmp_path / "out", "--to", "record", code=(1, 2))
    assert not (tmp_path / "out/dataset.json").exists()


def test_info_says_the_same_facts_as_the_folder(photos, dataset, image_folder, shale):
    real = image_folder(str(photos))
    info = json.loads(shale("info", dataset, "--json"))
    assert (info["format"], info["complete"], info["samples"]) == ("record", True, len(real.samples))
    assert info["shards"] == 3
    assert set(info) >= {"format", "complete", "samples", "bytes", "shards", "classes", "fields", "content_digest"}
