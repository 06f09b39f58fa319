"""--layout lsun: a directory of LMDB directories, one per class, that the real torchvision.datasets.LSUN reads; and LSUN's files as input."""

import io
import os
import pathlib
import random
import shutil

import lmdb
import numpy as np
import pytest
import shale
from conftest import jpeg, real_torchvision, run_shale, write
from lmdb_files import write_lmdb
from PIL import Image
from shale import UsageError

CATEGORIES = ("bedroom", "church_outdoor", "tower")


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """Images on leaf pages and on pages of their own, nested folders among them; a class of one image."""
    root = tmp_path_factory.mktemp("lsun") / "train"
    for number in range(40):
        write(root, f"bedroom/{number % 3}/{number:03}.jpg", jpeg(number))
    for number in range(25):
        picture = np.random.default_rng(number).integers(0, 256, (9 + 5 * number, 31, 3), np.uint8)
        into = io.BytesIO()
        Image.fromarray(picture).save(into, ("png", "webp")[number % 2], **({"lossless": True} if number % 2 else {}))
        write(root, f"church_outdoor/{number}.{('png', 'webp')[number % 2]}", into.getvalue())
    write(root, "tower/a.jpg", jpeg(77))
    return root


@pytest.fixture(scope="module")
def written(train, tmp_path_factory):
    out = tmp_path_factory.mktemp("written") / "out"
    run_shale("convert", train, out, "--layout", "lsun")
    return out


def entries_of(directory):
    with lmdb.open(str(directory), readonly=True, lock=False) as env, env.begin() as txn:
        found = list(txn.cursor())
        assert txn.stat()["entries"] == len(found)
    return found


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def lsun_of(root, split="train", categories=CATEGORIES):
    return real_torchvision().datasets.LSUN(str(root), classes=[f"{name}_{split}" for name in categories])


def test_torchvision_reads_what_image_folder_lists(written, train, image_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it leaves its lists of keys there
    stored = [value for name in CATEGORIES for _, value in entries_of(written / f"{name}_train_lmdb")]
    found, real = lsun_of(written), image_folder(str(train))
    assert len(found) == len(real) == 66
    assert stored == [pathlib.Path(path).read_bytes() for path, _ in real.samples]
    for row, (picture, label) in enumerate(real):
        mine, of = found[row]
        assert of == label and mine.tobytes() == picture.tobytes()
    for one in found.dbs:
        one.env.close()


def test_there_is_nothing_but_images_under_ascii_keys_that_ascend(written):
    """fyu/lsun's export makes folders of the first six characters of a key."""
    assert files_in(written) == [f"{name}_train_lmdb/data.mdb" for name in CATEGORIES]
    assert sorted(os.listdir(written)) == [f"{name}_train_lmdb" for name in CATEGORIES]
    for name, count in zip(CATEGORIES, (40, 25, 1)):
        entries = entries_of(written / f"{name}_train_lmdb")
        assert [key for key, _ in entries] == [b"%08d" % row for row in range(count)]
        assert all(Image.open(io.BytesIO(value)).size for _, value in entries)


def test_liblmdb_goes_on_writing(written, tmp_path):
    shutil.copytree(written / "tower_train_lmdb", tmp_path / "tower_train_lmdb")
    with lmdb.open(str(tmp_path / "tower_train_lmdb"), map_size=1 << 26) as env, env.begin(write=True) as txn:
        txn.put(b"00000001", jpeg(3))
    assert [value for _, value in entries_of(tmp_path / "tower_train_lmdb")] == [jpeg(77), jpeg(3)]


@pytest.mark.parametrize("options", [("--jobs", "3", "--memory", "16MiB"), ("--io", "buffered"), ("--to", "lmdb")])
def test_it_is_the_same_whatever_the_machine(written, train, tmp_path, options):
    run_shale("convert", train, tmp_path / "out", "--layout", "lsun", *options)
    assert {name: (tmp_path / "out" / name).read_bytes() for name in files_in(tmp_path / "out")} == {
        name: (written / name).read_bytes() for name in files_in(written)
    }


def test_a_dataset_becomes_the_same_directories(written, train, tmp_path):
    """Also one whose labels are in no order: within a class the samples come as the dataset has them."""
    run_shale("convert", train, tmp_path / "sorted" / "train", "--to", "record")
    run_shale("convert", tmp_path / "sorted" / "train", tmp_path / "same", "--layout", "lsun")
    for name in files_in(written):
        assert (tmp_path / "same" / name).read_bytes() == (written / name).read_bytes()
    run_shale("convert", train, tmp_path / "mixed", "--to", "hdf5", "--shuffle", "--shard-samples", "20")
    run_shale("convert", tmp_path / "mixed", tmp_path / "out", "--layout", "lsun")
    with shale.Dataset(tmp_path / "mixed") as dataset:
        for label, name in enumerate(CATEGORIES):
            expected = [one["image"] for one in dataset if one["label"] == label]
            assert [value for _, value in entries_of(tmp_path / "out" / f"{name}_train_lmdb")] == expected
    run_shale("convert", train, tmp_path / "again", "--layout", "lsun", "--shuffle")
    for name in files_in(written):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_the_split_is_that_of_the_classes_or_of_the_input_or_train(tmp_path):
    for number, folder in enumerate(("val/tower", "photos/tower", "photos/bedroom_val", "photos/odd_name_test")):
        write(tmp_path, f"{folder}/a.jpg", jpeg(number))
    for name, expected in (("val", ["tower_val_lmdb"]), ("photos/", ["bedroom_val_lmdb", "odd_name_test_lmdb", "tower_train_lmdb"])):
        out = tmp_path / f"of-{name[:3]}"
        done = run_shale("convert", f"{tmp_path}/{name}", out, "--layout", "lsun")
        assert sorted(os.listdir(out)) == expected
        assert f"next: shale info {out}/{expected[0]}".encode() in done.stdout


def test_names_that_no_directory_can_have_are_refused(tmp_path):
    write(tmp_path, "both/tower/a.jpg", jpeg(1))
    write(tmp_path, "both/tower_train/a.jpg", jpeg(1))
    write(tmp_path, f"long/{'x' * 250}/a.jpg", jpeg(1))
    write(tmp_path, "flat/a.jpg", jpeg(1))
    (tmp_path / "labels.csv").write_text("a.jpg,up/down\n")
    (tmp_path / "numbers.csv").write_text("a.jpg,3\n")
    for words, fact in (
        (["both"], "another class has tower_train_lmdb"), (["long"], "its name would have 261 bytes"),
        (["flat", "--labels", tmp_path / "labels.csv"], "class 'up/down' cannot be a directory"),
        (["flat", "--labels", tmp_path / "numbers.csv"], "the input has no names of classes"),
    ):
        said = run_shale("convert", tmp_path / words[0], tmp_path / "out", "--layout", "lsun", *words[1:], code=1).stderr.decode()
        assert fact in said
        assert not (tmp_path / "out").exists()


def test_what_has_no_meaning_is_refused_by_name(train, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 4), np.float32))

    def refusal(*words, code=2):
        said = run_shale("convert", *words, "--layout", "lsun", code=code).stderr.decode()
        assert sorted(os.listdir(tmp_path)) == ["x.npy"], said
        return said

    out = tmp_path / "out"
    assert "it is a directory with an LMDB directory per class" in refusal(train, tmp_path / "a.lmdb")
    assert "it is a directory with an LMDB directory per class" in refusal(train, out, "--to", "record")
    for words in (["--part", "0/2"], ["--append"], ["--shard-size", "1MiB"], ["--shard-samples", "3"], ["--verify"]):
        assert f"--layout lsun with {words[0]}: each class is one file" in refusal(train, out, *words)
    assert "--with-index" in refusal(train, out, "--with-index")
    assert "--group frames: layout lsun holds images" in refusal(train, out, "--group", "frames")
    assert "layout lsun holds an image" in refusal(tmp_path / "x.npy", out, code=1)
    assert "--ext: layout lsun holds images" in refusal(train, out, "--ext", "jpg")
    with pytest.raises(UsageError, match="each class is one file"):
        shale.convert(train, out, layout="lsun", parts=(0, 2))
    assert "would write 66 samples of lmdb" in run_shale("convert", train, out, "--layout", "lsun", "--dry-run").stdout.decode()
    assert not out.exists()


def test_an_output_that_exists_is_refused_or_replaced_and_what_else_is_there_stays(written, train, tmp_path):
    out = tmp_path / "out"
    other = tmp_path / "other" / "train"
    write(other, "tower/b.jpg", jpeg(5))
    shutil.copytree(written, out)
    write(out, "mine.txt", b"mine")
    (out / "tower_train_lmdb" / "lock.mdb").write_bytes(b"a reader's")
    assert b"already exists" in run_shale("convert", other, out, "--layout", "lsun", code=1).stderr
    run_shale("convert", other, out, "--layout", "lsun", "--overwrite")
    assert [value for _, value in entries_of(out / "tower_train_lmdb")] == [jpeg(5)]
    assert (out / "bedroom_train_lmdb/data.mdb").read_bytes() == (written / "bedroom_train_lmdb/data.mdb").read_bytes()
    assert (out / "mine.txt").read_bytes() == b"mine" and (out / "tower_train_lmdb/lock.mdb").read_bytes() == b"a reader's"
    write(out, "tower_train_lmdb/notes.txt", b"mine")
    before = {name: (out / name).read_bytes() for name in files_in(out)}
    assert b"notes.txt: was not written by shale" in run_shale("convert", other, out, "--layout", "lsun", "--overwrite", code=1).stderr
    assert {name: (out / name).read_bytes() for name in files_in(out)} == before


def test_a_dataset_is_not_replaced(train, tmp_path):
    run_shale("convert", train, tmp_path / "out", "--to", "record")
    for words in ((), ("--overwrite",)):
        assert b"holds a shale dataset" in run_shale("convert", train, tmp_path / "out", "--layout", "lsun", *words, code=1).stderr
    run_shale("verify", "--full", tmp_path / "out")


def test_a_class_that_lost_all_its_images_has_no_directory(tmp_path):
    for number in range(12):
        write(tmp_path, f"in/bedroom/{number:02}.jpg", jpeg(number))
    write(tmp_path, "in/church_outdoor/a.jpg", b"not an image")
    write(tmp_path, "in/tower/a.jpg", b"")
    write(tmp_path, "in/tower/b.jpg", jpeg(3))
    done = run_shale("convert", tmp_path / "in", tmp_path / "out", "--layout", "lsun", code=4)
    assert sorted(os.listdir(tmp_path / "out")) == ["bedroom_train_lmdb", "tower_train_lmdb"]
    assert [value for _, value in entries_of(tmp_path / "out" / "tower_train_lmdb")] == [jpeg(3)]
    assert b"church_outdoor/a.jpg" in done.stdout and b"tower/a.jpg" in done.stdout


def image(number):
    dice = random.Random(number)
    head = (b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"RIFF\x10\x00\x00\x00WEBP")[number % 3]
    return head + dice.randbytes(dice.choice([0, 30, 1990, 2030, 9000]))


def write_original(folder, count=60, **more):
    """As LSUN's own files: keys of 40 hex digits, put in another order."""
    entries = {f"{random.Random(row).getrandbits(160):040x}".encode(): image(row) for row in range(count)}
    write_lmdb(folder, entries | more.get("others", {}), subdir=True)
    return sorted(entries.items())


def test_its_own_files_are_recognized(tmp_path):
    folder = tmp_path / "bedroom_train_lmdb"
    expected = write_original(folder)
    found = shale.info(folder)
    assert found.layout == "lsun" and found.samples == 60
    run_shale("index", folder, "--crc")
    assert b"digests are correct" in run_shale("verify", "--deep", folder).stdout
    with shale.Dataset(folder, fields=["key", "image"], verify=True) as dataset:
        assert [(one["key"].encode(), one["image"]) for one in dataset] == expected
    assert run_shale("cat", folder, "--key", expected[5][0].decode(), "--field", "image").stdout == expected[5][1]
    run_shale("convert", folder, tmp_path / "out", "--to", "record", "--parse", "lsun")
    run_shale("verify", tmp_path / "out", "--against", folder)


def test_what_was_converted_is_recognized_too(written):
    assert shale.info(written / "tower_train_lmdb").layout == "lsun"


@pytest.mark.parametrize("value", [b"", b"\xff\xd8", b"RIFF", b"RIFF\x10\x00\x00\x00WAVE", b"GIF89a", b"text"])
def test_one_value_that_is_no_image_leaves_plain_entries(tmp_path, value):
    write_original(tmp_path / "db", others={b"z": value})
    assert shale.info(tmp_path / "db").layout is None
    assert b"value (bytes)" in run_shale("info", tmp_path / "db").stdout
    said = run_shale("ls", tmp_path / "db", "--parse", "lsun", code=1).stderr
    assert b"not of layout lsun" in said and b"sample 'z'" in said


def test_an_index_that_was_built_as_plain_stays(tmp_path):
    expected = write_original(tmp_path / "db")
    run_shale("index", tmp_path / "db", "--parse", "plain", "--crc")
    assert shale.info(tmp_path / "db").layout is None
    with shale.Dataset(tmp_path / "db") as dataset:
        assert [one["value"] for one in dataset] == [value for _, value in expected]
    run_shale("index", tmp_path / "db")
    assert shale.info(tmp_path / "db").layout is None
    run_shale("index", tmp_path / "db", "--parse", "lsun")
    assert shale.info(tmp_path / "db").layout == "lsun"


def test_flipped_bits_are_found(tmp_path):
    write_original(tmp_path / "db", 40)
    run_shale("index", tmp_path / "db", "--crc")
    data = tmp_path / "db" / "data.mdb"
    whole = data.read_bytes()
    for place in range(17, len(whole), len(whole) // 40):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        data.write_bytes(damaged)
        run_shale("verify", tmp_path / "db", code=3)
