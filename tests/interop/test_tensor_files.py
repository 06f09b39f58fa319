"""Files of PyTorch and safetensors, in both directions."""

import io
import json

import numpy as np
import pytest
import torch
from conftest import run_shale
from safetensors.torch import load_file, save_file
from test_npy_reader import tinytopics_data

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]
NOT_NUMPYS = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
BOTH_SIDES = [name for name in DTYPES if name != "complex128"] + NOT_NUMPYS  # safetensors has neither complex128 nor complex32
SHAPES = [(5, 3), (7,), (0, 4), (3, 0), (4, 2, 3), (1, 1)]


def numbers(dtype, shape):
    """A tensor whose elements all differ as far as the dtype lets them."""
    count = int(np.prod(shape))
    return torch.from_numpy((np.arange(count) % (2 if dtype == "bool" else 120)).astype(dtype).reshape(shape))


def random_tensors(names):
    """Random bytes, so that every bit counts: NaNs with a payload, subnormals, the largest unsigned integers."""
    generator = torch.Generator().manual_seed(17)
    made = {}
    for name in names:
        dtype = getattr(torch, name)
        shape, most = (9, 4 * dtype.itemsize), 2 if name == "bool" else 256
        made[name] = torch.randint(0, most, shape, generator=generator, dtype=torch.uint8).view(dtype)
    return made


def same(found, expected):
    return found.dtype == expected.dtype and found.shape == expected.shape and np.array_equal(found, expected)


def read_back(path, folder, *options, code=0):
    out = folder / "back.npz"
    run_shale("convert", path, out, "--overwrite", *options, code=code)
    with np.load(out) as archive:
        return dict(archive)


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_and_safetensors_load_what_convert_wrote(tmp_path, dtype):
    for shape in SHAPES:
        array = numbers(dtype, shape).numpy()
        np.save(tmp_path / "x.npy", array)
        run_shale("convert", tmp_path / "x.npy", tmp_path / "x.pt", "--overwrite", "--verify")
        for mmap in (True, False):
            assert same(torch.load(tmp_path / "x.pt", mmap=mmap, weights_only=True).numpy(), array)
        if dtype == "complex128":
            continue
        run_shale("convert", tmp_path / "x.npy", tmp_path / "x.safetensors", "--overwrite", "--verify")
        assert same(load_file(tmp_path / "x.safetensors")["x"].numpy(), array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_convert_reads_what_torch_and_safetensors_saved(tmp_path, dtype):
    for shape in SHAPES:
        tensor = numbers(dtype, shape)
        torch.save(tensor, tmp_path / "x.pt")
        assert same(read_back(tmp_path / "x.pt", tmp_path)["x"], tensor.numpy())
        if dtype == "complex128":
            continue
        save_file({"x": tensor}, tmp_path / "x.safetensors")
        assert same(read_back(tmp_path / "x.safetensors", tmp_path)["x"], tensor.numpy())


def test_views_are_written_out_in_order(tmp_path):
    x = torch.arange(120.0).reshape(6, 5, 4)
    views = [x[0].t(), x.permute(2, 0, 1), x.permute(0, 2, 1), x[::2], x[:, ::2], x[:, 1:3, ::2], x[3:], x[:, 2, 3]]
    views += [torch.arange(4.0).expand(7, 4), torch.ones(5, 1).expand(5, 3), x[:1], x[:0], x[:, :0], x.t() if x.dim() == 2 else x]
    for view in views:
        torch.save(view, tmp_path / "v.pt")
        assert same(read_back(tmp_path / "v.pt", tmp_path)["x"], view.numpy())


@pytest.mark.parametrize(("dtype", "number"), [("int32", "<i4"), ("bfloat16", "<i2"), ("complex32", "<i2"), ("float8_e5m2", "|i1")])
def test_big_endian_archives_are_read(dtype, number, tmp_path):
    import zipfile

    tensor = random_tensors([dtype])[dtype]
    file = io.BytesIO()
    torch.save(tensor, file)
    with zipfile.ZipFile(file) as little, zipfile.ZipFile(tmp_path / "big.pt", "w") as big:
        for name in little.namelist():
            data = little.read(name)
            data = b"big" if name.endswith("byteorder") else data
            big.writestr(name, np.frombuffer(data, number).byteswap().tobytes() if "/data/" in name else data)
    assert read_back(tmp_path / "big.pt", tmp_path)["x"].tobytes() == tensor.view(torch.uint8).numpy().tobytes()


def test_tensors_of_a_checkpoint_are_chosen_by_name(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Linear(5, 4))
    torch.save({"epoch": 3, "model": model.state_dict()}, tmp_path / "m.pt")
    found = read_back(tmp_path / "m.pt", tmp_path, "--fields", "model_0_weight,model_0_bias")
    assert sorted(found) == ["model_0_bias", "model_0_weight"]
    assert np.array_equal(found["model_0_weight"], model[0].weight.detach().numpy())
    assert b"rows, but" in run_shale("convert", tmp_path / "m.pt", tmp_path / "z.npz", code=1).stderr


def test_shapes_beside_tensors_are_left_out(tmp_path):
    x = torch.arange(6.0).reshape(2, 3)
    torch.save({"x": x, "shape": x.shape}, tmp_path / "x.pt")
    assert sorted(read_back(tmp_path / "x.pt", tmp_path, code=4)) == ["x"]
    torch.save(x.shape, tmp_path / "x.pt")
    assert b"holds no tensor" in run_shale("info", tmp_path / "x.pt", code=1).stderr


def test_long_metadata_is_skipped(tmp_path):
    save_file({"x": torch.arange(6.0).reshape(2, 3)}, tmp_path / "x.safetensors", metadata={"ss_tag_frequency": "y" * 200_000})
    assert sorted(read_back(tmp_path / "x.safetensors", tmp_path, code=4)) == ["x"]  # the metadata is left_out


def test_what_cannot_be_read_is_refused_by_name(tmp_path):
    refused = {
        "is sparse": torch.eye(2).to_sparse(),
        "is quantised": torch.quantize_per_tensor(torch.ones(2, 2), 0.1, 0, torch.quint8),
        "is a lazy conjugate": torch.ones(2, 2, dtype=torch.complex64).conj(),
        "is a lazy negative": torch.ones(2, 2, dtype=torch.complex64).conj().imag,
        "has no axes": torch.tensor(3.0),
        "torch.nn.modules.linear.Linear": torch.nn.Linear(2, 2),
        "holds no tensor": {"a": 3},
    }
    for message, value in refused.items():
        torch.save(value, tmp_path / "x.pt")
        for command in (["convert", tmp_path / "x.pt", tmp_path / "z.npz"], ["info", tmp_path / "x.pt"]):
            assert message.encode() in run_shale(*command, code=1).stderr


def test_a_file_of_torch_is_verified_and_read_in_place(tmp_path):
    import shale

    tensor = numbers("float32", (9, 4))
    torch.save(tensor, tmp_path / "x.pt")
    run_shale("index", tmp_path / "x.pt", "--crc")
    run_shale("verify", tmp_path / "x.pt", "--deep")
    with shale.Dataset(tmp_path / "x.pt") as dataset:
        assert len(dataset) == 9
        assert np.array_equal(dataset[3]["x"], tensor[3].numpy())
    run_shale("resample", tmp_path / "x.pt", tmp_path / "y.npy", "--permute", "--seed", "1")
    assert sorted(map(tuple, np.load(tmp_path / "y.npy"))) == sorted(map(tuple, tensor.numpy()))


@pytest.mark.parametrize("name", ["a.pt", "a.npz"])
def test_verify_compares_the_checksums_of_an_archive(name, tmp_path):
    path = tmp_path / name
    tensors = {"x": numbers("float32", (40, 30)), "y": numbers("int64", (40,))}
    if name == "a.pt":
        torch.save(tensors, path)
    else:
        np.savez(path, **{key: value.numpy() for key, value in tensors.items()})
    told = run_shale("verify", path)
    assert b"the checksums in the file" in told.stdout + told.stderr and b"payload not checked" not in told.stdout
    content = bytearray(path.read_bytes())
    at = content.index(tensors["x"].numpy().tobytes()) + 4000
    content[at] ^= 4
    path.write_bytes(content)
    told = run_shale("verify", path, code=3)
    assert b"checksum mismatch in member" in told.stdout + told.stderr
    run_shale("verify", path, "--quick")


def test_a_set_is_compared_with_the_arrays_that_it_was_made_of(tmp_path):
    np.savez(tmp_path / "a.npz", **{"train/x": np.arange(6), "val/x": np.arange(4)})
    run_shale("convert", tmp_path / "a.npz", tmp_path / "out", "--to", "npy", "--fields", "train/x")
    told = run_shale("verify", tmp_path / "out", "--against", tmp_path / "a.npz")
    assert b"holds the same samples; its other arrays were not compared: column 'val_x' has 4 rows" in told.stdout


@pytest.mark.parametrize("name", ["a.pt", "a.npz"])
def test_two_archives_in_one_file_are_refused(name, tmp_path):
    with open(tmp_path / name, "wb") as file:
        for first in range(2):
            array = np.arange(first, first + 6)
            if name == "a.pt":
                torch.save(torch.from_numpy(array), file)
            else:
                np.savez(file, x=array)
    for words in (["info"], ["convert", "out", "--to", "npy"]):
        told = run_shale(words[0], tmp_path / name, *[tmp_path / "out" if word == "out" else word for word in words[1:]], code=1)
        assert b"holds several zip archives" in told.stderr


@pytest.mark.parametrize("name", ["a.pt", "a.npz"])
def test_what_is_no_column_does_not_stop_the_others(name, tmp_path):
    path = tmp_path / name
    if name == "a.pt":
        torch.save({"train": {"x": torch.arange(6)}, "epoch": torch.tensor(3), "sparse": torch.eye(6).to_sparse()}, path)
        chosen, left_out = "train.x", {"epoch": "single_value", "sparse": "type_not_held"}
    else:
        np.savez(path, **{"train/x": np.arange(6), "epoch": np.array(3), "names": np.array([{}] * 6)})
        chosen, left_out = "train/x", {"epoch": "single_value", "names": "type_not_held"}
    told = run_shale("convert", path, tmp_path / "all", "--to", "npy", code=4)
    assert all(name.encode() in told.stdout for name in left_out)
    manifest = json.loads((tmp_path / "all" / "dataset.json").read_bytes())
    assert {one["name"]: one["reason"] for one in manifest["left_out"]} == left_out
    for field in (chosen, "train_x"):
        run_shale("convert", path, tmp_path / field.replace("/", "-"), "--to", "npy", "--fields", field)
        assert np.array_equal(np.load(tmp_path / field.replace("/", "-") / "shard-000000.train_x.npy"), np.arange(6))
    told = run_shale("convert", path, tmp_path / "none", "--to", "npy", "--fields", "epoch", code=1)
    assert b"no axes" in told.stderr
    info = run_shale("info", path)
    assert b"train_x" in info.stdout and b"epoch" in info.stdout + info.stderr


def test_shards_of_tensors_hold_every_row(tmp_path):
    array = numbers("float32", (100, 50)).numpy()
    np.save(tmp_path / "x.npy", array)
    for format_name, load in (("pt", lambda p: torch.load(p, mmap=True)), ("safetensors", lambda p: load_file(p)["x"])):
        out = tmp_path / format_name
        run_shale("convert", tmp_path / "x.npy", out, "--to", format_name, "--shard-size", "8KiB")
        run_shale("verify", out, "--deep", "--against", tmp_path / "x.npy")
        shards = sorted(out.glob(f"*.x.{format_name}"))
        assert len(shards) > 1
        assert np.array_equal(np.concatenate([load(shard).numpy() for shard in shards]), array)


COLUMNS = {"x": ("float32", (40, 5)), "y": ("int64", (40,)), "flag": ("bool", (40,)), "depth": ("uint16", (40, 2, 3)), "none": ("int8", (40, 0))}


def save_columns(folder):
    """Five columns of 40 rows in files of their own; the words of the command that names them."""
    columns = {name: numbers(*column).numpy() for name, column in COLUMNS.items()}
    for name, array in columns.items():
        np.save(folder / f"{name}.npy", array)
    return columns, [f"{name}={folder}/{name}.npy" for name in columns]


def load_tensors(path):
    return load_file(path) if path.suffix == ".safetensors" else torch.load(path, mmap=True, weights_only=True)


@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_several_columns_become_one_file(tmp_path, suffix):
    columns, words = save_columns(tmp_path)
    out = tmp_path / f"all.{suffix}"
    run_shale("convert", *words, out, "--verify")
    found = load_tensors(out)
    assert sorted(found) == sorted(columns)
    assert all(same(found[name].numpy(), array) for name, array in columns.items())
    if suffix == "pt":  # without mmap it verifies the checksums, and torch.save keeps the order of a dict
        assert list(torch.load(out, mmap=False, weights_only=True)) == list(columns)
    again = tmp_path / f"again.{suffix}"
    run_shale("convert", *words, again, "--memory", "16MiB", "--jobs", "1")
    assert out.read_bytes() == again.read_bytes()
    back = read_back(out, tmp_path)
    assert all(same(back[name], array) for name, array in columns.items())
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_archives_datasets_and_tensor_files_become_files_of_several_tensors(tmp_path, suffix):
    columns, words = save_columns(tmp_path)
    np.savez(tmp_path / "a.npz", **columns)
    torch.save({name: torch.from_numpy(array) for name, array in columns.items()}, tmp_path / "a.pt")
    save_file({name: torch.from_numpy(array) for name, array in columns.items()}, tmp_path / "a.safetensors")
    run_shale("convert", *words, tmp_path / "set", "--to", "hdf5")
    expected = None
    for source in ("a.npz", "a.pt", "a.safetensors", "set"):
        out = tmp_path / f"out.{suffix}"
        run_shale("convert", tmp_path / source, out, "--overwrite")
        found = load_tensors(out)
        assert all(same(found[name].numpy(), array) for name, array in columns.items()), source
        run_shale("convert", tmp_path / source, out, "--overwrite", "--fields", "depth,y")
        assert sorted(load_tensors(out)) == ["depth", "y"]
        expected = expected or out.read_bytes()
        assert out.read_bytes() == expected


def test_a_file_of_several_tensors_is_read_in_place(tmp_path):
    import shale

    columns, words = save_columns(tmp_path)
    for suffix in ("pt", "safetensors"):
        out = tmp_path / f"all.{suffix}"
        shale.convert(words, out)
        run_shale("index", out, "--crc")
        run_shale("verify", out, "--against", words[0], "--against", words[1], *[w for word in words[2:] for w in ("--against", word)])
        with shale.Dataset(out) as dataset:
            assert np.array_equal(dataset[7]["depth"], columns["depth"][7])
        assert b"is written without an index" in run_shale("convert", *words, tmp_path / f"z.{suffix}", "--with-index", code=2).stderr
        with shale.Writer(tmp_path / f"w.{suffix}", schema={"a": ("float32", (2,)), "b": ("int16", ())}) as writer:
            for row in range(5):
                writer.write({"a": np.full(2, row, "float32"), "b": np.int16(row)})
        found = load_tensors(tmp_path / f"w.{suffix}")
        assert same(found["b"].numpy(), np.arange(5, dtype="int16"))
        assert same(found["a"].numpy(), np.repeat(np.arange(5, dtype="float32"), 2).reshape(5, 2))


@pytest.mark.parametrize("draw", [("--permute",), ("--replace", "--rows", "9000"), ("--rows", "1000"), ("--rows", "0", "--replace")])
def test_rows_are_drawn_into_tensors(tmp_path, draw):
    array = np.random.default_rng(5).integers(0, 255, (6000, 300), "uint8")
    np.save(tmp_path / "x.npy", array)
    np.save(tmp_path / "y.npy", np.arange(6000, dtype="uint16"))
    words = ["resample", tmp_path / "x.npy", tmp_path / "x.pt", "--also", f"{tmp_path}/y.npy={tmp_path}/y.pt"]
    words += ["--also", f"{tmp_path}/y.npy={tmp_path}/y.safetensors", "--save-indices", tmp_path / "rows.npy"]
    run_shale(*words, *draw, "--memory", "16MiB", "--seed", "3")
    rows = np.load(tmp_path / "rows.npy")
    for mmap in (True, False):
        assert np.array_equal(torch.load(tmp_path / "x.pt", mmap=mmap, weights_only=True).numpy(), array[rows])
        assert same(torch.load(tmp_path / "y.pt", mmap=mmap, weights_only=True).numpy(), rows.astype("uint16"))
    assert same(load_file(tmp_path / "y.safetensors")["x"].numpy(), rows.astype("uint16"))
    # What is drawn into an array and converted is the same file.
    run_shale("resample", tmp_path / "x.npy", tmp_path / "d.npy", *draw, "--seed", "3")
    run_shale("convert", tmp_path / "d.npy", tmp_path / "d.pt")
    assert (tmp_path / "d.pt").read_bytes() == (tmp_path / "x.pt").read_bytes()


def test_rows_of_several_columns_are_drawn_into_one_file(tmp_path):
    columns, words = save_columns(tmp_path)
    run_shale("resample", *words, tmp_path / "all.pt", "--seed", "4")
    run_shale("resample", *words, tmp_path / "x.npy.pt", "--seed", "4", "--fields", "depth")
    np.save(tmp_path / "rows.npy", np.arange(40))
    run_shale("resample", tmp_path / "rows.npy", tmp_path / "drawn.npy", "--seed", "4")
    rows = np.load(tmp_path / "drawn.npy")
    found = load_tensors(tmp_path / "all.pt")
    assert all(same(found[name].numpy(), array[rows]) for name, array in columns.items())
    assert same(torch.load(tmp_path / "x.npy.pt", weights_only=True).numpy(), columns["depth"][rows])


def test_what_no_tensor_holds_is_not_drawn_into_one(tmp_path):
    np.save(tmp_path / "x.npy", np.array([b"abc", b"def"]))
    np.save(tmp_path / "y.npy", np.arange(2))
    for suffix in ("pt", "safetensors"):
        out = tmp_path / f"out.{suffix}"
        message = f"which .{suffix} files do not have".encode()
        assert message in run_shale("resample", tmp_path / "x.npy", out, code=1).stderr
        assert message in run_shale("resample", tmp_path / "y.npy", tmp_path / "z.npy", "--also", f"{tmp_path}/x.npy={out}", code=1).stderr
        words = ["resample", tmp_path / "y.npy", tmp_path / "z.npy", "--save-indices", out]
        assert b"must end in .npy" in run_shale(*words, code=2).stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy", "y.npy"]


def test_every_dtype_goes_from_torch_to_safetensors_and_back(tmp_path):
    tensors = random_tensors([*BOTH_SIDES, "complex128", "complex32"])
    torch.save(tensors, tmp_path / "all.pt")
    run_shale("convert", tmp_path / "all.pt", tmp_path / "one.safetensors", "--fields", ",".join(BOTH_SIDES))
    run_shale("convert", tmp_path / "one.safetensors", tmp_path / "two.pt", "--fields", ",".join(BOTH_SIDES))
    run_shale("convert", tmp_path / "all.pt", tmp_path / "three.pt")
    both, again, every = load_file(tmp_path / "one.safetensors"), load_tensors(tmp_path / "two.pt"), load_tensors(tmp_path / "three.pt")
    assert sorted(both) == sorted(again) == sorted(BOTH_SIDES) and sorted(every) == sorted(tensors)
    for name, tensor in tensors.items():
        for other in [both[name], again[name], every[name]] if name in BOTH_SIDES else [every[name]]:
            assert other.dtype == tensor.dtype and other.shape == tensor.shape
            assert torch.equal(other.contiguous().view(torch.uint8), tensor.view(torch.uint8)), name
        run_shale("convert", tmp_path / "three.pt", tmp_path / "x.npy", "--fields", name, "--overwrite")
        found = np.load(tmp_path / "x.npy")
        assert found.tobytes() == tensor.view(torch.uint8).numpy().tobytes()
        if name in DTYPES:
            assert torch.from_numpy(found).dtype == tensor.dtype


def test_dtypes_that_numpy_lacks_are_columns_of_their_name(tmp_path):
    """In every container that holds structured rows, and back to the same tensors; HDF5 has no such types."""
    import shale

    tensors = random_tensors(NOT_NUMPYS)
    torch.save(tensors, tmp_path / "x.pt")
    for container in ("record", "lmdb", "npy", "pt", "safetensors"):
        run_shale("convert", tmp_path / "x.pt", tmp_path / container, "--to", container)
        run_shale("verify", tmp_path / container, "--deep", "--against", tmp_path / "x.pt")
        for suffix in ("pt", "safetensors"):
            run_shale("convert", tmp_path / container, tmp_path / f"back.{suffix}", "--overwrite")
        for back in (load_tensors(tmp_path / "back.pt"), load_file(tmp_path / "back.safetensors")):
            for name, tensor in tensors.items():
                assert back[name].dtype == tensor.dtype
                assert torch.equal(back[name].view(torch.uint8), tensor.view(torch.uint8))
        with shale.Dataset(tmp_path / container) as dataset:
            for name, tensor in tensors.items():
                assert dataset.types[name].split()[0] == name
                assert dataset[4][name].dtype == tensor.dtype
                assert torch.equal(dataset[4][name].view(torch.uint8), tensor[4].view(torch.uint8))
                assert torch.equal(dataset.column(name).view(torch.uint8), tensor.view(torch.uint8))
    refused = run_shale("convert", tmp_path / "x.pt", tmp_path / "h", "--to", "hdf5", code=1).stderr
    assert b"bfloat16" in refused or b"float8" in refused
    run_shale("resample", tmp_path / "x.pt", tmp_path / "drawn.pt", "--permute", "--seed", "1", "--fields", "bfloat16")
    drawn = load_tensors(tmp_path / "drawn.pt")
    assert drawn.dtype == torch.bfloat16
    assert sorted(map(tuple, drawn.view(torch.int16).tolist())) == sorted(map(tuple, tensors["bfloat16"].view(torch.int16).tolist()))


def test_tensors_that_share_a_storage_are_separate_columns(tmp_path):
    base = torch.arange(60, dtype=torch.int32).reshape(10, 6)
    views = {"all": base, "left": base[:, :2], "down": base[:, 3], "same": base, "again": base.t().t()}
    torch.save(views, tmp_path / "v.pt")
    for out in ("w.pt", "w.safetensors"):
        run_shale("convert", tmp_path / "v.pt", tmp_path / out)
        found = load_tensors(tmp_path / out)
        assert all(same(found[name].numpy(), view.numpy()) for name, view in views.items())


@pytest.mark.parametrize("command", ["convert", "resample"])
def test_tinytopics_reads_rows_from_disk(tmp_path, command):
    array = np.random.default_rng(3).poisson(2.0, (30, 20)).astype("float32")
    np.save(tmp_path / "counts.npy", array)
    run_shale(command, tmp_path / "counts.npy", tmp_path / "counts.pt")
    if command == "resample":
        run_shale("resample", tmp_path / "counts.npy", tmp_path / "drawn.npy")
        array = np.load(tmp_path / "drawn.npy")
    dataset = tinytopics_data().TorchDiskDataset(tmp_path / "counts.pt")
    assert (len(dataset), dataset.num_terms, dataset.mmap_supported) == (30, 20, True)
    for workers in (0, 2):
        loader = torch.utils.data.DataLoader(dataset, batch_size=16, num_workers=workers)
        assert np.array_equal(torch.cat(list(loader)).numpy(), array)
