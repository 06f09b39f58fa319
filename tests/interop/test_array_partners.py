"""Arrays beside images (1.npy beside 1.jpg), and in folders that are joined, are what NumPy reads from the files."""

import json
import pathlib
import shutil

import numpy as np
import pytest

pytest.importorskip("shale")
import shale

ARRAYS = {
    "fixed": lambda i: np.full((3, 4), i, np.float32),
    "ragged": lambda i: np.arange(i * 4, dtype=np.float64).reshape(i, 4),
    "fortran": lambda i: np.asfortranarray(np.arange(24, dtype=">i4").reshape(2, 3, 4) + i),
    "ragged in both orders": lambda i: np.arange(6 * i, dtype=">u2").reshape(2, 3 * i) if i % 2 else np.asfortranarray(np.ones((2, i), np.uint16)),
    "no axes": lambda i: np.array(i, np.int64),
    "texts": lambda i: np.array(["one", "two"], "<U3"),
    "times": lambda i: np.array(["2026-01-01", "NaT"], "M8[s]"),
    "complex": lambda i: np.full((1, i), i + 1j, np.complex64),
    "long header": lambda i: np.zeros((1,) * 30 + (i,), np.int8),
}
TYPES = {
    "fixed": "float32 (3, 4)",
    "ragged": "float64 (?, 4)",
    "fortran": "int32 (2, 3, 4)",
    "ragged in both orders": "uint16 (2, ?)",
    "no axes": "int64 ()",
    "texts": "<U3 (2,)",
    "times": "datetime64[s] (2,)",
    "complex": "complex64 (1, ?)",
}


def with_partners(photos, folder, array):
    """A copy of the photos with arrays, in the order of the samples."""
    shutil.copytree(photos, folder)
    arrays = []
    for number, image in enumerate(sorted(path for path in folder.rglob("*") if path.is_file())):
        arrays.append(array(number))
        np.save(image.with_suffix(".npy"), arrays[-1])
    return arrays


def check_arrays(dataset, arrays, name="npy"):
    assert len(dataset) == len(arrays)
    for sample, array in zip(dataset, arrays):
        assert sample[name].dtype == array.dtype.newbyteorder("<")
        assert sample[name].shape == array.shape
        np.testing.assert_array_equal(sample[name], array)


@pytest.mark.parametrize("to", ["record", "lmdb", "hdf5"])
@pytest.mark.parametrize("kind", ARRAYS)
def test_partners_are_the_arrays_of_numpy(photos, tmp_path, kind, to):
    if to == "hdf5" and kind in ("texts", "times"):
        pytest.skip("HDF5 shards hold numbers")
    arrays = with_partners(photos, tmp_path / "photos", ARRAYS[kind])
    shale.convert(tmp_path / "photos", tmp_path / "set", to)
    options = json.loads((tmp_path / "set/dataset.json").read_text())["options"]
    assert options["pairs"] == "npy:" + TYPES.get(kind, "int8 (" + "1, " * 30 + "?)")
    check_arrays(shale.Dataset(tmp_path / "set"), arrays)
    assert shale.verify(tmp_path / "set", deep=True, against=tmp_path / "photos").ok


def test_partners_of_one_shape_are_a_column(photos, tmp_path):
    arrays = with_partners(photos, tmp_path / "photos", ARRAYS["fixed"])
    shale.convert(tmp_path / "photos", tmp_path / "set", "npy", resize="exact=8x8", encode="raw")
    column = np.load(tmp_path / "set/shard-000000.npy.npy")
    np.testing.assert_array_equal(column, np.stack(arrays))


def test_partners_may_be_cast_renamed_and_absent(photos, tmp_path):
    arrays = with_partners(photos, tmp_path / "photos", ARRAYS["ragged"])
    files = sorted((tmp_path / "photos").rglob("*.npy"))
    files[0].unlink()
    shale.convert(tmp_path / "photos", tmp_path / "set", "record", fields=["npy", "image"], rename={"npy": "pose"}, cast={"pose": "float32"})
    dataset = shale.Dataset(tmp_path / "set")
    assert [sample["pose"] is None for sample in dataset] == [True] + [False] * (len(arrays) - 1)
    for sample, array in list(zip(dataset, arrays))[1:]:
        assert sample["pose"].dtype == np.float32
        np.testing.assert_array_equal(sample["pose"], array)
    assert shale.verify(tmp_path / "set", against=tmp_path / "photos").ok


def test_joined_folders_of_arrays(photos, tmp_path):
    arrays = with_partners(photos, tmp_path / "poses", ARRAYS["ragged"])
    for path in (tmp_path / "poses").rglob("*"):
        if path.is_file() and path.suffix != ".npy":
            path.unlink()
    folders = {"image": photos, "pose": tmp_path / "poses"}
    shale.convert(folders, tmp_path / "set", "lmdb")
    assert json.loads((tmp_path / "set/dataset.json").read_text())["options"]["folders"] == "image,pose:float64 (?, 4)"
    check_arrays(shale.Dataset(tmp_path / "set"), arrays, "pose")
    assert shale.verify(tmp_path / "set", against=folders).ok
    victim = next(pathlib.Path(tmp_path / "set").glob("*.lmdb"))
    intact = victim.read_bytes()
    victim.write_bytes(intact[:5000] + b"damage" + intact[5006:])
    shale.repair(tmp_path / "set", folders)
    assert victim.read_bytes() == intact
    shale.convert(folders, tmp_path / "plain", "lmdb", pairs="bytes")
    sample = shale.Dataset(tmp_path / "plain")[0]
    assert sample["pose"] == sorted((tmp_path / "poses").rglob("*.npy"))[0].read_bytes()
    assert shale.verify(tmp_path / "plain", against=folders).ok


def test_bad_files_are_left_out(photos, tmp_path):
    with_partners(photos, tmp_path / "photos", ARRAYS["fixed"])
    files = sorted((tmp_path / "photos").rglob("*.npy"))
    files[0].write_bytes(b"")
    files[1].write_bytes(files[1].read_bytes()[:-1])
    np.save(files[2], np.array([{}], object), allow_pickle=True)
    np.save(files[3], np.zeros(2, [("a", "i4")]))
    files[4].write_bytes(files[4].read_bytes() + b"x")
    result = shale.convert(tmp_path / "photos", tmp_path / "set", "record")
    assert result.skipped == 5
    rows = (tmp_path / "set/skipped.csv").read_text().splitlines()[1:]
    assert [row.split(",")[1] for row in rows] == ["not-array"] * 5
    assert shale.verify(tmp_path / "set", against=tmp_path / "photos").ok


def test_other_types_are_refused(photos, tmp_path):
    with_partners(photos, tmp_path / "photos", lambda i: np.zeros(3, np.float64 if i == 2 else np.float32))
    with pytest.raises(shale.Error, match="holds float64 \\(3,\\), but .* holds float32 \\(3,\\): field 'npy' has one type"):
        shale.convert(tmp_path / "photos", tmp_path / "set", "record")
    shale.convert(tmp_path / "photos", tmp_path / "set", "record", pairs="bytes")
    assert isinstance(shale.Dataset(tmp_path / "set")[0]["npy"], bytes)
    assert shale.verify(tmp_path / "set", against=tmp_path / "photos").ok
