#!/usr/bin/env python3
"""The installed package in one process with torch, h5py, Pillow and lmdb, which bring their own HDF5, libjpeg and libstdc++.

Run by wheel_test.sh with the peers on PYTHONPATH; SHALE is the program.
"""

import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import shale_tool

# Each is imported, then each is used; sys.argv: folder, then names in the order of import.
ALL_IN_ONE = """
import importlib, io, pathlib, sys
folder, *names = sys.argv[1:]
h5py, lmdb, numpy, shale, torch, Image = None, None, None, None, None, None
for name in names:
    module = importlib.import_module(name)
    globals()[name.rpartition(".")[2]] = module

def use_h5py():
    with h5py.File(f"{folder}/of-h5py.h5") as file:
        assert file["squeezed"][7].tolist() == [7] * 5, file["squeezed"][7]

def use_pillow():
    picture = Image.open(f"{folder}/rgb.jpg")
    assert picture.convert("RGB").size == (10, 7) and picture.getpixel((0, 0)) is not None
    picture.save(io.BytesIO(), "PNG")

def use_lmdb():
    with lmdb.open(f"{folder}/of-lmdb", readonly=True, subdir=False, lock=False) as store, store.begin() as reads:
        assert reads.get(b"7") == b"seven"

def use_shale():
    assert len(shale.Dataset(f"{folder}/of-h5py-plain.h5")) == 20
    assert len(shale.Dataset(f"{folder}/of-lmdb")) == 1
    assert len(shale.Dataset(f"{folder}/out")) == 12

def use_torch():
    assert torch.ones(3).sum().item() == 3
    try:
        torch.ones(2) @ torch.ones(3)  # a C++ exception on its way through torch
    except RuntimeError:
        pass
    try:
        shale.Dataset(f"{folder}/nothing")  # ... and through shale
    except Exception as error:
        assert "nothing" in str(error), error
    else:
        raise AssertionError("opened what is not there")

uses = [use_h5py, use_pillow, use_lmdb, use_shale, use_torch]
for use in [*uses, *reversed(uses)]:
    use()
"""
NAMES = ["shale", "h5py", "PIL.Image", "lmdb", "torch"]


class BesidePeers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import h5py
        import lmdb
        import numpy

        cls.folder = shale_tool.Folder()
        cls.addClassCleanup(cls.folder.remove)
        rows = numpy.repeat(numpy.arange(20, dtype="u1")[:, None], 5, axis=1)
        with h5py.File(cls.folder / "of-h5py.h5", "w") as file:
            file.create_dataset("squeezed", data=rows, chunks=(4, 5), compression="gzip")
        with h5py.File(cls.folder / "of-h5py-plain.h5", "w") as file:
            file.create_dataset("rows", data=rows)
        with lmdb.open(str(cls.folder / "of-lmdb"), subdir=False) as store, store.begin(write=True) as writes:
            writes.put(b"7", b"seven")
        shale_tool.write(cls.folder / "rgb.jpg")
        photos = shale_tool.make_photos(cls.folder / "photos", 12)
        done = shale_tool.run("convert", photos, cls.folder / "out", "--to", "lmdb", "--shard-samples", 5)
        assert done.code == 0, done.err

    def use_all(self, names):
        done = subprocess.run([sys.executable, "-c", ALL_IN_ONE, str(self.folder), *names], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_shale_is_imported_first(self):
        self.use_all(NAMES)

    def test_shale_is_imported_last(self):
        self.use_all(NAMES[::-1])

    def test_the_program_reads_compressed_hdf5_with_the_library_inside(self):
        done = shale_tool.run("convert", self.folder / "of-h5py.h5", self.folder / "unpacked", "--to", "record")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(shale_tool.manifest_of(self.folder / "unpacked")["samples"], 20)

    def test_a_data_loader_with_two_workers_gives_every_sample_once(self):
        import shale
        import torch

        self.assertTrue(pathlib.Path(shale.__file__).is_relative_to(sys.prefix), "the shale of the wheel")
        loader = torch.utils.data.DataLoader(
            shale.Dataset(str(self.folder / "out")), batch_size=4, shuffle=True, num_workers=2
        )
        found = sorted(image for batch in loader for image in batch["image"])
        self.assertEqual(found, sorted(image for _, _, image in shale_tool.samples_of(self.folder / "out")))


if __name__ == "__main__":
    unittest.main()
