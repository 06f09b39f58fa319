"""Tar archives for tests: of folders, of archives per class, in every dialect, and damaged ones."""

import io
import os
import shutil
import subprocess
import tarfile

BLOCK = 512
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def tar_of_folder(path, folder, dialect="pax", names=None):
    """Of what is in the folder, in the given order of names; else as the system lists it."""
    with tarfile.open(path, "w", format=FORMATS[dialect]) as archive:
        for name in names or sorted(os.listdir(folder), reverse=True):
            archive.add(folder / name, arcname=name)
    return path


def tar_of_tars(path, folder, dialect="gnu"):
    """One archive per class, of the names of its files alone, as ILSVRC2012_img_train.tar has them."""
    with tarfile.open(path, "w", format=FORMATS[dialect]) as outer:
        for name in sorted(os.listdir(folder), reverse=True):
            inner = io.BytesIO()
            with tarfile.open(fileobj=inner, mode="w", format=FORMATS[dialect]) as archive:
                for file in sorted(os.listdir(folder / name), key=lambda text: text[::-1]):
                    archive.add(folder / name / file, arcname=file)
            add_bytes(outer, name + ".tar", inner.getvalue())
    return path


def add_bytes(archive, name, content=b"", **facts):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for fact, value in facts.items():
        setattr(member, fact, value)
    archive.addfile(member, io.BytesIO(content) if content else None)


def tar_of(path, *members, dialect="gnu"):
    """Members: (name, content) or (name, content, facts of its header)."""
    with tarfile.open(path, "w", format=FORMATS[dialect]) as archive:
        for name, content, *facts in members:
            add_bytes(archive, name, content, **(facts[0] if facts else {}))
    return path


def with_checksum(header):
    """A header of 512 bytes with the checksum that it must have."""
    header = bytearray(header)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def programs():
    """The programs that make tar archives of a folder: name -> command, what it makes to be given, the folder to be the working directory."""
    found = {}
    if shutil.which("tar"):
        for dialect in ("v7", "ustar", "gnu", "oldgnu", "pax"):
            found[f"GNU tar, {dialect}"] = ["tar", f"--format={dialect}", "-cf"]
    if shutil.which("bsdtar"):
        for dialect in ("ustar", "pax", "gnutar"):
            found[f"bsdtar, {dialect}"] = ["bsdtar", f"--format={dialect}", "-cf"]
    return found


def tar_by_program(command, path, folder):
    subprocess.run([*command, path, *sorted(os.listdir(folder))], cwd=folder, check=True, capture_output=True)
    return path
