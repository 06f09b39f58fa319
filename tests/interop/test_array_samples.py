"""Class folders of .npy, .npz, .pt and .safetensors files: samples are the arrays that NumPy, PyTorch and safetensors saved. And images without suffix."""

import io
import json

import numpy as np
import pytest
import shale
import torch
from conftest import run_shale, write
from PIL import Image
from safetensors.numpy import save_file


def npy(array, **options):
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


def clips(root, shapes, dtype="f4", order="C"):
    """Arrays by key, in class folders."""
    dice = np.random.default_rng(1)
    made = {}
    for number, shape in enumerate(shapes):
        key = f"{('run', 'walk')[number % 2]}/s{number}.npy"
        made[key] = np.asarray(dice.normal(size=shape).astype(dtype), order=order)
        write(root, key, npy(made[key]))
    return made


def samples_of(out):
    return {sample["key"]: sample for sample in shale.Dataset(out)}


def types(out):
    return {field["name"]: field for field in json.loads((out / "dataset.json").read_text())["schema"]}


@pytest.mark.parametrize("to", ["hdf5", "record", "lmdb", "npy"])
@pytest.mark.parametrize("order, dtype", [("C", "f4"), ("F", ">f8")])
def test_files_of_one_shape(tmp_path, to, order, dtype):
    arrays = clips(tmp_path / "in", [(4, 5)] * 6, dtype, order)
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", to, "--ext", "npy")
    kinds = types(tmp_path / "out")
    assert kinds["data"]["kind"] == "tensor" and kinds["data"]["shape"] == [4, 5]
    found = list(shale.Dataset(tmp_path / "out"))
    for sample, key in zip(found, sorted(arrays)):
        assert (sample["data"] == arrays[key]).all() and sample["label"] == (key[0] == "w")


def test_a_side_that_differs_is_free(tmp_path):
    arrays = clips(tmp_path / "in", [(n, 3) for n in (4, 9, 1, 7)])
    said = run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--ext", "npy")
    assert b"float32 (?, 3)" in said.stderr and b"--pairs bytes" in said.stderr
    found = samples_of(tmp_path / "out")
    assert all((found[key]["data"] == array).all() for key, array in arrays.items())
    refused = run_shale("convert", tmp_path / "in", tmp_path / "x", "--to", "npy", "--ext", "npy", code=1).stderr
    assert b"data" in refused


def test_the_way_back_to_bytes(tmp_path):
    arrays = clips(tmp_path / "in", [(2,)] * 2)
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--ext", "npy", "--pairs", "bytes")
    assert samples_of(tmp_path / "out")["run/s0.npy"]["data"] == npy(arrays["run/s0.npy"])
    assert b"same samples" in run_shale("verify", tmp_path / "out", "--against", tmp_path / "in").stdout
    assert b"its fields" in run_shale("convert", tmp_path / "in", tmp_path / "out", "--append", "--ext", "npy", code=1).stderr


def test_arrays_of_two_types_are_refused_by_name(tmp_path):
    clips(tmp_path / "in", [(2,)] * 3)
    write(tmp_path / "in", "walk/z.npy", npy(np.zeros((2, 2), "f4")))
    refused = run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--ext", "npy", code=1).stderr
    assert b"walk/z.npy" in refused and b"run/s0.npy" in refused


def test_a_file_without_array_is_bad_content(tmp_path):
    clips(tmp_path / "in", [(2,)] * 3)
    write(tmp_path / "in", "walk/y.npy", npy(np.zeros(2, "f4"))[:-1])
    write(tmp_path / "in", "walk/z.npy", b"")
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--ext", "npy", code=4)
    rows = (tmp_path / "out/skipped.csv").read_text()
    assert "walk/y.npy,not-array" in rows and "walk/z.npy,not-array" in rows


def test_compared_repaired_continued_and_appended(tmp_path):
    arrays = clips(tmp_path / "in", [(n, 3) for n in (4, 9, 1, 7)])
    out = tmp_path / "out"
    words = ("convert", tmp_path / "in", out, "--to", "record", "--ext", "npy")
    run_shale(*words)
    assert json.loads((out / "dataset.json").read_text())["options"]["ext"] == "npy|data:float32 (?, 3)"
    assert b"nothing was done" in run_shale(*words).stdout
    assert b"same samples" in run_shale("verify", out, "--against", tmp_path / "in").stdout
    shard = next(out.glob("*.tfrecord"))
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    run_shale("repair", out, "--from", tmp_path / "in")
    assert shard.read_bytes() == whole
    more = {}
    for key in ("run/t0.npy", "walk/t1.npy"):
        more[key] = np.ones((5, 3), "f4")
        write(tmp_path / "more", key, npy(more[key]))
    run_shale("convert", tmp_path / "more", out, "--append", "--ext", "npy")
    found = samples_of(out)
    assert all((found[key]["data"] == array).all() for key, array in {**arrays, **more}.items())
    run_shale(*words[:2], tmp_path / "again", *words[3:])
    write(tmp_path / "in", "run/s0.npy", npy(arrays["run/s0.npy"] + 1))
    assert b"run/s0.npy" in run_shale("verify", tmp_path / "again", "--against", tmp_path / "in", code=3).stderr


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_members_of_npz_are_fields(tmp_path, save):
    wanted = {}
    for number in range(5):
        key = f"{'ab'[number % 2]}/{number}.npz"
        path = tmp_path / "in" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        wanted[key] = {"x": np.random.default_rng(number).normal(size=(number + 1, 3)), "y": np.int64(number), "label": np.asfortranarray(np.arange(6).reshape(2, 3))}
        save(path, **wanted[key])
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--ext", "npz")
    found = samples_of(tmp_path / "out")
    assert set(found) == set(wanted)
    for key, arrays in wanted.items():
        assert (found[key]["x"] == arrays["x"]).all() and found[key]["y"] == arrays["y"]
        assert (found[key]["label_array"] == arrays["label"]).all() and found[key]["label"] == "ab".index(key[0])
    assert b"same samples" in run_shale("verify", tmp_path / "out", "--against", tmp_path / "in").stdout
    run_shale("convert", tmp_path / "in", tmp_path / "few", "--to", "lmdb", "--ext", "npz", "--fields", "y,x", "--rename", "x:points", "--shuffle")
    assert {sample["key"]: len(sample["points"]) for sample in shale.Dataset(tmp_path / "few")} == {key: len(arrays["x"]) for key, arrays in wanted.items()}


def test_a_member_that_some_lack_is_optional_and_objects_are_left_out(tmp_path):
    (tmp_path / "in/a").mkdir(parents=True)
    np.savez(tmp_path / "in/a/0.npz", x=np.arange(3.0), z=np.arange(2))
    np.savez(tmp_path / "in/a/1.npz", x=np.arange(3.0), names=np.array(["a", None], object))
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--ext", "npz", code=4)
    found = samples_of(tmp_path / "out")
    assert found["a/1.npz"]["z"] is None and (found["a/0.npz"]["z"] == [0, 1]).all()
    left_out = json.loads((tmp_path / "out/dataset.json").read_text())["left_out"]
    assert [(one["kind"], one["name"]) for one in left_out] == [("member", "names")]
    (tmp_path / "more/a").mkdir(parents=True)
    np.savez(tmp_path / "more/a/2.npz", x=np.ones(3), z=np.arange(2))
    run_shale("convert", tmp_path / "more", tmp_path / "out", "--append", "--ext", "npz")
    assert len(samples_of(tmp_path / "out")) == 3


def test_a_damaged_npz_is_bad_content(tmp_path):
    (tmp_path / "in/a").mkdir(parents=True)
    for number in range(3):
        np.savez(tmp_path / f"in/a/{number}.npz", x=np.arange(100.0))
    path = tmp_path / "in/a/1.npz"
    path.write_bytes(path.read_bytes()[:-40])
    write(tmp_path / "in", "a/2.npz", b"no archive")
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--ext", "npz", code=4)
    rows = (tmp_path / "out/skipped.csv").read_text()
    assert "a/1.npz,not-array" in rows and "a/2.npz,not-array" in rows
    whole = (tmp_path / "in/a/0.npz").read_bytes()
    at = whole.index(np.float64(50.0).tobytes())
    (tmp_path / "in/a/0.npz").write_bytes(whole[:at] + b"x" + whole[at + 1 :])
    np.savez(tmp_path / "in/a/3.npz", x=np.arange(100.0))
    run_shale("convert", tmp_path / "in", tmp_path / "flip", "--to", "record", "--ext", "npz", code=4)
    rows = (tmp_path / "flip/skipped.csv").read_text()
    assert "a/0.npz,not-array" in rows and "checksum mismatch in member 'x'" in rows
    assert list(samples_of(tmp_path / "flip")) == ["a/3.npz"]
    assert b"3 samples of the source were skipped" in run_shale("verify", tmp_path / "flip", "--against", tmp_path / "in").stdout
    refused = run_shale("convert", tmp_path / "in", tmp_path / "x", "--to", "record", "--ext", "npz", "--on-error", "fail", code=1).stderr
    assert b"sample 'a/0.npz'" in refused


def test_a_class_of_arrays_without_the_option_is_refused_with_it(tmp_path):
    clips(tmp_path / "in", [(2,)] * 4)
    refused = run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", code=1).stderr
    assert b"--ext with their suffixes: --ext npy" in refused


def test_tensors_of_pt_and_safetensors(tmp_path):
    (tmp_path / "pt/a").mkdir(parents=True)
    (tmp_path / "st/a").mkdir(parents=True)
    wanted = {}
    for number in range(4):
        tensors = {"x": torch.randn(number + 2, 3), "y": torch.tensor(number), "h": torch.ones(2, dtype=torch.float16)}
        wanted[number] = {name: tensor.numpy() for name, tensor in tensors.items()}
        torch.save(tensors, tmp_path / f"pt/a/{number}.pt")
        save_file(wanted[number], tmp_path / f"st/a/{number}.safetensors")
    for source, suffix in (("pt", "pt"), ("st", "safetensors")):
        run_shale("convert", tmp_path / source, tmp_path / f"out-{source}", "--to", "record", "--ext", suffix)
        found = samples_of(tmp_path / f"out-{source}")
        for number, arrays in wanted.items():
            assert all((found[f"a/{number}.{suffix}"][name] == array).all() for name, array in arrays.items())


def test_lone_tensors(tmp_path):
    (tmp_path / "in/a").mkdir(parents=True)
    for number in range(3):
        torch.save(torch.full((2, 2), number), tmp_path / f"in/a/{number}.pt")
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "npy", "--ext", "pt")
    assert [int(sample["x"].sum()) for sample in shale.Dataset(tmp_path / "out")] == [0, 4, 8]


def test_a_view_is_bad_content(tmp_path):
    (tmp_path / "in/a").mkdir(parents=True)
    for number in range(3):
        torch.save({"x": torch.arange(6).reshape(2, 3)}, tmp_path / f"in/a/{number}.pt")
    torch.save({"x": torch.arange(6).reshape(3, 2).T}, tmp_path / "in/a/3.pt")
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--ext", "pt", code=4)
    assert "a/3.pt,not-array" in (tmp_path / "out/skipped.csv").read_text()
    assert not types(tmp_path / "out")["x"].get("optional")


def test_arrays_in_an_archive(tmp_path):
    import tarfile

    arrays = clips(tmp_path / "in", [(4, 5)] * 4)
    with tarfile.open(tmp_path / "in.tar", "w") as archive:
        archive.add(tmp_path / "in", ".")
    run_shale("convert", tmp_path / "in.tar", tmp_path / "out", "--to", "lmdb", "--ext", "npy")
    found = samples_of(tmp_path / "out")
    assert all((found[key]["data"] == array).all() for key, array in arrays.items())


def test_images_without_suffix(tmp_path):
    def picture(seed, kind):
        out = io.BytesIO()
        Image.fromarray(np.random.default_rng(seed).integers(0, 255, (9, 7, 3), np.uint8)).save(out, kind)
        return out.getvalue()

    wanted = {"a/0001": picture(1, "PNG"), "a/0002": picture(2, "JPEG"), "b/x": picture(3, "BMP"), "b/y.png": picture(4, "PNG")}
    for name, content in wanted.items():
        write(tmp_path / "in", name, content)
    for name in ("a/README", "LICENSE", "b/empty"):
        write(tmp_path / "in", name, b"" if name == "b/empty" else b"a text\n")
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "lmdb", "--ext", "any")
    found = {sample["key"]: sample["image"] for sample in shale.Dataset(tmp_path / "out", decode=None)}
    assert found == wanted
    assert "a/README" in (tmp_path / "out/ignored.csv").read_text()
    assert b"same samples" in run_shale("verify", tmp_path / "out", "--against", tmp_path / "in").stdout


def saved(path, arrays):
    """As the suffix says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    elif path.suffix == ".pt":
        torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, path)
    elif path.suffix == ".npy":
        np.save(path, next(iter(arrays.values())))
    else:
        save_file(arrays, path)


@pytest.mark.parametrize("suffix", ["npz", "pt", "safetensors"])
@pytest.mark.parametrize(("first", "second"), [("a.b", "a_b"), ("label", "label_array")])
def test_two_names_that_would_be_one_field_are_refused(tmp_path, suffix, first, second):
    """In one file, where the second would be lost, and in two, where they would be mixed up."""
    saved(tmp_path / f"one/c/0.{suffix}", {first: np.arange(3.0), second: np.ones(3)})
    saved(tmp_path / f"two/c/0.{suffix}", {first: np.arange(3.0)})
    saved(tmp_path / f"two/c/1.{suffix}", {second: np.ones(3)})
    for folder in ("one", "two"):
        told = run_shale("convert", tmp_path / folder, tmp_path / "out", "--to", "record", "--ext", suffix, code=1).stderr.decode()
        assert f"'{first}'" in told and f"'{second}'" in told and "--pairs bytes" in told, told
        run_shale("convert", tmp_path / folder, tmp_path / f"{folder}-bytes", "--to", "record", "--ext", suffix, "--pairs", "bytes")


def test_an_object_array_beside_an_array_of_the_same_field_is_refused(tmp_path):
    saved(tmp_path / "in/c/0.npz", {"a.b": np.array([None, "x"], object), "a_b": np.arange(3.0)})
    told = run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--ext", "npz", code=1).stderr
    assert b"both would be field 'a_b'" in told


def test_files_of_which_none_has_an_array_are_refused(tmp_path):
    (tmp_path / "views/a").mkdir(parents=True)
    torch.save({"x": torch.arange(6).reshape(2, 3).T}, tmp_path / "views/a/0.pt")
    saved(tmp_path / "objects/a/0.npz", {"x": np.array([None, "x"], object)})
    saved(tmp_path / "empty/a/0.npz", {})
    for folder, suffix in (("views", "pt"), ("objects", "npz"), ("empty", "npz")):
        told = run_shale("convert", tmp_path / folder, tmp_path / "out", "--to", "record", "--ext", suffix, code=1).stderr
        assert b"none of the files holds an array" in told and not (tmp_path / "out").exists(), told


@pytest.mark.parametrize("suffix", ["npy", "npz", "pt", "safetensors"])
def test_a_flat_folder(tmp_path, suffix):
    """Also one whose files could be the parts of one array. It is compared and repaired as files, too."""
    folder, out = tmp_path / "in", tmp_path / "out"
    wanted = {f"part_{number}.{suffix}": np.arange(3.0) + number for number in range(4)}
    for key, array in wanted.items():
        saved(folder / key, {"x": array})
    run_shale("convert", folder, out, "--to", "record", "--ext", suffix)
    field = "data" if suffix == "npy" else "x"
    found = samples_of(out)
    assert set(found) == set(wanted) and all((found[key][field] == array).all() for key, array in wanted.items())
    assert "label" not in found["part_0." + suffix]
    assert b"same samples" in run_shale("verify", out, "--against", folder).stdout
    shard = next(out.glob("*.tfrecord"))
    whole = shard.read_bytes()
    shard.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    run_shale("repair", out, "--from", folder)
    assert shard.read_bytes() == whole
    (tmp_path / "labels.csv").write_text("".join(f"{key},{'ab'[number % 2]}\n" for number, key in enumerate(wanted)))
    run_shale("convert", folder, tmp_path / "labelled", "--to", "record", "--ext", suffix, "--labels", tmp_path / "labels.csv")
    assert [sample["label"] for sample in shale.Dataset(tmp_path / "labelled")] == [0, 1, 0, 1]
    saved(folder / f"part_2.{suffix}", {"x": np.zeros(3)})
    assert b"part_2" in run_shale("verify", out, "--against", folder, code=3).stderr
