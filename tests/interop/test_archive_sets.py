"""Several tar archives as one input, written by Python's tarfile: what they hold is what unpacking all of them makes."""

import io
import os
import subprocess
import tarfile

import pytest
from conftest import jpeg, run_shale, write

PACK = "--to", "record", "--quiet"


def write_tar(path, files):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def shards(dataset):
    """The files of a dataset but for what names its input."""
    return {name: content for name, content in files_of(dataset).items() if name != "dataset.json"}


@pytest.fixture(name="parts")
def parts_fixture(tmp_path):
    """Class folders that lie in twelve archives, each class in several; and the same unpacked."""
    for i in range(12):
        files = {f"{'cat' if i % 3 else 'dog'}/{i:02}-{k}.jpg": jpeg(i * 5 + k) for k in range(5)}
        write_tar(tmp_path / f"tars/part-{i}.tar", files)
        for name, content in files.items():
            write(tmp_path / "folder", name, content)
    write(tmp_path, "tars/README.md", b"twelve parts")
    write(tmp_path, "tars/.hidden", b"x")
    return tmp_path


def test_however_they_are_named_they_are_one_folder(parts):
    tars = parts / "tars"
    run_shale("convert", parts / "folder", parts / "expected", *PACK)
    (parts / "list.txt").write_text("".join(f"tars/part-{i}.tar\n" for i in range(12)))
    names = {
        "words": [tars / f"part-{i}.tar" for i in range(12)],
        "pattern": [f"{tars}/part-*.tar"],
        "braces": [f"{tars}/part-{{0..11}}.tar"],
        "list": [f"@{parts}/list.txt"],
        "of-folder": [tars],
    }
    for name, words in names.items():
        run_shale("convert", *words, parts / name, *PACK)
        assert shards(parts / name) == shards(parts / "expected"), name
        run_shale("verify", parts / name, *(word for source in words for word in ("--against", source)))
    run_shale("verify", parts / "expected", "--against", tars)
    again = run_shale("convert", tars, parts / "folder-again", "--to", "record", "--shuffle", "--seed", "3")
    assert b"12 archives are one input" in again.stderr


def test_an_archive_that_changes_makes_another_input(parts):
    run_shale("convert", parts / "tars", parts / "out", *PACK)
    write_tar(parts / "tars/part-3.tar", {"dog/new.jpg": jpeg(77)})
    told = run_shale("verify", parts / "out", "--against", parts / "tars", code=3)
    assert b"new.jpg" in told.stdout + told.stderr
    os.remove(parts / "tars/part-3.tar")
    told = run_shale("convert", f"{parts}/tars/part-{{0..11}}.tar", parts / "out2", *PACK, code=1)
    assert b"part-3.tar: is named by the pattern" in told.stderr


def test_more_archives_than_may_be_open(tmp_path):
    for i in range(400):
        write_tar(tmp_path / f"tars/{i:03}.tar", {f"c{i % 2}/{i}.jpg": jpeg(i % 20)})
        write(tmp_path / "folder", f"c{i % 2}/{i}.jpg", jpeg(i % 20))
    limited = f"ulimit -n 300 && exec {run_shale.__globals__['SHALE']} convert {tmp_path}/tars/*.tar {tmp_path}/out --to record --shuffle"
    subprocess.run(["bash", "-c", limited], check=True, capture_output=True)
    run_shale("convert", tmp_path / "folder", tmp_path / "expected", *PACK, "--shuffle")
    assert shards(tmp_path / "out") == shards(tmp_path / "expected")


def test_archives_of_flat_photos_are_classes_if_nothing_else_has_labels(tmp_path):
    """As the archives in ILSVRC2012_img_train.tar; not with --labels, and not where partners lie beside the photos."""
    for i in range(3):
        write_tar(tmp_path / f"train/n{i}.tar", {f"n{i}_{k}.JPEG": jpeg(i * 7 + k) for k in range(4)})
        write_tar(
            tmp_path / f"web/{i}.tar",
            {name: content for k in range(4) for name, content in ((f"{i}{k}.jpg", jpeg(k)), (f"{i}{k}.txt", b"text"))},
        )
    told = run_shale("convert", tmp_path / "train", tmp_path / "out", "--to", "record")
    assert b"each is a folder, named after it" in told.stderr and b"3 classes" in told.stdout
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "train")
    (tmp_path / "labels.csv").write_text("".join(f"n{i}_{k}.JPEG,{k}\n" for i in range(3) for k in range(4)))
    run_shale("convert", tmp_path / "train", tmp_path / "labelled", *PACK, "--labels", tmp_path / "labels.csv")
    assert b"n2_3.JPEG" in run_shale("ls", tmp_path / "labelled").stdout
    run_shale("verify", tmp_path / "labelled", "--against", tmp_path / "train", "--labels", tmp_path / "labels.csv")
    run_shale("convert", tmp_path / "web", tmp_path / "captions", *PACK)
    assert run_shale("cat", tmp_path / "captions", "11", "--field", "txt").stdout == b"text"


def test_archives_named_after_splits_are_splits(tmp_path):
    for split, count in (("train", 5), ("val", 2)):
        write_tar(tmp_path / f"set/{split}.tar", {f"{name}/{k}.jpg": jpeg(k) for name in ("cat", "dog") for k in range(count)})
    run_shale("convert", tmp_path / "set", tmp_path / "out", *PACK)
    assert b"10 samples" in run_shale("verify", tmp_path / "out/train").stdout
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "set")


def test_one_path_in_two_archives_is_refused(tmp_path):
    for name in ("a", "b"):
        write_tar(tmp_path / f"{name}.tar", {"cat/1.jpg": jpeg(1)})
    told = run_shale("convert", tmp_path / "a.tar", tmp_path / "b.tar", tmp_path / "out", *PACK, code=1)
    assert b"cat/1.jpg: is in two of the archives" in told.stderr


def test_names_from_windows(tmp_path):
    """Back-slashes are slashes where there are no others; they lead out of the archive as slashes do."""
    files = {"train\\cat\\1.JPG": jpeg(1), "train\\dog\\2.jpg": jpeg(2), "train\\dog\\Thumbs.db": b"x"}
    write_tar(tmp_path / "win.tar", files)
    told = run_shale("convert", tmp_path / "win.tar", tmp_path / "out", "--to", "record")
    assert b"3 names in the archive have no slash, but back-slashes" in told.stderr
    assert b"cat/1.JPG  cat (0)" in run_shale("ls", tmp_path / "out/train").stdout
    write_tar(tmp_path / "bad.tar", {"..\\cat\\1.jpg": jpeg(1)})
    assert b"leads out of the archive" in run_shale("convert", tmp_path / "bad.tar", tmp_path / "no", *PACK, code=1).stderr


def test_what_other_programs_leave_is_no_class(tmp_path):
    files = {"cat/1.jpg": jpeg(1), "dog/2.jpg": jpeg(2), "cat/Thumbs.db": b"x", "cat/desktop.ini": b"x", "dog/.DS_Store": b"x"}
    junk = {"__MACOSX/cat/._1.jpg": b"x", "__MACOSX/x.jpg": jpeg(3), ".ipynb_checkpoints/1-checkpoint.jpg": jpeg(1)}
    for name, content in (files | junk).items():
        write(tmp_path / "folder", name, content)
    write_tar(tmp_path / "x.tar", files | junk)
    subprocess.run(["tar", "czf", tmp_path / "x.tar.gz", "-C", tmp_path / "folder", "."], check=True)
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    for name, more in (("folder", ()), ("x.tar", ()), ("x.tar.gz", ("--classes-from", tmp_path / "classes.txt"))):
        told = run_shale("convert", tmp_path / name, tmp_path / f"out-{name}.set", "--to", "record", *more)
        assert b"wrote 2 samples" in told.stdout and b"2 classes" in told.stdout, name


@pytest.mark.parametrize("names", [("TRAIN", "TEST"), ("Training", "Testing"), ("seg_train", "seg_test"), ("train2017", "test2017")])
def test_splits_are_known_however_they_are_spelled(tmp_path, names):
    """In a folder, beside what a Mac leaves, and in archives of it."""
    files = {f"{name}/{label}/{k}.jpg": jpeg(k) for name in names for label in ("cat", "dog") for k in range(3)}
    for name, content in (files | {"__MACOSX/._x": b"x"}).items():
        write(tmp_path / "set", name, content)
    write_tar(tmp_path / "set.tar", files)
    subprocess.run(["zip", "-qr", tmp_path / "set.zip", "."], cwd=tmp_path / "set", check=True)
    for name in ("set", "set.tar", "set.zip"):
        out = tmp_path / f"out-{name}.set"
        told = run_shale("convert", tmp_path / name, out, "--to", "record")
        assert f"{names[0]} is train".encode() in told.stderr
        assert shards(out / "train") == shards(tmp_path / "out-set.set/train") and b"6 samples" in run_shale("verify", out / "test").stdout
        run_shale("verify", out, "--against", tmp_path / name)
        run_shale("verify", out / "test", "--against", tmp_path / name)


def test_folders_of_which_one_is_not_a_split_are_classes(tmp_path):
    for name in ("Train", "Test", "cats"):
        write(tmp_path / "set", f"{name}/1.jpg", jpeg(1))
    assert b"3 classes" in run_shale("convert", tmp_path / "set", tmp_path / "out", "--to", "record").stdout
