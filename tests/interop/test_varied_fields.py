"""Fields whose samples differ in shape or lack the value, lists of text and JSON: written by shale.Writer, read by shale.Dataset and the loader."""

import json
import pickle
import typing

import numpy as np
import pytest
import xxhash
from conftest import run_shale
from dataset_reading import file_hash
from PIL import Image

shale_package = pytest.importorskip("shale")
from shale import Dataset, Writer, errors, from_iterable

TYPES = {
    "boxes": "float32 (?, 4)",
    "tokens": "uint16 (?)",
    "cube": "int64 (?, 2, ?)",
    "words": "list of text",
    "meta": "json",
    "caption": "text?",
    "label": "integer?",
    "score": "float32?",
    "wave": "float64 (?)?",
    "frames": "list?",
    "photo": "bytes?",
    "fixed": "uint8 (2, 3)?",
    "crowd": "integer",
}


def varied(number):
    there = number % 3 != 1
    return {
        "boxes": np.full((number % 4, 4), number, "f4"),
        "tokens": np.arange(number * 7 % 50, dtype="u2"),
        "cube": np.full((number % 2, 2, number % 3), -number),
        "words": ["wörd"] * (number % 3),
        "meta": json.dumps({"number": number, "none": None}),
        "caption": f"№ {number}" if there else None,
        "label": -number if there else None,
        "score": number / 2 if number % 2 else None,
        "wave": np.linspace(0, 1, number) if there else None,
        "frames": [b"", b"f" * number] if there else None,
        "photo": b"p" * number if number % 2 else None,
        "fixed": np.full((2, 3), number, "u1") if there else None,
        "crowd": number,
    }


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, np.ndarray):
            assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape), name
            assert np.array_equal(found[name], value), name
        else:
            assert found[name] == value and type(found[name]) is type(value), name


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("varied")
    for to in ("record", "lmdb"):
        from_iterable(map(varied, range(40)), folder / to, to, TYPES, shard_samples=15, verify=True)
    return folder


@pytest.mark.parametrize("to", ["record", "lmdb"])
def test_samples_come_back_as_they_were(sets, to):
    ds = Dataset(sets / to)
    assert ds.types == TYPES and f"boxes ({TYPES['boxes']})" in repr(ds)
    assert ds.schema["boxes"] == {"kind": "tensor", "dtype": "<f4", "shape": (None, 4)}
    assert ds.schema["caption"] == {"kind": "text", "optional": True} and ds.schema["words"] == {"kind": "list", "elements": "text"}
    for number, found in enumerate(pickle.loads(pickle.dumps(ds))):
        assert found.pop("key") == f"{number:08}"
        assert_same(found, varied(number))
    run_shale("verify", sets / to, "--deep")


@pytest.mark.parametrize("schema", ["types", "schema"])
def test_what_a_dataset_says_of_its_fields_is_a_schema(sets, tmp_path, schema):
    ds = Dataset(sets / "record", fields=list(TYPES))
    written = from_iterable(ds, tmp_path / "again", "lmdb", getattr(ds, schema))
    assert written.ordered_digest == ds.info.ordered_digest and Dataset(tmp_path / "again").types == TYPES


def test_columns_have_None_where_a_value_is_absent(sets):
    ds, expected = Dataset(sets / "record"), list(map(varied, range(40)))
    for name in ("label", "score", "caption", "photo"):
        assert ds.column(name).tolist() == [each[name] for each in expected], name
    assert ds.column("crowd").dtype == "<i8" and ds.column("label.present").tolist() == [number % 3 != 1 for number in range(40)]
    assert all(map(np.array_equal, ds.column("tokens"), (each["tokens"] for each in expected)))
    assert ds.column("boxes.shape").tolist() == [[number % 4, 4] for number in range(40)]
    assert Dataset(sets / "record", indices=[1, 0]).column("label").tolist() == [None, 0]


def test_elements_of_lists_of_text_are_text(sets):
    ds = Dataset(sets / "record", lazy="words", decode="pil", fields=["words", "crowd"])
    assert ds[5]["words"][1] == "wörd" and list(ds[5]["words"]) == ds[5]["words"][:] == ["wörd"] * 2
    assert Dataset(sets / "lmdb", select={"words": lambda count, rng: range(count)})[2]["words"] == ["wörd"] * 2
    with pytest.raises(errors.UsageError, match="decode names 'words', which is not a field of kind bytes or list"):
        Dataset(sets / "record", decode={"words": "pil"})


@pytest.mark.parametrize("sides", [(2**62, 4), (0, 4), (3, 5), (0, 2**63), (2**64 - 1, 4), (2**31, 2**31)])
def test_a_shape_that_the_bytes_do_not_have_is_damage(tmp_path, sides):
    from_iterable([{"x": np.zeros((3, 4), "f4")}], tmp_path / "out", schema={"x": "float32 (?, ?)"})
    index = tmp_path / "out/shard-000000.index.npy"
    rows, before = np.load(index), file_hash(index)
    rows["x.shape"] = sides
    np.save(index, rows)
    with pytest.raises(errors.DamagedError, match=r"the index gives field 'x' the shape \(.*\) and 48 bytes, but it is float32 \(\?, \?\)") as caught:
        Dataset(tmp_path / "out", verify=False)[0]
    assert caught.value.sample == 0 and caught.value.file.endswith(".tfrecord")
    manifest = tmp_path / "out/dataset.json"
    text = manifest.read_text().replace(before, file_hash(index))
    at = text.rindex('"hash": "') + len('"hash": "')
    manifest.write_text(text[:at] + xxhash.xxh3_128_hexdigest((text[:at] + text[at + 32 :]).encode()) + text[at + 32 :])
    assert b"the index gives field 'x' the shape" in run_shale("convert", tmp_path / "out", tmp_path / "again", "--to", "record", code=3).stderr


# ---- the names that people have for types


@pytest.mark.parametrize(
    "kind, value, found",
    [
        ("jpeg", b"\xff\xd8", "bytes"),
        ("str?", None, "text?"),
        ("json", {"a": [1, None]}, "json"),
        (dict, [1], "json"),
        ("list[int]", [3, 1], "int64 (?)"),
        ("list[float32]", (0.1, 2), "float32 (?)"),
        (list[str], ["a"], "list of text"),
        (typing.List[int], [], "int64 (?)"),
        (typing.Optional[float], None, "real?"),
        (typing.Optional[typing.Sequence[bytes]], [b""], "list?"),
        ("np.float32", 1.5, "float32"),
        (np.float32, 1.5, "float32"),
        ("float32 (?, 4)", [], "float32 (?, 4)"),
        (("float32", (None, 4)), [[1, 2, 3, 4]], "float32 (?, 4)"),
        (("float32", None), [1], "float32 (?)"),
        ("ndarray", np.zeros((2, 3), "u2"), "uint16 (?, ?)"),
        (np.ndarray, np.zeros(2), "float64 (?)"),
        ("ndarray?", np.zeros(2), "float64 (?)?"),
        ("string", "x", "text"),
        ("u1", 3, "uint8"),
    ],
)
def test_a_type_has_many_names(tmp_path, kind, value, found):
    from_iterable([{"x": value, "n": 1}], tmp_path / "out", schema={"x": kind, "n": int})
    ds = Dataset(tmp_path / "out")
    assert ds.types["x"] == found
    read = json.loads(ds[0]["x"]) if found == "json" else ds[0]["x"]
    assert np.array_equal(read, np.asarray(value, read.dtype).reshape(read.shape) if isinstance(read, np.ndarray) else value)


def test_the_first_sample_says_what_lists_and_dictionaries_are(tmp_path):
    sample = {"tokens": [1, 2], "words": ["a"], "frames": (b"",), "meta": {"a": 1}, "boxes": [[0.5] * 4]}
    from_iterable([sample], tmp_path / "out", schema="first")
    assert Dataset(tmp_path / "out").types == {
        "tokens": "int64 (?)",
        "words": "list of text",
        "frames": "list",
        "meta": "json",
        "boxes": "float64 (?, ?)",
    }
    for value, message in (([], "an empty list"), (None, "NoneType, expected"), ([1, "a"], "a list of several types")):
        with pytest.raises(errors.SchemaError, match=f"field 'x' of the first sample is {message}"), Writer(tmp_path / "no", schema="first") as writer:
            writer.write({"x": value})


def test_an_array_of_any_dtype_waits_for_the_first_sample(tmp_path):
    with Writer(tmp_path / "out", schema={"x": "ndarray", "n": "int?"}) as writer:
        with pytest.raises(errors.SchemaError, match="field 'x' of the first sample is missing, expected an array"):
            writer.write({"n": 1})
        writer.write({"x": np.zeros((2, 3), "f2"), "n": 1})
        with pytest.raises(errors.SchemaError, match=r"sample 1: field 'x' is an array of float32 \(1, 1\), expected an array of float16 \(\?, \?\)"):
            writer.write({"x": np.zeros((1, 1), "f4")})
        writer.write({"x": np.zeros((0, 9), "f2")})
    assert [(s["x"].shape, s["n"]) for s in Dataset(tmp_path / "out")] == [((2, 3), 1), ((0, 9), None)]


# ---- images


def test_images_are_encoded(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (9, 12, 3), "u1")
    picture = Image.fromarray(pixels)
    schema = {"best": "jpeg:95", "small": "jpeg:10?", "exact": "png", "web": "webp", "pil": "pil"}
    with Writer(tmp_path / "out", schema=schema) as writer:
        writer.write({"best": pixels, "exact": picture, "web": pixels, "pil": pixels[:, :, 0]})
        writer.write({"best": picture, "small": pixels, "exact": pixels, "web": picture, "pil": b"as it is"})
        for value, message in (
            (pixels.transpose(2, 0, 1), r"an array of uint8 \(3, 9, 12\), expected an image"),
            (pixels.astype("f4"), r"an array of float32 \(9, 12, 3\), expected an image"),
            (picture.convert("RGBA"), 'an image of mode RGBA, which JPEG does not hold\nhint: write image.convert."RGB".'),
            (5, "int, expected bytes"),
        ):
            with pytest.raises(errors.SchemaError, match=f"sample 2: field 'best' is {message}"):
                writer.write({"best": value, "exact": picture, "web": picture, "pil": picture})
    first, second = Dataset(tmp_path / "out", decode="unchanged", fields=["best", "exact", "web"]), Dataset(tmp_path / "out")
    assert np.array_equal(first[0]["exact"], pixels) and first[0]["best"].shape == first[1]["web"].shape == pixels.shape
    assert second[0]["small"] is None and len(second[1]["small"]) < len(second[1]["best"]) and second[1]["pil"] == b"as it is"
    assert second[0]["best"] == second[1]["best"]


# ---- in batches

torch = pytest.importorskip("torch")
from shale.torch import Loader


def lengths_of(name, batch):
    return [varied(number)[name].shape[0] for number in batch["crowd"].tolist()]


@pytest.mark.parametrize("to", ["record", "lmdb"])
@pytest.mark.parametrize("options", [{}, {"shuffle": "block", "seed": 3}, {"num_threads": 0}])
def test_varied_fields_are_lists_in_every_batch(sets, to, options):
    for batch in Loader(sets / to, 1, **options):
        number = int(batch["crowd"][0])
        expected = varied(number)
        for name in ("boxes", "tokens", "cube", "wave", "fixed"):
            (value,) = batch[name]
            assert value is None if expected[name] is None else torch.equal(value, torch.from_numpy(expected[name])), name
        assert batch["label"] == [expected["label"]] and batch["score"] == [expected["score"]]
        assert batch["words"] == [expected["words"]] and batch["frames"] == [expected["frames"]]
    tokens, label = next(iter(Loader(Dataset(sets / to, as_tuple=("tokens", "label")), 3)))
    assert [len(each) for each in tokens] == [0, 7, 14] and label == [0, None, -2]


def test_padded_fields_are_tensors_with_lengths(sets):
    loader = Loader(sets / "record", 8, shuffle=True, pad={"tokens": 9, "boxes": -1, "cube": 7, "wave": float("nan"), "label": -100, "score": 0, "fixed": 255})
    for batch in loader:
        numbers = batch["crowd"].tolist()
        assert batch["tokens"].dtype == torch.uint16 and batch["tokens"].shape == (8, max(lengths_of("tokens", batch)))
        assert batch["boxes"].shape == (8, max(lengths_of("boxes", batch)), 4) and batch["boxes_length"].tolist() == lengths_of("boxes", batch)
        assert batch["cube_length"].tolist() == [list(varied(number)["cube"].shape[::2]) for number in numbers]
        assert batch["label"].tolist() == [-number if number % 3 != 1 else -100 for number in numbers] and batch["label"].dtype == torch.int64
        assert batch["score"].tolist() == [number / 2 if number % 2 else 0 for number in numbers] and batch["score"].dtype == torch.float64
        for place, number in enumerate(numbers):
            expected, length = varied(number), batch["wave_length"][place]
            assert batch["wave_length"].dtype == torch.int64 and length == (-1 if expected["wave"] is None else number)
            assert torch.equal(batch["tokens"][place, : batch["tokens_length"][place]].int(), torch.from_numpy(expected["tokens"].astype("i4")))
            assert (batch["tokens"][place, batch["tokens_length"][place] :].int() == 9).all()
            assert batch["wave"][place, max(length, 0) :].isnan().all()
            assert batch["fixed"][place].tolist() == np.full((2, 3), 255 if expected["fixed"] is None else number).tolist()
    pair = next(iter(Loader(sets / "record", 4, as_tuple=("tokens_length", "tokens"), pad={"tokens": 0})))
    assert pair[0].tolist() == [0, 7, 14, 21] and pair[1].shape == (4, 21)
    assert pickle.loads(pickle.dumps(loader)).state_dict() == loader.state_dict()


@pytest.mark.parametrize(
    "pad, message",
    [
        (["tokens"], "expected a mapping"),
        ({"token": 0}, "'token', which is not a field; the fields are key, boxes"),
        ({"words": 0}, "'words' of kind list"),
        ({"tokens": "0"}, "'0', expected a number"),
        ({"tokens": -100}, "-100, which uint16 does not hold; let a transform"),
    ],
)
def test_what_cannot_be_padded_is_refused(sets, pad, message):
    with pytest.raises(errors.UsageError, match=message):
        Loader(sets / "record", 4, pad=pad)
    with pytest.raises(errors.UsageError, match="pass as_tuple to the loader"):
        Loader(Dataset(sets / "record", as_tuple=("tokens",)), 4, pad={"tokens": 0})


def test_nested_tensors_hold_what_has_one_free_side(sets):
    for batch in Loader(sets / "lmdb", 16, ragged="nested"):
        for name in ("tokens", "boxes"):
            assert batch[name].is_nested and batch[name].layout == torch.jagged
            assert batch[name].offsets().diff().tolist() == lengths_of(name, batch)
            expected = np.concatenate([varied(number)[name] for number in batch["crowd"].tolist()])
            assert np.array_equal(batch[name].values().numpy(), expected)
        assert isinstance(batch["cube"], list) and isinstance(batch["wave"], list)


def test_what_a_transform_makes_of_one_shape_is_stacked(sets):
    def cut(sample):
        return {**sample, "tokens": np.resize(sample["tokens"], 5), "label": sample["label"] or 0}

    def own(sample):
        return {"tokens": np.arange(sample["crowd"]), "n": sample["crowd"]}

    for batch in Loader(sets / "record", 4, transform=cut):
        assert batch["tokens"].shape == (4, 5) and batch["label"].shape == (4,) and isinstance(batch["boxes"], list)
    assert next(iter(Loader(Dataset(sets / "record", transform=cut), 4)))["tokens"].shape == (4, 5)
    batch = next(iter(Loader(sets / "record", 4, transform=own, pad={"tokens": 1})))
    assert batch["tokens"].tolist() == [[1, 1, 1], [0, 1, 1], [0, 1, 1], [0, 1, 2]] and batch["tokens_length"].tolist() == [0, 1, 2, 3]


def test_lists_of_text_are_shown_string_by_string(tmp_path):
    out = tmp_path / "out"
    from_iterable([{"words": ["a", "b\nc", ""], "frames": [b"xx", b"y"]}, {"words": [], "frames": []}], out, "record", {"words": "list[str]", "frames": "list[bytes]"})
    assert run_shale("cat", out, "0").stdout == b"a\nb\nc\n\n"
    assert run_shale("cat", out, "0", "--element", "1").stdout == b"b\nc"
    assert run_shale("cat", out, "0", "--field", "frames").stdout == b"xxy"
    facts = json.loads(run_shale("cat", out, "0", "--json").stdout)["fields"]
    assert facts["words"]["values"] == ["a", "b\\nc", ""] and "values" not in facts["frames"]
    rows = json.loads(run_shale("ls", out, "--json").stdout)["rows"]
    assert [row["bytes"] for row in rows] == [4 + 3, 0]
    assert json.loads(run_shale("info", out, "--json").stdout)["bytes"] == 7


def test_only_fixed_rows_are_drawn_and_the_hint_names_what_draws_others(tmp_path):
    from_iterable(map(varied, range(4)), tmp_path / "out", "record", TYPES)
    refused = run_shale("resample", tmp_path / "out", tmp_path / "drawn", "--seed", "1", "--to", "record", code=1).stderr.decode()
    assert "its samples are not stored as rows of one size, and only such rows can be drawn" in refused and "shale convert --shuffle" in refused
    run_shale("convert", tmp_path / "out", tmp_path / "shuffled", "--shuffle", "--seed", "1", "--to", "record")
    assert sorted(sample["crowd"] for sample in Dataset(tmp_path / "shuffled")) == [0, 1, 2, 3]


def test_nested_leaves_dates_a_list(tmp_path):
    with Writer(tmp_path / "set", schema={"when": "datetime64[s] (?)", "x": "float32 (?)"}) as writer:
        for number in range(3):
            writer.write({"when": np.zeros(number, "M8[s]"), "x": np.zeros(number, np.float32)})
    batch = next(iter(Loader(tmp_path / "set", 3, ragged="nested")))
    assert [len(each) for each in batch["when"]] == [0, 1, 2]
    assert batch["x"].layout == torch.jagged
