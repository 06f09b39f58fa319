"""shale.Writer that goes on where a killed one was, and behind a dataset that is finished: the bytes of a run that nothing disturbed."""

import filecmp
import json
import os
import pathlib
import random
import shutil
import signal
import sys

import numpy as np
import pytest
from conftest import run_shale

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from shale_tool import run
from steps import Steps

shale_package = pytest.importorskip("shale")
from shale import Dataset, Writer, errors, from_iterable

SCHEMA = {"image": "bytes", "caption": "str?", "boxes": "float32 (?, 4)", "label": "int"}
ROWS = {"x": ("float32", (3,)), "n": "int32"}
PHOTO = {"image": "bytes", "label": "int"}


def sample_of(number):
    boxes = np.full((number % 4, 4), number, "f4")
    return {"key": f"k{number}", "image": bytes([number % 256]) * (number * 37 % 500), "caption": None if number % 3 else "c", "boxes": boxes, "label": number}


def row_of(number):
    return {"x": np.full(3, number, "f4"), "n": number}


# Writes 100 samples from where it was left. Words: folder of this file, output, format, threads, and more arguments of Writer.
PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from test_writer_resumed import ROWS, SCHEMA, Writer, row_of, sample_of
out, to, jobs, options = sys.argv[2], sys.argv[3], int(sys.argv[4]), json.loads(sys.argv[5])
is_rows = to == "npy"
writer = Writer(out, to or None, ROWS if is_rows else SCHEMA, shard_samples=7, jobs=jobs, memory="16MiB", io="buffered", **options)
for number in range(writer.resumed_from, 100):
    writer.write((row_of if is_rows else sample_of)(number + (1000 if options.get("append") else 0)))
print(writer.resumed_from, writer.close().was_complete)
"""


def run_program(out, to="record", jobs=2, environment=None, **options):
    folder = pathlib.Path(__file__).parent
    return run("-c", PROGRAM, folder, out, to, jobs, json.dumps({"resume": True, **options}), program=sys.executable, environment=environment)


class Skipping:
    skipTest = staticmethod(pytest.skip)


@pytest.fixture
def steps(tmp_path):
    return Steps(Skipping, tmp_path, tmp_path / "out")


def same_files(left, right):
    names = sorted(os.listdir(left))
    assert names == sorted(os.listdir(right))
    return [name for name in names if not filecmp.cmp(left / name, right / name, shallow=False)] == []


def killed_at_some_steps(steps, tmp_path, reference, to, kills, **options):
    """Each run of them is killed at another step, and then gone on with."""
    begun = tmp_path / "begun"
    log = tmp_path / "log"
    done = run_program(tmp_path / "out", to, environment=steps.environment(log=log), **options)
    assert done.code == 0, done.err
    count = len(log.read_text().splitlines())
    assert same_files(tmp_path / "out", reference)
    dice, found = random.Random(count), []
    for number in range(1 + dice.randrange(count // kills), count + 1, count // kills):
        shutil.rmtree(tmp_path / "out")
        if begun.exists():
            shutil.copytree(begun, tmp_path / "out")
        assert run_program(tmp_path / "out", to, environment=steps.environment(kill=number), **options).code == -signal.SIGKILL
        done = run_program(tmp_path / "out", to, jobs=dice.choice((1, 3)), **options)
        assert done.code == 0, done.err
        found.append(done.out.split())
        assert same_files(tmp_path / "out", reference), number
    return found


@pytest.mark.parametrize("to, kills", [("record", 5), ("lmdb", 2), ("npy", 2)])
def test_a_killed_writer_goes_on_to_the_bytes_of_one_that_was_not(steps, tmp_path, to, kills):
    assert run_program(tmp_path / "reference", to).out == "0 False\n"
    found = killed_at_some_steps(steps, tmp_path, tmp_path / "reference", to, kills)
    resumed = [int(number) for number, _ in found]
    assert max(resumed) >= 35 and all(number in (*range(0, 100, 7), 100) for number in resumed)
    run_shale("verify", tmp_path / "out", "--deep")


def test_a_killed_append_leaves_the_dataset_and_goes_on(steps, tmp_path):
    begun = tmp_path / "begun"
    from_iterable(map(sample_of, range(20)), begun, schema=SCHEMA, shard_samples=7)
    shutil.copytree(begun, tmp_path / "reference")
    shutil.copytree(begun, tmp_path / "out")
    assert run_program(tmp_path / "reference", "", append=True).out == "0 False\n"
    found = killed_at_some_steps(steps, tmp_path, tmp_path / "reference", "", 4, append=True)
    assert any(number not in ("0", "100") for number, _ in found)
    assert [sample["key"] for sample in Dataset(tmp_path / "out")] == [f"k{n}" for n in (*range(20), *range(1000, 1100))]
    run_shale("verify", tmp_path / "out", "--deep")


def test_a_kill_of_an_append_changes_nothing_of_the_dataset(steps, tmp_path):
    out = tmp_path / "out"
    from_iterable(map(sample_of, range(20)), out, schema=SCHEMA, shard_samples=7)
    before = (out / "dataset.json").read_bytes()
    assert run_program(out, "", append=True, environment=steps.environment(kill=60)).code == -signal.SIGKILL
    assert (out / "dataset.json").read_bytes() == before and len(Dataset(out)) == 20
    run_shale("verify", out)
    with pytest.raises(errors.MismatchError, match="(?s)unfinished run of another command: shard_samples: 7 before, 9 now.*hint: .*resume=True.*remove '.*out/.shale'"):
        Writer(out, append=True, shard_samples=9)
    # The dataset itself is complete, and the append goes on behind it.
    assert from_iterable(map(sample_of, range(20)), out, schema=SCHEMA, shard_samples=7, resume=True).was_complete
    assert run_program(out, "", append=True).out.split()[0] != "0" and len(Dataset(out)) == 120


# ---- in one process: an exception keeps what is complete


def stopped(out, count=40, **options):
    with pytest.raises(KeyError), Writer(out, schema=SCHEMA, shard_samples=7, resume=True, **options) as writer:
        for number in range(writer.resumed_from, count):
            writer.write(sample_of(number))
        while len((pathlib.Path(out) / ".shale/journal").read_text().splitlines() + lines_of_tail(out)) < 5:
            pass
        raise KeyError
    return Writer


def lines_of_tail(out):
    tail = pathlib.Path(out) / ".shale/journal.tail"
    return tail.read_text().splitlines() if tail.exists() else []


def test_an_exception_keeps_complete_shards_for_the_next_run(tmp_path):
    out, whole = tmp_path / "out", tmp_path / "whole"
    from_iterable(map(sample_of, range(60)), whole, schema=SCHEMA, shard_samples=7)
    stopped(out)
    with pytest.raises(errors.MismatchError, match="(?s)unfinished dataset.*hint: run the program .*resume=True"):
        Dataset(out)
    done = from_iterable(map(sample_of, range(60)), out, schema=SCHEMA, shard_samples=7, resume=True)
    assert same_files(out, whole) and done.samples == 60 and not done.was_complete


@pytest.mark.parametrize(
    "options, fact",
    [
        ({"shard_samples": 8}, "shard_samples: 7 before, 8 now"),
        ({"shard_size": "1MiB"}, "shard_size: 1073741824 before, 1048576 now"),
        ({"to": "lmdb"}, "to: record before, lmdb now"),
        ({"classes": ["a", "b"]}, "not the same class table"),
        ({"schema": {**SCHEMA, "label": "float"}}, r"fields: .*label \(integer\) before, .*label \(real\) now"),
        ({"schema": dict(reversed(SCHEMA.items()))}, "fields: image .* before, label .* now"),
        ({"schema": {**SCHEMA, "label": "int?"}}, "fields: "),
    ],
)
def test_other_arguments_are_refused_by_name(tmp_path, options, fact):
    stopped(tmp_path / "out")
    arguments = {"schema": SCHEMA, "shard_samples": 7, "resume": True, **options}
    with pytest.raises(errors.MismatchError, match=f"holds an unfinished run of another command: {fact}") as caught:
        Writer(tmp_path / "out", **arguments)
    assert "resume=True" in caught.value.hint and "overwrite" in caught.value.hint
    with Writer(tmp_path / "out", schema=SCHEMA, shard_samples=7, resume=True) as writer:
        assert writer.resumed_from >= 21 and writer.samples == writer.resumed_from
    from_iterable([], tmp_path / "out", **{**arguments, "resume": False, "overwrite": True})


def test_without_resume_a_run_begins_again(tmp_path):
    stopped(tmp_path / "out")
    with Writer(tmp_path / "out", schema=SCHEMA, shard_samples=7) as writer:
        assert writer.resumed_from == 0
        writer.write(sample_of(0))
    assert len(Dataset(tmp_path / "out")) == 1


def test_a_finished_dataset_is_complete(tmp_path):
    out = tmp_path / "out"
    first = from_iterable(map(sample_of, range(30)), out, schema=SCHEMA, shard_samples=7, resume=True)
    before = {name: os.stat(out / name).st_mtime_ns for name in os.listdir(out)}
    again = from_iterable(map(sample_of, range(30)), out, schema=SCHEMA, shard_samples=7, resume=True)
    assert again.was_complete and (again.samples, again.ordered_digest) == (30, first.ordered_digest)
    with pytest.raises(errors.MismatchError, match="already holds a finished dataset: it has 30 samples"):
        from_iterable(map(sample_of, range(31)), out, schema=SCHEMA, shard_samples=7, resume=True)
    with pytest.raises(errors.MismatchError, match="30 samples are written already, but the iterable has 29"):
        from_iterable(map(sample_of, range(29)), out, schema=SCHEMA, shard_samples=7, resume=True)
    for options, fact in (({"shard_samples": 8}, "shard_samples: 7 before, 8 now"), ({"schema": PHOTO}, "fields: ")):
        with pytest.raises(errors.MismatchError, match=f"already holds a finished dataset of another command: {fact}"):
            Writer(out, **{"schema": SCHEMA, "shard_samples": 7, "resume": True, **options})
    assert before == {name: os.stat(out / name).st_mtime_ns for name in os.listdir(out)}
    with Writer(out, schema="first", shard_samples=7, resume=True) as writer:
        assert writer.resumed_from == 30
    assert writer.close().samples == 30
    (out / "shard-000001.tfrecord").unlink()
    with pytest.raises(errors.DamagedError, match="shard-000001.tfrecord: is missing"):
        Writer(out, schema=SCHEMA, shard_samples=7, resume=True)


def test_a_key_of_the_run_before_is_not_taken_twice(tmp_path):
    stopped(tmp_path / "out")
    writer = Writer(tmp_path / "out", schema=SCHEMA, shard_samples=7, resume=True)
    assert writer.resumed_from > 3
    writer.write(sample_of(3))
    with pytest.raises(errors.SchemaError, match="sample 'k3': the key is not unique"):
        writer.close()
    assert os.listdir(tmp_path / "out") == []  # no run could go on with that


def test_the_schema_of_the_first_sample_is_that_of_the_run_before(tmp_path):
    with pytest.raises(KeyError), Writer(tmp_path / "out", schema="first", shard_samples=2, resume=True) as writer:
        for number in range(9):
            writer.write(sample_of(3 * number) | {"boxes": np.zeros((2, 4), "f4")})
        while not lines_of_tail(tmp_path / "out"):
            pass
        raise KeyError
    with Writer(tmp_path / "out", schema="first", shard_samples=2, resume=True) as writer:
        assert writer.resumed_from >= 2
        with pytest.raises(errors.MismatchError, match="unfinished run of another command: fields"):
            writer.write({"other": 1})
        writer.write(sample_of(1000 + writer.resumed_from) | {"boxes": np.zeros((2, 4), "f4"), "caption": "x"})


def test_parts_are_resumed_each_by_itself(tmp_path):
    for index in range(2):
        options = {"schema": PHOTO, "shard_samples": 5, "parts": (index, 2), "resume": True}
        samples = [{"key": f"{index}/{n}", "image": b"", "label": n} for n in range(20)]
        part = tmp_path / f"out/part-{index:05}-of-00002"
        with pytest.raises(KeyError), Writer(tmp_path / "out", **options) as writer:
            for sample in samples:
                writer.write(sample)
            while not lines_of_tail(part):
                pass
            raise KeyError
        with Writer(tmp_path / "out", **options) as writer:
            assert writer.resumed_from >= 5
            for sample in samples[writer.resumed_from :]:
                writer.write(sample)
    run_shale("merge", tmp_path / "out", tmp_path / "all")
    assert sorted(s["key"] for s in Dataset(tmp_path / "all")) == sorted(f"{i}/{n}" for i in range(2) for n in range(20))


def test_two_at_once_and_a_forked_child_are_refused(tmp_path):
    stopped(tmp_path / "out")
    with Writer(tmp_path / "out", schema=SCHEMA, shard_samples=7, resume=True) as writer:
        with pytest.raises(errors.MismatchError, match="another shale process is writing here"):
            Writer(tmp_path / "out", schema=SCHEMA, shard_samples=7, resume=True)
        pid = os.fork()
        if pid == 0:
            try:
                writer.write(sample_of(99))
            except errors.UsageError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
        for number in range(writer.resumed_from, 50):
            writer.write(sample_of(number))
    assert [s["label"] for s in Dataset(tmp_path / "out")] == list(range(50))


def test_one_file_cannot_be_resumed(tmp_path):
    with pytest.raises(errors.UsageError, match="(?s)one file cannot be continued.*hint: leave out resume"):
        Writer(tmp_path / "x.lmdb", schema=PHOTO, resume=True)
    assert os.listdir(tmp_path) == []


# ---- appended


def photos_of(names, label=0):
    return [{"key": name, "image": name.encode(), "label": label} for name in names]


@pytest.fixture
def animals(tmp_path):
    from_iterable(photos_of("abc"), tmp_path / "out", schema=PHOTO, classes=["cat", "dog"], shard_samples=2)
    return tmp_path / "out"


def test_a_program_that_appends_rows_is_run_again(tmp_path):
    value = [1, 2]
    from_iterable([{"x": value}] * 4, tmp_path / "out", "npy", {"x": "float32 (2,)"})
    counts = []
    for resume in (True, True, False):
        with Writer(tmp_path / "out", append=True, resume=resume) as writer:
            for _ in range(3):
                writer.write({"x": value})
        counts.append(len(Dataset(tmp_path / "out")))
    assert counts == [7, 7, 10]


def test_samples_come_behind_those_of_the_dataset(animals):
    added = from_iterable(photos_of("defgh", "dog"), animals, append=True)
    assert (added.samples, added.appended, added.was_complete) == (8, 5, False)
    again = from_iterable(photos_of("defgh", "dog"), animals, append=True)
    assert (again.samples, again.appended, again.was_complete) == (8, 5, True)
    with Writer(animals, append=True) as writer:
        writer.write({"image": b"numbered", "label": 0})
    found = Dataset(animals)
    assert [(s["key"], s["label"]) for s in found] == [(k, 0) for k in "abc"] + [(k, 1) for k in "defgh"] + [("00000008", 0)]
    manifest = json.loads((animals / "dataset.json").read_text())
    assert [each["written"] for each in manifest["sources"]] == [3, 5, 1] and [each["shards"] for each in manifest["sources"]] == [2, 3, 1]
    run_shale("verify", animals, "--deep")


@pytest.mark.parametrize(
    "options, fact, hint",
    [
        ({"schema": {"image": "bytes"}}, r"its fields are image \(bytes\), label \(integer\), those of the input image \(bytes\)", "of these fields"),
        ({"schema": {"label": "int", "image": "bytes"}}, "its fields are ", "in this order"),
        ({"keys": False, "schema": PHOTO}, "its keys are names, those of the input numbers", "another output"),
        ({"to": "lmdb"}, "its format is record, and to says lmdb", "leave out to"),
        ({"classes": ["cow"]}, "its label 0 is class 'cat', in the input it is 'cow'", "leave out the names of the classes"),
        ({"classes": ["cat", "dog", "cow"]}, "it has no class 'cow'", "new_classes append"),
    ],
)
def test_what_differs_from_the_dataset_is_refused(animals, options, fact, hint):
    before = {name: (animals / name).read_bytes() for name in os.listdir(animals)}
    with pytest.raises(errors.MismatchError, match=f"(?s)cannot be appended to: {fact}.*hint: .*{hint}"):
        Writer(animals, append=True, **options)
    assert before == {name: (animals / name).read_bytes() for name in os.listdir(animals)}


def test_a_key_of_the_dataset_leaves_it_as_it_was(animals):
    before = {name: (animals / name).read_bytes() for name in os.listdir(animals)}
    with pytest.raises(errors.SchemaError, match="(?s)sample 'b': the key is not unique: the dataset already has it.*hint: give the sample another key"):
        from_iterable(photos_of("xyb"), animals, append=True, resume=True)
    with pytest.raises(KeyError), Writer(animals, append=True) as writer:
        writer.write(photos_of("z")[0])
        raise KeyError
    assert before == {name: (animals / name).read_bytes() for name in os.listdir(animals)}


def test_new_classes_come_behind_the_others(animals):
    from_iterable(photos_of("d", "cow"), animals, append=True, classes=["cat", "dog", "cow"], new_classes="append")
    assert list(Dataset(animals).classes) == ["cat", "dog", "cow"] and Dataset(animals)[3]["label"] == 2


@pytest.mark.parametrize("to", ["npy", "hdf5", "safetensors"])
def test_rows_are_appended_and_numbered_on(tmp_path, to):
    from_iterable(map(row_of, range(25)), tmp_path / "out", to, ROWS, shard_samples=10)
    for begin in (25, 30):
        from_iterable(map(row_of, range(begin, begin + 5)), tmp_path / "out", append=True)
    whole = from_iterable(map(row_of, range(35)), tmp_path / "whole", to, ROWS)
    assert [s["n"] for s in Dataset(tmp_path / "out")] == list(range(35)) and Dataset(tmp_path / "out")[34]["key"] == "34"
    assert json.loads((tmp_path / "out/dataset.json").read_text())["digest"]["ordered"] == whole.ordered_digest
    run_shale("verify", tmp_path / "out", "--deep")


@pytest.mark.parametrize(
    "out, options, error, message",
    [
        ("none", {}, errors.NotFoundError, "holds no dataset to append to"),
        ("x.h5", {}, errors.UsageError, "an output that is one file cannot be appended to"),
        ("out", {"overwrite": True}, errors.UsageError, "overwrite and append exclude each other"),
        ("out", {"parts": (0, 2)}, errors.UsageError, "parts and append exclude each other"),
        ("out", {"with_index": True}, errors.UsageError, "with_index is for an output that is one file"),
    ],
)
def test_what_does_not_go_with_append(animals, out, options, error, message):
    with pytest.raises(error, match=message):
        Writer(animals.parent / out, append=True, **options)
    assert sorted(os.listdir(animals.parent)) == ["out"]


def test_a_conversion_is_appended_to(photos, tmp_path):
    run_shale("convert", photos, tmp_path / "out", "--to", "record", "--quiet")
    before = len(Dataset(tmp_path / "out"))
    image = next(photos.rglob("*.*")).read_bytes()
    with Writer(tmp_path / "out", append=True) as writer:
        writer.write({"key": "mine/1.jpg", "image": image, "label": Dataset(tmp_path / "out").classes[1]})
    assert len(Dataset(tmp_path / "out")) == before + 1 and Dataset(tmp_path / "out")[before]["label"] == 1
    run_shale("verify", tmp_path / "out", "--deep")
    run_shale("convert", tmp_path / "out", tmp_path / "copy", "--to", "lmdb", "--quiet")
    run_shale("verify", tmp_path / "copy", "--against", tmp_path / "out")
