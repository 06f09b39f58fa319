"""Damaged HDF5 files that h5py wrote: what comes out of them is what was written, and what does not is named."""

import csv
import random
import shutil

import h5py
import numpy as np
import pytest
import shale
from conftest import drawn, run_shale

ROWS = 30
RECORD = np.dtype([("a", "i4"), ("b", "f8", (3,))])


def with_object_renumbered(content, text):
    """The object of the global heap that holds `text` has another number: what refers to it leads nowhere."""
    at = content.index(text + b"\0" * (-len(text) % 8 or 8)) - 16
    return content[:at] + (9999).to_bytes(2, "little") + content[at + 2 :]


def groups(file):
    for i in range(ROWS):
        group = file.create_group(f"s{i}")
        group["x"], group["t"] = np.arange(i), f"text {i} of a group"


def packed_groups(file):
    groups(file)
    for i in range(ROWS):
        file[f"s{i}"].create_dataset("z", data=np.arange(40), compression="gzip")


def attributes(file):
    for i in range(ROWS):
        group = file.create_group(f"s{i}")
        group.create_dataset("z", data=np.arange(40), compression="gzip")
        group.attrs["t"] = f"text {i} of a group"


def table(file):
    texts = [f"text {i} of a group" for i in range(ROWS)]
    file.create_dataset("t", data=texts, dtype=h5py.string_dtype(), chunks=(7,), maxshape=(None,), compression="gzip")


@pytest.mark.parametrize(
    "build, place", [(groups, "sample 's5'"), (packed_groups, "sample 's5'"), (attributes, "sample 's5'"), (table, "row 5 of")]
)
def test_a_string_that_is_not_where_its_reference_leads_is_refused_by_name(build, place, tmp_path):
    path = tmp_path / "in.h5"
    with h5py.File(path, "w") as file:
        build(file)
    path.write_bytes(with_object_renumbered(path.read_bytes(), b"text 5 of a group"))

    said = run_shale("convert", path, tmp_path / "out", "--to", "record", code=3).stderr.decode()

    assert place in said and "'t'" in said and "global heap: the collection has no object" in said, said


# ---- what is whole of a damaged file

SKIP = ("--on-error", "skip", "--max-errors", "100%", "--quiet")
NUMBERS = np.random.default_rng(42).integers(0, 1000, (ROWS, 5), dtype="i4")
PIXELS = np.random.default_rng(43).integers(0, 255, (ROWS, 40), dtype="u1")
WRITTEN = {"x": NUMBERS, "b": PIXELS, "y": np.arange(ROWS) / 2, "t": [f"text {i} " * (i % 7) for i in range(ROWS)]}


def proved_table(file):
    """Each chunk has a checksum, or a stream that has one."""
    file.create_dataset("x", data=NUMBERS, chunks=(7, 3), compression="gzip", shuffle=True)
    file.create_dataset("b", data=PIXELS, chunks=(4, 40), compression="gzip", fletcher32=True)
    file.create_dataset("y", data=WRITTEN["y"], chunks=(5,), compression="gzip", fletcher32=True)


def plain_table(file):
    file["x"], file["b"], file["y"] = NUMBERS, PIXELS, WRITTEN["y"]


def text_table(file):
    file.create_dataset("t", data=WRITTEN["t"], dtype=h5py.string_dtype())
    file.create_dataset("x", data=NUMBERS, chunks=(7, 5), compression="gzip")


def proved_groups(file):
    for i in range(ROWS):
        group = file.create_group(f"s{i:02}")
        group.create_dataset("x", data=NUMBERS[i], compression="gzip", fletcher32=True)
        group.create_dataset("b", data=PIXELS[i], chunks=(10,), fletcher32=True)
        group.attrs["t"] = WRITTEN["t"][i]


def episodes(file):
    """robomimic's layout: an episode of 10 steps each."""
    for number in range(3):
        rows = slice(10 * number, 10 * number + 10)
        group = file.create_group(f"data/demo_{number}")
        group.create_dataset("x", data=NUMBERS[rows], chunks=(2, 5), compression="gzip", fletcher32=True)
        group.create_dataset("obs/b", data=PIXELS[rows], chunks=(3, 40), compression="gzip", fletcher32=True)


def made(build, path):
    with h5py.File(path, "w") as file:
        build(file)
    return path.read_bytes()


def saved(path, out, *words):
    """The samples that come out, by the row that they were written as; the lines of skipped.csv. None: nothing is whole."""
    shutil.rmtree(out, ignore_errors=True)
    done = run_shale("convert", path, out, "--to", "record", *SKIP, *words, code=(0, 1, 2, 3, 4))
    if done.returncode in (1, 2, 3):
        return None, []
    with shale.Dataset(out) as dataset:
        rows = {int(sample["key"].lstrip("s")): sample for sample in dataset}
    lines = list(csv.reader((out / "skipped.csv").read_text().splitlines()))[1:] if (out / "skipped.csv").exists() else []
    assert done.returncode == 4 or (len(rows) == ROWS and not lines)
    return rows, lines


def check_rows(rows):
    for row, sample in (rows or {}).items():
        for name, value in sample.items():
            if name not in ("key", "demo", "step"):
                assert np.array_equal(value, WRITTEN[name.removeprefix("obs_")][row]), (row, name, value)


def damaged(content, how, at, dice):
    count = {"flip": 1, "zero": 64, "noise": 16}[how]
    old = content[at : at + count]
    new = {"flip": bytes([old[0] ^ 1 << dice.randrange(8)]), "zero": bytes(len(old)), "noise": dice.randbytes(len(old))}[how]
    return content[:at] + new + content[at + count :]


@pytest.mark.parametrize("how", ["flip", "zero", "noise"])
def test_wherever_a_table_is_damaged_what_comes_out_is_what_was_written(how, tmp_path):
    """Of chunks that prove themselves; also the index of the chunks, headers, and the list of the datasets."""
    content = made(proved_table, tmp_path / "in.h5")
    dice = random.Random(how)
    kept = []
    for at in range(dice.randrange(80), len(content), len(content) // 24):
        (tmp_path / "bad.h5").write_bytes(damaged(content, how, at, dice))
        rows, _ = saved(tmp_path / "bad.h5", tmp_path / "out")
        check_rows(rows)
        kept.append(len(rows or []))
    assert sum(kept) > 0.75 * ROWS * len(kept)


@pytest.mark.parametrize("build", [plain_table, proved_table, text_table, proved_groups, episodes])
def test_of_a_truncated_file_comes_what_lies_in_it(build, tmp_path):
    content = made(build, tmp_path / "in.h5")
    path = tmp_path / "bad.h5"
    for share in (0.2, 0.4, 0.6, 0.8, 0.95, 0.999):
        path.write_bytes(content[: int(share * len(content))])
        told = run_shale("convert", path, tmp_path / "none", "--to", "record", code=(1, 3)).stderr
        assert b"pass --on-error skip to take what is whole of it" in told, told
        rows, lines = saved(path, tmp_path / "out")
        check_rows(rows)
        if share > 0.9 and build in (plain_table, proved_groups):
            assert rows and lines and len(rows) < ROWS


def test_rows_of_a_contiguous_table_keep_their_numbers(tmp_path):
    """The last dataset ends with the file: its last rows are not whole."""
    content = made(plain_table, tmp_path / "in.h5")
    path = tmp_path / "bad.h5"
    with h5py.File(tmp_path / "in.h5") as file:
        end = file["y"].id.get_offset() + file["y"].nbytes
        assert end == len(content)
    path.write_bytes(content[: end - 17])
    rows, lines = saved(path, tmp_path / "out")
    check_rows(rows)
    assert list(rows) == [*range(ROWS - 3)]
    assert lines[0][0] == str(ROWS - 3) and "dataset 'y'" in lines[0][2]


def test_a_chunk_that_is_damaged_loses_its_rows_in_all_fields(tmp_path):
    content = made(proved_table, tmp_path / "in.h5")
    with h5py.File(tmp_path / "in.h5") as file:
        chunks = [file["b"].id.get_chunk_info(i) for i in range(file["b"].id.get_num_chunks())]
    for chunk in (chunks[0], chunks[3], chunks[-1]):
        at = chunk.byte_offset + chunk.size // 2
        (tmp_path / "bad.h5").write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        rows, lines = saved(tmp_path / "bad.h5", tmp_path / "out")
        check_rows(rows)
        lost = range(chunk.chunk_offset[0], min(chunk.chunk_offset[0] + 4, ROWS))
        assert list(rows) == [row for row in range(ROWS) if row not in lost]
        assert len(lines) == 1 and lines[0][0] == str(lost[0]) and f"rows {lost[0]} to {lost[-1]}: dataset 'b'" in lines[0][2]
        rows, lines = saved(tmp_path / "bad.h5", tmp_path / "out", "--fields", "x,y")
        check_rows(rows)
        assert len(rows) == ROWS and not lines


def test_fields_that_are_chosen_lose_nothing_with_the_others(tmp_path):
    """Of what is left of a truncated file, one field alone may be whole; that another is lost as a whole is said."""
    content = made(proved_table, tmp_path / "in.h5")
    path, more = tmp_path / "bad.h5", 0
    for share in (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.999):
        path.write_bytes(content[: int(share * len(content))])
        rows = saved(path, tmp_path / "out")[0] or {}
        for name in ("x", "b", "y"):
            alone = saved(path, tmp_path / "out", "--fields", name)[0] or {}
            check_rows(alone)
            if any(name in sample for sample in rows.values()):
                assert set(rows) <= set(alone)
            more += len(alone) - len(rows)
    assert more > ROWS


@pytest.mark.parametrize("build", [proved_groups, episodes])
def test_damaged_chunks_of_groups_lose_their_samples_alone(build, tmp_path):
    content = made(build, tmp_path / "in.h5")
    places = []
    with h5py.File(tmp_path / "in.h5") as file:
        file.visititems(lambda name, one: places.append(one.id.get_chunk_info(0)) if isinstance(one, h5py.Dataset) else None)
    for chunk in random.Random(1).sample(places, 5):
        at = chunk.byte_offset + chunk.size // 2
        (tmp_path / "bad.h5").write_bytes(content[:at] + bytes([content[at] ^ 8]) + content[at + 1 :])
        rows, lines = saved(tmp_path / "bad.h5", tmp_path / "out")
        check_rows(rows)
        assert ROWS - 3 <= len(rows) < ROWS and len(lines) == 1


def test_values_of_two_rows_that_lead_to_one_object_are_both_lost(tmp_path):
    made(text_table, tmp_path / "in.h5")
    with h5py.File(tmp_path / "in.h5") as file:
        begin = file["t"].id.get_offset()
    content = bytearray((tmp_path / "in.h5").read_bytes())
    content[begin + 16 * 8 : begin + 16 * 9] = content[begin + 16 * 15 : begin + 16 * 16]
    (tmp_path / "bad.h5").write_bytes(content)
    rows, lines = saved(tmp_path / "bad.h5", tmp_path / "out")
    check_rows(rows)
    assert list(rows) == [row for row in range(ROWS) if row not in (8, 15)] and len(lines) == 2


# ---- without --on-error skip

CHUNKS = {"chunks": (4, 5), "compression": "gzip", "fletcher32": True}


def packed_numbers(file):
    file.create_dataset("x", data=NUMBERS, **CHUNKS)


def numbers_in_place(file):
    file.create_dataset("x", data=NUMBERS, chunks=(4, 5))


def numbers_of_groups(file):
    for name in ("a", "b"):
        file.create_group(name).create_dataset("x", data=NUMBERS, **CHUNKS)


@pytest.mark.parametrize("build, words", [(packed_numbers, ()), (numbers_in_place, ()), (numbers_of_groups, ("--parse", "samples"))])
def test_a_chunk_that_is_not_where_the_index_says_is_damage_and_not_zeros(build, words, tmp_path):
    """The index of h5py has no checksum; its library takes such a chunk for one that was never written."""
    content = bytearray(made(build, tmp_path / "in.h5"))
    tree = next(i for i in range(len(content)) if content[i : i + 4] == b"TREE" and content[i + 4] == 1)
    third = tree + 24 + 2 * 40 + 8
    assert content[third] == 8
    content[third] ^= 16
    (tmp_path / "bad.h5").write_bytes(content)

    said = run_shale("convert", tmp_path / "bad.h5", tmp_path / "out", "--to", "record", *words, code=3).stderr.decode()

    assert "a chunk of it is not where the index of chunks says" in said and "'x'" in said, said
    assert not (tmp_path / "out").exists()


def test_a_chunk_that_is_shorter_than_its_rows_is_damage_and_not_what_lies_in_memory(tmp_path):
    """A flipped bit says that gzip was not used: the library does not compare sizes."""
    content = bytearray(made(packed_numbers, tmp_path / "in.h5"))
    tree = next(i for i in range(len(content)) if content[i : i + 4] == b"TREE" and content[i + 4] == 1)
    content[tree + 24 + 2 * 40 + 4] ^= 1
    (tmp_path / "bad.h5").write_bytes(content)

    run_shale("convert", tmp_path / "bad.h5", tmp_path / "out", "--to", "record", code=3)

    rows, lines = saved(tmp_path / "bad.h5", tmp_path / "out")
    check_rows(rows)
    assert list(rows) == [*range(8), *range(12, ROWS)] and lines


# Flipped bits that no reader can see: signs, byte order, a class, sides of a dataset. They are another file, and a sound one.
LAYOUTS = {
    "gzip": {"chunks": (7, 5), "compression": "gzip"},
    "shuffled": {"chunks": (7, 5), "compression": "gzip", "shuffle": True},
    "checked": {"chunks": (30, 5), "compression": "gzip", "fletcher32": True},
    "lzf": {"chunks": (15, 5), "compression": "lzf"},
    "chunked": {"chunks": (7, 5)},
}


def messages(content, kinds):
    """Where the messages of such kinds lie in the header of the dataset `x`, version 1: (begin, end) with their heads."""
    header = max(i for i in range(0, len(content), 8) if content[i] == 1 and content[i + 1] == 0 and content[i + 4 : i + 8] == b"\1\0\0\0")
    count, at, found = int.from_bytes(content[header + 2 : header + 4], "little"), header + 16, []
    for _ in range(count):
        kind, size = (int.from_bytes(content[i : i + 2], "little") for i in (at, at + 2))
        if kind in kinds:
            found.append((at, at + 8 + size))
        at += 8 + size
    return found


@pytest.mark.parametrize("how", LAYOUTS)
def test_no_bit_of_the_chunks_or_the_filters_gives_other_numbers(how, tmp_path):
    """The header has no checksum. HDF5 takes it as it is, and gives what lies in memory where a chunk is too short."""
    layout, pipeline = 8, 11
    numbers = np.arange(ROWS * 5, dtype="i4").reshape(ROWS, 5) % 7
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("x", data=numbers, **LAYOUTS[how])
    content = (tmp_path / "in.h5").read_bytes()
    found = messages(content, {layout, pipeline})
    assert len(found) == (1 if how == "chunked" else 2)
    bits = [(at, bit) for begin, end in found for at in range(begin, end) for bit in range(8)]

    refused = 0
    for at, bit in drawn(bits, 48):
        damaged = bytearray(content)
        damaged[at] ^= 1 << bit
        (tmp_path / "bad.h5").write_bytes(damaged)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        done = run_shale("convert", tmp_path / "bad.h5", tmp_path / "out", "--to", "record", "--fields", "x", code=(0, 1, 2, 3))
        refused += done.returncode != 0
        if done.returncode == 0:
            with shale.Dataset(tmp_path / "out") as dataset:
                assert np.array_equal([sample["x"] for sample in dataset], numbers), (at, bit)
    assert refused > 5


@pytest.mark.parametrize("offset", [0, 3, 5, 1 << 20])
def test_a_member_that_overlaps_another_or_lies_outside_of_its_record_is_damage(offset, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["x"] = np.zeros(ROWS, RECORD)
    content = (tmp_path / "in.h5").read_bytes()
    member = b"b\0\0\0\0\0\0\0" + (4).to_bytes(4, "little")
    assert content.count(member) == 1
    (tmp_path / "bad.h5").write_bytes(content.replace(member, member[:8] + offset.to_bytes(4, "little")))

    said = run_shale("convert", tmp_path / "bad.h5", tmp_path / "out", "--to", "record", code=3).stderr.decode()

    overlaps = "member overlaps with previous member"  # that is seen by the library
    assert (overlaps if offset < 4 else "dataset 'x': its member 'b' lies outside of its records") in said, said


@pytest.mark.parametrize("rows", [28, 31])
def test_a_damaged_number_of_rows_is_seen(rows, tmp_path):
    content = made(packed_numbers, tmp_path / "in.h5")
    sides = np.array([ROWS, 5, ROWS, 5], "<u8").tobytes()
    assert content.count(sides) == 1
    (tmp_path / "bad.h5").write_bytes(content.replace(sides, np.array([rows, 5, ROWS, 5], "<u8").tobytes()))

    run_shale("convert", tmp_path / "bad.h5", tmp_path / "out", "--to", "record", code=3)
    assert saved(tmp_path / "bad.h5", tmp_path / "out")[0] is None


@pytest.mark.parametrize("filters", [{}, {"shuffle": True}, {"fletcher32": True}, {"compression": "lzf"}, {"compression": "gzip"}])
def test_sound_chunks_of_every_type_are_whole(filters, tmp_path):
    record = np.dtype([("a", "i4"), ("b", "f8", (3,))])
    texts = [f"text {i} " * (i % 7) for i in range(ROWS)]
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("x", data=NUMBERS.astype(">i4"), chunks=(7, 3), **filters)
        file.create_dataset("noise", data=np.random.default_rng(0).random((ROWS, 9)), chunks=(4, 9), **filters)
        file.create_dataset("flag", data=NUMBERS[:, 0] > 500, chunks=(8,), **filters)
        file.create_dataset("fixed", data=np.array(texts, "S40"), chunks=(9,), **filters)
        file.create_dataset("r", data=np.zeros(ROWS, record), chunks=(4,), **filters)
        if "fletcher32" not in filters:
            file.create_dataset("t", data=texts, dtype=h5py.string_dtype(), chunks=(5,), **filters)

    run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "record")

    with shale.Dataset(tmp_path / "out") as dataset:
        assert [sample["x"].tolist() for sample in dataset] == NUMBERS.tolist()


@pytest.mark.parametrize("shuffle", [False, True])
def test_filters_that_are_set_to_elements_and_chunks_are_set_right_in_sound_files(shuffle, tmp_path):
    """Of arrays, of records, of strings of any length; scale-offset and N-bit, of chunks that are larger than the dataset, too."""
    vectors, records = np.dtype(("f4", (3,))), np.zeros(ROWS, RECORD)
    how = {"chunks": (7,), "compression": "gzip", "shuffle": shuffle}
    nbit = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    nbit.set_chunk((7, 5))
    if shuffle:
        nbit.set_shuffle()
    nbit.set_filter(5, h5py.h5z.FLAG_MANDATORY)
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("scaled", data=NUMBERS, chunks=(7, 5), scaleoffset=0, shuffle=shuffle)
        file.create_dataset("large", data=NUMBERS, chunks=(64, 5), maxshape=(None, 5), scaleoffset=0, shuffle=shuffle)
        file.create_dataset("rounded", data=WRITTEN["y"], chunks=(7,), scaleoffset=3, shuffle=shuffle)
        bits = h5py.h5d.create(file.id, b"bits", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((ROWS, 5)), nbit)
        bits.write(h5py.h5s.ALL, h5py.h5s.ALL, NUMBERS)
        file.create_dataset("v", (ROWS,), vectors, **how)[:] = np.arange(3 * ROWS).reshape(ROWS, 3)
        file.create_dataset("r", data=records, **how)
        file.create_dataset("t", data=WRITTEN["t"], dtype=h5py.string_dtype(), **how)
        file.create_dataset("m", data=np.array([(i, f"text {i}") for i in range(ROWS)], [("n", "i4"), ("t", h5py.string_dtype())]), **how)

    run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "record")

    with shale.Dataset(tmp_path / "out") as dataset:
        for row, sample in enumerate(dataset):
            for name in ("scaled", "large", "bits"):
                assert sample[name].tolist() == NUMBERS[row].tolist(), (name, row)
            assert sample["rounded"] == WRITTEN["y"][row] and sample["t"] == WRITTEN["t"][row]
            assert sample["v"].tolist() == [3 * row, 3 * row + 1, 3 * row + 2]


@pytest.mark.parametrize("packed", [{}, {"compression": "gzip"}])
@pytest.mark.parametrize("rows", [30, 100_000])
def test_rows_that_were_never_written_are_no_damage(rows, packed, tmp_path):
    expected = np.zeros(rows, "i4")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        x = file.create_dataset("x", shape=(rows,), dtype="i4", chunks=(4,), **packed)
        for first in (8, 20):
            x[first : first + 4] = expected[first : first + 4] = range(first, first + 4)

    run_shale("convert", tmp_path / "in.h5", tmp_path / "out.npy", "--fields", "x")

    assert np.array_equal(np.load(tmp_path / "out.npy"), expected)


def test_of_few_chunks_in_a_large_shape_each_is_where_the_index_says(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        x = file.create_dataset("x", shape=(100_000, 5), dtype="i4", **CHUNKS)
        for first in (0, 4, 8, 12):
            x[first : first + 4] = NUMBERS[first : first + 4]
    content = bytearray((tmp_path / "in.h5").read_bytes())
    tree = next(i for i in range(len(content)) if content[i : i + 4] == b"TREE" and content[i + 4] == 1)
    content[tree + 24 + 2 * 40 + 8] ^= 16
    (tmp_path / "in.h5").write_bytes(content)

    run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "record", "--fields", "x", code=3)


# ---- what somebody from outside found (docs/hardening.md)


@pytest.mark.parametrize("parent", ["", "data/"])
@pytest.mark.parametrize("number", [0, 4, 8])
def test_a_damaged_sample_does_not_take_the_one_before_with_it(parent, number, tmp_path):
    """Its header: nothing of it comes, so that the one before was still at hand, and its parent was no parent of samples."""
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for i in range(9):
            file[f"{parent}sample{i}/x"] = np.arange(5.0) + i
        at = h5py.h5o.get_info(file[f"{parent}sample{number}"].id).addr
    content = bytearray((tmp_path / "in.h5").read_bytes())
    content[at] = 9
    (tmp_path / "bad.h5").write_bytes(content)

    run_shale("convert", tmp_path / "bad.h5", tmp_path / "out", "--to", "record", *SKIP, code=4)

    with shale.Dataset(tmp_path / "out") as dataset:
        assert [sample["key"] for sample in dataset] == [f"sample{i}" for i in range(9) if i != number]
    assert [line[0] for line in csv.reader((tmp_path / "out/skipped.csv").read_text().splitlines())][1:] == [f"sample{number}"]


def test_what_lies_beside_demonstrations_is_left_out_by_name(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for name in ("demo_0", "demo_1", "demo]2", "extra"):
            file[f"data/{name}/actions"] = np.arange(12.0).reshape(4, 3)
        file["data/demo_3"] = np.arange(3)
        file["data/demo_4"] = h5py.SoftLink("/data/demo_0")

    said = run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "record", code=4).stderr.decode()

    for name in ("demo]2", "extra", "demo_3", "demo_4"):
        assert f"data/{name}" in said, said
    with shale.Dataset(tmp_path / "out") as dataset:
        assert len(dataset) == 8


@pytest.mark.parametrize("packed", [True, False])
def test_a_reference_to_a_part_of_a_string_is_damage(packed, tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        chunks = {"chunks": (3,)} if packed else {}
        texts = file.create_dataset("x", data=["abcd", "efgh", "ijkl"], dtype=h5py.string_dtype(), **chunks)
        at = texts.id.get_chunk_info(0).byte_offset if packed else texts.id.get_offset()
    content = bytearray((tmp_path / "in.h5").read_bytes())
    content[at + 16] = 2
    (tmp_path / "bad.h5").write_bytes(content)

    for command in ("convert", "verify"):
        words = [tmp_path / "out", "--to", "record"] if command == "convert" else []
        said = run_shale(command, tmp_path / "bad.h5", *words, code=3)
        assert "has 4 bytes, but 2 are requested" in said.stderr.decode() + said.stdout.decode()


@pytest.mark.parametrize("filters", [{"shuffle": True, "compression": "gzip"}, {"fletcher32": True, "compression": "gzip"}, {"fletcher32": True}])
def test_a_chunk_that_was_written_directly_may_pass_over_all_filters(filters, tmp_path):
    """write_direct_chunk: what other programs compress, or do not."""
    with h5py.File(tmp_path / "in.h5", "w") as file:
        x = file.create_dataset("x", data=np.arange(40, dtype="i4"), chunks=(10,), **filters)
        x.id.write_direct_chunk((10,), np.full(10, 7, "i4").tobytes(), 2 ** len(filters) - 1)
    with h5py.File(tmp_path / "in.h5") as file:
        expected = file["x"][:]
    assert expected[10] == 7

    run_shale("convert", tmp_path / "in.h5", tmp_path / "out.npy")
    run_shale("verify", tmp_path / "in.h5")

    assert np.array_equal(np.load(tmp_path / "out.npy"), expected)


def test_big_endian_enumerations_are_unpacked_as_their_numbers(tmp_path):
    enum = h5py.enum_dtype({"A": 0, "B": 1, "C": 2}, basetype=">i2")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("e", data=[0, 1, 2], dtype=enum, chunks=(2,), compression="gzip")
        file.create_dataset("a", (3,), np.dtype((enum, (2,))), chunks=(2,))[:] = [[0, 1], [1, 2], [2, 0]]
        file.create_dataset("r", data=np.array([(1, 0), (2, 1), (0, 2)], [("e", enum), ("n", ">i4")]), chunks=(2,))

    run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "record", code=4)  # without their names

    with shale.Dataset(tmp_path / "out") as dataset:
        assert [sample["e"] for sample in dataset] == [0, 1, 2]
        assert [sample["a"].tolist() for sample in dataset] == [[0, 1], [1, 2], [2, 0]]
        assert [(sample["r_e"], sample["r_n"]) for sample in dataset] == [(1, 0), (2, 1), (0, 2)]


def test_behind_a_user_block_what_was_never_written_is_no_damage(tmp_path):
    """MATLAB writes such a block."""
    with h5py.File(tmp_path / "in.h5", "w", userblock_size=512) as file:
        file.create_dataset("x", (5, 2), "f8", fillvalue=1.5)
        file.create_dataset("s", data=np.arange(5), chunks=(2,), compression="gzip")

    run_shale("verify", tmp_path / "in.h5")
    run_shale("convert", tmp_path / "in.h5", tmp_path / "out", "--to", "record", *SKIP)

    with shale.Dataset(tmp_path / "out") as dataset:
        assert [(sample["s"], sample["x"].tolist()) for sample in dataset] == [(i, [1.5, 1.5]) for i in range(5)]
