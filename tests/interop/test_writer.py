"""shale.Writer: the bytes that the program writes, read by the readers of each container, and nothing left behind when it goes wrong."""

import filecmp
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import run_shale
from documented_code import blocks_of, bytes_left_by
from PIL import Image

shale_package = pytest.importorskip("shale")
from shale import Dataset, Writer, errors, from_iterable

MIB = 1 << 20
PHOTO = {"image": "bytes", "label": "int"}


def names_in(folder):
    return sorted(path.name for path in pathlib.Path(folder).iterdir())


def photo_samples(photos):
    for label, folder in enumerate(sorted(photos.iterdir())):
        for path in sorted(folder.iterdir()):
            yield {"key": f"{folder.name}/{path.name}", "image": path.read_bytes(), "label": label}


def manifest_of(folder):
    return json.loads((folder / "dataset.json").read_text())


# ---- the bytes of the program


@pytest.mark.parametrize("to", ["record", "lmdb", "hdf5", "parquet"])
def test_a_writer_writes_the_bytes_of_a_conversion(photos, tmp_path, to):
    run_shale("convert", photos, tmp_path / "converted", "--to", to, "--shard-size", "1300KiB", "--quiet")
    classes = names_in(photos)
    written = from_iterable(photo_samples(photos), tmp_path / "written", to, PHOTO, classes=classes, shard_size="1300KiB", verify=True)
    expected, found = manifest_of(tmp_path / "converted"), manifest_of(tmp_path / "written")
    assert found["classes"] == expected["classes"] and found["digest"] == expected["digest"]
    assert found["shards"] == expected["shards"] and written.shards == len(found["shards"]) > 1
    assert {name for name in expected if found.get(name) != expected[name]} <= {"options", "source", "images", "files", "hash", "self_hash"}
    for name in names_in(tmp_path / "written"):
        if name != "dataset.json":
            assert filecmp.cmp(tmp_path / "written" / name, tmp_path / "converted" / name, shallow=False), name
    assert written.content_digest == expected["digest"]["content"] and written.ordered_digest == expected["digest"]["ordered"]
    run_shale("verify", tmp_path / "written", "--deep")


@pytest.mark.parametrize("name", ["train.lmdb", "train.h5", "train.tfrecord", "train.parquet"])
def test_a_suffix_makes_it_the_one_file_of_a_conversion(photos, tmp_path, name):
    run_shale("convert", photos, tmp_path / name, "--quiet")
    written = from_iterable(photo_samples(photos), tmp_path / f"w-{name}", schema=PHOTO, classes=names_in(photos), with_index=True)
    assert written.shards == 1 and written.samples == 61
    assert filecmp.cmp(tmp_path / name, tmp_path / f"w-{name}", shallow=False)
    assert Dataset(tmp_path / f"w-{name}")[60]["image"] == (photos / "n02" / names_in(photos / "n02")[-1]).read_bytes()


def test_to_must_agree_with_the_suffix(tmp_path):
    with pytest.raises(errors.UsageError, match="to lmdb for an output that is one hdf5 file"):
        Writer(tmp_path / "a.h5", "lmdb", PHOTO)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("name", ["train.tfrecords", "train.arrow", "x.zip", "x.csv", "x.LMDB"])
def test_a_suffix_of_no_format_is_refused_as_a_conversion_refuses_it(photos, tmp_path, name):
    converted = run_shale("convert", photos, tmp_path / name, code=2).stderr.decode()
    with pytest.raises(errors.UsageError, match="no format was chosen, and none has the suffix ") as caught:
        Writer(tmp_path / name, schema=PHOTO)
    assert converted.replace("--to", "to") == f"shale: {caught.value}\n" and names_in(tmp_path) == []
    from_iterable([{"image": b"", "label": 0}], tmp_path / name, "record", PHOTO)


def test_jobs_memory_and_batches_change_nothing(tmp_path):
    def write(name, **options):
        samples = ({"key": f"k{n}", "x": bytes([n % 256]) * (n * 37 % 5000)} for n in range(3000))
        return from_iterable(samples, tmp_path / name, schema={"x": "bytes"}, shard_samples=1300, **options)

    assert write("a", jobs=1, memory="16MiB").ordered_digest == write("b", jobs=4, io="buffered").ordered_digest
    for name in names_in(tmp_path / "a"):
        assert filecmp.cmp(tmp_path / "a" / name, tmp_path / "b" / name, shallow=False), name


# ---- what real readers find

EVERY_KIND = {
    "image": "bytes",
    "caption": "str",
    "label": "int",
    "score": float,
    "frames": "list",
    "depth": ("uint16", (2, 3)),
    "small": ("int8", ()),
}


def every_kind(number):
    return {
        "image": bytes([number]) * number,
        "caption": f"ein Bild № {number}",
        "label": -number,
        "score": number / 7,
        "frames": [b"a" * number, b""],
        "depth": np.full((2, 3), number, "u2"),
        "small": number,
    }


@pytest.mark.parametrize("schema", [EVERY_KIND, "first"])
def test_samples_of_every_kind_come_back(tmp_path, schema):
    first = every_kind(0) | {"small": np.int8(0)}
    from_iterable([first, *map(every_kind, range(1, 20))], tmp_path / "out", schema=schema)
    dataset = Dataset(tmp_path / "out")
    for number in range(20):
        found, expected = dataset[number], every_kind(number)
        assert found.pop("key") == f"{number:08}"
        assert np.array_equal(found.pop("depth"), expected.pop("depth"))
        assert found == expected


def test_lmdb_reads_what_was_written(tmp_path):
    lmdb, msgpack = pytest.importorskip("lmdb"), pytest.importorskip("msgpack")
    with Writer(tmp_path / "x.lmdb", schema={"t": "str", "n": "int"}) as writer:
        writer.write({"key": "a", "t": "text", "n": 7})
    with lmdb.open(str(tmp_path / "x.lmdb"), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        ((_, value),) = txn.cursor()
        assert msgpack.unpackb(value) == {"key": b"a", "t": "text", "n": 7} or msgpack.unpackb(value)["t"] == "text"


def test_h5py_and_numpy_read_rows_of_one_size(tmp_path):
    h5py = pytest.importorskip("h5py")
    rows = [{"x": np.full((2, 2), n, "f4"), "y": n, "s": n / 3} for n in range(500)]
    schema = {"x": ("float32", (2, 2)), "y": ("int32", ()), "s": ("float32", ())}
    from_iterable(rows, tmp_path / "x.h5", schema=schema)
    with h5py.File(tmp_path / "x.h5") as file:
        assert file["x"].shape == (500, 2, 2) and file["y"].dtype == "<i4"
        assert np.array_equal(file["s"][:], (np.arange(500) / 3).astype("f4"))
    written = from_iterable(rows, tmp_path / "npy", "npy", schema)
    assert np.array_equal(np.load(tmp_path / "npy/shard-000000.x.npy"), np.stack([row["x"] for row in rows]))
    assert written.keys_digest is None
    from_iterable(({"x": row["x"]} for row in rows), tmp_path / "x.npy", schema={"x": ("f4", (2, 2))})
    assert np.array_equal(np.load(tmp_path / "x.npy")[499], rows[499]["x"])


def test_tfrecord_reads_what_was_written(tmp_path):
    reader = pytest.importorskip("tfrecord.reader")
    from_iterable([{"image": b"\xff\xd8", "label": 3}], tmp_path / "x.tfrecord", schema=PHOTO)
    (found,) = reader.tfrecord_loader(str(tmp_path / "x.tfrecord"), None, {"image": "byte", "label": "int"})
    assert bytes(found["image"]) == b"\xff\xd8" and found["label"][0] == 3


# ---- samples that do not fit

BAD = {
    "a dict": (7, "a sample is int"),
    "missing": ({"image": b""}, "field 'label' is missing, expected int"),
    "extra": ({"image": b"", "label": 0, "lable": 1}, "'lable' is not a field of the schema"),
    "str for bytes": ({"image": "x", "label": 0}, "field 'image' is str, expected bytes"),
    "None": ({"image": None, "label": 0}, "field 'image' is None, expected bytes"),
    "float for int": ({"image": b"", "label": 1.0}, "field 'label' is float, expected int"),
    "large": ({"image": b"", "label": 2**63}, "field 'label' is 9223372036854775808, expected"),
    "wide": ({"image": np.zeros(3), "label": 0}, r"field 'image' is an array of float64 \(3,\), expected bytes"),
    "key": ({"image": b"", "label": 0, "key": 5}, "the key is int, expected str or bytes"),
    "empty key": ({"image": b"", "label": 0, "key": ""}, "the key is empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_sample_that_does_not_fit_is_named_and_left_out(tmp_path, case):
    sample, message = BAD[case]
    with Writer(tmp_path / "out", schema=PHOTO) as writer:
        writer.write({"image": b"first", "label": 1})
        with pytest.raises(errors.SchemaError, match=message) as caught:
            writer.write(sample)
        assert caught.value.sample == 1 and "sample 1" in str(caught.value)
        writer.write({"image": b"second", "label": 2})
    assert [s["image"] for s in Dataset(tmp_path / "out")] == [b"first", b"second"]


ODD_VALUES = [
    ("x", "str", "\ud800", "str with surrogates, expected valid Unicode"),
    ("x", "int", True, None),
    ("x", "int", np.uint8(3), None),
    ("x", "int", np.bool_(True), None),
    ("x", ("bool", ()), np.bool_(True), None),
    ("x", ("bool", ()), 2, "2"),
    ("x", "float", float("nan"), None),
    ("x", "float", 3, None),
    ("x", "float", "3", "is str, expected float"),
    ("x", "bytes", bytearray(b"a"), None),
    ("x", "bytes", np.frombuffer(b"ab", "u1"), None),
    ("x", "list", b"ab", "is bytes, expected a list of bytes"),
    ("x", "list", [b"a", "b"], "is str, expected a list of bytes"),
    ("x", ("u1", ()), 256, "256"),
    ("x", ("f4", ()), 1e300, "1e.300"),
    ("x", ("f4", ()), float("-inf"), None),
    ("x", ("f4", ()), 0.5, None),
    ("x", ("i4", (3,)), np.zeros(3, "i8"), r"array of int64 \(3,\), expected an array of int32 \(3,\)"),
    ("x", ("i4", (3,)), np.zeros((3, 1), "i4"), r"array of int32 \(3, 1\), expected an array of int32 \(3,\)"),
    ("x", ("i4", (3,)), np.arange(3, dtype=">i4"), None),
    ("x", ("i4", (3,)), np.arange(6, dtype="i4")[::2], None),
    ("x", ("i4", (2, 3)), np.asfortranarray(np.arange(6, dtype="i4").reshape(2, 3)), None),
    ("x", ("i4", (3,)), np.ma.masked_array(np.zeros(3, "i4"), [0, 0, 1]), "is a masked array"),
    ("x", ("i4", (3,)), [1, 2, 3], None),
    ("x", ("i4", (3,)), [1, 2], r"is an array of int32 \(2,\), expected an array of int32 \(3,\)"),
    ("x", ("i4", (3,)), [1, 2.5, 3], "is a list of floats, expected"),
    ("x", "list[uint8]", [1, 256], "is a list of numbers from 1 to 256, expected an array of uint8"),
    ("x", "list[float32]", [1e300], "is a list with 1e.300, expected"),
    ("x", "list[int]", [[1], [2, 3]], "is a list whose rows differ in length"),
    ("x", "list[int]", ["a"], "is a list of other things than numbers"),
    ("x", "list[int]", 5, r"is int, expected an array of int64 \(\?\)"),
    ("x", "float32 (?, 4)", np.zeros((2, 5), "f4"), r"array of float32 \(2, 5\), expected an array of float32 \(\?, 4\)"),
    ("x", "list[str]", ["a", b"b"], "is bytes, expected a list of str"),
    ("x", "json", "{", "is a string that is not taken as JSON: it does not parse at byte 1, expected JSON"),
    ("x", "json", {"a": float("nan")}, "is dict, expected what json.dumps takes: Out of range float values"),
    ("x", "json", None, "is None, expected JSON"),
    ("x", "str?", 5, "is int, expected str"),
    ("x", ("M8[s]", (2,)), np.array([1, 2], "M8[s]"), None),
    ("x", ("c8", ()), np.complex64(1j), None),
]


@pytest.mark.parametrize("name, kind, value, message", ODD_VALUES)
def test_odd_values(tmp_path, name, kind, value, message):
    with Writer(tmp_path / "out", schema={name: kind}) as writer:
        if message is None:
            writer.write({name: value})
        else:
            with pytest.raises(errors.SchemaError, match=message):
                writer.write({name: value})
    if message is None:
        (found,) = Dataset(tmp_path / "out")
        assert np.array_equal(np.asarray(found[name]), np.asarray(value), equal_nan=kind == "float") or found[name] == bytes(value)


def test_labels_are_indices_or_names_of_the_classes(tmp_path):
    with Writer(tmp_path / "out", schema=PHOTO, classes=["cat", "dog"]) as writer:
        writer.write({"image": b"", "label": "dog"})
        writer.write({"image": b"", "label": 0})
        for label in (2, -1, "bird"):
            with pytest.raises(errors.SchemaError, match="field 'label' is"):
                writer.write({"image": b"", "label": label})
    dataset = Dataset(tmp_path / "out")
    assert [s["label"] for s in dataset] == [1, 0] and list(dataset.classes) == ["cat", "dog"]


def test_the_schema_of_the_first_sample_is_held(tmp_path):
    with Writer(tmp_path / "out", schema="first") as writer:
        writer.write({"x": 1})
        with pytest.raises(errors.SchemaError, match="field 'x' is float, expected int"):
            writer.write({"x": 1.5})
    with pytest.raises(errors.SchemaError, match="no sample was written"), Writer(tmp_path / "none", schema="first"):
        pass
    assert names_in(tmp_path) == ["out"]


def test_two_samples_of_one_key_leave_no_dataset(tmp_path):
    with pytest.raises(errors.SchemaError, match="the key is not unique"), Writer(tmp_path / "out", schema=PHOTO) as writer:
        for _ in range(2):
            writer.write({"key": "twice", "image": b"", "label": 0})
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    "kind, value, dtype",
    [("int32", 7, "<i4"), (np.float32, 0.5, "<f4"), ("float64", 0.5, "<f8"), (bool, True, "|b1"), ("np.float32", 0.5, "<f4"), ("numpy.int16", 3, "<i2")],
)
def test_a_dtype_alone_is_a_number(tmp_path, kind, value, dtype):
    from_iterable([{"x": value}], tmp_path / "out", "npy", {"x": kind})
    assert Dataset(tmp_path / "out")[0]["x"] == value and Dataset(tmp_path / "out").schema["x"]["dtype"] == dtype


def test_dtypes_of_torch_are_what_they_are_to_torch_by_name_too(tmp_path):
    """To NumPy, "float" and "int" have 64 bits."""
    torch = pytest.importorskip("torch")
    names = ("bool", "cfloat", "double", "float", "float16", "float32", "half", "int", "int16", "long", "short", "uint8")
    schema = {f"{name}_{way}": (given, (2,)) for name in names for way, given in (("text", f"torch.{name}"), ("itself", getattr(torch, name)))}
    sample = {f"{name}_{way}": torch.ones(2, dtype=getattr(torch, name)) for name in names for way in ("text", "itself")}
    from_iterable([sample], tmp_path / "out", "npy", schema)
    for name, value in Dataset(tmp_path / "out")[0].items():
        assert name == "key" or value.dtype == sample[name].numpy().dtype


@pytest.mark.parametrize(
    "kind, hint",
    [
        ("pickle", "pickle.dumps"),
        ("label", "'int'"),
    ],
)
def test_names_that_other_writers_have_for_kinds_get_a_hint(tmp_path, kind, hint):
    with pytest.raises(errors.UsageError, match=f"(?s)field 'x' of the schema .*hint: .*{hint}"):
        Writer(tmp_path / "out", schema={"x": kind})


@pytest.mark.parametrize("schema", [{"x": ("float32", (2,)), "n": "int"}, "first"])
def test_tensors_that_numpy_cannot_have_are_named(tmp_path, schema):
    torch = pytest.importorskip("torch")
    odd = [
        (torch.zeros(2, requires_grad=True), "of torch.float32 that requires grad, .*hint: write tensor.detach"),
        (torch.zeros(2, device="meta"), "on meta, .*hint: its elements are nowhere"),
        (torch.zeros(2).to_sparse(), "of torch.float32, .*hint: write tensor.to_dense"),
    ]
    with Writer(tmp_path / "out", schema=schema) as writer:
        for value, message in odd:
            with pytest.raises(errors.SchemaError, match=f"(?s)sample {writer.samples}: field 'x' is a tensor {message}"):
                writer.write({"n": 1, "x": value})
            writer.write({"x": torch.ones(2), "n": 1})
    assert len(Dataset(tmp_path / "out")) == len(odd)


@pytest.mark.parametrize("keys", [True, False])
def test_samples_have_keys_or_none_as_it_was_asked(tmp_path, keys):
    for kind in ("int", "bytes"):
        from_iterable([{"x": 7 if kind == "int" else b"7"}] * 2, tmp_path / kind, schema={"x": kind}, keys=keys)
        assert [s["key"] for s in Dataset(tmp_path / kind)] == (["00000000", "00000001"] if keys else ["0", "1"])


@pytest.mark.parametrize("schema", [{"x": "bytes"}, {"x": "str"}, "first"])
def test_objects_get_a_hint_how_to_encode_them(tmp_path, schema):
    objects = [(Image.new("RGB", (2, 2)), "'jpeg' or 'png'"), ({"a": 1}, "'json'")]
    for value, hint in objects[: 1 if schema == "first" else 2]:
        with pytest.raises(errors.SchemaError, match=f"(?s)field 'x' .*expected .*hint: .*{hint}"), Writer(tmp_path / "out", schema=schema) as writer:
            writer.write({"x": value})


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "schema is missing"),
        ({"schema": {"x": "jpgg"}}, "field 'x' of the schema is 'jpgg', expected a type such as 'bytes'"),
        ({"schema": {"x": "jpeg:101"}}, "expected a quality from 1 to 100"),
        ({"schema": {"x": "png:9"}}, "expected no quality"),
        ({"schema": {"x": "list[list[int]]"}}, "field 'x' of the schema is 'list.list.int..'"),
        ({"schema": {"x": {"kind": "tensor"}}}, "field 'x' of the schema is .*expected a type"),
        ({"schema": {"x": ("object", (2,))}}, "holds Python objects"),
        ({"schema": {"x": None}}, "field 'x' of the schema is None, expected"),
        ({"schema": {"x": (None, (2,))}}, "field 'x' of the schema has dtype None"),
        ({"schema": {"x": ("f4", np.array([3, 4]))}}, "a side of the shape of field 'x' is .*, expected a whole number"),
        ({"schema": PHOTO, "classes": ["a", "a"]}, "classes names 'a' twice"),
        ({"schema": {"x": "int"}, "classes": ["a"]}, "int field 'label'"),
        ({"schema": PHOTO, "to": "zip"}, "unknown format 'zip'"),
        ({"schema": PHOTO, "memory": "1MiB"}, "memory"),
        ({"schema": PHOTO, "jobs": 0}, "jobs"),
    ],
)
def test_arguments_are_checked_before_anything_is_written(tmp_path, options, message):
    with pytest.raises(errors.UsageError, match=message):
        Writer(tmp_path / "out", **options)
    assert names_in(tmp_path) == []


# ---- nothing is left behind


def test_the_working_directory_may_change(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with Writer("out", schema=PHOTO, shard_samples=10) as writer:
        write_some(writer, 25)
        monkeypatch.chdir(tmp_path / "elsewhere")
        write_some(writer, 25)
    assert writer.close().path == "out" and names_in(tmp_path) == ["elsewhere", "out"] and names_in(tmp_path / "elsewhere") == []
    assert len(Dataset(tmp_path / "out")) == 50


def test_a_first_sample_that_the_format_cannot_hold_is_refused(tmp_path):
    with Writer(tmp_path / "out", "npy", schema="first") as writer:
        with pytest.raises(errors.UnsupportedError, match="format 'npy' cannot hold field 'x' of kind bytes"):
            writer.write({"x": b"1"})
        writer.write({"x": 1})
    assert np.load(tmp_path / "out/shard-000000.x.npy") == [1]


def write_some(writer, count=200):
    for _ in range(count):
        writer.write({"image": b"x" * 50_000, "label": 1})


@pytest.mark.parametrize("out", ["out", "out.lmdb"])
@pytest.mark.parametrize("raised", [KeyError, KeyboardInterrupt])
def test_an_exception_in_the_block_leaves_nothing(tmp_path, out, raised):
    options = {} if "." in out else {"shard_samples": 10}
    with pytest.raises(raised), Writer(tmp_path / out, schema=PHOTO, **options) as writer:
        write_some(writer)
        raise raised
    assert names_in(tmp_path) == []
    with pytest.raises(errors.UsageError, match="closed"):
        writer.write({"image": b"", "label": 0})
    with pytest.raises(errors.UsageError, match="closed"), writer:
        pass


def test_a_writer_that_is_dropped_leaves_nothing(tmp_path):
    writer = Writer(tmp_path / "out", schema=PHOTO, shard_samples=10)
    write_some(writer)
    del writer
    assert names_in(tmp_path) == []


def test_an_iterable_that_raises_leaves_nothing(tmp_path):
    def samples():
        yield {"image": b"", "label": 0}
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        from_iterable(samples(), tmp_path / "out", schema=PHOTO)
    assert names_in(tmp_path) == []


def test_a_dataset_is_replaced_only_if_asked(tmp_path):
    from_iterable([{"image": b"old", "label": 0}], tmp_path / "out", schema=PHOTO)
    with pytest.raises(errors.MismatchError, match="already holds a finished dataset") as caught:
        Writer(tmp_path / "out", schema=PHOTO)
    assert "overwrite" in caught.value.hint and "--" not in caught.value.hint
    with pytest.raises(KeyError), Writer(tmp_path / "out", schema=PHOTO, overwrite=True) as writer:
        write_some(writer)
        raise KeyError
    assert Dataset(tmp_path / "out")[0]["image"] == b"old"
    from_iterable([{"image": b"new", "label": 0}], tmp_path / "out", schema=PHOTO, overwrite=True)
    assert Dataset(tmp_path / "out")[0]["image"] == b"new"


def run_python(code, folder, *words):
    return subprocess.run([sys.executable, "-c", code, *words], cwd=folder, capture_output=True, text=True)


WRITE_AND = """
import os, resource, signal, sys
import shale
writer = shale.Writer("out", schema={"image": "bytes", "label": "int"}, shard_samples=10)
for number in range(100):
    writer.write({"image": bytes(100_000), "label": number})
"""


def test_the_end_of_the_interpreter_leaves_nothing(tmp_path):
    assert run_python(WRITE_AND, tmp_path).returncode == 0
    assert names_in(tmp_path) == []


def test_a_killed_writer_is_cleared_by_the_next(tmp_path):
    killed = run_python(WRITE_AND + "os.kill(os.getpid(), signal.SIGKILL)", tmp_path)
    assert killed.returncode == -signal.SIGKILL and names_in(tmp_path / "out") == [".shale"]
    with pytest.raises(errors.MismatchError, match="unfinished.*\nhint: run the program that was writing it again"):
        Dataset(tmp_path / "out")
    from_iterable([{"image": b"", "label": 0}], tmp_path / "out", schema=PHOTO, shard_samples=10)
    run_shale("verify", tmp_path / "out")
    assert ".shale" not in names_in(tmp_path / "out")


def test_what_another_killed_writer_left_is_discarded_on_request(tmp_path):
    committed = "size = os.path.getsize('out/.shale/journal')\nwhile os.path.getsize('out/.shale/journal') == size: writer.write({'image': bytes(10), 'label': 1})\n"
    killed = run_python(WRITE_AND.replace("for number", committed + "for number") + "os.kill(os.getpid(), signal.SIGKILL)", tmp_path)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with pytest.raises(errors.MismatchError, match="(?s)holds an unfinished run of another command: .*hint: finish it first .*resume=True.*, or pass overwrite to discard it"):
        Writer(tmp_path / "out", schema=PHOTO, shard_samples=20)
    from_iterable([{"image": b"", "label": 0}], tmp_path / "out", schema=PHOTO, shard_samples=20, overwrite=True)


def test_a_full_disk_is_a_storage_error(tmp_path):
    code = (
        WRITE_AND.replace("import shale", "import shale\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)")
        + """
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    for number in range(10_000):
        writer.write({"image": bytes(100_000), "label": number})
    writer.close()
except shale.errors.StorageError as error:
    print("full", os.path.exists("out"))
"""
    )
    done = run_python(code, tmp_path)
    assert done.stdout == "full False\n", done.stderr
    assert names_in(tmp_path) == []


def test_a_signal_ends_a_write_that_waits(tmp_path):
    code = """
import os, signal, threading, shale
signal.setitimer(signal.ITIMER_REAL, 0.2, 0.05)
signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    with shale.Writer("out", schema={"x": "bytes"}, memory="16MiB", io="direct") as writer:
        while True:
            writer.write({"x": bytes(1 << 20)})
except KeyboardInterrupt:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("interrupted", os.path.exists("out"))
"""
    done = run_python(code, tmp_path)
    assert done.stdout == "interrupted False\n", done.stderr


def test_only_the_process_that_made_it_writes(tmp_path):
    with Writer(tmp_path / "out", schema=PHOTO) as writer:
        writer.write({"image": b"mine", "label": 0})
        pid = os.fork()
        if pid == 0:
            try:
                writer.write({"image": b"child's", "label": 0})
            except errors.UsageError as error:
                del writer
                os._exit(0 if "belongs to process" in str(error) else 1)
            os._exit(2)
        assert os.waitpid(pid, 0)[1] == 0
    assert [s["image"] for s in Dataset(tmp_path / "out")] == [b"mine"]


def test_several_threads_may_write(tmp_path):
    with Writer(tmp_path / "out", schema={"x": "bytes"}, memory="16MiB") as writer:

        def write(name):
            for number in range(200):
                writer.write({"key": f"{name}/{number:03}", "x": name.encode() * 20_000})

        threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(writer) == writer.samples == 800
    found = [s["key"] for s in Dataset(tmp_path / "out")]
    for name in "abcd":
        assert [key for key in found if key.startswith(name)] == [f"{name}/{number:03}" for number in range(200)]


def test_memory_is_the_budget(tmp_path):
    code = """
import resource, shale
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
with shale.Writer("out", schema={"x": "bytes", "n": "int"}, memory="64MiB") as writer:
    for number in range(4000):
        writer.write({"x": bytes(number % 200 * 1000), "n": number})
print(peak() - before)
"""
    done = run_python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= (64 + 64) * MIB


def test_a_value_larger_than_the_memory_is_written_from_where_it_is(tmp_path):
    code = """
import resource, shale
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
large = bytearray(b"large" * (40 << 20))
before = peak()
with shale.Writer("out", schema={"x": "bytes", "n": "int"}, to=FORMAT, memory="16MiB") as writer:
    writer.write({"x": b"first", "n": 0})
    writer.write({"x": large, "n": 1})
    writer.write({"x": b"third", "n": 2})
print(peak() - before)
"""
    for name in ("record", "lmdb", "hdf5"):
        (tmp_path / name).mkdir()
        done = run_python(code.replace("FORMAT", repr(name)), tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) <= (16 + 64) * MIB
        found = Dataset(tmp_path / name / "out")
        assert [(s["n"], len(s["x"])) for s in found] == [(0, 5), (1, 200 << 20), (2, 5)]
        assert found[1]["x"] == b"large" * (40 << 20)
        found.close()


@pytest.mark.parametrize("block", blocks_of(["docs/python.md"], "writer"))
def test_the_lines_in_the_document_write_a_dataset(block, dataset, tmp_path):
    assert b"second" in bytes_left_by(block, dataset, tmp_path)
