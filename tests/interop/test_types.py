"""The package's annotations and stubs hold, inside it and for those who use it."""

import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT

pytest.importorskip("shale")
from shale import _lmdb_errors, _shale, lmdb

USER = """
from torch.utils.data import DataLoader

import shale
import shale.lmdb
import shale.torch

ds = shale.Dataset("set", fields=["image"], decode={"image": "rgb8"}, transform=lambda sample: sample["image"])
row: int = ds.find("key")
part = shale.Dataset("set", as_tuple=("image", "label"), decode="tv", split="train", indices=range(5))
several: tuple[str, ...] = part.fields
total: int = part.info.samples
with shale.Dataset("set") as opened:
    loader = DataLoader(opened, batch_size=4)
env = shale.lmdb.open("set.lmdb", subdir=False, readonly=True, lock=False)
with env.begin() as txn:
    value = txn.get(b"0")
folder = shale.torch.ImageFolder("set")
classes: list[str] = folder.classes
done = shale.resample({"x": ["a.npy"]}, "out.npy", memory="64MiB", also={"y.npy": "z.npy"}, progress=lambda done, total: None)
path: str = done.arrays[0].path
made: str = shale.convert("photos", "set", to="record", shard_size="1GiB").output
count: int = shale.verify("set", deep=True).findings
names: tuple[str, ...] = shale.info("set").class_names
try:
    shale.lmdb.Environment("other")
except (shale.lmdb.MapFullError, shale.lmdb.ReadersFullError, shale.lmdb.NotFoundError) as error:
    reason: str = error.reason
"""

# What nanobind makes, and no stub can say; and a name for type checkers alone.
UNAVOIDABLE = r"""
shale.dataset.TorchDataset
shale._shale.(Reader|KeyMap|KeyCursor|SampleWriter|Value|Views)  # their metaclass is nanobind's, and nothing can derive from two of them
shale._shale.(KeyMap|KeyCursor|Value).__init__  # made by functions only: nanobind's __init__ refuses
shale._shale.(block_rows|decode_rgb8|epoch_key|field_of_array|field_of_type|file_splits|io_backend|open_map|options|parse_size|random_rows|report|run|save_report|usable_cpus)  # a callable of a type of nanobind's, not a function
"""


def mypy(*words, cwd):
    words = ["--no-site-packages", "--ignore-missing-imports", "--check-untyped-defs", "--no-incremental", *words]
    return subprocess.run([sys.executable, "-m", "mypy", *words], cwd=cwd, capture_output=True, text=True)


def test_the_package_is_what_its_annotations_say():
    run = mypy("shale", cwd=ROOT / "python")
    assert run.returncode == 0, run.stdout


def test_the_stubs_are_what_is_there(tmp_path):
    (tmp_path / "allowed").write_text(UNAVOIDABLE)
    # What others' types are does not matter here, and torch's alone take a minute to read.
    (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-torch.*,torchvision.*,PIL.*]\nfollow_imports = skip\n")
    package = str(pathlib.Path(_shale.__file__).parents[1])
    words = [sys.executable, "-m", "mypy.stubtest", "shale", "--concise", "--allowlist", str(tmp_path / "allowed"), "--mypy-config-file", "mypy.ini"]
    environment = {**os.environ, "MYPYPATH": package, "PYTHONPATH": package}
    run = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_all_names_of_lmdb_are_written_out():
    """A type checker sees no list that is computed: `except lmdb.MapFullError` did not pass."""
    classes = [name for name, value in vars(_lmdb_errors).items() if isinstance(value, type) and issubclass(value, _lmdb_errors.Error)]
    assert classes == lmdb.__all__[-len(classes) :]


def test_users_get_the_types(tmp_path, monkeypatch):
    monkeypatch.setenv("MYPYPATH", str(ROOT / "python"))
    (tmp_path / "user.py").write_text(USER)
    run = mypy("--strict", "--follow-imports=silent", "user.py", cwd=tmp_path)
    assert run.returncode == 0, run.stdout
    (tmp_path / "user.py").write_text(USER + "wrong: str = ds.find('key')\nshale.Dataset(cache=7)\ndone.rows = 7\nshale.resample('x', 'y', rows='7')\n")
    run = mypy("user.py", cwd=tmp_path)
    assert "Found 5 errors" in run.stdout, run.stdout
