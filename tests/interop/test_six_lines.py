"""The six lines of Python in the documents read a sample of a dataset called "out", and are no more than six."""

import pytest
from dataset_reading import samples_of
from documented_code import blocks_of, bytes_left_by, lines_of

BLOCKS = blocks_of(["docs/index.md", "README.md"], "six-lines")


@pytest.mark.parametrize("block", BLOCKS)
def test_the_lines_in_the_documents_read_a_sample(block, dataset, tmp_path):
    read = bytes_left_by(block, dataset, tmp_path)
    assert read & {s.image for s in samples_of(dataset)}, "no variable holds the bytes of an image of the dataset"


@pytest.mark.parametrize("block", BLOCKS)
def test_the_reader_is_six_lines(block):
    assert len(lines_of(block)) <= 6, block
