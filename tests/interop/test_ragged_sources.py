"""Files of h5py whose samples differ in length: read in place, and unpacked where they are compressed."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest
import shale
from conftest import run_shale
from PIL import Image

LENGTHS = [3, 0, 1, 200_000, 5]
DTYPES = ["f4", "i8", "u2", "f8", "?", "c8"]


def sequences(dtype):
    dice = np.random.default_rng(7)
    return [(dice.standard_normal(length) * 100).astype(dtype) for length in LENGTHS]


@pytest.mark.parametrize("options", [{}, {"chunks": (2,), "compression": "gzip", "shuffle": True}], ids=["in place", "unpacked"])
def test_sequences_of_numbers_are_ragged_tensors(tmp_path, options):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for dtype in DTYPES:
            rows = file.create_dataset(f"x_{np.dtype(dtype).name}", (len(LENGTHS),), dtype=h5py.vlen_dtype(np.dtype(dtype)), **options)
            for row, values in enumerate(sequences(dtype)):
                rows[row] = values
        file["label"] = np.arange(len(LENGTHS))
    if not options:
        run_shale("index", tmp_path / "a.h5", "--crc")
        run_shale("verify", tmp_path / "a.h5")
    shale.convert(tmp_path / "a.h5", tmp_path / "out", to="lmdb")
    dataset = shale.Dataset(tmp_path / "out")
    assert dataset.types["x_float32"] == "float32 (?)" and dataset.types["x_bool"] == "bool (?)"
    for dtype in DTYPES:
        for row, values in enumerate(sequences(dtype)):
            found = dataset[row][f"x_{np.dtype(dtype).name}"]
            assert found.dtype == values.dtype and np.array_equal(found, values)
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "a.h5")


@pytest.mark.parametrize("lists", [[[1]], [["a"]], [[[1, 2], [3, 4]]]])
def test_a_row_without_a_label_beside_lists_is_left_out(tmp_path, lists):
    folder = tmp_path / "photos"
    folder.mkdir()
    rows = [{"file_name": f"{row}.png", "label": None if row == 2 else row, "b": lists[0]} for row in range(6)]
    for row in rows:
        Image.new("RGB", (8, 8), (rows.index(row),) * 3).save(folder / row["file_name"])
    (folder / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
    said = run_shale("convert", folder, tmp_path / "out", "--to", "record", "--max-errors", "100%", code=4).stdout
    assert b"2.png: has no value for 'label' in metadata.jsonl:3" in said
    assert [sample["label"] for sample in shale.Dataset(tmp_path / "out")] == [0, 1, 3, 4, 5]
