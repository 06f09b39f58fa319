"""The memory that convert takes does not grow with the number of samples, whatever they are read from."""

import pytest
from conftest import SHALE, drawn
from many_samples import INPUTS, MIB, peak_of, peak_of_command

MEMORY_MIB, ALLOWED_MIB, ALLOWED_GROWTH_MIB = 16, 64, 8
FEW_AND_MANY = (40_000, 400_000)
# h5py takes seconds for some thousand groups.
OF_GROUPS = (3_000, 15_000)


@pytest.mark.parametrize("kind", drawn(INPUTS, 7))
def test_memory_does_not_grow_with_the_samples(kind, tmp_path):
    peaks = []
    for count in OF_GROUPS if "group" in kind else FEW_AND_MANY:
        folder = tmp_path / str(count)
        folder.mkdir()
        peaks.append(peak_of(SHALE, INPUTS[kind](folder, count), tmp_path / f"out-{count}", MEMORY_MIB))
    print(f"{kind}: {peaks[0] / MIB:.1f} MiB, {peaks[1] / MIB:.1f} MiB for more samples")
    assert peaks[1] <= (MEMORY_MIB + ALLOWED_MIB) * MIB
    assert peaks[1] - peaks[0] <= ALLOWED_GROWTH_MIB * MIB


@pytest.mark.parametrize("options", [[], ["--crc"]])
def test_memory_does_not_grow_with_the_lists_beside_an_index(options, tmp_path):
    """Lists of Parquet files are decoded into FILE.values as they come."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    peaks = []
    for count in FEW_AND_MANY:
        path, index = tmp_path / f"{count}.parquet", tmp_path / f"index-{count}"
        table = pa.table({"words": pa.array([[f"first of {number}", "x" * (number % 50)] for number in range(count)])})
        pyarrow.parquet.write_table(table, path, row_group_size=10_000)
        peaks.append(peak_of_command([SHALE, "index", path, "--index-dir", index, *options], MEMORY_MIB))
        assert (index / f"{count}.parquet.values").stat().st_size > 20 * count
    assert peaks[1] <= (MEMORY_MIB + ALLOWED_MIB) * MIB
    assert peaks[1] - peaks[0] <= ALLOWED_GROWTH_MIB * MIB
