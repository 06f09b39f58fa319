"""Numbers that NumPy has no dtype for, from Python: tensors of torch and arrays of ml_dtypes."""

import numpy as np
import pytest

pytest.importorskip("shale")
from shale import Dataset, Writer, convert, errors, from_iterable

RAW = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "complex32")


@pytest.mark.parametrize("container", ["record", "lmdb"])
def test_numbers_that_numpy_lacks_are_written_and_read_as_torch_has_them(tmp_path, container):
    torch = pytest.importorskip("torch")
    import shale.torch

    schema = {**{f"{name}_fixed": (getattr(torch, name), (2, 3)) for name in RAW}, **{f"{name}_free": f"{name} (?, 3)" for name in RAW}, "some": "bfloat16 (2)?"}
    bits = [torch.randint(1, 120, (6, 3, 8), dtype=torch.uint8) for _ in RAW]
    sides = (2, 0, 3)
    samples = []
    for side in sides:
        sample = {"some": None if side == 0 else [1, 2.5]}
        for name, each in zip(RAW, bits):
            size = getattr(torch, name).itemsize
            sample[f"{name}_fixed"] = each[:3, :2, :size].contiguous().view(getattr(torch, name)).reshape(3, 2).T  # not in C order
            sample[f"{name}_free"] = each[:side, :, :size].contiguous().view(getattr(torch, name)).reshape(side, 3)
        samples.append(sample)
    from_iterable(samples, tmp_path / "out", container, schema)

    def as_bytes(tensor):
        return bytes(tensor.clone(memory_format=torch.contiguous_format).untyped_storage())

    def is_same(left, right):
        return left.dtype == right.dtype and left.shape == right.shape and as_bytes(left) == as_bytes(right)

    dataset = Dataset(tmp_path / "out")
    assert dataset.types["bfloat16_free"] == "bfloat16 (?, 3)" and dataset.types["float8_e5m2_fixed"] == "float8_e5m2 (2, 3)"
    for row, sample in enumerate(samples):
        for name in (f"{name}_{way}" for name in RAW for way in ("fixed", "free")):
            assert is_same(dataset[row][name], sample[name]), name
    assert dataset[0]["some"].tolist() == [1, 2.5] and dataset[1]["some"] is None
    assert dataset.column("some")[1] is None and is_same(dataset.column("bfloat16_fixed")[2], samples[2]["bfloat16_fixed"])
    batch = next(iter(shale.torch.Loader(dataset, 3, pad={"bfloat16_free": -2})))
    assert is_same(batch["float8_e4m3fn_fixed"][1], samples[1]["float8_e4m3fn_fixed"])
    assert [len(each) for each in batch["float8_e5m2_free"]] == list(sides) == batch["bfloat16_free_length"].tolist()
    assert is_same(batch["bfloat16_free"][2], samples[2]["bfloat16_free"]) and (batch["bfloat16_free"][1] == -2).all()
    nested = next(iter(shale.torch.Loader(Dataset(tmp_path / "out", "bfloat16_free"), 3, ragged="nested")))["bfloat16_free"]
    assert is_same(nested.unbind()[2], samples[2]["bfloat16_free"])
    again = from_iterable(list(dataset), tmp_path / "again", container, dataset.types)
    assert again.content_digest == dataset.info.content_digest


def test_arrays_of_ml_dtypes_are_written_as_the_tensors_of_their_name(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    odd = values.astype(ml_dtypes.float8_e4m3b11fnuz)  # torch has none
    from_iterable([{"x": values[:, ::2], "y": odd}], tmp_path / "out", "record", {"x": (ml_dtypes.bfloat16, (2, 2)), "y": "float8_e4m3b11fnuz (?, ?)"})
    sample = Dataset(tmp_path / "out")[0]
    assert sample["x"].tolist() == values[:, ::2].tolist()
    assert sample["y"].dtype == odd.dtype and sample["y"].tobytes() == odd.tobytes()


@pytest.mark.parametrize("given, found", [([1e39, 0], "a list with 1e\\+39"), ("float32", "an array of float32"), ([1], "an array of bfloat16 \\(1,\\)")])
def test_what_bfloat16_does_not_hold_is_refused_by_its_name(tmp_path, given, found):
    torch = pytest.importorskip("torch")
    value = torch.zeros(2) if given == "float32" else given
    message = f"field 'x' is {found}.*, expected an array of bfloat16 \\(2,\\)"
    with Writer(tmp_path / "out", schema={"x": "bfloat16 (2)"}) as writer, pytest.raises(errors.SchemaError, match=message):
        writer.write({"x": value})


def test_hdf5_refuses_bfloat16_with_what_to_do(tmp_path):
    torch = pytest.importorskip("torch")
    from_iterable([{"x": torch.ones(2, dtype=torch.bfloat16), "n": 1}], tmp_path / "set", schema={"x": "bfloat16 (2)", "n": int})
    with pytest.raises(errors.UnsupportedError, match="field 'x' is a tensor of bfloat16.*\nhint: choose to record or lmdb, or leave the field out: fields"):
        convert(tmp_path / "set", tmp_path / "out", to="hdf5")
    for to, fields in (("record", None), ("lmdb", None), ("hdf5", ["n"])):
        convert(tmp_path / "set", tmp_path / f"{to}{bool(fields)}", to=to, fields=fields)
