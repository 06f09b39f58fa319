"""A table of every type that Parquet files of others hold, and what shale reads of it."""

import datetime
import decimal
import json

import numpy as np
import pyarrow as pa
import shale
from conftest import jpeg

ROWS = 50
HUGGINGFACE = {
    "info": {
        "features": {
            "image": {"_type": "Image"},
            "label": {"names": ["cat", "dog"], "_type": "ClassLabel"},
            "caption": {"dtype": "string", "_type": "Value"},
        }
    }
}
IMAGES = [jpeg(i) for i in range(ROWS)]
MEDIA = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def table(rows=range(ROWS), paths=True):
    columns = {
        "image": pa.array([{"bytes": IMAGES[i], "path": f"{i:04}.jpg" if paths else None} for i in rows], MEDIA),
        "label": pa.array([i % 2 for i in rows], pa.int64()),
        "caption": pa.array([f"caption {i} ä" for i in rows]),
        "score": pa.array([None if i == 3 else i * 0.5 for i in rows], pa.float32()),
        "boxes": pa.array([[[1.0, 2.0, 3.0, float(i)]] * (i % 3) for i in rows], pa.list_(pa.list_(pa.float64()))),
        "tags": pa.array([[f"t{j}" for j in range(i % 3)] for i in rows], pa.list_(pa.string())),
        "embedding": pa.array([[float(i)] * 8 for i in rows], pa.list_(pa.float32())),
        "when": pa.array([datetime.datetime(2026, 11, 29, 13, 5, i) for i in rows], pa.timestamp("us")),
        "price": pa.array([decimal.Decimal("-1.25") * i for i in rows], pa.decimal128(10, 2)),
        "flag": pa.array([i % 3 == 0 for i in rows]),
        "small": pa.array([i * 4 for i in rows], pa.uint8()),
    }
    return pa.table(columns).replace_schema_metadata({"huggingface": json.dumps(HUGGINGFACE)})


def check(found, i):
    assert bytes(found["image"]) == IMAGES[i]
    assert found["label"] == i % 2
    assert found["caption"] == f"caption {i} ä"
    assert found["score"] == (None if i == 3 else i * 0.5)
    np.testing.assert_array_equal(found["boxes"], np.array([[1, 2, 3, i]] * (i % 3), "<f8").reshape(-1, 4))
    assert list(found["tags"]) == [f"t{j}" for j in range(i % 3)]
    np.testing.assert_array_equal(found["embedding"], np.full(8, i, "<f4"))
    assert found["when"] == f"2026-11-29T13:05:{i:02}"
    assert decimal.Decimal(found["price"]) == decimal.Decimal("-1.25") * i
    assert found["flag"] == (i % 3 == 0)
    assert found["small"] == i * 4


def check_set(path, rows=range(ROWS), classes=("cat", "dog"), **options):
    with shale.Dataset(path, **options) as dataset:
        assert len(dataset) == len(rows)
        for row, i in enumerate(rows):
            check(dataset[row], i)
        assert list(dataset.classes) == list(classes)
