"""WebDataset's tar archives by the programs that write them: GNU tar, bsdtar, Python's tarfile, webdataset's ShardWriter."""

import gzip
import io
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import shale
from conftest import jpeg, run_shale
from documented_code import blocks_of, bytes_left_by

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from tar_archives import FORMATS, add_bytes


def array(values):
    """An .npy file."""
    content = io.BytesIO()
    np.save(content, np.array(values, "<f4"))
    return content.getvalue()


def sample(i):
    """By extension, as webdataset's decoders have them; one field is not in all samples."""
    fields = {
        "jpg": jpeg(i),
        "cls": str(i % 7).encode(),
        "txt": f"caption {i} ä".encode(),
        "json": json.dumps({"i": i}).encode(),
        "npy": array(range(i % 3 + 1)),
        "seg.png": bytes([i]) * 9,
    }
    if i % 2:
        fields["extra"] = b"x" * i
    return fields


def check(found, i):
    expected = sample(i)
    for name, extension in {"image": "jpg", "seg": "seg.png", "json": "json", "txt": "txt", "extra": "extra"}.items():
        value = found[name].encode() if isinstance(found[name], str) else found[name]
        assert (None if value is None else bytes(value)) == expected.get(extension), name
    assert found["label"] == i % 7
    np.testing.assert_array_equal(found["npy"], np.arange(i % 3 + 1, dtype="<f4"))


def check_dataset(path, numbers, key=None, **options):
    with shale.Dataset(path, **options) as dataset:
        assert len(dataset) == len(numbers)
        for row, i in enumerate(numbers):
            check(dataset[row], i)
            if key is not None:
                assert dataset[row]["key"] == key(i)


def write_tar(path, numbers, dialect="gnu", prefix=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w", format=FORMATS[dialect]) as archive:
        for i in numbers:
            for extension, content in sample(i).items():
                add_bytes(archive, f"{prefix}{i:04}.{extension}", content)
    return path


@pytest.mark.parametrize("dialect", FORMATS)
@pytest.mark.parametrize("prefix", ["", "a/b/", "d" * 60 + "/" + "e" * 30 + "/", "ä/"])
def test_tarfile(tmp_path, dialect, prefix):
    """In its three formats, with names that fit into a header and names that do not."""
    path = write_tar(tmp_path / "x.tar", range(9), dialect, prefix)
    check_dataset(path, range(9), key=lambda i: f"{prefix}{i:04}")


LONG = "d" * 70 + "/" + "e" * 50 + "/"  # more than a header's field for names has


@pytest.mark.parametrize("options", [[], ["--crc"]])
def test_names_in_two_pieces(tmp_path, options):
    """USTAR divides a long name: keys are beside the index, of all files of a set if one file has such names."""
    for shard, prefix in enumerate(["", LONG, ""]):
        write_tar(tmp_path / f"set/{shard:05}.tar", range(shard * 4, shard * 4 + 4), "ustar", prefix)
    key = lambda i: f"{LONG if 4 <= i < 8 else ''}{i:04}"
    check_dataset(tmp_path / "set", range(12), key=key)
    run_shale("index", tmp_path / "set", *options)
    assert len(list((tmp_path / "set/.shale-index").glob("*.values"))) == 3
    check_dataset(tmp_path / "set", range(12), key=key)
    assert run_shale("cat", tmp_path / "set", "--key", key(5), "--field", "txt").stdout.decode() == "caption 5 ä"
    assert key(7) in run_shale("ls", tmp_path / "set").stdout.decode()
    for depth in ["--quick", "--full", "--deep"][: 3 if options else 1]:
        run_shale("verify", tmp_path / "set", depth, "--quiet")
    run_shale("convert", tmp_path / "set", tmp_path / "out", "--to", "record", "--quiet")
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "set", "--quiet")
    check_dataset(tmp_path / "out", range(12), key=key)
    with shale.Dataset(tmp_path / "set") as dataset:
        batches = [batch["key"] for batch in shale.torch.Loader(dataset, batch_size=4, shuffle="block")]
    assert sorted(one for batch in batches for one in batch) == sorted(key(i) for i in range(12))


@pytest.mark.parametrize("block", blocks_of(["docs/index.md"], "values"))
@pytest.mark.parametrize("prefix", ["", LONG])
def test_the_document_reads_keys(tmp_path, block, prefix):
    run_shale("index", write_tar(tmp_path / "FILE", range(5), "ustar", prefix))
    assert f"{prefix}0003".encode() in bytes_left_by(block, tmp_path / "FILE", tmp_path)


def test_info_says_what_extensions_became_once_indexed(tmp_path):
    names = "image <- .jpg, label <- .cls, seg <- .seg.png"
    for path in (write_tar(tmp_path / "x.tar", range(3)), write_tar(tmp_path / "set/0.tar", range(3)).parent):
        before = run_shale("info", path).stdout.decode()
        run_shale("index", path)
        after = run_shale("info", path).stdout.decode()
        assert names in before and names in after and "indexed" in after


LISTS = {"image": "bytes", "label": "integer", "frames": "list", "words": "list of text"}


def test_own_shards_without_a_manifest_keep_their_lists(tmp_path):
    """A list is a member per element: a tar that came without its dataset has the fields that it was written with."""
    with shale.Writer(tmp_path / "set", to="webdataset", schema=LISTS) as writer:
        for i in range(7):
            frames = [b"\xff\xd8\xff" + bytes([i, j]) for j in range(i % 3)]
            writer.write({"key": f"k{i}", "image": b"\x89PNG\r\n\x1a\n" + bytes([i]), "label": i, "frames": frames, "words": [f"w{i}", "ä"]})
    for name in ("alone.tar", "indexed.tar"):
        shutil.copy(tmp_path / "set/shard-000000.tar", tmp_path / name)
    run_shale("index", tmp_path / "indexed.tar", "--crc")
    for path in (tmp_path / "alone.tar", tmp_path / "indexed.tar"):
        with shale.Dataset(tmp_path / "set") as wanted, shale.Dataset(path) as found:
            assert len(found) == 7
            for i in range(7):
                assert {name: wanted[i][name] for name in LISTS} == {name: found[i][name] for name in LISTS}
        run_shale("verify", path, "--quick", "--quiet")
        run_shale("convert", path, tmp_path / f"{path.stem}-again", "--to", "webdataset", "--quiet")
        run_shale("verify", tmp_path / f"{path.stem}-again", "--against", tmp_path / "set", "--quiet")
    run_shale("verify", tmp_path / "indexed.tar", "--full", "--quiet")
    assert "frames_00001_jpg" in run_shale("info", tmp_path / "alone.tar", "--parse", "plain").stdout.decode()


@pytest.mark.parametrize("empty", ["00000.tar", "00001.tar", "00002.tar"])
def test_a_tar_without_samples_in_a_set_is_named(tmp_path, empty):
    for name in ("00000.tar", "00001.tar", "00002.tar"):
        write_tar(tmp_path / name, [] if name == empty else range(3))
    said = run_shale("info", tmp_path, code=1).stderr.decode()
    assert f"{empty}: is an archive of files" in said


def test_damaged_keys_beside_the_index(tmp_path):
    path = write_tar(tmp_path / "x.tar", range(4), "ustar", LONG)
    run_shale("index", path, "--crc")
    values = tmp_path / "x.tar.values"
    content = bytearray(values.read_bytes())
    content[3] ^= 1
    values.write_bytes(content)
    assert "x.tar.values" in run_shale("verify", path, code=3).stderr.decode()
    run_shale("index", path, "--crc")
    run_shale("verify", path, "--deep", "--quiet")
    check_dataset(path, range(4), key=lambda i: f"{LONG}{i:04}")


@pytest.mark.parametrize("program", ["tar", "bsdtar"])
def test_tar_programs(tmp_path, program):
    """Of a folder of files, sorted by name, without entries for folders."""
    if shutil.which(program) is None:
        pytest.skip(f"no {program}")
    names = []
    for i in range(9):
        for extension, content in sample(i).items():
            names.append(f"{i:04}.{extension}")
            (tmp_path / names[-1]).write_bytes(content)
    subprocess.run([program, "-cf", tmp_path / "x.tar", "-C", tmp_path, *names], check=True)
    check_dataset(tmp_path / "x.tar", range(9), key=lambda i: f"{i:04}")


def test_shard_writer(tmp_path):
    """Of webdataset: shards as one dataset, by their folder and by a pattern; then what it reads of them is the same."""
    webdataset = pytest.importorskip("webdataset")
    with webdataset.ShardWriter(str(tmp_path / "s" / "x-%06d.tar").replace("/s/", "/"), maxcount=4, verbose=0) as writer:
        for i in range(10):
            writer.write({"__key__": f"{i:04}", **sample(i)})
    pattern = str(tmp_path / "x-{000000..000002}.tar")
    check_dataset(pattern, range(10), key=lambda i: f"{i:04}")
    check_dataset(tmp_path, range(10))
    read = list(webdataset.WebDataset(pattern, shardshuffle=False))
    with shale.Dataset(pattern) as dataset:
        assert [one["__key__"] for one in read] == [dataset[row]["key"] for row in range(len(dataset))]


def test_layout_of_img2dataset(tmp_path):
    """A Parquet file and counts beside each archive; they do not count. Converted, it holds the same."""
    for shard in range(3):
        write_tar(tmp_path / f"set/{shard:05}.tar", range(shard * 5, shard * 5 + 5))
        (tmp_path / f"set/{shard:05}.parquet").write_bytes(b"PAR1\0\xff\0PAR1")
        (tmp_path / f"set/{shard:05}_stats.json").write_text("{}")
    run_shale("index", tmp_path / "set")
    check_dataset(tmp_path / "set", range(15))
    run_shale("convert", tmp_path / "set", tmp_path / "out", "--to", "record", "--quiet")
    run_shale("verify", tmp_path / "out", "--against", tmp_path / "set", "--quiet")
    check_dataset(tmp_path / "out", range(15), key=lambda i: f"{i:04}")


def test_changed_shard_is_indexed_again_alone(tmp_path):
    for shard in range(4):
        write_tar(tmp_path / f"set/{shard:05}.tar", range(shard * 3, shard * 3 + 3))
    run_shale("index", tmp_path / "set")
    write_tar(tmp_path / "set/00002.tar", range(50, 54))
    told = run_shale("index", tmp_path / "set").stdout.decode()
    assert "1 indexed, 3 as they were" in told
    check_dataset(tmp_path / "set", [0, 1, 2, 3, 4, 5, 50, 51, 52, 53, 9, 10, 11])
    (tmp_path / "set/00001.tar").unlink()
    assert "00001.tar" in run_shale("info", str(tmp_path / "set/{00000..00003}.tar"), code=1).stderr.decode()


@pytest.mark.parametrize("option", [["--parse", "webdataset"], []])
def test_compressed_archive_is_converted(tmp_path, option):
    path = write_tar(tmp_path / "x.tar", range(9))
    (tmp_path / "x.tar.gz").write_bytes(gzip.compress(path.read_bytes()))
    run_shale("convert", tmp_path / "x.tar.gz", tmp_path / "out", "--to", "record", "--quiet", *option)
    run_shale("verify", tmp_path / "out", "--against", path, "--quiet")
    check_dataset(tmp_path / "out", range(9), key=lambda i: f"{i:04}")


def test_samples_of_one_field_are_asked_for(tmp_path):
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for i in range(4):
            add_bytes(archive, f"{i}.txt", b"abc")
    with shale.Dataset(tmp_path / "x.tar", parse="webdataset") as dataset:
        assert dataset.types == {"txt": "text"} and len(dataset) == 4


@pytest.mark.parametrize("place", [[], ["--index-dir", "indexes"]])
def test_an_index_says_that_an_archive_is_one_of_samples(tmp_path, place):
    """Its content does not."""
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for i in range(4):
            add_bytes(archive, f"{i}.txt", b"abc")
    words = ["x.tar", *place]
    run_shale("index", *words, "--parse", "webdataset", "--crc", cwd=tmp_path)
    assert run_shale("ls", *words, "--tsv", cwd=tmp_path).stdout.count(b"\n") == 4
    assert run_shale("cat", *words, "--key", "2", cwd=tmp_path).stdout == b"abc"
    assert json.loads(run_shale("verify", *words, "--json", cwd=tmp_path).stdout)["samples"] == 4
    run_shale("convert", *words, "out", "--to", "record", "--verify", cwd=tmp_path)
    with shale.Dataset(tmp_path / "x.tar", index_dir=str(tmp_path / "indexes") if place else None) as dataset:
        assert [sample["txt"] for sample in dataset] == ["abc"] * 4


@pytest.mark.parametrize("content", [b"", b"ust", bytes(10240)])
def test_an_indexed_archive_that_is_none_any_more(tmp_path, content):
    path = write_tar(tmp_path / "x.tar", range(3))
    run_shale("index", path, "--crc")
    path.write_bytes(content)
    assert b"has changed since it was indexed" in run_shale("verify", path, code=3).stderr


def test_an_archive_whose_first_header_is_damaged(tmp_path):
    path = write_tar(tmp_path / "x.tar", range(5))
    with open(path, "r+b") as file:
        file.write(b"?")
    for command in (["info", path], ["verify", path], ["convert", path, tmp_path / "out", "--to", "record"]):
        error = run_shale(*command, code=1).stderr.decode()
        assert "does not start like a tar archive" in error
    assert f"'shale convert {path} OUT --to record --parse webdataset --on-error skip'" in error
    run_shale("convert", path, tmp_path / "out", "--to", "record", "--parse", "webdataset", "--on-error", "skip", "--quiet", code=4)
    with shale.Dataset(tmp_path / "out") as dataset:
        for row, i in enumerate(range(1, 5)):
            check(dataset[row], i)


def test_what_is_whole_of_a_truncated_archive(tmp_path):
    path = write_tar(tmp_path / "x.tar", range(9))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    refused = run_shale("convert", path, tmp_path / "out", "--to", "record", code=3).stderr.decode()
    assert "--on-error skip" in refused
    run_shale("convert", path, tmp_path / "out", "--to", "record", "--on-error", "skip", "--quiet", code=4)
    with shale.Dataset(tmp_path / "out") as dataset:
        assert 2 <= len(dataset) <= 5
        for row in range(len(dataset)):
            check(dataset[row], row)


def test_tars_that_are_named_as_shales_shards_are_a_set_of_their_own(tmp_path):
    """webdataset's examples write shard-%06d.tar."""
    folder = tmp_path / "set"
    folder.mkdir()
    for n in range(2):
        with tarfile.open(folder / f"shard-{n:06}.tar", "w") as archive:
            for i in range(3 * n, 3 * n + 3):
                for extension, content in sample(i).items():
                    add_bytes(archive, f"{i:03}.{extension}", content)
    for inputs in (folder, str(folder / "*.tar"), sorted(folder.iterdir())):
        check_dataset(inputs, range(6))
    run_shale("convert", folder, tmp_path / "out", "--to", "record", "--quiet")
    check_dataset(tmp_path / "out", range(6))
    run_shale("index", folder)
    check_dataset(folder, range(6))
    run_shale("verify", folder)
    (folder / "shard-000000.index.npy").touch()
    refused = run_shale("convert", folder, tmp_path / "again", "--to", "record", code=1).stderr.decode()
    assert "holds shards, but no dataset.json" in refused


def test_options_of_folders_make_files_of_members(tmp_path):
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for i in range(4):
            add_bytes(archive, f"a/{i}.jpg", jpeg(i))
            add_bytes(archive, f"a/{i}.txt", b"abc")
    run_shale("convert", tmp_path / "x.tar", tmp_path / "out", "--to", "record", "--pairs", "on", "--quiet")
    with shale.Dataset(tmp_path / "out") as dataset:
        assert dataset[0]["key"] == "a/0.jpg" and dataset.types["label"] == "integer"


@pytest.mark.parametrize("word", ["set", "set/*.tar.gz", "set/{00000..00002}.tar.gz", "@names.txt"])
def test_compressed_tars_are_one_dataset(tmp_path, word):
    (tmp_path / "set").mkdir()
    for shard in range(3):
        content = write_tar(tmp_path / "x.tar", range(shard * 4, shard * 4 + 4)).read_bytes()
        (tmp_path / f"set/{shard:05}.tar.gz").write_bytes(gzip.compress(content))
    (tmp_path / "names.txt").write_text("".join(f"set/{shard:05}.tar.gz\n" for shard in range(3)))
    assert json.loads(run_shale("info", word, "--json", cwd=tmp_path).stdout)["samples"] == 12
    run_shale("verify", word, cwd=tmp_path)
    assert run_shale("ls", word, "--tsv", cwd=tmp_path).stdout.count(b"\n") == 12
    run_shale("convert", word, "out", "--to", "record", "--quiet", cwd=tmp_path)
    check_dataset(tmp_path / "out", range(12), key=lambda i: f"{i:04}")
