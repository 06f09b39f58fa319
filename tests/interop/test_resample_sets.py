"""`shale resample` into shards and out of datasets: NumPy's SRC[indices], read back by shale.Dataset, and the manifests proved."""

import json
import random
import subprocess

import numpy as np
import pytest
import shale
from conftest import SHALE, run_shale
from resampling import check_draw, check_file, is_drawn_from, little, noise, resampled, saved, words_of
from test_npy_reader import shards_of, tinytopics_data

ROWS = 300
CONTAINERS = ["npy", "hdf5", "record", "lmdb"]
MODES = ["permute", "rows", "replace", "weights", "indices"]


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    """x: (n, 4, 5) float32. y: big-endian labels. Files of both, and datasets of them."""
    folder = tmp_path_factory.mktemp("arrays")
    x, y = noise("<f4", (ROWS, 4, 5)), np.random.default_rng(2).integers(-999, 999, ROWS).astype(">i4")
    words = [f"x={saved(folder / 'x.npy', x)}", f"y={saved(folder / 'y.npy', y)}"]
    for container in ("npy", "hdf5"):
        run_shale("convert", *words, folder / container, "--to", container, "--shard-samples", "70", "--quiet")
    return folder, x, little(y), words


def drawn_by(mode, folder, tmp_path):
    """The options of a draw, and the numbers that it draws."""
    words = [*map(str, words_of(mode, ROWS, tmp_path, 450)), *([] if mode == "indices" else ["--seed", "9"])]
    return words, resampled([folder / "x.npy"], tmp_path / "drawn.npy", *words)


def check_dataset(path, x, y, numbers):
    """Every row of a dataset, by shale.Dataset: to the byte, in order."""
    dataset = shale.Dataset(path, verify=True)
    assert len(dataset) == len(numbers)
    for sample, number in zip(dataset.__getitems__(list(range(len(numbers)))), numbers, strict=True):
        assert np.asarray(sample["x"]).tobytes() == x[number].tobytes()
        assert sample["y"] == y[number]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("mode", MODES)
def test_shards_hold_the_drawn_rows_whatever_they_come_from(mode, container, arrays, tmp_path):
    folder, x, y, sources = arrays
    words, numbers = drawn_by(mode, folder, tmp_path)
    sets = {"arrays": sources, "npy": [folder / "npy"], "hdf5": [folder / "hdf5"]}
    for name, source in sets.items():
        command = ["resample", *source, tmp_path / name, "--to", container, "--shard-samples", "100", *words, "--quiet"]
        run_shale(*command, "--save-indices", tmp_path / f"{name}-rows.npy")
        check_file(tmp_path / f"{name}-rows.npy", numbers)
        run_shale("verify", tmp_path / name, "--deep")
        check_dataset(tmp_path / name, x, y, numbers)


@pytest.mark.parametrize("container", ["npy", "hdf5"])
@pytest.mark.parametrize("mode", MODES)
def test_one_array_out_of_a_dataset(mode, container, arrays, tmp_path):
    folder, x, y, _ = arrays
    words, _ = drawn_by(mode, folder, tmp_path)
    for field, array in (("x", x), ("y", y)):
        check_draw(array, [folder / container], tmp_path / "out.npy", "--fields", field, *words)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("source", ["arrays", "npy", "hdf5"])
def test_convert_shuffle_is_the_same_permutation(source, container, arrays, tmp_path):
    folder, x, y, sources = arrays
    numbers = resampled([folder / "x.npy"], tmp_path / "drawn.npy", "--permute", "--seed", 21)
    words = [*(sources if source == "arrays" else [folder / source]), "--to", container, "--shard-size", "13kB"]
    run_shale("convert", *words, tmp_path / "converted", "--shuffle", "--seed", "21", "--verify", "--quiet")
    run_shale("resample", *words, tmp_path / "resampled", "--permute", "--seed", "21", "--quiet")
    check_dataset(tmp_path / "converted", x, y, numbers)
    check_dataset(tmp_path / "resampled", x, y, numbers)


def test_shards_are_the_slices_that_numpy_saves_for_all_limits(arrays, tmp_path):
    folder, x, y, sources = arrays
    words, numbers = drawn_by("replace", folder, tmp_path)
    for limits in (["--jobs", "1", "--memory", "16MiB"], ["--jobs", "8", "--memory", "64MiB", "--io", "buffered"]):
        run_shale("resample", *sources, tmp_path / "set", "--to", "npy", "--shard-samples", "100", *words, *limits, "--overwrite")
        for field, array in (("x", x), ("y", y)):
            joined = np.concatenate(shards_of(tmp_path / "set", field))
            assert joined.tobytes() == array[numbers].tobytes()


@pytest.mark.parametrize("fields", [2, 12])
def test_large_columns_side_by_side_go_through_buckets_into_shards(fields, tmp_path):
    columns = {f"f{i}": noise("u1", (400_000, 10 + i % 3), i) for i in range(fields)}
    sources = [f"{name}={saved(tmp_path / f'{name}.npy', column)}" for name, column in columns.items()]
    rows = tmp_path / "rows.npy"
    words = ["--to", "npy", "--shard-size", "5MiB", "--replace", "--memory", "16MiB", "--quiet"]
    run_shale("resample", *sources, tmp_path / "set", *words, "--save-indices", rows)
    run_shale("verify", tmp_path / "set", "--full")
    for name, column in columns.items():
        assert np.array_equal(np.concatenate(shards_of(tmp_path / "set", name)), column[np.load(rows)])


def test_more_threads_than_the_memory_has_room_for(tmp_path):
    x, y = noise("u1", (100, 300_000)), np.arange(100, dtype="<i8")
    sources = [f"x={saved(tmp_path / 'x.npy', x)}", f"y={saved(tmp_path / 'y.npy', y)}"]
    run_shale("resample", *sources, tmp_path / "set", "--to", "npy", "--memory", "16MiB", "--jobs", "256", "--permute")
    numbers = shards_of(tmp_path / "set", "y")[0]
    assert np.array_equal(np.sort(numbers), y)
    assert is_drawn_from(x, tmp_path / "set/shard-000000.x.npy", numbers)


@pytest.mark.parametrize("container", ["npy", "record"])
def test_a_killed_run_into_shards_goes_on(container, tmp_path):
    dice = random.Random(5)
    x = noise("<i4", (200_000, 15))
    source = saved(tmp_path / "x.npy", x)
    numbers = resampled([source], tmp_path / "drawn.npy", "--replace")
    command = ["resample", f"x={source}", tmp_path / "set", "--to", container, "--shard-size", "1MiB", "--replace", "--memory", "16MiB"]
    for _ in range(6):
        process = subprocess.Popen([SHALE, *map(str, command), "--quiet"], stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=dice.uniform(0.05, 0.5))
        except subprocess.TimeoutExpired:
            process.kill()
        process.wait()
    run_shale(*command)
    run_shale("verify", tmp_path / "set", "--full")
    if container == "npy":
        assert np.array_equal(np.concatenate(shards_of(tmp_path / "set", "x")), x[numbers])
    assert json.loads(run_shale(*command, "--json").stdout)["rows"] == len(numbers)


def test_the_dataset_of_tinytopics_reads_an_epoch_of_drawn_rows(tmp_path):
    from torch.utils.data import DataLoader

    counts = np.random.default_rng(3).poisson(2.0, (ROWS, 40)).astype("<f4")
    source, out = saved(tmp_path / "x.npy", counts), tmp_path / "out.npy"
    numbers = resampled([source], out, "--replace", "--rows", 4 * ROWS)
    dataset = tinytopics_data().NumpyDiskDataset(out)
    assert (len(dataset), dataset.num_terms) == (4 * ROWS, 40)
    batches = [batch.numpy() for batch in DataLoader(dataset, batch_size=64, num_workers=2)]
    assert np.concatenate(batches).tobytes() == counts[numbers].tobytes()
    assert is_drawn_from(counts, out, numbers)
