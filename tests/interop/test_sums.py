"""`verify --sample`, `--report`, `--export sha256sum` and `--against SHA256SUMS`, beside sha256sum and md5sum of coreutils."""

import csv
import json
import subprocess

import numpy as np
import pytest
from conftest import run_shale

PARTS = 4


@pytest.fixture
def dataset(tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(5).integers(0, 255, (2000, 4096), dtype="u1"))
    run_shale("convert", tmp_path / "a.npy", tmp_path / "out", "--to", "record", "--shard-size", "3MiB")
    return tmp_path / "out"


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)


def test_the_parts_of_a_dataset_are_all_of_it(dataset):
    parts = [json.loads(run_shale("verify", dataset, "--sample", f"{number}/{PARTS}", "--json").stdout)["part"] for number in range(PARTS)]
    assert [part["number"] for part in parts] == list(range(PARTS)) and sum(part["bytes"] for part in parts) == parts[0]["all_bytes"]
    assert parts[0]["all_bytes"] == sum(path.stat().st_size for path in dataset.glob("*.tfrecord"))
    assert json.loads(run_shale("verify", dataset, "--sample", f"{PARTS + 1}/{PARTS}", "--json").stdout)["part"] == parts[1]


def test_damage_is_found_by_exactly_one_part(dataset):
    for shard, at in ((0, 5000), (1, 2_000_000), (2, 1_500_000)):
        flip(dataset / f"shard-{shard:06}.tfrecord", at)
    whole = json.loads(run_shale("verify", dataset, "--json", code=3).stdout)["first_findings"]
    found = []
    for number in range(PARTS):
        done = run_shale("verify", dataset, "--sample", f"{number}/{PARTS}", "--json", code=(0, 3))
        found += json.loads(done.stdout)["first_findings"]
    assert found == whole and len({finding["file"] for finding in found}) == 3


def test_a_share_and_a_size_are_read_by_the_day(dataset):
    for word, count in (("5%", 20), ("33.4%", 3), ("100%", 1), ("2MiB", 4)):
        done = run_shale("verify", dataset, "--sample", word)
        assert f" of {count}: run daily".encode() in done.stdout and f"/{count}: ".encode() in done.stdout
    for word in ("0%", "101%", "1/0", "/3", "x", "-1/3", "10KiB", "nan%"):
        run_shale("verify", dataset, "--sample", word, code=2)
    assert b"run 'shale index" in run_shale("verify", dataset.parent / "a.npy", "--sample", "1/2", code=1).stderr


@pytest.mark.parametrize("suffix", [".tsv", ".jsonl"])
def test_a_report_has_a_line_for_each_damaged_sample(suffix, dataset, tmp_path):
    shard = dataset / "shard-000001.tfrecord"
    data = shard.read_bytes()
    shard.write_bytes(data[:100] + bytes(2_500_000) + data[2_500_100:])
    report = tmp_path / f"r{suffix}"
    said = run_shale("verify", dataset, "--report", report, code=3)
    total = int(said.stdout.split(b"out: ")[1].split()[0].replace(b",", b""))
    if suffix == ".tsv":
        with open(report, newline="") as file:
            lines = [
                {name: value for name, value in row.items() if value}
                for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            ]
    else:
        lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert len(lines) == total > 600  # more than the first 200 of each range
    damaged = {int(line["row"]) for line in lines if line.get("field") == "x"}
    assert len(damaged) > 590 and damaged == set(range(min(damaged), max(damaged) + 1))
    assert b"never replaces a file" in run_shale("verify", dataset, "--report", report, code=1).stderr
    run_shale("verify", dataset, "--report", tmp_path / "r.xml", code=2)


def test_sha256sum_takes_what_is_exported(dataset, tmp_path):
    lines = run_shale("verify", dataset, "--export", "sha256sum").stdout
    (tmp_path / "SUMS").write_bytes(lines)
    subprocess.run(["sha256sum", "-c", "--quiet", "../SUMS"], cwd=dataset, check=True)
    assert len(lines.splitlines()) == len(list(dataset.iterdir()))
    run_shale("verify", dataset, "--against", tmp_path / "SUMS")
    flip(dataset / "shard-000001.tfrecord", 7)
    done = run_shale("verify", dataset, "--export", "sha256sum", code=3)
    assert b"shard-000001.tfrecord: is not as it was written" in done.stderr and b"shard-000001.tfrecord" not in done.stdout
    assert len(done.stdout.splitlines()) == len(lines.splitlines()) - 1


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "set"
    (folder / "sub dir").mkdir(parents=True)
    for name, data in {"a.bin": b"x" * 3_000_000, "sub dir/b c": b"", "sub dir/é\\n\n": b"q", ".hidden": b"1"}.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("words", [["sha256sum"], ["sha256sum", "-b"], ["sha256sum", "--tag"], ["md5sum"]], ids=" ".join)
def test_lists_of_coreutils_are_compared(words, folder):
    """The list lies in the folder and names itself, as `find . -type f | xargs md5sum > MD5SUMS` does."""
    names = ["./a.bin", "sub dir/b c", "sub dir/é\\n\n", ".hidden", "SUMS"]
    (folder / "SUMS").touch()
    (folder / "SUMS").write_bytes(subprocess.run([*words, *names], cwd=folder, check=True, capture_output=True).stdout)
    assert b"4 files" in run_shale("verify", folder, "--against", folder / "SUMS").stdout
    assert b"1 file " in run_shale("verify", folder / "a.bin", "--against", folder / "SUMS").stdout
    (folder / "sub dir/b c").unlink()
    (folder / "more").touch()
    flip(folder / "a.bin", 2_999_999)
    done = run_shale("verify", folder, "--against", folder / "SUMS", code=3)
    assert b"1 differ, 1 missing, 1 not in the list" in done.stdout
    told = done.stderr.decode().splitlines()
    assert told[0].startswith("a.bin: ") and told[1:3] == ["more: is not in the list", "sub dir/b c: is missing, but the list names it"]


def test_comments_and_a_byte_order_mark_are_no_part_of_a_list(folder, tmp_path):
    sums = subprocess.run(["sha256sum", "a.bin"], cwd=folder, check=True, capture_output=True).stdout
    for begin in (b"# written by hand\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf# one\r\n# two\r\n"):
        (tmp_path / "list").write_bytes(begin + sums)
        run_shale("verify", folder / "a.bin", "--against", tmp_path / "list")
    for content in (b"", b"hello\n" + sums, sums.decode().encode("utf-16")):
        (tmp_path / "SHA256SUMS").write_bytes(content)
        told = run_shale("verify", folder, "--against", tmp_path / "SHA256SUMS", code=1).stderr
        assert b"SHA256SUMS: is not a list of checksums" in told


def test_lists_with_nul_and_names_from_elsewhere(folder, tmp_path):
    names = ["./a.bin", "sub dir/b c", "sub dir/é\\n\n", ".hidden"]
    sums = tmp_path / "list"
    sums.write_bytes(subprocess.run(["sha256sum", "-z", *names], cwd=folder, check=True, capture_output=True).stdout)
    assert b"4 files" in run_shale("verify", folder, "--against", sums).stdout
    sums.write_bytes(
        subprocess.run(["sha256sum", folder / "a.bin", folder / "sub dir/b c", folder / ".hidden"], check=True, capture_output=True).stdout
    )
    told = run_shale("verify", folder, "--against", sums, code=1).stderr.decode()
    assert f"names of the list begin with '{folder}/'" in told
    command = told.partition("begin with: ")[2].strip()
    (folder / "sub dir/é\\n\n").unlink()
    subprocess.run(command.replace("> LIST", "> mine"), shell=True, cwd=tmp_path, check=True)
    assert b"3 files" in run_shale("verify", folder, "--against", tmp_path / "mine").stdout
    sums.write_bytes(
        subprocess.run(["sha256sum", "../pyproject", "x"], cwd=folder, check=False, capture_output=True).stdout + b"0" * 64 + b"  ../x\n"
    )
    assert b"begin with '../'" in run_shale("verify", folder, "--against", sums, code=1).stderr


def test_what_is_no_list_is_named_and_not_the_folder(folder, tmp_path):
    for name, content in (("empty", b""), ("text", b"hello\n")):
        (tmp_path / name).write_bytes(content)
        told = run_shale("verify", folder, "--against", tmp_path / name, code=1).stderr.decode()
        assert told.startswith(f"shale: {tmp_path / name}: is not a list of checksums"), told
    (tmp_path / "b2").write_bytes(subprocess.run(["b2sum", "a.bin"], cwd=folder, check=True, capture_output=True).stdout)
    assert b"'b2sum -c'" in run_shale("verify", folder, "--against", tmp_path / "b2", code=1).stderr


def test_lists_that_cannot_be_used(folder, tmp_path):
    sums = subprocess.run(["sha256sum", "a.bin"], cwd=folder, check=True, capture_output=True).stdout
    (tmp_path / "bad").write_bytes(sums + b"garbage\n")
    assert b"line 2 is not one of a list of sha256 checksums" in run_shale("verify", folder, "--against", tmp_path / "bad", code=3).stderr
    (tmp_path / "twice").write_bytes(sums + b"0" * 64 + sums[64:])
    assert b"line 2 has another digest for 'a.bin'" in run_shale("verify", folder, "--against", tmp_path / "twice", code=3).stderr
    (tmp_path / "sha1").write_bytes(subprocess.run(["sha1sum", "a.bin"], cwd=folder, check=True, capture_output=True).stdout)
    assert b"'sha1sum -c'" in run_shale("verify", folder, "--against", tmp_path / "sha1", code=1).stderr
    for words in (["--deep"], ["--sample", "1/2"]):
        (tmp_path / "good").write_bytes(sums)
        run_shale("verify", folder, "--against", tmp_path / "good", *words, code=2)
    run_shale("verify", folder, "--export", "md5sum", code=2)
