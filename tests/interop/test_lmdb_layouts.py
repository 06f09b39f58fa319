"""LMDB files as the scripts of CoCLR, folder2lmdb and Caffe write them, made here by the same calls: what their readers find, shale finds."""

import io
import pickle
import random
import struct
from typing import Any, ClassVar

import msgpack
import numpy as np
import pytest
import shale
from conftest import run_shale
from lmdb_files import write_lmdb


def image(number):
    dice = random.Random(number)
    return b"\xff\xd8\xff" + dice.randbytes(dice.choice([30, 1990, 2030, 9000])) + b"\xff\xd9"


VIDEOS = {
    f"{name}/v_{name}_{clip}": [image(100 * clip + frame) for frame in range(clip % 4)]
    for name in ("Archery", "Biking", "Diving") for clip in range(1, 9)
}
# Some closer together than what is read at once, some not.
VIDEOS["Diving/v_Diving_9"] = [random.Random(size).randbytes(size) for size in (100_000, 300_000, 9, 262_000, 131_000, 1_000_000, 52_000, 0)]
IMAGES = [(image(number), number % 5) for number in range(140)]


def write_coclr(path, use_bin_type):
    """convert_video_to_lmdb.py; with msgpack 0.6 all was str (use_bin_type=False)."""
    def dumps(value):
        return msgpack.packb(value, use_bin_type=use_bin_type)

    names = sorted(VIDEOS)
    order = names[:]
    random.Random(0).shuffle(order)
    keys = [b"%09d" % order.index(name) for name in names]
    entries = {key: dumps(VIDEOS[name]) for key, name in zip(keys, names)}
    entries |= {b"__keys__": dumps(keys), b"__len__": dumps(len(keys)), b"__order__": dumps([name.encode() for name in order])}
    entries[b"__vlen__"] = dumps([len(VIDEOS[name]) for name in names])
    write_lmdb(path, entries)
    classes = sorted({name.split("/")[0] for name in names})
    return [(name, {"frames": VIDEOS[name], "label": classes.index(name.split("/")[0])}) for name in order]


def write_lyken(path):
    """folder2lmdb.py before pyarrow."""
    keys = [str(number).encode() for number in range(len(IMAGES))]
    entries = {key: msgpack.packb([{b"data": data}, label]) for key, (data, label) in zip(keys, IMAGES)}
    write_lmdb(path, entries | {b"__keys__": msgpack.packb(keys)})
    return [(key.decode(), {"image": data, "label": label}) for key, (data, label) in zip(keys, IMAGES)]


def varint(number):
    number &= 2**64 - 1
    rest = number >> 7
    return bytes([number & 127 | (128 if rest else 0)]) + (varint(rest) if rest else b"")


def datum(data, label, shape=None):
    """What protobuf makes of caffe.Datum."""
    sides = b"" if shape is None else b"".join(bytes([number << 3]) + varint(side) for number, side in enumerate(shape, 1))
    return sides + b"\x22" + varint(len(data)) + data + b"\x28" + varint(label) + (b"\x38\x01" if shape is None else b"\x38\x00")


def write_caffe(path):
    """convert_imageset --encoded."""
    entries = {b"%08d_c/%d.jpg" % (number, number): datum(data, label - 2) for number, (data, label) in enumerate(IMAGES)}
    write_lmdb(path, entries)
    return [(key.decode(), {"image": data, "label": label - 2}) for key, (data, label) in zip(entries, IMAGES)]


def write_caffe_pixels(path):
    """convert_imageset --resize_height=6 --resize_width=5."""
    pixels = np.random.default_rng(3).integers(0, 256, (40, 3, 6, 5), np.uint8)
    write_lmdb(path, {b"%08d_x" % number: datum(one.tobytes(), number, one.shape) for number, one in enumerate(pixels)})
    return [(f"{number:08}_x", {"image": one, "label": number}) for number, one in enumerate(pixels)]


def write_caffe_sizes(path):
    """convert_imageset without --resize_height."""
    pixels = [np.full((3, 1 + number % 5, 7 - number % 3), number, np.uint8) for number in range(30)]
    write_lmdb(path, {b"%08d_x" % number: datum(one.tobytes(), number, one.shape) for number, one in enumerate(pixels)})
    return [(f"{number:08}_x", {"image": one, "label": number}) for number, one in enumerate(pixels)]


@pytest.mark.parametrize("odd", [datum(b"", 7, (3, 6, 5)), datum(b"\xff\xd8\xff", 7), b"", b"text"])
def test_one_value_that_is_no_datum_of_the_same_kind_is_named(odd, tmp_path):
    entries = {b"%08d_x" % number: datum(bytes(75), number, (3, 5, 5)) for number in range(20)}
    write_lmdb(tmp_path / "x.lmdb", entries | {b"00000012_x": odd})
    done = run_shale("convert", tmp_path / "x.lmdb", tmp_path / "out", "--to", "record")
    assert b"read as plain entries; sample '00000012_x'" in done.stderr and b"layout caffe" in done.stderr


def write_pickled(path, values, protocol, more=(), digits="{}"):
    """folder2lmdb.py since pyarrow.serialize is gone, and tensorpack's LMDBSerializer."""
    keys = [digits.format(number).encode() for number in range(len(values))]
    meta = {b"__keys__": keys, b"__len__": len(keys)}
    entries = dict(zip(keys, (pickle.dumps(value, protocol) for value in values)))
    write_lmdb(path, entries | {name: pickle.dumps(meta[name], protocol) for name in (b"__keys__", *more)})
    return [key.decode() for key in keys]


def write_xunge(path, protocol):
    keys = write_pickled(path, IMAGES, protocol, [b"__len__"])
    return [(key, {"image": data, "label": label}) for key, (data, label) in zip(keys, IMAGES)]


def write_thecml(path, protocol):
    """Its values come from a DataLoader with batches of one."""
    keys = write_pickled(path, [([data], np.array([label])) for data, label in IMAGES], protocol, [b"__len__"])
    return [(key, {"image": data, "label": label}) for key, (data, label) in zip(keys, IMAGES)]


def write_tensorpack(path, protocol):
    """ILSVRC12Files through LMDBSerializer.save."""
    keys = write_pickled(path, [[np.frombuffer(data, np.uint8), label] for data, label in IMAGES], protocol, digits="{:08}")
    return [(key, {"image": data, "label": label}) for key, (data, label) in zip(keys, IMAGES)]


class Python2Pickler(pickle._Pickler):
    """Protocol 2 as cPickle of Python 2 wrote it: names and images alike are str, without a mark of which is text."""

    dispatch: ClassVar[Any] = dict(pickle._Pickler.dispatch)

    def save_string(self, value):
        content = value.encode() if isinstance(value, str) else value
        self.write((b"U%c" % len(content) if len(content) < 256 else b"T" + struct.pack("<i", len(content))) + content)
        self.memoize(value)

    dispatch[str] = dispatch[bytes] = save_string


def python2_pickle(value):
    into = io.BytesIO()
    Python2Pickler(into, 2).dump(value)
    return into.getvalue()


def write_python2(path, values, expected, more=(), digits="{}"):
    keys = [digits.format(number).encode() for number in range(len(values))]
    stored = [python2_pickle(value) for value in values]
    assert repr(pickle.loads(stored[0], encoding="bytes")) == repr(values[0])
    meta = {b"__keys__": python2_pickle(keys), b"__len__": python2_pickle(len(keys))}
    write_lmdb(path, dict(zip(keys, stored)) | {name: meta[name] for name in (b"__keys__", *more)})
    return [(key.decode(), one) for key, one in zip(keys, expected)]


OF_IMAGES = [{"image": data, "label": label} for data, label in IMAGES]


def write_xunge_python2(path):
    return write_python2(path, IMAGES, OF_IMAGES, [b"__len__"])


def write_thecml_python2(path):
    return write_python2(path, [([data], np.array([label])) for data, label in IMAGES], OF_IMAGES, [b"__len__"])


def write_tensorpack_python2(path):
    return write_python2(path, [[np.frombuffer(data, np.uint8), label] for data, label in IMAGES], OF_IMAGES, digits="{:08}")


def write_components(path):
    """A DataFlow of other components."""
    dice = np.random.default_rng(5)
    values = [[dice.integers(0, 256, (4, 6, 3), np.uint8), dice.random((2, 3), np.float32), np.float64(row / 3), np.int32(row - 5), f"t\u00e9xt {row}"]
              for row in range(30)]
    keys = write_pickled(path, values, 4, digits="{:08}")
    return [(key, {f"field{i}": one for i, one in enumerate(value)}) for key, value in zip(keys, values)]


def write_ragged(path, write=lambda path, values: write_pickled(path, values, 4, digits="{:08}")):
    """Boxes and token ids: as many as the sample has."""
    values = [[np.full((row % 4, 4), row, np.float32), np.arange(row * 7, dtype=np.uint16), row, np.ones((2, row % 3, 5), bool)] for row in range(30)]
    return [(key, {f"field{i}": one for i, one in enumerate(value)}) for key, value in zip(write(path, values), values)]


def of_numpy(value, kind=b""):
    """What msgpack_numpy 0.4.8 makes of arrays and scalars, re-created (its keys are bytes); 0.4.1 and before had no kind."""
    if isinstance(value, np.ndarray):
        described = {b"nd": True, b"type": value.dtype.str, b"kind": kind, b"shape": value.shape, b"data": value.tobytes()}
        return described if kind is not None else {key: one for key, one in described.items() if key != b"kind"}
    return {b"nd": False, b"type": value.dtype.str, b"data": value.tobytes()}


def write_packed(path, values, default=of_numpy):
    """LMDBSerializer of tensorpack 0.11 with TENSORPACK_SERIALIZE=msgpack: msgpack.dumps(use_bin_type=True), of values and of the list of keys."""
    keys = [b"%08d" % number for number in range(len(values))]
    stored = [value if isinstance(value, bytes) else msgpack.packb(value, default=default, use_bin_type=True) for value in values]
    write_lmdb(path, dict(zip(keys, stored)) | {b"__keys__": msgpack.packb(keys)})
    return [key.decode() for key in keys]


def write_packed_images(path, default=of_numpy):
    keys = write_packed(path, [[np.frombuffer(data, np.uint8), label] for data, label in IMAGES], default)
    return list(zip(keys, OF_IMAGES))


def write_packed_components(path):
    dice = np.random.default_rng(6)
    values = [[dice.integers(0, 256, (4, 6, 3), np.uint8), dice.random((2, 3), np.float32), np.float64(row / 3), np.int32(row - 5), f"t\u00e9xt {row}",
               image(row), row / 7, -row, np.zeros((0, 4), np.int16), np.uint8(200)] for row in range(30)]
    keys = write_packed(path, values)
    return [(key, {f"field{i}": one for i, one in enumerate(value)}) for key, value in zip(keys, values)]


LAYOUTS = {
    "tensorpack with msgpack": write_packed_images,
    "tensorpack with msgpack, before msgpack_numpy 0.4.2": lambda path: write_packed_images(path, lambda value: of_numpy(value, None)),
    "tensorpack with msgpack and other components": write_packed_components,
    "xunge of Python 3.7": lambda path: write_xunge(path, 3),
    "xunge": lambda path: write_xunge(path, 4),
    "thecml": lambda path: write_thecml(path, 4),
    "thecml of Python 3.14": lambda path: write_thecml(path, 5),
    "tensorpack": lambda path: write_tensorpack(path, pickle.HIGHEST_PROTOCOL),
    "tensorpack of Python 3.7": lambda path: write_tensorpack(path, 4),
    "xunge of Python 2": write_xunge_python2,
    "thecml of Python 2": write_thecml_python2,
    "tensorpack of Python 2": write_tensorpack_python2,
    "tensorpack with other components": write_components,
    "coclr": lambda path: write_coclr(path, True),
    "coclr of msgpack 0.6": lambda path: write_coclr(path, False),
    "lyken-old": write_lyken,
    "caffe": write_caffe,
    "caffe with pixels": write_caffe_pixels,
    "caffe with pixels of several sizes": write_caffe_sizes,
    "tensorpack with arrays of several shapes": write_ragged,
    "tensorpack with msgpack and arrays of several shapes": lambda path: write_ragged(path, write_packed),
}


@pytest.fixture(params=LAYOUTS)
def layout(request, tmp_path):
    file = tmp_path / "set.lmdb"
    return request.param.split()[0], file, LAYOUTS[request.param](file)


def check_samples(dataset, expected):
    assert len(dataset) == len(expected)
    for row, (key, values) in enumerate(expected):
        sample = dataset[row]
        assert sample["key"] == key
        for name, value in values.items():
            found = sample[name]
            if isinstance(value, np.ndarray):
                assert found.dtype == value.dtype and np.array_equal(found, value)
            else:
                assert ([bytes(one) for one in found] if isinstance(value, list) else found) == value, name


def test_it_is_recognized_and_read_as_its_own_reader_reads_it(layout):
    name, file, expected = layout
    assert shale.info(file).layout == name
    with shale.Dataset(file, fields=["key", *expected[0][1]]) as dataset:
        check_samples(dataset, expected)


def test_it_is_indexed_verified_and_converted(layout, tmp_path):
    name, file, expected = layout
    run_shale("index", file, "--crc")
    assert b"digests are correct" in run_shale("verify", "--deep", file).stdout
    run_shale("convert", file, tmp_path / "out", "--to", "record", "--parse", name)
    run_shale("verify", tmp_path / "out", "--against", file)
    with shale.Dataset(file, fields=["key", *expected[0][1]], verify=True) as dataset:
        check_samples(dataset, expected)


@pytest.mark.parametrize("value, found", [
    ([np.array([1], object), 1], "a dtype of numbers"),
    ([{b"nd": True, b"type": "<f4", b"kind": b"V", b"shape": [1], b"data": b"1234"}, 1], "one of plain numbers"),
    ([np.zeros(2, "<i4,<f4"), 1], "a dtype of numbers"),
    ([np.zeros(2, ">i4"), 1], "a dtype of numbers, little-endian"),
    ([{b"complex": True, b"data": "1j"}, 1], "expected an array or a number of NumPy"),
    ([{b"nd": True, b"type": "<f4", b"kind": b"", b"shape": [2], b"data": b"1234"}, 1], "one of its shape's size"),
    ([{b"nd": True, b"type": "<f4", b"kind": b"", b"shape": [-1], b"data": b"1234"}, 1], "the sides of an array"),
    ([{b"nd": True, b"type": "<f4", b"kind": b"", b"shape": [2**62, 2**62], b"data": b""}, 1], "more than 2^63 bytes"),
    ([{b"nd": False, b"type": "<f4", b"data": b"12345678"}, 1], "one of up to 64 bits"),
    ([{b"nd": False, b"type": "<U4", b"data": b"1234" * 4}, 1], "one of up to 64 bits"),
    ([[1, 2], 1], "expected bytes, a string, a number or an array"),
    ([None, 1], "expected bytes, a string, a number or an array"),
    ([2**63, 1], "expected bytes, a string, a number or an array"),
    ([1] * 1025, "expected at most 1024 fields"),
    (b"\x92\xc4\x7fx\x01", "damaged"),
    (b"\xdd\xff\xff\xff\xff\x01", "damaged"),
    (b"\x91\x01\x01", "left over"),
    (b"\x91" * 5000 + b"\x01", "nested more than 32 deep"),
])
def test_what_msgpack_holds_besides_plain_fields_is_refused_by_name(tmp_path, value, found):
    def default(one):
        kind = {"O": b"O", "V": b"V"}.get(one.dtype.kind, b"")
        return of_numpy(one, kind) | ({b"type": one.dtype.descr} if kind else {})

    write_packed(tmp_path / "a.lmdb", [[b"image", 1], value], default)
    done = run_shale("ls", tmp_path / "a.lmdb", "--parse", "tensorpack", code=(1, 3))
    said = done.stderr.decode()
    assert "sample '00000001'" in said and "not of layout tensorpack" in said
    assert found == "damaged" or found in said
    assert b"value (bytes)" in run_shale("info", tmp_path / "a.lmdb").stdout


def test_class_names_of_videos_are_those_of_their_folders(tmp_path):
    write_coclr(tmp_path / "a.lmdb", True)
    with shale.Dataset(tmp_path / "a.lmdb") as dataset:
        assert list(dataset.classes) == ["Archery", "Biking", "Diving"]


@pytest.mark.parametrize("write_layout", [write_lyken, write_packed_components])
def test_flipped_bits_are_found(tmp_path, write_layout):
    write_layout(tmp_path / "a.lmdb")
    run_shale("index", tmp_path / "a.lmdb", "--crc")
    whole = (tmp_path / "a.lmdb").read_bytes()
    for place in range(17, len(whole), len(whole) // 40):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        (tmp_path / "a.lmdb").write_bytes(damaged)
        run_shale("verify", tmp_path / "a.lmdb", code=3)


class Strange:
    """Unpickling one of these would leave a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.parametrize("words", [(), ("--parse", "pickle"), ("--parse", "xunge")])
def test_pickles_of_anything_else_are_plain_and_nothing_runs(tmp_path, words):
    trap = tmp_path / "trap"
    values = [(b"image", 1), (b"image", Strange(str(trap)))]
    write_pickled(tmp_path / "a.lmdb", values, 4, [b"__len__"])
    done = run_shale("ls" if words else "info", tmp_path / "a.lmdb", *words, code=1 if words else 0)
    said = (done.stdout + done.stderr).decode()
    assert "sample '1'" in said and "io.open" in said
    assert words or "value (bytes)" in said
    assert not trap.exists()


def test_values_without_a_list_of_keys_are_read_by_name(tmp_path):
    rows = [{"image": image(row), "score": row / 2, "box": np.arange(4, dtype=np.float32) + row} for row in range(9)]
    write_lmdb(tmp_path / "a.lmdb", {b"%d" % number: pickle.dumps(row) for number, row in enumerate(rows)})
    assert "layout   pickle" in run_shale("info", tmp_path / "a.lmdb").stdout.decode()
    with shale.Dataset(tmp_path / "a.lmdb", fields=["key", "image", "score", "box"], parse="pickle") as dataset:
        check_samples(dataset, [(str(number), row) for number, row in enumerate(rows)])


@pytest.mark.parametrize("parse", ["pickle", "msgpack"])
def test_arrays_of_several_shapes_and_entries_that_some_lack(tmp_path, parse):
    """Molecules: positions of as many atoms as there are, energies that some lack, names that some have as None."""
    rows = [{"pos": np.full((row % 5, 3), row, np.float32), "natoms": row % 5, "y": row / 3, "name": f"m{row}", "none": None} for row in range(40)]
    for row in rows[::3]:
        del row["y"]
        row["name"] = row["pos"] = None
    dump = pickle.dumps if parse == "pickle" else lambda row: msgpack.packb(row, default=of_numpy, use_bin_type=True)
    write_lmdb(tmp_path / "a.lmdb", {b"%03d" % number: dump(row) for number, row in enumerate(rows)})
    names = ["natoms", "pos", "y", "name"]
    expected = [(f"{number:03}", {name: row.get(name) for name in names}) for number, row in enumerate(rows)]
    done = run_shale("index", tmp_path / "a.lmdb", "--crc", "--parse", parse)
    assert b"'none' is left out: it is None in every value" in done.stdout + done.stderr
    assert b"digests are correct" in run_shale("verify", "--deep", tmp_path / "a.lmdb").stdout
    with shale.Dataset(tmp_path / "a.lmdb", fields=["key", *names], parse=parse) as dataset:
        check_samples(dataset, expected)
    for format in ("record", "lmdb"):
        done = run_shale("convert", tmp_path / "a.lmdb", tmp_path / format, "--to", format, "--parse", parse, code=4)
        assert b"entry 'none' (no_value)" in done.stdout
        run_shale("verify", tmp_path / format, "--against", tmp_path / "a.lmdb")
        with shale.Dataset(tmp_path / format, fields=["key", *names]) as dataset:
            check_samples(dataset, expected)


@pytest.mark.parametrize("parse", ["pickle", "msgpack"])
@pytest.mark.parametrize("value, found", [([1, 2], "field 'x' is a"), (np.zeros((1, 2), np.float64), "float64 (1, 2), but in the values before it a tensor float32"),
                                          (np.zeros(2, np.float32), "float32 (2,), but in the values before it a tensor float32 (?, 2)")])
def test_fields_of_another_kind_are_refused_by_name(tmp_path, parse, value, found):
    rows = [{"x": np.zeros((2, 2), np.float32)}, {"x": np.zeros((3, 2), np.float32)}, {"x": value}]
    dump = pickle.dumps if parse == "pickle" else lambda row: msgpack.packb(row, default=of_numpy, use_bin_type=True)
    write_lmdb(tmp_path / "a.lmdb", {b"%d" % number: dump(row) for number, row in enumerate(rows)})
    said = run_shale("ls", tmp_path / "a.lmdb", "--parse", parse, code=1).stderr.decode()
    assert "sample '2'" in said and "'x'" in said and found in said


def test_dicts_of_python_2_have_their_names(tmp_path):
    rows = [{"image": image(row), "score": row / 2, "box": np.arange(4, dtype=np.float32) + row, "id": np.int64(-row)} for row in range(9)]
    write_lmdb(tmp_path / "a.lmdb", {b"%d" % number: python2_pickle(row) for number, row in enumerate(rows)})
    with shale.Dataset(tmp_path / "a.lmdb", fields=["key", *rows[0]], parse="pickle") as dataset:
        check_samples(dataset, [(str(number), row) for number, row in enumerate(rows)])


@pytest.mark.parametrize("key", [b"\xff\xfe", b"n" * 5000])
def test_keys_of_dicts_that_are_no_names_are_refused(tmp_path, key):
    write_lmdb(tmp_path / "a.lmdb", {b"0": python2_pickle({key: 1})})
    assert b"expected the name of a field" in run_shale("ls", tmp_path / "a.lmdb", "--parse", "pickle", code=1).stderr


@pytest.mark.parametrize("value, found", [
    (b"\x80\x04\x8f.", b"opcode EMPTY_SET (0x8f)"),
    (b"\x80\x02S'image'\n.", b"opcode STRING (0x53)"),
    (b"\x80\x02(dI1\n.", b"opcode DICT (0x64)"),
    (b"\x80\x04\x82\x01.", b"opcode EXT1 (0x82)"),
])
def test_opcodes_that_are_not_read_are_named(tmp_path, value, found):
    write_lmdb(tmp_path / "a.lmdb", {b"0": value, b"__keys__": pickle.dumps([b"0"]), b"__len__": pickle.dumps(1)})
    assert found in run_shale("ls", tmp_path / "a.lmdb", "--parse", "xunge", code=1).stderr
    done = run_shale("info", tmp_path / "a.lmdb")
    assert found in done.stdout + done.stderr and b"value (bytes)" in done.stdout


def coclr_entries(names, values, keys=None):
    keys = keys or [b"%09d" % number for number in range(len(names))]
    meta = {b"__keys__": keys, b"__len__": len(keys), b"__order__": names, b"__vlen__": [len(value) for value in values]}
    return dict(zip(keys, map(msgpack.packb, values))) | {name: msgpack.packb(one) for name, one in meta.items()}


def test_a_video_of_very_many_frames_and_one_of_none(tmp_path):
    frames = [b"\xff\xd8%d" % number for number in range(100_000)]
    write_lmdb(tmp_path / "a.lmdb", coclr_entries([b"c/long", b"c/none"], [frames, []]))
    run_shale("index", tmp_path / "a.lmdb", "--crc")
    assert b"digests are correct" in run_shale("verify", "--deep", tmp_path / "a.lmdb").stdout
    with shale.Dataset(tmp_path / "a.lmdb") as dataset:
        assert [bytes(one) for one in dataset[0]["frames"]] == frames and list(dataset[1]["frames"]) == []
        assert [bytes(one) for one in dataset.read(0, {"frames": [99_999, 7]})["frames"]] == [frames[99_999], frames[7]]


def test_a_gap_in_the_numbers_of_videos_is_refused_by_key(tmp_path):
    """CoCLR's readers take the key of a video from its position."""
    write_lmdb(tmp_path / "a.lmdb", coclr_entries([b"c/a", b"c/b"], [[b"x"], [b"y"]], [b"000000000", b"000000002"]))
    assert b"no entry '000000001'" in run_shale("ls", tmp_path / "a.lmdb", "--parse", "coclr", code=(1, 3)).stderr


@pytest.mark.parametrize(
    ("gone", "note"),
    [
        ((b"__vlen__",), "'__keys__', '__len__' and '__order__' describe the file, but no known layout has exactly these entries"),
        ((b"__keys__", b"__len__", b"__vlen__"), "'__order__' describes the file, but no known layout has exactly this entry"),
    ],
)
def test_entries_that_describe_no_known_layout_have_a_note(gone, note, tmp_path):
    write_lmdb(tmp_path / "a.lmdb", {key: value for key, value in coclr_entries([b"c/a"], [[b"x"]]).items() if key not in gone})
    done = run_shale("info", tmp_path / "a.lmdb")
    assert f"read as plain entries; {note}".encode() in done.stdout and b"value (bytes)" in done.stdout


def test_two_layouts_that_fit_are_both_named(tmp_path):
    write_pickled(tmp_path / "a.lmdb", [], 4, [b"__len__"])
    said = run_shale("info", tmp_path / "a.lmdb", code=1).stderr.decode()
    assert "is both of layout xunge and of layout thecml" in said
    assert run_shale("ls", tmp_path / "a.lmdb", "--parse", "xunge").stdout == b""
