"""Label files as pandas, openpyxl's users and spreadsheets write them: UTF-16, semicolons with decimal commas, bars, blanks; and what becomes of datasets made with them."""

import csv
import io
import os
import shutil
import signal
import subprocess
import tarfile
import time

import numpy as np
import pytest
import shale
from conftest import SHALE, jpeg, run_shale

COUNT = 12
ROWS = [(f"{n:03}.jpg", ("cat", "dog", "großer Hund")[n % 3], n / 4, "|".join("abc"[: n % 4])) for n in range(COUNT)]


@pytest.fixture(name="flat", scope="module")
def flat_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels") / "flat"
    folder.mkdir()
    for number, row in enumerate(ROWS):
        (folder / row[0]).write_bytes(jpeg(number))
    return folder


def test_an_expression_with_back_slashes_is_found_in_the_manifest(tmp_path):
    for number, name in enumerate(("cam1/dog.jpg", "cam22/cat.jpg", "cam3/dog.jpg")):
        (tmp_path / "in" / name).parent.mkdir(parents=True)
        (tmp_path / "in" / name).write_bytes(jpeg(number))
    words = "--to", "record", "--quiet", "--label-from", r"cam\d+/(?P<label>[a-z]+)\.jpg"
    for _ in range(2):  # the second time nothing is done
        run_shale("convert", tmp_path / "in", tmp_path / "out", *words)
    assert shale.Dataset(tmp_path / "out").classes == ["cat", "dog"]
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "in")
    shard = tmp_path / "out/shard-000000.tfrecord"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:99] + b"?" + whole[100:])
    run_shale("repair", tmp_path / "out", "--from", tmp_path / "in", "--quiet")
    assert shard.read_bytes() == whole


def test_numbers_beyond_doubles_make_no_text(flat, tmp_path):
    def convert(first, code=0):
        rows = "".join(f"{row[0]},{first if number == 0 else number / 4}\n" for number, row in enumerate(ROWS))
        (tmp_path / "l.csv").write_text(rows)
        return run_shale(
            "convert", flat, tmp_path / "out", "--to", "record", "--labels", tmp_path / "l.csv", "--overwrite", code=code
        ).stderr

    for tiny in ("1e-400", "-2.5E-999"):
        convert(tiny)
        labels = [sample["label"] for sample in shale.Dataset(tmp_path / "out", decode=None)]
        assert labels == [0.0] + [number / 4 for number in range(1, COUNT)]
    for large in ("1e400", "-1.5e999", "0." + "0" * 400 + "1"):
        assert f"row 1: label '{large}' does not fit into a real number".encode() in convert(large, code=1)


def text_of(rows, header=None, **dialect):
    into = io.StringIO(newline="")
    writer = csv.writer(into, **dialect)
    if header:
        writer.writerow(header)
    writer.writerows(rows)
    return into.getvalue()


HEADER = ("path", "label")
NAMED = [row[:2] for row in ROWS]
# What pandas 3.1.1 writes, and the csv module of what openpyxl 3.1.5 reads, byte for byte (compared in November 2026; the tests need neither).
FILES = {
    "pandas: to_csv(index=False)": text_of(NAMED, HEADER, lineterminator="\n").encode(),
    "pandas: to_csv(sep='\\t', encoding='utf-16')": text_of(NAMED, HEADER, delimiter="\t", lineterminator="\n").encode("utf-16"),
    "pandas: to_csv(sep='|', header=False)": text_of(NAMED, delimiter="|", lineterminator="\n").encode(),
    "pandas: to_csv(encoding='utf-16-be'), with a mark": b"\xfe\xff" + text_of(NAMED, HEADER, lineterminator="\n").encode("utf-16-be"),
    "Excel: Unicode text": b"\xff\xfe" + text_of(NAMED, HEADER, dialect="excel-tab").encode("utf-16-le"),
    "Excel: CSV UTF-8": b"\xef\xbb\xbf" + text_of(NAMED, HEADER, dialect="excel").encode(),
    "Excel in Germany": b"\xef\xbb\xbf" + text_of(NAMED, HEADER, delimiter=";", lineterminator="\r\n").encode(),
    "blanks": "".join(f"{path:<12} {label.split()[0]}\n" for path, label in NAMED).encode(),
}


@pytest.mark.parametrize("name", FILES)
def test_what_divides_fields_and_the_encoding_are_found_by_looking(flat, tmp_path, name):
    (tmp_path / "labels.csv").write_bytes(FILES[name])
    run_shale("convert", flat, tmp_path / "out", "--to", "record", "--labels", tmp_path / "labels.csv")
    run_shale("verify", tmp_path / "out", "--against", flat, "--labels", tmp_path / "labels.csv")
    with shale.Dataset(tmp_path / "out") as dataset:
        found = [dataset.classes[one["label"]] for one in dataset]
    assert found == [label.split()[0] if name == "blanks" else label for _, label in NAMED]


def test_decimal_commas_in_utf_16(flat, tmp_path):
    text = text_of([(row[0], str(row[2]).replace(".", ",")) for row in ROWS], ("file", "age"), delimiter=";")
    (tmp_path / "l.csv").write_bytes(text.encode("utf-16"))
    run_shale("convert", flat, tmp_path / "out", "--to", "lmdb", "--labels", tmp_path / "l.csv")
    with shale.Dataset(tmp_path / "out") as dataset:
        assert [one["label"] for one in dataset] == [row[2] for row in ROWS]


def test_columns_of_words(flat, tmp_path):
    (tmp_path / "l.txt").write_text("".join(f"{row[0]}  {n}   {-n}\n" for n, row in enumerate(ROWS)))
    run_shale("convert", flat, tmp_path / "out", "--to", "lmdb", "--labels", tmp_path / "l.txt", "--key-column", "1", "--label-column", "3")
    with shale.Dataset(tmp_path / "out") as dataset:
        assert [one["label"] for one in dataset] == [-n for n in range(COUNT)]


OPTIONS = {
    "several labels in a cell": (["--label-column", "tags", "--label-separator", "|"], "label", [list(range(n % 4)) for n in range(COUNT)]),
    "several columns": (["--label-column", "label,score"], "score", [n / 4 for n in range(COUNT)]),
    "one tensor": (["--label-column", "label=score,number"], "label", [[n / 4, n] for n in range(COUNT)]),
}


@pytest.fixture(name="table", scope="module")
def table_fixture(flat):
    path = flat.parent / "all.csv"
    path.write_text(text_of([(*row, n) for n, row in enumerate(ROWS)], ("path", "label", "score", "tags", "number"), lineterminator="\n"))
    return path


def values(path, field):
    with shale.Dataset(path) as dataset:
        return [np.asarray(one[field]).tolist() for one in dataset]


@pytest.mark.parametrize("kind", OPTIONS)
def test_parts_and_repair_with_labels_that_are_fields(flat, table, tmp_path, kind):
    words, field, expected = OPTIONS[kind]
    labels = ["--labels", table, *words]
    for part in range(3):
        run_shale("convert", flat, tmp_path / "parts", "--to", "record", "--part", f"{part}/3", *labels)
    run_shale("merge", tmp_path / "parts", tmp_path / "whole")
    assert values(tmp_path / "whole", field) == expected
    run_shale("verify", tmp_path / "whole", "--against", flat, *labels)
    shard = sorted((tmp_path / "whole").glob("*.tfrecord"))[1]
    content = shard.read_bytes()
    shard.write_bytes(content[: len(content) // 2])
    run_shale("repair", tmp_path / "whole", "--from", flat, *labels)
    assert shard.read_bytes() == content
    run_shale("verify", tmp_path / "whole", "--deep")
    tar = tmp_path / "flat.tar"
    with tarfile.open(tar, "w") as archive:
        for path in sorted(flat.iterdir()):
            archive.add(path, path.name)
    run_shale("convert", tar, tmp_path / "of_tar", "--to", "record", *labels)
    assert values(tmp_path / "of_tar", field) == expected
    with tar.open("rb") as stream:
        done = subprocess.run([SHALE, "convert", "-", tmp_path / "stream", "--to", "record", *labels], stdin=stream, capture_output=True)
    assert done.returncode != 0 and b"hint: " in done.stderr and not (tmp_path / "stream/dataset.json").exists()


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_run_that_was_killed_goes_on(flat, table, tmp_path, kind):
    words, field, expected = OPTIONS[kind]
    command = ["convert", flat, tmp_path / "out", "--to", "record", "--shard-samples", "1", "--labels", table, *words]
    delay = 0.002
    while delay < 1:
        running = subprocess.Popen([SHALE, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        running.send_signal(signal.SIGKILL)
        if running.wait() == 0:
            break
        delay *= 1.7
    run_shale(*command)
    assert values(tmp_path / "out", field) == expected
    shutil.copytree(tmp_path / "out", tmp_path / "copy")
    shutil.rmtree(tmp_path / "out")
    run_shale(*command)
    for path in sorted((tmp_path / "out").iterdir()):
        assert path.read_bytes() == (tmp_path / "copy" / path.name).read_bytes(), path.name


def test_class_in_the_name(tmp_path):
    for number in range(6):
        for name in ("american_bulldog", "Abyssinian"):
            path = tmp_path / f"pets/{name}_{number}.jpg"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(jpeg(number))
    made = shale.convert(tmp_path / "pets", tmp_path / "out", to="lmdb", label_from="{label}_{*}.jpg")
    with shale.Dataset(tmp_path / "out") as dataset:
        assert dataset.classes == ["Abyssinian", "american_bulldog"] and [one["label"] for one in dataset] == [0] * 6 + [1] * 6
    assert shale.verify(tmp_path / "out", against=tmp_path / "pets", label_from="{label}_{*}.jpg").ok
    again = shale.convert(tmp_path / "pets", tmp_path / "again", to="record", label_from=r"(?P<label>[A-Za-z_]+)_\d")
    assert again.content_digest == made.content_digest
    os.rename(tmp_path / "pets/Abyssinian_0.jpg", tmp_path / "pets/odd.jpg")
    done = run_shale(
        "convert", tmp_path / "pets", tmp_path / "odd", "--to", "record", "--label-from", "{label}_{*}.jpg", "--max-errors", "1", code=4
    )
    assert b"1 sample" in done.stdout + done.stderr
    assert (
        "odd.jpg" in (tmp_path / "odd/skipped.csv").read_text()
        and "its name does not fit --label-from" in (tmp_path / "odd/skipped.csv").read_text()
    )


def test_no_labels_at_all(flat, photos, tmp_path):
    for source in (flat, photos):
        shale.convert(source, tmp_path / source.name, to="lmdb", labels="none")
        with shale.Dataset(tmp_path / source.name) as dataset:
            assert dataset.types == {"image": "bytes"} and not dataset.classes
        run_shale("verify", tmp_path / source.name, "--against", source)


def test_attributes_of_celeba_are_as_many_rows_as_they_say(tmp_path):
    (tmp_path / "flat").mkdir()
    for number in range(3):
        (tmp_path / f"flat/{number}.jpg").write_bytes(jpeg(number))
    rows = "Bald Male\n0.jpg -1 1\n1.jpg 1 1\n2.jpg -1 -1\n"
    words = (
        "convert",
        tmp_path / "flat",
        tmp_path / "out",
        "--to",
        "record",
        "--labels",
        tmp_path / "list_attr_celeba.txt",
        "--label-column",
        "Male",
    )
    (tmp_path / "list_attr_celeba.txt").write_text("5\n" + rows)
    assert b"has 3 rows, but its first line says 5" in run_shale(*words, code=1).stderr
    (tmp_path / "list_attr_celeba.txt").write_text("3\n" + rows)
    run_shale(*words)


def test_an_order_of_classes_that_has_no_effect_is_refused(tmp_path):
    (tmp_path / "flat").mkdir()
    for number in (10, 2, 1):
        (tmp_path / f"flat/{number}_x.jpg").write_bytes(jpeg(number))
    (tmp_path / "l.csv").write_text("10_x.jpg,10\n2_x.jpg,2\n1_x.jpg,1\n")
    for labels in (("--labels", tmp_path / "l.csv"), ("--label-from", "{label}_{*}.jpg")):
        words = "convert", tmp_path / "flat", tmp_path / "out", "--to", "record", *labels, "--overwrite"
        assert b"--class-order has no effect: all labels are integers" in run_shale(*words, "--class-order", "natural", code=2).stderr
        run_shale(*words, "--class-order", "number")


def test_blanks_around_a_path_are_named(tmp_path):
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat/a.jpg").write_bytes(jpeg(1))
    (tmp_path / "l.csv").write_text(" a.jpg , cat\n")
    told = run_shale("convert", tmp_path / "flat", tmp_path / "out", "--to", "record", "--labels", tmp_path / "l.csv", code=1).stderr
    assert b"path ' a.jpg ' is not an image below" in told and b"it has blanks around it" in told


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_list_of_files_keeps_labels_that_are_fields(flat, table, tmp_path, kind):
    words, field, expected = OPTIONS[kind]
    for name in ("first", "second"):
        run_shale("convert", flat, tmp_path / name, "--to", "record", "--labels", table, *words, "--listing", tmp_path / "list")
        assert values(tmp_path / name, field) == expected
