"""convert --cast: the numbers are NumPy's, for every kind of source; verify, repair, parts, copies and appended runs know the types."""

import json
import shutil

import h5py
import numpy as np
import pytest
import shale as package
from conftest import run_shale

ROWS = 37
DICE = np.random.default_rng(40)
X = DICE.normal(0, 100, (ROWS, 5, 3))
Y = DICE.integers(0, 200, ROWS)
Z = DICE.integers(0, 2, ROWS).astype("?")
RAGGED = [DICE.integers(-100, 100, i % 5).astype("i4") for i in range(ROWS)]


def npz(folder):
    np.savez(folder / "in.npz", x=X, y=Y, z=Z)
    return folder / "in.npz"


def fortran(folder):
    np.save(folder / "x.npy", np.asfortranarray(X))
    np.save(folder / "y.npy", Y.astype(">i8"))
    np.save(folder / "z.npy", Z)
    return [f"{name}={folder / name}.npy" for name in "xyz"]


def hdf5(folder, **how):
    with h5py.File(folder / "in.h5", "w") as file:
        for name, values in (("x", X), ("y", Y), ("z", Z.astype("u1"))):
            file.create_dataset(name, data=values, **how)
    return folder / "in.h5"


def compressed(folder):
    return hdf5(folder, chunks=True, compression="gzip")


def made_by_shale(folder, kind):
    run_shale("convert", npz(folder), folder / kind, "--to", kind)
    return folder / kind


def record(folder):
    return made_by_shale(folder, "record")


def rows(folder):
    return made_by_shale(folder, "npy")


def lmdb(folder):
    return made_by_shale(folder, "lmdb")


def joined(folder):
    np.save(folder / "x.npy", X)
    with h5py.File(folder / "yz.h5", "w") as file:
        file["y"], file["z"] = Y, Z.astype("u1")
    return [f"x={folder / 'x.npy'}", f"yz={folder / 'yz.h5'}"]


def made_of(source, out):
    run_shale("convert", source, out, "--to", "record")
    return out


def words(source):
    return source if isinstance(source, list) else [source]


def against(source, option="--against"):
    return [word for one in words(source) for word in (option, one)]


def assert_cast(out, expected):
    with package.Dataset(out) as made:
        assert len(made) == len(next(iter(expected.values())))
        for i in range(len(made)):
            for name, values in expected.items():
                got = np.asarray(made[i][name])
                assert np.array_equal(got, values[i], equal_nan=got.dtype.kind == "f"), (i, name, got)
                if got.ndim:
                    assert got.dtype == values[i].dtype, name


SOURCES = [npz, fortran, hdf5, compressed, record, rows, lmdb, joined]
TO = ["npy", "record", "lmdb", "hdf5"]


@pytest.mark.parametrize("make", SOURCES)
def test_every_source_gives_the_numbers_of_numpy(make, shale, tmp_path):
    source = make(tmp_path)
    out = tmp_path / "out"
    to = TO[SOURCES.index(make) % len(TO)]
    cast = "x:float32,y:uint8,z:float16"

    shale("convert", *words(source), out, "--to", to, "--cast", cast, "--shard-samples", "10")

    assert_cast(out, {"x": X.astype("f4"), "y": Y.astype("u1"), "z": Z.astype("f2")})
    for field, dtype in (("x", "float32"), ("y", "uint8"), ("z", "float16")):
        described = {one["name"]: one for one in json.loads((out / "dataset.json").read_text())["schema"]}[field]
        assert np.dtype(described["dtype"]) == np.dtype(dtype)
    assert "already complete" in shale("convert", *words(source), out, "--to", to, "--cast", cast, "--shard-samples", "10")
    assert "the source holds the same samples" in shale("verify", out, *against(source))
    lost = next(path for path in sorted(out.glob("shard-000002.*")) if "index" not in path.name and "blocks" not in path.name)
    content = lost.read_bytes()
    lost.unlink()
    shale("repair", out, *against(source, "--from"))
    assert lost.read_bytes() == content


@pytest.mark.parametrize("to", TO[1:])
def test_ragged_tensors(to, shale, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        values = file.create_dataset("r", (ROWS,), h5py.vlen_dtype("i4"))
        for i, numbers in enumerate(RAGGED):
            values[i] = numbers
    shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", to, "--cast", "r:float64")

    with package.Dataset(tmp_path / "out") as made:
        assert all(np.array_equal(made[i]["r"], RAGGED[i]) and made[i]["r"].dtype == "f8" for i in range(ROWS))
    assert "the same samples" in shale("verify", tmp_path / "out", "--against", tmp_path / "in.h5")


def test_optional_values_and_labels_of_a_folder(photos, shale, tmp_path):
    folder = tmp_path / "photos"
    shutil.copytree(photos, folder)
    names = [row.split("\t")[1] for row in shale("ls", made_of(folder, tmp_path / "plain"), "--tsv").splitlines()]
    table = [{"file_name": name, "x": None if i == 1 else i / 2, "ids": list(range(i))} for i, name in enumerate(names)]
    (folder / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table))

    shale("convert", folder, tmp_path / "out", "--to", "record", "--rename", "label:y", "--cast", "x:float16,ids:int16,y:uint8")

    with package.Dataset(tmp_path / "out") as made:
        assert made[1]["x"] is None and made[2]["x"] == 1
        assert made[2]["ids"].dtype == "i2" and made[2]["ids"].tolist() == [0, 1]
        assert len(package.info(tmp_path / "out").class_names) > 1
    assert "the same samples" in shale("verify", tmp_path / "out", "--against", folder)


def test_a_copy_and_a_second_cast_are_still_of_the_first_input(shale, tmp_path):
    source = npz(tmp_path)
    shale("convert", source, tmp_path / "one", "--to", "npy", "--rename", "x:a", "--cast", "a:float32")
    shale("convert", tmp_path / "one", tmp_path / "two", "--to", "lmdb", "--rename", "a:b", "--cast", "b:float16,y:float64")

    assert json.loads((tmp_path / "two/dataset.json").read_text())["options"]["fields"] == "x:b:float32:float16,y:y:float64,z"
    for other in (source, tmp_path / "one"):
        assert "the same samples" in shale("verify", tmp_path / "two", "--against", other)
    with package.Dataset(tmp_path / "two") as made:
        assert np.array_equal(np.stack([made[i]["b"] for i in range(ROWS)]), X.astype("f4").astype("f2"))


def test_splits_take_their_shares_of_the_labels_as_they_are(photos, shale, tmp_path):
    split = ("--split", "train=0.5,val=0.5")
    shale("convert", photos, tmp_path / "out", "--to", "record", "--rename", "label:y", "--cast", "y:float32", *split)
    shale("convert", photos, tmp_path / "plain", "--to", "record", *split)

    assert "and 31 more" in shale("verify", tmp_path / "out/val", "--against", photos)
    keys = [[row.split("\t")[1] for row in shale("ls", tmp_path / name / "val", "--tsv").splitlines()] for name in ("out", "plain")]
    assert keys[0] == keys[1]
    (tmp_path / "out/val/shard-000000.tfrecord").unlink()
    shale("repair", tmp_path / "out/val", "--from", photos, *split)


def test_parts_and_appended_runs(shale, tmp_path):
    source = npz(tmp_path)
    cast = ("--to", "record", "--cast", "x:float32,y:int16")
    for part in range(3):
        shale("convert", source, tmp_path / "parts", *cast, "--part", f"{part}/3")
    shale("merge", tmp_path / "parts", tmp_path / "merged")
    shale("convert", source, tmp_path / "whole", *cast)
    assert package.info(tmp_path / "merged").content_digest == package.info(tmp_path / "whole").content_digest
    assert "the same samples" in shale("verify", tmp_path / "merged", "--against", source)

    shale("convert", source, tmp_path / "whole", *cast, "--append")
    refusal = run_shale("convert", source, tmp_path / "whole", "--to", "record", "--append", code=1).stderr
    assert b"its fields are" in refusal
    refusal = run_shale("convert", source, tmp_path / "merged", "--to", "record", code=1).stderr
    assert b"already holds a finished dataset of another command" in refusal


@pytest.mark.parametrize("make", [npz, record, compressed])
def test_numbers_that_do_not_fit_are_counted_and_refused(make, shale, tmp_path):
    source = make(tmp_path)
    narrow = ("convert", source, tmp_path / "out", "--to", "hdf5", "--cast", "y:int8,x:float16")
    count = int((Y > 127).sum())
    first = int(np.argmax(Y > 127))

    refusal = run_shale(*narrow, code=1).stderr.decode()
    assert f"{count} numbers do not fit the type given by --cast; the first is {Y[first]} in field 'y', which int8 cannot hold" in refusal
    assert f"'{first}'" in refusal or f"sample {first}" in refusal
    note = run_shale(*narrow, "--lossy").stderr.decode()
    assert f"{count} numbers do not fit" in note
    with package.Dataset(tmp_path / "out") as made:
        assert [made[i]["y"] for i in range(ROWS)] == np.minimum(Y, 127).tolist()
    assert "the same samples" in shale("verify", tmp_path / "out", "--against", source)


def test_all_dtypes_to_all(shale, tmp_path):
    names = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
    for name in names:
        np.save(tmp_path / f"{name}.npy", np.array([[0, 1], [1, 1]], name))
    for to in names:
        shale(
            "convert",
            *[f"{name}={tmp_path / name}.npy" for name in names],
            tmp_path / to,
            "--to",
            "npy",
            "--cast",
            ",".join(f"{n}:{to}" for n in names),
        )
        for name in names:
            made = np.load(tmp_path / to / f"shard-000000.{name}.npy")
            assert made.dtype == np.dtype(to) and made.tolist() == np.array([[0, 1], [1, 1]], to).tolist()


def test_in_python(tmp_path):
    result = package.convert(npz(tmp_path), tmp_path / "out", "npy", cast={"x": np.float32, "y": "uint8"})
    assert result.samples == ROWS
    assert np.load(tmp_path / "out/shard-000000.x.npy").dtype == np.float32
    with pytest.raises(package.UsageError, match="'image' is not a type of numbers"):
        package.convert(tmp_path / "in.npz", tmp_path / "no", "npy", cast={"x": "image"})


@pytest.mark.parametrize(
    ("cast", "message"),
    [
        ("image:uint8", b"--cast names 'image', which is bytes: only numbers and times are cast"),
        ("imag:uint8", b"--cast names 'imag', which is not a field of the result"),
        ("label:complex64", b"--cast cannot make complex64 of field 'label', which is int64"),
        ("label:datetime64", b"--cast cannot make datetime64 of field 'label', which is int64"),
        ("label:float8_e8m0fnu", b"'float8_e8m0fnu' is not a type of numbers"),
        ("label:int8,label:int16", b"--cast names 'label' twice"),
        ("label", b"--cast 'label' does not have the form FIELD:DTYPE,FIELD:DTYPE"),
    ],
)
def test_what_cannot_be_cast_is_refused_before_anything_is_read(cast, message, photos, tmp_path):
    assert message in run_shale("convert", photos, tmp_path / "no", "--to", "record", "--cast", cast, code=2).stderr
    assert not (tmp_path / "no").exists()


SHORT = [
    "bfloat16",
    "float8_e5m2",
    "float8_e4m3",
    "float8_e3m4",
    "float8_e4m3fn",
    "float8_e5m2fnuz",
    "float8_e4m3fnuz",
    "float8_e4m3b11fnuz",
]


@pytest.mark.parametrize("name", SHORT)
def test_short_floats_are_those_of_ml_dtypes(name, shale, tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name))
    with np.errstate(all="ignore"):
        halves = np.arange(1 << 16, dtype="u2").view("f2").astype("f4")
        near = np.concatenate([halves * np.float32(scale) for scale in (1, 2.0**-20, 2.0**60)] + [DICE.normal(0, 100, 5000).astype("f4")])
        values = np.concatenate([near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))])
        expected = values.astype(dtype)
    np.save(tmp_path / "x.npy", values)

    shale("convert", f"x={tmp_path / 'x.npy'}", tmp_path / "short", "--to", "npy", "--cast", f"x:{name}", "--lossy")
    shale("convert", tmp_path / "short", tmp_path / "wide", "--to", "npy", "--cast", "x:float32")

    made = np.load(tmp_path / "short/shard-000000.x.npy").view(dtype).reshape(-1)
    is_nan = np.isnan(expected.astype("f4"))
    assert np.array_equal(made[~is_nan].view("u1"), expected[~is_nan].view("u1"))
    assert np.isnan(made[is_nan].astype("f4")).all()
    assert np.array_equal(np.load(tmp_path / "wide/shard-000000.x.npy").reshape(-1), expected.astype("f4"), equal_nan=True)


@pytest.mark.parametrize("to", TO[:-1])
def test_complex_numbers_and_times(to, shale, tmp_path):
    z = (DICE.normal(0, 1, (ROWS, 2)) + 1j * DICE.normal(0, 1, (ROWS, 2))).astype("c16")
    t = np.array("2026-11-28T12:00", "M8[s]") + np.arange(ROWS)
    d = np.arange(ROWS, dtype="m8[D]")
    np.savez(tmp_path / "in.npz", z=z, t=t, d=d, n=d.astype("i8"))

    shale(
        "convert",
        tmp_path / "in.npz",
        tmp_path / "out",
        "--to",
        to,
        "--cast",
        "z:complex64,t:datetime64[ns],d:timedelta64[h],n:datetime64[D]",
    )

    days = d.astype("i8").astype("M8[D]")
    assert_cast(tmp_path / "out", {"z": z.astype("c8"), "t": t.astype("M8[ns]"), "d": d.astype("m8[h]"), "n": days})
    assert "the source holds the same samples" in shale("verify", tmp_path / "out", "--against", tmp_path / "in.npz")
    refusal = run_shale("convert", tmp_path / "in.npz", tmp_path / "no", "--to", to, "--cast", "t:datetime64[h]", code=1).stderr
    assert b"36 numbers do not fit" in refusal and b"'1': " in refusal


@pytest.mark.parametrize(
    ("cast", "message"),
    [
        ("z:float32", "complex64 and complex128"),
        ("t:float32", "integers, and datetime64 of other units"),
        ("t:datetime64[M]", "integers"),
        ("f:datetime64[s]", "bfloat16"),
    ],
)
def test_types_that_make_no_sense_are_refused_with_those_that_do(cast, message, tmp_path):
    np.savez(tmp_path / "in.npz", z=np.zeros(2, "c8"), t=np.zeros(2, "M8[s]"), f=np.zeros(2))
    refusal = run_shale("convert", tmp_path / "in.npz", tmp_path / "no", "--to", "npy", "--cast", cast, code=2).stderr.decode()
    assert f"--cast cannot make {cast.split(':')[1]} of field '{cast[0]}', which is" in refusal
    assert message in refusal.split("hint: ")[1]
