"""HDF5 files in the layout of robomimic. They are written by h5py as robomimic's scripts write them, re-created here from
robomimic/scripts/dataset_states_to_obs.py and docs/datasets/overview.md (d309eae): a group per demonstration, observations in groups of
their own, `num_samples`, `total`, `env_args`, filter keys in `mask`. `read_demos` is what robomimic/utils/dataset.py reads (`load_demo_info`,
`get_dataset_for_ep`): demos sorted by the number in their name, row t of each dataset."""

import json
import random

import h5py
import numpy as np
import pytest
import shale
from conftest import run_shale
from shale import Dataset, convert, errors

LENGTHS = {10: 4, 2: 6, 0: 1, 1: 9}


def arrays_of(number, rows):
    dice = np.random.default_rng(number)
    demo = {
        "actions": dice.normal(size=(rows, 7)),
        "states": dice.normal(size=(rows, 3)),
        "rewards": dice.normal(size=rows),
        "dones": dice.integers(0, 2, rows),
    }
    for group in ("obs", "next_obs"):
        demo[f"{group}/agentview_image"] = dice.integers(0, 256, (rows, 8, 8, 3), dtype=np.uint8)
        demo[f"{group}/robot0_eef_pos"] = dice.normal(size=(rows, 3)).astype("f4")
    return demo


def write_demos(path, lengths=None, change=None, **options):
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        for number, rows in (lengths or LENGTHS).items():
            group = data.create_group(f"demo_{number}")
            for name, values in arrays_of(number, rows).items():
                group.create_dataset(name, data=values, **options)
            group.attrs["num_samples"] = rows
            group.attrs["model_file"] = "<mujoco/>"
        data.attrs["total"] = sum((lengths or LENGTHS).values())
        data.attrs["env_args"] = "{}"
        file["mask/train"] = np.array(["demo_0", "demo_10"], dtype="S")
        if change is not None:
            change(file)
    return path


def read_demos(path):
    """(demo, step, {name: value}), as robomimic has them."""
    steps = []
    with h5py.File(path) as file:
        demos = list(file["data"])
        for place in np.argsort([int(name[5:]) for name in demos]):
            demo = file["data"][demos[place]]
            names = [name for name in demo if name not in ("obs", "next_obs")]
            names += [f"{group}/{name}" for group in ("obs", "next_obs") if group in demo for name in demo[group]]
            values = {name: demo[name][()] for name in names}
            for step in range(demo.attrs["num_samples"]):
                steps.append((int(demos[place][5:]), step, {name.replace("/", "_"): rows[step] for name, rows in values.items()}))
    return steps


def check_steps(dataset, expected):
    assert len(dataset) == len(expected)
    for row, (demo, step, values) in enumerate(expected):
        sample = dataset[row]
        assert (sample["demo"], sample["step"]) == (demo, step)
        assert set(sample) - {"__key__", "key"} == set(values) | {"demo", "step"}
        for name, value in values.items():
            assert np.asarray(sample[name]).tobytes() == np.asarray(value).astype(np.asarray(sample[name]).dtype).tobytes(), (name, row)
            assert np.array_equal(np.asarray(sample[name]), value)


def test_every_step_is_what_h5py_reads(tmp_path):
    path = write_demos(tmp_path / "demo.hdf5")
    expected = read_demos(path)
    assert [(demo, step) for demo, step, _ in expected][:3] == [(0, 0), (1, 0), (1, 1)] and len(expected) == 20
    with Dataset(path) as dataset:
        check_steps(dataset, expected)
    info = shale.info(path)
    assert (info.layout, info.samples) == ("robomimic", 20)
    assert b"note     left out: group 'mask'" in run_shale("info", path).stdout
    run_shale("index", path, "--crc")
    run_shale("verify", path, "--deep")
    with Dataset(path, verify=True) as dataset:
        check_steps(dataset, expected)
    run_shale("index", path)  # keeps the layout
    assert shale.info(path).layout == "robomimic"
    assert run_shale("cat", path, "1", "--field", "obs_agentview_image").stdout == expected[1][2]["obs_agentview_image"].tobytes()
    for to in ("record", "hdf5", "npy"):
        convert(path, tmp_path / to, to=to)
        with Dataset(tmp_path / to) as dataset:
            check_steps(dataset, expected)


def test_the_index_needs_a_shale_that_knows_the_layout(tmp_path):
    path = write_demos(tmp_path / "demo.hdf5")
    shale.index(path)
    assert json.loads((tmp_path / "demo.hdf5.dataset.json").read_text())["requires"] == ["layout"]


@pytest.mark.parametrize("options", [dict(compression="gzip"), dict(chunks=True), dict(chunks=True, shuffle=True), dict(compression="lzf")])
def test_compressed_demos_are_converted(options, tmp_path):
    """dataset_states_to_obs.py --compress writes gzip."""
    path = write_demos(tmp_path / "demo.hdf5", **options)
    try:
        convert(path, tmp_path / "out", to="npy")
    except errors.UnsupportedError as error:
        assert "lzf" in str(error) and options.get("compression") == "lzf"
        return
    plain = write_demos(tmp_path / "plain.hdf5")
    with Dataset(tmp_path / "out") as dataset:
        check_steps(dataset, read_demos(plain))
    convert(plain, tmp_path / "same", to="npy")
    assert shale.info(tmp_path / "out").content_digest == shale.info(tmp_path / "same").content_digest
    if "compression" in options or "shuffle" in options:  # whole rows in chunks are located
        told = run_shale("info", path).stdout
        assert b"dataset 'data/demo_0/actions'" in told and b"convert  shale convert " in told


def test_one_chunk_per_demo_is_located(tmp_path):
    path = tmp_path / "demo.hdf5"
    write_demos(path)
    with h5py.File(path, "r+") as file:
        values = file["data/demo_2/actions"][()]
        del file["data/demo_2/actions"]
        file["data/demo_2"].create_dataset("actions", data=values, chunks=(4, 7))
    with Dataset(path) as dataset:
        check_steps(dataset, read_demos(path))


def replace(path, values):
    def change(file):
        if path in file:
            del file[path]
        if values is not None:
            file[path] = values

    return change


def attribute(path, name, value):
    def change(file):
        file[path].attrs[name] = value

    return change


REFUSED = {
    "a dataset is shorter": (replace("data/demo_1/rewards", np.zeros(8)), b"dataset 'data/demo_1/rewards' has 8 rows, but num_samples of 'data/demo_1' is 9"),
    "num_samples is wrong": (attribute("data/demo_2", "num_samples", 5), b"has 6 rows, but num_samples of 'data/demo_2' is 5"),
    "no num_samples, and a shorter one": (lambda file: (file["data/demo_1"].attrs.__delitem__("num_samples"), replace("data/demo_1/rewards", np.zeros(8))(file)),
                                          b"dataset 'data/demo_1/rewards' has 8 rows, but 'data/demo_1/actions' has 9"),
    "a demo lacks a field": (replace("data/demo_10/obs/robot0_eef_pos", None), b"'data/demo_0' has the dataset 'obs/robot0_eef_pos', but another demonstration lacks it"),
    "a demo has more": (replace("data/demo_10/obs/extra", np.zeros(4)), b"dataset 'data/demo_10/obs/extra' has no counterpart in 'data/demo_0'"),
    "another type": (replace("data/demo_2/actions", np.zeros((6, 7), "f4")), b"dataset 'data/demo_2/actions' is actions float32 (7,), but that of 'data/demo_0' is actions float64 (7,)"),
    "another shape": (replace("data/demo_2/actions", np.zeros((6, 8))), b"dataset 'data/demo_2/actions' is actions float64 (8,), but"),
    "two of one name": (lambda file: [file.create_dataset(f"data/demo_{n}/obs_x", data=np.zeros(rows)) and file.create_dataset(f"data/demo_{n}/obs/x", data=np.zeros(rows))
                                      for n, rows in LENGTHS.items()], b"would be the field 'obs_x'"),
    "a field called demo": (lambda file: [file.create_dataset(f"data/demo_{n}/demo", data=np.zeros(rows)) for n, rows in LENGTHS.items()], b"would be the field 'demo'"),
    "steps without end": (lambda file: [file["data"].__delitem__(f"demo_{n}") for n in LENGTHS] and file.create_dataset("data/demo_0/x", shape=(1 << 40, 2), dtype="f4", chunks=(1, 2)),
                          b"claim 1099511627776 steps in a file of"),
    "nothing but empty demos": (lambda file: [file["data"].__delitem__(f"demo_{n}") for n in LENGTHS] and file.create_dataset("data/demo_0/x", data=np.zeros((0, 2))),
                                b"has demonstrations, but no steps"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_demos_that_differ_are_refused_by_name(name, tmp_path):
    change, message = REFUSED[name]
    write_demos(tmp_path / "demo.hdf5", change=change)
    for words in (["info"], ["index"], ["verify"], ["convert", "out", "--to", "record"]):
        told = run_shale(words[0], "demo.hdf5", *words[1:], code=(0, 1, 2, 3), cwd=tmp_path)
        said = told.stdout + told.stderr
        is_too_large = name == "steps without end" and b"unpacked, but only" in said
        codes = (0, 3) if words == ["info"] else (1, 3)  # it lists what is there
        assert told.returncode in codes and (message in said or is_too_large), (words, told)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["demo.hdf5"]


def test_big_endian_steps_are_turned(tmp_path):
    actions = np.arange(42, dtype=">f8").reshape(6, 7)
    write_demos(tmp_path / "demo.hdf5", change=replace("data/demo_2/actions", actions))
    assert b"is big-endian" in run_shale("info", tmp_path / "demo.hdf5").stdout
    run_shale("convert", tmp_path / "demo.hdf5", tmp_path / "out", "--to", "npy", code=4)
    rows = np.load(tmp_path / "out" / "shard-000000.demo.npy") == 2
    assert np.array_equal(np.load(tmp_path / "out" / "shard-000000.actions.npy")[rows], actions)


def links(file):
    file["data/demo_1/soft"] = h5py.SoftLink("/data/demo_0/actions")
    file["data/demo_1/outside"] = h5py.ExternalLink("other.h5", "/x")
    file["data/demo_99"] = h5py.ExternalLink("other.h5", "/demo")
    file["data/demo_1/loop"] = file["data/demo_1"]
    file["data/demo_1/language"] = np.array(["pick"] * 9, dtype=object)
    file["data/demo_1/seed"] = 7
    file["data/demo_3"] = np.zeros(4)
    file["data/notes"] = np.zeros(4)
    for number in LENGTHS:
        del file[f"data/demo_{number}/states"]
        file[f"data/demo_{number}/states"] = np.zeros((0,))


def test_what_has_no_row_per_step_is_left_out_with_a_note(tmp_path):
    def change(file):
        links(file)
        del file["data/demo_1/loop"]

    path = write_demos(tmp_path / "demo.hdf5", change=change)
    notes = "\n".join(shale.info(path).notes)
    for text in ("link 'data/demo_1/soft'", "link 'data/demo_1/outside'", "'language' of the demonstrations is left out: it is of values of variable length",
                 "'seed' of the demonstrations", "'states' of the demonstrations is left out: it is without rows"):
        assert text in notes, notes
    with Dataset(path) as dataset:
        assert len(dataset) == 20 and "states" not in dataset[0] and "soft" not in dataset[5]


def test_a_group_inside_itself_ends(tmp_path):
    path = write_demos(tmp_path / "demo.hdf5", change=links)
    told = run_shale("info", path, code=(0, 1, 2, 3))
    assert told.returncode in (0, 1) and b"bug" not in told.stderr


def test_other_files_with_groups_are_what_they_were(tmp_path):
    def root_dataset(file):
        file["x"] = np.arange(5)

    path = write_demos(tmp_path / "both.h5", change=root_dataset)
    with Dataset(path) as dataset:
        assert len(dataset) == 5 and shale.info(path).layout is None
    assert "group 'data'" in "\n".join(shale.info(path).notes)
    with h5py.File(tmp_path / "groups.h5", "w") as file:
        file["data/episode_0/x"] = np.zeros(4)
    assert shale.info(tmp_path / "groups.h5").fields[0].name == "data_episode_0_x"
    assert b"not of layout robomimic" in run_shale("index", tmp_path / "groups.h5", "--parse", "robomimic", code=1).stderr
    path = write_demos(tmp_path / "demo.hdf5")
    assert b"has no dataset of samples" in run_shale("index", path, "--parse", "plain", code=1).stderr
    assert b"has no dataset of samples" in run_shale("convert", path, tmp_path / "out", "--to", "npy", "--parse", "plain", code=1).stderr
    np.save(tmp_path / "x.npy", np.zeros(3))
    assert b"--parse robomimic is for HDF5 files" in run_shale("index", tmp_path / "x.npy", "--parse", "robomimic", code=2).stderr


def test_a_file_that_changed_does_not_fit_its_index(tmp_path):
    path = write_demos(tmp_path / "demo.hdf5")
    run_shale("index", path, "--crc")
    with h5py.File(path, "r+") as file:
        file["data/demo_10/actions"][2, 3] = 5
    told = run_shale("verify", path, code=(0, 1, 2, 3))
    assert told.returncode in (1, 3) and b"demo.hdf5" in told.stdout + told.stderr


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_never_more_than_an_error(seed, tmp_path):
    path, dice = write_demos(tmp_path / "demo.hdf5"), random.Random(seed)
    bytes_ = bytearray(path.read_bytes())
    for _ in range(dice.choice([1, 3, 30])):
        bytes_[dice.randrange(len(bytes_))] ^= 1 << dice.randrange(8)
    path.write_bytes(bytes_[: dice.choice([len(bytes_), dice.randrange(len(bytes_))])])
    for words in (["info"], ["verify", "--deep"], ["convert", "out", "--to", "record", "--overwrite"]):
        told = run_shale(words[0], "demo.hdf5", *words[1:], code=(0, 1, 2, 3, 4), cwd=tmp_path)
        assert told.returncode in (0, 1, 3, 4), (words, told)
