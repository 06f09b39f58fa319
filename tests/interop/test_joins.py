"""Inputs with names as one dataset: HDF5 by h5py, LMDB by py-lmdb, NumPy's arrays and folders, by row and by key."""

import json
import pickle
import re
import shutil
import tarfile
import zipfile

import h5py
import lmdb
import numpy as np
import pytest
import shale
import shale.torch
from conftest import jpeg, run_shale
from dataset_reading import manifest_of
from test_json_schema import printed

ROWS = 12
IMAGES = np.arange(ROWS * 8 * 8 * 3, dtype="u4").astype("u1").reshape(ROWS, 8, 8, 3)
LABELS = (np.arange(ROWS) % 3).astype("u1")


def write_h5(path, **datasets):
    with h5py.File(path, "w") as file:
        for name, (values, packing) in datasets.items():
            file.create_dataset(name, data=values, **packing)


def write_lmdb(path, values):
    with lmdb.open(str(path), map_size=1 << 24) as env, env.begin(write=True) as txn:
        for key, value in values.items():
            txn.put(key, value)


@pytest.fixture(name="pair")
def pair_fixture(tmp_path):
    """Low and high quality under one name, but for 'b', which only lq has, and 'x' and 'y', which only gt has."""
    write_lmdb(tmp_path / "lq.lmdb", {key: b"\xff lq " + key for key in (b"a", b"b", b"c", b"d")})
    write_lmdb(tmp_path / "gt.lmdb", {key: b"\xff gt " + key for key in (b"a", b"c", b"d", b"x", b"y")})
    return [f"lq={tmp_path / 'lq.lmdb'}", f"gt={tmp_path / 'gt.lmdb'}"]


def against(words):
    return [word for one in words for word in ("--against", one)]


@pytest.mark.parametrize("packing", [{}, {"chunks": (4, 8, 8, 3), "compression": "gzip"}], ids=["in place", "unpacked"])
@pytest.mark.parametrize("kind", ["npy", "record", "lmdb", "hdf5"])
def test_two_hdf5_files_row_by_row(tmp_path, packing, kind):
    write_h5(tmp_path / "x.h5", pixels=(IMAGES, packing))
    write_h5(tmp_path / "y.h5", y=(LABELS.reshape(-1, 1, 1, 1), {}))
    words = [f"x={tmp_path / 'x.h5'}", f"y={tmp_path / 'y.h5'}"]
    run_shale("convert", *words, tmp_path / "out", "--to", kind)
    assert f"out: a complete {kind} dataset" in run_shale("info", tmp_path / "out").stdout.decode()
    run_shale("verify", tmp_path / "out", *against(words))
    with shale.Dataset(tmp_path / "out") as dataset:
        assert len(dataset) == ROWS
        np.testing.assert_array_equal([dataset[row]["x"] for row in range(ROWS)], IMAGES)
        np.testing.assert_array_equal([dataset[row]["y"][0, 0, 0] for row in range(ROWS)], LABELS)


def test_a_folder_and_arrays(photos, tmp_path):
    count = len([path for path in photos.rglob("*") if path.is_file()])
    np.save(tmp_path / "score.npy", np.arange(count, dtype=">f4"))
    np.savez_compressed(tmp_path / "box.npz", boxes=np.arange(count * 4, dtype="i8").reshape(count, 4))
    words = [f"image={photos}", f"score={tmp_path / 'score.npy'}", f"box={tmp_path / 'box.npz'}"]
    run_shale("convert", photos, tmp_path / "alone", "--to", "record")
    run_shale("convert", *words, tmp_path / "out", "--to", "record")
    run_shale("verify", tmp_path / "out", *against(words))
    assert manifest_of(tmp_path / "out")["classes"] == manifest_of(tmp_path / "alone")["classes"]
    with shale.Dataset(tmp_path / "out") as dataset, shale.Dataset(tmp_path / "alone") as alone:
        assert set(dataset.types) == {"image", "label", "score", "box"}
        for row in range(count):
            sample, other = dataset[row], alone[row]
            assert bytes(sample["image"]) == bytes(other["image"]) and sample["label"] == other["label"]
            assert sample["score"] == row and sample["box"].tolist() == list(range(row * 4, row * 4 + 4))


def test_labels_of_an_array_beside_those_of_folders(photos, tmp_path):
    count = len([path for path in photos.rglob("*") if path.is_file()])
    np.save(tmp_path / "label.npy", np.arange(count))
    told = run_shale("convert", f"image={photos}", f"label={tmp_path / 'label.npy'}", tmp_path / "out", "--to", "lmdb", code=4)
    assert b"its label is the field 'image_label'" in told.stderr
    with shale.Dataset(tmp_path / "out") as dataset:
        assert [dataset[row]["label"] for row in range(count)] == list(range(count)) and "image_label" in dataset.types


def test_by_key(pair, tmp_path):
    told = run_shale("convert", *pair, tmp_path / "out", "--to", "record", "--on", "key", code=4)
    assert b"lq: 1 sample has no partner" in told.stderr and b"gt: 2 samples have no partner" in told.stderr
    left_out = [(one["kind"], one["name"], one["reason"], one["samples"]) for one in manifest_of(tmp_path / "out")["left_out"]]
    assert left_out == [("samples", "lq", "no_partner", 1), ("samples", "gt", "no_partner", 2)]
    with shale.Dataset(tmp_path / "out") as dataset:
        assert [(one["key"], bytes(one["lq"]), bytes(one["gt"])) for one in dataset] == [
            (key, b"\xff lq " + key.encode(), b"\xff gt " + key.encode()) for key in "acd"
        ]
    run_shale("convert", *pair, tmp_path / "all", "--to", "record", "--on", "key", "--partners", "all")
    run_shale("verify", tmp_path / "all", *against(pair), "--on", "key", "--partners", "all")
    told = run_shale("convert", *pair, tmp_path / "refused", "--to", "record", code=1).stderr
    assert b"has 5 samples, and" in told and b"--on key" in told


def test_those_of_the_first_whatever_others_have(pair, tmp_path):
    result = shale.convert({word.split("=")[0]: word.split("=")[1] for word in pair}, tmp_path / "out", to="lmdb", on="key", partners="any")
    assert result.samples == 4
    with shale.Dataset(tmp_path / "out") as dataset:
        assert dataset.types["gt"] == "bytes?" and [one["gt"] is None for one in dataset] == [False, True, False, False]
        assert bytes(dataset[3]["gt"]) == b"\xff gt d"
    against_both = {word.split("=")[0]: word.split("=")[1] for word in pair}
    assert shale.verify(tmp_path / "out", against=against_both, on="key", partners="any").ok
    shuffled = ("convert", *pair, tmp_path / "shuffled", "--to", "record", "--on", "key", "--shuffle")
    run_shale(*shuffled, "--partners", "all")
    with shale.Dataset(tmp_path / "shuffled") as dataset:
        assert sorted(one["key"] for one in dataset) == ["a", "c", "d"]
        assert all(bytes(one["lq"])[5:] == bytes(one["gt"])[5:] == one["key"].encode() for one in dataset)
    run_shale(*shuffled, "--partners", "any", "--overwrite", code=1)


def test_a_folder_and_lmdb_by_key(photos, tmp_path):
    """Captions of every second image, in another order than the folder's."""
    keys = sorted(str(path.relative_to(photos)) for path in photos.rglob("*.JPEG"))
    write_lmdb(tmp_path / "captions.lmdb", {key.encode(): b"\xff " + key.encode() for key in reversed(keys[::2])})
    words = [f"image={photos}", f"caption={tmp_path / 'captions.lmdb'}"]
    run_shale("convert", *words, tmp_path / "out", "--to", "record", "--on", "key", "--partners", "any")
    run_shale("convert", *words, tmp_path / "shuffled", "--to", "record", "--on", "key", "--partners", "all", "--shuffle")
    run_shale("verify", tmp_path / "out", *against(words), "--on", "key", "--partners", "any")
    with shale.Dataset(tmp_path / "out") as dataset, shale.Dataset(tmp_path / "shuffled") as shuffled:
        assert [one["key"] for one in dataset] == keys
        assert [one["caption"] is None for one in dataset] == [row % 2 == 1 for row in range(len(keys))]
        assert sorted(one["key"] for one in shuffled) == keys[::2]
        for one in [*shuffled, *(dataset[row] for row in range(0, len(keys), 2))]:
            assert bytes(one["caption"]) == b"\xff " + one["key"].encode()
            assert bytes(one["image"]) == (photos / one["key"]).read_bytes()
    told = run_shale("convert", *reversed(words), tmp_path / "none", "--to", "record", "--on", "key", code=2).stderr
    assert b"a folder must be the first of inputs that are joined by key" in told


def test_keys_that_do_not_agree_are_not_joined_by_row(tmp_path):
    write_lmdb(tmp_path / "lq.lmdb", {key: b"\xff" + key for key in (b"a", b"b")})
    write_lmdb(tmp_path / "gt.lmdb", {key: b"\xff" + key for key in (b"a", b"c")})
    words = [f"lq={tmp_path / 'lq.lmdb'}", f"gt={tmp_path / 'gt.lmdb'}"]
    told = run_shale("convert", *words, tmp_path / "out", "--to", "record", code=1).stderr
    assert b"sample 1 has the key 'c', but in" in told and b"'b'" in told and b"--on row" in told
    run_shale("convert", *words, tmp_path / "out", "--to", "record", "--on", "row")
    assert bytes(shale.Dataset(tmp_path / "out")[1]["gt"]) == b"\xffc"


def test_fields_of_one_name_and_the_choice_of_fields(tmp_path):
    for name in ("a", "b"):
        write_h5(tmp_path / f"{name}.h5", x=(IMAGES, {}), **{name: (LABELS, {})})
    words = [f"one={tmp_path / 'a.h5'}", f"two={tmp_path / 'b.h5'}"]
    run_shale("convert", *words, tmp_path / "out", "--to", "npy")
    assert set(shale.Dataset(tmp_path / "out").types) == {"one_x", "a", "two_x", "b"}
    run_shale("convert", *words, tmp_path / "some", "--to", "record", "--fields", "b,one_x")
    assert list(shale.Dataset(tmp_path / "some").types) == ["b", "one_x"]
    run_shale("verify", tmp_path / "some", *against(words))
    told = run_shale("convert", *words, tmp_path / "none", "--to", "npy", "--fields", "x", code=2).stderr
    assert b"'x', which is not a field of the input" in told and b"one_x" in told


def test_parts_and_a_set_of_arrays(tmp_path):
    (tmp_path / "parts").mkdir()
    for part in range(3):
        np.save(tmp_path / f"parts/x_{part}.npy", IMAGES[part * 4 : part * 4 + 4])
    write_h5(tmp_path / "y.h5", y=(LABELS, {}))
    words = [f"x={tmp_path / 'parts'}", f"label={tmp_path / 'y.h5'}"]
    for part in range(2):
        run_shale("convert", *words, tmp_path / "out", "--to", "record", "--part", f"{part}/2")
    run_shale("merge", tmp_path / "out/part-00000-of-00002", tmp_path / "out/part-00001-of-00002", tmp_path / "whole")
    run_shale("verify", tmp_path / "whole", *against(words))
    with shale.Dataset(tmp_path / "whole") as dataset:
        np.testing.assert_array_equal([one["x"] for one in dataset], IMAGES)
        assert [one["label"] for one in dataset] == LABELS.tolist()


# --- read without converting them


def inputs_of(words):
    return dict(word.split("=", 1) for word in words)


def same_samples(one, other):
    assert len(one) == len(other) and one.types == other.types
    for row in range(len(other)):
        for name, value in other[row].items():
            found = one[row][name]
            assert np.array_equal(found, value) if isinstance(value, np.ndarray) else found == value, (row, name)


def is_joined_alike(words, out, **join):
    """What Dataset joins is what convert joins."""
    options = [word for name, value in join.items() for word in (f"--{name}", value)]
    run_shale("convert", *words, out, "--to", "record", *options, code=(0, 4))
    with shale.Dataset(inputs_of(words), **join) as joined, shale.Dataset(out) as made:
        same_samples(joined, made)
        assert joined.classes == made.classes
        count, field, last = len(made), next(iter(made.types)), made[len(made) - 1]["key"]
        assert joined.find(last) == count - 1
        assert pickle.loads(pickle.dumps(joined))[0].keys() == made[0].keys()
        assert joined.info.samples == count and joined.info.format == "join" and "join" in repr(joined)
    listed = run_shale("ls", *words, "--tsv", *options).stdout.split(b"\n")
    assert len(listed) == count + 1 and last.encode() in listed[-2]
    assert run_shale("cat", *words, "1", "--json", *options).stdout
    facts = json.loads(run_shale("info", *words, "--json", *options).stdout)
    assert (facts["kind"], facts["samples"]) == ("join", count) and field in str(facts)


def test_inputs_that_are_joined_are_read_in_place(pair, tmp_path):
    for join in ({"on": "key"}, {"on": "key", "partners": "all"}, {"on": "key", "partners": "any"}):
        is_joined_alike(pair, tmp_path / "-".join(join.values()), **join)
    write_h5(tmp_path / "x.h5", pixels=(IMAGES, {}), score=(np.arange(ROWS, dtype="f4"), {}))
    np.save(tmp_path / "y.npy", LABELS)
    is_joined_alike([f"x={tmp_path / 'x.h5'}", f"label={tmp_path / 'y.npy'}"], tmp_path / "rows")
    np.save(tmp_path / "x.npy", IMAGES)
    is_joined_alike([f"x={tmp_path / 'x.npy'}", f"label={tmp_path / 'y.npy'}"], tmp_path / "arrays")


def test_a_set_of_files_and_a_dataset_are_joined_in_place(tmp_path):
    """A shard ends where one of the two goes on in another file; what a dataset has checksums for is verified."""
    (tmp_path / "parts").mkdir()
    for part in range(3):
        np.save(tmp_path / f"parts/x_{part}.npy", IMAGES[part * 4 : part * 4 + 4])
    with shale.Writer(tmp_path / "captions", to="lmdb", schema={"text": "str", "boxes": "float32 (?, 4)"}, shard_samples=5) as writer:
        for row in range(ROWS):
            writer.write({"text": f"row {row}", "boxes": np.full((row % 3, 4), row, "f4")})
    words = [f"captions={tmp_path / 'captions'}", f"x={tmp_path / 'parts'}"]
    is_joined_alike(words, tmp_path / "out")
    loader = shale.torch.Loader(shale.Dataset(inputs_of(words)), 4, shuffle=True)
    assert sorted(text for batch in loader for text in batch["text"]) == sorted(f"row {row}" for row in range(ROWS))
    state = loader.state_dict()
    shale.torch.Loader(shale.Dataset(inputs_of(words)), 4, shuffle=True).load_state_dict(state)
    run_shale("convert", *words, tmp_path / "again", "--to", "record", "--fields", "text,boxes")
    words[1] = f"x={tmp_path / 'again'}"
    joined = shale.Dataset(inputs_of(words))
    assert joined[7]["captions_text"] == joined[7]["x_text"] == "row 7"
    path = next(iter((tmp_path / "again").glob("*.tfrecord")))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"row 7", b"row 8"))
    with pytest.raises(shale.Error, match="tfrecord"):
        _ = shale.Dataset(inputs_of(words))[7]


def test_what_does_not_lie_in_its_file_as_it_is_read_is_copied_for_the_join(photos, tmp_path):
    """Files of folders, big-endian and compressed arrays, and a set whose second file is of the other byte order."""
    count = len([path for path in photos.rglob("*") if path.is_file()])
    values = np.arange(count * 2, dtype="f4").reshape(count, 2)
    np.save(tmp_path / "big.npy", values.astype(">f4"))
    np.save(tmp_path / "one.npy", values)
    np.savez_compressed(tmp_path / "packed.npz", z=values + 1)
    (tmp_path / "parts").mkdir()
    for part, order in enumerate((">f4", "<f4", ">f4")):
        np.save(tmp_path / f"parts/{part}.npy", values[part::3].astype(order))
    words = [
        f"image={photos}",
        *(f"{name}={tmp_path / path}" for name, path in (("x", "one.npy"), ("y", "big.npy"), ("z", "packed.npz"), ("w", "parts"))),
    ]
    is_joined_alike(words, tmp_path / "out")
    joined = shale.Dataset(inputs_of(words))
    np.testing.assert_array_equal([joined[row]["y"] for row in range(count)], values)
    np.testing.assert_array_equal([joined[row]["w"] for row in range(count)], np.concatenate([values[part::3] for part in range(3)]))
    is_joined_alike([f"image={photos}", f"mask={shutil.copytree(photos, tmp_path / 'masks')}"], tmp_path / "folders")


def test_what_is_not_read_in_place_is_refused(pair, tmp_path):
    np.save(tmp_path / "one.npy", np.zeros((4, 2), "f4"))
    with pytest.raises(shale.Error, match="has 5 samples"):
        shale.Dataset({"lq": pair[0].split("=")[1], "gt": pair[1].split("=")[1]})
    with pytest.raises(shale.UsageError, match="names one input"):
        shale.Dataset({"x": tmp_path / "one.npy"})
    with pytest.raises(shale.UsageError, match="on is for inputs that are joined"):
        shale.Dataset(tmp_path / "one.npy", on="key")
    assert b"--on is for inputs with names" in run_shale("info", tmp_path / "one.npy", "--on", "key", code=2).stderr
    for name in ("x", "y"):  # 400 MB, sparse
        np.lib.format.open_memmap(tmp_path / f"{name}.npy", "w+", ">f4", (100, 1000, 1000)).flush()
    refusal = run_shale("info", f"x={tmp_path}/x.npy", f"y={tmp_path}/y.npy", code=1).stderr
    assert (
        b"copies of such values take more than 256 MiB" in refusal
        and f"shale convert x={tmp_path}/x.npy y={tmp_path}/y.npy OUT --to record".encode() in refusal
    )


def test_an_input_that_is_written_to_is_noticed(tmp_path):
    for name in "xy":
        np.save(tmp_path / f"{name}.npy", IMAGES)
    inputs = {name: tmp_path / f"{name}.npy" for name in "xy"}
    joined = shale.Dataset(inputs)
    np.save(tmp_path / "y.npy", IMAGES[::-1])
    with pytest.raises(shale.MismatchError, match="y.npy"):
        _ = joined[0]
    assert shale.Dataset(inputs)[0]["y"][0, 0, 0] == IMAGES[-1][0, 0, 0]


# --- verify, report, repair


def test_verify_of_a_join_verifies_each_input_and_names_the_samples_without_a_partner(pair, tmp_path):
    lq, gt = (word.split("=")[1] for word in pair)
    named = [f"{lq}: sample 'b': has no partner", f"{gt}: sample 'x': has no partner", f"{gt}: sample 'y': has no partner"]
    run_shale("index", lq, "--crc")
    done = run_shale("verify", *pair, "--on", "key", code=4)
    assert done.stderr.decode().splitlines() == named
    assert f"{lq}: 4 samples in 1 shard: every byte is as it was written" in done.stdout.decode()
    assert done.stdout.decode().endswith(f"{' '.join(pair)}: 3 samples joined, 3 samples without a partner\n")
    for partners, count, alone in (("all", 3, 3), ("any", 4, 2)):
        done = run_shale("verify", *pair, "--on", "key", "--partners", partners)
        assert f"{count} samples joined, {alone} samples without a partner" in done.stdout.decode() and not done.stderr
    result = shale.verify(inputs_of(pair), on="key")
    assert (result.ok, result.samples, result.findings, result.without_partner) == (False, 3, 3, 3)
    assert [(one.key, one.sample) for one in result.first_findings] == [("b", 1), ("x", 3), ("y", 4)]
    assert result.parts["lq"].ok and result.parts["gt"].samples == 5
    assert shale.verify(inputs_of(pair), on="key", partners="any").ok
    assert printed("verify_join", "verify", *pair, "--on", "key", code=4)["without_partner"] == 3
    assert b"5 samples, and" in run_shale("verify", *pair, code=1).stderr
    assert b"and not with --against" in run_shale("verify", *pair, "--against", lq, code=2).stderr


def test_verify_of_a_join_finds_damage_in_an_input(photos, tmp_path):
    count = len([path for path in photos.rglob("*") if path.is_file()])
    np.save(tmp_path / "x.npy", np.zeros((count, 2000), "f4"))
    run_shale("index", tmp_path / "x.npy", "--crc")
    words = [f"image={photos}", f"x={tmp_path / 'x.npy'}"]
    assert f"{count} samples joined" in run_shale("verify", *words).stdout.decode()
    content = bytearray((tmp_path / "x.npy").read_bytes())
    content[-1] ^= 1
    (tmp_path / "x.npy").write_bytes(content)
    assert b"x.npy" in run_shale("verify", *words, code=3).stderr
    masks = shutil.copytree(photos, tmp_path / "masks")
    next(path for path in sorted(masks.rglob("*")) if path.is_file()).unlink()
    done = run_shale("verify", f"image={photos}", f"mask={masks}", code=4)
    assert f"{count - 1} samples joined, 1 sample without a partner" in done.stdout.decode() and b"sample '" in done.stderr


def test_a_report_of_a_join(pair, tmp_path):
    made = shale.report(inputs_of(pair), tmp_path / "page.html", on="key")
    assert made.facts["samples"] == 3 and made.facts["what"] == "inputs that are joined"
    assert [field["name"] for field in made.facts["fields"]] == ["lq", "gt"]
    code = next(one["code"] for one in made.facts["snippets"] if one["title"] == "shale, in Python")
    exec(code, found := {})
    assert found["ds"][0]["gt"] == b"\xff gt a"
    assert made.facts["integrity"]["command"] == f"shale verify --on key {' '.join(pair)}"
    made.save(tmp_path / "other.html")
    assert (tmp_path / "other.html").read_text() == (tmp_path / "page.html").read_text()
    with pytest.raises(shale.UsageError, match="is inside the input"):
        shale.report(inputs_of(pair), tmp_path / "gt.lmdb/page.html", on="key")
    assert (
        b"verify them before: shale verify --on key"
        in run_shale("report", *pair, "--on", "key", "--verify", "-o", tmp_path / "v.html", code=1).stderr
    )


def test_a_dataset_of_a_join_is_repaired_from_its_inputs(pair, tmp_path):
    np.save(tmp_path / "x.npy", IMAGES)
    write_h5(tmp_path / "y.h5", y=(LABELS, {}))
    rows = [f"x={tmp_path / 'x.npy'}", f"y={tmp_path / 'y.h5'}"]
    for words, join in ((rows, {}), (pair, {"on": "key"}), (pair, {"on": "key", "partners": "any"})):
        out = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
        options = [word for name, value in join.items() for word in (f"--{name}", value)]
        run_shale("convert", *words, out, "--to", "record", "--shard-samples", "2", *options, code=(0, 4))
        shard = sorted(out.glob("*.tfrecord"))[1]
        content = shard.read_bytes()
        shard.unlink()
        run_shale("repair", out, *(word for one in words for word in ("--from", one)), *options)
        assert shard.read_bytes() == content
        shard.unlink()
        assert shale.repair(out, inputs_of(words), **join).files[0].name == shard.name
        assert shard.read_bytes() == content
        if options:
            shard.unlink()
            run_shale("repair", out, *(word for one in words for word in ("--from", one)), "--on", "row", code=1)
    assert b"--on is for a source that is joined" in run_shale("repair", tmp_path / "out", "--from", "x=y", "--on", "key", code=2).stderr


# --- tables


@pytest.fixture(name="boxes")
def boxes_fixture(photos, tmp_path):
    """A row for each photo but the last, in another order, and one for a photo that is not there."""
    keys = sorted(str(path.relative_to(photos)) for path in photos.rglob("*.JPEG"))
    rows = [f'{key},"{n}, {n}",{n},{"" if n == 3 else n / 4},{n:03}' for n, key in enumerate(keys[:-1])]
    (tmp_path / "boxes.csv").write_text("\n".join(["file_name,box, size ,score,code", *reversed(rows), "none.jpg,x,1,1,1", ""]))
    return keys, [f"image={photos}", f"table={tmp_path / 'boxes.csv'}"]


def test_rows_of_a_table_are_joined_by_key(boxes, tmp_path):
    keys, words = boxes
    told = run_shale("convert", *words, tmp_path / "out", "--to", "record", "--on", "key", code=4).stderr
    assert b"image: 1 sample has no partner" in told and b"table: 1 sample has no partner" in told
    run_shale("convert", *words, tmp_path / "any", "--to", "lmdb", "--on", "key", "--partners", "any", code=4)
    run_shale("verify", tmp_path / "any", *against(words), "--on", "key", "--partners", "any")
    with shale.Dataset(tmp_path / "out") as dataset:
        types = {"image": "bytes", "label": "integer", "box": "text", "size": "integer", "score": "real?", "code": "text"}
        assert dataset.types == types and [one["key"] for one in dataset] == keys[:-1]
        assert [(one["box"], one["size"], one["score"], one["code"]) for one in dataset] == [
            (f"{n}, {n}", n, None if n == 3 else n / 4, f"{n:03}") for n in range(len(keys) - 1)
        ]
    with shale.Dataset(tmp_path / "any") as dataset:
        assert dataset[len(keys) - 1]["box"] is None and len(dataset) == len(keys)
    run_shale("convert", *words, tmp_path / "shuffled", "--to", "record", "--on", "key", "--partners", "all", "--shuffle")
    with shale.Dataset(tmp_path / "shuffled") as dataset:
        assert sorted(one["key"] for one in dataset) == keys[:-1]
        assert all(keys[one["size"]] == one["key"] for one in dataset)


def pack_photos(folder, archive):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if archive.suffix == ".tar":
        with tarfile.open(archive, "w") as tar:
            for path in files:
                tar.add(path, path.relative_to(folder))
    else:
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in files:
                packed.write(path, path.relative_to(folder))


@pytest.mark.parametrize("suffix", ["tar", "zip"])
def test_an_archive_is_joined_as_the_folder_in_it(boxes, photos, tmp_path, suffix):
    keys, words = boxes
    pack_photos(photos, tmp_path / f"p.{suffix}")
    np.save(tmp_path / "y.npy", np.arange(len(keys)))
    by_key = [f"image={tmp_path}/p.{suffix}", words[1]]
    is_joined_alike([by_key[0], f"number={tmp_path}/y.npy"], tmp_path / "rows")
    run_shale("convert", *by_key, tmp_path / "packed", "--to", "lmdb", "--on", "key", code=4)
    run_shale("convert", *words, tmp_path / "plain", "--to", "lmdb", "--on", "key", code=4)
    digests = [shale.info(tmp_path / name).content_digest for name in ("packed", "plain")]
    assert digests[0] == digests[1]
    run_shale("verify", tmp_path / "packed", *against(by_key), "--on", "key")
    said = run_shale("verify", *by_key, "--on", "key", code=4)
    assert f"sample '{keys[-1]}': has no partner".encode() in said.stdout + said.stderr
    with (
        shale.Dataset({"image": f"{tmp_path}/p.{suffix}", "table": tmp_path / "boxes.csv"}, on="key") as joined,
        shale.Dataset(tmp_path / "plain") as plain,
    ):
        assert [one["image"] for one in joined] == [one["image"] for one in plain] and [one["key"] for one in joined] == keys[:-1]
    damaged = next((tmp_path / "packed").glob("*.lmdb"))
    damaged.write_bytes(damaged.read_bytes()[:-100])
    run_shale("repair", tmp_path / "packed", *[word for one in by_key for word in ("--from", one)], "--on", "key")
    run_shale("verify", tmp_path / "packed", "--deep")


def test_arrays_beside_the_images_of_a_folder_that_is_joined(photos, tmp_path):
    """They are read into the same buffer as the images, and reordered there."""
    folder = tmp_path / "p"
    shutil.copytree(photos, folder)
    images = sorted(folder.rglob("*.JPEG"))
    for number, image in enumerate(images):
        np.save(image.with_suffix(".npy"), np.asfortranarray(np.full((300, 200 + number), number, ">f4")))
    np.save(tmp_path / "y.npy", np.arange(len(images)))
    run_shale("convert", f"image={folder}", f"y={tmp_path}/y.npy", tmp_path / "out", "--to", "record")
    with shale.Dataset(tmp_path / "out") as dataset:
        for number, one in enumerate(dataset):
            assert one["y"] == number and one["npy"].shape == (300, 200 + number) and (one["npy"] == number).all()
            assert bytes(one["image"]) == images[number].read_bytes()


def test_a_sample_of_a_folder_without_a_partner_is_named(boxes):
    keys, words = boxes
    said = run_shale("verify", *words, "--on", "key", code=4)
    assert f"sample '{keys[-1]}': has no partner".encode() in said.stdout + said.stderr


def test_a_table_is_joined_by_row_and_read_in_place(tmp_path):
    np.save(tmp_path / "x.npy", IMAGES)
    (tmp_path / "y.tsv").write_text("caption\tvalue\n" + "".join(f"caption {row}\t{row - 5}\n" for row in range(ROWS)))
    words = [f"x={tmp_path / 'x.npy'}", f"y={tmp_path / 'y.tsv'}"]
    is_joined_alike(words, tmp_path / "out")
    assert shale.Dataset(inputs_of(words))[7]["caption"] == "caption 7" and shale.Dataset(inputs_of(words))[0]["value"] == -5
    (tmp_path / "y.tsv").write_text("label\n" + "".join(f"{row % 3}\n" for row in range(ROWS)))
    run_shale("convert", *words, tmp_path / "one", "--to", "npy")
    assert shale.Dataset(tmp_path / "one").types == {"x": "uint8 (8, 8, 3)", "y": "integer"}


def test_a_flat_folder_gets_its_labels_from_a_table(photos, tmp_path):
    """It was refused for want of class folders."""
    (tmp_path / "flat").mkdir()
    names = [path.name for path in sorted((photos / "n00").iterdir())]
    for name in names:
        shutil.copy(photos / "n00" / name, tmp_path / "flat" / name)
    (tmp_path / "labels.csv").write_text("image,species\n" + "".join(f"{name},{n}\n" for n, name in enumerate(names)))
    words = [f"image={tmp_path / 'flat'}", f"label={tmp_path / 'labels.csv'}"]
    run_shale("convert", *words, tmp_path / "out", "--to", "record", "--on", "key")
    run_shale("verify", tmp_path / "out", *against(words), "--on", "key")
    with shale.Dataset(tmp_path / "out") as dataset:
        assert [(one["key"], one["label"]) for one in dataset] == [(name, n) for n, name in enumerate(names)]
    assert b"no class folders" in run_shale("convert", tmp_path / "flat", tmp_path / "none", "--to", "record", code=1).stderr


@pytest.mark.parametrize(
    "content, text",
    [
        ("a,b\n1,2\n3\n", "row 3 has 1 field, expected 2 as in row 1"),
        ("a,a\n1,2\n", "row 1 has two columns 'a'"),
        ("a,\n1,2\n", "row 1 has a column without name"),
        ("a,b\n", "has no rows below its header"),
        ("a\n1\n2\n", "has 2 samples"),
        ("key,a\n" + "k,1\n" * ROWS, "two samples|twice|same key|several"),
    ],
)
def test_a_table_that_is_wrong_is_named_with_its_row(content, text, tmp_path):
    np.save(tmp_path / "x.npy", IMAGES)
    write_lmdb(tmp_path / "k.lmdb", {b"k": b"\xff", b"l": b"\xff"})
    (tmp_path / "y.csv").write_text(content)
    words = [f"x={tmp_path / 'x.npy'}"] if "key" not in content else ["--on", "key", f"x={tmp_path / 'k.lmdb'}"]
    told = run_shale("convert", *words, f"y={tmp_path / 'y.csv'}", tmp_path / "out", "--to", "record", code=1).stderr.decode()
    assert "y.csv" in told and re.search(text, told), told


def test_what_a_sample_lacks_counts_only_where_it_is_taken(tmp_path):
    for name in ("image/1.jpg", "image/2.jpg", "mask/1.png"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(jpeg(1))
    np.save(tmp_path / "x.npy", np.arange(2.0))
    words = [f"x={tmp_path}/x.npy", f"image={tmp_path}/image", f"mask={tmp_path}/mask"]
    convert = ("convert", *words, "--on", "row", "--to", "record", "--on-error", "fail")

    refusal = run_shale(*convert, tmp_path / "no", "--drop", "image", code=1).stderr
    assert b"has no partner of 'mask'" in refusal
    run_shale(*convert, tmp_path / "out", "--fields", "x")
    assert len(shale.Dataset(tmp_path / "out")) == 2


# ---- bare files of tables


@pytest.mark.parametrize("options", [{}, {"chunks": True, "compression": "gzip"}], ids=["plain", "gzip"])
def test_bare_hdf5_files_of_different_fields_are_parts_of_the_same_samples(options, shale, tmp_path):
    """As PCam has them; the second file has two fields, one of them in a group."""
    columns = {"x": np.arange(72, dtype="u1").reshape(12, 6), "y": np.arange(12), "meta/score": np.arange(12, dtype="f4") / 4}
    for file, names in (("train_x.h5", ["x"]), ("train_y.h5", ["y", "meta/score"])):
        with h5py.File(tmp_path / file, "w") as made:
            for name in names:
                made.create_dataset(name, data=columns[name], **options)

    words = ["train_x.h5", "train_y.h5"]
    told = run_shale("convert", *words, "out", "--to", "npy", cwd=tmp_path).stderr.decode()

    assert "joined row by row, as x=train_x.h5 meta_score=train_y.h5" in told
    for name, values in columns.items():
        assert np.array_equal(np.load(tmp_path / f"out/shard-000000.{name.replace('/', '_')}.npy"), values), name
    assert json.loads(shale("info", *words, "--json", cwd=tmp_path))["samples"] == 12
    run_shale("verify", "out", "--against", words[0], "--against", words[1], cwd=tmp_path)
    assert "already complete" in shale("convert", *words, "out", "--to", "npy", cwd=tmp_path)


def test_bare_hdf5_files_with_a_field_in_common_or_other_rows_are_not_joined(shale, tmp_path):
    for name, fields in (("a", {"x": 3}), ("b", {"x": 3}), ("c", {"y": 4}), ("d", {"x": 3, "y": 3})):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            for field, rows in fields.items():
                file[field] = np.arange(rows)

    shale("convert", "a.h5", "b.h5", "two", "--to", "record", cwd=tmp_path)

    assert json.loads((tmp_path / "two/dataset.json").read_text())["samples"] == 6
    for other in ("c.h5", "d.h5"):
        assert b"the first file of the set" in run_shale("convert", "a.h5", other, "out", "--to", "npy", cwd=tmp_path, code=1).stderr


def test_joins_have_no_index_and_the_hints_of_bare_files_can_be_followed(tmp_path):
    write_h5(tmp_path / "x.h5", x=(LABELS, {}))
    write_h5(tmp_path / "y.h5", y=(LABELS, {}))
    for words in (["x.h5", "y.h5"], ["x=x.h5", "y=y.h5"], ["x.h5", "y.h5", "--index-dir", "index"]):
        told = run_shale("index", *words, cwd=tmp_path, code=2).stderr.decode()
        assert "inputs that are joined have no index" in told and "or index each file on its own" in told
    run_shale("index", "x.h5", cwd=tmp_path)
    with pytest.raises(shale.UnsupportedError) as refused:
        shale.Dataset([tmp_path / "x.h5", tmp_path / "y.h5"])
    mapping = json.loads(re.search(r"\(Python: (\{.*\})\)", str(refused.value))[1])
    assert shale.Dataset(mapping)[5] == {"key": "5", "x": LABELS[5], "y": LABELS[5]}


def test_a_plan_counts_the_payload_that_is_written(tmp_path):
    np.save(tmp_path / "n.npy", np.arange(4))
    np.save(tmp_path / "x.npy", np.arange(24, dtype="f4").reshape(4, 6))
    (tmp_path / "t.csv").write_text("word,number\n" + "".join(f"w{i},{i}\n" for i in range(4)))
    x, n, t = f"x={tmp_path}/x.npy", f"{tmp_path}/n.npy", f"t={tmp_path}/t.csv"
    for number, (target, *words) in enumerate((("npy", n), ("record", n), ("npy", x, f"y={n}"), ("record", x, f"y={n}"), ("record", x, t))):
        command = "convert", *words, tmp_path / f"out{number}", "--to", target, "--json"
        planned, done = (json.loads(run_shale(*command, *more).stdout) for more in (["--dry-run"], []))
        assert (planned["bytes"], planned["samples"]) == (done["bytes"], done["samples"]), words
    assert b"(numbers only" in run_shale("convert", tmp_path / "n.npy", tmp_path / "out", "--to", "npy", "--dry-run").stdout
