"""Arguments that are off get errors of shale, which say which argument, and never those of the bindings below."""

import io

import numpy as np
import pytest
from conftest import jpeg
from PIL import Image

package = pytest.importorskip("shale")
from shale import Dataset, _shale, decode_rgb8, errors, resample, torch

BAD_NAME = "\ud800"


@pytest.fixture(scope="module")
def ds(dataset):
    return Dataset(dataset)


REFUSED_BY_DATASET = {
    "a field twice": {"fields": ["image", "image"]},
    "the key twice": {"fields": ["key", "label", "key"]},
    "fields: a number": {"fields": 5},
    "fields: of numbers": {"fields": [5]},
    "fields: not Unicode": {"fields": [BAD_NAME]},
    "decode: a number": {"decode": 5},
    "decode: a list": {"decode": ["rgb8"]},
    "decode: of a list": {"decode": {"image": ["rgb8"]}},
    "transform: text": {"transform": "resize"},
    "cache: None": {"cache": None},
    "cache: not Unicode": {"cache": BAD_NAME},
    "cache: a list": {"cache": ["keep"]},
    "verify: a number": {"verify": 5},
    "verify: one": {"verify": 1},
    "verify: None": {"verify": None},
    "verify: another word": {"verify": "no"},
    "verify: auto in bytes": {"verify": b"auto"},
    "verify: an array of flags": {"verify": np.array([True, False])},
    "verify: an array of one flag": {"verify": np.array([True])},
    "parse: a number": {"parse": 5},
    "parse: an array": {"parse": np.array(["msgpack", "msgpack"])},
    "parse: another word": {"parse": "pickle"},
    "path: empty": {"path": ""},
    "path: a number": {"path": 5},
    "path: None": {"path": None},
    "path: not Unicode": {"path": BAD_NAME},
    "path: a zero byte": {"path": "out\0"},
    "path: an empty name in bytes": {"path": b""},
    "index_dir: empty": {"index_dir": ""},
    "index_dir: a number": {"index_dir": 5},
}


@pytest.mark.parametrize("more", REFUSED_BY_DATASET.values(), ids=REFUSED_BY_DATASET)
def test_arguments_of_a_dataset(dataset, more):
    """Findings C2 and C9. A field named twice was a segmentation fault."""
    with pytest.raises(errors.UsageError, match=next(iter(more))):
        Dataset(**{"path": dataset, **more})


def test_flags_are_those_of_python_and_of_numpy(dataset):
    """`verify=5` counted as True."""
    for given, kept in [("auto", "auto"), (True, True), (False, False), (np.True_, True), (np.bool_(False), False)]:
        assert Dataset(dataset, verify=given).verify is kept or given == "auto"
        assert Dataset(dataset, verify=given)[0]["label"] == 0
    for more in ({"verify": 5}, {"cache": None}, {"allow_empty": "no"}, {"allow_empty": np.array([True, False])}):
        with pytest.raises(errors.UsageError, match=next(iter(more))):
            torch.ImageFolder(dataset, **more)
    assert len(torch.ImageFolder(dataset, allow_empty=np.True_)) == 61


def test_one_field_may_be_named_alone(dataset):
    assert Dataset(dataset, "label")[7] == Dataset(dataset, iter(["label"]))[7] == Dataset(dataset, np.array(["label"]))[7]


def test_the_reader_below_checks_what_it_is_given(dataset):
    reader = _shale.Reader([bytes(dataset)], b"", "keep", False, None, None, "")
    for names, decodings, error in [
        (["image", "label"], [""], errors.UsageError),
        (["image"], ["", ""], errors.UsageError),
        (["image"], ["zz"], errors.UsageError),
        (["nothing"], [""], errors.NotFoundError),
    ]:
        with pytest.raises(error):
            reader.select(names, decodings)
    for row in (61, 2**63, 2**64 - 1):
        for look_up in (reader.key, reader.shard_name, lambda row: reader.read([row])):
            with pytest.raises(errors.NotFoundError):
                look_up(row)


@pytest.mark.parametrize("key", [5, None, BAD_NAME, "\udcff", ["n00"], 1.5, "", b"", bytearray(b"n00")], ids=repr)
def test_what_is_not_a_key_is_not_there(ds, key):
    with pytest.raises(KeyError):
        ds.find(key)


def test_a_column_is_asked_for_by_name(ds):
    for name in (5, None, b"label", BAD_NAME, "\udcff"):
        with pytest.raises(errors.UsageError, match="name"):
            ds.column(name)
    with pytest.raises(errors.NotFoundError, match="lable"):
        ds.column("lable")


def test_decode_rgb8_takes_any_buffer_and_refuses_the_rest(ds):
    content = jpeg(3)
    pixels = decode_rgb8(content)
    for same in (bytearray(content), memoryview(content), np.frombuffer(content, "u1"), memoryview(bytes(content + b"\0"))[:-1]):
        assert np.array_equal(decode_rgb8(same), pixels)
    for data, order in [("text", "hwc"), (5, "hwc"), (None, "hwc"), (content, "zz"), (content, ""), (content, None), (content, BAD_NAME)]:
        with pytest.raises(errors.UsageError, match="order|data"):
            decode_rgb8(data, order)
    for data in (b"", b"\xff\xd8\xff", b"PNG"):
        with pytest.raises(errors.ContentError):
            decode_rgb8(data)


ITERABLES = {
    "iterator": iter,
    "generator": lambda rows: (row for row in rows),
    "set": set,
    "dict": dict.fromkeys,
    "array": np.array,
    "range": lambda rows: range(rows[0], rows[-1] + 1),
}


@pytest.mark.parametrize("make", ITERABLES.values(), ids=ITERABLES)
def test_indices_come_from_any_iterable(tmp_path, make):
    """Findings C9: with some of them, an image that does not decode was a TypeError."""
    import lmdb

    picture = io.BytesIO()
    Image.new("RGB", (9, 9)).save(picture, "PNG")
    with lmdb.open(str(tmp_path / "f.lmdb"), subdir=False) as env, env.begin(write=True) as txn:
        for row in range(4):
            txn.put(b"%d" % row, picture.getvalue() if row < 3 else b"no image")
    ds = Dataset(tmp_path / "f.lmdb", decode={"value": "rgb8"})
    assert len(ds.__getitems__(make([0, 1, 2]))) == 3
    with pytest.raises(errors.ContentError) as caught:
        ds.__getitems__(make([1, 2, 3]))
    assert (caught.value.sample, caught.value.key) == (3, "3")


@pytest.mark.parametrize("rows", [["0"], [0.0], [None], [slice(1)], [np.ma.masked], np.array([[0]]), np.array([True]), 5])
def test_what_is_no_index_is_a_type_error_as_of_a_list(ds, rows):
    with pytest.raises(TypeError):
        ds.__getitems__(rows)


REFUSED_BY_RESAMPLE = {
    "fields: a number": {"fields": 5},
    "fields: of numbers": {"fields": [5]},
    "fields: none": {"fields": []},
    "fields: twice": {"fields": ["x", "x"]},
    "fields: not Unicode": {"fields": BAD_NAME},
    "also: pairs": {"also": [("a.npy", "b.npy")]},
    "also: of numbers": {"also": {5: 6}},
    "also: nothing": {"also": {"": "b.npy"}},
    "output: empty": {"output": ""},
    "output: a zero byte": {"output": "a\0.npy"},
    "source: empty": {"source": ""},
    "source: an empty name": {"source": ["", "x.npy"]},
    "source: a column without a name": {"source": {"": "x.npy"}},
    "source: a column of Unicode": {"source": {BAD_NAME: "x.npy"}},
    "replace: text": {"replace": "no"},
    "replace: None": {"replace": None},
    "permute: text": {"permute": "no"},
    "overwrite: a number": {"overwrite": 1},
    "dry_run: text": {"dry_run": "no"},
    "tmp: empty": {"tmp": ""},
    "save_indices: empty": {"save_indices": ""},
    "memory: not Unicode": {"memory": BAD_NAME},
    "memory: a fraction": {"memory": 2.5e9},
    "to: a number": {"to": 5},
    "to: not Unicode": {"to": BAD_NAME},
    "io: a number": {"io": 5},
    "jobs: text": {"jobs": "2"},
    "seed: negative": {"seed": -1},
    "indices: empty": {"indices": ""},
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(10))


@pytest.mark.parametrize("more", REFUSED_BY_RESAMPLE.values(), ids=REFUSED_BY_RESAMPLE)
def test_arguments_of_resample(here, tmp_path, more):
    with pytest.raises(errors.UsageError, match=next(iter(more))):
        resample(**{"source": "x.npy", "output": "out.npy", **more})
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_flags_of_numpy_are_flags(here):
    assert resample("x.npy", "out.npy", replace=np.True_, rows=3, dry_run=np.bool_(1)).rows == 3


@pytest.mark.parametrize("name", ["indices", "weights"])
def test_masked_arrays_are_refused(here, name):
    """Their masks were ignored."""
    with pytest.raises(errors.SchemaError, match=name):
        resample("x.npy", "out.npy", **{name: np.ma.array(np.arange(10), mask=[True] * 5 + [False] * 5)})


@pytest.mark.parametrize("output", ["run --v2.npy", "my --rows file.npy", "a --overwrite.npy", "--io.npy"])
def test_paths_in_messages_stay_as_they_are(here, output):
    """Findings C9: 'run --v2.npy' came out as 'run v2.npy'."""
    resample("x.npy", "./" + output)
    with pytest.raises(errors.MismatchError) as caught:
        resample("x.npy", "./" + output)
    assert "./" + output in str(caught.value)
    assert "--overwrite" not in str(caught.value).replace(output, "") and "overwrite" in str(caught.value).replace(output, "")
