"""HDF5 files as h5py, PyTables and MATLAB leave them: their filters and types, trees of groups, a group per sample, a group per episode."""

import json
import random
import subprocess

import h5py
import numpy as np
import pytest
import shale as shale_package
from conftest import run_shale

ROWS = 60
NUMBERS = np.random.default_rng(41).integers(0, 1000, (ROWS, 30), dtype="i4")
IMAGES = np.repeat(np.random.default_rng(41).integers(0, 255, (ROWS, 5, 7), dtype="u1"), 40, axis=2)


def arrays_in(out):
    """Of a set of one npy shard, by field."""
    names = (path.name.split(".") for path in out.glob("shard-000000.*.npy"))
    return {name[1]: np.load(out / ".".join(name)) for name in names if name[1] not in ("blocks", "index")}


# ---- filters and types


@pytest.mark.parametrize("filters", [{}, {"shuffle": True}, {"fletcher32": True}], ids=str)
def test_what_h5py_compressed_with_lzf_is_read(filters, shale, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("numbers", data=NUMBERS, chunks=(7, 11), compression="lzf", **filters)
        file.create_dataset("images", data=IMAGES, chunks=True, compression="lzf", **filters)
        file.create_dataset("noise", data=np.random.default_rng(1).random((ROWS, 9)), compression="lzf", **filters)
        file.create_dataset("zeros", data=np.zeros((ROWS, 3000), "f4"), compression="lzf", **filters)
        expected = {name: dataset[()] for name, dataset in file.items()}

    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "npy")

    found = arrays_in(tmp_path / "out")
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert np.array_equal(found[name], values), name


def test_bit_fields_are_the_numbers_that_pytables_keeps_booleans_as(shale, tmp_path):
    flags = (np.arange(10) % 3 == 0).astype("u1")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["x"] = np.arange(20, dtype="f4").reshape(10, 2)
        space = h5py.h5s.create_simple((10,))
        valid = h5py.h5d.create(file.id, b"valid", h5py.h5t.NATIVE_B8, space)
        valid.write(h5py.h5s.ALL, h5py.h5s.ALL, flags, mtype=h5py.h5t.NATIVE_B8)
        wide = h5py.h5d.create(file.id, b"wide", h5py.h5t.STD_B16BE, space)
        wide.write(h5py.h5s.ALL, h5py.h5s.ALL, 256 * flags.astype("u2"), mtype=h5py.h5t.STD_B16LE)

    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "npy")

    found = arrays_in(tmp_path / "out")
    assert found["valid"].tolist() == flags.tolist() and found["wide"].tolist() == (256 * flags.astype("u2")).tolist()


# ---- a group per sample, a group per episode


def rows_of(out):
    """The samples of a set of one hdf5 shard as h5py sees them: key, and the value of each field (None: absent)."""
    fields = json.loads((out / "dataset.json").read_text())["schema"]
    with h5py.File(out / "shard-000000.h5") as file:
        columns = {name: dataset[()] for name, dataset in file.items()}

    def value(field, row):
        name = field["name"]
        if name + "_present" in columns and not columns[name + "_present"][row]:
            return None
        if name + "_offset" not in columns:
            return columns[name][row]
        begin, end = columns[name + "_offset"][row : row + 2]
        if name + "_first" in columns:
            first, last = columns[name + "_first"][row : row + 2]
            ends = columns[name + "_offset"]
            return [bytes(columns[name][ends[i] : ends[i + 1]]) for i in range(first, last)]
        if field["kind"] != "tensor":
            return bytes(columns[name][begin:end])
        shape = columns[name + "_shape"][row] if name + "_shape" in columns else (-1,)
        return columns[name][begin:end].reshape(shape)

    ends = columns["key_offset"]
    keys = [bytes(columns["key"][ends[i] : ends[i + 1]]).decode() for i in range(len(ends) - 1)]
    return {key: {field["name"]: value(field, row) for field in fields} for row, key in enumerate(keys)}


def assert_same(found, expected):
    assert list(found) == list(expected)
    for key, values in expected.items():
        assert found[key].keys() == values.keys(), key
        for name, value in values.items():
            got = found[key][name]
            assert np.array_equal(got, value) if isinstance(value, np.ndarray) else got == value, (key, name, got)


STORED = [{}, {"compression": "gzip", "chunks": True, "shuffle": True}, {"compression": "lzf"}]


@pytest.mark.parametrize("parent", ["", "data/"], ids=["root", "group"])
@pytest.mark.parametrize("stored", STORED, ids=["plain", "gzip", "lzf"])
def test_a_group_per_sample_is_recognized(parent, stored, shale, tmp_path):
    samples = {}
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for i in (0, 1, 2, 10, 11):
            image = np.arange((4 + i) * 6, dtype=">f4").reshape(4 + i, 6)
            group = file.create_group(f"{parent}subject{i}")
            group.create_dataset("scan/image", data=image, **stored)
            group["label"] = np.int16(i % 3)
            group.create_dataset("words", data=["a", "bé"][: i % 3], dtype=h5py.string_dtype(), shape=(min(i % 3, 2),))
            group["tokens"] = np.arange(7, dtype="u2")
            group.create_dataset("note", data=f"note {i}")
            sequence = group.create_dataset("sequence", (), dtype=h5py.vlen_dtype("i4"))
            sequence[()] = np.arange(i, dtype="i4")
            group.attrs["age"] = 40.0 + i
            if i != 2:
                group["mask"] = image > 5
            samples[f"subject{i}"] = {
                "age": 40.0 + i,
                "label": i % 3,
                "mask": None if i == 2 else image > 5,
                "note": f"note {i}".encode(),
                "scan_image": image.astype("<f4"),
                "sequence": np.arange(i, dtype="i4"),
                "tokens": np.arange(7, dtype="u2"),
                "words": [b"a", "bé".encode()][: i % 3],
            }

    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5")

    assert_same(rows_of(tmp_path / "out"), samples)


@pytest.mark.parametrize("extra", ["zz_statistics", "subject9_summary"], ids=["last", "amid"])
def test_a_later_group_of_another_form_is_left_out_by_name(extra, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for i in range(100):
            file[f"subject{i}/image"] = np.full((3, 4), i, "u1")
            if i % 2:
                file[f"subject{i}/mask"] = np.full((3, 4), i, "u1")
        file[f"{extra}/mean"] = np.float32(1)

    noted = run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5", code=4).stderr.decode()

    assert f"group '{extra}' is left out: it has no dataset in common with the others" in noted
    found = rows_of(tmp_path / "out")
    assert list(found) == [f"subject{i}" for i in range(100)]
    assert found["subject8"].keys() == {"image", "mask"}


def episodes_file(path, **stored):
    """demo_9 and demo_10 of 3 and 5 steps, as RLBench and ALOHA have them."""
    steps = {}
    with h5py.File(path, "w") as file:
        for number, (name, length) in enumerate({"demo_9": 3, "demo_10": 5}.items()):
            image = np.arange(length * 12, dtype="u1").reshape(length, 2, 2, 3) + number
            action = np.arange(length * 2, dtype="f4").reshape(length, 2) - number
            group = file.create_group(name)
            group.create_dataset("obs/image", data=image, **stored)
            group.create_dataset("action", data=action, **stored)
            group["words"] = [f"step {t}" for t in range(length)]
            group["task"] = f"task {number}"
            for t in range(length):
                values = {"action": action[t], "episode": number, "obs_image": image[t], "step": t}
                steps[f"{name}/{t}"] = values | {"task": f"task {number}".encode(), "words": f"step {t}".encode()}
    return steps


@pytest.mark.parametrize("stored", STORED, ids=["plain", "gzip", "lzf"])
def test_steps_of_episodes_are_samples_where_they_are_asked_for(stored, shale, tmp_path):
    steps = episodes_file(tmp_path / "in.h5", **stored)

    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5", "--parse", "episodes")

    assert_same(rows_of(tmp_path / "out"), steps)


def test_episodes_are_samples_with_ragged_fields_otherwise(shale, tmp_path):
    steps = episodes_file(tmp_path / "in.h5")

    run = run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5")

    assert b"--parse episodes" in run.stderr
    found = rows_of(tmp_path / "out")
    assert list(found) == ["demo_9", "demo_10"]
    assert np.array_equal(found["demo_10"]["action"], np.array([steps[f"demo_10/{t}"]["action"] for t in range(5)]))
    assert found["demo_9"]["words"] == [b"step 0", b"step 1", b"step 2"]


def test_a_dataset_per_sample_is_read_where_it_is_asked_for(shale, tmp_path):
    arrays = {f"s{i}": np.arange((4 + i) * 3, dtype="i8").reshape(4 + i, 3) for i in (1, 2, 10)}
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for name, array in arrays.items():
            file[name] = array

    refusal = run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5", code=1).stderr
    assert b"--parse samples" in refusal
    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5", "--parse", "samples")

    assert_same(rows_of(tmp_path / "out"), {name: {"value": array} for name, array in arrays.items()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda group: group.create_dataset("x", data=np.zeros((2, 3), "i2")),
            b"dataset 'x' of 's1' is int16 (2, 3), but that of 's0' is float32 (4, 3)",
        ),
        (
            lambda group: group.create_dataset("x", data=np.zeros(2, "f4")),
            b"dataset 'x' of 's1' is float32 (2,), but that of 's0' is float32 (4, 3)",
        ),
    ],
    ids=["type", "axes"],
)
def test_groups_that_differ_in_kind_are_refused_by_name(change, message, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["s0/x"], file["s0/y"], file["s1/y"] = np.zeros((4, 3), "f4"), 1, 2
        change(file["s1"])

    words = ("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "hdf5", "--parse", "samples")
    assert message in run_shale(*words, code=1).stderr
    run_shale(*words, "--fields", "y")
    assert_same(rows_of(tmp_path / "out"), {"s0": {"y": 1}, "s1": {"y": 2}})


@pytest.mark.parametrize("others", [{}, {"c": np.zeros(5)}], ids=["in_place", "of_other_lengths"])
def test_names_that_are_exchanged_are_those_of_the_input_again(others, shale, tmp_path):
    """One of the two is compressed: what is asked for decides whether the file is unpacked (issue 40)."""
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("a", data=np.arange(36).reshape(9, 4), chunks=(3, 4), compression="gzip")
        file["b"] = np.ones((9, 2), "f4")
        for name, values in others.items():
            file[name] = values
    out = tmp_path / "out"
    shale("convert", tmp_path / "in.h5", out, "--to", "npy", "--fields", "a,b", "--rename", "a:b,b:a")

    report = json.loads(shale("verify", out, "--against", tmp_path / "in.h5", "--json"))
    assert (report["comparison"]["verdict"], report["comparison"]["same"]) == ("same", 9)
    written = (out / "shard-000000.a.npy").read_bytes()
    (out / "shard-000000.a.npy").unlink()
    shale("repair", out, "--from", tmp_path / "in.h5")
    assert (out / "shard-000000.a.npy").read_bytes() == written


# ---- what is in a file, and the commands that convert it


def described(*words, cwd):
    return json.loads(run_shale("info", *words, "--json", cwd=cwd).stdout)


def run_commands(path):
    """Runs each command that `info` prints of a file, as a shell would; returns the datasets, also those of splits, by their folder."""
    made = {}
    for command in described(path.name, cwd=path.parent)["commands"]:
        words = subprocess.run(["bash", "-c", f"printf '%s\\n' {command}"], capture_output=True, text=True).stdout.splitlines()
        assert words[:2] == ["shale", "convert"], command
        run_shale(*words[1:], cwd=path.parent)
        for manifest in (path.parent / words[3]).glob("*/dataset.json" if "--split-by" in words else "dataset.json"):
            made[str(manifest.parent.relative_to(path.parent))] = json.loads(manifest.read_text())
    return made


def fields_of(manifest):
    return {field["name"] for field in manifest["schema"]}


def test_info_lists_all_that_is_in_a_file(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.attrs["version"] = 3
        x = file.create_dataset("x", data=np.zeros((6, 4), "f4"), compression="gzip", shuffle=True, chunks=(3, 4))
        x.attrs["unit"] = "m"
        x.attrs["scale"] = np.array([0.5, 2.0])
        x.attrs["matrix"] = np.zeros((5, 5))
        file["deep/er/y"] = np.arange(3, dtype="i2")
        file["names"] = np.array(["a", "b"], dtype=object)
        file.create_dataset("refs", (2,), dtype=h5py.ref_dtype)
        file["deep/link"] = h5py.SoftLink("/x")
        file.create_group("empty")

    facts = described("in.h5", cwd=tmp_path)
    text = run_shale("info", "in.h5", cwd=tmp_path).stdout.decode()

    assert facts["kind"] == "arrays" and facts["format"] == "hdf5" and "samples" not in facts
    assert "has 6" in facts["obstacle"] and facts["attributes"] == {"version": "3"}
    assert facts["others"] == ["soft link 'deep/link'", "group 'empty'"]
    arrays = {array.pop("path"): array for array in facts["arrays"]}
    assert list(arrays) == ["deep/er/y", "names", "refs", "x"]
    assert arrays["deep/er/y"] == {"type": "int16", "shape": [3], "stored_bytes": 6}
    assert arrays["names"]["type"] == "text" and "references to nothing" in arrays["refs"]["obstacle"]
    assert arrays["x"]["compression"] == "shuffle, deflate" and arrays["x"]["shape"] == [6, 4]
    assert arrays["x"]["attributes"] == {"matrix": "float64 (5, 5)", "scale": "0.5, 2", "unit": "'m'"}
    for word in ("deep/er/y", "int16 (3,)", "unit = 'm'", "soft link 'deep/link'", "shale convert in.h5 out --to"):
        assert word in text, word


def test_every_command_that_info_prints_converts_its_table(tmp_path):
    with h5py.File(tmp_path / "a b,c.h5", "w") as file:
        for split, rows in (("train", 12), ("test", 5)):
            file.create_dataset(f"{split}/im,age", data=np.arange(rows * 6, dtype="u1").reshape(rows, 2, 3), compression="gzip")
            file[f"{split}/label"] = np.arange(rows)
        file["test/names"] = np.array(["x"] * 5, dtype=object)

    made = run_commands(tmp_path / "a b,c.h5")

    assert {name: (one["samples"], fields_of(one)) for name, one in made.items()} == {
        "out/test": (5, {"im,age", "label", "names"}),
        "out/train": (12, {"im,age", "label"}),
    }
    assert [sample["label"] for sample in shale_package.Dataset(tmp_path / "out", split="train")] == list(range(12))


def test_what_matlab_wrote_is_turned_by_the_command_that_info_prints(tmp_path):
    images, depths = np.arange(6 * 24, dtype="u1").reshape(6, 2, 3, 4), np.random.default_rng(1).random((6, 4, 3))
    acceleration = np.arange(24, dtype="f8").reshape(4, 6)
    with h5py.File(tmp_path / "in.mat", "w", userblock_size=512) as file:
        file["images"], file["depths"], file["acceleration"] = images, depths, acceleration
        file.create_dataset("#refs#/a", data=[[1]])

    assert list(run_commands(tmp_path / "in.mat")) == ["out"]

    found = arrays_in(tmp_path / "out")
    assert np.array_equal(found["images"], images) and np.array_equal(found["depths"], depths)
    assert np.array_equal(found["acceleration"], acceleration.T)


def test_a_group_per_sample_is_counted(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for i in range(9):
            file.create_dataset(f"data/s{i}/x", data=np.zeros((i + 2, 3)), chunks=True)
            file[f"data/s{i}/label"] = i

    facts = described("in.h5", cwd=tmp_path)

    assert facts["samples"] == 9 and facts["obstacle"].startswith("has a group per sample")
    assert [one["samples"] for one in run_commands(tmp_path / "in.h5").values()] == [9]


def group_per_sample(path, **options):
    """As most write it, and what a sample of it is."""
    samples = {}
    with h5py.File(path, "w", **options) as file:
        for i in (0, 1, 2, 10, 11):
            image = np.arange((4 + i) * 6, dtype="<f4").reshape(4 + i, 6)
            group = file.create_group(f"runs/subject{i}")
            group["scan/image"], group["label"], group["name"] = image, i % 3, f"name {i} é"
            group["mean"], group["empty"] = np.float32(i / 3), np.zeros((0, 2), "u2")
            group.attrs["age"], group.attrs["size"] = 40.0 + i, np.array([i, 2], "i8")
            if i != 2:
                group["mask"] = image > 5
            samples[f"subject{i}"] = {name: group[name][()] for name in ("label", "mean", "empty")}
            samples[f"subject{i}"] |= {"scan_image": image, "name": f"name {i} é", "age": 40.0 + i, "size": np.array([i, 2])}
            samples[f"subject{i}"]["mask"] = None if i == 2 else image > 5
    return samples


def test_a_group_per_sample_is_read_in_place(shale, tmp_path, monkeypatch):
    """With names as keys, ragged arrays, text, attributes and a value that one lacks; nothing is unpacked."""
    samples = group_per_sample(tmp_path / "in.h5")
    monkeypatch.setenv("TMPDIR", "/nowhere")  # there is no room for a copy

    shale("index", tmp_path / "in.h5", "--crc")
    for indexed in (True, False):
        with shale_package.Dataset(tmp_path / "in.h5") as dataset:
            assert [sample["key"] for sample in dataset] == list(samples), indexed
            for sample, expected in zip(dataset, samples.values()):
                for name, value in expected.items():
                    assert np.array_equal(sample[name], value), name
        if indexed:
            assert run_shale("verify", tmp_path / "in.h5").returncode == 0
            (tmp_path / "in.h5.index.npy").unlink(), (tmp_path / "in.h5.dataset.json").unlink()


def test_groups_of_a_newer_form_become_the_same_samples(shale, tmp_path):
    sets = []
    for options in ({}, {"libver": ("v108", "v110")}, {"track_order": True}):
        group_per_sample(tmp_path / "in.h5", **options)
        shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "record", "--overwrite")
        sets.append(json.loads((tmp_path / "out/dataset.json").read_text())["digest"]["keys"])
    assert sets[0] == sets[1] == sets[2]


def test_episodes_are_offered_as_they_are_and_by_steps(tmp_path):
    episodes_file(tmp_path / "in.h5")
    with h5py.File(tmp_path / "in.h5", "r+") as file:
        for group in file.values():
            del group["task"]

    made = run_commands(tmp_path / "in.h5")

    assert {name: one["samples"] for name, one in made.items()} == {"out": 2, "out-steps": 8}


def test_a_dataset_per_sample_is_offered(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for i in range(5):
            file[f"s{i}"] = np.zeros((i + 1, 2), "f4")

    assert [one["samples"] for one in run_commands(tmp_path / "in.h5").values()] == [5]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_info_lists_the_members_of_an_npz_archive(save, tmp_path):
    arrays = {f"{split}_{name}": np.zeros((rows, 3)) for split, rows in (("train", 9), ("val", 4)) for name in "xy"}
    save(tmp_path / "in.npz", version=np.int64(1), **arrays)

    facts = described("in.npz", cwd=tmp_path)
    made = run_commands(tmp_path / "in.npz")

    assert [one["path"] for one in facts["arrays"]] == [*arrays, "version"] and facts["arrays"][0]["shape"] == [9, 3]
    assert ("compression" in facts["arrays"][0]) == (save is np.savez_compressed)
    assert {name: (one["samples"], fields_of(one)) for name, one in made.items()} == {
        "out/train": (9, {"x", "y"}),
        "out/val": (4, {"x", "y"}),
    }


def test_a_file_of_many_objects_is_listed_in_part(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["x"] = np.arange(4)
        for i in range(1500):
            file.create_dataset(f"many/d{i}", data=i)

    facts = described("in.h5", cwd=tmp_path)

    assert facts["samples"] == 4 and facts["others"] == ["group 'many'"] and [one["path"] for one in facts["arrays"]] == ["x"]


# ---- tables in groups


def test_datasets_in_groups_are_fields_of_the_table_at_the_root(shale, tmp_path):
    columns = {"x": np.arange(40, dtype="f4").reshape(10, 4), "infos/qpos": np.random.default_rng(2).random((10, 3)), "infos/deep/t": np.arange(10)}
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for name, values in columns.items():
            file[name] = values
        file["metadata/algorithm"] = "SAC"
        file["metadata/weight"] = np.zeros((4, 8))

    told = run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "npy")
    shale("index", tmp_path / "in.h5", "--crc")
    shale("verify", tmp_path / "in.h5")

    expected = {name.replace("/", "_"): values for name, values in columns.items()}
    found = arrays_in(tmp_path / "out")
    assert found.keys() == expected.keys() and all(np.array_equal(found[name], expected[name]) for name in expected)
    assert b"group 'metadata': it says something of the file" in told.stderr
    shale("verify", tmp_path / "out", "--against", tmp_path / "in.h5")


def test_what_has_other_rows_is_left_out_by_name(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["x"], file["infos/y"], file["infos/z"], file["masks/m"] = np.arange(6), np.arange(6), np.arange(5), np.arange(2)

    run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "npy", code=4)

    left_out = {one["name"]: one["reason"] for one in json.loads((tmp_path / "out/dataset.json").read_text())["left_out"]}
    assert arrays_in(tmp_path / "out").keys() == {"x", "infos_y"}
    assert left_out == {"infos/z": "other_rows", "masks": "other_rows"}


@pytest.mark.parametrize("stored", STORED, ids=["plain", "gzip", "lzf"])
def test_fields_are_chosen_by_path_before_lengths_are_compared(stored, shale, tmp_path):
    x, y = np.arange(30, dtype="i4").reshape(10, 3), np.arange(10, dtype="f4")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("train/x", data=x, **stored)
        file.create_dataset("train/y", data=y, **stored)
        file["test/x"] = x[:4]
    words = [tmp_path / "in.h5", tmp_path / "out", "--to", "npy"]

    refused = run_shale("convert", *words, code=1).stderr
    shale("convert", *words, "--fields", "train/y,train/x")

    assert b"dataset 'test/x' has 4 samples, but dataset 'train/x' has 10" in refused and b"'shale info' prints the commands" in refused
    found = arrays_in(tmp_path / "out")
    assert np.array_equal(found["train_x"], x) and np.array_equal(found["train_y"], y)
    shale("verify", tmp_path / "out", "--against", tmp_path / "in.h5")


def test_splits_of_equal_lengths_are_not_one_table(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["train/x"], file["test/x"] = np.arange(6), np.arange(6)

    refused = run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "npy", code=1).stderr

    assert b"are of different splits" in refused
    assert {name: one["samples"] for name, one in run_commands(tmp_path / "in.h5").items()} == {"out/test": 6, "out/train": 6}


def test_groups_that_may_be_samples_are_not_guessed(shale, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["left/x"], file["right/x"] = np.zeros((6, 3)), np.ones((6, 3))
    words = [tmp_path / "in.h5", "--to", "npy"]

    assert b"groups 'left' and 'right' hold the same datasets" in run_shale("convert", words[0], tmp_path / "no", *words[1:], code=1).stderr
    shale("convert", words[0], tmp_path / "columns", *words[1:], "--fields", "left/x,right/x")
    shale("convert", words[0], tmp_path / "samples", "--to", "hdf5", "--parse", "samples")

    assert arrays_in(tmp_path / "columns").keys() == {"left_x", "right_x"}
    assert list(rows_of(tmp_path / "samples")) == ["left", "right"]


# ---- compound types


POINTS = np.zeros(7, dtype=[("time", ">f8"), ("pixel", "<i4"), ("name", "S5"), ("valid", "?"), ("box", ">f4", (2,))])
POINTS["time"], POINTS["pixel"], POINTS["name"], POINTS["valid"] = np.arange(7) / 4, np.arange(7) - 3, [f"n{i}" for i in range(7)], np.arange(7) % 2
POINTS["box"] = np.arange(14).reshape(7, 2)


@pytest.mark.parametrize("stored", STORED[:2] + [{"chunks": (3,), "maxshape": (None,)}], ids=["plain", "gzip", "chunked"])
def test_members_of_a_compound_type_are_fields(stored, shale, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("events", data=POINTS, **stored)
        file["events-2"] = np.arange(7, dtype="f4")

    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "npy")
    shale("convert", tmp_path / "in.h5", tmp_path / "two", "--to", "npy", "--fields", "events.time,events_pixel")

    found = arrays_in(tmp_path / "out")
    assert found.keys() == {*(f"events_{name}" for name in POINTS.dtype.names), "events-2"}
    assert all(np.array_equal(found[f"events_{name}"], POINTS[name]) for name in POINTS.dtype.names)
    assert arrays_in(tmp_path / "two").keys() == {"events_time", "events_pixel"}
    assert np.array_equal(arrays_in(tmp_path / "two")["events_time"], POINTS["time"])
    listed = {one["path"]: one for one in described("in.h5", cwd=tmp_path)["arrays"]}
    assert listed["events.time"]["type"] == ">f8" and listed["events.box"]["shape"] == [7, 2]


def test_a_compound_type_or_a_group_stands_for_its_fields(shale, tmp_path):
    """Also where the file as a whole is no table; a member called like a split is a member."""
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["events"] = POINTS
        file["infos/a"], file["infos/deep/b"], file["other"] = np.arange(7), np.arange(7) / 2, np.arange(3)

    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "npy", "--fields", "infos,events", code=(0, 4))
    told = run_shale("convert", tmp_path / "in.h5", tmp_path / "none", "--to", "npy", "--fields", "event", code=1)

    names = [f"events_{name}" for name in POINTS.dtype.names]
    assert arrays_in(tmp_path / "out").keys() == {"infos_a", "infos_deep_b", *names}
    assert b"dataset 'events.time' has 7 samples, but dataset 'other' has 3" in told.stderr
    commands = described("in.h5", cwd=tmp_path)["commands"]
    assert len(commands) == 2 and "events.valid" in commands[0] and "out-2" in commands[1]


# ---- files that are damaged, or made to do harm


def write_tree(path):
    """Groups, a compound type, attributes and filters in one small file."""
    with h5py.File(path, "w") as file:
        file.attrs["version"] = "1.0"
        file.create_dataset("x", data=np.zeros((7, 40), "f4"), compression="gzip", chunks=(2, 40)).attrs["unit"] = np.arange(3)
        file.create_dataset("infos/deep/y", data=np.arange(7)).attrs["names"] = np.array(["a", "b"], dtype=object)
        file.create_dataset("infos/events", data=POINTS, chunks=(3,), compression="gzip")
        file["infos/text"] = np.array(["x"] * 7, dtype=object)


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_never_more_than_an_error(seed, tmp_path):
    write_tree(tmp_path / "in.h5")
    dice, damaged = random.Random(seed), bytearray((tmp_path / "in.h5").read_bytes())
    for _ in range(dice.choice([1, 3, 30])):
        damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
    (tmp_path / "in.h5").write_bytes(damaged[: dice.choice([len(damaged), dice.randrange(len(damaged))])])

    for words in (["info"], ["index", "--crc"], ["convert", "out", "--to", "lmdb", "--axis", "x=-1"], ["convert", "out", "--to", "lmdb", "--overwrite"]):
        told = run_shale(words[0], "in.h5", *words[1:], cwd=tmp_path, code=(0, 1, 2, 3, 4))
        assert b"bug" not in told.stderr, told.stderr


def test_groups_in_themselves_and_deep_ones_end(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["x"] = np.arange(5)
        file["loop/y"] = np.arange(5)
        file["loop/again"] = file["loop"]
        file["loop/root"] = file["/"]
        file["/".join(["deep"] * 40) + "/z"] = np.arange(5)
        file["elsewhere"] = h5py.ExternalLink("/etc/passwd", "/x")

    facts = described("in.h5", cwd=tmp_path)

    assert {one["path"] for one in facts["arrays"]} <= {"x", "loop/y", "loop/root/x"} and facts["samples"] == 5
    assert "external link 'elsewhere'" in facts["others"] and any(one.startswith("group 'deep/deep") for one in facts["others"])


def test_of_very_many_datasets_the_first_are_listed(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["a"] = np.arange(5)
        for group in range(300):
            for dataset in range(20):
                file[f"g{group}/d{dataset}"] = dataset

    facts = described("in.h5", cwd=tmp_path)

    assert len(facts["arrays"]) == 4096 and facts["more"] > 1000 and facts["samples"] == 5
