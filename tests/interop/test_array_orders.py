"""Arrays of any shape, order and stride, drawn at random, through every way in and out: NumPy says what must come out."""

import random

import h5py
import numpy as np
import pytest
import torch
from conftest import run_shale
from resampling import little, saved

CASES = 32
LENGTHS = (0, 1, 1, 2, 2, 3, 3, 4, 7)  # axes of one element and of none are what orders get wrong
DTYPES = ("u1", "<i2", ">i4", "<f4", "<f8", ">c8", "S3")
MOST_ITEMS = 5000


def shape_of(dice):
    while True:
        shape = (dice.choice((1, 1, *LENGTHS)), *(dice.choice(LENGTHS) for _ in range(dice.randint(0, 5))))
        if np.prod(shape) <= MOST_ITEMS:
            return shape


def numbered(shape, dtype):
    """Elements that all differ, as far as the dtype lets them."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    return numbers.astype("S3") if dtype == "S3" else numbers.astype(dtype)


def view_of(dice, shape, dtype, may_be_negative=True):
    """An array of this shape whose axes lie in any order and with any step, turned around or not."""
    axes = list(range(len(shape)))
    dice.shuffle(axes)
    steps = [dice.choice((1, 1, 2, 3)) for _ in shape]
    signs = [dice.choice((1, -1)) if may_be_negative else 1 for _ in shape]
    whole = numbered([shape[axis] * steps[axis] for axis in axes], dtype)
    array = whole.transpose(np.argsort(axes))[tuple(slice(None, None, step) for step in steps)]
    return array[tuple(slice(None, None, sign) for sign in signs)]


def in_some_order(dice, array):
    return dice.choice((np.ascontiguousarray, np.asfortranarray, np.asfortranarray, lambda same: same))(array)


def check(found, expected, where):
    assert found.shape == expected.shape, where
    assert np.array_equal(found, expected), where


@pytest.fixture(params=range(CASES))
def case(request, tmp_path):
    dice = random.Random(request.param)
    shape, dtype = shape_of(dice), dice.choice(DTYPES)
    array = in_some_order(dice, view_of(dice, shape, dtype))
    return dice, array, tmp_path, f"case {request.param}: {dtype} {shape} {array.strides}"


def test_convert_keeps_every_element(case):
    dice, array, folder, where = case
    saved(folder / "a.npy", array)
    is_numeric = array.dtype.kind != "S"
    file = "b.h5" if is_numeric and dice.random() < 0.5 else "b.npy"
    for out, *options in ([file], ["set", "--to", dice.choice(("record", "lmdb", "npy"))]):
        run_shale("convert", folder / "a.npy", folder / out, *options)
        run_shale("verify", folder / out, "--against", folder / "a.npy")
        run_shale("convert", folder / out, folder / "back.npy", "--overwrite")
        check(np.load(folder / "back.npy"), array, f"{where} through {out} {options}")
    if is_numeric:
        with h5py.File(folder / "own.h5", "w") as file:
            file.create_dataset("x", data=little(array), chunks=True if array.size and dice.random() < 0.5 else None)
        run_shale("convert", folder / "own.h5", folder / "back.npy", "--overwrite")
        check(np.load(folder / "back.npy"), array, f"{where} from h5py")


def test_archives_keep_every_element(case):
    dice, array, folder, where = case
    other = in_some_order(dice, view_of(dice, (array.shape[0], *shape_of(dice)), "<i2"))
    save = dice.choice((np.savez, np.savez_compressed))
    save(folder / "a.npz", x=array, y=other)
    run_shale("convert", folder / "a.npz", folder / "b.npz")
    run_shale("convert", folder / "a.npz", folder / "set", "--to", dice.choice(("record", "npy")))
    run_shale("verify", folder / "set", "--against", folder / "a.npz")
    with np.load(folder / "b.npz") as back:
        check(back["x"], array, where)
        check(back["y"], other, where)


def test_arrays_end_to_end_keep_every_element(case):
    dice, array, folder, where = case
    more = in_some_order(dice, view_of(dice, (dice.choice((1, 1, 2, 5)), *array.shape[1:]), array.dtype.str))
    saved(folder / "a.npy", array)
    saved(folder / "b.npy", more)
    words = [f"x={folder / 'a.npy'}", f"x={folder / 'b.npy'}", f"x={folder / 'a.npy'}"]
    run_shale("convert", *words, folder / "c.npy")
    check(np.load(folder / "c.npy"), np.concatenate([array, more, array]), where)
    run_shale("verify", folder / "c.npy", *(word for one in words for word in ("--against", one)))


def test_resample_keeps_every_element(case):
    _, array, folder, where = case
    if array.shape[0] == 0:
        pytest.skip("an array without rows has none to draw")
    saved(folder / "a.npy", array)
    run_shale("resample", folder / "a.npy", folder / "r.npy", "--permute", "--save-indices", folder / "i.npy")
    check(np.load(folder / "r.npy"), array[np.load(folder / "i.npy")], where)


def test_views_of_tensors_keep_every_element(tmp_path):
    for number in range(CASES):
        dice = random.Random(f"tensor {number}")
        array = view_of(dice, shape_of(dice), dice.choice(("u1", "<i2", "<f4", "<f8")), may_be_negative=False)
        tensor = torch.from_numpy(array)
        torch.save({"x": tensor}, tmp_path / "a.pt")
        run_shale("convert", tmp_path / "a.pt", tmp_path / "b.npy", "--overwrite")
        check(np.load(tmp_path / "b.npy"), array, f"tensor {number}: {array.shape} {tensor.stride()}")
        run_shale("verify", tmp_path / "b.npy", "--against", tmp_path / "a.pt")
