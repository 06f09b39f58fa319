"""The strategies of `shale resample`: memory, gather, buckets. Whatever the sizes and limits, the file is NumPy's SRC[indices]."""

import os

import numpy as np
import pytest
from resampling import MIB, check_draw, is_drawn_from, noise, peak_mib, planned, resampled, saved, words_of

LIMITS = [["--jobs", jobs, "--memory", memory] for jobs, memory in ((1, "16MiB"), (2, "64MiB"), (8, "16MiB"), (8, "1GiB"))]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("strategies")


@pytest.fixture(scope="session")
def small_rows(folder):
    """48 MB of rows of 61 bytes: buckets, with 16 MiB."""
    array = noise("u1", (800_000, 61))
    return array, saved(folder / "small.npy", array)


@pytest.fixture(scope="session")
def large_rows(folder):
    """40 MB of rows of 100 KB, which are read where they lie."""
    array = noise(">i4", (400, 25_000))
    return array.astype("<i4"), saved(folder / "large.npy", array)


@pytest.mark.parametrize("mode", ["permute", "rows", "replace", "weights", "indices"])
def test_buckets(mode, small_rows, tmp_path):
    array, source = small_rows
    words = words_of(mode, len(array), tmp_path, 500_000)
    numbers = resampled([source], tmp_path / "out.npy", *words, "--memory", "16MiB", strategy="buckets")
    assert is_drawn_from(array, tmp_path / "out.npy", numbers)


@pytest.mark.parametrize("words", [["--permute"], ["--replace", "--rows", 1_000_000, "--seed", 3]], ids=["permute", "replace"])
def test_small_rows_come_out_the_same_for_all_limits_and_roads(words, small_rows, tmp_path):
    array, source = small_rows
    reference, strategies = None, set()
    for limits in LIMITS:
        strategies.add(planned(source, tmp_path / "new.npy", *words, *limits)[0]["strategy"])
        numbers = resampled([source], tmp_path / "out.npy", *words, *limits)
        if reference is None:
            assert is_drawn_from(array, tmp_path / "out.npy", numbers)
            (tmp_path / "out.npy").rename(tmp_path / "reference.npy")
            reference = np.memmap(tmp_path / "reference.npy", "u1")
        else:
            assert np.array_equal(np.memmap(tmp_path / "out.npy", "u1"), reference), limits
    # A slot of a draw with replacement takes longer to look up than these rows take to be dealt.
    assert strategies == ({"buckets", "memory"} if words == ["--permute"] else {"buckets"})


@pytest.mark.parametrize("mode", ["permute", "rows", "replace", "weights", "indices"])
def test_large_rows_are_gathered_and_are_the_same_for_all_limits(mode, large_rows, tmp_path):
    array, source = large_rows
    words = words_of(mode, len(array), tmp_path, 300)
    numbers = resampled([source], tmp_path / "out.npy", *words, "--memory", "16MiB", strategy="gather")
    assert is_drawn_from(array, tmp_path / "out.npy", numbers)
    for limits in LIMITS:
        assert np.array_equal(resampled([source], tmp_path / "again.npy", *words, *limits), numbers)
        assert np.array_equal(np.memmap(tmp_path / "again.npy", "u1"), np.memmap(tmp_path / "out.npy", "u1")), limits


def test_few_of_many_small_rows_are_gathered(small_rows, tmp_path):
    array, source = small_rows
    for words in (["--rows", 40], ["--replace", "--rows", 40], words_of("indices", len(array), tmp_path, 40)):
        numbers = resampled([source], tmp_path / "out.npy", *words, "--memory", "16MiB", strategy="gather")
        assert is_drawn_from(array, tmp_path / "out.npy", numbers)


@pytest.mark.parametrize("dtype", ["u1", ">f8"])
def test_rows_that_are_larger_than_the_memory_are_streamed(dtype, tmp_path):
    size = np.dtype(dtype).itemsize
    array = noise(dtype, (3, 60_000_000 // size + 1))
    source, out = saved(tmp_path / "x.npy", array), tmp_path / "out.npy"
    words = ["--replace", "--rows", 4, "--memory", "16MiB", "--jobs", 2]
    numbers = resampled([source], out, *words, strategy="gather")
    expected = np.memmap(source, "u1", offset=128).reshape(3, -1, size)[:, :, :: -1 if size > 1 else 1]
    found = np.memmap(out, "u1", offset=128).reshape(4, -1, size)
    assert all(np.array_equal(found[slot], expected[row]) for slot, row in enumerate(numbers))
    assert peak_mib("resample", source, out, *words, "--overwrite") <= 16 + 64


def test_buckets_are_dealt_again_where_they_would_outgrow_the_memory(folder):
    """The plan: tests/unit/ops has the bytes, of less memory than the command can be given."""
    source = folder / "tall.npy"
    for rows, passes in ((1_000_000, 2), (6_000_000, 3)):
        with open(source, "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (rows, 100)})
        os.truncate(source, 128 + rows * 100)
        plan = planned(source, folder / "new.npy", "--memory", "16MiB")[0]
        assert (plan["strategy"], plan["passes"]) == ("buckets", passes)
        assert rows * 104 <= plan["scratch_bytes"] <= rows * 104 * 1.2


def test_ten_million_rows_of_one_byte(folder, tmp_path):
    array = noise("u1", (10_000_000,))
    source = saved(tmp_path / "x.npy", array)
    numbers = resampled([source], tmp_path / "out.npy", "--memory", "16MiB", strategy="buckets")
    assert is_drawn_from(array, tmp_path / "out.npy", numbers)
    assert np.array_equal(np.sort(numbers), np.arange(len(array)))


@pytest.mark.parametrize("count", [1, 7])
def test_sources_of_many_files_take_each_road(count, tmp_path):
    sizes = [0, 1, 400_000, 3, 500_000 // count, 0]
    parts = [noise("<u4", (rows, 11), seed) for seed, rows in enumerate(sizes)]
    array = np.concatenate(parts)
    sources = [saved(tmp_path / f"{i}.npy", part.astype(">u4") if i % 2 else part) for i, part in enumerate(parts)]
    for words in (["--permute"], ["--replace", "--rows", 600_000]):
        numbers = resampled(sources, tmp_path / "out.npy", *words, "--memory", "16MiB", strategy="buckets")
        assert is_drawn_from(array, tmp_path / "out.npy", numbers)
    check_draw(array, sources, tmp_path / "out.npy", "--rows", 30, "--memory", "16MiB", strategy="gather")
    check_draw(array, sources, tmp_path / "out.npy", "--rows", 3000, "--memory", "256MiB", strategy="memory")


def test_sources_that_do_not_lie_in_rows_take_each_road(tmp_path):
    array = noise("<i2", (100_000, 200))
    saved(tmp_path / "f.npy", np.asfortranarray(array))
    np.savez(tmp_path / "stored.npz", x=array)
    np.savez_compressed(tmp_path / "deflated.npz", x=array // 256)
    for name, values in (("f.npy", array), ("stored.npz", array), ("deflated.npz", array // 256)):
        for words, strategy in ((["--permute"], "buckets"), (["--rows", 50], "gather")):
            numbers = resampled([tmp_path / name], tmp_path / "out.npy", *words, "--memory", "16MiB", strategy=strategy)
            assert is_drawn_from(values, tmp_path / "out.npy", numbers), (name, words)


def test_memory_stays_within_the_budget_on_every_road(small_rows, large_rows, tmp_path):
    for source in (small_rows[1], large_rows[1]):
        for words in (["--permute"], ["--replace", "--rows", 1000], ["--replace"]):
            for jobs in (1, 8):
                command = ["resample", source, tmp_path / "out.npy", *words, "--memory", "16MiB", "--jobs", jobs, "--overwrite"]
                assert peak_mib(*command) <= 16 + 64, command
    assert source.stat().st_size < 64 * MIB  # small: tests/faults/test_draws.py has larger ones
