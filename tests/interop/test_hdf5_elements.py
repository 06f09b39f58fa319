"""Elements of HDF5 datasets that are more than a number: arrays, and what is of variable length in a compound type."""

import h5py
import numpy as np
import shale as shale_package


def test_elements_that_are_arrays_or_of_variable_length_are_fields(shale, tmp_path):
    """Of a dataset, of a compound type, and of a group per sample; sequences and strings in a compound type."""
    grid = np.dtype((">i2", (2, 3)))
    kind = np.dtype([("word", h5py.string_dtype()), ("ids", h5py.vlen_dtype(np.dtype(">u2"))), ("raw", h5py.vlen_dtype("u1")), ("names", "S3", (2,))])
    rows = np.empty(9, kind)
    for i in range(9):
        rows[i] = f"wörd {i}" * (i % 3), np.arange(i % 4) + i, np.arange(i, dtype="u1"), (f"a{i}", "b")
    values = np.arange(54).reshape(9, 2, 3)
    for stored in ({}, {"chunks": True, "compression": "gzip"}):
        with h5py.File(tmp_path / "in.h5", "w") as file:
            file.create_dataset("rows", data=rows, **stored)
            file.create_dataset("grids", (9,), grid, **stored)[...] = values
            file.create_dataset("planes", (9, 2), np.dtype(("<f4", (3,))), **stored)[...] = values
        shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "record", "--overwrite")

        dataset = shale_package.Dataset(tmp_path / "out")
        assert set(dataset.schema) == {"rows_word", "rows_ids", "rows_raw", "rows_names", "grids", "planes"}
        for i, sample in enumerate(dataset):
            assert sample["rows_word"] == rows[i]["word"] and sample["rows_raw"] == rows[i]["raw"].tobytes()
            assert sample["rows_ids"].dtype == "<u2" and sample["rows_ids"].tolist() == rows[i]["ids"].tolist()
            assert sample["rows_names"].tolist() == rows[i]["names"].tolist()
            assert sample["grids"].tolist() == values[i].tolist() and sample["planes"].tolist() == values[i].tolist()
    with h5py.File(tmp_path / "groups.h5", "w") as file:
        for i in range(9):
            file.create_dataset(f"s{i}/grid", (), grid)[...] = values[i]
    shale("convert", tmp_path / "groups.h5", tmp_path / "groups", "--to", "npy")
    assert np.array_equal(np.load(tmp_path / "groups/shard-000000.grid.npy"), values)
