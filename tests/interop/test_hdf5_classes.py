"""The class names in HDF5 files: h5py reads those of shale's, and shale those of h5py's."""

import json
import shutil

import h5py
import numpy as np
import pytest
from conftest import jpeg, run_shale, write
from dataset_reading import manifest_of
from documented_code import blocks_of, bytes_left_by

CLASSES = ["ant", "b\u00e9e", "cat"]
DOCUMENT = ["formats/hdf5/FORMAT.md"]


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    root = tmp_path_factory.mktemp("animals") / "in"
    for number in range(12):
        write(root, f"{CLASSES[number % 3]}/{number}.jpg", jpeg(number))
    return root


def names_in(path, field="label"):
    with h5py.File(path) as file:
        names = file[field].attrs["classes"]
    assert all(isinstance(name, str) for name in names)
    return list(names)


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_shard_has_them_whatever_the_jobs_and_parts(animals, tmp_path):
    words = ["--to", "hdf5", "--shard-samples", "5"]
    run_shale("convert", animals, tmp_path / "out", *words, "--verify")
    assert [names_in(path) for path in sorted((tmp_path / "out").glob("*.h5"))] == [CLASSES] * 3
    assert manifest_of(tmp_path / "out")["layout"]["has_classes"] is True
    run_shale("convert", animals, tmp_path / "again", *words, "--jobs", "1")
    assert bytes_of(tmp_path / "again") == bytes_of(tmp_path / "out")
    for part in range(2):
        run_shale("convert", animals, tmp_path / f"part{part}", *words, "--part", f"{part}/2")
    run_shale("merge", tmp_path / "part0", tmp_path / "part1", tmp_path / "merged")
    assert {tuple(names_in(path)) for path in (tmp_path / "merged").glob("*.h5")} == {tuple(CLASSES)}
    run_shale("verify", tmp_path / "merged", "--deep", "--against", animals)


def test_no_file_is_larger_than_the_limit(animals, tmp_path):
    table = tmp_path / "table.txt"
    table.write_text("".join(f"{name}\n" for name in [*CLASSES, *(f"class {n}" for n in range(300))]))
    run_shale("convert", animals, tmp_path / "out", "--to", "hdf5", "--shard-size", "32KiB", "--classes-from", table)
    sizes = [path.stat().st_size for path in (tmp_path / "out").glob("*.h5")]
    assert max(sizes) <= 32 * 1024 and len(sizes) > 1
    plan = json.loads(run_shale("convert", animals, tmp_path / "no", "--to", "hdf5", "--shard-size", "32KiB", "--classes-from", table, "--dry-run",
                                "--json").stdout)
    assert plan["shards"] == len(sizes)


def test_a_single_file_loses_nothing(animals, tmp_path):
    done = run_shale("convert", animals, tmp_path / "x.h5")
    assert b"class names" not in done.stderr and names_in(tmp_path / "x.h5") == CLASSES
    assert json.loads(run_shale("info", tmp_path / "x.h5", "--json").stdout)["classes"] == len(CLASSES)
    run_shale("convert", tmp_path / "x.h5", tmp_path / "out", "--to", "record")
    assert manifest_of(tmp_path / "out")["classes"] == CLASSES
    assert list(pytest.importorskip("shale").Dataset(tmp_path / "x.h5").classes) == CLASSES
    # With a field that the root's attribute tells of.
    for number in range(0, 12, 2):
        write(animals.parent / "with text", f"{CLASSES[number % 3]}/{number}.jpg", jpeg(number))
        write(animals.parent / "with text", f"{CLASSES[number % 3]}/{number}.json", b"[1]")
    run_shale("convert", animals.parent / "with text", tmp_path / "y.h5")
    assert json.loads(run_shale("info", tmp_path / "y.h5", "--json").stdout)["classes"] == len(CLASSES)


def test_fixed_rows_have_them_too(animals, tmp_path):
    run_shale("convert", animals, tmp_path / "x.h5", "--resize", "exact=8x8", "--encode", "raw")
    with h5py.File(tmp_path / "x.h5", "a") as file:
        del file["key"], file["key_offset"]
    run_shale("convert", tmp_path / "x.h5", tmp_path / "out", "--to", "hdf5", "--shard-samples", "5")
    assert names_in(tmp_path / "out/shard-000001.h5") == CLASSES
    assert manifest_of(tmp_path / "out")["requires"] == ["fixed_rows", "classes"]
    run_shale("verify", tmp_path / "out", "--deep", "--against", tmp_path / "x.h5")


def test_appended_shards_have_the_table_of_then(animals, tmp_path):
    run_shale("convert", animals, tmp_path / "out", "--to", "hdf5")
    write(tmp_path / "more", "dog/1.jpg", jpeg(50))
    write(tmp_path / "more", "ant/1.jpg", jpeg(51))
    run_shale("convert", tmp_path / "more", tmp_path / "out", "--append", "--new-classes", "append")
    assert [names_in(path) for path in sorted((tmp_path / "out").glob("*.h5"))] == [CLASSES, [*CLASSES, "dog"]]
    run_shale("verify", tmp_path / "out", "--deep")


def test_a_table_that_is_too_large_is_only_in_the_manifest(animals, tmp_path):
    table = tmp_path / "table.txt"
    table.write_text("".join(f"{name}\n" for name in [*CLASSES, *(f"class {n}" for n in range(5000))]))
    done = run_shale("convert", animals, tmp_path / "out", "--to", "hdf5", "--classes-from", table)
    assert b"has no room for these 5003 class names: only dataset.json has them" in done.stderr
    with h5py.File(tmp_path / "out/shard-000000.h5") as file:
        assert not file["label"].attrs
    run_shale("verify", tmp_path / "out")
    done = run_shale("convert", animals, tmp_path / "x.h5", "--classes-from", table)
    assert b"has no room for these 5003 class names; --with-index keeps them beside it" in done.stderr


def test_a_renamed_label_has_them_under_its_name(animals, tmp_path):
    run_shale("convert", animals, tmp_path / "out", "--to", "hdf5", "--rename", "label:labels")
    assert names_in(tmp_path / "out/shard-000000.h5", "labels") == CLASSES
    run_shale("verify", tmp_path / "out")


def test_a_damaged_shard_is_repaired_with_its_names(animals, tmp_path):
    run_shale("convert", animals, tmp_path / "out", "--to", "hdf5", "--shard-samples", "5")
    whole = bytes_of(tmp_path / "out")
    shard = tmp_path / "out/shard-000001.h5"
    shard.write_bytes(shard.read_bytes().replace(b"ant", b"ape"))
    run_shale("verify", tmp_path / "out", code=3)
    run_shale("repair", tmp_path / "out", "--from", animals)
    assert bytes_of(tmp_path / "out") == whole


def test_names_that_are_not_those_of_the_manifest_are_a_finding(animals, tmp_path):
    run_shale("convert", animals, tmp_path / "out", "--to", "hdf5")
    manifest = tmp_path / "out/dataset.json"
    text = manifest.read_bytes().replace(b'"classes": ["ant"', b'"classes": ["ape"')
    assert text != manifest.read_bytes()
    manifest.write_bytes(text)
    old = json.loads(text)["hash"]
    told = run_shale("info", tmp_path / "out", code=3).stderr.decode().replace(",", " ").split()  # with the hash that it should have
    new = next(word for word in told if len(word) == 32 and word != old)
    manifest.write_bytes(text.replace(old.encode(), new.encode()))
    done = run_shale("verify", tmp_path / "out", code=3)
    assert b"the class names in the file are not those of the manifest" in done.stdout + done.stderr


@pytest.mark.parametrize("strings", [h5py.string_dtype(), "S8"], ids=["of any length", "of one length"])
def test_those_of_h5py_are_read(strings, tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["label"] = np.arange(6) % 2
        file["label"].attrs["classes"] = np.array(["cat", "dog"], dtype=strings)
        file["label"].attrs["unit"] = "none"
        file["x"] = np.zeros((6, 3))
    done = run_shale("convert", tmp_path / "x.h5", tmp_path / "out", "--to", "record")
    assert b"'unit' of 'label'" in done.stderr and b"'classes'" not in done.stderr
    assert manifest_of(tmp_path / "out")["classes"] == ["cat", "dog"]
    shutil.rmtree(tmp_path / "out")
    run_shale("index", tmp_path / "x.h5")
    assert json.loads((tmp_path / "x.h5.dataset.json").read_text())["classes"] == ["cat", "dog"]


@pytest.mark.parametrize("block", blocks_of(DOCUMENT, "h5py-classes"))
def test_the_lines_in_the_document_name_a_sample(block, animals, tmp_path):
    run_shale("convert", animals, tmp_path / "set", "--to", "hdf5")
    check = "assert name == 'b\u00e9e', name\n"
    bytes_left_by(block + check, tmp_path / "set", tmp_path)


def test_a_name_of_two_classes_chooses_both(tmp_path):
    shale = pytest.importorskip("shale")
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["x"] = np.arange(12).reshape(4, 3)
        file["label"] = np.array([0, 1, 2, 1])
        file["label"].attrs["classes"] = np.array(["cat", "cat", "dog"], dtype=h5py.string_dtype())
    run_shale("convert", tmp_path / "two.h5", tmp_path / "set", "--to", "record")
    run_shale("convert", tmp_path / "set", tmp_path / "cats", "--to", "record", "--classes", "cat")
    assert [sample["label"] for sample in shale.Dataset(tmp_path / "cats")] == [0, 1, 1]

