"""Writes reference/ and refused/ of this folder with PyTorch: python make_reference.py FOLDER (made with 2.13.0)"""

import io
import pathlib
import sys
import zipfile

import torch

FOLDER = pathlib.Path(sys.argv[1])


def put(name, data):
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def saved(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


def changed(data, old, new):
    assert data.count(old) == 1 and len(old) == len(new)
    return data.replace(old, new)


def deflated(data):
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as stored, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in stored.namelist():
            archive.writestr(zipfile.ZipInfo(name), stored.read(name), zipfile.ZIP_DEFLATED)
    return file.getvalue()


# What tests/contract/test_golden.cpp expects: five rows of 2 x 3 numbers, their bytes counted up by 1, rows by 50.
numbers = bytearray((i * 50 + byte) % 256 for i in range(5) for byte in range(12))
rows = torch.frombuffer(numbers, dtype=torch.uint16).reshape(5, 2, 3)
sound = saved(rows)
put("reference/torch-2.13.0.pt", sound)

put("refused/a-row-more.pt", saved(torch.frombuffer(numbers + numbers[:12], dtype=torch.uint16).reshape(6, 2, 3)))
put("refused/another-dtype.pt", saved(rows.view(torch.int16)))
put("refused/bfloat16.pt", saved(rows.view(torch.bfloat16)))
put("refused/compressed.pt", deflated(sound))
put("refused/cut.pt", sound[:-30])
put("refused/legacy.pt", saved(rows, _use_new_zipfile_serialization=False))
put("refused/other-global.pt", changed(sound, b"collections\nOrderedDict\n", b"collections\nOrderedDyct\n"))
put("refused/sparse.pt", saved(torch.eye(3).to_sparse()))
put("refused/strides.pt", saved(rows.permute(0, 2, 1)))
