"""Files whose samples cannot be located in them, by h5py, pyarrow and gzip: ls, cat, report and verify read what convert makes of them."""

import gzip
import json
import os
import re
import shlex
import shutil

import h5py
import lmdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shale
from conftest import run_shale
from foreign_files import write_records

ROWS = 20
NUMBERS = np.random.default_rng(5).integers(0, 50, (ROWS, 6), dtype="i4")
LABELS = np.arange(ROWS) % 3
TEXTS = [f"text {i} " * (i % 4) for i in range(ROWS)]
MEDIA = [bytes(range(i, i + 40)) * 30 for i in range(ROWS)]


def hdf5(path, **chunks):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=NUMBERS, chunks=(4, 3), **chunks)
        file["label"], file["text"] = LABELS, TEXTS


def parquet(path, compression):
    columns = {"image": MEDIA, "label": LABELS, "text": TEXTS}
    pq.write_table(pa.table(columns), path, compression=compression, use_dictionary=False, row_group_size=8)


def records(path):
    """What gzip makes of a file of records."""
    plain = path.with_name("plain.h5")
    hdf5(plain)
    run_shale("convert", plain, path.with_name("written"), "--to", "record")
    (shard,) = path.with_name("written").glob("*.tfrecord")
    path.write_bytes(gzip.compress(shard.read_bytes()))


WRITERS = {
    "gzip.h5": lambda path: hdf5(path, compression="gzip", fletcher32=True),
    "lzf.h5": lambda path: hdf5(path, compression="lzf", shuffle=True),
    "chunked.h5": hdf5,
    "snappy.parquet": lambda path: parquet(path, "snappy"),
    "zstd.parquet": lambda path: parquet(path, "zstd"),
    "packed.tfrecord": records,
}


@pytest.fixture(params=WRITERS)
def packed(request, tmp_path):
    path = tmp_path / request.param
    WRITERS[request.param](path)
    return path


def told_without_places(path, row):
    fields = json.loads(run_shale("cat", path, str(row), "--json").stdout)["fields"]
    return {name: {key: value for key, value in facts.items() if key not in ("offset", "crc32c")} for name, facts in fields.items()}


def test_what_convert_reads_is_listed_and_shown(packed, tmp_path):
    out = tmp_path / "out"
    run_shale("convert", packed, out, "--to", "record")
    listed = run_shale("ls", packed, "--tsv")
    assert listed.stdout == run_shale("ls", out, "--tsv").stdout
    assert b"cannot be located in place; unpacking" in listed.stderr
    with shale.Dataset(out) as dataset:
        names = [name for name in dataset[0] if name != "key"]
    for row in (0, 7, ROWS - 1):
        assert told_without_places(packed, row) == told_without_places(out, row)
    for name in names:
        assert run_shale("cat", packed, "7", "--field", name).stdout == run_shale("cat", out, "7", "--field", name).stdout
    assert os.listdir(tmp_path).count(packed.name) == 1 and not list(tmp_path.glob("*.index.npy"))


def test_a_report_has_the_same_facts(packed, tmp_path):
    run_shale("convert", packed, tmp_path / "out", "--to", "record")
    of_file, of_set = (json.loads(run_shale("report", path, "--json").stdout) for path in (packed, tmp_path / "out"))
    for facts in (of_file, of_set):
        for field in facts["fields"]:
            field.pop("previews", None)
    assert of_file["samples"] == of_set["samples"] == ROWS
    assert of_file["fields"] == of_set["fields"]
    page = tmp_path / "page.html"
    run_shale("report", packed, "-o", page)
    assert "shale.Dataset(&#39;out&#39;)" in page.read_text() or "shale.Dataset('out')" in page.read_text()


def test_verify_reads_all_of_it(packed):
    told = json.loads(run_shale("verify", packed, "--json").stdout)
    assert told["ok"] and told["samples"] == ROWS
    assert any("are compressed or in pieces" in note for note in told["notes"]), told


def test_index_and_info_are_as_before(packed):
    assert b"hint:" in run_shale("index", packed, code=1).stderr
    assert packed.suffix == ".tfrecord" or b"not read in place" in run_shale("info", packed).stdout


@pytest.mark.parametrize("name", ["gzip.h5", "snappy.parquet"])
def test_info_of_a_set_lists_what_the_first_file_holds_and_the_command_that_converts_all(name, tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    for number in range(3):
        WRITERS[name](folder / f"{number}-{name}")

    told = json.loads(run_shale("info", folder, "--json").stdout)

    assert {"x", "image"} & {array["path"] for array in told["arrays"]}
    assert told["attributes"]["files"] == f"3, of which this is the first: {folder}/0-{name}"
    command = shlex.split(told["commands"][0])
    run_shale(*[str(tmp_path / "out") if word == "out" else word for word in command[1:]], code=(0, 4))
    with shale.Dataset(tmp_path / "out") as dataset:
        assert len(dataset) == 3 * ROWS


def two_groups(path):
    with h5py.File(path, "w") as file:
        for group in ("left", "right"):
            file.create_dataset(f"{group}/x", data=NUMBERS, chunks=(4, 3), compression="gzip")


def splits_in_files(path):
    path.mkdir()
    for split in ("train", "test"):
        with h5py.File(path / f"{split}.h5", "w") as file:
            file.create_dataset("x", data=NUMBERS, chunks=(4, 3), compression="gzip")


def splits_in_a_set(path):
    path.mkdir()
    for number in range(2):
        with h5py.File(path / f"{number}.h5", "w") as file:
            for split in ("train", "test"):
                file.create_dataset(f"{split}/x", data=NUMBERS, chunks=(4, 3), compression="gzip")


@pytest.mark.parametrize(("build", "rows"), [(two_groups, [ROWS]), (splits_in_files, [ROWS, ROWS]), (splits_in_a_set, [2 * ROWS] * 2)])
def test_the_commands_that_info_prints_work_one_after_the_other(build, rows, tmp_path):
    build(tmp_path / "in")
    text = run_shale("info", tmp_path / "in").stdout.decode()
    commands = [shlex.split(line.partition("shale convert ")[2]) for line in text.splitlines() if "shale convert " in line]

    assert len({words[1] for words in commands}) == len(commands)

    for words in commands:
        run_shale("convert", *words, cwd=tmp_path)

    found = []
    for words in commands:
        with shale.Dataset(tmp_path / words[1]) as dataset:
            found.append(len(dataset))
    assert found == rows


def test_verify_reads_a_file_as_parse_says(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        for group in ("a", "b"):
            file.create_dataset(f"{group}/x", data=LABELS, chunks=(4,), compression="gzip")
    assert b"--parse samples" in run_shale("verify", path, code=1).stderr

    told = json.loads(run_shale("verify", path, "--parse", "samples", "--json").stdout)

    assert told["ok"] and told["samples"] == 2
    assert any("OUT --to record --parse samples" in note for note in told["notes"]), told
    assert shale.verify(path, parse="samples").samples == 2

    run_shale("convert", path, tmp_path / "out", "--to", "record", "--parse", "samples")
    run_shale("verify", tmp_path / "out", "--against", path)
    refused = run_shale("verify", tmp_path / "out", "--against", path, "--parse", "samples", code=2).stderr
    assert b"--parse is for files of other tools, but the input is a shale dataset" in refused


def test_verify_reads_the_databases_that_are_named(tmp_path):
    path = tmp_path / "x.lmdb"
    with lmdb.open(str(path), subdir=False, max_dbs=2, map_size=1 << 22) as file:
        for name in (b"a", b"b"):
            database = file.open_db(name)
            with file.begin(write=True, db=database) as entries:
                for row in range(5):
                    entries.put(b"%03d" % row, b"value")
    run_shale("verify", path, code=1)

    for names in ("a", "a,b"):
        assert json.loads(run_shale("verify", path, "--database", names, "--json").stdout)["samples"] == 5
    run_shale("index", path, "--database", "a", "--crc")
    assert b"every byte is as it was written" in run_shale("verify", path).stdout
    assert b"structure is intact" in run_shale("verify", path, "--database", "b").stdout


def damage_chunks(path, *numbers):
    """One bit of each of these chunks of `x`; what h5py says of them."""
    content = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        chunks = [file["x"].id.get_chunk_info(number) for number in numbers]
    for chunk in chunks:
        content[chunk.byte_offset + chunk.size // 2] ^= 1
    path.write_bytes(content)
    return chunks


def test_verify_names_the_rows_of_every_damaged_chunk(tmp_path):
    path = tmp_path / "x.h5"
    hdf5(path, compression="gzip", fletcher32=True)
    chunks = damage_chunks(path, 2, 7)

    told = json.loads(run_shale("verify", path, "--json", code=3).stdout)

    assert not told["ok"] and told["samples"] == ROWS
    found = [finding["message"] for finding in told["first_findings"]]
    assert len(found) == 2
    for message, chunk in zip(found, chunks, strict=True):
        first = chunk.chunk_offset[0]
        assert message.startswith(f"rows {first} to {first + 3}: dataset 'x'"), found
    for words in (["ls", path], ["cat", path, "0"], ["report", path, "--json"]):
        assert b"'x'" in run_shale(*words, code=3).stderr


def test_a_gzip_stream_that_is_damaged_is_a_finding(tmp_path):
    path = tmp_path / "packed.tfrecord"
    records(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert json.loads(run_shale("verify", path, "--json", code=3).stdout)["findings"] >= 1


def test_a_set_of_them_is_read(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    hdf5(folder / "a.h5", compression="gzip")
    hdf5(folder / "b.h5")
    run_shale("convert", folder, tmp_path / "out", "--to", "record")
    assert run_shale("ls", folder, "--tsv").stdout == run_shale("ls", tmp_path / "out", "--tsv").stdout
    assert run_shale("cat", folder, "27", "--field", "x").stdout == NUMBERS[7].tobytes()
    assert json.loads(run_shale("report", folder, "--json").stdout)["samples"] == 2 * ROWS
    assert json.loads(run_shale("verify", folder, "--json").stdout)["samples"] == 2 * ROWS


def test_verify_of_a_set_names_each_damaged_file_and_a_way_to_what_is_whole(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    for name in "abcd":
        hdf5(folder / f"{name}.h5", compression="gzip", fletcher32=True)
    damage_chunks(folder / "b.h5", 2)
    damage_chunks(folder / "d.h5", 0, 7)

    told = json.loads(run_shale("verify", folder, "--json", code=3).stdout)
    hint = run_shale("verify", folder, code=3).stderr.decode().splitlines()[-1]
    command = re.search(r"'shale (convert .*)'", hint).group(1).replace("OUT", str(tmp_path / "out"))
    run_shale(*command.split(), code=4)

    assert [finding["file"] for finding in told["first_findings"]] == ["b.h5", "d.h5", "d.h5"]
    assert told["samples"] == 4 * ROWS
    whole = json.loads(run_shale("info", tmp_path / "out", "--json").stdout)["samples"]
    assert whole == 4 * ROWS - 4 - 4 - 4


@pytest.mark.parametrize("kind", ["examples", "bytes"])
def test_of_a_damaged_gzip_stream_each_whole_record_comes_out_once(kind, tmp_path):
    """Bytes in the middle are read on: their record is lost, and the checksum at the end fails, too."""
    path, out = tmp_path / "packed.tfrecord", tmp_path / "out"
    records(path)
    if kind == "bytes":
        write_records(tmp_path / "bytes.tfrecord", [row.tobytes() for row in NUMBERS])
        path.write_bytes(gzip.compress((tmp_path / "bytes.tfrecord").read_bytes()))
    field, written = "x" if kind == "examples" else "value", [row.tobytes() for row in NUMBERS]
    sound = path.read_bytes()
    both = 0
    for place in range(len(sound) // 4, len(sound) - 8, len(sound) // 40):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        shutil.rmtree(out, ignore_errors=True)
        if run_shale("convert", path, out, "--to", "record", "--on-error", "skip", "--max-errors", "100%", code=(3, 4)).returncode == 3:
            continue
        with shale.Dataset(out) as dataset:
            numbers = [written.index(bytes(sample[field])) for sample in dataset]
        assert numbers == sorted(set(numbers)), place
        both += 0 < len(numbers) < ROWS and "checksum mismatch" in (out / "skipped.csv").read_text()
    assert both > 0


def test_a_compressed_file_without_records_is_a_member_like_any_other(tmp_path):
    """Beam and tf.data write such shards."""
    folder = tmp_path / "set"
    folder.mkdir()
    records(folder / "packed.tfrecord")
    (folder / "packed.tfrecord").rename(folder / "a.tfrecord.gz")
    (folder / "plain.h5").unlink()
    shutil.rmtree(folder / "written")
    (folder / "b.tfrecord.gz").write_bytes(gzip.compress(b""))
    assert json.loads(run_shale("verify", folder, "--json").stdout)["samples"] == ROWS
    assert json.loads(run_shale("verify", folder / "b.tfrecord.gz", "--json").stdout)["samples"] == 0
    assert run_shale("ls", folder, "--tsv").stdout == run_shale("ls", folder / "a.tfrecord.gz", "--tsv").stdout
    run_shale("convert", folder, tmp_path / "out", "--to", "record")


def test_a_part_of_what_has_no_blocks_is_refused(packed):
    assert b"hint: leave out --sample" in run_shale("verify", packed, "--sample", "5%", code=1).stderr


def test_it_is_compared_with_what_was_made_of_it(packed, tmp_path):
    run_shale("convert", packed, tmp_path / "out", "--to", "record")
    assert b"the source holds the same samples" in run_shale("verify", packed, "--against", tmp_path / "out").stdout


def test_where_there_is_no_room_it_is_refused_with_the_way_round(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", shape=(1 << 25, 1 << 20), dtype="f8", chunks=(16, 1024), compression="gzip")
    for words in (["ls", path], ["cat", path, "0"], ["report", path, "--json"], ["verify", path]):
        assert b"hint: set TMPDIR to a folder on a disk with that much free space" in run_shale(*words, code=1).stderr


def test_the_memory_bounds_a_chunk(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.zeros((2, 2 << 20)), chunks=(1, 2 << 20), compression="gzip")
    for words in (["ls", path], ["cat", path, "0"], ["report", path, "--json"], ["verify", path]):
        assert b"--memory" in run_shale(*words, "--memory", "16MiB", code=1).stderr


@pytest.mark.parametrize("chunks", [(2, 4), None])
def test_rows_that_were_never_written_have_the_fill_value(chunks, tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        rows = file.create_dataset("x", shape=(9, 4), dtype="i4", chunks=chunks, fillvalue=7)
        if chunks:
            rows[2:5] = np.arange(12).reshape(3, 4)
        file["y"] = np.arange(9)
        expected = rows[:]
    for words in ([], ["--fields", "x"], ["--fields", "y"]):
        out = tmp_path / "-".join(["out", *words]).replace("--", "")
        run_shale("convert", path, out, "--to", "record", *words)
        with shale.Dataset(out) as dataset:
            assert len(dataset) == 9
            assert "x" not in dataset[0] or all((dataset[row]["x"] == expected[row]).all() for row in range(9))
    assert b"never written" in run_shale("info", path).stdout
    run_shale("cat", path, "8", "--field", "x", code=1)


@pytest.mark.parametrize("dtype", ["i2", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("more", [{}, {"chunks": (4,)}, {"chunks": (4,), "compression": "gzip"}], ids=["in one piece", "chunked", "gzip"])
def test_big_endian_numbers_of_one_axis_are_turned(dtype, more, tmp_path):
    """No kind of integer or real holds float16, uint64 and complex numbers: they are tensors, which stay as they lie where nobody looks."""
    path, numbers = tmp_path / "x.h5", np.arange(1, 11).astype(dtype)
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=numbers.astype(numbers.dtype.newbyteorder(">")), **more)
    run_shale("convert", path, tmp_path / "out", "--to", "record")
    with shale.Dataset(tmp_path / "out") as dataset:
        assert [sample["x"] for sample in dataset] == numbers.tolist()
    shown = run_shale("cat", path, "6", "--field", "x").stdout
    assert shown == numbers[6].tobytes() or float(shown) == 7


@pytest.mark.parametrize("more", [{}, {"compression": "gzip"}, {"compression": "gzip", "fletcher32": True}], ids=["plain", "gzip", "sums"])
def test_chunks_that_were_never_written_are_no_damage(more, tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("x", shape=(30, 5), dtype="i4", fillvalue=-7, chunks=(4, 2), **more)
        dataset[8:12] = 1
        wanted = dataset[...]
    assert json.loads(run_shale("verify", path, "--json").stdout)["samples"] == 30
    run_shale("convert", path, tmp_path / "out", "--to", "record", "--on-error", "skip")
    with shale.Dataset(tmp_path / "out") as dataset:
        assert np.array_equal([sample["x"] for sample in dataset], wanted)
