"""Writes reference/ and refused/ of this folder with Python's tarfile: python make_reference.py FOLDER"""

import io
import pathlib
import sys
import tarfile

FOLDER = pathlib.Path(sys.argv[1])


def member(name, data, key=""):
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.linkname = len(data), 0o644, key
    return info, io.BytesIO(data)


def write_samples():
    """What tests/contract/test_golden.cpp expects: five samples, the same rule for every format."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for i in range(5):
            tar.addfile(*member(f"n01/{i}.bin", b"\xff\xd8" + bytes(range(i * 50)), f"n01/{i}.jpg"))
            tar.addfile(*member(f"n01/{i}.cls", str(i - 2).encode()))
    return archive.getvalue()


def put(name, data):
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def changed(data, offset, to):
    return data[:offset] + to + data[offset + len(to) :]


sound = write_samples()
put("reference/tarfile-3.11.tar", sound)
put("refused/header-sum.tar", changed(sound, 2048 + 10, b"x")[:6144])
put("refused/cut-in-header.tar", sound[: 2048 + 100])
put("refused/cut-in-data.tar", sound[: 2048 + 512 + 20])
put("refused/no-end.tar", sound[:10240])
put("refused/padding.tar", changed(sound, 1024 + 512 + 100, b"x"))
