"""The Python in docs/python.md reads a sample of a dataset called "out"."""

import pytest
from dataset_reading import samples_of
from documented_code import blocks_of, bytes_left_by


@pytest.mark.parametrize("block", blocks_of(["docs/python.md"], "dataset"))
def test_the_lines_in_the_document_read_a_sample(block, dataset, tmp_path):
    assert bytes_left_by(block, dataset, tmp_path) & {s.image for s in samples_of(dataset)}
