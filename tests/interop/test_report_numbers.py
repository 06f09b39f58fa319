"""`shale report` on numbers at the ends of their types: integers exactly, reals without overflow, times as dates, columns of structures."""

import html
import math
from fractions import Fraction

import numpy as np
import pytest
from conftest import run_shale
from report_facts import facts_of, field

# ---- integers -------------------------------------------------------------------------------------------------------

WHOLE = {
    "i8": [-(2**63), 2**63 - 1, 0],
    "i8 large": [2**53 + 1, 2**53 + 3, 2**53 + 2],
    "i8 constant": [2**62 + 1] * 3,
    "i8 negative": [-(2**53) - 1, -(2**60) - 7, -(2**61) + 1],
    "u8": [0, 2**64 - 1, 2**63 + 1],
    "u8 constant": [2**64 - 3] * 3,
    "i4": [-(2**31), 2**31 - 1, 7],
    "u1": [0, 255, 9],
    "i1": [-128, 127, 0],
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("shape", [(), (2,)], ids=str)
@pytest.mark.parametrize("container", ["file", "npy", "record", "hdf5"])
def test_integers_are_exact(name, shape, container, tmp_path):
    values = np.array(WHOLE[name], name.split()[0])
    if shape:
        values = np.stack([values, values], axis=1)
    np.save(tmp_path / "x.npy", values)
    dataset = tmp_path / "x.npy"
    if container != "file":
        dataset = tmp_path / "out"
        done = run_shale("convert", f"x={tmp_path / 'x.npy'}", dataset, "--to", container, code=(0, 1))
        if done.returncode == 1:
            pytest.skip("the index has no integers of that size")
    one = field(facts_of(dataset), "x")
    assert (one["minimum"], one["maximum"]) == (min(WHOLE[name]), max(WHOLE[name]))
    assert one["constant"] == (len(set(WHOLE[name])) == 1)
    assert sum(bar[2] for bar in one["histogram"]["bars"]) == values.size
    run_shale("report", dataset, "-o", tmp_path / "page.html")
    page = html.unescape((tmp_path / "page.html").read_text())
    for number in (min(WHOLE[name]), max(WHOLE[name])):
        assert f"<dd>{number:,}</dd>" in page
    if shape:
        for preview in one["previews"]:
            number = WHOLE[name][preview["row"]]
            assert preview["text"].endswith(f": {number}, {number}"), preview["text"]


def test_a_column_that_differs_by_one_far_out_is_not_constant(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[2**60], [2**60 + 1]]))
    (one,) = facts_of(tmp_path / "x.npy")["fields"]
    assert not one["constant"] and one["maximum"] - one["minimum"] == 1


def test_previews_have_the_digits_of_their_type(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[0.1, np.nan]], "f4"))
    np.save(tmp_path / "z.npy", np.array([[1 - 2j]]))
    np.save(tmp_path / "b.npy", np.array([[True, False]]))
    ends = {"x": ": 0.1, nan", "z": ": 1-2j", "b": ": True, False"}
    for name, end in ends.items():
        (preview,) = facts_of(tmp_path / f"{name}.npy")["fields"][0]["previews"]
        assert preview["text"].endswith(end)


# ---- reals ----------------------------------------------------------------------------------------------------------

MOST, LEAST = np.finfo("f8").max, 5e-324
REALS = {
    "both ends": [-MOST, MOST],
    "both ends and more": [-MOST, MOST, 0, 1, -MOST, 2e300],
    "one end": [MOST, MOST, MOST],
    "near one end": [MOST, MOST / 2, MOST / 4, MOST],
    "large": [1e200, 2e200, -3e200],
    "small": [1e-200, 2e-200, -3e-200],
    "least": [LEAST, 3 * LEAST, 100 * LEAST],
    "far from each other": [1e-300, 1e300, 1],
    "tame": [1.5, 2.5, -7],
    "near each other": [1, 1 + 2**-52, 1 + 2**-51],
}


def exact(values):
    """Mean and deviation as fractions have them."""
    numbers = [Fraction(float(value)) for value in values]
    mean = sum(numbers) / len(numbers)
    variance = sum((number - mean) ** 2 for number in numbers) / len(numbers)
    # A square root of a fraction that no double holds: of its numerator times a square.
    scale = 10**40 * variance.denominator
    root = Fraction(math.isqrt(variance.numerator * variance.denominator * 10**80), scale)
    return float(mean), float(root) if root <= Fraction(MOST) else MOST


@pytest.mark.parametrize("name", REALS)
@pytest.mark.parametrize("repeats", [1, 5000])
def test_deviations_and_histograms_at_the_ends_of_double(name, repeats, tmp_path):
    values = np.array(REALS[name] * repeats)
    np.save(tmp_path / "x.npy", values.reshape(-1, 1))
    np.save(tmp_path / "flat.npy", values)
    for file in ("x.npy", "flat.npy"):
        (one,) = facts_of(tmp_path / file, "--sample", "all")["fields"]
        mean, deviation = exact(REALS[name])
        spread = max(REALS[name]) / 2 - min(REALS[name]) / 2
        assert one["mean"] == pytest.approx(mean, rel=1e-12, abs=max(64 * LEAST, 1e-15 * spread))
        # Below the last digit of the values nothing is known, but of equal ones it is 0.
        unknown = max(64 * LEAST, np.abs(values).max() * 2**-52) if spread else 0
        assert one["deviation"] == pytest.approx(deviation, rel=1e-9, abs=unknown)
        bars = one["histogram"]["bars"]
        assert sum(bar[2] for bar in bars) == values.size
        assert bars[0][0] == values.min() and bars[-1][1] == values.max()
        edges = [bar[0] for bar in bars] + [bars[-1][1]]
        assert len(bars) == 1 or all(low < high for low, high in zip(edges, edges[1:]))
        if spread > 0:
            assert len(bars) > 1
            for low, high, count in bars[:-1]:
                assert count == ((values >= low) & (values < high)).sum()


# ---- times ----------------------------------------------------------------------------------------------------------

DATES = ["1970-01-01", "2026-11-25", "1600-02-29", "2000-03-01", "NaT"]
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "25s", "3D"]


@pytest.mark.parametrize("unit", UNITS)
def test_dates_are_those_of_numpy(unit, tmp_path):
    values = np.array(DATES, "M8[s]").astype(f"M8[{unit}]")
    check_times(values, tmp_path)


@pytest.mark.parametrize("unit", ["ns", "ps", "fs", "as"])
def test_fractions_of_a_second_are_those_of_numpy(unit, tmp_path):
    values = np.array([-1, 0, 1, 2**62, -(2**62), np.iinfo("i8").min], f"M8[{unit}]")
    check_times(values, tmp_path)


def text_of_time(value):
    """As NumPy writes it; of multiples such as 25s too, whose text it takes from the plain unit."""
    unit, _ = np.datetime_data(value.dtype)
    return str(value.astype(f"M8[{unit}]"))


def check_times(values, folder):
    np.save(folder / "x.npy", values)
    (one,) = facts_of(folder / "x.npy")["fields"]
    real = values[~np.isnat(values)]
    assert one["nan"] == 1 and one["values"] == values.size
    assert one["minimum"] == int(real.min().astype("i8")) and one["maximum"] == int(real.max().astype("i8"))
    assert one["first_time"] == text_of_time(real.min()) and one["last_time"] == text_of_time(real.max())
    for preview in one["previews"]:
        assert preview["text"].endswith(": " + text_of_time(values[preview["row"]]))
    run_shale("report", folder / "x.npy", "-o", folder / "page.html")
    page = (folder / "page.html").read_text()
    assert f"<dd>{one['first_time']}</dd>" in page and f"<dd>{one['last_time']}</dd>" in page
    edges = [str(bar[0]) for bar in one["histogram"]["bars"] if abs(bar[0]) > 10**6]
    assert not any(f">{edge}<" in page for edge in edges), "an edge is shown as a number"


def test_spans_of_time_have_their_unit(tmp_path):
    np.save(tmp_path / "x.npy", np.array([90, -3, 7], "m8[s]"))
    np.save(tmp_path / "y.npy", np.array([1, 2], "m8[25us]"))
    (one,) = facts_of(tmp_path / "x.npy")["fields"]
    assert (one["first_time"], one["last_time"]) == ("-3 s", "90 s")
    (one,) = facts_of(tmp_path / "y.npy")["fields"]
    assert (one["first_time"], one["last_time"]) == ("1 x 25 us", "2 x 25 us")


# ---- structures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["file", "npy", "record", "lmdb"])
def test_columns_of_a_structure_have_numbers(name, tmp_path):
    dtype = np.dtype([("a", "f4"), ("b", "S3"), ("box", [("left", "u2"), ("time", "M8[s]")]), ("v", "i8", (3,)), ("z", "u1")], align=True)
    dice = np.random.default_rng(5)
    for shape in [(200,), (200, 4)]:
        values = np.zeros(shape, dtype)
        values["a"] = dice.normal(size=shape)
        values["a"].flat[3] = np.nan
        values["box"]["left"] = dice.integers(0, 60000, shape)
        values["box"]["time"] = dice.integers(0, 2**31, shape)
        values["v"] = dice.integers(-(2**62), 2**62, (*shape, 3))
        values["z"] = 7
        np.save(tmp_path / f"x{len(shape)}.npy", values)
        dataset = tmp_path / f"x{len(shape)}.npy"
        if name != "file":
            run_shale("convert", f"x={dataset}", tmp_path / f"out{len(shape)}", "--to", name)
            dataset = tmp_path / f"out{len(shape)}"
        facts = facts_of(dataset)
        (one,) = facts["fields"]
        columns = {column["name"]: column for column in one["columns"]}
        assert list(columns) == ["a", "b", "box.left", "box.time", "v", "z"]
        assert "not numbers" in columns["b"]["note"] and "note" not in one
        finite = values["a"][np.isfinite(values["a"])].astype("f8")
        assert columns["a"]["nan"] == 1 and columns["a"]["minimum"] == finite.min()
        assert columns["a"]["mean"] == pytest.approx(finite.mean()) and columns["a"]["deviation"] == pytest.approx(finite.std())
        assert columns["box.left"]["maximum"] == values["box"]["left"].max()
        assert columns["box.time"]["last_time"] == str(values["box"]["time"].max())
        assert columns["v"]["minimum"] == values["v"].min() and columns["v"]["values"] == values["v"].size
        assert columns["v"]["shape"] == [3]
        assert columns["z"]["constant"]
        for column in columns.values():
            assert column["from"] == {"looked_at": 200, "of": 200}
            if "histogram" in column:
                assert sum(bar[2] for bar in column["histogram"]["bars"]) == column["values"] - column["nan"]
        assert facts == facts_of(dataset, "--jobs", "3", "--memory", "16MiB")


# ---- sets without samples -------------------------------------------------------------------------------------------


def test_a_set_without_samples_has_no_largest_class(tmp_path):
    (tmp_path / "photos/a").mkdir(parents=True)
    run_shale("convert", tmp_path / "photos", tmp_path / "out", "--allow-empty", "--to", "record")
    classes = facts_of(tmp_path / "out")["classes"]
    assert classes["count"] == 1 and classes["empty"] == 1
    assert "largest" not in classes and "smallest" not in classes


def test_one_of_a_thing_is_not_many(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((1, 3)))
    run_shale("report", tmp_path / "x.npy", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    for words in ("1 samples", "1 images", "1 values", "1 bars", "1 shards", "1 rows", "1 fields", "1 classes"):
        assert f" {words}" not in page and f">{words}" not in page, words
