"""Files that py-lmdb, h5py and tfrecord made: shale indexes them as they are, and finds in them what those libraries find."""

import dataclasses
import gzip
import json
import pathlib
import shutil
import zlib

import crc32c
import foreign_files
import numpy as np
import pytest
from conftest import run_shale
from dataset_reading import block_hashes, file_hash, index_of, manifest_of, rows_of, shard_file_of


@pytest.fixture(scope="module", params=foreign_files.MAKERS, ids=lambda maker: maker.__name__)
def foreign(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("foreign"))


@pytest.fixture(scope="module")
def indexed(foreign, shale):
    """With its index beside it."""
    shale("index", foreign.file, *foreign.options)
    return foreign


@pytest.fixture
def copied(foreign, tmp_path):
    """A copy alone in a folder, without an index."""
    return dataclasses.replace(foreign, file=pathlib.Path(shutil.copy(foreign.file, tmp_path)))


def beside(file, suffix):
    return file.with_name(file.name + suffix)


def load_index(file):
    return np.load(beside(file, ".index.npy"), mmap_mode="r")


def shard_of(file):
    (shard,) = json.loads(beside(file, ".dataset.json").read_bytes())["shards"]
    return shard


def has_index(file):
    """False where rows are fixed: the manifest says where they lie."""
    return shard_of(file)["index"] is not None


def fixed_rows_of(file):
    """What the manifest alone leads to: the bytes of a tensor, the number that an integer or real is."""
    manifest = json.loads(beside(file, ".dataset.json").read_bytes())
    shard, stored = shard_of(file), file.read_bytes()
    for row in range(shard["samples"]):
        values = {}
        for field, base, stride in zip(manifest["schema"], shard["bases"], manifest["layout"]["strides"]):
            value = stored[base + row * stride :][:stride]
            if field["kind"] != "tensor":
                default = "<i8" if field["kind"] == "integer" else "<f8"
                value = np.frombuffer(value, field.get("dtype", default))[0].item()
            values[field["name"]] = value
        yield values


def found_rows(file):
    return list(rows_of(file, load_index(file)) if has_index(file) else fixed_rows_of(file))


def expected_rows(foreign):
    """What each row of the index must give: the fields, and the key where there is one."""
    return [
        sample | ({} if foreign.keys is None else {"key": foreign.keys[row]}) for row, sample in enumerate(foreign.samples)
    ]


def test_the_index_finds_every_field_of_every_sample(indexed):
    assert shard_of(indexed.file)["samples"] == len(indexed.samples) >= 26
    assert found_rows(indexed.file) == expected_rows(indexed)


def test_without_reading_the_payload_there_are_no_checksums(indexed):
    columns = load_index(indexed.file).dtype.names if has_index(indexed.file) else ()
    assert not [name for name in columns if name.endswith(".crc32c")]
    assert not beside(indexed.file, ".blocks.npy").exists()


def test_with_crc_the_payload_is_vouched_for(copied, shale):
    shale("index", copied.file, "--crc", *copied.options)
    assert found_rows(copied.file) == expected_rows(copied)
    index = load_index(copied.file) if has_index(copied.file) else ()
    for row, values in zip(index, expected_rows(copied)):
        for name, value in values.items():
            if isinstance(value, bytes):
                assert int(row[name + ".crc32c"]) == crc32c.crc32c(value), name
    assert [row.tobytes() for row in np.load(beside(copied.file, ".blocks.npy"))] == block_hashes(copied.file)
    assert shard_of(copied.file)["files"] == [
        {"name": copied.file.name, "bytes": copied.file.stat().st_size, "xxh3_128": file_hash(copied.file)}
    ]
    shale("verify", copied.file)


def lists_beside(file):
    return {".dataset.json"} | ({".index.npy"} if has_index(file) else set())


def test_indexing_changes_nothing_and_leaves_two_files(copied, foreign, shale):
    shale("index", copied.file, *copied.options)
    names = {path.name for path in copied.file.parent.iterdir()}
    assert names == {copied.file.name + suffix for suffix in {""} | lists_beside(copied.file)}
    assert copied.file.read_bytes() == foreign.file.read_bytes()


def test_without_an_index_it_is_read_all_the_same(copied, shale):
    if copied.options:
        pytest.skip("how it is to be read stands in the index")
    assert json.loads(shale("info", copied.file, "--json"))["samples"] == len(copied.samples)
    shale("verify", copied.file)
    name, value = next(iter(copied.samples[12].items()))
    assert run_shale("cat", copied.file, "12", "--field", name).stdout == value
    assert [path.name for path in copied.file.parent.iterdir()] == [copied.file.name]


def test_the_index_can_lie_elsewhere(indexed, shale, tmp_path):
    elsewhere = tmp_path / "made" / "by shale"
    shale("index", indexed.file, "--index-dir", elsewhere, *indexed.options)
    name = indexed.file.name
    assert {path.name for path in elsewhere.iterdir()} == {name + suffix for suffix in lists_beside(indexed.file)}
    for suffix in lists_beside(indexed.file):
        assert (elsewhere / (name + suffix)).read_bytes() == beside(indexed.file, suffix).read_bytes()


def test_info_says_what_it_is(indexed, shale):
    info = json.loads(shale("info", indexed.file, "--json"))
    assert (info["format"], info["samples"]) == (indexed.format, len(indexed.samples))
    assert {field["name"] for field in info["fields"]} == set(indexed.samples[0])


def test_verify_finds_nothing_wrong(indexed, shale):
    shale("verify", indexed.file)


@pytest.mark.parametrize("row", [0, 1, 12, -1])
def test_cat_writes_a_field(row, indexed):
    row %= len(indexed.samples)
    for name, value in expected_rows(indexed)[row].items():
        out = run_shale("cat", indexed.file, str(row), "--field", name).stdout
        if name == "key":
            assert out == value + b"\n"
        elif isinstance(value, bytes):
            assert out == value
        else:
            assert type(value)(out) == value


def test_converted_to_record_the_samples_are_the_same(indexed, shale, tmp_path):
    shale("convert", indexed.file, tmp_path / "out", "--to", "record", *indexed.options)
    shards = manifest_of(tmp_path / "out")["shards"]
    found = [
        values for shard in shards for values in rows_of(shard_file_of(tmp_path / "out", shard), index_of(tmp_path / "out", shard))
    ]
    if indexed.keys is None:
        assert len({values.pop("key") for values in found}) == len(indexed.samples)  # shale gave each one a key
    assert found == expected_rows(indexed)
    shale("verify", tmp_path / "out")


def test_the_index_of_a_file_that_changed_is_not_believed(copied, shale):
    shale("index", copied.file, *copied.options)
    with open(copied.file, "ab") as file:
        file.write(bytes(1 << 20))
    refused = run_shale("cat", copied.file, "12", "--field", next(iter(copied.samples[0])), code=3)
    assert b"changed" in refused.stderr


def test_the_folder_of_an_lmdb_stands_for_its_data_file(shale, tmp_path):
    made = foreign_files.lmdb_folder(tmp_path)
    shale("index", made.file.parent)
    assert list(rows_of(made.file, load_index(made.file))) == expected_rows(made)


@pytest.mark.parametrize("maker", foreign_files.UNPACKED, ids=lambda maker: maker.__name__)
def test_what_cannot_be_located_is_refused_by_name(maker, tmp_path):
    path = maker(tmp_path).file
    refused = run_shale("index", path, code=1)
    assert b"dataset '" in refused.stderr and b"'shale convert' reads it" in refused.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("memory", ["16MiB", "256MiB"])
@pytest.mark.parametrize("maker", foreign_files.UNPACKED, ids=lambda maker: maker.__name__)
def test_what_cannot_be_located_is_unpacked_to_be_converted(maker, memory, shale, tmp_path, monkeypatch):
    made = maker(tmp_path)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    out = tmp_path / "out"
    told = run_shale("convert", made.file, out, "--to", "record", "--memory", memory).stderr
    assert b" into " + bytes(scratch) in told
    found = [
        values for shard in manifest_of(out)["shards"] for values in rows_of(shard_file_of(out, shard), index_of(out, shard))
    ]
    assert len({values.pop("key") for values in found}) == len(made.samples)
    assert found == made.samples
    shale("verify", out)
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("scratch", ["/nonexistent", "/dev/null", "x" * 300], ids=["absent", "file", "long"])
def test_unpacking_into_a_TMPDIR_that_is_no_folder_names_it(scratch, tmp_path, monkeypatch):
    """Findings A9: exit 70, "a bug of shale"."""
    made = foreign_files.hdf5_gzip(tmp_path)
    monkeypatch.setenv("TMPDIR", scratch)
    told = run_shale("convert", made.file, tmp_path / "out", "--to", "record", code=(1,)).stderr
    assert scratch.encode() in told and b"set TMPDIR" in told
    assert {path.name for path in tmp_path.iterdir()} == {made.file.name}
    monkeypatch.setenv("TMPDIR", "")
    run_shale("convert", made.file, tmp_path / "out", "--to", "record")


def test_a_filter_that_the_library_has_not_is_refused_by_name(tmp_path):
    path = foreign_files.hdf5_lzf(tmp_path)
    if (refused := run_shale("convert", path, tmp_path / "out", "--to", "record", code=(0, 1))).returncode == 0:
        pytest.skip("this HDF5 library has lzf")
    assert b"dataset 'pictures' uses the filter 32000 (lzf)" in refused.stderr


def test_lists_and_what_records_lack(shale, tmp_path):
    """A list is one extent; a value that is absent has no place, and costs neither cat, --crc nor verify the others."""
    writer = foreign_files.TFRecordWriter(str(tmp_path / "lists.tfrecord"))
    for row in range(30):
        more = {} if row % 3 == 2 else {"caption": (b"no. %d" % row, "byte"), "box": ([row, row + 0.5], "float")}
        writer.write({"frames": ([b"%d" % row] * (row % 4), "byte"), "sizes": ([row, row], "int"), **more})
    writer.close()
    path = tmp_path / "lists.tfrecord"
    told = run_shale("index", path, "--crc").stdout
    assert b"feature 'sizes' is left out: varint lists of 2 integers cannot be located in place" in told
    index = load_index(path)
    data = path.read_bytes()
    for row, place in enumerate(index):
        extent = data[int(place["frames.offset"]) :][: int(place["frames.length"])]
        assert extent == b"".join(foreign_files.delimited(1, b"%d" % row) for _ in range(row % 4))
        assert int(place["frames.count"]) == row % 4
        assert (int(place["caption.offset"]) == 2**64 - 1) == (int(place["box.offset"]) == 2**64 - 1) == (row % 3 == 2)
    shale("verify", path, "--deep")
    assert run_shale("cat", path, "7", "--field", "frames").stdout == b"777"
    assert run_shale("cat", path, "8", "--field", "frames").stdout == b""
    assert b"lacks field 'caption'" in run_shale("cat", path, "8", "--field", "caption", code=1).stderr
    assert json.loads(shale("cat", path, "8", "--json"))["fields"]["box"] == {"kind": "tensor", "missing": True}
    run_shale("convert", path, tmp_path / "out", "--to", "lmdb")
    assert run_shale("cat", tmp_path / "out", "7", "--field", "sizes").stdout == np.array([7, 7], "<i8").tobytes()
    assert run_shale("cat", tmp_path / "out", "7", "--field", "box").stdout == np.array([7, 7.5], "<f4").tobytes()
    fields = json.loads(shale("cat", tmp_path / "out", "8", "--json"))["fields"]
    assert [name for name, value in fields.items() if value.get("missing")] == ["box", "caption"]
    run_shale("verify", tmp_path / "out", "--against", path)


def test_only_numbers_are_unpacked(shale, tmp_path):
    """Everything else of a record stays where it is, and the result is that of the file decompressed and unpacked as a whole."""
    path = tmp_path / "sparse.tfrecord"
    writer = foreign_files.TFRecordWriter(str(path))
    for row in range(40):
        sample = {"image": (bytes([row]) * 10_000, "byte"), "row": (row, "int"), "a": ([row, 1], "int"), "key": (b"key %d" % row, "byte")}
        if row % 3:
            sample |= {"labels": (list(range(row % 5)), "int"), "xmin": ([0.5] * (row % 4), "float"), "words": ([b"w"] * (row % 4), "byte")}
        writer.write({"image": sample["image"], "key": sample["key"]} if row % 7 == 6 else sample)
    writer.close()
    told = run_shale("convert", path, tmp_path / "out", "--to", "record").stderr.decode()
    assert "unpacking" in told and " KiB into" in told.split("unpacking")[1]
    assert float(told.split("unpacking ")[1].split()[0]) < 20, "the images are 400 KB"
    shale("verify", tmp_path / "out", "--against", path)
    (tmp_path / "sparse.tfrecord.gz").write_bytes(gzip.compress(path.read_bytes()))
    shale("convert", tmp_path / "sparse.tfrecord.gz", tmp_path / "whole", "--to", "record")
    assert manifest_of(tmp_path / "out")["digest"] == manifest_of(tmp_path / "whole")["digest"]
    out, whole = (tmp_path / name / "shard-000000.tfrecord" for name in ("out", "whole"))
    assert out.read_bytes() == whole.read_bytes()
    named = shale("convert", path, tmp_path / "named", "--to", "lmdb", "--fields", "labels,image,a")
    assert "left out" not in named

    # Damage of what stays where it is is found on the way.
    data = bytearray(path.read_bytes())
    data[data.index(bytes([9]) * 10_000) + 5000] ^= 1
    path.write_bytes(data)
    assert b"checksum" in run_shale("convert", path, tmp_path / "damaged", "--to", "record", code=(3,)).stderr


def test_boxes_and_labels_of_every_length(shale, tmp_path):
    """An object detection set: floats are located in place, integers unpacked, with an index beside the file or without."""
    writer = foreign_files.TFRecordWriter(str(tmp_path / "boxes.tfrecord"))
    for row in range(4):
        objects = list(range(-1, row))
        more = {"crowd": (row, "int")} if row % 2 else {}
        writer.write({"image": (b"%d" % row, "byte"), "xmin": ([one + 0.5 for one in objects], "float"), "label": (objects, "int"), **more})
    writer.close()
    path = tmp_path / "boxes.tfrecord"
    types = {"crowd": ("integer", True), "image": ("text", None), "label": ("tensor", None), "xmin": ("tensor", None)}
    for number, form in enumerate(("record", "lmdb", "record")):
        out = tmp_path / f"out{number}"
        assert "left out" not in shale("convert", path, out, "--to", form)
        manifest = manifest_of(out)
        assert {field["name"]: (field["kind"], field.get("optional")) for field in manifest["schema"]} == types
        assert manifest["requires"] == ["ragged", "optional"]
        for row in range(4):
            objects = np.arange(-1, row)
            assert run_shale("cat", out, str(row), "--field", "label").stdout == objects.astype("<i8").tobytes()
            assert run_shale("cat", out, str(row), "--field", "xmin").stdout == (objects + 0.5).astype("<f4").tobytes()
        assert "the same samples" in shale("verify", out, "--against", path)
        shale("verify", out, "--deep")
        told = run_shale("index", path).stdout
        assert b"feature 'label' is left out" in told
    assert manifest_of(tmp_path / "out0")["digest"] == manifest_of(tmp_path / "out1")["digest"] == manifest_of(tmp_path / "out2")["digest"]

    # What is in place is not unpacked for those who want nothing else.
    assert "unpacking" not in run_shale("convert", path, tmp_path / "named", "--to", "record", "--fields", "image,xmin").stderr.decode()
    assert "unpacking" in run_shale("convert", path, tmp_path / "labels", "--to", "record", "--fields", "label").stderr.decode()

    # A changed record is found, whatever the lists are.
    data = bytearray(path.read_bytes())
    data[data.index(b"crowd") - 12] ^= 1
    path.write_bytes(data)
    beside(path, ".dataset.json").unlink()
    assert b"checksum mismatch" in run_shale("convert", path, tmp_path / "damaged", "--to", "record", code=3).stderr


def test_what_no_field_takes_is_said(shale, tmp_path):
    """Features of another type in some records: exit 4, listed, and not "the same samples"."""
    writer = foreign_files.TFRecordWriter(str(tmp_path / "boxes.tfrecord"))
    for row in range(3):
        writer.write({"image": (b"%d" % row, "byte"), "label": (row, "int") if row else (0.5, "float"), "xmin": (b"%d" % row, "byte") if row else (0.5, "float")})
    writer.close()
    path, out = tmp_path / "boxes.tfrecord", tmp_path / "out"
    lost = [{"kind": "feature", "name": name, "reason": "mixed_types", "samples": 3} for name in ("label", "xmin")]

    plan = json.loads(shale("convert", path, out, "--to", "record", "--dry-run", "--json", code=4))
    assert plan["left_out"] == lost
    told = run_shale("convert", path, out, "--to", "record", code=4)
    assert b"left out: feature 'label' (mixed_types), feature 'xmin' (mixed_types)" in told.stdout
    run_shale("convert", path, out, "--to", "record")  # already complete: it was said
    assert json.loads(shale("info", out, "--json"))["left_out"] == lost == manifest_of(out)["left_out"]
    assert b"left out" in run_shale("info", out).stdout
    compared = run_shale("verify", out, "--against", path).stdout
    assert b"besides, the source has feature 'label'" in compared

    # A copy carries it, merged parts too; an index beside the file changes nothing.
    run_shale("convert", out, tmp_path / "copy", "--to", "lmdb")
    assert manifest_of(tmp_path / "copy")["left_out"] == lost
    for part in range(2):
        run_shale("convert", path, tmp_path / f"part{part}", "--to", "record", "--part", f"{part}/2", code=(0, 4))
    run_shale("merge", tmp_path / "part0", tmp_path / "part1", tmp_path / "merged", code=4)
    assert manifest_of(tmp_path / "merged")["left_out"] == lost
    shale("index", path)
    run_shale("convert", path, tmp_path / "again", "--to", "record", code=4)
    assert manifest_of(tmp_path / "again")["left_out"] == lost

    # Whoever names the fields loses nothing; one file has no manifest, the line and the code are all.
    run_shale("convert", path, tmp_path / "named", "--to", "record", "--fields", "image")
    assert "left_out" not in manifest_of(tmp_path / "named")
    assert b"left out: feature 'label'" in run_shale("convert", path, tmp_path / "one.lmdb", code=4).stdout


def test_a_sequence_example_is_one_field(shale, tmp_path):
    writer = foreign_files.TFRecordWriter(str(tmp_path / "sequence"))
    for row in range(5):
        writer.write({"id": (b"%d" % row, "byte")}, {"audio": ([[1.0, 2.0]] * row, "float")})
    writer.close()
    info = json.loads(shale("info", tmp_path / "sequence", "--json"))
    assert [field["name"] for field in info["fields"]] == ["value"] and info["samples"] == 5
    assert "tf.train.SequenceExample" in info["notes"][0]


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress], ids=["gzip", "zlib"])
def test_compressed_records_are_converted_and_read_but_not_indexed(pack, tmp_path):
    plain = foreign_files.record_of_tfrecord(tmp_path).file
    packed = tmp_path / "packed"
    packed.write_bytes(pack(plain.read_bytes()))
    run_shale("convert", packed, tmp_path / "out", "--to", "lmdb")
    run_shale("verify", tmp_path / "out", "--against", plain)
    assert run_shale("ls", packed, "--tsv").stdout == run_shale("ls", plain, "--tsv").stdout
    assert b"its checksums are intact" in run_shale("verify", packed).stdout
    for words in (["index", packed], ["info", packed]):
        assert b"is a TFRecord file compressed with " + pack.__module__.encode() in run_shale(*words, code=1).stderr


def test_converted_to_every_format_and_back_the_digest_stays(shale, tmp_path):
    path = foreign_files.record_of_tfrecord(tmp_path).file
    shale("index", path, "--crc")
    wanted = json.loads(shale("info", path, "--json"))["content_digest"]
    for name in ("lmdb", "hdf5", "record"):
        shale("convert", path, tmp_path / name, "--to", name)
        assert json.loads(shale("info", tmp_path / name, "--json"))["content_digest"] == wanted
        shale("verify", tmp_path / name, "--against", path)


def set_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_an_index_beside_it_changes_nothing(copied, foreign, shale, tmp_path):
    """Neither the set that is written, nor whether the same file can come behind it once more."""
    ways = [foreign.options, ("--parse", "plain")] if foreign.format == "lmdb" else [foreign.options]
    for number, options in enumerate(ways):
        made = []
        for index in ([], ["index"]):
            if index:
                shale(index[0], copied.file, *index[1:], *options)
            out = tmp_path / f"out-{number}-{len(made)}"
            shale("convert", copied.file, out, "--to", "record", *options)
            first = set_of(out)
            appended = run_shale("convert", copied.file, out, "--append", *options, code=(0, 1))
            made.append((first, appended.returncode, set_of(out)))
        assert made[0] == made[1]
        has_numbers = foreign.keys is None
        assert made[0][1] == (0 if has_numbers else 1)
        if has_numbers:
            shale("verify", tmp_path / f"out-{number}-0")
        for path in copied.file.parent.glob(copied.file.name + ".*"):
            path.unlink()


def test_decimal_keys_in_another_order_are_said(shale, tmp_path):
    for name, keys, is_said in (("numbers", range(25), True), ("padded", [f"{number:03}" for number in range(25)], False), ("few", range(9), False)):
        file = foreign_files.plain(tmp_path / f"{name}.lmdb", [(str(key).encode(), b"value") for key in keys]).file
        said = run_shale("convert", file, tmp_path / name, "--to", "record").stderr
        assert (b"the keys are decimal numbers, but the samples are not in their order" in said) is is_said
