"""Single elements of lists in Python: frames that are asked for and no others, clips, and lists that read later."""

import io
import json
import pathlib
import pickle
import random
import socket
import subprocess
import sys

import numpy
import pytest
import shale
import torch
from conftest import run_shale
from documented_code import blocks_of, bytes_left_by
from PIL import Image
from shale import Dataset, errors
from torch.utils.data import DataLoader

LISTS = [one["name"] for one in json.loads(run_shale("formats", "--json").stdout)["formats"] if "list" in one["kinds"]]
COUNTS = {"a/short": 3, "a/v1": 40, "b/v2": 17}


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    """The frames of each video, 24 x 16, by key."""
    root, dice = tmp_path_factory.mktemp("clips"), random.Random(3)
    found = {}
    for key, count in COUNTS.items():
        folder = root / key
        folder.mkdir(parents=True)
        for number in range(count):
            image = Image.frombytes("RGB", (24, 16), dice.randbytes(24 * 16 * 3))
            image.save(folder / f"{number:03}.jpg", quality=85)
        found[key] = [(folder / f"{number:03}.jpg").read_bytes() for number in range(count)]
    return root, found


@pytest.fixture(scope="module", params=[*LISTS, "one-file", "coclr", "old"])
def videos(request, frames, tmp_path_factory):
    """Sets, a file, a file of another layout, and lists without a list of elements, with their frames in the order of the rows."""
    root, found = frames
    out = tmp_path_factory.mktemp("set") / "out"
    if request.param in LISTS:
        shale.convert(root, out, to=request.param, group="frames", shard_samples=2)
    elif request.param == "old":
        return ROOT_OLD, None
    else:
        out = out.with_suffix(".lmdb")
        shale.convert(root, out, group="frames", layout="coclr" if request.param == "coclr" else None)
    return out, found


ROOT_OLD = pathlib.Path(__file__).parents[2] / "formats" / "record" / "golden" / "own"


def wanted_of(videos):
    """(dataset, name of the list, its elements by row), by reading whole samples."""
    out, found = videos
    with Dataset(out) as ds:
        name = next(field for field, facts in ds.schema.items() if facts["kind"] == "list")
        wholes = [sample[name] for sample in ds]
        if found is not None:
            assert wholes == [found[sample["key"]] for sample in ds]
    return Dataset, name, wholes


def test_chosen_elements_are_those_of_the_whole_list(videos):
    _, name, wholes = wanted_of(videos)
    dice = random.Random(1)
    with Dataset(videos[0]) as ds:
        for row, whole in enumerate(wholes):
            count = len(whole)
            for numbers in ([], [0, 0, -1][: 3 * bool(count)], [dice.randrange(count) for _ in range(9 * bool(count))], slice(1, None, 2), range(count)):
                picked = whole[numbers] if isinstance(numbers, slice) else [whole[number] for number in numbers]
                sample = ds.read(row, {name: numbers})
                assert sample[name] == picked
                rest = ds[row]
                assert {key: repr(value) for key, value in sample.items() if key != name} == {k: repr(v) for k, v in rest.items() if k != name}
            with pytest.raises(IndexError, match=f"element {count} of a list of {count}"):
                ds.read(row, {name: [count]})
        with pytest.raises(errors.UsageError, match="not a field of kind list"):
            ds.read(0, {"key": [0]})


@pytest.mark.parametrize("made", [list, numpy.array, torch.tensor])
def test_booleans_are_a_mask(made, frames, tmp_path):
    out = tmp_path / "out"
    run_shale("convert", frames[0], out, "--to", "record", "--group", "frames")
    with Dataset(out) as ds, Dataset(out, lazy="frames") as lazy:
        whole = ds[0]["frames"]
        mask = [number % 3 == 0 for number in range(len(whole))]
        assert ds.read(0, {"frames": made(mask)})["frames"] == lazy[0]["frames"][made(mask)] == whole[::3]
        with Dataset(out, select={"frames": lambda count, rng: made([number % 3 == 0 for number in range(count)])}) as selected:
            assert selected[0]["frames"] == whole[::3]
        with pytest.raises(errors.UsageError, match=f"a mask of 2 elements for a list of {len(whole)}"):
            ds.read(0, {"frames": made([True, False])})
    with Dataset(out) as ds, pytest.raises(errors.UsageError, match="expected whole numbers"):
        ds.read(0, {"frames": [True, 0]})


def test_lazy_lists(videos):
    _, name, wholes = wanted_of(videos)
    with Dataset(videos[0], lazy=name) as ds:
        for row, whole in enumerate(wholes):
            lazy = ds[row][name]
            assert len(lazy) == len(whole) and list(lazy) == whole and lazy[:] == whole and lazy[::-2] == whole[::-2]
            assert lazy.get_frames_at(numpy.arange(len(whole))) == whole
            again = pickle.loads(pickle.dumps(lazy))
            assert again[-1:] == whole[-1:] and len(again) == len(whole)
            if whole:
                assert lazy[-1] == whole[-1] and lazy[torch.tensor(0)] == whole[0]
            with pytest.raises(IndexError):
                lazy[len(whole)]
    with pytest.raises(errors.UsageError, match="closed"):
        ds[0]


def test_a_selection_asks_once_for_each_sample_before_it_reads(frames, tmp_path):
    root, found = frames
    shale.convert(root, tmp_path / "out", to="record", group="frames")
    asked = []

    def last_two(count, rng):
        asked.append(count)
        return [count - 2, count - 1]

    ds = Dataset(tmp_path / "out", select={"frames": last_two}, decode="torchrgb8", transform=lambda sample: (sample["key"], sample["frames"]))
    samples = ds.__getitems__([2, 0, 1])
    assert asked == [COUNTS[key] for key, _ in samples]
    for key, clip in samples:
        assert clip.shape == (2, 3, 16, 24) and clip.dtype == torch.uint8
        for tensor, jpeg in zip(clip, found[key][-2:]):
            assert torch.equal(tensor, torch.from_numpy(numpy.array(Image.open(io.BytesIO(jpeg)).convert("RGB"))).permute(2, 0, 1))


def test_bytes_read_are_those_of_the_elements(frames, tmp_path):
    """Everything else of the shard may be garbage."""
    root, found = frames
    shale.convert(root, tmp_path / "out", to="record", group="frames")
    shard = tmp_path / "out" / "shard-000000.tfrecord"
    index, elements = (numpy.load(tmp_path / "out" / f"shard-000000.{part}.npy") for part in ("index", "elements"))
    row = next(row for row in index if row["frames.count"] == 40)
    kept = [7, 30]
    content = bytearray(len(shard.read_bytes()))
    whole = shard.read_bytes()
    spans = [(int(row["key.offset"]), int(row["key.length"]))]
    spans += [tuple(int(n) for n in elements[int(row["frames.first"]) + k].tolist()[:2]) for k in kept]
    for offset, length in spans:
        content[offset : offset + length] = whole[offset : offset + length]
    number = int(numpy.flatnonzero(index["frames.count"] == 40)[0])
    shard.write_bytes(content)
    with Dataset(tmp_path / "out") as ds:
        assert ds.read(number, {"frames": kept})["frames"] == [found["a/v1"][k] for k in kept]
        with pytest.raises(errors.DamagedError) as caught:
            ds.read(number, {"frames": [8]})
        assert caught.value.key == "a/v1" and caught.value.offset == int(elements[int(row["frames.first"]) + 8]["offset"])


@pytest.mark.parametrize(
    "count, short, wanted",
    [(9, "error", range(0, 9, 4)), (8, "repeat_last", [0, 4, 7]), (5, "wrap", [0, 4, 3]), (1, "repeat_last", [0, 0, 0]), (2, "wrap", [0, 0, 0])],
)
def test_clips_of_short_videos(count, short, wanted):
    assert shale.clip(3, 4, short)(count, random) == list(wanted)


def test_clips_lie_inside_and_everywhere():
    clip, begins = shale.clip(4, 3), set()
    rng = random.Random(5)
    for _ in range(400):
        numbers = clip(15, rng)
        assert numbers == list(range(numbers[0], numbers[0] + 12, 3)) and numbers[-1] < 15
        begins.add(numbers[0])
    assert begins == set(range(6))
    assert shale.clip(4, 3, start="center")(15, rng)[0] == 2 and shale.clip(4, 3, start="first")(15, rng)[0] == 0
    for wrong in ({"length": 0}, {"length": 2, "stride": 0}, {"length": 2, "short": "x"}, {"length": "2"}, {"length": 1, "start": 3}):
        with pytest.raises(errors.UsageError):
            shale.clip(**wrong)


def test_what_cannot_be_chosen_names_the_sample(frames, tmp_path):
    root, _ = frames
    shale.convert(root, tmp_path / "out", to="record", group="frames")
    for choose, message in (
        (shale.clip(4, short="error"), "'a/short': field 'frames' cannot be chosen from: 3 elements"),
        (lambda count, rng: [count], "cannot be chosen from: element 3 of a list of 3"),
        (lambda count, rng: ["x"], "expected whole numbers"),
        (lambda count, rng: 1 / 0, "division by zero"),
    ):
        with pytest.raises(errors.ContentError, match=message), Dataset(tmp_path / "out", select={"frames": choose}) as ds:
            ds[0]
    for wrong in ({"select": {"label": len}}, {"lazy": "label"}, {"select": {"frames": 3}}, {"select": [1]}, {"lazy": "frames", "select": {"frames": len}}):
        with pytest.raises(errors.UsageError):
            Dataset(tmp_path / "out", **wrong)


def test_several_lists_get_the_same_numbers(tmp_path):
    with shale.Writer(tmp_path / "out", "record", {"rgb": "list", "flow": "list"}) as writer:
        for row in range(6):
            rgb, flow = [bytes([row, k]) for k in range(20)], [bytes([100, row, k]) for k in range(18 - row)]
            writer.write({"key": f"k{row}", "rgb": rgb, "flow": flow})
    ds = Dataset(tmp_path / "out", select={("rgb", "flow"): shale.clip(5, 2)})
    for row, sample in enumerate(ds):
        numbers = [element[1] for element in sample["rgb"]]
        assert [element[2] for element in sample["flow"]] == numbers and max(numbers) < 18 - row
    only = ds.read(2, {"rgb": [1]})  # the other list is chosen as in ds[2]
    assert only["rgb"] == [bytes([2, 1])] and len(only["flow"]) == 5
    both = ds.read(2, {"rgb": [1], "flow": [3, 4]})
    assert both["rgb"] == [bytes([2, 1])] and both["flow"] == [bytes([100, 2, 3]), bytes([100, 2, 4])]


def test_frames_of_several_sizes_do_not_stack(tmp_path):
    for number, size in enumerate([(8, 8), (8, 8), (8, 9)]):
        (tmp_path / "in/a/v").mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size).save(tmp_path / f"in/a/v/{number}.jpg")
    shale.convert(tmp_path / "in", tmp_path / "out", to="record", group="frames")
    with Dataset(tmp_path / "out", decode="rgb8") as ds:
        assert ds.read(0, {"frames": [1, 0]})["frames"].shape == (2, 8, 8, 3)
        with pytest.raises(errors.ContentError, match=r"number 0 is \(8, 8, 3\) uint8, number 2 is \(9, 8, 3\) uint8"):
            ds[0]


def test_clips_in_workers(frames, tmp_path):
    root, _ = frames
    shale.convert(root, tmp_path / "out", to="lmdb", group="frames")
    ds = Dataset(tmp_path / "out", fields=("frames", "label"), decode="torchrgb8", select={"frames": shale.clip(4, 2)})
    loader = DataLoader(ds, batch_size=3, num_workers=2, persistent_workers=True, multiprocessing_context="fork")

    def epochs():
        torch.manual_seed(11)
        return [batch["frames"] for _ in range(2) for batch in loader]

    first = epochs()
    assert first[0].shape == (3, 4, 3, 16, 24)
    loader = DataLoader(ds, batch_size=3, num_workers=2, persistent_workers=True, multiprocessing_context="fork")
    assert all(torch.equal(one, other) for one, other in zip(first, epochs()))


def test_lazy_lists_through_workers(frames, tmp_path):
    root, found = frames
    shale.convert(root, tmp_path / "out", to="lmdb", group="frames")
    ds = Dataset(tmp_path / "out", lazy=["frames"])
    loader = DataLoader(ds, batch_size=2, num_workers=1, collate_fn=list, multiprocessing_context="spawn")
    samples = [sample for batch in loader for sample in batch]
    assert {sample["key"]: sample["frames"][:] for sample in samples} == found


@pytest.mark.parametrize("block", blocks_of(["docs/python.md"], "frames"))
def test_the_lines_in_the_guide_run(block, tmp_path):
    for video in range(5):
        for number in range(20):
            (tmp_path / f"in/a/{video}").mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / f"in/a/{video}/{number}.jpg")
    shale.convert(tmp_path / "in", tmp_path / "set", to="record", group="frames")
    bytes_left_by(block, tmp_path / "set", tmp_path)


def test_two_ranks_see_each_video_once(frames, tmp_path):
    """DistributedDataParallel's sampler, two gloo ranks, workers that persist, over CoCLR's file."""
    root, found = frames
    for number, (key, images) in enumerate(found.items()):
        for copy in range(4):
            folder = tmp_path / "in" / key.split("/")[0] / f"v{number}_{copy}"
            folder.mkdir(parents=True)
            for position, image in enumerate(images):
                (folder / f"{position:03}.jpg").write_bytes(image)
    shale.convert(tmp_path / "in", tmp_path / "a.lmdb", group="frames", layout="coclr")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = pathlib.Path(__file__).with_name("frame_training.py")
    ranks = [subprocess.Popen([sys.executable, script, tmp_path / "a.lmdb", str(rank), "2", port], stdout=subprocess.PIPE, text=True) for rank in range(2)]
    said = [rank.communicate()[0].splitlines() for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    keys = [line for lines in said for line in lines if "/" in line]
    wanted = [str(path.relative_to(tmp_path / "in")) for path in (tmp_path / "in").glob("*/*")]
    assert sorted(keys) == sorted(2 * wanted)
