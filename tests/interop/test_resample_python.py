"""shale.resample: the rows that numpy takes by the same numbers, the bytes that the program writes, and nothing left behind."""

import filecmp
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest
from conftest import run_shale
from dataset_workers import forked
from documented_code import blocks_of, bytes_left_by

shale_package = pytest.importorskip("shale")
from shale import Dataset, ResampleResult, errors, resample

MIB = 1 << 20
ROWS = 1000


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with x.npy, (1000, 3) float32, and y.npy, (1000,) int64: the number of each row."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.random.default_rng(6).random((ROWS, 3), "f4"))
    np.save("y.npy", np.arange(ROWS))
    np.save("w.npy", np.arange(ROWS) % 7)
    np.save("i.npy", np.array([5, -1, 5, 0, 999], "i2"))
    return tmp_path


@pytest.fixture(scope="module")
def large():
    """An array of 200 MB, (200, 1048576) uint8, on a disk; row i begins with the 8 bytes of i."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("SHALE_TEST_DISK", "/var/tmp")) as folder:
        array = np.lib.format.open_memmap(f"{folder}/x.npy", "w+", "u1", (200, MIB))
        for row in range(200):
            array[row] = row
            array[row, :8].view("u8")[0] = row
        array.flush()
        del array
        yield pathlib.Path(folder)


def names_in(folder):
    return sorted(path.name for path in pathlib.Path(folder).iterdir())


# ---- the rows, and the bytes of the program

# Arguments of the call, options of the program.
CALLS = {
    "shuffled": ({}, []),
    "fewer rows": ({"rows": 10}, ["--rows", "10"]),
    "all rows": ({"permute": True, "rows": ROWS}, ["--permute"]),
    "seed": ({"seed": 9}, ["--seed", "9"]),
    "replace": ({"replace": True, "rows": 5000, "seed": 2**64 - 1}, ["--replace", "--rows", "5000", "--seed", str(2**64 - 1)]),
    "weights": ({"weights": "w.npy", "replace": True}, ["--weights", "w.npy"]),
    "indices": ({"indices": pathlib.Path("i.npy")}, ["--indices", "i.npy"]),
    "memory as text": ({"memory": "17MiB", "jobs": 3}, ["--memory", "17MiB"]),
    "memory as bytes": ({"memory": 17 * MIB, "io": "buffered", "tmp": "."}, ["--jobs", "1"]),
}


@pytest.mark.parametrize("arguments, options", CALLS.values(), ids=CALLS)
def test_rows_are_those_of_numpy_and_bytes_those_of_the_program(here, arguments, options):
    result = resample("x.npy", "out.npy", save_indices="rows.npy", also={"y.npy": "y-out.npy"}, **arguments)
    x, rows = np.load("x.npy"), np.load("rows.npy")
    out = np.load("out.npy")
    assert out.dtype == x.dtype and np.array_equal(out, x[rows]) and np.array_equal(np.load("y-out.npy"), rows)
    assert result.rows == len(rows) and result.source_rows == ROWS and result.output == "out.npy"
    run_shale("resample", "x.npy", "same.npy", "--save-indices", "same-rows.npy", "--quiet", *options)
    assert filecmp.cmp("out.npy", "same.npy", shallow=False) and filecmp.cmp("rows.npy", "same-rows.npy", shallow=False)


def test_the_result_says_what_was_written(here):
    result = resample("x.npy", "out.npy", rows=10, also={"y.npy": "y-out.npy"}, save_indices="rows.npy")
    assert isinstance(result, ResampleResult) and result.dataset is None and result.notes == ()
    assert [array.path for array in result.arrays] == ["out.npy", "y-out.npy", "rows.npy"]
    assert [array.shape for array in result.arrays] == [(10, 3), (10,), (10,)]
    assert [array.dtype for array in result.arrays] == [np.dtype("f4"), np.dtype("i8"), np.dtype("i8")]
    assert [array.file_bytes for array in result.arrays] == [os.path.getsize(array.path) for array in result.arrays]
    facts = json.loads(run_shale("resample", "x.npy", "same.npy", "--rows", "10", "--json").stdout)["arrays"][0]
    names = ["strategy", "passes", "read_bytes", "written_bytes", "scratch_bytes"]
    assert [getattr(result.arrays[0], name) for name in names] == [facts[name] for name in names]
    assert pickle.loads(pickle.dumps(result)) == result
    with pytest.raises(AttributeError):
        result.rows = 7


def test_structures_keep_their_dtype(here):
    points = np.zeros(4, [("at", "<f4", (2,)), ("label", "<i2")])
    points["label"] = range(4)
    np.save("p.npy", points)
    result = resample("p.npy", "out.npy", indices=[3, 0])
    assert result.arrays[0].dtype == points.dtype and np.load("out.npy")["label"].tolist() == [3, 0]


def test_notes_come_with_the_result(here):
    np.save("f.npy", np.asfortranarray(np.arange(12.0).reshape(4, 3)))
    result = resample("f.npy", "out.npy", indices=[2, 1])
    assert np.array_equal(np.load("out.npy"), np.load("f.npy")[[2, 1]])
    limits = ["--jobs", "2", "--memory", "64MiB"]  # given, so that no note tells of them
    program = run_shale("resample", "f.npy", "same.npy", "--rows", "1", *limits).stderr.decode()
    notes = [line[len("note: ") :] for line in program.splitlines() if line.startswith("note: ")]
    assert list(result.notes) == notes
    assert any("Fortran" in note for note in result.notes)


@pytest.mark.parametrize("block", blocks_of(["docs/python.md"], "resample"))
def test_the_lines_in_the_document_draw_rows(block, dataset, here):
    bytes_left_by(block, dataset, here)
    x, rows = np.load("x.npy"), np.load("rows.npy")
    assert np.array_equal(np.load("x-out.npy"), x[rows]) and np.array_equal(np.load("y-out.npy"), rows)
    assert len(np.load("boot.npy")) == 10 * ROWS and np.array_equal(np.load("picked.npy"), x[[7, -1, 7]])
    assert len(Dataset("drawn")) == 500


# ---- arguments


@pytest.mark.parametrize("kind", [str, os.fsencode, pathlib.Path])
def test_paths_of_any_kind(here, kind):
    odd = "ö a=\n.npy"
    os.rename("x.npy", odd)
    out = "out \udcff.npy"  # as os.fsdecode has a byte 0xff
    assert resample(kind(odd), kind(out)).output == out and np.load(out).shape == (ROWS, 3)


def test_sources_of_several_files(here):
    x, y = np.load("x.npy"), np.load("y.npy")
    resample(["x.npy", pathlib.Path("x.npy")], "twice.npy", save_indices="rows.npy")
    assert np.array_equal(np.load("twice.npy"), np.concatenate([x, x])[np.load("rows.npy")])
    resample({"a": ["x.npy", "x.npy"], "b": ["y.npy", "y.npy"]}, "b.npy", fields="b", save_indices="b-rows.npy")
    assert np.array_equal(np.load("b.npy"), np.concatenate([y, y])[np.load("b-rows.npy")])
    np.savez("z.npz", x=x, y=y)
    resample("z.npz", "z.npy", fields=["x"], indices=[7])
    assert np.array_equal(np.load("z.npy"), x[[7]])


@pytest.mark.parametrize(
    "indices",
    [
        [5, -1, 5, 0],
        (5, -1, 5, 0),
        np.array([5, -1, 5, 0], "i1"),
        np.array([5, -1, 5, 0], ">i4"),
        np.array([[5, -1, 5, 0], [1, 1, 1, 1]])[:, ::-1][0, ::-1],
        np.array([5, 999, 5, 0], "u8"),
        range(5, 0, -2),
        [],
    ],
    ids=str,
)
def test_indices_as_numbers(here, indices):
    result = resample("x.npy", "out.npy", indices=indices)
    assert np.array_equal(np.load("out.npy"), np.load("x.npy")[np.asarray(indices, "i8")])
    assert result.rows == len(indices)


@pytest.mark.parametrize("make", [list, np.array, lambda w: np.array(w, "f2"), lambda w: np.array(w, bool)])
def test_weights_as_numbers(here, make):
    weights = make([0] * 990 + [1] * 10)
    resample("y.npy", "out.npy", weights=weights, rows=500, seed=4)
    np.save("same-w.npy", weights)
    resample("y.npy", "same.npy", weights="same-w.npy", rows=500, seed=4)
    assert set(np.load("out.npy")) == set(range(990, 1000))
    assert filecmp.cmp("out.npy", "same.npy", shallow=False)


def test_the_file_of_an_array_is_in_tmp_and_goes(here, monkeypatch):
    seen, system = [], here / "system"
    for folder in ("tmp", "system"):
        (here / folder).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(system))

    def look(done, total):
        seen.append((names_in("tmp"), names_in("system")))

    resample("x.npy", "a.npy", indices=[1], progress=look)
    resample("x.npy", "b.npy", indices=np.array([1]), tmp="tmp", progress=look)
    assert [(bool(tmp), bool(of_system)) for tmp, of_system in seen] == [(False, True), (True, False)]
    for bad in ([1000], [0.5]):
        with pytest.raises(errors.SchemaError):
            resample("x.npy", "c.npy", indices=bad, tmp="tmp")
    assert names_in("tmp") == names_in("system") == [] and not os.path.exists("c.npy")


def test_overwrite_and_dry_run(here):
    before = names_in(here)
    plan = resample("x.npy", "out.npy", rows=7, save_indices="rows.npy", dry_run=True, progress=lambda *_: pytest.fail("moved"))
    assert names_in(here) == before
    done = resample("x.npy", "out.npy", rows=7, save_indices="rows.npy")
    assert plan == done
    with pytest.raises(errors.MismatchError, match="already exists") as caught:
        resample("x.npy", "out.npy")
    assert caught.value.file == "out.npy" and caught.value.hint == "choose another output, or pass overwrite to replace it"
    assert resample("x.npy", "out.npy", overwrite=True).rows == ROWS
    assert np.load("out.npy").shape == (ROWS, 3)


def test_shards_are_a_dataset(here):
    columns = {"x": "x.npy", "y": ["y.npy"]}
    result = resample(columns, "out", to="npy", rows=700, shard_samples=300, save_indices="rows.npy")
    rows = np.load("rows.npy")
    assert (result.dataset.samples, result.dataset.shards, result.dataset.format) == (700, 3, "npy")
    assert result.dataset.path == "out" and not result.dataset.was_complete
    assert [array.path for array in result.arrays] == ["rows.npy"]
    ds = Dataset("out")
    assert len(ds) == 700 and np.array_equal(ds.column("y"), rows)
    assert all(np.array_equal(sample["x"], x) for sample, x in zip(ds, np.load("x.npy")[rows]))
    run_shale("resample", "x=x.npy", "y=y.npy", "same", "--to", "npy", "--rows", "700", "--shard-samples", "300", "--quiet")
    assert names_in("same") == names_in("out")
    for name in names_in("out"):
        assert filecmp.cmp(f"out/{name}", f"same/{name}", shallow=False), name
    again = resample(columns, "out", to="npy", rows=700, shard_samples=300)
    assert again.dataset.was_complete and again.dataset.samples == 700
    small = resample("out", "small", to="record", fields=["y"], shard_size="4KiB")
    assert small.dataset.shards > 3 and sorted(sample["y"] for sample in Dataset("small")) == sorted(rows)
    assert resample("out", "smaller", to="record", fields=["y"], shard_size=4096).dataset.shards == small.dataset.shards


# ---- progress


def steps_of(*arguments, **named):
    """All that progress was told, and by which threads."""
    steps, threads = [], set()

    def note(done, total):
        steps.append((done, total))
        threads.add(threading.get_ident())

    resample(*arguments, progress=note, **named)
    assert threads <= {threading.get_ident()}
    return steps


def check_steps(steps, total):
    assert steps[-1] == (total, total) and {all_rows for _, all_rows in steps} == {total}
    done = [done for done, _ in steps]
    assert done == sorted(set(done)) and done[0] > 0


def test_progress_grows_and_ends(here):
    check_steps(steps_of("x.npy", "a.npy"), ROWS)
    check_steps(steps_of("x.npy", "b.npy", rows=10, also={"y.npy": "b-y.npy"}, save_indices="b-rows.npy"), 30)
    check_steps(steps_of({"x": "x.npy", "y": "y.npy"}, "out", to="npy"), ROWS)
    check_steps(steps_of("x.npy", "out-2", to="npy", rows=10, also={"y.npy": "c-y.npy"}, save_indices="c-rows.npy"), 30)
    np.save("nothing.npy", np.zeros((5, 0)))
    check_steps(steps_of("nothing.npy", "d.npy"), 5)
    assert steps_of("x.npy", "e.npy", indices=[]) == []


def test_progress_counts_rows_of_every_pass(large):
    rows = 40 * MIB
    np.lib.format.open_memmap(large / "small.npy", "w+", "<u1", (rows, 4)).flush()
    try:
        passes = resample(large / "small.npy", large / "out.npy", memory="16MiB", dry_run=True).arrays[0].passes
        begin = time.monotonic()
        steps = steps_of(large / "small.npy", large / "out.npy", memory="16MiB")
        assert passes > 1 and len(steps) <= 10 * (time.monotonic() - begin) + 1
        check_steps(steps, passes * rows)
        assert len(steps) > 3
    finally:
        for name in ("small.npy", "out.npy"):
            (large / name).unlink(missing_ok=True)


class Stop(Exception):
    pass


def only_work_folders_are_new(folder, before):
    """They are what the same call continues; the next test begins without them."""
    new = set(names_in(folder)) - set(before)
    assert set(before) <= set(names_in(folder)) and all(name.startswith(".") and name.endswith(".npy.shale") for name in new)
    for name in new:
        shutil.rmtree(folder / name)


@pytest.mark.parametrize("last", [False, True], ids=["first call", "last call"])
def test_what_progress_raises_stops_the_run_and_leaves_no_array(large, last):
    before, calls = names_in(large), []

    def stop(done, total):
        calls.append(done)
        if done == total or not last:
            raise Stop(done)

    with pytest.raises(Stop) as caught:
        resample(large / "x.npy", large / "out.npy", memory="16MiB", save_indices=large / "rows.npy", progress=stop)
    assert caught.value.args == (calls[-1],) and (last or len(calls) == 1)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    only_work_folders_are_new(large, before)


@pytest.mark.parametrize("exception", [KeyboardInterrupt, SystemExit, errors.UsageError])
def test_exceptions_of_any_class_come_out_as_they_are(here, exception):
    before = names_in(here)
    raised = exception("--rows")

    def stop(done, total):
        raise raised

    with pytest.raises(exception) as caught:
        resample("x.npy", "out.npy", progress=stop)
    assert caught.value is raised and str(raised) == "--rows"
    assert names_in(here) == before


def test_an_interrupt_sent_by_progress_stops_the_run(large):
    before = names_in(large)
    old = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell has put the tests into the background
    try:
        with pytest.raises(KeyboardInterrupt):
            resample(large / "x.npy", large / "out.npy", memory="16MiB", progress=lambda *_: os.kill(os.getpid(), signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, old)
    only_work_folders_are_new(large, before)


def test_a_signal_is_heard_without_a_callback(large):
    """The handler runs while the call does: long before 5 GB are written."""
    before = names_in(large)

    def hear(*_):
        raise Stop

    old = signal.signal(signal.SIGALRM, hear)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Stop):
            resample(large / "x.npy", large / "out.npy", memory="16MiB", rows=5000, replace=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    only_work_folders_are_new(large, before)


# ---- errors

REFUSED = {
    "two ways to draw": ({"replace": True, "permute": True}, "permute and replace exclude each other"),
    "weights and indices": ({"weights": [1], "indices": [1]}, "indices and weights exclude each other"),
    "rows beside indices": ({"indices": [1], "rows": 1}, "rows has no effect with indices"),
    "seed beside indices": ({"indices": [1], "seed": 1}, "seed has no effect with indices"),
    "permute of fewer": ({"permute": True, "rows": 3}, "permute takes each of 1000 rows once, but rows asks for 3"),
    "more than there are": ({"rows": 1001}, "1001 rows requested without replacement from a source of 1000"),
    "to": ({"to": "hdf5"}, "to hdf5 for an output that is one npy file"),
    "shard_size": ({"shard_size": 4096}, "shard_size has no effect"),
    "shard_samples": ({"shard_samples": 4}, "shard_samples has no effect"),
    "save_indices": ({"save_indices": "rows.txt"}, "rows.txt: save_indices writes an array"),
    "also": ({"also": {"y.npy": "y"}}, "also 'y.npy=y' does not have the form"),
    "jobs": ({"jobs": 0}, "jobs 0 is not between 1 and 1024"),
    "memory": ({"memory": MIB}, "memory 1048576 is less than the minimum, 16 MiB"),
    "memory text": ({"memory": "much"}, "'much' is not a size"),
    "negative rows": ({"rows": -1}, "rows is -1"),
    "no number": ({"rows": 1.5}, "rows is 1.5"),
    "large seed": ({"seed": 2**64}, "seed is 18446744073709551616"),
    "io": ({"io": "mmap"}, "io 'mmap' is not one of auto, direct, buffered"),
    "progress": ({"progress": 7}, "progress is 7"),
    "output is the source": ({"output": "x.npy", "overwrite": True}, "is the input"),
    "no format": ({"output": "out"}, "no format was chosen"),
    "unknown format": ({"output": "out", "to": "tar"}, "unknown format 'tar'"),
    "no path": ({"source": 7}, "source is 7"),
    "no source": ({"source": []}, "source is empty, expected a path"),
    "no columns": ({"source": {}}, "source is empty, expected columns"),
    "odd column": ({"source": {"a=b": "x.npy"}}, "a column 'a=b'"),
    "unknown field": ({"fields": ["z"]}, "fields: 'z' is not one of the arrays"),
}


@pytest.mark.parametrize("arguments, text", REFUSED.values(), ids=REFUSED)
def test_what_contradicts_itself_is_refused_in_words_of_python(here, arguments, text):
    before = names_in(here)
    with pytest.raises(errors.UsageError) as caught:
        resample(**{"source": "x.npy", "output": "out.npy", **arguments})
    assert text in str(caught.value) and "--" not in str(caught.value)
    assert isinstance(caught.value, ValueError) and names_in(here) == before


LISTS = {
    "two axes": ({"indices": [[1, 2]]}, "indices has shape (1, 2), expected one axis"),
    "one number": ({"weights": 3}, "weights has shape (), expected one axis"),
    "objects": ({"indices": np.array([1, None])}, "indices has dtype object, expected numbers"),
    "texts": ({"weights": ["a"]}, "weights has dtype <U1, expected numbers"),
    "ragged": ({"indices": [[1], [1, 2]]}, "indices cannot be made an array"),
    "huge numbers": ({"indices": [2**70]}, "indices has dtype object"),
    "floats": ({"indices": [1.0]}, "indices: row numbers are float64, expected integers"),
    "a mask": ({"indices": np.ones(ROWS, bool)}, "indices: holds a mask of bools, expected row numbers"),
    "out of range": ({"indices": [0, 1000]}, "indices: entry 1 is row 1000, but the source has 1000 rows"),
    "too few": ({"weights": [1, 2]}, "weights: 2 weights for a source of 1000 rows"),
    "negative": ({"weights": [-1] * ROWS}, "weights: "),
    "all zero": ({"weights": np.zeros(ROWS)}, "weights: "),
}


@pytest.mark.parametrize("arguments, text", LISTS.values(), ids=LISTS)
def test_numbers_that_make_no_draw(here, arguments, text):
    before = names_in(here)
    with pytest.raises(errors.SchemaError) as caught:
        resample("x.npy", "out.npy", **arguments)
    assert str(caught.value).startswith(text) and caught.value.file is None and caught.value.offset is None
    assert names_in(here) == before


def test_errors_name_the_file(here):
    with pytest.raises(errors.NotFoundError) as caught:
        resample("none.npy", "out.npy")
    assert caught.value.file == "none.npy"
    np.save("nine.npy", np.zeros(9))
    with pytest.raises(errors.SchemaError, match="has 9 rows, but x.npy has 1000") as caught:
        resample("x.npy", "out.npy", also={"nine.npy": "nine-out.npy"})
    assert caught.value.file == "nine.npy"
    os.truncate("x.npy", 1000)
    with pytest.raises(errors.DamagedError) as caught:
        resample("x.npy", "out.npy")
    assert (caught.value.file, caught.value.offset) == ("x.npy", 128)
    np.save("i.npy", np.array([0, 9]))
    with pytest.raises(errors.SchemaError) as caught:
        resample("nine.npy", "out.npy", indices="i.npy")
    assert (caught.value.file, caught.value.offset) == ("i.npy", 136)
    with pytest.raises(errors.StorageError, match="temporary folder"):
        resample("nine.npy", "out.npy", indices=[1], tmp="missing")
    with pytest.raises(errors.NotFoundError, match="does not exist"):
        resample("nine.npy", "missing/out.npy")
    assert "out.npy" not in names_in(here)


# ---- processes, threads, memory


def test_threads_run_calls_at_once(here):
    done = {}

    def work(seed):
        for turn in range(5):
            resample("x.npy", f"{seed}-{turn}.npy", seed=seed, replace=True, rows=20_000, memory="16MiB", jobs=2, progress=lambda *_: None)
        done[seed] = np.load(f"{seed}-4.npy")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(4):
        run_shale("resample", "x.npy", "same.npy", "--replace", "--rows", "20000", "--seed", str(seed), "--quiet", "--overwrite")
        assert np.array_equal(done[seed], np.load("same.npy"))


def test_forked_children_run_calls(here):
    resample("x.npy", "parent.npy")
    assert forked(lambda: resample("x.npy", "child.npy", jobs=2).rows == ROWS)
    assert filecmp.cmp("parent.npy", "child.npy", shallow=False)


MEASURED = """
import shale
before = dataset_workers.resident_bytes("VmHWM")
shale.resample(sys.argv[1], sys.argv[2], memory="16MiB", jobs=2, save_indices=sys.argv[3])
print(json.dumps(dataset_workers.resident_bytes("VmHWM") - before))
"""


def test_memory_is_what_was_granted(large):
    head = f"import json, sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); import dataset_workers\n"
    words = [large / "x.npy", large / "out.npy", large / "rows.npy"]
    run = subprocess.run([sys.executable, "-c", head + MEASURED, *map(str, words)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 32 * MIB, "16 MiB were granted; threads and code take the rest"
    out = np.load(large / "out.npy", mmap_mode="r")
    rows = np.load(large / "rows.npy")
    assert sorted(rows) == list(range(200))
    assert all((out[slot, 8:] == row).all() and out[slot, :8].view("u8")[0] == row for slot, row in enumerate(rows))
    for name in ("out.npy", "rows.npy"):
        (large / name).unlink()
