"""Damaged HDF5 files that h5py wrote: what comes out of them is what was written, and what does not is named."""

import h5py
import numpy as np
import pytest
from conftest import run_shale

ROWS = 30


def with_object_renumbered(content, text):
    """The object of the global heap that holds `text` has another number: what refers to it leads nowhere."""
    at = content.index(text + b"\0" * (-len(text) % 8 or 8)) - 16
    return content[:at] + (9999).to_bytes(2, "little") + content[at + 2 :]


def groups(file):
    for i in range(ROWS):
        group = file.create_group(f"s{i}")
        group["x"], group["t"] = np.arange(i), f"text {i} of a group"


def packed_groups(file):
    groups(file)
    for i in range(ROWS):
        file[f"s{i}"].create_dataset("z", data=np.arange(40), compression="gzip")


def attributes(file):
    for i in range(ROWS):
        group = file.create_group(f"s{i}")
        group.create_dataset("z", data=np.arange(40), compression="gzip")
        group.attrs["t"] = f"text {i} of a group"


def table(file):
    texts = [f"text {i} of a group" for i in range(ROWS)]
    file.create_dataset("t", data=texts, dtype=h5py.string_dtype(), chunks=(7,), maxshape=(None,), compression="gzip")


@pytest.mark.parametrize("build, place", [(groups, "sample 's5'"), (packed_groups, "sample 's5'"), (attributes, "sample 's5'"), (table, "row 5 of")])
def test_a_string_that_is_not_where_its_reference_leads_is_refused_by_name(build, place, tmp_path):
    path = tmp_path / "in.h5"
    with h5py.File(path, "w") as file:
        build(file)
    path.write_bytes(with_object_renumbered(path.read_bytes(), b"text 5 of a group"))

    said = run_shale("convert", path, tmp_path / "out", "--to", "record", code=3).stderr.decode()

    assert place in said and "'t'" in said and "global heap: the collection has no object" in said, said
