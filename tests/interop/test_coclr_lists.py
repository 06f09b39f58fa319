"""--split of layout coclr: the lists that CoCLR's readers want, under a re-creation of these readers (coclr_readers.py)."""

import json
import pathlib
import random

import pytest
import shale
from coclr_readers import UCF101LMDB
from conftest import jpeg, run_shale, write

COCLR = ("--group", "frames", "--layout", "coclr")
CLASSES = ("Archery", "Biking", "air drumming")
LISTS = ("ClassInd.txt", "test_split01.csv", "train_split01.csv")


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """Three classes of ten videos each, one of them with blanks, quotes and commas in its names."""
    root, dice = tmp_path_factory.mktemp("videos"), random.Random(5)
    for name in CLASSES:
        for clip in range(10):
            video = f'say "{clip}", again' if name == "air drumming" else f"v_{name}_g{clip:02}_c01"
            for frame in range(dice.randint(1, 5)):
                write(root, f"{name}/{video}/image_{frame}.jpg", jpeg(dice.random()))
    return root


def source_of(root):
    """Of each video the bytes of its frames, and its label."""
    found = {}
    for folder in sorted({path.parent for path in root.rglob("*.jpg")}):
        frames = [path.read_bytes() for path in sorted(folder.glob("*.jpg"))]
        found[folder.relative_to(root).as_posix()] = (frames, CLASSES.index(folder.parent.name))
    return found


def read(folder, mode, reader=UCF101LMDB, db="a.lmdb"):
    dataset = reader(folder, folder / db, mode)
    return {name: (frames, label) for name, frames, label, _ in map(dataset.__getitem__, range(len(dataset)))}


def rows_of(path):
    return path.read_text().splitlines()


@pytest.mark.parametrize("words", [(), ("--shuffle", "--seed", "3"), ("--memory", "16MiB", "--jobs", "1")], ids=["plain", "shuffled", "little"])
@pytest.mark.parametrize("second", ["test", "val"])
def test_its_readers_read_both_lists(videos, tmp_path, second, words):
    run_shale("convert", videos, tmp_path / "a.lmdb", *COCLR, "--split", f"train=0.7,{second}=0.3", *words)
    train, test = read(tmp_path, "train"), read(tmp_path, second)
    assert (len(train), len(test)) == (21, 9)
    assert train | test == source_of(videos)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ClassInd.txt", "a.lmdb", "test_split01.csv", "train_split01.csv"]
    assert (tmp_path / "ClassInd.txt").read_bytes() == "".join(f"{name}\n" for name in CLASSES).encode()
    assert all(row.split(",")[0].endswith("/") for row in rows_of(tmp_path / "train_split01.csv") if '"' not in row)


def test_the_split_depends_on_seed_and_input_alone(videos, tmp_path):
    lists = []
    for number, words in enumerate([(), ("--shuffle",), ("--jobs", "1"), ("--seed", "1")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        run_shale("convert", videos, folder / "a.lmdb", *COCLR, "--split", "train=0.5,test=0.5", *words)
        lists.append((folder / "test_split01.csv").read_bytes())
    assert lists[0] == lists[1] == lists[2] != lists[3]
    assert shale.convert(videos, tmp_path / "a.lmdb", group="frames", layout="coclr", split={"train": 0.5, "test": 0.5}).samples == 30
    assert (tmp_path / "test_split01.csv").read_bytes() == lists[0]


def lists_of_names(folder, style):
    """A third of the videos in the list test, a third in train."""
    names = {"train": [], "test": []}
    for number, name in enumerate(sorted(source_of(folder))):
        if number % 3 < 2:
            names["train" if number % 3 else "test"].append(name)
    return names, {split: "".join(style(name, number) for number, name in enumerate(each)) for split, each in names.items()}


STYLES = {
    "UCF101": lambda name, number: f"{name}.avi {number + 1}\n",
    "UCF101, test": lambda name, number: f"{name}.AVI\r\n",
    "CoCLR": lambda name, number: '"/data/UCF101/frame/{}/",{}\n'.format(name.replace('"', '""'), number),
    "names": lambda name, number: f"{name}\n\n",
    "folders": lambda name, number: f"  ./{name}//\n",
}


@pytest.mark.parametrize("style", STYLES)
def test_lists_that_exist_are_taken(videos, tmp_path, style):
    names, texts = lists_of_names(videos, STYLES[style])
    for split, text in texts.items():
        (tmp_path / f"{split}list01.txt").write_text(text)
    files = f"{tmp_path}/testlist01.txt,{tmp_path}/trainlist01.txt"
    words = ["--split", files] if style == "names" else ["--split", f"train={tmp_path}/trainlist01.txt", "--split", f"test={tmp_path}/testlist01.txt"]
    done = run_shale("convert", videos, tmp_path / "a.lmdb", *COCLR, *words, "--json")
    for split, each in names.items():
        assert sorted(read(tmp_path, split)) == sorted(each)
    assert b"note: 10 videos are in no list" in done.stderr
    assert len(shale.Dataset(tmp_path / "a.lmdb")) == 30
    assert json.loads(done.stdout)["lists"] == [
        {"file": "ClassInd.txt", "rows": 3}, *({"file": f"{split}_split01.csv", "rows": len(names[split])} for split in
                                               (["test", "train"] if style == "names" else ["train", "test"]))]


def refusal(*words, code=1):
    done = run_shale("convert", *words, code=code)
    return done.stderr.decode()


def test_lists_that_do_not_fit_are_refused_by_line_before_anything_is_written(videos, tmp_path):
    train, test = tmp_path / "in/train.txt", tmp_path / "in/test.txt"
    train.parent.mkdir()
    names, texts = lists_of_names(videos, STYLES["names"])
    out = tmp_path / "out"
    out.mkdir()
    command = (videos, out / "a.lmdb", *COCLR, "--split", f"{train},{test}")
    cases = [
        (texts["train"] + "Archery/v_none.avi 7\n", texts["test"], [str(train), "line 21", "'Archery/v_none.avi'"]),
        (texts["train"], texts["test"] + names["train"][4] + ".avi\n", [str(test), f"'{names['train'][4]}'", f"line 9 of {train}"]),
        (texts["train"] + names["train"][0] + "\n", texts["test"], [str(train), "in lines 1 and 21"]),
        ("Archery\n", texts["test"], [str(train), "line 1", "'Archery'"]),
        ("".join(f"{name}\n" for name in names["train"] if not name.startswith("Biking")), texts["test"], ["'Biking' has no video in train_split01.csv"]),
        ("x" * (1 << 20) + "x\n", texts["test"], ["line 1 is longer than 1 MiB"]),
    ]
    for in_train, in_test, said in cases:
        train.write_text(in_train)
        test.write_text(in_test)
        found = refusal(*command)
        assert all(part in found for part in said), found
        assert list(out.iterdir()) == []


def test_a_class_of_one_video_is_refused_by_name(videos, tmp_path):
    folder = tmp_path / "in"
    for name in CLASSES:
        for clip in range(1 if name == "Biking" else 2):
            write(folder, f"{name}/v{clip}/1.jpg", jpeg(clip))
    said = refusal(folder, tmp_path / "a.lmdb", *COCLR, "--split", "train=0.5,test=0.5")
    assert "class 'Biking' has no video in" in said
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    write(folder, "Biking/v2/1.jpg", jpeg(2))
    run_shale("convert", folder, tmp_path / "a.lmdb", *COCLR, "--split", "train=0.99,test=0.01")
    assert len(read(tmp_path, "train")) == len(read(tmp_path, "test")) == 3


@pytest.mark.parametrize(
    ("names", "said"),
    [(["a,b/v", "c/v"], "has a comma"), ([" a/v", "c/v"], "begins or ends with a blank"), (["a/v\n", "c/v"], "has a control character"),
     (["a/v/w", "c/v"], "its class and its name"), ([b"a/\xff", "c/v"], "is not UTF-8")],
)
def test_names_that_the_readers_would_not_find_are_refused(tmp_path, names, said):
    for name in names:
        folder = tmp_path / "in" / (name if isinstance(name, str) else pathlib.os.fsdecode(name))
        write(folder, "1.jpg", jpeg(1))
    assert said in refusal(tmp_path / "in", tmp_path / "a.lmdb", *COCLR, "--split", "train=0.5,test=0.5")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_videos_that_are_skipped_are_in_no_list(tmp_path):
    for name in CLASSES[:2]:
        for clip in range(6):
            write(tmp_path / "in", f"{name}/v{clip}/1.jpg", jpeg(clip))
    broken = tmp_path / "in/Archery/v3/2.jpg"
    write(tmp_path / "in", "Archery/v3/2.jpg", jpeg(3)[:-9])
    command = ("convert", tmp_path / "in", tmp_path / "a.lmdb", *COCLR, "--split", "train=0.5,test=0.5")
    run_shale(*command, code=4)
    train, test = read(tmp_path, "train"), read(tmp_path, "test")
    assert len(train | test) == 11 and "Archery/v3" not in train | test
    # What stands already is what it would be, and stays; so a run that was killed here is finished.
    before = {name: (tmp_path / name).stat().st_ino for name in LISTS}
    (tmp_path / "a.lmdb").unlink()
    run_shale(*command, code=4)
    assert {name: (tmp_path / name).stat().st_ino for name in LISTS} == before
    # A class that is left with none: nothing gets its name.
    for name in (*LISTS, "a.lmdb"):
        (tmp_path / name).unlink()
    for clip in range(6):
        write(tmp_path / "in", f"Archery/v{clip}/2.jpg", jpeg(3)[:-9])
    done = run_shale(*command, code=1)
    assert b"class 'Archery' has no video in" in done.stderr and b"all of them were skipped" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert broken.exists()


def test_a_file_of_layout_coclr_is_split_again(videos, tmp_path):
    run_shale("convert", videos, tmp_path / "old.lmdb", *COCLR, "--shuffle")
    run_shale("convert", tmp_path / "old.lmdb", tmp_path / "a.lmdb", "--layout", "coclr", "--split", "train=0.7,test=0.3")
    assert read(tmp_path, "train") | read(tmp_path, "test") == source_of(videos)
