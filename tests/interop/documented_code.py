"""The Python in the documents: a fenced block after `<!-- test: NAME -->` is taken out and run on a dataset called "out"."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

# Appended to a block: whatever names it left that hold bytes, as hex.
REPORT = """
import sys as _sys
for _name, _value in list(globals().items()):
    if isinstance(_value, bytes) and not _name.startswith("__"):
        _sys.stderr.write(_name + " " + _value.hex() + "\\n")
"""


def blocks_of(documents, marker):
    """One parameter for each block; None for a document without one, so that it fails a test instead of vanishing."""
    pattern = re.compile(rf"<!-- test: {marker} -->\s*```python\n(.*?)```", re.DOTALL)
    found = []
    for name in documents:
        path = ROOT / name
        blocks = pattern.findall(path.read_text(encoding="utf-8")) if path.exists() else []
        found += [pytest.param(block, id=f"{name}-{number}") for number, block in enumerate(blocks)]
        if not blocks:
            found.append(pytest.param(None, id=name))
    return found


def bytes_left_by(block, dataset, folder):
    """Runs a block in `folder`, where "out" is the dataset. The values of all names that hold bytes in the end."""
    assert block is not None, "the document has no python block after its <!-- test: ... --> line"
    os.symlink(dataset, folder / "out")
    run = subprocess.run([sys.executable, "-c", block + REPORT], cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return {bytes.fromhex(line.split(" ")[1]) for line in run.stderr.splitlines()}


def lines_of(block):
    """Those that count: no comments, no imports."""
    assert block is not None
    return [line for line in block.splitlines() if line.strip() and not re.match(r"\s*(#|import |from )", line)]
