"""What shale.Writer says of values that do not fit, and the numbers that it takes whatever they are called."""

import json
import shutil

import numpy as np
import pytest
from conftest import run_shale

shale = pytest.importorskip("shale")
torch = pytest.importorskip("torch")
from shale import Dataset, Writer, errors


def refusal(out, kind, value, error=errors.SchemaError):
    with pytest.raises(error) as caught, Writer(out, schema={"f": kind, "s": "str"}) as writer:
        writer.write({"key": "a.jpg", "f": value, "s": ""})
    assert not out.exists()
    return caught.value


@pytest.mark.parametrize(
    "kind, value, says, hint",
    [
        ("json", "\ufeff{}", "it begins with a byte order mark", None),
        ("json", "1e999", "a number is beyond float64 at byte 4", None),
        ("json", {"a": "\ud800"}, "half a surrogate pair is escaped at byte", None),
        ("json", "x", "it does not parse at byte 0", "json.dumps(value)"),
        ("json", "{a}", "it does not parse at byte 1", None),
        ("json", {"a": float("inf")}, "is dict, expected what json.dumps takes", None),
        ("json", {"a": np.int64(3)}, "is dict, expected what json.dumps takes", None),
        (
            "float32 (?, 4)",
            torch.zeros(2, 4, requires_grad=True),
            "a tensor of torch.float32 that requires grad, expected one that NumPy",
            "tensor.detach()",
        ),
        (
            "float32 (?, 4)",
            torch.zeros(2, 4).to_sparse(),
            "a tensor of torch.float32, expected one that NumPy can read",
            "tensor.to_dense()",
        ),
        ("float32 (?, 4)", torch.nested.nested_tensor([torch.zeros(2, 4)]), "a nested tensor, expected", "unbind"),
        ("float32 (?, 4)", torch.zeros(2, 4, device="meta"), "a tensor on meta, expected", "storage"),
        ("float32 (?, 4)", [[]], r"an array of float32 \(1, 0\), expected", None),
        ("list[int]", [np.int8(3), 1.5], "a list of floats", None),
        ("int8 (?)", [np.int8(3), np.uint64(400)], "a list of numbers from 3 to 400", None),
    ],
)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_refused_value_has_its_field_sample_and_key(tmp_path, kind, value, says, hint):
    error = refusal(tmp_path / "out", kind, value)
    assert error.args[0].startswith("sample 'a.jpg': field 'f' is ") and error.args[0].endswith(": sample 0")
    assert (error.sample, error.key) == (0, "a.jpg")
    with pytest.raises(errors.SchemaError, match=says):
        raise error
    assert hint in error.hint if hint else error.hint is None


def test_a_list_that_is_too_long_is_named(tmp_path):
    assert "field 'f' is a list of 1048577 elements, expected at most 1048576" in str(
        refusal(tmp_path / "out", "list[str]", [""] * (2**20 + 1), errors.LimitError)
    )


def test_integers_are_taken_whatever_their_types(tmp_path):
    rows = [[np.int8(3), np.uint64(4)], range(3), [], [True, 2]]
    with Writer(tmp_path / "out", schema={"f": "list[int]", "g": ("float32", (-1, 4))}) as writer:
        for row in rows:
            writer.write({"f": row, "g": []})
    dataset = Dataset(tmp_path / "out")
    assert [sample["f"].tolist() for sample in dataset] == [[3, 4], [0, 1, 2], [], [1, 2]]
    assert {sample["g"].shape for sample in dataset} == {(0, 4)} and dataset.schema["g"]["shape"] == (None, 4)


def test_a_dropped_writer_removes_nothing_of_the_next(tmp_path):
    writer = Writer(tmp_path / "out", schema={"f": "int?"}, shard_samples=2)
    writer.write({"f": 1})
    shutil.rmtree(tmp_path / "out")
    following = Writer(tmp_path / "out", schema={"f": "int?"}, shard_samples=2)
    del writer
    for number in range(5):
        following.write({"f": number})
    assert following.close().samples == 5
    assert [sample["f"] for sample in Dataset(tmp_path / "out")] == list(range(5))


def test_a_record_file_without_features_is_refused_with_what_it_is(tmp_path):
    with Writer(tmp_path / "out", schema={"i": "int?", "s": "str?"}) as writer:
        for _ in range(3):
            writer.write({})
    run_shale("convert", tmp_path / "out", tmp_path / "out.tfrecord")
    said = run_shale("info", tmp_path / "out.tfrecord", code=1).stderr.decode()
    assert "its records have no features but a key" in said and "keep the dataset that it was made of" in said


@pytest.mark.parametrize(
    "kind, fill, fits",
    [
        ("int?", -100, True),
        ("int?", 0.5, False),
        ("int?", 2**63, False),
        ("float?", 0, True),
        ("float32 (?)", 1e39, False),
        ("float32 (?)", float("inf"), True),
        ("complex64 (?)", 1 + 2j, True),
    ],
)
def test_padding_is_a_number_that_the_field_holds(tmp_path, kind, fill, fits):
    with Writer(tmp_path / "out", schema={"f": kind}) as writer:
        writer.write({"f": 2**62 if kind == "int?" else 1.5 if kind == "float?" else [1, 2]})
        writer.write({"f": None if kind.endswith("?") else []})
    if not fits:
        with pytest.raises(errors.UsageError, match="does not hold"):
            shale.torch.Loader(tmp_path / "out", 2, pad={"f": fill})
        return
    column = next(iter(shale.torch.Loader(tmp_path / "out", 2, pad={"f": fill})))["f"]
    assert column[0].tolist() == (2**62 if kind == "int?" else 1.5 if kind == "float?" else [1, 2])
    assert column[1].tolist() == (fill if kind.endswith("?") else [fill, fill])


def test_json_comes_back_as_json(tmp_path):
    values = [{"a": [1, None]}, [], "x", '"x"', "1"]
    with Writer(tmp_path / "out", schema={"f": "json"}) as writer:
        for value in values:
            writer.write({"f": json.dumps(value) if isinstance(value, str) else value})
    assert [json.loads(sample["f"]) for sample in Dataset(tmp_path / "out")] == values
