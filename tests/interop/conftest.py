"""Fixtures of the interop tests: the shale binary, image folders, datasets, and the real torchvision.

Run: SHALE=build/release/shale build/peers/bin/python -m pytest tests/interop   (tests/run.sh does all of it)
"""

import gc
import io
import os
import pathlib
import random
import subprocess

import pytest
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHALE = os.environ.get("SHALE", str(ROOT / "build/release/shale"))


def drawn(cases, most):
    """Of cases that each take seconds, those of this run: `most` of them by SHALE_TEST_SEED (tests/run.sh), all without it."""
    cases = list(cases)
    seed = os.environ.get("SHALE_TEST_SEED")
    return cases if seed is None else [cases[i] for i in sorted(random.Random(seed).sample(range(len(cases)), min(most, len(cases))))]


def pytest_sessionstart(session):
    if not os.access(SHALE, os.X_OK):
        pytest.exit(f"{SHALE}: no such program\nhint: build it (tests/run.sh), or set SHALE to its path", returncode=2)


def run_shale(*words, code=0, cwd=None, stdin=None):
    """Runs the tool, insists on the exit code (or one of several), returns the finished process: stdout and stderr as bytes."""
    # A sanitizer's runtime that was preloaded for the package is not for the program, which brings its own.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([SHALE, *map(os.fspath, words)], cwd=cwd, env=environment, input=stdin, capture_output=True)
    codes = code if isinstance(code, tuple) else (code,)
    assert done.returncode in codes, f"shale {words}: exit {done.returncode}, expected {code}\n{done.stderr.decode()}"
    return done


@pytest.fixture
def collected():
    """Whatever earlier tests of this process left in reference cycles is gone: a dataset in a traceback keeps its files open."""
    gc.collect()


@pytest.fixture(scope="session")
def shale():
    """shale("convert", a, b, code=0): as run_shale, but returns stdout as text."""
    return lambda *words, **more: run_shale(*words, **more).stdout.decode()


def jpeg(seed):
    """A small real JPEG; another seed, another picture of another size."""
    dice = random.Random(seed)
    size = (dice.randint(8, 96), dice.randint(8, 96))
    mode = dice.choice(["RGB", "RGB", "RGB", "L"])
    picture = Image.frombytes(mode, size, dice.randbytes(size[0] * size[1] * len(mode)))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=dice.randint(60, 95))
    return file.getvalue()


def write(folder, name, content):
    path = pathlib.Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """An image folder with nothing odd about it: 3 classes, 60 JPEGs, one above 1 MiB so that blocks have more than one row."""
    root = tmp_path_factory.mktemp("plain") / "photos"
    for seed in range(60):
        name = f"n{seed % 3:02}"
        write(root, f"{name}/{name}_{seed:04}.JPEG", jpeg(seed))
    big = Image.frombytes("RGB", (1200, 900), random.Random(0).randbytes(1200 * 900 * 3))
    big.save(root / "n01/n01_big.JPEG", quality=95)
    assert (root / "n01/n01_big.JPEG").stat().st_size > 1 << 20
    return root


@pytest.fixture(scope="session")
def dataset(photos, shale, tmp_path_factory):
    """`photos` as record shards, several of them."""
    out = tmp_path_factory.mktemp("packed") / "out"
    shale("convert", photos, out, "--to", "record", "--shard-samples", "25")
    return out


@pytest.fixture(scope="session")
def listed(photos, image_folder):
    """What torchvision's ImageFolder lists of `photos`: (key, label, the file's bytes) of each, in its order."""
    real = image_folder(str(photos))
    return [(os.fsencode(os.path.relpath(path, photos)), label, pathlib.Path(path).read_bytes()) for path, label in real.samples]


def real_torchvision():
    """torchvision, the real one, wherever a Python process needs it."""
    import torch

    # A torchvision without its compiled operators cannot be imported: it registers shapes for operators that nobody has
    # defined. Defining their schemas first is enough; the datasets use none of them.
    schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    try:
        import torchvision
    except RuntimeError:
        import sys

        for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        for operator in ("torchvision::nms", "torchvision::qnms"):
            torch.library.define(operator, schema)
        import torchvision
    return torchvision


@pytest.fixture(scope="session")
def image_folder():
    """torchvision.datasets.ImageFolder, the real one."""
    return real_torchvision().datasets.ImageFolder
