"""Numbers without a header, as ndarray.tofile writes them, and the idx files of MNIST: `--raw` gives what numpy.fromfile gives, an idx file what is in it."""

import gzip
import json
import pickle
import subprocess

import numpy as np
import pytest
import shale
from conftest import run_shale

TOKENS = np.random.default_rng(5).integers(0, 50257, 40_000).astype("u2")


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "train.bin"
    TOKENS.tofile(path)
    return path


def written(folder, field="x"):
    return np.load(folder / f"shard-000000.{field}.npy")


def idx_bytes(array):
    """As torchvision.datasets.mnist reads them: big-endian, a byte for the type and one for the number of axes."""
    codes = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}
    header = bytes([0, 0, codes[array.dtype.str[1:]], array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64"])
def test_types_as_numpy_names_them(name, tmp_path):
    array = np.arange(60).astype(name)
    array.tofile(tmp_path / "x.bin")

    run_shale("convert", tmp_path / "x.bin", tmp_path / "x.npy", "--raw", f"{name},3,2")

    found = np.load(tmp_path / "x.npy")
    assert found.dtype == array.dtype and np.array_equal(found, array.reshape(-1, 3, 2))


@pytest.mark.parametrize("name", [">u2", ">uint16", ">f8", ">c8"])
def test_big_endian_numbers_are_swapped(name, tmp_path):
    array = np.arange(24).astype(np.dtype(name.replace("uint16", "u2")))
    array.tofile(tmp_path / "x.bin")

    run_shale("convert", tmp_path / "x.bin", tmp_path / "x.npy", "--raw", f"{name},4")

    assert np.array_equal(np.load(tmp_path / "x.npy"), array.reshape(-1, 4))


def test_bfloat16_rows_behind_a_header(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.arange(12).astype(ml_dtypes.bfloat16)
    (tmp_path / "x.bin").write_bytes(b"h" * 100 + array.tobytes())

    run_shale("convert", tmp_path / "x.bin", tmp_path / "x.npy", "--raw", "bfloat16,4", "--raw-offset", "100")

    assert np.load(tmp_path / "x.npy").tobytes() == array.tobytes()


@pytest.mark.parametrize("target", ["npy", "record", "lmdb", "hdf5"])
def test_rows_become_samples_of_any_format(target, tokens, tmp_path):
    run_shale("convert", tokens, tmp_path / "out", "--to", target, "--raw", "uint16,400")

    with shale.Dataset(tmp_path / "out") as dataset:
        assert len(dataset) == 100 and np.array_equal(dataset[99]["x"], TOKENS[-400:])
    assert b"the same samples" in run_shale("verify", tmp_path / "out", "--against", tokens).stdout


def test_several_files_are_one_array(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(11):
        TOKENS[number * 400 : (number + 1) * 400].tofile(folder / f"part_{number}.bin")
    expected = TOKENS[: 11 * 400].reshape(-1, 400)

    for number, words in enumerate([[folder], [f"{folder}/part_*.bin"], [f"x={folder}/part_{{0..10}}.bin"]]):
        run_shale("convert", *words, tmp_path / f"{number}.npy", "--raw", "uint16,400")
        assert np.array_equal(np.load(tmp_path / f"{number}.npy"), expected)
        facts = json.loads(run_shale("info", *words, "--raw", "uint16,400", "--json").stdout)
        assert facts["samples"] == 11

    (folder / "val_0.bin").write_bytes(b"")
    refused = run_shale("convert", folder, tmp_path / "x.npy", "--raw", "uint16,400", code=1)
    assert b"several sets" in refused.stderr


def test_commands_read_in_place(tokens):
    raw = ["--raw", "uint16,400"]

    facts = json.loads(run_shale("info", tokens, *raw, "--json").stdout)
    assert facts["samples"] == 100 and facts["fields"][0]["shape"] == [400]
    assert len(run_shale("ls", tokens, *raw, "--tsv").stdout.splitlines()) == 100
    assert run_shale("cat", tokens, "7", *raw).stdout == TOKENS[2800:3200].tobytes()
    assert run_shale("cat", tokens, "7", "--raw", "uint16").stdout == b"%d\n" % TOKENS[7]
    assert b"100 samples" in run_shale("verify", tokens, *raw).stdout
    assert b"--raw" in run_shale("info", tokens, code=1).stderr


def test_dataset_reads_in_place(tokens):
    with shale.Dataset(tokens, raw="uint16,400") as dataset:
        assert len(dataset) == 100 and np.array_equal(dataset[3]["x"], TOKENS[1200:1600])
        again = pickle.loads(pickle.dumps(dataset))
    with again:
        assert np.array_equal(again[99]["x"], TOKENS[-400:])
    with shale.Dataset(tokens, raw=np.uint16, raw_offset=2) as dataset:
        assert len(dataset) == 39_999 and dataset[0]["x"] == TOKENS[1]
    assert shale.info(tokens, raw="uint16,400").samples == 100


def test_draws_are_those_of_the_npy_file(tokens, tmp_path):
    np.save(tmp_path / "x.npy", TOKENS.reshape(-1, 400))
    draw = ["--rows", "30", "--replace", "--seed", "3"]

    run_shale("resample", tokens, tmp_path / "raw.npy", *draw, "--raw", "uint16,400")
    run_shale("resample", tmp_path / "x.npy", tmp_path / "npy.npy", *draw)
    run_shale("convert", tokens, tmp_path / "out", "--to", "npy", "--shuffle", "--raw", "uint16,400")

    assert (tmp_path / "raw.npy").read_bytes() == (tmp_path / "npy.npy").read_bytes()
    assert sorted(map(bytes, written(tmp_path / "out"))) == sorted(map(bytes, TOKENS.reshape(-1, 400)))


def test_a_single_file_is_compared_by_the_option(tokens, tmp_path):
    run_shale("convert", tokens, tmp_path / "x.npy", "--raw", "uint16,400")

    same = run_shale("verify", tmp_path / "x.npy", "--against", tokens, "--raw", "uint16,400")
    other = run_shale("verify", tmp_path / "x.npy", "--against", tokens, "--raw", "int16,400", code=2)

    assert b"the same samples" in same.stdout and b"x int16 (400,)" in other.stderr


def test_a_tail_that_is_no_whole_row(tokens, tmp_path):
    tokens.write_bytes(tokens.read_bytes()[:-1])

    refused = run_shale("convert", tokens, tmp_path / "x.npy", "--raw", "uint16,400", code=3)
    assert b"99 rows of 800 bytes are followed by 799 more bytes" in refused.stderr and b"--on-error skip" in refused.stderr
    (tmp_path / "short.bin").write_bytes(bytes(900))
    assert b"1 row of 800 bytes is followed" in run_shale("info", tmp_path / "short.bin", "--raw", "uint16,400", code=3).stderr
    run_shale("convert", tokens, tmp_path / "out", "--to", "npy", "--raw", "uint16,400", "--on-error", "skip", code=4)
    assert np.array_equal(written(tmp_path / "out"), TOKENS[:39_600].reshape(-1, 400))


def test_one_file_of_a_set_without_a_whole_row_is_listed(tmp_path):
    rows = TOKENS[:2000].reshape(-1, 400)
    (tmp_path / "set").mkdir()
    for number, content in enumerate([rows[:2].tobytes(), bytes(70), rows[2:].tobytes()]):
        (tmp_path / f"set/{number}.bin").write_bytes(content)

    plan = run_shale(
        "convert", tmp_path / "set", tmp_path / "out", "--to", "npy", "--raw", "uint16,400", "--on-error", "skip", "--dry-run", code=4
    )
    run_shale("convert", tmp_path / "set", tmp_path / "out", "--to", "npy", "--raw", "uint16,400", "--on-error", "skip", code=4)

    assert b"would skip: 1 bad sample" in plan.stdout
    assert np.array_equal(written(tmp_path / "out"), rows)
    assert "1.bin: 70 bytes from byte 0 on" in (tmp_path / "out/skipped.csv").read_text()
    for error in ("skip", "fail"):
        alone = run_shale("convert", tmp_path / "set/1.bin", tmp_path / "x.npy", "--raw", "uint16,400", "--on-error", error, code=(1, 3))
        assert b"70 " in alone.stderr and not (tmp_path / "x.npy").exists()


def test_what_says_itself_what_it_is_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", TOKENS)
    (tmp_path / "x.bin.gz").write_bytes(gzip.compress(TOKENS.tobytes()))
    (tmp_path / "empty").mkdir()

    for name, fact in {"x.npy": b"an .npy file", "x.bin.gz": b"compressed with gzip", "empty": b"the input is a folder"}.items():
        refused = run_shale("convert", tmp_path / name, tmp_path / "y.npy", "--raw", "uint16", code=2)
        assert fact in refused.stderr
    run_shale("convert", tmp_path / "x.npy", tmp_path / "y.npy", "--raw", "uint16", "--raw-offset", "128")
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()


@pytest.mark.parametrize(
    "words",
    [
        ["--raw", "uint15"],
        ["--raw", "uint16,0"],
        ["--raw", "uint16,x"],
        ["--raw-offset", "4"],
        ["--raw", "uint16", "--raw-offset", "90000"],
    ],
)
def test_words_that_say_nothing_are_refused(words, tokens, tmp_path):
    run_shale("convert", tokens, tmp_path / "x.npy", *words, code=2)


def test_an_index_folder_without_an_index_is_refused(tokens, tmp_path):
    for words in (
        ["convert", tokens, tmp_path / "x.npy"],
        ["info", tokens],
        ["ls", tokens],
        ["cat", tokens, "0"],
        ["verify", tokens],
        ["report", tokens, "-o", tmp_path / "x.html"],
    ):
        refused = run_shale(*words, "--raw", "uint16,400", "--index-dir", tmp_path / "index", code=2)
        assert b"--index-dir has no effect with --raw" in refused.stderr and not (tmp_path / "index").exists()


@pytest.mark.parametrize("name", ["u1", "i1", "i2", "i4", "f4", "f8"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_idx_files(name, is_packed, tmp_path):
    array = np.random.default_rng(1).integers(-100, 100, (50, 7, 3)).astype(name)
    path = tmp_path / ("images.gz" if is_packed else "images")
    path.write_bytes(gzip.compress(idx_bytes(array)) if is_packed else idx_bytes(array))

    run_shale("convert", path, tmp_path / "out", "--to", "npy")

    assert written(tmp_path / "out").dtype == array.dtype and np.array_equal(written(tmp_path / "out"), array)
    assert b"the same samples" in run_shale("verify", tmp_path / "out", "--against", path).stdout
    assert json.loads(run_shale("info", path, "--json").stdout)["samples"] == 50
    assert run_shale("cat", path, "49").stdout == array[49].tobytes()
    with shale.Dataset(path) as dataset:
        assert np.array_equal(dataset[7]["x"], array[7])


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_images_and_labels_of_mnist(suffix, tmp_path):
    pack = gzip.compress if suffix else bytes
    images = np.random.default_rng(2).integers(0, 256, (60, 28, 28)).astype("u1")
    labels = np.random.default_rng(3).integers(0, 10, 60).astype("u1")
    names = [f"train-images-idx3-ubyte{suffix}", f"train-labels-idx1-ubyte{suffix}"]
    for name, array in zip(names, (images, labels)):
        (tmp_path / name).write_bytes(pack(idx_bytes(array)))
    words = [f"image={tmp_path / names[0]}", f"label={tmp_path / names[1]}"]

    run_shale("convert", *words, tmp_path / "out", "--to", "record")

    with shale.Dataset(tmp_path / "out") as dataset:
        assert np.array_equal(np.stack([sample["image"] for sample in dataset]), images)
        assert [sample["label"] for sample in dataset] == labels.tolist()
    assert b"60 samples" in run_shale("verify", *words).stdout
    assert len(run_shale("ls", *words, "--tsv").stdout.splitlines()) == 60


def test_a_damaged_idx_file_is_told(tmp_path):
    whole = idx_bytes(np.arange(600, dtype="u1").reshape(6, 10, 10))
    path = tmp_path / "x-idx3-ubyte"

    for content in (whole[:-1], whole + b"x", whole[:9]):
        path.write_bytes(content)
        run_shale("convert", path, tmp_path / "out", "--to", "npy", code=3 if len(content) < len(whole) and len(content) > 9 else 1)
    packed = bytearray(gzip.compress(whole))
    packed[len(packed) // 2] ^= 1
    (tmp_path / "y-idx3-ubyte.gz").write_bytes(packed)
    run_shale("convert", tmp_path / "y-idx3-ubyte.gz", tmp_path / "out", "--to", "npy", code=3)


def test_bytes_behind_an_idx_array_are_taken_off_by_the_hint(tmp_path):
    whole = b"\0\0\x08\1\0\0\0\2ab"
    (tmp_path / "x-idx1-ubyte").write_bytes(whole + b"zz")
    told = run_shale("convert", tmp_path / "x-idx1-ubyte", tmp_path / "out", "--to", "npy", code=1).stderr.decode()
    assert "is followed by 2 more bytes" in told and "numpy" not in told
    subprocess.run(told.partition("alone: ")[2].replace("OTHER", "other-idx1-ubyte"), shell=True, cwd=tmp_path, check=True)
    assert (tmp_path / "other-idx1-ubyte").read_bytes() == whole


def test_arrays_without_rows_are_read_as_a_dataset_without_samples(tmp_path):
    (tmp_path / "none-idx1-ubyte").write_bytes(b"\0\0\x08\1\0\0\0\0")
    (tmp_path / "none.bin").write_bytes(b"")
    for words in ((tmp_path / "none-idx1-ubyte",), (tmp_path / "none.bin", "--raw", "uint16,4")):
        assert json.loads(run_shale("info", *words, "--json").stdout)["samples"] == 0
        assert run_shale("ls", *words, "--tsv").stdout.count(b"\n") <= 1
        assert b"0 samples" in run_shale("verify", *words).stdout
        run_shale("convert", words[0], tmp_path / "out", *words[1:], "--to", "npy", "--overwrite")
        assert json.loads(run_shale("info", tmp_path / "out", "--json").stdout)["samples"] == 0


def test_matlab_files_in_a_folder_and_of_version_4_are_named(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/a.mat").write_bytes(b"MATLAB 5.0 MAT-file".ljust(128, b" ") + bytes(100))
    (tmp_path / "v4.mat").write_bytes(np.array([0, 2, 3, 0, 2], "<i4").tobytes() + b"x\0" + np.arange(6.0).tobytes())
    for path, name in ((tmp_path / "folder", "a MATLAB 5 file"), (tmp_path / "v4.mat", "a MATLAB file of before version 7.3")):
        for words in (("info", path), ("convert", path, tmp_path / "out", "--to", "npy")):
            told = run_shale(*words, code=1).stderr.decode()
            assert name in told and "scipy.io.loadmat" in told and "--raw" not in told


def test_matlab_5_is_refused_by_name_with_the_way_round(tmp_path):
    path = tmp_path / "x.mat"
    path.write_bytes(b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x01IM" + bytes(64))

    for words in (["convert", path, tmp_path / "out", "--to", "npy"], ["info", path]):
        told = run_shale(*words, code=1).stderr
        assert b"is a MATLAB 5 file" in told and b"**{k: v for k, v in scipy.io.loadmat('" in told
