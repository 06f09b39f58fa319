"""The package's annotations and stubs hold, inside it and for those who use it."""

import subprocess
import sys

from conftest import ROOT

USER = """
import shale
import shale.lmdb
import shale.torch

ds = shale.Dataset("set", fields=["image"], decode={"image": "rgb8"}, transform=lambda sample: sample["image"])
row: int = ds.find("key")
env = shale.lmdb.open("set.lmdb", subdir=False, readonly=True, lock=False)
with env.begin() as txn:
    value = txn.get(b"0")
folder = shale.torch.ImageFolder("set")
classes: list = folder.classes
done = shale.resample({"x": ["a.npy"]}, "out.npy", memory="64MiB", also={"y.npy": "z.npy"}, progress=lambda done, total: None)
path: str = done.arrays[0].path
"""


def mypy(*words, cwd):
    words = ["--no-site-packages", "--ignore-missing-imports", "--check-untyped-defs", "--no-incremental", *words]
    return subprocess.run([sys.executable, "-m", "mypy", *words], cwd=cwd, capture_output=True, text=True)


def test_the_package_is_what_its_annotations_say():
    run = mypy("shale", cwd=ROOT / "python")
    assert run.returncode == 0, run.stdout


def test_users_get_the_types(tmp_path, monkeypatch):
    monkeypatch.setenv("MYPYPATH", str(ROOT / "python"))
    (tmp_path / "user.py").write_text(USER)
    assert mypy("user.py", cwd=tmp_path).returncode == 0
    (tmp_path / "user.py").write_text(USER + "wrong: str = ds.find('key')\nshale.Dataset(cache=7)\ndone.rows = 7\nshale.resample('x', 'y', rows='7')\n")
    run = mypy("user.py", cwd=tmp_path)
    assert "Found 5 errors" in run.stdout, run.stdout
