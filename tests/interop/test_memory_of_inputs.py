"""The memory that convert takes does not grow with the number of samples, whatever they are read from."""

import pytest
from conftest import SHALE
from many_samples import INPUTS, MIB, peak_of

MEMORY_MIB, ALLOWED_MIB, ALLOWED_GROWTH_MIB = 16, 64, 8
FEW_AND_MANY = (40_000, 400_000)
# h5py takes seconds for some thousand groups.
OF_GROUPS = (3_000, 15_000)


@pytest.mark.parametrize("kind", INPUTS)
def test_memory_does_not_grow_with_the_samples(kind, tmp_path):
    peaks = []
    for count in OF_GROUPS if "group" in kind else FEW_AND_MANY:
        folder = tmp_path / str(count)
        folder.mkdir()
        peaks.append(peak_of(SHALE, INPUTS[kind](folder, count), tmp_path / f"out-{count}", MEMORY_MIB))
    print(f"{kind}: {peaks[0] / MIB:.1f} MiB, {peaks[1] / MIB:.1f} MiB for more samples")
    assert peaks[1] <= (MEMORY_MIB + ALLOWED_MIB) * MIB
    assert peaks[1] - peaks[0] <= ALLOWED_GROWTH_MIB * MIB
