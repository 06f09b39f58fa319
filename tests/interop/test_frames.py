"""Frames of videos: every frame is the source's file, in natural order; lists in every format that holds them, and out again."""

import json
import random
import re
import shutil

import h5py
import numpy
import pytest
from conftest import ROOT, run_shale
from documented_code import blocks_of, bytes_left_by, lines_of
from PIL import Image
from shale import Dataset, Writer, convert, errors, merge, repair, verify
from tfrecord.writer import TFRecordWriter

FORMATS = [one["name"] for one in json.loads(run_shale("formats", "--json").stdout)["formats"] if "list" in one["kinds"]]


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """Three classes; "a-b" sorts between the folders of "a" and those below it. Numbers without zeros in front, 7 to 13 frames."""
    root, dice = tmp_path_factory.mktemp("videos"), random.Random(7)
    for number, name in enumerate(("a/v1", "a/v1-x", "a/v1/part", "a-b/v0", "b/v2", "b/v10")):
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        for frame in range(1, 8 + number):
            color = tuple(dice.randrange(256) for _ in range(3))
            Image.new("RGB", (8, 6), color).save(folder / f"frame_{frame}.jpg", quality=dice.randint(50, 95))
    return root


def expected(root):
    found = {}
    for folder in sorted({path.parent for path in root.rglob("*.jpg")}):
        frames = sorted(folder.glob("*.jpg"), key=lambda path: int(path.stem.split("_")[1]))
        found[str(folder.relative_to(root))] = [path.read_bytes() for path in frames]
    return found


def read(path):
    return {sample["key"]: [bytes(frame) for frame in sample["frames"]] for sample in Dataset(path)}


@pytest.mark.parametrize("words", [{}, {"shuffle": True, "seed": 3}, {"shard_samples": 2, "jobs": 1}], ids=["plain", "shuffled", "shards"])
@pytest.mark.parametrize("to", FORMATS)
def test_every_frame_is_there_in_natural_order(to, words, videos, tmp_path):
    done = convert(videos, tmp_path / "out", to=to, group="frames", **words)
    assert (done.samples, done.skipped) == (6, 0)
    assert read(tmp_path / "out") == expected(videos)
    labels = {sample["key"].split("/")[0]: sample["label"] for sample in Dataset(tmp_path / "out")}
    assert labels == {"a": 0, "a-b": 1, "b": 2}
    assert verify(tmp_path / "out", against=videos).ok
    assert verify(tmp_path / "out", deep=True).ok
    info = json.loads(run_shale("info", tmp_path / "out", "--json").stdout)
    assert info["images"]["types"] == {"jpeg": sum(range(7, 13))}
    assert info["source"]["kind"] == "video frames"


def test_keys_and_order_are_those_of_the_folder(videos, tmp_path):
    convert(videos, tmp_path / "out", to="record", group="frames")
    assert [sample["key"] for sample in Dataset(tmp_path / "out")] == ["a/v1", "a/v1-x", "a/v1/part", "a-b/v0", "b/v10", "b/v2"]


def test_from_one_format_to_another(videos, tmp_path):
    first = convert(videos, tmp_path / "0", to=FORMATS[0], group="frames")
    for number, to in enumerate(FORMATS[1:] + FORMATS[:1]):
        again = convert(tmp_path / str(number), tmp_path / str(number + 1), to=to)
        assert again.content_digest == first.content_digest
    assert verify(tmp_path / str(len(FORMATS)), against=videos).ok


def test_parts_chosen_videos_and_repair(videos, tmp_path):
    whole = convert(videos, tmp_path / "whole", to="record", group="frames", shuffle=True)
    for part in range(4):
        convert(videos, tmp_path / "parts", to="record", group="frames", shuffle=True, parts=(part, 4), listing=tmp_path / "list")
    assert merge([tmp_path / "parts"], tmp_path / "merged").ordered_digest == whole.ordered_digest
    (tmp_path / "whole/shard-000000.tfrecord").unlink()
    assert repair(tmp_path / "whole", source=videos).left == 0
    (tmp_path / "some").write_text("b/v2\na/v1/part\n")
    convert(videos, tmp_path / "chosen", to="record", group="frames", select=tmp_path / "some")
    assert list(read(tmp_path / "chosen")) == ["a/v1/part", "b/v2"]
    assert verify(tmp_path / "chosen", against=videos).ok


def test_a_source_that_differs_is_named_frame_by_frame(videos, tmp_path):
    import shutil

    source = tmp_path / "source"
    shutil.copytree(videos, source)
    convert(source, tmp_path / "out", to="lmdb", group="frames")
    changed = source / "b/v10/frame_10.jpg"
    content = bytearray(changed.read_bytes())
    content[30] ^= 1
    changed.write_bytes(content)
    (source / "a/v1/frame_2.jpg").unlink()
    with open(source / "a-b/v0/frame_1.jpg", "ab") as file:
        file.write(b"x")
    shutil.move(source / "b/v2", source / "b/v3")
    found = [finding.message for finding in verify(tmp_path / "out", against=source).first_findings]
    assert sorted(found) == [
        "frame 0 differs in size from the source file",
        "frame 9 differs from the source file",
        "sample has another number of frames than the source",
        "sample is not in the source",
        "source file is not in the dataset, nor in skipped.csv",
    ]


def test_bad_and_odd_videos(tmp_path):
    for name in ("c/good", "c/cut", "c/sizes", "c/gap"):
        folder = tmp_path / "in" / name
        folder.mkdir(parents=True)
        for frame in range(4):
            Image.new("RGB", (8 + (frame if name == "c/sizes" else 0), 6)).save(folder / f"{frame}.png")
    (tmp_path / "in/c/gap/2.png").unlink()
    cut = tmp_path / "in/c/cut/3.png"
    cut.write_bytes(cut.read_bytes()[:-5])
    done = run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--group", "frames", code=4)
    assert b"1 video has a gap in the numbering of frames; the first: c/gap: 3.png follows 1.png" in done.stderr
    assert b"c/cut: has a bad frame: number 3, 3.png, is truncated" in done.stdout
    assert (tmp_path / "out/images.csv").read_text().splitlines()[1:] == ["c/sizes,frame-sizes,png,8,6,rgb"]
    assert list(read(tmp_path / "out")) == ["c/gap", "c/good", "c/sizes"]
    with pytest.raises(errors.ContentError, match="has a bad frame: number 3, 3.png"):
        convert(tmp_path / "in", tmp_path / "fails", to="record", group="frames", on_error="fail")
    (tmp_path / "in/c/none").mkdir()
    with pytest.raises(errors.ContentError, match="c/none: video has no frames"):
        convert(tmp_path / "in", tmp_path / "fails", to="record", group="frames")
    convert(tmp_path / "in", tmp_path / "empty", to="record", group="frames", allow_empty=True)
    Image.new("RGB", (1, 1)).save(tmp_path / "in/c/loose.png")
    with pytest.raises(errors.ContentError, match="loose.png: is an image beside the folders of videos"):
        convert(tmp_path / "in", tmp_path / "fails", to="record", group="frames", allow_empty=True)


def test_what_is_said_of_gaps_and_of_videos_that_are_left_out(tmp_path):
    (tmp_path / "in/A/v").mkdir(parents=True)
    for number in range(1, 12):
        Image.new("RGB", (8, 6)).save(tmp_path / f"in/A/v/frame_{number}.jpg")
    done = run_shale("convert", tmp_path / "in", tmp_path / "k.lmdb", "--group", "frames", "--layout", "coclr")
    assert not re.search(rb"\bgap", done.stderr)  # though frame_10 comes before frame_2
    (tmp_path / "in/A/w").mkdir()
    done = run_shale("convert", tmp_path / "in", tmp_path / "out", "--to", "record", "--group", "frames", "--allow-empty")
    assert b"left out 1 video without frames; the first: A/w" in done.stderr
    done = run_shale("convert", tmp_path / "out", tmp_path / "again.lmdb", "--layout", "coclr")
    assert b"the frames keep the order of the input" in done.stderr


def large_video(folder):
    """24 frames, 25,920,360 bytes."""
    (folder / "in/A/v").mkdir(parents=True)
    frames = [b"P6 600 600 255\n" + bytes([number]) * (600 * 600 * 3) for number in range(24)]
    for number, frame in enumerate(frames):
        (folder / f"in/A/v/{number}.ppm").write_bytes(frame)
    return frames


@pytest.mark.parametrize("out", ["a.h5", "set", "set.lmdb"])
def test_a_video_of_more_bytes_than_the_memory_is_converted_in_pieces(out, tmp_path):
    frames = large_video(tmp_path)
    words = {"to": "record"} if out == "set" else {"to": "lmdb"} if out == "set.lmdb" else {}
    convert(tmp_path / "in", tmp_path / out, group="frames", memory="16MiB", **words)
    assert list(Dataset(tmp_path / out)[0]["frames"]) == frames


def test_a_layout_that_wants_a_video_as_a_whole_refuses_it_with_both_numbers(tmp_path):
    frames = large_video(tmp_path)
    with pytest.raises(errors.LimitError, match="sample 'A/v': sample is 25920360 bytes, but memory leaves 6815744 for samples"):
        convert(tmp_path / "in", tmp_path / "a.lmdb", group="frames", memory="16MiB", layout="coclr")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    convert(tmp_path / "in", tmp_path / "a.lmdb", group="frames", memory="64MiB", layout="coclr")
    assert sorted(Dataset(tmp_path / "a.lmdb")[0]["frames"]) == sorted(frames)


def test_many_small_frames_are_refused_with_what_they_take(tmp_path):
    (tmp_path / "in/A/v").mkdir(parents=True)
    for number in range(16_000):
        (tmp_path / f"in/A/v/{number}.jpg").write_bytes(bytes(100))
    with pytest.raises(errors.LimitError, match=r"sample of 16,000 files takes 800\d{4} bytes in memory, but memory leaves"):
        convert(tmp_path / "in", tmp_path / "out", to="record", group="frames", memory="16MiB")


def test_more_frames_than_their_list_has_memory_for(tmp_path):
    folder = tmp_path / "in/c/v"
    folder.mkdir(parents=True)
    for number in range(17_000):
        (folder / f"{number}.ppm").write_bytes(b"P6 1 1 255\nabc")
    with pytest.raises(errors.LimitError, match="in/c/v: video has more than 16384 frames"):
        convert(tmp_path / "in", tmp_path / "out", to="record", group="frames", memory="16MiB")
    convert(tmp_path / "in", tmp_path / "out", to="record", group="frames", memory="32MiB")
    assert len(Dataset(tmp_path / "out")[0]["frames"]) == 17_000


def test_what_is_no_folder_of_videos(videos, tmp_path):
    (tmp_path / "labels.csv").write_text("a/v1/frame_1.jpg,0\n")
    for words in ({"labels": tmp_path / "labels.csv"}, {"to": "npy"}):
        with pytest.raises(errors.Error):
            convert(videos, tmp_path / "out", group="frames", **({"to": "record"} | words))
    convert(videos, tmp_path / "out", to="record", group="frames")
    with pytest.raises(errors.UsageError, match="group is for folders of images"):
        convert(tmp_path / "out", tmp_path / "again", to="record", group="frames")


@pytest.mark.parametrize("to", FORMATS)
def test_every_element_stands_in_the_element_list(to, videos, tmp_path):
    """Read as docs/index.md says, and taken away, altered and shifted."""
    out = tmp_path / "out"
    convert(videos, out, to=to, group="frames", shard_samples=2)
    wanted = dict(expected(videos))
    manifest = json.loads((out / "dataset.json").read_text())
    assert manifest["requires"] == ["elements"] and manifest["layout"]["has_elements"]
    seen = {}
    for shard in manifest["shards"]:
        index, elements = (numpy.load(out / shard[part]["name"]) for part in ("index", "elements"))
        data = (out / shard["files"][0]["name"]).read_bytes()
        assert len(elements) == index["frames.count"].sum()
        for row in index:
            key = data[int(row["key.offset"]) :][: int(row["key.length"])].decode()
            first = int(row["frames.first"])
            places = elements[first : first + int(row["frames.count"])]
            seen[key] = [data[int(p["offset"]) : int(p["offset"]) + int(p["length"])] for p in places]
    assert seen == wanted


@pytest.mark.parametrize("to", FORMATS)
def test_an_element_list_is_verified_and_rebuilt(to, videos, tmp_path):
    out = tmp_path / "out"
    convert(videos, out, to=to, group="frames")
    path = out / "shard-000000.elements.npy"
    whole = path.read_bytes()

    def check_damage():
        found = run_shale("verify", out, code=3)
        assert path.name in found.stderr.decode()
        with pytest.raises(errors.DamagedError, match="elements"), Dataset(out) as dataset:
            dataset[0]
        run_shale("index", out)
        assert path.read_bytes() == whole
        assert verify(out, deep=True).ok

    path.unlink()
    check_damage()
    path.write_bytes(whole[:-1])
    check_damage()
    for at in (9, 128, len(whole) - 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        check_damage()


def resealed(folder):
    """The manifest of a dataset whose element list was changed, with hashes that fit."""
    import xxhash

    path = folder / "dataset.json"
    manifest = path.read_text()
    listed = json.loads(manifest)["shards"][0]["elements"]
    content = (folder / listed["name"]).read_bytes()
    made = xxhash.xxh3_128_hexdigest(xxhash.xxh3_128_digest(content))
    manifest = manifest.replace(listed["xxh3_128"], made)
    body, tail = manifest[: manifest.rindex('"hash": "')] + '"hash": "', '"\n}\n'
    path.write_text(body + xxhash.xxh3_128_hexdigest((body + tail).encode()) + tail)


@pytest.mark.parametrize("to", FORMATS)
def test_a_sealed_element_list_that_is_wrong_is_found_by_a_deep_check(to, videos, tmp_path):
    out = tmp_path / "out"
    convert(videos, out, to=to, group="frames")
    path = out / "shard-000000.elements.npy"
    whole = numpy.load(path)
    for column, change in (("offset", 1), ("length", 2), ("crc32c", 7)):
        elements = whole.copy()
        elements[3][column] += change
        numpy.save(path, elements)
        resealed(out)
        found = run_shale("verify", out, "--deep", code=3)
        assert f"{path.name}: byte {192 + 3 * 20}: sample" in found.stderr.decode() and b"differs from the container" in found.stderr, (
            column
        )


@pytest.mark.parametrize("block", blocks_of(["docs/index.md"], "six-lines-of-a-list"))
def test_the_lines_in_the_document_read_a_frame(block, videos, tmp_path):
    out = tmp_path / "set"
    convert(videos, out, to="record", group="frames")
    frames = dict(expected(videos))[Dataset(out)[1]["key"]]
    assert frames[5] in bytes_left_by(block, out, tmp_path)
    assert len(lines_of(block)) <= 6


@pytest.mark.parametrize("block", blocks_of(["formats/hdf5/FORMAT.md"], "h5py-lists"))
def test_the_lines_of_h5py_read_a_frame(block, videos, tmp_path):
    out = tmp_path / "set"
    convert(videos, out, to="hdf5", group="frames")
    frames = expected(videos)[Dataset(out)[1]["key"]]
    assert frames[5] in bytes_left_by(block, out, tmp_path)
    assert len(lines_of(block)) <= 6


def h5py_lists(path):
    """The lists of an HDF5 file, as its three datasets say."""
    with h5py.File(path) as file:
        first, offset, data = (file["frames" + name][:] for name in ("_first", "_offset", ""))
        elements = [data[begin:end].tobytes() for begin, end in zip(offset, offset[1:])]
        return [elements[begin:end] for begin, end in zip(first, first[1:])]


def test_h5py_reads_all_frames_of_one_file(videos, tmp_path):
    """And shale, by the datasets alone and by the index that it wrote, which is the one that it makes."""
    convert(videos, tmp_path / "out.h5", group="frames", with_index=True)
    convert(videos, tmp_path / "alone.h5", group="frames")
    assert (tmp_path / "out.h5").read_bytes() == (tmp_path / "alone.h5").read_bytes()
    assert h5py_lists(tmp_path / "out.h5") == [expected(videos)[sample["key"]] for sample in Dataset(tmp_path / "out.h5")]
    assert read(tmp_path / "out.h5") == read(tmp_path / "alone.h5") == expected(videos)
    made = tmp_path / "made"
    run_shale("index", tmp_path / "alone.h5", "--crc", "--index-dir", made)
    for name in ("index", "elements"):
        written, found = (numpy.load(path) for path in (tmp_path / f"out.h5.{name}.npy", made / f"alone.h5.{name}.npy"))
        assert written.tobytes() == found.tobytes()


def test_lists_that_h5py_wrote_compressed(videos, tmp_path):
    convert(videos, tmp_path / "out.h5", group="frames")
    with h5py.File(tmp_path / "out.h5") as plain, h5py.File(tmp_path / "packed.h5", "w") as packed:
        for name, dataset in plain.items():
            packed.create_dataset(name, data=dataset[:], compression="gzip", chunks=True)
    convert(tmp_path / "packed.h5", tmp_path / "set", to="hdf5")
    assert read(tmp_path / "set") == expected(videos)


def test_lists_of_other_tools_become_hdf5(videos, tmp_path):
    """Repeated bytes of tf.train.Examples, and CoCLR's LMDB."""
    frames = {"k1": [b"one", b"", b"three"], "k2": [b"4", b"5"]}
    writer = TFRecordWriter(str(tmp_path / "in.tfrecord"))
    for key, values in frames.items():
        writer.write({"key": (key.encode(), "byte"), "frames": (values, "byte")})
    writer.close()
    convert(tmp_path / "in.tfrecord", tmp_path / "set", to="hdf5")
    assert read(tmp_path / "set") == frames
    convert(videos, tmp_path / "coclr.lmdb", group="frames", layout="coclr")
    convert(tmp_path / "coclr.lmdb", tmp_path / "coclr.h5")
    assert read(tmp_path / "coclr.h5") == read(tmp_path / "coclr.lmdb")


def test_parts_append_and_resumed_sets_of_hdf5(videos, tmp_path):
    whole = convert(videos, tmp_path / "whole", to="hdf5", group="frames", shard_samples=2)
    for part in range(3):
        convert(videos, tmp_path / "parts", to="hdf5", group="frames", parts=(part, 3), listing=tmp_path / "list", shard_samples=2)
    assert merge([tmp_path / "parts"], tmp_path / "merged").ordered_digest == whole.ordered_digest
    (tmp_path / "first").write_text("a/v1\na/v1-x\na/v1/part\n")
    convert(videos, tmp_path / "set", to="hdf5", group="frames", select=tmp_path / "first")
    convert(videos, tmp_path / "set", group="frames", exclude=tmp_path / "first", append=True, new_classes="append")
    assert verify(tmp_path / "set", deep=True).ok
    assert read(tmp_path / "set") == expected(videos)
    (tmp_path / "whole/shard-000001.h5").unlink()
    assert repair(tmp_path / "whole", source=videos).left == 0
    assert verify(tmp_path / "whole", deep=True).ok


def test_cat_writes_one_element(videos, tmp_path):
    out = tmp_path / "out"
    convert(videos, out, to="lmdb", group="frames")
    frames = dict(expected(videos))["b/v10"]
    for number in (0, 3, len(frames) - 1):
        assert run_shale("cat", out, "--key", "b/v10", "--element", str(number)).stdout == frames[number]
    refused = run_shale("cat", out, "--key", "b/v10", "--element", str(len(frames)), code=1).stderr.decode()
    assert "'b/v10'" in refused and f"no element {len(frames)} in field 'frames', which has {len(frames)}" in refused
    assert b"field 'label' is not a list" in run_shale("cat", out, "0", "--field", "label", "--element", "0", code=2).stderr
    assert b"the key is not a list" in run_shale("cat", out, "0", "--field", "key", "--element", "0", code=2).stderr


@pytest.mark.parametrize("to", FORMATS)
def test_a_dataset_of_an_older_shale_stays_without_element_lists(to, tmp_path):
    """What is appended to it, or made again, is as what stands there."""
    own = ROOT / "formats" / to / "golden" / "own"
    if not own.is_dir() or Dataset(own).schema.get("frames", {}).get("kind") != "list" or list(own.glob("*.elements.npy")):
        pytest.skip("its golden set is not of an older shale, with lists")
    old, more = tmp_path / "old", tmp_path / "more"
    shutil.copytree(own, old)
    samples = [dict(sample) for sample in Dataset(old)]
    fields = Dataset(old).schema.items()
    schema = {name: (field["dtype"], field["shape"]) if field["kind"] == "tensor" else field["kind"] for name, field in fields}
    with Writer(more, to, schema) as writer:
        for number, sample in enumerate(samples):
            writer.write({**sample, "key": f"new/{number}"})
    assert list(more.glob("*.elements.npy"))
    convert(more, old, append=True)
    assert not list(old.glob("*.elements.npy")) and "elements" not in json.loads((old / "dataset.json").read_text())["requires"]
    assert verify(old, deep=True).ok
    assert [sample["frames"] for sample in Dataset(old)] == 2 * [sample["frames"] for sample in samples]
    (old / "shard-000000.index.npy").unlink()
    run_shale("index", old)
    assert verify(old, deep=True).ok


def test_a_lost_element_list_comes_back_from_a_copy_and_from_the_source(videos, tmp_path):
    out = tmp_path / "out"
    convert(videos, out, to="record", group="frames", shard_samples=2)
    shutil.copytree(out, tmp_path / "copy")
    for source, remedy in ((tmp_path / "copy", "copied"), (videos, "rebuilt")):
        for name in ("shard-000001.elements.npy", "shard-000002.elements.npy", "shard-000002.tfrecord"):
            (out / name).unlink()
        repair(out, source)
        assert verify(out, deep=True).ok
        (out / "shard-000001.elements.npy").write_bytes(b"damaged")
        assert [file.remedy for file in repair(out, source).files] == [remedy]
        assert verify(out, deep=True).ok
    assert {path.name for path in out.iterdir()} == {path.name for path in (tmp_path / "copy").iterdir()}
