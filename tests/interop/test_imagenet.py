"""The commands of docs/imagenet.md, on archives in the layout of ILSVRC2012: a tar of tars, a flat tar, a devkit, Kaggle's folders."""

import csv
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import pytest
from conftest import ROOT, SHALE, run_shale, write
from PIL import Image
from test_splits import assert_same_tree, rows_of

PAGE = (ROOT / "docs/imagenet.md").read_text(encoding="utf-8")
# In the devkit's order, which is not the sorted one.
SYNSETS = ["n02119789", "n02100735", "n01440764", "n02110185"]


def block(name, language):
    (found,) = re.findall(rf"<!-- test: {name} -->\s*```{language}\n(.*?)```", PAGE, re.DOTALL)
    return found


def photo(number, mode="RGB", suffix="JPEG"):
    file = io.BytesIO()
    picture = Image.effect_noise((320 + number % 7, 300 + number % 5), 20 + number).convert(mode)
    picture.save(file, suffix, quality=85)
    return file.getvalue()


def add(archive, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


@pytest.fixture(scope="module")
def photos():
    """Of each class: name -> content; one is a PNG, one CMYK, as in ILSVRC2012."""
    made = {synset: {} for synset in SYNSETS}
    for number in range(16):
        synset = SYNSETS[number % 4]
        content = photo(number, "CMYK" if number == 5 else "RGB", "PNG" if number == 2 else "JPEG")
        made[synset][f"{synset}_{number}.JPEG"] = content
    return made


@pytest.fixture(scope="module")
def val():
    return {f"ILSVRC2012_val_{number:08}.JPEG": (photo(100 + number), 1 + number * 3 % 4) for number in range(1, 13)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, photos, val):
    root = tmp_path_factory.mktemp("imagenet")
    with tarfile.open(root / "ILSVRC2012_img_train.tar", "w") as train:
        for synset, contents in photos.items():
            of_class = io.BytesIO()
            with tarfile.open(fileobj=of_class, mode="w") as archive:
                for name, content in contents.items():
                    add(archive, name, content)
                    write(root, f"ILSVRC/Data/CLS-LOC/train/{synset}/{name}", content)
            add(train, f"{synset}.tar", of_class.getvalue())
    with tarfile.open(root / "ILSVRC2012_img_val.tar", "w") as flat:
        for name, (content, _) in val.items():
            add(flat, name, content)
            write(root, f"ILSVRC/Data/CLS-LOC/val/{name}", content)
    with tarfile.open(root / "ILSVRC2012_devkit_t12.tar.gz", "w:gz") as devkit:
        data = "ILSVRC2012_devkit_t12/data/"
        add(devkit, data + "ILSVRC2012_validation_ground_truth.txt", "".join(f"{number}\n" for _, number in val.values()).encode())
        table = "".join(f"{synset} {number} name_{number}\n" for number, synset in enumerate(SYNSETS, 1))
        add(devkit, data + "map_clsloc.txt", table.encode())
    with open(root / "LOC_val_solution.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["ImageId", "PredictionString"])
        for name, (_, number) in reversed(val.items()):
            rows.writerow([name.removesuffix(".JPEG"), f"{SYNSETS[number - 1]} 1 2 3 4 "])
    return root


def run_block(name, cwd):
    environment = {**os.environ, "PATH": f"{pathlib.Path(SHALE).resolve().parent}:{os.environ['PATH']}"}
    environment.pop("LD_PRELOAD", None)
    done = subprocess.run(["bash", "-ec", block(name, "sh")], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def converted(folder):
    return run_block("imagenet", folder)


def test_training_set_is_that_of_the_folder(folder, converted, tmp_path):
    assert "cmyk" in converted and "wrong-suffix" in converted
    words = ["--to", "record", "--shuffle", "--resize", "shorter=256", "--only-larger", "--quality", "90"]
    run_shale("convert", folder / "ILSVRC/Data/CLS-LOC/train", tmp_path / "train", *words)
    assert_same_tree(folder / "imagenet/train", tmp_path / "train")
    run_shale("verify", folder / "imagenet/train", "--against", folder / "ILSVRC2012_img_train.tar")


def test_validation_labels_are_those_of_imagefolder(folder, converted, val, photos):
    classes = sorted(photos)
    expected = {(name, str(classes.index(SYNSETS[number - 1])), SYNSETS[number - 1]) for name, (_, number) in val.items()}
    assert set(rows_of(folder / "imagenet/val")) == expected


def test_kaggle_edition_is_the_same(folder, converted, tmp_path):
    for name in ("ILSVRC", "LOC_val_solution.csv"):
        (tmp_path / name).symlink_to(folder / name)
    run_block("imagenet-kaggle", tmp_path)
    assert set(rows_of(tmp_path / "imagenet/val")) == set(rows_of(folder / "imagenet/val"))
    assert set(rows_of(tmp_path / "imagenet/train")) == set(rows_of(folder / "imagenet/train"))


def test_photos_have_256_pixels(folder, converted):
    import shale

    for split in ("train", "val"):
        for sample in shale.Dataset(folder / "imagenet" / split, decode="pil"):
            assert min(sample["image"].size) == 256
            assert sample["image"].mode == "RGB"


def test_training_block_runs(folder, converted):
    real = f"import sys; sys.path.insert(0, {str(ROOT / 'tests/interop')!r}); import conftest; conftest.real_torchvision()\n"
    done = subprocess.run(
        [sys.executable, "-c", real + block("imagenet-training", "python") + "\nprint(images.shape, images.dtype, labels.dtype)"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == "torch.Size([16, 3, 224, 224]) torch.uint8 torch.int64"
