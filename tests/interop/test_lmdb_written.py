"""--layout: LMDB files for the readers of folder2lmdb, Caffe and CoCLR, whose logic is re-created here call by call.

None of these is in a package: the classes do what the repositories' readers do (CoCLR 45f200e, pytorch_lmdb_imagenet 7ff71fa).
"""

import os
import pickle
import random
import shutil
import zlib

import lmdb
import msgpack
import numpy as np
import pytest
import shale
import shale.lmdb
import torch
from conftest import jpeg, run_shale, write
from dataset_workers import resident_bytes
from PIL import Image
from shale import UsageError


def open_env(module, path):
    return module.open(str(path), subdir=False, readonly=True, lock=False, readahead=False, meminit=False)


class Folder2Lmdb:
    """ImageFolderLMDB of pytorch_lmdb_imagenet."""

    def __init__(self, path, module=lmdb):
        self.env = open_env(module, path)
        with self.env.begin(write=False) as txn:
            self.length = pickle.loads(txn.get(b"__len__"))
            self.keys = pickle.loads(txn.get(b"__keys__"))

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        with self.env.begin(write=False) as txn:
            return pickle.loads(txn.get(self.keys[index]))


class Coclr:
    """lmdb_dataset.py of CoCLR: keys and names by position, frames as a list."""

    def __init__(self, path, module=lmdb, **options):
        self.env, self.options = open_env(module, path), options
        with self.env.begin(write=False) as txn:
            self.length = msgpack.loads(txn.get(b"__len__"), **options)
            keys = msgpack.loads(txn.get(b"__keys__"), **options)
            order = [name.decode() for name in msgpack.loads(txn.get(b"__order__"), **options)]
            lengths = msgpack.loads(txn.get(b"__vlen__"), **options)
        pairs = sorted(zip(keys, lengths))
        self.id = dict(zip(order, [key for key, _ in pairs]))
        self.frames = dict(zip(order, [length for _, length in pairs]))

    def __getitem__(self, name):
        with self.env.begin(write=False) as txn:
            return msgpack.loads(txn.get(self.id[name]), **self.options)


def parse_datum(message):
    """data and label, as protobuf's parser would give them."""
    def varint(at):
        number = shift = 0
        while True:
            number |= (message[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if not message[at - 1] & 128:
                return number, at

    fields, at = {}, 0
    while at < len(message):
        tag, at = varint(at)
        length, at = varint(at)
        fields[tag >> 3] = length if tag & 7 == 0 else message[at : at + length]
        at += 0 if tag & 7 == 0 else length
    assert set(fields) == {4, 5, 7} and fields[7] == 1
    return fields[4], fields[5]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Images of every size that LMDB stores in another way; more than 100, so that keys have three digits."""
    root = tmp_path_factory.mktemp("images") / "photos"
    for number in range(130):
        write(root, f"class {number % 4}/{number:03}.jpg", jpeg(number))
    return root


@pytest.fixture(scope="module")
def samples(folder):
    """(path, image, label), as torchvision's ImageFolder has them."""
    classes = sorted(one.name for one in folder.iterdir())
    return [
        (f"{name}/{path.name}", path.read_bytes(), label)
        for label, name in enumerate(classes) for path in sorted((folder / name).iterdir())
    ]


@pytest.fixture(scope="module")
def xunge(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("xunge") / "train.lmdb"
    run_shale("convert", folder, out, "--layout", "xunge")
    return out


@pytest.mark.parametrize("module", [lmdb, shale.lmdb])
def test_folder2lmdb_reads_what_was_converted(xunge, samples, module):
    dataset = Folder2Lmdb(xunge, module)
    assert len(dataset) == len(samples)
    assert [dataset[row] for row in range(len(dataset))] == [(image, label) for _, image, label in samples]


def test_every_entry_is_where_liblmdb_looks_for_it(xunge, samples):
    with open_env(lmdb, xunge) as env, env.begin() as txn:
        keys = [key for key, _ in txn.cursor()]
        assert keys == sorted(keys) == sorted(str(row).encode() for row in range(len(samples))) + [b"__keys__", b"__len__"]
        assert env.stat()["entries"] == len(samples) + 2


def test_liblmdb_goes_on_writing(xunge, tmp_path):
    copy = tmp_path / "a.lmdb"
    copy.write_bytes(xunge.read_bytes())
    with lmdb.open(str(copy), subdir=False, map_size=1 << 26, lock=False) as env, env.begin(write=True) as txn:
        for row in range(0, 120, 7):
            txn.put(str(row).encode(), bytes(5000))
        assert txn.delete(b"5")
    with open_env(lmdb, copy) as env, env.begin() as txn:
        assert txn.get(b"7") == bytes(5000) and txn.get(b"5") is None and pickle.loads(txn.get(b"8"))


@pytest.mark.parametrize("count", [1, 2, 10, 11, 101, 1002])
def test_any_number_of_samples_has_its_keys_in_order(tmp_path, count):
    images = [jpeg(number) for number in range(3)]
    for number in range(count):
        write(tmp_path / "in", f"c/{number:04}.jpg", images[number % 3])
    run_shale("convert", tmp_path / "in", tmp_path / "a.lmdb", "--layout", "xunge")
    dataset = Folder2Lmdb(tmp_path / "a.lmdb")
    assert [dataset[row] for row in range(count)] == [(images[row % 3], 0) for row in range(count)]


def test_shale_reads_its_own_layouts_again(xunge, folder, samples, tmp_path):
    with shale.Dataset(xunge) as dataset:
        assert [(one["image"], one["label"]) for one in dataset] == [(image, label) for _, image, label in samples]
    shale.convert(xunge, tmp_path / "out", to="record")
    shale.convert(folder, tmp_path / "direct", to="record")
    assert shale.info(tmp_path / "out").content_digest == shale.info(tmp_path / "direct").content_digest


def test_it_is_the_same_file_for_any_number_of_jobs(xunge, folder, tmp_path):
    shale.convert(folder, tmp_path / "a.lmdb", layout="xunge", jobs=3, memory="16MiB")
    assert (tmp_path / "a.lmdb").read_bytes() == xunge.read_bytes()


def test_caffe_reads_what_was_converted(folder, samples, tmp_path):
    run_shale("convert", folder, tmp_path / "data.mdb", "--layout", "caffe")
    with lmdb.open(str(tmp_path), readonly=True, lock=False) as env, env.begin() as txn:
        entries = [(key.decode(), *parse_datum(value)) for key, value in txn.cursor()]
    assert entries == [(f"{row:08}_{path}", image, label) for row, (path, image, label) in enumerate(samples)]


def basicsr_images(path):
    """What PairedImageDataset of BasicSR finds in a directory: keys by meta_info.txt, values by key. Commit 8d56e3a."""
    assert path.name.endswith(".lmdb")
    keys = [line.split(".")[0] for line in (path / "meta_info.txt").read_text().splitlines()]
    with lmdb.open(str(path), readonly=True, lock=False, readahead=False) as env, env.begin(write=False) as txn:
        assert txn.stat()["entries"] == len(keys)
        return {key: txn.get(key.encode("ascii")) for key in keys}


@pytest.fixture
def photos(tmp_path):
    """Names whose order changes with their suffix; an image for the leaf pages, one for overflow pages."""
    for name, mode, size in (("a", "RGB", (12, 16)), ("a-1", "L", (30, 20)), ("b", "RGBA", (5, 7)), ("large", "RGB", (80, 60))):
        (tmp_path / "photos").mkdir(exist_ok=True)
        Image.frombytes(mode, size, random.Random(name).randbytes(size[0] * size[1] * len(mode))).save(tmp_path / f"photos/{name}.png")
    return tmp_path / "photos"


def test_basicsr_reads_what_was_converted(photos, tmp_path):
    run_shale("convert", photos, tmp_path / "gt.lmdb", "--layout", "basicsr")
    assert sorted(os.listdir(tmp_path / "gt.lmdb")) == ["data.mdb", "meta_info.txt"]
    assert basicsr_images(tmp_path / "gt.lmdb") == {path.stem: path.read_bytes() for path in photos.iterdir()}
    assert (tmp_path / "gt.lmdb/meta_info.txt").read_text().splitlines() == [
        "a.png (16,12,3) 1", "a-1.png (20,30,1) 1", "b.png (7,5,4) 1", "large.png (60,80,3) 1"
    ]  # fmt: skip
    with shale.Dataset(tmp_path / "gt.lmdb") as dataset:
        assert dataset[1]["image"] == (photos / "a-1.png").read_bytes()
    (tmp_path / "by_hand").mkdir()
    run_shale("convert", photos, tmp_path / "by_hand/data.mdb", "--layout", "basicsr", "--jobs", "3", "--memory", "16MiB")
    assert (tmp_path / "by_hand/data.mdb").read_bytes() == (tmp_path / "gt.lmdb/data.mdb").read_bytes()
    assert (tmp_path / "by_hand/meta_info.txt").read_bytes() == (tmp_path / "gt.lmdb/meta_info.txt").read_bytes()


def test_one_file_of_lsun_has_the_names_of_the_images(photos, folder, tmp_path):
    (tmp_path / "gt.lmdb").mkdir()
    run_shale("convert", photos, tmp_path / "gt.lmdb/data.mdb", "--layout", "lsun")
    assert basicsr_images(tmp_path / "gt.lmdb") == {path.stem: path.read_bytes() for path in photos.iterdir()}
    (tmp_path / "other").mkdir()
    assert b"an image, and no other field" in run_shale("convert", folder, tmp_path / "other/data.mdb", "--layout", "lsun", code=1).stderr


def test_what_basicsr_could_not_read_is_refused_and_nothing_is_left(photos, folder, tmp_path):
    def refused(words, *options, source=photos, output="gt.lmdb"):
        assert words in run_shale("convert", source, tmp_path / output, "--layout", "basicsr", *options, code=(1, 2)).stderr.decode()
        assert not (tmp_path / output).exists()

    refused("an image, and no other field", source=folder)
    refused("it is a layout of one LMDB file", output="gt")
    refused("is written without an index", "--with-index")
    shutil.copy(photos / "a.png", photos / "a.jpg")
    refused("two images have the key 'a'")
    (photos / "a.jpg").rename(photos / "a.v2.png")
    refused("no dot among them")
    run_shale("convert", folder, tmp_path / "gt.lmdb", "--layout", "basicsr", "--fields", "image")
    (tmp_path / "gt.lmdb/data.mdb").unlink()
    assert b"meta_info.txt: already exists" in run_shale("convert", folder, tmp_path / "gt.lmdb", "--layout", "basicsr", "--fields", "image", code=1).stderr
    run_shale("convert", folder, tmp_path / "gt.lmdb", "--layout", "basicsr", "--fields", "image", "--overwrite")
    assert len(basicsr_images(tmp_path / "gt.lmdb")) > 0


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    root = tmp_path_factory.mktemp("frames") / "videos"
    for clip in range(14):
        for frame in range(1, 3 + clip % 5):
            write(root, f"{'Archery' if clip % 2 else 'Biking'}/v_{clip:02}/image_{frame:05}.jpg", jpeg(100 + clip + frame))
    return root


@pytest.mark.parametrize("module", [lmdb, shale.lmdb])
@pytest.mark.parametrize("options", [{}, {"raw": True}])
def test_coclr_reads_what_was_converted(videos, tmp_path, module, options):
    run_shale("convert", videos, tmp_path / "a.lmdb", "--group", "frames", "--layout", "coclr", "--shuffle")
    dataset = Coclr(tmp_path / "a.lmdb", module, **options)
    names = [f"{video.parent.name}/{video.name}" for video in sorted(videos.glob("*/*"))]
    assert dataset.length == len(names) and sorted(dataset.id) == names
    for name in names:
        frames = [path.read_bytes() for path in sorted((videos / name).glob("*.jpg"))]
        assert dataset[name] == frames and dataset.frames[name] == len(frames)


def test_frames_are_in_the_order_of_coclrs_own_script(tmp_path):
    """sorted(glob("*.jpg")): frame_10 before frame_2, unlike everywhere else."""
    for number in (1, 2, 10, 11):
        write(tmp_path, f"in/a/v/frame_{number}.jpg", jpeg(number))
    run_shale("convert", tmp_path / "in", tmp_path / "a.lmdb", "--group", "frames", "--layout", "coclr")
    assert Coclr(tmp_path / "a.lmdb")["a/v"] == [jpeg(number) for number in (1, 10, 11, 2)]
    run_shale("index", tmp_path / "a.lmdb")
    run_shale("verify", tmp_path / "a.lmdb", "--against", tmp_path / "in")
    shale.convert(tmp_path / "in", tmp_path / "b.lmdb", group="frames")
    assert shale.Dataset(tmp_path / "b.lmdb")[0]["frames"] == [jpeg(number) for number in (1, 2, 10, 11)]


def test_coclr_survives_a_copy_through_shale(videos, tmp_path):
    run_shale("convert", videos, tmp_path / "a.lmdb", "--group", "frames", "--layout", "coclr")
    run_shale("convert", tmp_path / "a.lmdb", tmp_path / "b.lmdb", "--layout", "coclr")
    assert (tmp_path / "a.lmdb").read_bytes() == (tmp_path / "b.lmdb").read_bytes()


def test_what_does_not_fit_is_refused_by_name(folder, videos, tmp_path):
    def refusal(*words, code=(1, 2)):
        return run_shale("convert", *words, code=code).stderr.decode()

    assert "layout coclr holds a list of frames" in refusal(folder, tmp_path / "a.lmdb", "--layout", "coclr")
    assert "layout xunge holds an image" in refusal(videos, tmp_path / "a.lmdb", "--group", "frames", "--layout", "xunge")
    assert "it is a layout of one LMDB file" in refusal(folder, tmp_path / "out", "--to", "lmdb", "--layout", "xunge")
    assert "it is a layout of one LMDB file" in refusal(folder, tmp_path / "a.h5", "--layout", "xunge")
    for option in ("--with-index", "--verify"):
        assert "is written without an index" in refusal(folder, tmp_path / "a.lmdb", "--layout", "xunge", option)
    with pytest.raises(UsageError, match="is written without an index"):
        shale.convert(folder, tmp_path / "a.lmdb", layout="xunge", verify=True)
    with pytest.raises(UsageError, match="layout 'thecml' is not one of"):
        shale.convert(folder, tmp_path / "a.lmdb", layout="thecml")
    assert list(tmp_path.iterdir()) == []


def test_keys_that_are_too_long_for_lmdb_leave_no_file(tmp_path):
    write(tmp_path / "in", f"{'c' * 250}/{'d' * 250}/{'e' * 40}.jpg", jpeg(1))
    assert b"longer than LMDB's limit of 511" in run_shale("convert", tmp_path / "in", tmp_path / "a.lmdb", "--layout", "caffe", code=1).stderr
    assert [one.name for one in tmp_path.iterdir()] == ["in"]


class ClipsOfCoclr(torch.utils.data.Dataset):
    """What CoCLR's dataset does in a worker: the whole video is read, some frames of it are used. Says how much memory is resident."""

    def __init__(self, path, names):
        self.path, self.names, self.videos = path, names, None

    def __len__(self):
        return len(self.names)

    def __getitem__(self, row):
        self.videos = self.videos or Coclr(self.path, shale.lmdb)
        frames = self.videos[self.names[row]]
        return sum(len(frame) for frame in frames[::2]), os.getpid(), resident_bytes()


def test_memory_of_workers_stays_flat_over_three_epochs_of_videos(tmp_path):
    """CoCLR's reader through shale.lmdb, in workers that persist."""
    values = random.Random(1).randbytes(1 << 18)
    for number in range(48):
        for frame in range(8):
            write(tmp_path / "in", f"c/{number:02}/{frame}.jpg", b"\xff\xd8" + values + b"\xff\xd9")
    run_shale("convert", tmp_path / "in", tmp_path / "a.lmdb", "--group", "frames", "--layout", "coclr", "--on-error", "keep", "--max-errors", "100%")
    names = [f"c/{number:02}" for number in range(48)]
    loader = torch.utils.data.DataLoader(
        ClipsOfCoclr(tmp_path / "a.lmdb", names), batch_size=4, shuffle=True, num_workers=2, persistent_workers=True, multiprocessing_context="fork"
    )
    seen = {}
    for _ in range(3):
        for sizes, workers, resident in loader:
            assert set(sizes.tolist()) == {4 * ((1 << 18) + 4)}
            for worker, size in zip(workers.tolist(), resident.tolist()):
                seen.setdefault(worker, []).append(size)
    assert len(seen) == 2
    for sizes in seen.values():
        assert max(sizes) - sizes[0] <= 16 << 20, sizes


def test_memory_stays_flat_over_three_epochs(tmp_path):
    """Of folder2lmdb's reader through shale.lmdb: a mapped reader would hold all of the file."""
    values = random.Random(1).randbytes(1 << 20)
    for number in range(64):
        write(tmp_path / "in", f"c/{number:02}.jpg", b"\xff\xd8" + values + b"\xff\xd9")
    run_shale("convert", tmp_path / "in", tmp_path / "a.lmdb", "--layout", "xunge", "--on-error", "keep", "--max-errors", "100%")
    dataset = Folder2Lmdb(tmp_path / "a.lmdb", shale.lmdb)
    assert dataset[0][1] == 0
    before = resident_bytes()
    for epoch in range(3):
        for row in np.random.default_rng(epoch).permutation(64):
            assert len(dataset[row][0]) == (1 << 20) + 4
    assert resident_bytes() - before <= 16 << 20


class Folder2LmdbInWorkers(Folder2Lmdb):
    """A checksum of each sample, and which worker of what size read it."""

    def __getitem__(self, index):
        return index, zlib.crc32(pickle.dumps(super().__getitem__(index))), os.getpid(), resident_bytes()


def test_memory_of_workers_stays_flat_over_three_epochs_of_images(tmp_path):
    """Folder2lmdb's reader through shale.lmdb, opened before the workers were forked."""
    dice = random.Random(2)
    images = [b"\xff\xd8" + dice.randbytes(1 << 20) + b"\xff\xd9" for _ in range(64)]
    for number, image in enumerate(images):
        write(tmp_path / "in", f"c/{number:02}.jpg", image)
    run_shale("convert", tmp_path / "in", tmp_path / "a.lmdb", "--layout", "xunge", "--on-error", "keep", "--max-errors", "100%")
    wanted = [(row, zlib.crc32(pickle.dumps((image, 0)))) for row, image in enumerate(images)]
    loader = torch.utils.data.DataLoader(
        Folder2LmdbInWorkers(tmp_path / "a.lmdb", shale.lmdb), batch_size=4, shuffle=True, num_workers=2, persistent_workers=True,
        multiprocessing_context="fork", collate_fn=list
    )
    sizes = {}
    for _ in range(3):
        seen = [sample for batch in loader for sample in batch]
        assert sorted(sample[:2] for sample in seen) == wanted
        for _, _, worker, size in seen:
            sizes.setdefault(worker, []).append(size)
    assert len(sizes) == 2
    assert all(max(found) - found[0] <= 16 << 20 for found in sizes.values()), sizes
