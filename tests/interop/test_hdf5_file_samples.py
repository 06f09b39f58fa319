"""HDF5 files that are one sample or one episode each: recordings of ALOHA, volumes of fastMRI; what groups that are samples may have besides."""

import h5py
import numpy as np
import pytest
import shale
from conftest import run_shale


def recordings(folder):
    """Files as ALOHA's recorder writes them: an episode each, here of 4, 5 and 6 steps."""
    folder.mkdir()
    rng = np.random.default_rng(7)
    episodes = []
    for number in range(3):
        steps = 4 + number
        values = {"action": rng.random((steps, 14)), "observations/qpos": rng.random((steps, 14))}
        values["observations/images/cam_high"] = rng.integers(0, 255, (steps, 12, 16, 3), dtype="u1")
        with h5py.File(folder / f"episode_{number}.hdf5", "w") as file:
            file.attrs["sim"] = True
            for name, array in values.items():
                file.create_dataset(name, data=array, chunks=(1, *array.shape[1:]))
            file["compress_len"] = np.arange(2 * steps).reshape(2, steps)
        episodes.append(values)
    return episodes


def test_a_file_per_episode(tmp_path):
    episodes = recordings(tmp_path / "in")
    told = run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--parse", "episodes", code=4)
    assert told.stderr.count(b"cannot be located in place") == 1
    assert b"dataset 'compress_len' of the episode is left out: it has 2 rows, not 4" in told.stderr
    with shale.Dataset(tmp_path / "out") as dataset:
        steps = [(number, step) for number, one in enumerate(episodes) for step in range(len(one["action"]))]
        assert [(sample["episode"], sample["step"]) for sample in dataset] == steps
        for sample, (number, step) in zip(dataset, steps):
            for name, values in episodes[number].items():
                assert np.array_equal(sample[name.replace("/", "_")], values[step])
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "in")
    refused = run_shale("info", tmp_path / "in", "--parse", "episodes", code=1).stderr
    assert b"is one sample, or one episode: such files are converted, not read in place" in refused
    with h5py.File(tmp_path / "in/episode_3.hdf5", "w") as file:
        file["action"], file["step"] = np.zeros((3, 14)), np.arange(3)
    told = run_shale("convert", tmp_path / "in/episode_3.hdf5", tmp_path / "none", "--to", "npy", "--parse", "episodes", code=1).stderr
    assert b"dataset 'step' and a field of an episode are both called 'step'" in told


def test_a_file_per_sample(tmp_path):
    """Volumes of different sizes, as fastMRI has them: shapes of a field are those of all files."""
    (tmp_path / "in").mkdir()
    volumes = {}
    for number in range(3):
        kspace = np.full((2 + number, 5, 6 + number % 2), number + 1j, "c8")
        with h5py.File(tmp_path / f"in/file{number}.h5", "w") as file:
            file["kspace"], file["header"] = kspace, "<xml/>"
            file.attrs["patient_id"], file.attrs["max"] = f"p{number}", 0.5
        volumes[f"file{number}"] = kspace
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "lmdb", "--parse", "samples")
    with shale.Dataset(tmp_path / "out") as dataset:
        assert {name: str(kind) for name, kind in dataset.types.items()} == {
            "header": "text", "kspace": "complex64 (?, 5, ?)", "max": "real", "patient_id": "text"
        }  # fmt: skip
        for sample, (key, kspace) in zip(dataset, volumes.items()):
            assert np.array_equal(sample["kspace"], kspace) and sample["patient_id"] == f"p{key[-1]}"
    listed = run_shale("ls", tmp_path / "out", "--tsv").stdout.decode()
    assert [line.split("\t")[1] for line in listed.splitlines()] == list(volumes)
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "in")
    refused = run_shale("info", tmp_path / "in", code=1).stderr
    assert b"make one sample of each file with --parse samples" in refused


def test_an_episode_without_steps_is_noted(tmp_path):
    (tmp_path / "set").mkdir()
    for number, steps in enumerate((2, 0, 1)):
        with h5py.File(tmp_path / "set" / f"e{number}.h5", "w") as file:
            file["action"] = np.arange(steps * 3.0).reshape(steps, 3)
    done = run_shale("convert", tmp_path / "set", tmp_path / "out", "--to", "record", "--parse", "episodes")
    assert b"note: e1.h5: no samples" in done.stderr
    with shale.Dataset(tmp_path / "out") as dataset:
        assert [(one["episode"], one["step"]) for one in dataset] == [(0, 0), (0, 1), (2, 0)]
    with h5py.File(tmp_path / "set" / "e2.h5", "a") as file:
        file["weight"] = np.arange(1)
    said = run_shale("convert", tmp_path / "set", tmp_path / "two", "--to", "record", "--parse", "episodes", code=1).stderr
    assert b"e2.h5: has weight (integer), but 'e0.h5', the first file of the set, has no such field" in said


@pytest.mark.parametrize("stored", [{}, {"compression": "gzip"}], ids=["in place", "unpacked"])
def test_a_named_type_among_groups_is_named_and_all_attributes_are_fields(stored, tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for number in range(9):
            group = file.create_group(f"s{number}")
            group.create_dataset("x", data=np.arange(number + 1), **stored)
            for k in range(70):
                group.attrs[f"w{k:02}"] = number + k
        file["s9"] = np.dtype("f4")
    done = run_shale("convert", tmp_path / "a.h5", tmp_path / "out", "--to", "record", "--parse", "samples", code=4)
    assert b"left out: named type 's9' (not_a_dataset)" in done.stdout
    with shale.Dataset(tmp_path / "out") as dataset:
        assert len(dataset) == 9 and dataset[4]["w69"] == 73 and dataset[4]["x"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("parent", ["", "s{}/"], ids=["table", "groups"])
def test_of_two_paths_that_would_be_one_field_the_hint_takes_one(parent, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for i in range(9 if parent else 1):
            file[parent.format(i) + "a/b"], file[parent.format(i) + "a_b"], file[parent.format(i) + "x"] = np.arange(9), np.arange(9) / 2, np.arange(9)

    told = run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "record", code=1).stderr.decode()
    words = told.split("hint: take one of the two, by its path: ")[1].split()
    run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "record", *words)

    assert "field 'a_b' is called by two paths: " in told and words == ["--fields", "a/b,x"]
    found = shale.Dataset(tmp_path / "out")[3]
    assert set(found) == {"key", "a_b", "x"} and np.array_equal(found["a_b"], np.arange(9) if parent else 3)


def test_groups_without_anything_that_a_field_can_hold_say_what_they_hold(tmp_path):
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_size(2)
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for i in range(9):
            h5py.h5d.create(file.create_group(f"s{i}").id, b"x", kind, h5py.h5s.create_simple((4,)))

    told = run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "record", code=1).stderr.decode()

    assert "dataset 'x' of the samples is left out: it holds a float of 16 bits in 2 bytes" in told


@pytest.mark.parametrize("words", [("--parse", "episodes"), ()], ids=["episodes", "tables"])
def test_a_set_of_files_that_differ_in_a_field_is_converted_by_the_fields_that_the_hint_names(words, tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(3):
        with h5py.File(tmp_path / f"in/e{number}.h5", "w") as file:
            file["action"], file["q"] = np.zeros((5, 7 + number % 2)), np.arange(10).reshape(5, 2) + number

    told = run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", *words, code=1).stderr.decode()
    named = told.split("take the fields that are the same in both with 'shale convert': ")[1].split(";")[0].split()
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", *words, *named)

    assert "e1.h5: has action float64 (8,), but 'e0.h5', the first file of the set, has action float64 (7,)" in told
    assert named == ["--fields", "episode,q,step" if words else "q"]
    found = shale.Dataset(tmp_path / "out")
    assert [sample["q"].tolist() for sample in found] == [[2 * row + number, 2 * row + number + 1] for number in range(3) for row in range(5)]
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "in")


def test_strings_of_a_sample_stay_text(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for i in range(9):
            group = file.create_group(f"s{i}")
            group.create_dataset("z", data=np.arange(9), compression="gzip")
            group["fixed"], group["free"] = np.bytes_(f"b{i}"), f"é{i}"
    run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "lmdb")
    assert {name: shale.Dataset(tmp_path / "out")[7][name] for name in ("fixed", "free")} == {"fixed": "b7", "free": "é7"}
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "in.h5")
