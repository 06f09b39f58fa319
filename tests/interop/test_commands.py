"""The commands as functions: the bytes and the facts of the program, typed; errors are exceptions, and nothing is left behind."""

import filecmp
import inspect
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from typing import Any

import lmdb
import numpy as np
import pytest
from conftest import run_shale
from documented_code import blocks_of, bytes_left_by

shale_package = pytest.importorskip("shale")
import shale
from shale import _shale, errors
from shale._words import words_of

# Arguments of the call, options of the program.
CONVERSIONS = {
    "record": ({"to": "record"}, ["--to", "record"]),
    "shuffled": ({"to": "lmdb", "shuffle": True, "seed": 7}, ["--to", "lmdb", "--shuffle", "--seed", "7"]),
    "bounded": ({"to": "hdf5", "shard_size": "2MiB"}, ["--to", "hdf5", "--shard-size", "2MiB"]),
    "by number": (
        {"to": "record", "shard_samples": 9, "shard_size": 2 << 20, "jobs": 1, "memory": "16MiB", "io": "buffered"},
        ["--to", "record", "--shard-samples", "9", "--shard-size", "2097152"],
    ),
}


def same_folders(left, right):
    names = sorted(path.name for path in pathlib.Path(left).iterdir())
    assert names == sorted(path.name for path in pathlib.Path(right).iterdir())
    assert filecmp.cmpfiles(left, right, names, shallow=False)[0] == names


def facts_of(*words, code=0):
    return json.loads(run_shale(*words, "--json", code=code).stdout)


def check_facts(result, facts, but=()):
    """Every member of the JSON that the result has too is the same."""
    shared = [name for name in facts if hasattr(result, name) and name not in ("fields", "notes", "first_skipped", *but)]
    assert len(shared) >= 5
    for name in shared:
        assert getattr(result, name) == facts[name], name
    if "fields" in facts:
        assert [(each.name, each.kind) for each in result.fields] == [(each["name"], each["kind"]) for each in facts["fields"]]


@pytest.mark.parametrize("name", CONVERSIONS)
def test_convert_writes_the_bytes_of_the_program_and_returns_its_facts(photos, tmp_path, name):
    arguments, words = CONVERSIONS[name]
    result = shale.convert(photos, tmp_path / "ours", **arguments)
    facts = facts_of("convert", photos, tmp_path / "program", *words)
    same_folders(tmp_path / "ours", tmp_path / "program")
    check_facts(result, facts, but=["output"])
    assert result.output == str(tmp_path / "ours") and len(result.content_digest) == 32
    again = shale.convert(photos, tmp_path / "ours", **arguments)
    assert again.was_complete and not result.was_complete


def test_columns_and_lists_of_arrays(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(24, dtype="f4").reshape(8, 3))
    np.save(tmp_path / "y.npy", np.arange(8))
    result = shale.convert({"x": tmp_path / "x.npy", "y": tmp_path / "y.npy"}, tmp_path / "set", "npy")
    assert [(each.name, each.dtype, each.shape) for each in result.fields] == [("x", "<f4", (3,)), ("y", "<i8", ())]
    shale.convert([tmp_path / "x.npy", tmp_path / "x.npy"], tmp_path / "twice.npy")
    assert np.array_equal(np.load(tmp_path / "twice.npy"), np.concatenate([np.load(tmp_path / "x.npy")] * 2))
    assert shale.verify(tmp_path / "set", against={"x": tmp_path / "x.npy", "y": tmp_path / "y.npy"}).ok


FUNCTIONS = [getattr(shale, name) for name in ("convert", "verify", "index", "info", "repair", "parts", "merge", "report", "resample")]
# What the words of a command are called, and what the program says on stderr.
OPERANDS = {"source", "output", "dataset", "files", "places", "progress"}
# Defaults that say what the program does by itself.
DEFAULTS = {"io": "auto", "seed": 0, "sample": 10000}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_arguments_are_the_rows_of_the_table_of_options(function):
    command = function.__name__
    signature = inspect.signature(function).parameters
    rows = {argument: (option, value) for option, argument, value in _shale.options(command)}
    assert set(signature) - set(rows) <= OPERANDS and set(rows) <= set(signature)
    listed = re.findall(r"^  --([a-z-]+)", run_shale(command, "--help").stdout.decode(), re.MULTILINE)
    assert {option for option, _ in rows.values()} == set(listed) - {"help", "json", "quiet", "verbose", "progress", "missing"}
    described = inspect.getdoc(function).split("Args:")[1]
    for argument, (_, value) in rows.items():
        assert re.search(rf"^ +([a-z_]+, )*{argument}(, [a-z_]+)*:", described, re.MULTILINE), argument
        default = signature[argument].default
        assert default in (False if value == "" else None, inspect.Parameter.empty, DEFAULTS.get(argument)), argument


# What the C++ interface (docs/cpp.md) calls otherwise, and what it does not have: there is no plan, who calls chooses a depth, one
# dataset is verified, not files that are read along an axis, nor a folder, numbers have a header, and tars no indexes of other programs.
MEMBERS = {
    **dict.fromkeys(("jobs", "memory"), "resources"),
    **dict.fromkeys(("quick", "full", "deep"), "depth"),
    **dict(index_dir="index_folder", strict="is_strict", to="format", shard_size="shard_bytes", row_group_size="row_group_bytes", parts="part", axes="pixel_axes"),
}
NOT_IN_CPP = {"convert": {"dry_run", "native"}, "verify": {"axis", "report", "export", "ext", "pairs", "hidden", "group", "allow_empty"}}


@pytest.mark.parametrize("command", ["convert", "verify"])
def test_members_of_the_public_structs_are_the_rows_of_the_table_of_options(command):
    """`classes` and `keys` were missing."""
    headers = {name: (pathlib.Path(__file__).parents[2] / "lib/shale" / f"{name}.hpp").read_text() for name in (command, "output")}
    struct = re.search(rf"struct {command.title()}Options {{\n(.*?)\n}};", headers[command], re.DOTALL)[1]
    destination = re.search(r"struct Destination {\n(.*?)\n};", headers["output"], re.DOTALL)[1]
    code = re.sub(r"//.*", "", struct + (destination if command == "convert" else ""))
    members = set(re.findall(r"(\w+)(?: = [^;,]*)?(?=[;,])", re.sub(r"<[^;]*?>+|{[^}]*}", "", code)))
    asked = {MEMBERS.get(argument, argument) for _, argument, _ in _shale.options(command)} - NOT_IN_CPP[command]
    assert members == asked | ({"inputs", "path"} if command == "convert" else {"dataset"}) | ({"to"} if command == "convert" else set())


def test_a_call_is_a_command_line(tmp_path):
    """Bytes of paths, commas and equals signs in names, values that begin with a dash: the program gets what was passed."""
    arguments = {"to": "npy", "fields": ["a,b", "c\\"], "labels": b"-l\xff=x", "shuffle": True, "resize": {"i": "fit=1x1", "m": "fit=2x2"}, "max_errors": 7}
    assert words_of("convert", [b"-in", b"out"], arguments) == [
        *(b"convert", b"--to=npy", b"--fields=a\\,b,c\\\\", b"--labels=-l\xff=x", b"--shuffle", b"--max-errors=7"),
        *(b"--resize=i:fit=1x1", b"--resize=m:fit=2x2", b"--", b"-in", b"out"),
    ]
    np.savez(tmp_path / "x.npz", **{"a,b": np.arange(3), "c\\": np.arange(4, 7), "d": np.arange(7, 10)})
    odd = tmp_path / os.fsdecode(b"odd\xff=,\\ --seed 1.npy")
    np.save(odd, np.arange(3))
    result = shale.convert(tmp_path / "x.npz", tmp_path / "set", "npy", fields=["c\\", "a,b"])
    assert [each.name for each in result.fields] == ["c\\", "a,b"]
    named = {"drop": ["d"], "rename": {"a,b": "c:d", "c\\": "x"}}
    cast = {"a:b": np.uint16, "x": "float32", "y": float}
    assert words_of("convert", [b"in", b"out"], {"cast": cast, "lossy": True})[1:3] == [b"--cast=a\\:b:uint16,x:float32,y:float64", b"--lossy"]
    assert words_of("convert", [b"in", b"out"], named)[1:3] == [b"--drop=d", b"--rename=a\\,b:c\\:d,c\\\\:x"]
    assert [each.name for each in shale.convert(tmp_path / "x.npz", tmp_path / "named", "npy", **named).fields] == ["c:d", "x"]
    drawn = shale.resample(tmp_path / "x.npz", tmp_path / "d.npy", fields="d", also={odd: tmp_path / "also=.npy"})
    assert drawn.arrays[1].path == str(tmp_path / "also=.npy") and sorted(np.load(tmp_path / "also=.npy")) == [0, 1, 2]
    with pytest.raises(errors.MismatchError) as caught:
        shale.resample(tmp_path / "x.npz", tmp_path / "d2.npy", fields="d", also={odd: tmp_path / "also=.npy"})
    assert "pass overwrite" in str(caught.value)


def test_a_folder_of_splits_is_verified_and_described_as_a_whole(photos, tmp_path):
    shale.convert(photos, tmp_path / "sets", "record", split={"train": 0.5, "val": 0.5})
    info, result = shale.info(tmp_path / "sets"), shale.verify(tmp_path / "sets")
    assert info.complete and info.splits["val"] == shale.info(tmp_path / "sets/val")
    assert result.ok and result.samples == sum(each.samples for each in result.splits.values()) == 61
    flip(tmp_path / "sets/val/shard-000000.tfrecord", 500)
    damaged = shale.verify(tmp_path / "sets")
    assert not damaged and damaged.splits["train"].ok and damaged.first_findings == damaged.splits["val"].first_findings
    (tmp_path / "sets/val/dataset.json").write_text("{}")
    with pytest.raises(errors.Error):
        shale.info(tmp_path / "sets")


def test_each_argument_does_what_the_option_does(photos, tmp_path):
    """Those that CONVERSIONS do not try: without its word each of them would change the outcome."""
    bad = tmp_path / "bad"
    shutil.copytree(photos, bad)
    (bad / "n00/broken.jpg").write_bytes(b"\xff\xd8\xff")
    (bad / "n00/.hidden.jpg").write_bytes((photos / "n01/n01_big.JPEG").read_bytes())
    (bad / "empty").mkdir()
    with pytest.raises(errors.Error, match="empty"):
        shale.convert(bad, tmp_path / "o", "record")
    result = shale.convert(bad, tmp_path / "skipped", "record", allow_empty=True)
    assert (result.skipped, len(result.first_skipped), result.classes) == (1, 1, 4)
    assert (result.first_skipped[0].key, result.first_skipped[0].reason) == ("n00/broken.jpg", "truncated")
    whole = shale.convert(photos, tmp_path / "whole.lmdb", with_index=True)
    assert pathlib.Path(whole.index).exists() and (tmp_path / "whole.lmdb").is_file()
    assert shale.convert(bad, tmp_path / "kept", "record", allow_empty=True, on_error="keep").samples == result.samples + 1
    assert shale.convert(bad, tmp_path / "hidden", "record", allow_empty=True, hidden="keep").samples == result.samples + 1
    with pytest.raises(errors.ContentError):
        shale.convert(bad, tmp_path / "o", "record", allow_empty=True, on_error="fail")
    with pytest.raises(errors.LimitError, match="max_errors"):
        shale.convert(bad, tmp_path / "o", "record", allow_empty=True, max_errors=0)
    assert not (tmp_path / "o").exists()
    classes = tmp_path / "classes"
    classes.write_text("n02\nn01\nn00\n")
    assert shale.convert(photos, tmp_path / "renamed", "record", classes_from=classes).classes == 3
    assert shale.info(tmp_path / "renamed").class_names == ("n02", "n01", "n00")
    with pytest.raises(errors.MismatchError, match="already"):
        shale.convert(photos, tmp_path / "kept", "record")
    assert shale.convert(photos, tmp_path / "kept", "record", overwrite=True).samples == result.samples
    plan = shale.convert(photos, tmp_path / "o", "record", dry_run=True)
    assert plan.dry_run and plan.content_digest is None and not (tmp_path / "o").exists()
    assert shale.convert(photos, tmp_path / "o", "record", verify=True).verification.ok
    only = shale.convert(tmp_path / "o", tmp_path / "labels", "npy", fields="label")
    assert [each.name for each in only.fields] == ["label"]
    flat = tmp_path / "flat"
    flat.mkdir()
    shutil.copy(photos / "n01/n01_big.JPEG", flat / "a.jpg")
    (tmp_path / "labels.csv").write_text("a.jpg,5\n")
    assert shale.Dataset(shale.convert(flat, tmp_path / "f", "record", labels=tmp_path / "labels.csv").output)[0]["label"] == 5
    (tmp_path / "lines.jsonl").write_text('{"f": "a.jpg", "y": "cat"}\n')
    (flat / "a.txt").write_text("a cat")
    columns = {"labels": tmp_path / "lines.jsonl", "label_column": "y", "key_column": "f"}
    pairs = shale.convert(flat, tmp_path / "pairs", "record", **columns)
    assert (pairs.classes, shale.Dataset(pairs.output)[0]["txt"]) == (1, "a cat")
    assert shale.verify(pairs.output, against=flat, **columns).ok
    assert "txt" not in shale.Dataset(shale.convert(flat, tmp_path / "alone", "record", pairs="off", **columns).output)[0]


# ---- verify


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def test_verify_returns_what_the_program_finds(dataset, photos, tmp_path):
    whole = shale.verify(dataset, deep=True, against=photos)
    assert whole and whole.ok and whole.findings == 0 and whole.raise_if_damaged() is None
    facts = facts_of("verify", dataset, "--deep", "--against", photos)
    check_facts(whole, facts, but=["first_findings", "comparison"])
    check_facts(whole.comparison, facts["comparison"])
    assert whole.comparison.verdict == "same" and whole.comparison.same == whole.samples
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    flip(copy / "shard-000000.tfrecord", 5000)
    (copy / "shard-000009.tfrecord").touch()
    assert shale.verify(copy, quick=True).strays == ("shard-000009.tfrecord",)
    assert [found.file for found in shale.verify(copy, quick=True, strict=True).first_findings] == ["shard-000009.tfrecord"]
    (copy / "shard-000009.tfrecord").unlink()
    broken = shale.verify(copy)
    facts = facts_of("verify", copy, code=3)
    assert not broken and not broken.ok and shale.verify(copy, quick=True).ok
    check_facts(broken, facts, but=["first_findings"])
    for finding, fact in zip(broken.first_findings, facts["first_findings"]):
        assert {name: value for name, value in vars(finding).items() if value is not None} == fact
    with pytest.raises(errors.DamagedError, match="mismatch") as caught:
        broken.raise_if_damaged()
    assert (caught.value.file, caught.value.shard) == ("shard-000000.tfrecord", broken.first_findings[0].shard)
    assert str(broken.first_findings[0]) in run_shale("verify", copy, code=3).stderr.decode()
    assert shale.info(copy).complete and shale.info(copy).bad_files == ()
    (copy / "shard-000001.tfrecord").unlink()
    assert not shale.info(copy).complete and shale.info(copy).bad_files == ("shard-000001.tfrecord",)
    assert shale.info(copy).samples == broken.samples


def test_damage_in_the_source_of_convert_is_an_error(dataset, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    flip(copy / "shard-000000.tfrecord", 5000)
    with pytest.raises(errors.DamagedError) as caught:
        shale.convert(copy, tmp_path / "out", "lmdb", verify=True)
    assert caught.value.key.startswith("n0") and not (tmp_path / "out").exists()


# ---- info, index, formats


def test_info_is_that_of_the_program(dataset, photos, tmp_path):
    check_facts(shale.info(dataset), facts_of("info", dataset), but=["class_names"])
    assert shale.info(dataset).class_names == ("n00", "n01", "n02")
    odd = tmp_path / "odd"
    for name in (b"back\\slash", b"new\nline", b"latin-\xe9", "ümlaut".encode()):
        os.makedirs(os.path.join(os.fsencode(odd), name))
        shutil.copy(photos / "n01/n01_big.JPEG", os.path.join(os.fsencode(odd), name, b"x.jpg"))
    shale.convert(odd, tmp_path / "out", "record")
    assert shale.info(tmp_path / "out").class_names == tuple(shale.Dataset(tmp_path / "out").classes)
    assert "back\\slash" in shale.info(tmp_path / "out").class_names
    (tmp_path / "unfinished/.shale").mkdir(parents=True)
    (tmp_path / "unfinished/.shale/lock").write_text("shale works here: this folder goes when its run ends\n")
    assert not shale.info(tmp_path / "unfinished").complete


def test_index_of_files_and_of_a_dataset(dataset, tmp_path):
    with lmdb.open(str(tmp_path / "data"), map_size=1 << 20) as env, env.begin(write=True) as txn:
        txn.put(b"a", b"xyz")
        txn.put(b"b", b"12")
    done = shale.index(tmp_path / "data", crc=True, index_dir=tmp_path / "indexes")
    facts = facts_of("index", tmp_path / "data", "--crc", "--index-dir", tmp_path / "program")["files"][0]
    check_facts(done.files[0], facts, but=["index"])
    assert pathlib.Path(done.files[0].index).parent == tmp_path / "indexes"
    same_folders(tmp_path / "indexes", tmp_path / "program")
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("1.txt"))
    native = shale.index(tmp_path / "x.tar", native=["dali", "wids"]).native
    assert native == (shale.NativeIndex("dali", str(tmp_path), 1, 0), shale.NativeIndex("wids", str(tmp_path / "wids.json"), 1, 0))
    with pytest.raises(errors.UsageError, match="no place for its index"):
        shale.index(tmp_path / "data", tmp_path / "data")
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    (copy / "shard-000001.index.npy").unlink()
    done = shale.index(copy)
    assert (done.rebuilt, done.whole) == (1, len(done.shards) - 1) and done.shards[1].index_written
    same_folders(copy, dataset)
    flip(copy / "shard-000000.tfrecord", 5000)
    (copy / "shard-000000.index.npy").unlink()
    with pytest.raises(errors.DamagedError, match="shard-000000"):
        shale.index(copy)
    for arguments in ({"crc": True}, {"parse": "plain"}, {"index_dir": tmp_path}):
        with pytest.raises(errors.UsageError, match=next(iter(arguments))):
            shale.index(copy, **arguments)


def test_formats_are_those_of_the_program():
    facts = json.loads(run_shale("formats", "--json").stdout)["formats"]
    assert [(each.name, list(each.suffixes), list(each.kinds)) for each in shale.formats()] == [
        (each["name"], each["suffixes"], each["kinds"]) for each in facts
    ]


# ---- errors, progress, signals


NO_FUNCTION: Any = 1
REFUSED = {
    "no format": (lambda out: shale.convert("photos", out), errors.UsageError, "choose one of these with to"),
    "seed": (lambda out: shale.convert("photos", out, "record", seed=1), errors.UsageError, "seed has no effect without shuffle"),
    "size": (lambda out: shale.convert("photos", out, "record", shard_size="1X"), errors.UsageError, "1X"),
    "option of another output": (lambda out: shale.convert("photos", f"{out}.npy", shard_size="1MiB"), errors.UsageError, "shard_size"),
    "word": (lambda out: shale.convert("photos", out, "record", on_error="stop"), errors.UsageError, "on_error 'stop' is not one of skip, keep, fail"),
    "not there": (lambda out: shale.convert("nowhere", out, "record"), errors.NotFoundError, "nowhere"),
    "url": (lambda out: shale.convert("s3://bucket", out, "record"), errors.UnsupportedError, "s3://"),
    "column": (lambda out: shale.convert("photos", out, "record", label_column="y"), errors.UsageError, "label_column needs labels"),
    "depths": (lambda out: shale.verify("photos", quick=True, deep=True), errors.UsageError, "quick, full and deep exclude one another"),
    "labels": (lambda out: shale.verify("photos", labels="x"), errors.UsageError, "labels needs against"),
    "no dataset": (lambda out: shale.verify(__file__), errors.UnsupportedError, "neither"),
    "no files": (lambda out: shale.index(), errors.UsageError, "files is empty"),
    "callback": (lambda out: shale.convert("photos", out, "record", progress=NO_FUNCTION), errors.UsageError, "progress is 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_exceptions_in_the_words_of_python(photos, tmp_path, monkeypatch, name):
    monkeypatch.chdir(photos.parent)
    os.path.exists("photos") or os.symlink(photos, "photos")
    call, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words) as caught:
        call(str(tmp_path / "out"))
    assert "--" not in str(caught.value).replace("'shale convert --shuffle'", "")
    assert list(tmp_path.iterdir()) == []


def test_progress_is_told_and_may_stop_the_run(photos, dataset, tmp_path):
    told = []
    result = shale.convert(photos, tmp_path / "out", "record", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (result.samples, result.samples)
    told.clear()
    shale.verify(dataset, progress=lambda done, total: told.append((done, total)))
    assert told and told[-1][0] == told[-1][1]

    class Stop(Exception):
        pass

    def stop(done, total):
        raise Stop

    with pytest.raises(Stop):
        shale.convert(photos, tmp_path / "stopped", "record", progress=stop)
    is_continued_by_the_same_call(photos, tmp_path / "stopped", tmp_path / "out")


def is_continued_by_the_same_call(photos, stopped, whole):
    assert [path.name for path in stopped.iterdir()] == [".shale"]
    shale.convert(photos, stopped, "record")
    assert {path.name: path.read_bytes() for path in stopped.iterdir()} == {path.name: path.read_bytes() for path in whole.iterdir()}


INTERRUPTED = """
import signal, sys, shale
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    shale.convert(sys.argv[1], sys.argv[2], "record", progress=lambda *_: signal.raise_signal(signal.SIGINT))
except KeyboardInterrupt:
    print("stopped")
"""


def test_ctrl_c_stops_and_the_same_call_goes_on(photos, tmp_path):
    shale.convert(photos, tmp_path / "whole", "record")
    words = [sys.executable, "-c", INTERRUPTED, photos, tmp_path / "out"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.stdout == "stopped\n", done.stderr
    is_continued_by_the_same_call(photos, tmp_path / "out", tmp_path / "whole")


def test_several_threads_and_the_interpreter_goes_on(photos, tmp_path):
    results = {}

    def work(name):
        results[name] = shale.convert(photos, tmp_path / name, "record", shuffle=True).content_digest

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and len(set(results.values())) == 1
    same_folders(tmp_path / "0", tmp_path / "3")


LAZY = """
import sys, shale
assert "torch" not in sys.modules and "shale.torch" not in sys.modules and "shale.lmdb" not in sys.modules
assert {"torch", "lmdb", "convert", "DamagedError"} <= set(dir(shale))
assert shale.lmdb.open and "shale.lmdb" in sys.modules
assert shale.torch.ImageFolder
assert all(hasattr(shale, name) for name in shale.__all__)
for name in ("Error", "UsageError", "DamagedError", "StorageError", "NotFoundError"):
    assert getattr(shale, name) is getattr(shale.errors, name)
try: shale.nothing
except AttributeError as error: assert "nothing" in str(error)
"""


def test_the_package_has_its_errors_and_loads_modules_when_asked():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", blocks_of(["docs/python.md"], "commands"))
def test_the_documented_code_runs(block, dataset, photos, tmp_path):
    os.symlink(photos, tmp_path / "photos")
    bytes_left_by(block, dataset, tmp_path)


def test_metadata_of_a_folder_becomes_fields(photos, tmp_path):
    folder = tmp_path / "photos"
    shutil.copytree(photos, folder)
    images = sorted(path for path in folder.rglob("*") if path.is_file())
    rows = [{"file_name": str(image.relative_to(folder)), "caption": f"text {n}", "score": n / 2} for n, image in enumerate(images)]
    (folder / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
    result = shale.convert(folder, tmp_path / "set", "record")
    assert [each.name for each in result.fields] == ["image", "label", "caption", "score"]
    found = [dict(sample) for sample in shale.Dataset(tmp_path / "set", ["key", "caption", "score"])]
    assert found == [{"key": row["file_name"], "caption": row["caption"], "score": row["score"]} for row in rows]
    assert shale.verify(tmp_path / "set", against=folder).ok
    without = shale.convert(folder, tmp_path / "without", "record", pairs="off")
    assert [each.name for each in without.fields] == ["image", "label"]


def test_folders_that_are_joined_are_a_mapping(photos, tmp_path):
    folders = {"image": photos, "mask": tmp_path / "masks"}
    for number, image in enumerate(sorted(path for path in pathlib.Path(photos).rglob("*") if path.is_file())):
        mask = folders["mask"] / image.relative_to(photos).with_suffix(".bin")
        mask.parent.mkdir(parents=True, exist_ok=True)
        mask.write_bytes(b"mask %d" % number)
    result = shale.convert(folders, tmp_path / "set", "record")
    assert [each.name for each in result.fields] == ["image", "label", "mask"]
    run_shale("convert", *(f"{name}={folder}" for name, folder in folders.items()), tmp_path / "theirs", "--to", "record")
    same_folders(tmp_path / "set", tmp_path / "theirs")
    sample = shale.Dataset(tmp_path / "set", ["key", "mask"])[3]
    assert sample["mask"] == (folders["mask"] / sample["key"]).with_suffix(".bin").read_bytes()
    assert shale.verify(tmp_path / "set", against=folders).ok
    (tmp_path / "set" / "shard-000000.tfrecord").unlink()
    assert shale.repair(tmp_path / "set", folders).repaired == 1
    with pytest.raises(errors.UsageError, match="made from several folders"):
        shale.verify(tmp_path / "set", against=photos)


def test_repair_says_what_it_did(photos, tmp_path):
    shale.convert(photos, tmp_path / "set", "record", shard_samples=20)
    shutil.copytree(tmp_path / "set", tmp_path / "copy")
    (tmp_path / "set/shard-000001.tfrecord").unlink()
    (tmp_path / "set/shard-000002.index.npy").write_bytes(b"")
    plan = shale.repair(tmp_path / "set", photos, dry_run=True)
    assert (bool(plan), plan.dry_run, plan.left, plan.repaired) == (False, True, 2, 0)
    seen = []
    done = shale.repair(tmp_path / "set", photos, progress=lambda *counts: seen.append(counts))
    assert done and done.repaired == 2 and done.checked > 6
    assert [(each.name, each.remedy) for each in done.files] == [
        ("shard-000001.tfrecord", "made_again"),
        ("shard-000002.index.npy", "rebuilt"),
    ]
    assert done.files[0].fault == "is missing"
    for path in (tmp_path / "copy").iterdir():
        assert path.read_bytes() == (tmp_path / "set" / path.name).read_bytes()
    (tmp_path / "set/dataset.json").write_bytes(b"{}")
    with pytest.raises(errors.Error):
        shale.repair(tmp_path / "set", photos)
