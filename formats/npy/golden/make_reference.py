"""Writes reference/, refused/ and headers/ of this folder with NumPy: python make_reference.py FOLDER

headers/ is made with the NumPy that runs it, for 2.4.6 and, for its other padding, 1.23.5; the rest with 2.4.6 only.
"""

import io
import pathlib
import sys

import numpy as np

FOLDER = pathlib.Path(sys.argv[1])
DTYPES = ["?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<f16", "<c8", "<c16", "<c32"]
DTYPES += ["<M8[ns]", "<m8[25s]", "<M8", "S1", "S7", "<U3", "V5", "<U1000"]
SHAPES = [(), (1,), (3,), (0,), (2, 3), (4, 0, 2), (224, 224, 3), (1,) * 20]
ROWS = [0, 1, 7, 99999, 10**6, 2**31]


def put(name, data):
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def header(dtype, shape):
    """What np.save writes in front of such an array."""
    file = io.BytesIO()
    facts = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, facts)
    return file.getvalue()


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


# One header behind the other: few for each dtype and shape, so that the file stays small.
pairs = [(d, s) for i, d in enumerate(DTYPES) for j, s in enumerate(SHAPES) if i % 4 == j % 4 or d == "<f4"]
headers = [header(d, (ROWS[k % len(ROWS)], *s)) for k, (d, s) in enumerate(pairs)]
put(f"headers/numpy-{np.__version__}.headers", b"".join(headers))
if np.__version__ != "2.4.6":
    sys.exit()

# What tests/contract/test_golden.cpp expects: five rows of 2 x 3 numbers, their bytes counted up by 1, rows by 50.
rows = np.frombuffer(bytes((i * 50 + byte) % 256 for i in range(5) for byte in range(12)), "<u2").reshape(5, 2, 3)
sound = saved(rows)
put("reference/numpy-2.4.6.npy", sound)

put("refused/cut-in-rows.npy", sound[:-1])
put("refused/cut-in-header.npy", sound[:100])
put("refused/a-byte-more.npy", sound + b"\0")
put("refused/fortran-order.npy", saved(np.asfortranarray(rows)))
put("refused/big-endian.npy", saved(rows.astype(">u2")))
put("refused/a-row-more.npy", saved(np.concatenate([rows, rows[:1]])))
put("refused/another-dtype.npy", saved(rows.view("<i2")))
put("refused/version-9.npy", sound[:6] + b"\x09" + sound[7:])
