"""TFRecord files as others have them: compressed as a whole, SequenceExamples; written by the tfrecord package, without TensorFlow."""

import gzip
import shlex
import struct
import zlib

import crc32c
import numpy as np
import pytest
import shale
from conftest import run_shale
from tfrecord.writer import TFRecordWriter

IMAGES = [b"\xff\xd8\xff" + bytes([number]) * (100 * number) for number in range(40)]


def write_examples(path):
    writer = TFRecordWriter(str(path))
    for number, image in enumerate(IMAGES):
        writer.write({"image": (image, "byte"), "label": (number, "int"), "boxes": ([0.5] * (4 * (number % 3)), "float"), "ids": (list(range(number % 4)), "int")})
    writer.close()
    return path.read_bytes()


def write_sequences(path):
    """Steps of one value each but for `action`, of two; `reward` is missing where there are no steps."""
    writer = TFRecordWriter(str(path))
    for number in range(30):
        steps = number % 5 + (number > 0)
        lists = {
            "frames": ([[b"\xff\xd8\xff%d" % step] for step in range(steps)], "byte"),
            "token": ([[number * step] for step in range(steps)], "int"),
            "action": ([[step / 4, -step] for step in range(steps)], "float"),
        }
        writer.write({"episode": (number, "int"), "name": (b"run %d" % number, "byte")}, lists if steps else {"frames": ([], "byte")})
    writer.close()
    return path.read_bytes()


PACKINGS = {"plain": bytes, "gzip": gzip.compress, "zlib": zlib.compress}


@pytest.mark.parametrize("packing", ["gzip", "zlib"])
def test_files_that_are_compressed_as_a_whole_are_converted(tmp_path, packing):
    plain = write_examples(tmp_path / "plain.tfrecord")
    (tmp_path / "a.tfrecord").write_bytes(PACKINGS[packing](plain))
    said = run_shale("info", tmp_path / "a.tfrecord", code=1).stderr.decode()
    assert f"compressed with {packing}" in said and f"shale convert {tmp_path}/a.tfrecord OUT --to record" in said
    digests = [shale.convert(tmp_path / f"{name}.tfrecord", tmp_path / name, to="lmdb").content_digest for name in ("plain", "a")]
    assert digests[0] == digests[1]
    run_shale("verify", tmp_path / "a", "--against", tmp_path / "a.tfrecord")
    with shale.Dataset(tmp_path / "a") as dataset:
        assert [dataset[row]["image"] for row in range(len(dataset))] == IMAGES
        assert dataset[5]["ids"].tolist() == [0]


@pytest.mark.parametrize("packing", ["gzip", "zlib"])
def test_compressed_records_of_anything_else_are_plain(tmp_path, packing):
    values = [b"hello %d" % number * 9 for number in range(30)]

    def masked(content):
        crc = crc32c.crc32c(content)
        return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)

    lengths = [struct.pack("<Q", len(value)) for value in values]
    plain = b"".join(length + masked(length) + value + masked(value) for length, value in zip(lengths, values))
    (tmp_path / "a.tfrecord").write_bytes(PACKINGS[packing](plain))
    for parse in ([], ["--parse", "plain"]):
        run_shale("convert", tmp_path / "a.tfrecord", tmp_path / "out", "--to", "lmdb", "--overwrite", *parse)
        with shale.Dataset(tmp_path / "out") as dataset:
            assert [dataset[row]["value"] for row in range(len(dataset))] == values


def test_a_flipped_bit_is_damage_wherever_it_lies(tmp_path):
    """In the name of a feature it may make one that no field can have, or two of one name: the checksum speaks first."""
    path = tmp_path / "a.tfrecord"
    writer = TFRecordWriter(str(path))
    for number in range(3):
        writer.write({"img.a": (b"\xff\xd8", "byte"), "label_1": (number, "int"), "f": ([0.5, number], "float")})
    writer.close()
    plain = path.read_bytes()
    record = len(plain) // 3
    for at in range(record + 12, 2 * record - 4):
        for bit in range(8):
            path.write_bytes(plain[:at] + bytes([plain[at] ^ 1 << bit]) + plain[at + 1 :])
            told = run_shale("convert", path, tmp_path / "out", "--to", "record", code=3).stderr
            assert b"checksum" in told, (at, bit, told)


@pytest.mark.parametrize("change", [lambda packed: packed[: len(packed) // 2], lambda packed: packed[:-5] + b"12345", lambda packed: packed + b"more"])
def test_damaged_compressed_files_are_named(tmp_path, change):
    plain = write_examples(tmp_path / "plain.tfrecord")
    (tmp_path / "a.tfrecord").write_bytes(change(gzip.compress(plain)))
    done = run_shale("convert", tmp_path / "a.tfrecord", tmp_path / "out", "--to", "lmdb", code=3)
    assert b"a.tfrecord" in done.stderr and b"/proc/" not in done.stderr


def test_damage_below_the_compression_is_named(tmp_path):
    plain = bytearray(write_examples(tmp_path / "plain.tfrecord"))
    plain[len(plain) // 2] ^= 1
    (tmp_path / "a.tfrecord").write_bytes(gzip.compress(bytes(plain)))
    done = run_shale("convert", tmp_path / "a.tfrecord", tmp_path / "out", "--to", "lmdb", code=3)
    assert b"a.tfrecord: " in done.stderr and b"mismatch in the payload of the frame" in done.stderr and b"/proc/" not in done.stderr


@pytest.mark.parametrize("packing", PACKINGS)
def test_steps_of_sequence_examples_are_fields(tmp_path, packing):
    path = tmp_path / "s.tfrecord"
    path.write_bytes(PACKINGS[packing](write_sequences(path)))
    shale.convert(path, tmp_path / "out", to="lmdb", memory="16MiB")
    run_shale("verify", tmp_path / "out", "--against", path)
    with shale.Dataset(tmp_path / "out") as dataset:
        for number in range(30):
            sample, steps = dataset[number], number % 5 + (number > 0)
            assert (sample["episode"], sample["name"]) == (number, f"run {number}")
            assert sample["frames"] == [b"\xff\xd8\xff%d" % step for step in range(steps)]
            if steps == 0:
                assert sample["token"] is None and sample["action"] is None
                continue
            assert sample["token"].tolist() == [number * step for step in range(steps)]
            assert np.array_equal(sample["action"].reshape(steps, 2), [[step / 4, -step] for step in range(steps)])
            assert sample["action_lengths"].tolist() == [2] * steps


def test_sequence_examples_in_place_are_whole_records(tmp_path):
    path = tmp_path / "s.tfrecord"
    write_sequences(path)
    said = run_shale("info", path).stdout.decode()
    assert "value (bytes)" in said and f"'shale convert {path} OUT --to record' makes fields of its lists" in said
    run_shale("convert", path, tmp_path / "out", "--to", "record", "--parse", "plain")
    assert [field.name for field in shale.info(tmp_path / "out").fields] == ["value"]


def test_a_feature_and_a_list_of_one_name_are_refused(tmp_path):
    writer = TFRecordWriter(str(tmp_path / "s.tfrecord"))
    writer.write({"x": (1, "int")}, {"x": ([[1], [2]], "int")})
    writer.close()
    said = run_shale("convert", tmp_path / "s.tfrecord", tmp_path / "out", "--to", "lmdb", code=1).stderr.decode()
    assert "feature 'x' of the context and a feature list have one name" in said and "--parse plain" in said


def test_info_gives_fields_of_detection_sets_their_standard_names(tmp_path):
    """The command that it prints is run."""
    path = tmp_path / "coco train.tfrecord"
    writer = TFRecordWriter(str(path))
    for number in range(4):
        writer.write(
            {
                "image/encoded": (IMAGES[number + 1], "byte"),
                "image/class/label": (number, "int"),
                "image/class/text": (b"newt", "byte"),
                "image/filename": (b"%d.jpg" % number, "byte"),
                "image/object/bbox/xmin": ([0.25] * number, "float"),
                "image/object/class/label": ([1] * number, "int"),
            }
        )
    writer.close()
    said = run_shale("info", path).stdout.decode()
    words = shlex.split(said.split("under their standard names")[1].split("): shale ")[1].splitlines()[0])
    run_shale(*words, cwd=tmp_path)
    with shale.Dataset(tmp_path / "out") as dataset:
        assert set(dataset.types) == {"image", "label", "class_name", "file_name", "xmin", "labels"}
        assert dataset[3]["image"] == IMAGES[4] and dataset[3]["labels"].tolist() == [1, 1, 1]
    run_shale("verify", tmp_path / "out", "--against", path)


def test_an_episode_without_steps_is_named(tmp_path):
    path = tmp_path / "a.tfrecord"
    writer = TFRecordWriter(str(path))
    for steps in (2, 0, 1):
        writer.write({"steps/reward": ([0.5] * steps, "float"), "name": (b"n%d" % steps, "byte")})
    writer.close()
    done = run_shale("convert", path, tmp_path / "out", "--to", "record", "--parse", "episodes", code=4)
    assert b"left out: entry 'episode 1' (no_steps)" in done.stdout and b"note: 1 episode has no steps" in done.stderr
    with shale.Dataset(tmp_path / "out") as dataset:
        assert [(one["episode"], one["name"]) for one in dataset] == [(0, "n2"), (0, "n2"), (2, "n1")]


def test_what_the_steps_of_an_episode_do_not_divide_is_left_out(tmp_path):
    path = tmp_path / "a.tfrecord"
    writer = TFRecordWriter(str(path))
    for steps in (2, 3):
        writer.write(
            {
                "steps/is_first": ([1] + [0] * (steps - 1), "int"),
                "steps/odd": (list(range(5)), "int"),
                "steps/other": ([0.5] * (6 * (steps - 1)), "float"),
                "steps/grip": ([0.25] * (2 * steps), "float"),
                "name": (b"x", "byte"),
            }
        )
    writer.close()
    said = run_shale("convert", path, tmp_path / "out", "--to", "record", "--parse", "episodes", code=4).stderr
    assert b"feature 'steps/odd' is left out: its values are not as many for each step: episode 0 has 5 values for 2 steps" in said
    assert b"'steps/other' is left out: its values are not as many for each step: episode 1 has 12 values for 3 steps, those before it 3 a step" in said
    with shale.Dataset(tmp_path / "out") as dataset:
        assert dataset.types == {"episode": "integer", "grip": "float32 (2,)", "is_first": "integer", "name": "text", "step": "integer"}
        assert [(one["episode"], one["step"], one["is_first"]) for one in dataset] == [(0, 0, 1), (0, 1, 0), (1, 0, 1), (1, 1, 0), (1, 2, 0)]
    assert b"cannot be located in place" in run_shale("index", path, "--parse", "episodes", code=1).stderr


def test_episodes_without_steps_have_no_samples(tmp_path):
    writer = TFRecordWriter(str(tmp_path / "a.tfrecord"))
    writer.write({"steps/is_first": ([], "int"), "name": (b"x", "byte")})
    writer.close()
    said = run_shale("convert", tmp_path / "a.tfrecord", tmp_path / "out", "--to", "record", "--parse", "episodes", code=1).stderr
    assert b"a.tfrecord: none of its episodes has a step" in said


def frames_of(content):
    frames, at = [], 0
    while at < len(content):
        end = at + 16 + int.from_bytes(content[at : at + 8], "little")
        frames.append((at, end))
        at = end
    return frames


@pytest.mark.parametrize("write", [write_examples, write_sequences])
def test_of_a_damaged_file_all_other_records_come_out_with_their_lists(tmp_path, write):
    """Damage in the first record, in two that are neighbours, between, and at the end: what is unpacked passes over the same ranges."""

    def samples(out):
        with shale.Dataset(out) as dataset:
            return [[np.asarray(value).tolist() for value in dataset[row].values()] for row in range(len(dataset))]

    content = write(tmp_path / "whole.tfrecord")
    shale.convert(tmp_path / "whole.tfrecord", tmp_path / "whole", to="lmdb")
    everything, frames = samples(tmp_path / "whole"), frames_of(content)
    path = tmp_path / "bad.tfrecord"
    for damaged in ([0], [3, 4], [9, 20], [len(frames) - 1]):
        bad = bytearray(content)
        for number in damaged:
            bad[frames[number][0] + 12] ^= 0x40
        path.write_bytes(bad)
        out = tmp_path / "-".join(map(str, damaged))
        result = shale.convert(path, out, to="lmdb", on_error="skip", max_errors="100%")
        assert samples(out) == [sample for number, sample in enumerate(everything) if number not in damaged]
        assert result.skipped == len(damaged)
