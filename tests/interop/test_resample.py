"""NumPy is the judge of `shale resample`: OUT is np.save(SRC[indices]), to the byte, for every dtype, shape and way to draw."""

import numpy as np
import pytest
from conftest import run_shale
from resampling import MODES, check_draw, check_file, little, noise, resampled, saved, words_of

ROWS = 37
SUB_ARRAY = np.dtype([("a", "<f4", (2, 3)), ("b", "S3"), ("c", [("d", "<i8"), ("e", "u1")])])
BIG_STRUCT = np.dtype([("a", ">u2"), ("b", ">f8", (3,)), ("c", "u1"), ("d", "<i4")])
DTYPES = ["?", "u1", ">i2", "<i4", "<f4", ">f8", "<f2", "<f16", "<c16", ">c8", "S7", "<U3", ">U2", "<M8[s]", "V5"]
DTYPES = [np.dtype(dtype) for dtype in DTYPES] + [SUB_ARRAY, BIG_STRUCT]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_output_is_what_numpy_saves_of_the_drawn_rows(mode, dtype, tmp_path):
    shape = [(), (3, 5), (1, 1, 2)][(len(mode) + dtype.itemsize) % 3]
    array = noise(dtype, (ROWS, *shape))
    source = saved(tmp_path / "x.npy", array)
    check_draw(array, [source], tmp_path / "out.npy", *words_of(mode, ROWS, tmp_path, 50))


# Rows of 0 bytes and of none, of 1, 3, 13, 1000 and 70,001 bytes.
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(0,), (3, 0, 2), (), (3,), (13,), (10, 100), (70_001,), (1, 1, 1, 1)], ids=str)
def test_rows_of_any_shape(mode, shape, tmp_path):
    array = noise("u1", (ROWS, *shape))
    source = saved(tmp_path / "x.npy", array)
    check_draw(array, [source], tmp_path / "out.npy", *words_of(mode, ROWS, tmp_path, 50))


@pytest.mark.parametrize("rows", [0, 1, 2, 100])
@pytest.mark.parametrize("mode", MODES)
def test_any_number_of_rows_of_any_number_of_rows(mode, rows, tmp_path):
    array = noise("<i2", (rows, 3))
    source = saved(tmp_path / "x.npy", array)
    for count in sorted({0, 1, rows, 100 * rows}):
        numbers = check_draw(array, [source], tmp_path / "out.npy", *words_of(mode, rows, tmp_path, count))
        drawn = {"plain": rows, "permute": rows, "rows": min(count, rows)}.get(mode, count if rows else 0)
        assert len(numbers) == drawn


@pytest.mark.parametrize("dtype", ["<f4", ">i2", BIG_STRUCT], ids=str)
def test_fortran_order_archives_and_pieces_are_the_same_source(dtype, tmp_path):
    array = noise(dtype, (ROWS, 4, 5))
    saved(tmp_path / "c.npy", array)
    saved(tmp_path / "f.npy", np.asfortranarray(array))
    for number, part in enumerate((array[:10], np.asfortranarray(array[10:10]), array[10:11], np.asfortranarray(array[11:]))):
        saved(tmp_path / f"part-{number}.npy", part)
    # savez by hand: np.savez cannot be told the member's order.
    np.savez(tmp_path / "stored.npz", x=array)
    np.savez_compressed(tmp_path / "deflated.npz", x=np.asfortranarray(array))
    parts = [tmp_path / f"part-{number}.npy" for number in range(4)]
    for words in (["--replace", "--rows", 90, "--seed", 5], ["--permute"]):
        expected = check_draw(array, [tmp_path / "c.npy"], tmp_path / "out.npy", *words)
        for sources in (["f.npy"], ["stored.npz"], ["deflated.npz"], parts):
            numbers = check_draw(array, [tmp_path / name for name in sources], tmp_path / "out.npy", *words)
            assert np.array_equal(numbers, expected), sources


def test_a_fortran_member_that_shrinks_to_nothing(tmp_path):
    array = np.zeros((5000, 40), "f4")
    array[7, 3] = 1
    np.savez_compressed(tmp_path / "x.npz", x=np.asfortranarray(array))
    assert (tmp_path / "x.npz").stat().st_size < array.nbytes / 100
    check_draw(array, [tmp_path / "x.npz"], tmp_path / "out.npy", "--permute")
    run_shale("convert", tmp_path / "x.npz", tmp_path / "again.npy")
    assert np.array_equal(np.load(tmp_path / "again.npy"), array)


def test_parts_of_either_byte_order_are_one_source(tmp_path):
    array = noise("<i4", (ROWS, 3))
    saved(tmp_path / "a.npy", array[:20])
    saved(tmp_path / "b.npy", array[20:].astype(">i4"))
    check_draw(array, [tmp_path / "a.npy", tmp_path / "b.npy"], tmp_path / "out.npy", "--replace", "--rows", 200)


@pytest.mark.parametrize("dtype", ["i1", "<i2", ">i4", "<i8", "u1", "<u2", ">u4", "<u8"])
def test_lists_of_any_integer_dtype(dtype, tmp_path):
    array = noise("<f8", (ROWS, 2))
    source = saved(tmp_path / "x.npy", array)
    numbers = np.random.default_rng(1).integers(-ROWS if "i" in dtype else 0, ROWS, 500).astype(dtype)
    listed = saved(tmp_path / "numbers.npy", numbers)
    drawn = check_draw(array, [source], tmp_path / "out.npy", "--indices", listed)
    assert np.array_equal(drawn, numbers.astype("<i8") % ROWS)


def test_the_same_draw_of_other_arrays(tmp_path):
    images, labels, names = noise("u1", (ROWS, 8, 8)), noise(">i4", (ROWS,)), noise("S7", (ROWS, 0))
    saved(tmp_path / "x.npy", images)
    saved(tmp_path / "y.npy", labels)
    saved(tmp_path / "z.npy", names)
    for mode in MODES:
        also = ["--also", f"{tmp_path}/y.npy={tmp_path}/ly.npy", "--also", f"{tmp_path}/z.npy={tmp_path}/lz.npy"]
        words = words_of(mode, ROWS, tmp_path, 90)
        numbers = check_draw(images, [tmp_path / "x.npy"], tmp_path / "lx.npy", *also, *words)
        check_file(tmp_path / "ly.npy", little(labels)[numbers])
        check_file(tmp_path / "lz.npy", names[numbers])


# ---- what is drawn -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    """A row's value is its number, so that an output is the list of rows that were drawn: of any number of rows."""
    folder = tmp_path_factory.mktemp("numbered")

    def source(rows):
        path = folder / f"{rows}.npy"
        return path if path.exists() else saved(path, np.arange(rows, dtype="<i4"))

    return source


@pytest.mark.parametrize("rows", [1, 2, 3, 64, 1000, 1 << 17, 100_003])
def test_a_permutation_takes_each_row_once_and_fewer_rows_are_its_first(rows, numbered, tmp_path):
    order = resampled([numbered(rows)], tmp_path / "all.npy", "--permute", "--seed", 11)
    assert np.array_equal(np.sort(order), np.arange(rows))
    assert np.array_equal(order, resampled([numbered(rows)], tmp_path / "plain.npy", "--seed", 11))
    for count in (0, 1, rows // 3, rows):
        first = resampled([numbered(rows)], tmp_path / "first.npy", "--rows", count, "--seed", 11)
        assert np.array_equal(first, order[:count])
    run_shale("convert", numbered(rows), tmp_path / "shuffled.npy", "--shuffle", "--seed", "11", "--quiet")
    assert (tmp_path / "shuffled.npy").read_bytes() == (tmp_path / "all.npy").read_bytes()


def chi_square(counts, expected):
    return float(((counts - expected) ** 2 / expected).sum())


def is_likely(statistic, freedom):
    """Within 4.5 standard deviations of what chance gives: seeds are fixed, so it is decided once and for all."""
    return abs(statistic - freedom) < 4.5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_rows_are_drawn_alike_with_replacement(seed, numbered, tmp_path):
    numbers = resampled([numbered(1000)], tmp_path / "out.npy", "--replace", "--rows", 200_000, "--seed", seed)
    counts = np.bincount(numbers, minlength=1000)
    assert is_likely(chi_square(counts, np.full(1000, 200.0)), 999), counts


@pytest.mark.parametrize("mode", ["replace", "weights", "permute"])
def test_neighbours_and_places_do_not_depend_on_one_another(mode, numbered, tmp_path):
    rows = 1 << 17
    words = words_of(mode, rows, tmp_path, 1 << 18)
    if mode == "weights":
        saved(tmp_path / "weights.npy", np.ones(rows, "u1"))
    cells = resampled([numbered(rows)], tmp_path / "out.npy", *words, "--seed", 4) * 16 // rows
    slots = np.arange(len(cells)) * 16 // len(cells)
    for left, right in ((cells[:-1], cells[1:]), (cells[:-2], cells[2:]), (slots, cells), (cells, np.arange(len(cells)) % 16)):
        grid = np.bincount(left * 16 + right, minlength=256)
        # Where a margin is fixed there are less ways to differ: the bound is for both.
        assert chi_square(grid, np.full(256, len(left) / 256)) < 255 + 4.5 * np.sqrt(2 * 255), mode


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f2", "u1", "<i8"])
def test_weights_are_proportions_and_rows_of_weight_zero_are_never_drawn(dtype, numbered, tmp_path):
    weights = np.array([0, 1, 2, 4, 0, 8, 100, 0, 3, 0], dtype)
    file = saved(tmp_path / "w.npy", weights)
    numbers = resampled([numbered(10)], tmp_path / "out.npy", "--weights", file, "--rows", 118_000, "--seed", 6)
    counts, expected = np.bincount(numbers, minlength=10), weights.astype(float) * 1000
    assert (counts[expected == 0] == 0).all()
    taken = expected > 0
    assert is_likely(chi_square(counts[taken], expected[taken]), taken.sum() - 1), counts
    twice = saved(tmp_path / "twice.npy", weights.astype("<f8") * 2)
    assert np.array_equal(numbers, resampled([numbered(10)], tmp_path / "out.npy", "--weights", twice, "--rows", 118_000, "--seed", 6))


@pytest.mark.parametrize("words", [["--permute"], ["--replace"]], ids=str)
def test_another_seed_is_another_draw_and_the_same_seed_the_same(words, numbered, tmp_path):
    draws = [resampled([numbered(1000)], tmp_path / "out.npy", *words, "--seed", seed) for seed in (0, 1, 2, 2**63)]
    for i, left in enumerate(draws):
        assert np.array_equal(left, resampled([numbered(1000)], tmp_path / "out.npy", *words, "--seed", (0, 1, 2, 2**63)[i]))
        for right in draws[:i]:
            assert (left == right).mean() < 0.02
