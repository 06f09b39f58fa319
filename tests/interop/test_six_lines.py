"""The Python in the documents is run: a fenced block after `<!-- test: six-lines -->` reads a dataset called "out"."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT
from dataset_reading import samples_of

DOCUMENTS = ["docs/index.md", "README.md"]
BLOCK = re.compile(r"<!-- test: six-lines -->\s*```python\n(.*?)```", re.DOTALL)
# Appended to the block: whatever names it left that hold bytes, as hex.
REPORT = """
import sys as _sys
for _name, _value in list(globals().items()):
    if isinstance(_value, bytes) and not _name.startswith("__"):
        _sys.stderr.write(_name + " " + _value.hex() + "\\n")
"""


def blocks():
    for name in DOCUMENTS:
        path = ROOT / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        found = BLOCK.findall(text)
        for number, block in enumerate(found):
            yield pytest.param(block, id=f"{name}-{number}")
        if not found:
            yield pytest.param(None, id=name)


BLOCKS = list(blocks())


@pytest.mark.parametrize("block", BLOCKS)
def test_the_lines_in_the_documents_read_a_sample(block, dataset, tmp_path):
    assert block is not None, "the document has no python block after <!-- test: six-lines -->"
    os.symlink(dataset, tmp_path / "out")
    run = subprocess.run([sys.executable, "-c", block + REPORT], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    read = {bytes.fromhex(line.split(" ")[1]) for line in run.stderr.splitlines()}
    assert read & {s.image for s in samples_of(dataset)}, "no variable holds the bytes of an image of the dataset"


@pytest.mark.parametrize("block", BLOCKS)
def test_the_reader_is_six_lines(block):
    assert block is not None
    lines = [line for line in block.splitlines() if line.strip() and not re.match(r"\s*(#|import |from )", line)]
    assert len(lines) <= 6, lines
