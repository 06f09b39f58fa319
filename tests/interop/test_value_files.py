"""ds.open gives one value as a file: PyAV, soundfile and wave read videos and sound out of any container, and only what they need."""

import copy
import gc
import importlib.util
import io
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import wave

import numpy as np
import pytest
from dataset_reading import manifest_of
from documented_code import blocks_of

shale_package = pytest.importorskip("shale")
Dataset, ValueFile = shale_package.Dataset, shale_package.ValueFile
MIB = 1 << 20


def write_video(path, frames, shade):
    av = pytest.importorskip("av")
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(frames):
            pixels = np.full((48, 64, 3), (shade, 8 * number, 128), np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, "rgb24")))
        container.mux(stream.encode())


def write_sound(path, samples, seed):
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(np.random.default_rng(seed).integers(-9000, 9000, samples, np.int16).tobytes())


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    root = tmp_path_factory.mktemp("sounds")
    for number in range(6):
        (root / f"class{number % 2}").mkdir(exist_ok=True)
        write_sound(root / f"class{number % 2}" / f"{number}.wav", 20000 + number, number)
    return root


@pytest.fixture(scope="module", params=["record", "lmdb", "hdf5"])
def recordings(request, sounds, tmp_path_factory):
    out = tmp_path_factory.mktemp("recordings") / "out"
    shale_package.convert(sounds, out, request.param, ext="wav", shard_samples=4)
    return out


@pytest.fixture(scope="module")
def blob(tmp_path_factory):
    """(a record dataset whose second sample has 200 MiB, that value's bytes of the last MiB)"""
    root = tmp_path_factory.mktemp("blob")
    (root / "in" / "a").mkdir(parents=True)
    (root / "in" / "a" / "0.bin").write_bytes(b"small")
    end = np.random.default_rng(0).integers(0, 256, MIB, np.uint8).tobytes()
    with open(root / "in" / "a" / "1.bin", "wb") as file:
        file.seek(199 * MIB)
        file.write(end)
    shale_package.convert(root / "in", root / "out", "record", ext=["bin"], memory="512MiB")
    return root / "out", end


def test_pyav_plays_what_it_plays_of_the_file(tmp_path):
    av = pytest.importorskip("av")
    (tmp_path / "in" / "walk").mkdir(parents=True)
    for number, frames in enumerate((30, 50)):
        write_video(tmp_path / "in" / "walk" / f"{number}.mp4", frames, 40 * number)
    shale_package.convert(tmp_path / "in", tmp_path / "out", "record", ext="mp4")
    ds = Dataset(tmp_path / "out")
    assert list(ds.schema) == ["video", "label"]
    for number, frames in enumerate((30, 50)):
        with ds.open(number, "video") as file, av.open(file) as ours, av.open(str(tmp_path / "in" / "walk" / f"{number}.mp4")) as theirs:
            pairs = [(a.to_ndarray(), b.to_ndarray()) for a, b in zip(ours.decode(video=0), theirs.decode(video=0))]
        assert len(pairs) == frames and all(np.array_equal(a, b) for a, b in pairs)


TORCHCODEC = """
import sys
import torch
from torchcodec.decoders import VideoDecoder
from shale import Dataset

for container in ("record", "lmdb", "hdf5"):
    ds = Dataset(container)
    for row, path in enumerate(("in/walk/0.mp4", "in/walk/1.mp4")):
        theirs = VideoDecoder(path)
        last = len(theirs) - 1
        with ds.open(row, "video") as file:
            ours = VideoDecoder(file)
            print(len(ours), torch.equal(ours.get_frames_at([last, 0, 7]).data, theirs.get_frames_at([last, 0, 7]).data))
"""


def test_torchcodec_decodes_what_it_decodes_of_the_file(tmp_path):
    av = pytest.importorskip("av")
    if importlib.util.find_spec("torchcodec") is None:
        pytest.skip("no torchcodec")
    (tmp_path / "in" / "walk").mkdir(parents=True)
    for number, frames in enumerate((30, 50)):
        write_video(tmp_path / "in" / "walk" / f"{number}.mp4", frames, 40)
    for container in ("record", "lmdb", "hdf5"):
        shale_package.convert(tmp_path / "in", tmp_path / container, container, ext="mp4")
    # torchcodec brings no FFmpeg: it takes the one of PyAV, under the names that libraries have on a system.
    bundled = pathlib.Path(av.__file__).parents[1] / "av.libs"
    (tmp_path / "lib").mkdir()
    for library in bundled.glob("lib[as][vw]*.so.*"):
        base, version = re.fullmatch(r"(lib\w+)-\w+\.so\.(\d+).*", library.name).groups()
        (tmp_path / "lib" / f"{base}.so.{version}").symlink_to(library)
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{tmp_path / 'lib'}:{bundled}"}
    done = subprocess.run([sys.executable, "-c", TORCHCODEC], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["30", "True", "50", "True"] * 3, done.stderr


@pytest.mark.parametrize("block", blocks_of(["docs/python.md"], "clips"))
def test_the_lines_in_the_document_play_a_clip(block, tmp_path, capfd):
    (tmp_path / "in" / "walk").mkdir(parents=True)
    write_video(tmp_path / "in" / "walk" / "0.mp4", 12, 40)
    shale_package.convert(tmp_path / "in", tmp_path / "clips", "record", ext="mp4")
    subprocess.run([sys.executable, "-c", block.replace('"out"', '"clips"')], cwd=tmp_path, check=True)
    assert capfd.readouterr().out.splitlines()[11].endswith("(48, 64, 3)")


def test_wave_and_soundfile_hear_what_they_hear_of_the_file(recordings, sounds):
    soundfile = pytest.importorskip("soundfile")
    ds = Dataset(recordings)
    for row in range(len(ds)):
        path = sounds / ds[row]["key"]
        with ds.open(row, "audio") as file, wave.open(file) as ours, wave.open(str(path)) as theirs:
            assert ours.readframes(10**6) == theirs.readframes(10**6)
        ours, rate = soundfile.read(ds.open(row, "audio"), start=5000, stop=6000)
        theirs, _ = soundfile.read(path, start=5000, stop=6000)
        assert rate == 8000 and np.array_equal(ours, theirs)


def test_it_is_a_file_like_any_other(recordings):
    ds = Dataset(recordings)
    value = ds[4]["audio"]
    with ds.open(4, "audio") as file, io.BytesIO(value) as model:
        assert isinstance(file, io.BufferedReader) and file.readable() and file.seekable() and not file.writable()
        assert file.size == len(value) and file.name == ds[4]["key"] and file.name in repr(file) or "sample 4" in repr(file)
        steps = [(7, 0), (100, 1), (-50, 2), (0, 2), (len(value) + 9, 0), (len(value) - 3, 0), (0, 0)]
        for offset, whence in steps:
            assert file.seek(offset, whence) == model.seek(offset, whence)
            assert file.read(1000) == model.read(1000) and file.tell() == model.tell()
        assert file.read() == model.read() and file.read() == b""
        with pytest.raises(ValueError):
            file.seek(-1)
        with pytest.raises(io.UnsupportedOperation):
            file.fileno()
        with pytest.raises(io.UnsupportedOperation):
            file.write(b"x")
    with pytest.raises(ValueError):
        file.read(1)


def test_rows_are_those_of_the_dataset(recordings):
    whole = Dataset(recordings)
    some = Dataset(recordings, indices=[5, 2], fields=["label"])
    assert some.open(0, "audio").read() == whole[5]["audio"]
    assert some.open(-1, "audio").read() == whole[2]["audio"]
    with pytest.raises(IndexError):
        some.open(2, "audio")


def test_what_is_no_bytes_is_refused_by_name(recordings):
    ds = Dataset(recordings)
    with pytest.raises(shale_package.UnsupportedError, match="'label' is of kind integer"):
        ds.open(0, "label")
    with pytest.raises(shale_package.NotFoundError, match="'video'"):
        ds.open(0, "video")
    with pytest.raises(shale_package.UsageError, match="kind bytes"):
        Dataset(recordings, decode={"label": "file"})


def test_decode_gives_files_that_have_read_nothing(recordings):
    plain, ds = Dataset(recordings), Dataset(recordings, decode={"audio": "file"})
    samples = ds[[5, 0, 3]]
    for row, sample in zip((5, 0, 3), samples):
        assert list(sample) == list(plain[row]) and type(sample["audio"]) is ValueFile
        assert {**sample, "audio": sample["audio"].read()} == plain[row]
    pair = Dataset(recordings, as_tuple=("audio", "label"), decode="file", transform=lambda pair: (pair[0].read(4), pair[1]))[1]
    assert pair == (b"RIFF", plain[1]["label"])


def test_it_pickles_with_its_position(recordings):
    ds = Dataset(recordings, transform=lambda sample: sample)  # which does not pickle
    file = ds.open(3, "audio")
    file.seek(1001)
    for other in (pickle.loads(pickle.dumps(file)), copy.copy(file)):
        assert other.tell() == 1001 and other.read() == ds[3]["audio"][1001:]
    ds.close()
    assert len(pickle.dumps(file)) < 4096


def test_a_pickle_of_another_dataset_is_refused(recordings, tmp_path):
    shutil.copytree(recordings, tmp_path / "out")
    pickled = pickle.dumps(Dataset(tmp_path / "out").open(5, "audio"))
    (tmp_path / "in" / "a").mkdir(parents=True)
    for number in range(6):
        write_sound(tmp_path / "in" / "a" / f"{number}.wav", 10, 0)
    shale_package.convert(tmp_path / "in", tmp_path / "out", "record", ext="wav", overwrite=True)
    with pytest.raises(shale_package.MismatchError):
        pickle.loads(pickled)


def test_workers_open_files_of_their_own(recordings):
    torch = pytest.importorskip("torch")
    plain = [sample["audio"] for sample in Dataset(recordings)]
    ds = Dataset(recordings, decode="file")
    loader = torch.utils.data.DataLoader(ds, batch_size=None, num_workers=2, collate_fn=lambda sample: sample)
    for _ in range(2):
        assert [sample["audio"].read() for sample in loader] == plain


def test_parent_and_child_read_independently_after_a_fork(recordings):
    ds = Dataset(recordings)
    file = ds.open(2, "audio")
    value = ds[2]["audio"]
    file.seek(10)
    child = os.fork()
    if child == 0:
        os._exit(0 if file.read() == value[10:] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert file.tell() == 10 and file.read() == value[10:]


def test_after_the_dataset_was_closed_it_says_so(recordings):
    ds = Dataset(recordings)
    file = ds.open(0, "audio")
    ds.close()
    with pytest.raises(shale_package.UsageError, match="the dataset was closed"):
        file.read()


def test_a_file_keeps_its_dataset(recordings):
    file = Dataset(recordings).open(0, "audio")
    gc.collect()
    assert file.read(4) == b"RIFF"


def test_values_of_files_of_other_tools(tmp_path):
    lmdb = pytest.importorskip("lmdb")
    value = os.urandom(300_000)
    with lmdb.open(str(tmp_path / "x.lmdb"), subdir=False, map_size=1 << 24) as database, database.begin(write=True) as transaction:
        transaction.put(b"k", value)
    with Dataset(tmp_path / "x.lmdb") as ds, ds.open(0, "value") as file:
        assert file.seek(123_456) and file.read(1000) == value[123_456:124_456] and file.name == "k"


@pytest.mark.parametrize("suffix", ["lmdb", "h5", "tfrecord"])
def test_a_file_without_an_index_is_verified_when_its_value_is_opened(suffix, tmp_path):
    (tmp_path / "in/a").mkdir(parents=True)
    for number in range(4):
        (tmp_path / f"in/a/{number}.bin").write_bytes(np.random.default_rng(number).bytes(MIB + number))
    path = tmp_path / f"x.{suffix}"
    shale_package.convert(tmp_path / "in", path, ext="bin")
    with Dataset(path, verify=True) as ds:
        field = next(name for name, described in ds.schema.items() if described["kind"] == "bytes")
        with ds.open(1, field) as file:
            assert file.seek(1000) and file.read() == ds[1][field][1000:]
            place = file.raw.value.place[0]
        with open(path, "r+b") as changed:  # where the fingerprint of the file does not look
            changed.seek(place + 500_000)
            changed.write(b"?!?!")
        with pytest.raises(shale_package.DamagedError, match="crc32c") as caught:
            ds.open(1, field)
        assert caught.value.sample == 1
        assert ds.open(2, field).read() == ds[2][field]


def damage(out, row, offset):
    ds = Dataset(out, verify=False)
    shard = manifest_of(out)["shards"][0]["files"][0]["name"]
    place = ds.open(row, ds.fields[1]).raw.value.place[0]
    with open(out / shard, "r+b") as file:
        file.seek(place + offset)
        byte = file.read(1)
        file.seek(place + offset)
        file.write(bytes([byte[0] ^ 1]))


def test_verify_true_proves_each_block_that_is_read(blob, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(blob[0], out)
    damage(out, 1, 100 * MIB)
    with Dataset(out, verify=True) as ds, ds.open(1, "data") as file:
        assert file.read(10) == bytes(10)
        file.seek(100 * MIB + 5)
        with pytest.raises(shale_package.DamagedError, match="block") as caught:
            file.read(10)
        assert caught.value.sample == 1
        file.seek(199 * MIB)
        assert file.read() == blob[1]
    with Dataset(out) as ds, ds.open(1, "data") as file:
        file.seek(100 * MIB)
        assert file.read(2) == b"\x01\x00"  # a piece has no checksum of its own


def read_bytes():
    with open("/proc/self/io") as counters:
        return int(dict(line.split(": ") for line in counters)["rchar"])


def resident():
    with open("/proc/self/statm") as sizes:
        return int(sizes.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_only_what_is_asked_for_is_read_and_kept(blob):
    out, end = blob
    ds = Dataset(out)
    ds.open(1, "data").read(1)
    before = (read_bytes(), resident())
    file = ds.open(1, "data")
    file.seek(199 * MIB)
    assert file.read(MIB) == end
    assert read_bytes() - before[0] < 2 * MIB
    assert resident() - before[1] < 8 * MIB


def test_a_truncated_shard_is_damage(recordings, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(recordings, out)
    ds = Dataset(out)
    file = ds.open(3, "audio")
    shard = out / manifest_of(out)["shards"][0]["files"][0]["name"]
    os.truncate(shard, file.raw.value.place[0] + 10)
    with pytest.raises(shale_package.DamagedError):
        file.read()
