"""The indexes that shale writes for wids, DALI and Energon beside tars: each read by its program, or compared with what it would write."""

import io
import json
import os
import re
import struct
import subprocess
import sys
import tarfile
import time

import pytest
from conftest import SHALE, jpeg, run_shale
from documented_code import blocks_of

SHARDS, KINDS = 3, "wids,dali,energon"


def add(tar, name, content, **more):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for attribute, value in more.items():
        setattr(member, attribute, value)
    tar.addfile(member, io.BytesIO(content))


def make_tar(path, samples, dialect=tarfile.USTAR_FORMAT):
    """samples: key -> field -> bytes."""
    with tarfile.open(path, "w", format=dialect) as tar:
        for key, fields in samples.items():
            for field, content in fields.items():
                add(tar, f"{key}.{field}", content)


@pytest.fixture(scope="module")
def samples():
    """Of each shard: key -> field -> bytes."""
    shards, number = [], 0
    for shard in range(SHARDS):
        shards.append({})
        for _ in range(5 + shard):
            fields = {"cls": b"%d" % (number % 7), "jpg": jpeg(number), "json": b'{"n": %d}' % number, "seg.txt": b"x" * number}
            shards[-1][f"v1.0/{number:05d}"] = fields
            number += 1
    return shards


@pytest.fixture
def tars(samples, tmp_path):
    """A folder of tars, and what shale wrote beside them."""
    folder = tmp_path / "tars"
    folder.mkdir()
    for number, shard in enumerate(samples):
        make_tar(folder / f"train-{number:04d}.tar", shard)
    run_shale("index", "--native", KINDS, folder)
    return folder


def all_of(samples):
    return [(key, fields) for shard in samples for key, fields in shard.items()]


def test_wids_reads_every_sample(tars, samples, tmp_path):
    wids = pytest.importorskip("wids")
    read = wids.ShardListDataset(str(tars / "wids.json"), transformations=[], cache_dir=str(tmp_path / "cache"))
    expected = all_of(samples)
    assert len(read) == len(expected)
    for number, (key, fields) in reversed(list(enumerate(expected))):
        sample = read[number]
        assert sample["__key__"] == key
        assert {field[1:]: file.read() for field, file in sample.items() if field.startswith(".")} == fields


def test_wids_finds_the_sums_and_sizes_of_its_own_program(tars):
    wids = pytest.importorskip("wids")
    for shard in json.loads((tars / "wids.json").read_text())["shardlist"]:
        path = str(tars / shard["url"])
        assert shard["md5sum"] == wids.wids.compute_file_md5sum(path)
        assert shard["nsamples"] == wids.wids.compute_num_samples(path)
        assert shard["filesize"] == os.path.getsize(path)


def test_energon_reads_every_sample(tars, samples):
    energon = pytest.importorskip("megatron.energon")
    from megatron.energon.dataset_config import get_dataset_from_config

    alone = energon.WorkerConfig(rank=0, world_size=1, num_workers=0)
    factory = get_dataset_from_config(str(tars), split_part="train", training=False, worker_config=alone)
    read = [dict(sample) for sample in energon.get_loader(factory.build())]
    assert len(factory) == len(read) == len(all_of(samples))
    for sample, (key, fields) in zip(read, all_of(samples), strict=True):
        assert sample["__key__"] == key
        assert sample["cls"] == int(fields["cls"]) and sample["json"] == json.loads(fields["json"]) and sample["seg.txt"].encode() == fields["seg.txt"]


@pytest.fixture
def parts(samples, tmp_path):
    """The same in folders below that which is named."""
    for number, shard in enumerate(samples):
        folder = tmp_path / f"parts/part-{number}"
        folder.mkdir(parents=True)
        make_tar(folder / f"{number:04d}.tar", shard)
    run_shale("index", "--native", KINDS, tmp_path / "parts")
    return tmp_path / "parts"


def test_wids_reads_tars_in_folders_below(parts, samples, tmp_path):
    wids = pytest.importorskip("wids")
    read = wids.ShardListDataset(str(parts / "wids.json"), transformations=[], cache_dir=str(tmp_path / "cache"))
    assert [(sample["__key__"], sample[".json"].read()) for sample in read] == [(key, fields["json"]) for key, fields in all_of(samples)]


def test_energon_reads_tars_in_folders_below(parts, samples):
    energon = pytest.importorskip("megatron.energon")
    from megatron.energon.dataset_config import get_dataset_from_config

    alone = energon.WorkerConfig(rank=0, world_size=1, num_workers=0)
    factory = get_dataset_from_config(str(parts), split_part="train", training=False, worker_config=alone)
    read = [(sample["__key__"], sample["json"]) for sample in energon.get_loader(factory.build())]
    assert read == [(key, json.loads(fields["json"])) for key, fields in all_of(samples)]


def test_a_folder_is_one_dataset_with_all_below_it(parts, samples, shale):
    for number in range(SHARDS):
        path = parts / f"part-{number}/{number:04d}.tar"
        assert path.with_suffix(".idx").read_text() == dali_index(path) and path.with_suffix(".tar.idx").exists()
    assert not list(parts.glob("*/.nv-meta")) and not list(parts.glob("*/wids.json"))
    (parts / "part-0/x.tar.gz").write_bytes(b"")
    (parts / ".trash").mkdir()
    make_tar(parts / ".trash/hidden.tar", samples[0])
    facts = json.loads(shale("index", "--native", KINDS, parts, "--json"))
    assert facts["tars"] == SHARDS and [index["written"] for index in facts["native"]] == [0, 0, 0]
    assert "3 tars lie in folders below it" in facts["notes"][0] and "1 compressed tar is not indexed" in facts["notes"][1]
    assert "part-0/x.tar.gz" in facts["notes"][1]


def test_folders_that_are_named_are_datasets_of_their_own(parts):
    run_shale("index", "--native", "energon", parts / "part-0", str(parts / "part-1") + "/")
    for number, is_named in ((0, True), (1, True), (2, False)):
        assert (parts / f"part-{number}/.nv-meta/split.yaml").exists() == is_named
    assert '"0001.tar"' in (parts / "part-1/.nv-meta/split.yaml").read_text()
    error = run_shale("index", "--native", "energon", parts / "part-0", parts / "part-0/0000.tar", code=2).stderr.decode()
    assert "is named twice" in error


def test_tars_of_one_name_in_several_folders(samples, tmp_path):
    """wids' cache has a place for one of them."""
    for folder in ("train", "val"):
        (tmp_path / folder).mkdir()
        make_tar(tmp_path / folder / "0.tar", samples[0])
    error = run_shale("index", "--native", "wids,energon", tmp_path, code=1).stderr.decode()
    assert "val/0.tar" in error and "leave wids out" in error and sorted(os.listdir(tmp_path)) == ["train", "val"]
    run_shale("index", "--native", "energon,dali", tmp_path)
    lines = [line.strip(' -"') for line in (tmp_path / ".nv-meta/split.yaml").read_text().splitlines()]
    assert lines == ["split_parts:", "train:", "train/0.tar", "val:", "val/0.tar", "test: []", "exclude: []"]


def test_energon_writes_the_same_offsets(tars):
    """As its own prepare does: where tarfile finds the first member of each sample, and the end."""
    for path in tars.glob("*.tar"):
        offsets, last = [], None
        with tarfile.open(path) as tar:
            for member in tar:
                key = member.name.rpartition("/")[2].partition(".")[0]
                if key != last:
                    offsets.append(member.offset)
                last = key
            offsets.append(tar.offset)
        assert struct.unpack(f"<{len(offsets)}Q", path.with_suffix(".tar.idx").read_bytes()) == tuple(offsets)


def dali_index(path):
    """What DALI's wds2idx.py writes, from what tarfile sees."""
    lines = []
    with tarfile.open(path) as tar:
        last = None
        for member in tar:
            folder, slash, base = member.name.rpartition("/")
            name, dot, extension = base.partition(".")
            if not member.isreg() or not name or not dot:
                continue
            part = f"{extension} {member.offset_data} {member.size} {member.name}"
            if folder + slash + name == last:
                lines[-1] += " " + part
            else:
                lines.append(part)
            last = folder + slash + name
    return f"v1.2 {len(lines)}\n" + "".join(line + "\n" for line in lines)


@pytest.mark.parametrize("dialect", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_dali_gets_what_its_own_program_writes(tmp_path, dialect):
    long = "d" * 90 + "/" + "e" * 60  # a prefix, a long name, a PAX header
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w", format=dialect) as tar:
        add(tar, "./a/1.jpg", b"x" * 1000)
        add(tar, "./a/1.seg.png", b"")
        add(tar, "folder", b"", type=tarfile.DIRTYPE)
        add(tar, "link.jpg", b"", type=tarfile.SYMTYPE, linkname="./a/1.jpg")
        add(tar, "a/._hidden.jpg", b"x")
        add(tar, "README", b"no field")
        for field in ("cls", "jpg"):
            add(tar, f"{long}.{field}", b"y" * 513)
    run_shale("index", "--native", "dali", path)
    assert (tmp_path / "x.idx").read_text() == dali_index(path)


def test_large_members_and_headers_far_apart(tmp_path):
    path = tmp_path / "x.tar"
    make_tar(path, {f"{n}": {"bin": os.urandom(n * 70_000), "cls": b"1"} for n in range(20)})
    run_shale("index", "--native", KINDS, path)
    assert (tmp_path / "x.idx").read_text() == dali_index(path)


def test_it_goes_on_where_it_was(tars, samples, shale):
    before = {path: path.stat().st_mtime_ns for path in tars.rglob("*") if path.is_file()}
    facts = json.loads(shale("index", "--native", KINDS, tars, "--json"))
    assert [index["written"] for index in facts["native"]] == [0, 0, 0]
    assert {path: path.stat().st_mtime_ns for path in tars.rglob("*") if path.is_file()} == before
    # One tar changes: its indexes are replaced, and the lists; the others are not looked at.
    make_tar(tars / "train-0001.tar", {"new": {"txt": b"1"}})
    facts = json.loads(shale("index", "--native", KINDS, tars, "--json"))
    assert {index["kind"]: index["written"] for index in facts["native"]} == {"wids": 1, "dali": 1, "energon": 2}
    assert facts["samples"] == len(samples[0]) + 1 + len(samples[2])
    assert (tars / "train-0001.idx").read_text() == dali_index(tars / "train-0001.tar")


def test_the_same_content_without_its_journal_is_kept(tars, shale):
    (tars / ".shale-native").unlink()
    facts = json.loads(shale("index", "--native", KINDS, tars, "--json"))
    assert [index["written"] for index in facts["native"]] == [0, 0, 0]


@pytest.mark.parametrize("name", ["train-0000.idx", "train-0002.tar.idx", "wids.json", ".nv-meta/split.yaml"])
def test_files_of_others_stay(tars, name):
    (tars / name).write_text("mine\n")
    error = run_shale("index", "--native", KINDS, tars, code=1).stderr.decode()
    assert name in error and "shale did not write it" in error
    assert (tars / name).read_text() == "mine\n"


@pytest.mark.parametrize("name", ["train-0000.idx", "train-0002.tar.idx", "wids.json", ".nv-meta", ".nv-meta/split.yaml", ".shale-native"])
def test_links_to_nothing_are_named(tars, tmp_path, name):
    path = tars / name
    if path.is_dir():
        path.rename(tmp_path / "moved")
    path.unlink(missing_ok=True)
    path.symlink_to("nowhere")
    for words in ([tars], [tars, "--dry-run"], sorted(tars.glob("*.tar"))):
        error = run_shale("index", "--native", KINDS, *words, code=1).stderr.decode()
        if len(words) < SHARDS and not name.startswith("."):  # the folder was walked
            assert f"{name}: cannot be read" in error and "if it is a broken link, remove it" in error
        else:
            assert f"{name}: is a link to nothing" in error and "hint: remove the link" in error
        assert path.is_symlink() and not (tars / "nowhere").exists()
    path.unlink()
    run_shale("index", "--native", KINDS, tars)
    assert path.exists()


def test_a_file_in_the_place_of_energons_folder(samples, tmp_path):
    make_tar(tmp_path / "x.tar", samples[0])
    (tmp_path / ".nv-meta").write_text("mine\n")
    error = run_shale("index", "--native", KINDS, tmp_path, code=1).stderr.decode()
    assert ".nv-meta: is not a folder" in error and "move it away" in error
    assert sorted(os.listdir(tmp_path)) == [".nv-meta", "x.tar"]
    run_shale("index", "--native", "wids,dali", tmp_path)


def test_a_dataset_yaml_of_the_user_stays_and_is_no_error(tars):
    (tars / ".nv-meta/dataset.yaml").write_text("mine\n")
    run_shale("index", "--native", KINDS, tars)
    assert (tars / ".nv-meta/dataset.yaml").read_text() == "mine\n"


def test_splits_follow_the_names(samples, tmp_path):
    for name in ("train-0.tar", "val-0.tar", "validation_1.tar", "test.tar", "valley.tar"):
        make_tar(tmp_path / name, samples[0])
    run_shale("index", "--native", "energon", tmp_path)
    text = (tmp_path / ".nv-meta/split.yaml").read_text()
    lines = [line.strip(' -"') for line in text.splitlines()]
    assert lines == ["split_parts:", "train:", "train-0.tar", "valley.tar", "val:", "val-0.tar", "validation_1.tar", "test:", "test.tar", "exclude: []"]


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("dali", "a b.jpg", "blanks"),
        ("dali", "ä.jpg", "ASCII"),
        ("dali", "a\\b.jpg", "backslashes"),
        ("dali", "a.", "ends in a dot"),
        ("wids", "d" * 60 + "/" + "e" * 50 + ".jpg", "100 bytes"),
        ("wids", "1.jpg", "an earlier member has"),
    ],
)
def test_names_that_break_an_index_are_refused_by_name(tmp_path, kind, name, message):
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        add(tar, "1.jpg", b"x")
        add(tar, "2.jpg", b"x")
        add(tar, name, b"x")
    error = run_shale("index", "--native", kind, path, code=1).stderr.decode()
    assert message in error and "--to webdataset" in error and "x.tar" in error
    assert sorted(os.listdir(tmp_path)) == ["x.tar"]


@pytest.mark.parametrize(("kind", "name"), [("wids", "a#b.tar"), ("energon", "a{1,2}.tar"), ("wids", "x.tar.gz"), ("dali", "x.tar.gz")])
def test_tars_with_names_that_break_an_index_are_refused(tmp_path, kind, name):
    make_tar(tmp_path / name, {"1": {"txt": b"1"}})
    error = run_shale("index", "--native", kind, tmp_path / name, code=1).stderr.decode()
    assert name in error and "rename" in error
    assert os.listdir(tmp_path) == [name]


def test_tars_of_one_index_are_refused(tmp_path):
    for name in ("a.1.tar", "a.2.tar"):
        make_tar(tmp_path / name, {"1": {"txt": b"1"}})
    error = run_shale("index", "--native", "dali", tmp_path, code=1).stderr.decode()
    assert "a.2.tar" in error and "up to the first dot" in error


def test_a_folder_without_plain_tars_says_what_is_there(tmp_path):
    assert "name the folder that holds the tars" in run_shale("index", "--native", "dali", tmp_path, code=1).stderr.decode()
    (tmp_path / "x.tgz").write_bytes(b"")
    assert "unpack them" in run_shale("index", "--native", "dali", tmp_path, code=1).stderr.decode()


def test_an_empty_tar_and_damage_are_named(tmp_path, samples):
    make_tar(tmp_path / "empty.tar", {})
    assert "holds no sample" in run_shale("index", "--native", "dali", tmp_path / "empty.tar", code=1).stderr.decode()
    make_tar(tmp_path / "x.tar", samples[0])
    content = bytearray((tmp_path / "x.tar").read_bytes())
    content[512 * 2 + 3] ^= 1  # the second header
    (tmp_path / "x.tar").write_bytes(content)
    error = run_shale("index", "--native", KINDS, tmp_path / "x.tar", code=3).stderr.decode()
    assert "x.tar: byte 1024: the header of a member is expected here" in error
    assert not (tmp_path / "x.idx").exists() and not (tmp_path / "wids.json").exists()


def test_a_plan_writes_nothing(tmp_path, samples, shale):
    make_tar(tmp_path / "x.tar", samples[0])
    facts = json.loads(shale("index", "--native", KINDS, tmp_path, "--dry-run", "--json"))
    assert facts["planned"] and facts["samples"] == len(samples[0]) and os.listdir(tmp_path) == ["x.tar"]


def test_options_of_shales_own_index_are_refused(tmp_path, samples):
    make_tar(tmp_path / "x.tar", samples[0])
    assert "--crc" in run_shale("index", "--native", "dali", "--crc", tmp_path, code=2).stderr.decode()
    assert "is not one of" in run_shale("index", "--native", "ffcv", tmp_path, code=2).stderr.decode()


@pytest.mark.parametrize("block", [*blocks_of(["docs/webdataset.md"], "native"), *blocks_of(["docs/webdataset.md"], "tars")])
def test_the_documented_readers(block, tmp_path):
    """Sample 17 of the page has the label 3."""
    pytest.importorskip(re.search(r"wids|megatron|nvidia|shale", block)[0])
    for shard in range(2):
        make_tar(tmp_path / f"{shard:06}.tar", {f"{n:05d}": {"cls": b"%d" % (n % 7), "jpg": jpeg(n)} for n in range(shard * 20, shard * 20 + 20)})
    run_shale("index", "--native", KINDS, tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/shards").symlink_to(tmp_path)
    code = f"import os\nos.environ['WIDS_CACHE'] = {str(tmp_path / 'cache')!r}\n{block}\nassert label == b'3', label"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "run", check=True)


def test_dali_reads_every_sample(tars, samples):
    """Runs where nvidia-dali is installed: its wheel has 400 MB, more than all other peers."""
    dali = pytest.importorskip("nvidia.dali")

    @dali.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def batches():
        paths = sorted(map(str, tars.glob("*.tar")))
        fields = list(next(iter(samples[0].values())))
        return tuple(dali.fn.readers.webdataset(paths=paths, index_paths=[path[:-4] + ".idx" for path in paths], ext=fields))

    pipeline = batches()
    pipeline.build()
    for _, fields in all_of(samples):
        assert [bytes(value.at(0)) for value in pipeline.run()] == list(fields.values())


def test_a_killed_run_continues(samples, tmp_path):
    """Whatever is there after SIGKILL is whole, and the next run leaves what a run without a kill does."""
    folders = [tmp_path / "killed", tmp_path / "whole"]
    for folder in folders:
        folder.mkdir()
        for number in range(60):
            make_tar(folder / f"{number:04d}.tar", samples[number % SHARDS])
    run_shale("index", "--native", KINDS, folders[1])
    for seconds in (0.02, 0.05, 0.1, 0.2):
        with subprocess.Popen([SHALE, "index", "--native", KINDS, folders[0]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            time.sleep(seconds)
            run.kill()
        for path in folders[0].glob("*.idx"):
            assert path.read_bytes() == (folders[1] / path.name).read_bytes()
    run_shale("index", "--native", KINDS, folders[0])
    left = [{path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".shale-native"} for folder in folders]
    assert left[0] == left[1]
