"""--layout coclr-k400: the directory that CoCLR's readers of Kinetics-400 want, under a re-creation of them (coclr_readers.py)."""

import csv
import json

import pytest
import shale
from coclr_readers import K400LMDB
from conftest import jpeg, run_shale
from test_coclr_lists import read, refusal, source_of, videos

__all__ = ["videos"]

K400 = ("--group", "frames", "--layout", "coclr-k400")
FILES = ["ClassInd.txt", "k400_frame_train.lmdb", "k400_frame_val.lmdb", "train_split.csv", "val_split.csv", "video_source.json"]


@pytest.mark.parametrize("words", [(), ("--shuffle", "--jobs", "1", "--memory", "16MiB")], ids=["plain", "shuffled"])
@pytest.mark.parametrize("second", ["val", "test"])
def test_its_readers_read_the_directory(videos, tmp_path, second, words):
    out = tmp_path / "out"
    done = run_shale("convert", videos, str(out) + "/", *K400, "--split", f"train=0.7,{second}=0.3", *words, "--json")
    train, val = (read(out, mode, K400LMDB, "") for mode in ("train", second))
    assert (len(train), len(val)) == (21, 9) and train | val == source_of(videos)
    assert sorted(path.name for path in out.iterdir()) == FILES and [path.name for path in tmp_path.iterdir()] == ["out"]
    sources = json.loads((out / "video_source.json").read_text())
    assert sources.keys() == source_of(videos).keys() and sorted(sources.values()) == list(range(30))
    facts = json.loads(done.stdout)
    assert facts["samples"] == 30
    assert facts["lists"][0] == {"file": "ClassInd.txt", "rows": 3} and facts["lists"][-1] == {"file": "video_source.json", "rows": 30}
    # Classes are those of the whole, and each file holds its part alone.
    for name, part in (("train", train), ("val", val)):
        with shale.Dataset(out / f"k400_frame_{name}.lmdb") as dataset:
            assert sorted(sample["key"] for sample in dataset) == sorted(part)
    with open(out / "train_split.csv", newline="") as file:
        assert all(not path.endswith("/") for path, _ in csv.reader(file))


def test_lists_that_exist_are_taken_and_a_class_may_be_missing(videos, tmp_path):
    names = sorted(source_of(videos))
    (tmp_path / "train.csv").write_text("".join(f"{name},1\n" for name in names if name.startswith("Archery")))
    (tmp_path / "val.csv").write_text(names[12] + "\n")
    done = run_shale("convert", videos, tmp_path / "out", *K400, "--split", f"{tmp_path}/train.csv,{tmp_path}/val.csv")
    assert b"19 videos are in no list of --split: in neither file" in done.stderr
    assert len(read(tmp_path / "out", "train", K400LMDB, "")) == 10 and list(read(tmp_path / "out", "val", K400LMDB, "")) == [names[12]]
    assert (tmp_path / "out/ClassInd.txt").read_text().splitlines() == ["Archery", "Biking", "air drumming"]


def test_a_video_that_is_skipped_is_nowhere(videos, tmp_path):
    for name in ("a", "b"):
        for clip in range(4):
            folder = tmp_path / "in" / name / f"v{clip}"
            folder.mkdir(parents=True)
            (folder / "1.jpg").write_bytes(jpeg(clip)[: -9 if (name, clip) == ("b", 2) else None])
    done = run_shale("convert", tmp_path / "in", tmp_path / "out", *K400, "--split", "train=0.5,val=0.5", code=4)
    assert b"skipped: 1 bad video" in done.stdout
    read_back = [name for mode in ("train", "val") for name in read(tmp_path / "out", mode, K400LMDB, "")]
    assert len(read_back) == 7 and "b/v2" not in read_back
    assert len(json.loads((tmp_path / "out/video_source.json").read_text())) == 7


@pytest.mark.parametrize(
    ("words", "said"),
    [((), "needs --split"), (("--split", "train=1"), "two lists"), (("--split", "train=0.5,val=0.5", "--verify"), "--verify does not go with"),
     (("--split", "train=0.5,val=0.5", "--shard-size", "1MiB"), "--shard-size does not go with"),
     (("--split", "train=0.5,val=0.5", "--part", "0/2"), "--part has no effect"), (("--split", "train=0.5,val=0.5", "--append"), "--append does not go with")],
)
def test_what_does_not_go_with_it_is_refused_by_name(videos, tmp_path, words, said):
    assert said in refusal(videos, tmp_path / "out", *K400, *words, code=2)
    assert list(tmp_path.iterdir()) == []


def test_a_split_of_videos_into_shards_is_a_dataset_for_each(videos, tmp_path):
    run_shale("convert", videos, tmp_path / "out", "--to", "record", "--group", "frames", "--split", "train=0.5,val=0.5")
    run_shale("verify", tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["train", "val"]
