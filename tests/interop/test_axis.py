"""Arrays whose samples lie along another axis than the first, as those of MATLAB do: `convert --axis` gives what numpy.moveaxis gives."""

import json
import pickle

import h5py
import numpy as np
import pytest
import shale
from conftest import run_shale

ARRAY = np.random.default_rng(41).integers(0, 2**31, (5, 6, 7), dtype="u4")


def moved(axis, array=ARRAY):
    return np.moveaxis(array, axis, 0)


def written(folder, field="x"):
    return np.load(folder / f"shard-000000.{field}.npy")


def write_h5(path, array, **stored):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=array, **stored)


def write_fortran_npz(save):
    return lambda path, array: save(path, x=np.asfortranarray(array))


WRITERS = {
    "in.npy": lambda path, array: np.save(path, array),
    "fortran.npy": lambda path, array: np.save(path, np.asfortranarray(array)),
    "big.npy": lambda path, array: np.save(path, array.astype(">u4")),
    "in.npz": lambda path, array: np.savez(path, x=array),
    "deflated.npz": lambda path, array: np.savez_compressed(path, x=array),
    "fortran.npz": write_fortran_npz(np.savez),
    "deflated_fortran.npz": write_fortran_npz(np.savez_compressed),
    "in.h5": write_h5,
    "big.h5": lambda path, array: write_h5(path, array.astype(">u4")),
    "chunked.h5": lambda path, array: write_h5(path, array, chunks=(2, 4, 3)),
    "packed.mat": lambda path, array: write_h5(path, array, chunks=(3, 3, 3), compression="gzip", shuffle=True),
}


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("name", WRITERS)
def test_any_axis_of_any_file(name, axis, tmp_path):
    WRITERS[name](tmp_path / name, ARRAY)

    run_shale("convert", tmp_path / name, tmp_path / "out", "--to", "npy", "--axis", f"x={axis}")

    assert np.array_equal(written(tmp_path / "out"), moved(axis))
    assert b"the same samples" in run_shale("verify", tmp_path / "out", "--against", tmp_path / name).stdout


@pytest.mark.parametrize("name", ["in.npy", "fortran.npy", "deflated.npz", "in.h5", "chunked.h5"])
def test_arrays_larger_than_memory(name, tmp_path):
    array = np.random.default_rng(1).integers(0, 255, (300, 40, 2500), dtype="u1")
    write = {**WRITERS, "chunked.h5": lambda path, array: write_h5(path, array, chunks=(50, 40, 100))}[name]
    write(tmp_path / name, array)

    run_shale("convert", tmp_path / name, tmp_path / "out", "--to", "npy", "--axis", "x=-1", "--memory", "16MiB")

    assert np.array_equal(written(tmp_path / "out"), moved(-1, array))


def test_one_axis_of_several_arrays(tmp_path):
    labels = np.arange(7)
    np.savez(tmp_path / "in.npz", images=ARRAY, labels=labels)

    shale.convert(tmp_path / "in.npz", tmp_path / "out", to="record", axis={"images": -1})
    run_shale("convert", f"a={tmp_path}/in.npy", f"b={tmp_path}/b.npy", tmp_path / "no", "--to", "npy", "--axis", "a=-1", code=(1, 2))
    np.save(tmp_path / "in.npy", ARRAY)
    np.save(tmp_path / "b.npy", labels)
    run_shale("convert", f"a={tmp_path}/in.npy", f"b={tmp_path}/b.npy", tmp_path / "joined", "--to", "npy", "--axis", "a=-1")

    with shale.Dataset(tmp_path / "out") as dataset:
        assert all(np.array_equal(dataset[i]["images"], moved(-1)[i]) and dataset[i]["labels"] == i for i in range(7))
    assert np.array_equal(written(tmp_path / "joined", "a"), moved(-1))


def test_one_row_after_another_in_other_orders(tmp_path):
    np.save(tmp_path / "in.npy", ARRAY)
    run_shale("convert", tmp_path / "in.npy", tmp_path / "out", "--to", "npy", "--axis", "x=1", "--shuffle", "--seed", "3")
    run_shale("convert", tmp_path / "in.npy", tmp_path / "lone.npy", "--axis", "x=2")

    found = written(tmp_path / "out")
    assert not np.array_equal(found, moved(1)) and sorted(row.tobytes() for row in found) == sorted(row.tobytes() for row in moved(1))
    assert np.array_equal(np.load(tmp_path / "lone.npy"), moved(2))


def test_axes_of_inputs_that_are_joined(tmp_path):
    """An array by the name of the input, a dataset of a file by both; each result is that of moveaxis."""
    rows = np.arange(ARRAY.shape[-1])
    np.save(tmp_path / "x.npy", ARRAY)
    np.save(tmp_path / "rows.npy", rows)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["images"], file["more"] = ARRAY, rows
    words = [f"x={tmp_path}/x.npy", f"f={tmp_path}/f.h5", f"rows={tmp_path}/rows.npy"]
    axes = ["--axis", "x=-1,f/images=-1"]
    run_shale("convert", *words, tmp_path / "out", "--to", "record", *axes)
    shale.convert(dict(word.split("=") for word in words), tmp_path / "again", to="record", axis={"x": -1, "f/images": -1})
    for out in ("out", "again"):
        with shale.Dataset(tmp_path / out) as made:
            for name in ("x", "images"):
                assert np.array_equal([made[row][name] for row in range(len(rows))], moved(-1))
    run_shale("verify", tmp_path / "out", *(word for one in words for word in ("--against", one)))
    shard = next((tmp_path / "out").glob("*.tfrecord"))
    shard.unlink()
    run_shale("repair", tmp_path / "out", *(word for one in words for word in ("--from", one)))
    run_shale("verify", tmp_path / "out")
    for axis in ("images=-1", "f=-1", "rows/x=-1", "g/images=-1"):
        assert b"--axis x/images=-1" in run_shale("convert", *words, tmp_path / "no", "--to", "record", "--axis", axis, code=2).stderr


@pytest.mark.parametrize("output", ["o.npy", "o.npz", "o.h5", "o.pt", "o.safetensors", "o.tfrecord", "o.lmdb"])
@pytest.mark.parametrize("packing", [{}, {"chunks": True, "compression": "gzip"}], ids=["plain", "gzip"])
def test_the_axis_of_an_output_that_is_one_file(output, packing, tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("x", data=ARRAY, **packing)
    np.savez(tmp_path / "f.npz", x=ARRAY)
    for source in ("f.h5", "f.npz"):
        run_shale("convert", tmp_path / source, tmp_path / output, "--axis", "x=-1", "--overwrite")
        with shale.Dataset(tmp_path / output) as made:
            assert np.array_equal([made[row][next(iter(made.types))] for row in range(len(made))], moved(-1))


@pytest.mark.parametrize("name", ["in.npy", "packed.mat"])
def test_the_axis_is_part_of_the_command_and_in_the_manifest(name, tmp_path):
    cube = ARRAY[:, :5, :5].copy()  # of any axis the same shape
    WRITERS[name](tmp_path / name, cube)
    words = ["convert", tmp_path / name, tmp_path / "out", "--to", "npy"]
    run_shale(*words, "--axis", "x=-1")

    assert b"already complete" in run_shale(*words, "--axis", "x=-1").stdout
    assert b"arrays along the axes of --axis before, arrays along their first axis now" in run_shale(*words, code=1).stderr
    run_shale(*words, "--axis", "x=1", code=1)
    assert shale.info(tmp_path / "out").options["axis"] == "x=-1"

    shard = tmp_path / "out/shard-000000.x.npy"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-3] + b"\0\0\0")
    run_shale("repair", tmp_path / "out", "--from", tmp_path / name)
    assert shard.read_bytes() == whole


def test_what_is_wrong_is_said_by_name(tmp_path):
    np.save(tmp_path / "in.npy", ARRAY)
    write_h5(tmp_path / "in.h5", ARRAY)
    (tmp_path / "photos/a").mkdir(parents=True)
    out = [tmp_path / "out", "--to", "npy", "--axis"]

    for name in ("in.npy", "in.h5"):
        assert b"'x' has 3 axes, and none with the number 3" in run_shale("convert", tmp_path / name, *out, "x=3", code=2).stderr
        assert b"--axis: 'y' is not" in run_shale("convert", tmp_path / name, *out, "y=1", code=2).stderr
    assert b"does not have the form NAME=AXIS" in run_shale("convert", tmp_path / "in.npy", *out, "x", code=2).stderr
    assert b"names 'x' twice" in run_shale("convert", tmp_path / "in.npy", *out, "x=1,x=2", code=2).stderr
    assert b"--axis" in run_shale("convert", tmp_path / "photos", *out, "x=1", code=2).stderr
    run_shale("convert", tmp_path / "in.npy", tmp_path / "in.tfrecord", "--to", "record")
    assert b"--axis is for arrays" in run_shale("convert", tmp_path / "in.tfrecord", *out, "x=1", code=(1, 2)).stderr


@pytest.mark.parametrize("name", WRITERS)
def test_all_commands_read_along_an_axis(name, tmp_path):
    """info, ls, cat, verify, report and shale.Dataset give what convert would; an index along the first axis is not taken."""
    WRITERS[name](tmp_path / name, ARRAY)
    axis = ["--axis", "x=-1"]
    indexes = tmp_path / "indexes"
    if name in ("in.npy", "in.h5"):
        run_shale("index", tmp_path / name, "--index-dir", indexes)
        axis += ["--index-dir", indexes]
    facts = json.loads(run_shale("info", tmp_path / name, *axis, "--json").stdout)
    assert facts["samples"] == 7 and facts["fields"][0]["shape"] == [5, 6] and not facts["indexed"]
    assert len(run_shale("ls", tmp_path / name, *axis).stdout.splitlines()) == 7
    value = run_shale("cat", tmp_path / name, "3", "--field", "x", *axis).stdout
    assert np.array_equal(np.frombuffer(value, "u4").reshape(5, 6), moved(-1)[3])
    assert b"7 samples read along --axis" in run_shale("verify", tmp_path / name, *axis).stdout
    run_shale("report", tmp_path / name, "-o", tmp_path / "r.html", *axis)
    with shale.Dataset(tmp_path / name, axis={"x": -1}) as dataset:
        assert np.array_equal([dataset[row]["x"] for row in range(len(dataset))], moved(-1))
        assert dataset.info.samples == 7
        copy = pickle.loads(pickle.dumps(dataset))
        assert np.array_equal(copy[6]["x"], moved(-1)[6])
    assert shale.verify(tmp_path / name, axis={"x": -1}).ok


def test_arrays_that_are_a_table_along_an_axis_only(tmp_path):
    """As MATLAB writes images and their labels."""
    np.savez(tmp_path / "in.npz", x=ARRAY, y=np.arange(7))
    with h5py.File(tmp_path / "in.mat", "w") as file:
        file["x"], file["y"] = ARRAY, np.arange(7)
    for name in ("in.npz", "in.mat"):
        run_shale("ls", tmp_path / name, code=1)
        assert len(run_shale("ls", tmp_path / name, "--axis", "x=-1").stdout.splitlines()) == 7
        assert b"7 samples read along --axis" in run_shale("verify", tmp_path / name, "--axis", "x=-1").stdout
        with shale.Dataset(tmp_path / name, axis={"x": -1}) as dataset:
            assert all(np.array_equal(dataset[i]["x"], moved(-1)[i]) and dataset[i]["y"] == i for i in range(7))
    np.save(tmp_path / "x.npy", ARRAY)
    np.save(tmp_path / "y.npy", np.arange(7))
    words = [f"x={tmp_path}/x.npy", f"y={tmp_path}/y.npy", "--axis", "x=-1"]
    assert len(run_shale("ls", *words).stdout.splitlines()) == 7
    assert b"7 samples joined" in run_shale("verify", *words).stdout


def test_axes_that_commands_refuse(tmp_path):
    np.save(tmp_path / "in.npy", ARRAY)
    run_shale("convert", tmp_path / "in.npy", tmp_path / "out", "--to", "npy")
    for words in (["info"], ["ls"], ["verify"], ["report", "-o", tmp_path / "r.html"]):
        assert b"--axis is for files of other tools" in run_shale(*words, tmp_path / "out", "--axis", "x=-1", code=2).stderr
        assert b"--axis: 'y' is not" in run_shale(*words, tmp_path / "in.npy", "--axis", "y=-1", code=2).stderr
    assert b"--axis is for files of other tools" in run_shale("convert", tmp_path / "out", tmp_path / "o2", "--to", "npy", "--axis", "x=-1", code=2).stderr
