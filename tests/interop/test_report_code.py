"""The code that `shale report` shows: each piece is executed, for every format and for files of other tools, and reads the first sample."""

import os
import subprocess

import foreign_files
import h5py
import lmdb
import numpy as np
import pytest
import shale
import torch
from conftest import run_shale
from report_facts import facts_of
from safetensors.torch import save_file
from test_json_schema import printed
from test_varied_fields import TYPES, varied
from tfrecord import example_pb2

READERS = {"record": "tfrecord", "lmdb": "lmdb", "hdf5": "h5py"}
FORMATS = ["record", "lmdb", "hdf5", "npy", "pt", "safetensors"]


def snippets_of(dataset, *words):
    return facts_of(dataset, *words)["snippets"]


def run_python(snippet):
    scope = {}
    exec(compile(snippet["code"], snippet["title"], "exec"), scope)
    return scope


def run_shell(snippet, folder):
    words = snippet["code"].replace("shale ", f"{os.environ.get('SHALE', 'shale')} ", 99)
    subprocess.run(["bash", "-e", "-o", "pipefail", "-c", words], cwd=folder, check=True, capture_output=True)
    return (folder / "value").read_bytes() if (folder / "value").exists() else None


def run_all(dataset, folder, *words):
    """What each piece leaves behind, by its title."""
    results = {}
    for snippet in snippets_of(dataset, *words):
        results[snippet["title"]] = run_shell(snippet, folder) if snippet["language"] == "sh" else run_python(snippet)
    assert "shale, in Python" in results and "shale, in a shell" in results
    return results


@pytest.mark.parametrize("name", READERS)
def test_the_code_on_the_page_reads_the_first_sample(name, photos, tmp_path):
    out = tmp_path / 'it\'s "odd"'
    run_shale("convert", photos, out, "--to", name)
    first = next(iter(shale.Dataset(out)))
    snippets = {one["title"]: one for one in facts_of(out)["snippets"]}
    assert READERS[name] in snippets
    for title, snippet in snippets.items():
        if snippet["language"] != "python":
            continue
        scope = run_python(snippet)
        value = scope["value"] if "value" in scope else bytes(scope["sample"]["image"])
        assert bytes(value) == first["image"], title


@pytest.mark.parametrize("name", ["npy", "hdf5", "safetensors", "pt"])
def test_the_code_on_the_page_reads_the_first_row(name, tmp_path):
    values = np.random.default_rng(0).normal(size=(20, 3, 4)).astype("f4")
    np.save(tmp_path / "x.npy", values)
    np.save(tmp_path / "y.npy", np.arange(20))
    run_shale("convert", f"x={tmp_path}/x.npy", f"y={tmp_path}/y.npy", tmp_path / "out", "--to", name)
    snippets = [one for one in facts_of(tmp_path / "out")["snippets"] if one["language"] == "python"]
    assert len(snippets) == 3
    for snippet in snippets:
        scope = run_python(snippet)
        np.testing.assert_array_equal(np.asarray(scope["value"]), values[0], snippet["title"])


def test_the_shell_words_work(photos, tmp_path):
    out = tmp_path / "it's; echo $(x)"
    run_shale("convert", photos, out, "--to", "record")
    (code,) = [one for one in snippets_of(out) if one["language"] == "sh"]
    assert run_shell(code, tmp_path) == next(iter(shale.Dataset(out)))["image"]


@pytest.mark.parametrize("first", [0, 1], ids=["all there", "most absent"])
@pytest.mark.parametrize("name", READERS)
def test_the_page_of_ragged_and_absent_values(name, first, tmp_path):
    samples = [varied(number) for number in range(first, first + 12)]
    shale.from_iterable(samples, tmp_path / "out", name, TYPES)
    printed("report", "report", tmp_path / "out")
    printed("info", "info", tmp_path / "out")
    printed("cat", "cat", tmp_path / "out", "1")
    fields = {field["name"]: field for field in facts_of(tmp_path / "out")["fields"]}
    for field, facts in fields.items():
        there = [sample[field] for sample in samples if sample[field] is not None]
        assert facts["missing"] == 12 - len(there) and ("missing_from" in facts) == (len(there) < 12)
        if facts["kind"] in ("integer", "real", "tensor"):
            numbers = np.concatenate([np.ravel(value) for value in there]).astype(float)
            assert facts["values"] == numbers.size
            assert (facts["minimum"], facts["maximum"]) == (numbers.min(), numbers.max())
            assert facts["mean"] == pytest.approx(numbers.mean())
    assert fields["boxes"]["shape"] == [None, 4] and fields["meta"]["format"] == "json"
    classes = facts_of(tmp_path / "out")["classes"]["classes"]
    assert {one["label"]: one["samples"] for one in classes} == {sample["label"]: 1 for sample in samples if sample["label"] is not None}
    results = run_all(tmp_path / "out", tmp_path)
    assert ("label" in results["no library but NumPy"]) == (samples[0]["label"] is not None)
    value = samples[0]["boxes"]
    for title in ("shale, in Python", "no library but NumPy", *(["h5py"] if name == "hdf5" else [])):
        np.testing.assert_array_equal(results[title]["value"], value, title)
    assert results["shale, in a shell"] == value.tobytes()
    assert run_shale("report", tmp_path / "out", "-o", tmp_path / "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert "float32 (?, 4)" in page and "json" in page and "list of text" in page and "int64?" in page


# ---- files of other tools -------------------------------------------------------------------------------------------


def as_bytes(value):
    if isinstance(value, str):
        return value.encode()
    return value.tobytes() if isinstance(value, (np.ndarray, np.generic)) else bytes(value)


@pytest.mark.parametrize("maker", foreign_files.MAKERS, ids=lambda maker: maker.__name__)
@pytest.mark.parametrize("indexed", [False, True])
def test_the_code_for_files_of_other_tools(maker, indexed, tmp_path):
    foreign = maker(tmp_path)
    if indexed:
        run_shale("index", foreign.file, *foreign.options)
    words = foreign.options if "--parse" in foreign.options and not indexed else ()
    results = run_all(foreign.file, tmp_path, *words)
    first = {name: value for name, value in foreign.samples[0].items() if isinstance(value, bytes)}
    assert results["shale, in a shell"] in first.values() or words
    assert as_bytes(results["shale, in Python"]["value"]) in first.values()
    if "no library but NumPy" in results:
        assert as_bytes(results["no library but NumPy"]["value"]) in first.values()
    if foreign.format == "record":
        scope = results["tfrecord"]
        found = scope["sample"].values() if "sample" in scope else [bytes(scope["value"])]
        assert set(first.values()) & {as_bytes(value) for value in found if isinstance(value, (bytes, np.ndarray))}


def record_file(path, samples):
    """Examples whose features are bytes, some of them only in some records."""
    payloads = []
    for sample in samples:
        example = example_pb2.Example()
        for name, value in sample.items():
            example.features.feature[name].bytes_list.value.append(value)
        payloads.append(example.SerializeToString())
    foreign_files.write_records(path, payloads)


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("missing", ["first", "last", "all of one"])
def test_the_code_for_optional_fields(missing, indexed, tmp_path):
    samples = [{"image/encoded": bytes([number]) * 9, "text": b"text%d" % number, "note": b"note"} for number in range(4)]
    absent = {"first": samples[:1], "last": samples[-1:], "all of one": samples[:3]}[missing]
    for sample in absent:
        del sample["image/encoded"]
    record_file(tmp_path / "x.tfrecord", samples)
    if indexed:
        run_shale("index", tmp_path / "x.tfrecord")
    results = run_all(tmp_path / "x.tfrecord", tmp_path)
    expected = set(samples[0].values())
    assert set(results["tfrecord"]["sample"]) == set(samples[0])
    assert results["shale, in a shell"] in expected and as_bytes(results["shale, in Python"]["value"]) in expected
    if indexed:
        assert results["no library but NumPy"]["value"] in expected


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "float32", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (3, 2)], ids=str)
def test_the_code_for_every_type_of_safetensors(dtype, shape, tmp_path):
    values = torch.arange(5 * int(np.prod(shape))).reshape(5, *shape).to(getattr(torch, dtype))
    save_file({"x": values}, tmp_path / "x.safetensors")
    torch.save({"x": values}, tmp_path / "x.pt")
    for file, title in (("x.safetensors", "safetensors"), ("x.pt", "PyTorch")):
        results = run_all(tmp_path / file, tmp_path)
        value = results[title]["value"]
        value = torch.from_numpy(np.asarray(value)) if not isinstance(value, torch.Tensor) else value
        assert torch.equal(
            value.view(torch.uint8) if shape else value.reshape(1).view(torch.uint8),
            values[:1].reshape(value.shape if shape else 1).view(torch.uint8),
        )


# ---- sets without samples -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["record", "lmdb", "hdf5"])
def test_the_code_for_a_dataset_without_samples(name, tmp_path):
    (tmp_path / "photos/a").mkdir(parents=True)
    run_shale("convert", tmp_path / "photos", tmp_path / "out", "--allow-empty", "--to", name)
    run_all(tmp_path / "out", tmp_path)


@pytest.mark.parametrize("name", ["npy", "pt", "safetensors", "hdf5"])
def test_the_code_for_arrays_without_rows(name, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((0, 3), "f4"))
    run_shale("convert", f"x={tmp_path / 'x.npy'}", tmp_path / "out", "--to", name, "--allow-empty")
    run_all(tmp_path / "out", tmp_path)
    run_all(tmp_path / "x.npy", tmp_path)


@pytest.mark.parametrize("subdir", [False, True])
def test_the_code_for_an_empty_lmdb(subdir, tmp_path):
    lmdb.open(str(tmp_path / "x.lmdb"), subdir=subdir).close()
    run_all(tmp_path / "x.lmdb", tmp_path)


def test_the_code_for_other_empty_files(tmp_path):
    (tmp_path / "x.tfrecord").write_bytes(b"")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = np.zeros((0, 3), "f4")
    for name in ("x.h5",):
        run_all(tmp_path / name, tmp_path)
