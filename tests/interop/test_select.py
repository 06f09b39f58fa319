"""Chosen samples are those that NumPy would choose: of a folder, of datasets and arrays, in and out of order."""

import numpy as np
import pytest
from shale import Dataset, convert, errors, repair, verify

ROWS = np.array([41, 3, 7, 0, 59, 20], "i8")


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    for number in range(60):
        folder = root / f"class-{number // 20}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number:02}.ppm").write_bytes(b"P6 1 1 255\n" + bytes([number, 1, 2]))
    return root


@pytest.fixture(scope="module")
def inputs(photos, tmp_path_factory):
    root = tmp_path_factory.mktemp("inputs")
    x, y = np.arange(60 * 3, dtype="f4").reshape(60, 3), np.arange(60)
    np.save(root / "x.npy", x)
    np.save(root / "y.npy", y)
    np.savez_compressed(root / "packed.npz", x=x, y=y)
    np.save(root / "fortran.npy", np.asfortranarray(x))
    made = {"folder": photos, "arrays": {"x": root / "x.npy", "y": root / "y.npy"}}
    made |= {"archive": root / "packed.npz", "fortran": root / "fortran.npy"}
    for name, source, words in (
        ("record", photos, {"shard_samples": 7}),
        ("lmdb", photos, {"shard_samples": 50}),
        ("rows", made["arrays"], {"shard_samples": 11}),
    ):
        to = "npy" if name == "rows" else name
        convert(source, root / name, to=to, **words)
        made[name] = root / name
    convert(photos, root / "one.lmdb")
    return made | {"one file": root / "one.lmdb"}


def samples_of(path):
    return [{name: np.asarray(value).tolist() for name, value in each.items()} for each in Dataset(path)]


def content(samples):
    """Rows of arrays are numbered anew."""
    return [{name: value for name, value in each.items() if name != "key" or not value.isdigit()} for each in samples]


@pytest.mark.parametrize("listed", ["array", "lines", "exclude"])
@pytest.mark.parametrize("name", ["folder", "record", "lmdb", "one file", "arrays", "archive", "fortran", "rows"])
def test_rows_are_taken_in_the_order_of_the_input(inputs, tmp_path, name, listed):
    to = "hdf5" if name in ("arrays", "archive", "fortran", "rows") else "record"
    convert(inputs[name], tmp_path / "all", to=to)
    everything = samples_of(tmp_path / "all")
    if listed == "array":
        np.save(tmp_path / "rows.npy", ROWS)
        words = {"select": tmp_path / "rows.npy"}
    elif listed == "lines":
        (tmp_path / "rows").write_text("\n".join(map(str, ROWS)))
        words = {"select": tmp_path / "rows"}
    else:
        (tmp_path / "rows").write_text("row\n" + "\n".join(str(row) for row in range(60) if row not in ROWS))
        words = {"exclude": tmp_path / "rows"}
    convert(inputs[name], tmp_path / "some", to=to, **words)
    expected = [everything[row] for row in sorted(ROWS)]
    assert content(samples_of(tmp_path / "some")) == content(expected)

    shuffled = convert(inputs[name], tmp_path / "shuffled", to=to, shuffle=True, seed=5, **words)
    found = content(samples_of(tmp_path / "shuffled"))
    assert found != content(expected) and sorted(map(repr, found)) == sorted(map(repr, content(expected)))
    again = convert(inputs[name], tmp_path / "small", to=to, shuffle=True, seed=5, memory="16MiB", jobs=1, **words)
    assert again.ordered_digest == shuffled.ordered_digest
    assert verify(tmp_path / "some", deep=True).findings == 0


def test_folds_by_key_add_up_to_the_whole(inputs, tmp_path):
    keys = Dataset(inputs["record"]).column("key")
    (tmp_path / "fold").write_text("\n".join(keys[::5]))
    parts = [
        convert(inputs[name], tmp_path / f"{name}-{word}", to="lmdb", **{word: tmp_path / "fold"})
        for name in ("folder", "record")
        for word in ("select", "exclude")
    ]
    assert [part.samples for part in parts] == [12, 48, 12, 48]
    assert parts[0].content_digest == parts[2].content_digest
    assert parts[1].content_digest == parts[3].content_digest
    assert list(Dataset(tmp_path / "folder-select").column("key")) == list(keys[::5])


@pytest.mark.parametrize("array", [np.array([1.5]), np.array([True] * 60), np.array([[1]]), np.array([-1]), np.array([60], "u8")])
def test_arrays_that_hold_no_rows_are_refused(inputs, tmp_path, array):
    np.save(tmp_path / "rows.npy", array)
    with pytest.raises(errors.Error, match=r"rows\.npy"):
        convert(inputs["record"], tmp_path / "out", to="lmdb", select=tmp_path / "rows.npy")
    assert not (tmp_path / "out").exists()


def test_lists_of_keys_and_classes(photos, tmp_path):
    (tmp_path / "rows.txt").write_text("7\n3\n")
    (tmp_path / "table.csv").write_text("score,key\n0.5,class-1/25.ppm\n0.5,class-0/03.ppm\n0.1,class-1/25.ppm\n")
    convert(photos, tmp_path / "rows", to="record", select=tmp_path / "rows.txt", keys="rows")
    assert [each["key"] for each in samples_of(tmp_path / "rows")] == ["class-0/03.ppm", "class-0/07.ppm"]
    convert(photos, tmp_path / "table", to="record", select=tmp_path / "table.csv")
    assert [each["key"] for each in samples_of(tmp_path / "table")] == ["class-0/03.ppm", "class-1/25.ppm"]
    convert(photos, tmp_path / "classes", to="record", classes=["class-2", "class-1"], exclude=tmp_path / "table.csv", keys="auto")
    assert [each["label"] for each in samples_of(tmp_path / "classes")] == [1] * 19 + [2] * 20


@pytest.mark.parametrize("name", ["folder", "record", "lmdb", "one file", "arrays", "archive", "fortran", "rows"])
def test_a_limit_takes_the_first_samples_or_draws_some(inputs, tmp_path, name):
    to = "hdf5" if name in ("arrays", "archive", "fortran", "rows") else "record"
    convert(inputs[name], tmp_path / "all", to=to)
    everything = content(samples_of(tmp_path / "all"))
    convert(inputs[name], tmp_path / "first", to=to, limit=7)
    assert content(samples_of(tmp_path / "first")) == everything[:7]
    convert(inputs[name], tmp_path / "more", to=to, limit=1000)
    assert content(samples_of(tmp_path / "more")) == everything
    np.save(tmp_path / "rows.npy", ROWS)
    convert(inputs[name], tmp_path / "chosen", to=to, limit=2, select=tmp_path / "rows.npy")
    assert content(samples_of(tmp_path / "chosen")) == [everything[0], everything[3]]

    drawn = [convert(inputs[name], tmp_path / f"drawn{seed}", to=to, limit=20, shuffle=True, seed=seed) for seed in (1, 2)]
    found = [content(samples_of(tmp_path / f"drawn{seed}")) for seed in (1, 2)]
    assert [len({repr(each) for each in one}) for one in found] == [20, 20]
    assert all(each in everything for each in found[0]) and drawn[0].content_digest != drawn[1].content_digest
    again = convert(inputs[name], tmp_path / "again", to=to, limit=20, shuffle=True, seed=1, memory="16MiB", jobs=1)
    assert again.ordered_digest == drawn[0].ordered_digest


def test_a_limited_dataset_is_verified_and_repaired(photos, tmp_path):
    convert(photos, tmp_path / "some", to="record", limit=5, shuffle=True, seed=3)
    assert verify(tmp_path / "some", against=photos).findings == 0
    shard = next((tmp_path / "some").glob("*.tfrecord"))
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-9] + bytes(9))
    with pytest.raises(errors.Error, match="chosen samples"):
        repair(tmp_path / "some", photos)
    repair(tmp_path / "some", photos, limit=5)
    assert shard.read_bytes() == whole


@pytest.fixture
def numbered(tmp_path):
    root = tmp_path / "numbered"
    for name in ("0", "1", "2", "010", "11", "100"):
        (root / name).mkdir(parents=True)
        (root / name / "a.ppm").write_bytes(b"P6 1 1 255\n" + bytes([int(name), 1, 2]))
    return root


def labels_of(path):
    return {each["key"].split("/")[0]: int(each["label"]) for each in Dataset(path)}


def test_classes_that_are_numbers(numbered, tmp_path):
    plain = convert(numbered, tmp_path / "plain", to="record")
    assert labels_of(tmp_path / "plain") == {"0": 0, "010": 1, "1": 2, "100": 3, "11": 4, "2": 5}
    assert any("class '010' has label 1; class_order number takes" in note for note in plain.notes)
    natural = convert(numbered, tmp_path / "natural", to="record", class_order="natural")
    assert labels_of(tmp_path / "natural") == {"0": 0, "1": 1, "2": 2, "010": 3, "11": 4, "100": 5}
    number = convert(numbered, tmp_path / "number", to="record", class_order="number")
    assert labels_of(tmp_path / "number") == {name: int(name) for name in ("0", "1", "2", "010", "11", "100")}
    assert (natural.classes, number.classes) == (6, 101) and not any("class_order" in note for note in number.notes)
    for name in ("plain", "natural", "number"):
        assert verify(tmp_path / name, against=numbered).findings == 0
    (numbered / "10").mkdir()
    (numbered / "10" / "b.ppm").write_bytes(b"P6 1 1 255\n\1\2\3")
    with pytest.raises(errors.Error, match="two classes have the number 10"):
        convert(numbered, tmp_path / "twice", to="record", class_order="number")
