"""Zip archives of photos, written by Info-ZIP, 7-Zip and Python's zipfile, beside the folder that they were made of."""

import gzip
import os
import shutil
import struct
import subprocess
import unicodedata
import zipfile
import zlib

import pytest
import shale
from conftest import jpeg, run_shale, write
from test_archive_sets import shards, write_tar

PACK = "--to", "record", "--quiet"
HAS_7Z = shutil.which("7z") is not None


@pytest.fixture(name="folder")
def folder_fixture(tmp_path):
    for seed in range(20):
        write(tmp_path / "folder", f"{('cat', 'dog')[seed % 2]}/{seed}.jpg", jpeg(seed))
    write(tmp_path / "folder", "dog/empty.jpg", b"")
    write(tmp_path / "folder", "README.txt", b"text " * 100)
    run_shale("convert", tmp_path / "folder", tmp_path / "expected", *PACK, code=4)
    return tmp_path / "folder"


def pack(folder, archive, *command):
    subprocess.run([*command, archive, "."], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return archive


def writers(folder, tmp_path):
    yield pack(folder, tmp_path / "stored.zip", "zip", "-qr0")
    yield pack(folder, tmp_path / "deflated.zip", "zip", "-qr9")
    if HAS_7Z:
        yield pack(folder, tmp_path / "seven.zip", "7z", "a", "-tzip")
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path = tmp_path / f"python-{method}.zip"
        with zipfile.ZipFile(path, "w", method) as archive:
            for file in sorted(folder.rglob("*.*"), reverse=True):
                with archive.open(zipfile.ZipInfo(str(file.relative_to(folder))), "w", force_zip64=True) as member:
                    member.write(file.read_bytes())
        yield path
    with open(tmp_path / "streamed.zip", "wb") as out:  # sizes behind the data
        subprocess.run(["zip", "-qr", "-", "."], cwd=folder, check=True, stdout=out)
    yield tmp_path / "streamed.zip"


def test_an_archive_is_the_folder(folder, tmp_path):
    for archive in writers(folder, tmp_path):
        out = tmp_path / f"out-{archive.stem}"
        run_shale("convert", archive, out, *PACK, code=4)
        assert shards(out) == shards(tmp_path / "expected"), archive.name
        run_shale("verify", out, "--against", archive)
        run_shale("convert", archive, out, *PACK, code=(0, 4))
        run_shale(
            "convert", archive, tmp_path / f"raw-{archive.stem}", *PACK, "--shuffle", "--resize", "exact=8x8", "--encode", "raw", code=4
        )


def test_partners_and_arrays_in_it(tmp_path):
    for i in range(4):
        write(tmp_path / "pairs", f"{i}.jpg", jpeg(i))
        write(tmp_path / "pairs", f"{i}.txt", b"a caption that repeats a caption" * 4)
    run_shale("convert", tmp_path / "pairs", tmp_path / "expected", *PACK)
    run_shale("convert", pack(tmp_path / "pairs", tmp_path / "pairs.zip", "zip", "-qr9"), tmp_path / "out", *PACK)
    assert shards(tmp_path / "out") == shards(tmp_path / "expected")


def test_names_that_are_not_utf8_are_of_code_page_437(folder, tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(folder / "cat/0.jpg", "doge/0.jpg")
    old = (tmp_path / "x.zip").read_bytes().replace(b"doge/", b"d\x94g\x8a/")
    (tmp_path / "old.zip").write_bytes(old)
    run_shale("convert", tmp_path / "old.zip", tmp_path / "out", *PACK)
    assert "dögè/0.jpg  dögè (0)".encode() in run_shale("ls", tmp_path / "out").stdout


def test_the_unicode_name_beside_an_old_one_counts(folder, tmp_path):
    member = zipfile.ZipInfo("d?g/0.jpg")
    name = "dög/0.jpg".encode()
    member.extra = struct.pack("<HHBI", 0x7075, 5 + len(name), 1, zlib.crc32(b"d?g/0.jpg")) + name
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(member, (folder / "cat/0.jpg").read_bytes())
    run_shale("convert", tmp_path / "x.zip", tmp_path / "out", *PACK)
    assert "dög/0.jpg  dög (0)".encode() in run_shale("ls", tmp_path / "out").stdout


def test_what_has_no_usable_name_is_refused_and_not_passed_over(folder, tmp_path):
    pack(folder, tmp_path / "x.zip", "zip", "-qr0")
    data = (tmp_path / "x.zip").read_bytes()
    (tmp_path / "nul.zip").write_bytes(data.replace(b"cat/10.jpg", b"cat/1\0.jpg"))
    assert b"has a NUL byte in its name" in run_shale("convert", tmp_path / "nul.zip", tmp_path / "out", *PACK, code=1).stderr
    (tmp_path / "program.zip").write_bytes(b"#!/bin/sh\n" * 9 + data)
    done = run_shale("convert", tmp_path / "program.zip", tmp_path / "out", *PACK, code=1)
    assert b"does not begin like a zip archive" in done.stderr and b"7z x '" in done.stderr
    assert b"no.zip: does not exist" in run_shale("convert", tmp_path / "x.zip", tmp_path / "no.zip", tmp_path / "out", *PACK, code=1).stderr
    (tmp_path / "x.tar.gz").write_bytes(gzip.compress(bytes(1024)))
    told = run_shale("convert", tmp_path / "x.zip", tmp_path / "x.tar.gz", tmp_path / "out", *PACK, code=1).stderr
    assert b"x.tar.gz: is compressed as a whole, and cannot be one of several inputs" in told


def test_names_from_windows_and_links(folder, tmp_path):
    os.symlink("cat", folder / "bird")
    run_shale("convert", pack(folder, tmp_path / "links.zip", "zip", "-qry"), tmp_path / "out", *PACK, code=4)
    run_shale("convert", folder, tmp_path / "followed", *PACK, code=4)
    assert shards(tmp_path / "out") == shards(tmp_path / "followed")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(folder / "cat/0.jpg", "cat/0.jpg")
        archive.writestr("Thumbs.db", b"x")
    (tmp_path / "win.zip").write_bytes((tmp_path / "x.zip").read_bytes().replace(b"cat/", b"cat\\"))
    told = run_shale("convert", tmp_path / "win.zip", tmp_path / "win", "--to", "record")
    assert b"1 name in the archive has no slash" in told.stderr and b"1 class" in told.stdout


def test_several_archives_and_a_tar(folder, tmp_path):
    subprocess.run(["zip", "-qr", tmp_path / "1.zip", "cat"], cwd=folder, check=True)
    write_tar(tmp_path / "2.tar", {f"dog/{path.name}": path.read_bytes() for path in (folder / "dog").iterdir()})
    run_shale("convert", tmp_path / "1.zip", tmp_path / "2.tar", tmp_path / "out", *PACK, code=4)
    run_shale("verify", tmp_path / "out", "--against", folder)


def test_what_is_not_read_is_refused_by_name(folder, tmp_path):
    def refused(archive):
        told = run_shale("convert", archive, tmp_path / "out", *PACK, code=(1, 3)).stderr
        assert not (tmp_path / "out").exists()
        return told

    assert b"is encrypted" in refused(pack(folder, tmp_path / "secret.zip", "zip", "-qrPpassword"))
    with zipfile.ZipFile(tmp_path / "lzma.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.write(folder / "cat/0.jpg", "cat/0.jpg")
    assert b"is compressed by method 14, not deflate" in refused(tmp_path / "lzma.zip")
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as archive:
        archive.write(folder / "cat/0.jpg", "../cat/0.jpg")
    assert b"leads out of the archive" in refused(tmp_path / "out.zip")
    whole = pack(folder, tmp_path / "whole.zip", "zip", "-qr").read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[:-100])
    assert b"zip archive has no end record" in refused(tmp_path / "cut.zip")
    for begin, name in ((b"7z\xbc\xaf\x27\x1c", b"is a 7z archive"), (b"Rar!\x1a\x07\x01\x00", b"is a RAR archive")):
        (tmp_path / "x.zip").write_bytes(begin + bytes(600))
        assert name in refused(tmp_path / "x.zip")


def bomb(tmp_path, size, data):
    """One deflated photo whose directory says that it has `size` bytes."""
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cat/0.jpg", data)
    content = bytearray((tmp_path / "bomb.zip").read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = struct.pack("<I", size)
    (tmp_path / "bomb.zip").write_bytes(content)
    return tmp_path / "bomb.zip"


def test_sizes_are_not_believed(tmp_path):
    told = run_shale("convert", bomb(tmp_path, 4 << 30 - 2, jpeg(1)), tmp_path / "out", *PACK, code=3)
    assert b"cannot inflate from" in told.stderr
    for size in (10, 2000):  # less, and more than it is
        told = run_shale("convert", bomb(tmp_path, size, bytes(1000)), tmp_path / "out", *PACK, code=3)
        assert b"bomb.zip: byte 39: sample 'cat/0.jpg': inflates to " in told.stderr, told.stderr
    with zipfile.ZipFile(tmp_path / "zeros.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cat/0.jpg", bytes(300 << 20))
    told = run_shale("convert", tmp_path / "zeros.zip", tmp_path / "out", *PACK, "--memory", "32MiB", code=1)
    assert b"sample is 3" in told.stderr and b"--memory leaves" in told.stderr


def test_damage_is_found_by_the_checksum(folder, tmp_path):
    archive = pack(folder, tmp_path / "x.zip", "zip", "-qr0")
    content = bytearray(archive.read_bytes())
    content[content.index((folder / "cat/4.jpg").read_bytes()) + 200] ^= 4
    archive.write_bytes(content)
    told = run_shale("convert", archive, tmp_path / "out", *PACK, code=3)
    assert b"checksum mismatch in member '4.jpg'" in told.stderr and b"--on-error skip" in told.stderr
    run_shale("convert", archive, tmp_path / "out", *PACK, "--on-error", "skip", "--overwrite", code=4)
    assert b"19 samples" in run_shale("verify", tmp_path / "out").stdout


def test_a_damaged_directory_is_made_again_by_info_zip(folder, tmp_path):
    whole = pack(folder, tmp_path / "x.zip", "zip", "-qr0").read_bytes()
    entry = whole.index(b"PK\1\2", whole.index(b"PK\1\2") + 1)
    for number, content in enumerate((whole[:entry] + b"QK" + whole[entry + 2 :], whole[:-30])):
        (tmp_path / "bad.zip").write_bytes(content)
        told = run_shale("convert", tmp_path / "bad.zip", tmp_path / "out", *PACK, "--on-error", "skip", code=3)
        assert f"'zip -FF {tmp_path}/bad.zip -O whole.zip' makes an archive".encode() in told.stderr
        made = tmp_path / f"whole-{number}.zip"
        subprocess.run(["zip", "-FF", tmp_path / "bad.zip", "-O", made], input=b"y\n", check=True, stdout=subprocess.DEVNULL)
        run_shale("convert", made, tmp_path / f"out-{number}", *PACK, code=4)
        assert shards(tmp_path / f"out-{number}") == shards(tmp_path / "expected")


def test_archives_of_arrays_stay_arrays(tmp_path):
    import numpy as np

    np.savez(tmp_path / "x.npz", x=np.arange(4), y=np.arange(4))
    os.rename(tmp_path / "x.npz", tmp_path / "x.zip")
    run_shale("convert", tmp_path / "x.zip", tmp_path / "out.npz")
    assert (np.load(tmp_path / "out.npz")["x"] == np.arange(4)).all()


def test_labels_and_names_of_files_in_two_forms_of_unicode(tmp_path):
    """A Mac's zip has NFD, a spreadsheet NFC, or the other way round; where both have one form nothing is said."""
    names = ["café/Müller.jpg", "가/が.jpg", "plain.jpg"]
    for files, keys in (("NFD", "NFC"), ("NFC", "NFD"), ("NFD", "NFD")):
        folder = tmp_path / (files + keys)
        for seed, name in enumerate(names):
            write(folder, unicodedata.normalize(files, name), jpeg(seed))
        rows = "".join(f"{unicodedata.normalize(keys, name)},{label}\n" for label, name in enumerate(names))
        (tmp_path / "labels.csv").write_text("path,label\n" + rows)
        for source in (folder, pack(folder, tmp_path / f"{files}{keys}.zip", "zip", "-qr")):
            out = tmp_path / f"out-{source.name}"
            told = run_shale("convert", source, out, "--to", "record", "--labels", tmp_path / "labels.csv")
            assert (b"accents in two characters" in told.stderr) == (files != keys)
            rows_of = {run_shale("cat", out, str(row), "--field", "key").stdout.decode().rstrip(): row for row in range(3)}
            for label, name in enumerate(names):
                row = rows_of[unicodedata.normalize(files, name)]
                assert run_shale("cat", out, str(row), "--field", "label").stdout.strip() == str(label).encode()
            run_shale("verify", out, "--against", source, "--labels", tmp_path / "labels.csv")


@pytest.mark.parametrize("files, keys", [("NFD", "NFC"), ("NFC", "NFD"), ("NFC", "NFC")])
def test_rows_of_metadata_and_lists_of_keys_in_two_forms_of_unicode(tmp_path, files, keys):
    for number, name in enumerate(("caf\u00e9", "na\u00efve", "plain")):
        write(tmp_path / "in", unicodedata.normalize(files, f"a/{name}.jpg"), jpeg(number))
    names = [unicodedata.normalize(keys, f"{name}.jpg") for name in ("caf\u00e9", "na\u00efve", "plain")]
    rows = "".join(f"{name},c{number}\n" for number, name in enumerate(names))
    write(tmp_path / "in", "a/metadata.csv", f"file_name,caption\n{rows}".encode())
    said = run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record").stderr
    assert (b"Unicode's form NFD" in said) == (files != keys)
    assert {unicodedata.normalize("NFC", sample["key"]): sample["caption"] for sample in shale.Dataset(tmp_path / "out", decode=None)} == {
        unicodedata.normalize("NFC", f"a/{name}"): f"c{number}" for number, name in enumerate(names)
    }
    write(tmp_path, "list.txt", f"a/{names[1]}\n".encode())
    said = run_shale("convert", tmp_path / "in", tmp_path / "one", "--to", "record", "--select", tmp_path / "list.txt").stderr
    assert (b"NFC and NFD" in said) == (files != keys)
    assert [sample["caption"] for sample in shale.Dataset(tmp_path / "one", decode=None)] == ["c1"]


def test_of_two_keys_that_only_look_alike_neither_is_meant(tmp_path):
    for form in ("NFC", "NFD"):
        write(tmp_path / "in", unicodedata.normalize(form, "a/\u00e9.jpg"), jpeg(len(form)))
    write(tmp_path, "list.txt", unicodedata.normalize("NFD", "a/\u00e9.jpg\n").encode())
    run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--select", tmp_path / "list.txt")
    assert [sample["key"] for sample in shale.Dataset(tmp_path / "out", decode=None)] == [unicodedata.normalize("NFD", "a/\u00e9.jpg")]
