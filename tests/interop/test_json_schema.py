"""What shale prints as JSON is what docs/json.schema.json says, member by member: sets of every format, files of other tools, failures."""

import copy
import json
import tarfile

import foreign_files
import json_tables
import jsonschema
import numpy as np
import pytest
from conftest import run_shale

FORMATS = [one["name"] for one in json.loads(run_shale("formats", "--json").stdout)["formats"]]


def strict(definitions):
    """The same definitions, but nothing may be there that they do not name."""
    closed = copy.deepcopy(definitions)
    for definition in closed.values():
        if "properties" in definition:
            definition["additionalProperties"] = False
    return closed


DEFINITIONS = json_tables.definitions()
STRICT = strict(DEFINITIONS)


def check(name, facts):
    jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": STRICT}).validate(facts)
    return facts


def printed(name, *words, code=0, cwd=None):
    """What a command prints with --json, validated as `name`."""
    done = run_shale(*words, "--json", code=code, cwd=cwd)
    assert done.stdout.count(b"\n") == 1
    return check(name, json.loads(done.stdout))


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    np.save(folder / "x.npy", np.arange(60, dtype="u1").reshape(10, 2, 3))
    np.save(folder / "label.npy", np.arange(10, dtype="i4"))
    np.save(folder / "real.npy", np.linspace(0, 1, 10))
    return folder


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    from PIL import Image

    folder = tmp_path_factory.mktemp("photos")
    for name in ("cats/a.jpg", "cats/b.jpg", "dogs/c.jpg"):
        (folder / name).parent.mkdir(exist_ok=True)
        Image.new("L" if "b" in name else "RGB", (8, 6)).save(folder / name)
    (folder / "dogs/bad.jpg").write_bytes(b"")
    (folder / "README.txt").write_text("not a sample")
    return folder


def test_the_schema_is_one_and_every_member_is_described():
    jsonschema.Draft202012Validator.check_schema({"$defs": DEFINITIONS})
    for name, definition in DEFINITIONS.items():
        assert definition["description"], name
        for member, facts in definition.get("properties", {}).items():
            assert facts["description"], f"{name}.{member}"


def test_the_page_is_made_from_the_schema():
    assert json_tables.PAGE.read_text(encoding="utf-8") == json_tables.page(), "run tests/interop/json_tables.py"


@pytest.mark.parametrize("name", FORMATS)
def test_datasets_of_arrays(name, arrays, tmp_path):
    columns = [f"{field}={arrays / field}.npy" for field in ("x", "label", "real")]
    printed("convert", "convert", *columns, tmp_path / "out", "--to", name, "--dry-run")
    convert = printed("convert", "convert", *columns, tmp_path / "out", "--to", name, "--verify")
    info = printed("info", "info", tmp_path / "out")
    assert (info["version"], info["kind"], info["samples"], info["bytes"]) == (1, "dataset", 10, 60)
    assert [field["name"] for field in info["fields"]] == ["x", "label", "real"]
    assert info["content_digest"] == convert["content_digest"]
    assert len(printed("ls", "ls", tmp_path / "out")["rows"]) == 10
    printed("cat", "cat", tmp_path / "out", "3")
    printed("verify", "verify", tmp_path / "out", "--deep")
    printed("index_of_dataset", "index", tmp_path / "out")
    assert printed("convert", "convert", *columns, tmp_path / "out", "--to", name)["was_complete"]


def test_indexes_of_other_programs(tmp_path):
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("1.txt"))
    assert printed("index_native", "index", tmp_path, "--native", "dali,energon", "--dry-run")["planned"]
    assert printed("index_native", "index", tmp_path, "--native", "dali,energon")["samples"] == 1


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("npy", "pt", "safetensors")])
def test_datasets_of_images(name, photos, tmp_path):
    printed("convert", "convert", photos, tmp_path / "out", "--to", name, "--max-errors", "1", code=4)
    info = printed("info", "info", tmp_path / "out")
    assert (info["classes"], info["class_names"], info["skipped"], info["ignored"]) == (2, ["cats", "dogs"], 1, 1)
    assert info["images"] == {
        "types": {"jpeg": 3},
        "odd": {"gray": 1},
        "sizes": {"shorter": [[6, 3]], "longer": [[8, 3]], "aspects": [[4, 3, 3]]},
        "duplicates": {"samples": 1, "relabelled": 1},
    }
    rows = printed("ls", "ls", tmp_path / "out")["rows"]
    assert [(row["key"], row["label"], row["class"]) for row in rows[1:]] == [("cats/b.jpg", 0, "cats"), ("dogs/c.jpg", 1, "dogs")]
    assert sum(row["bytes"] for row in rows) == info["bytes"]
    printed("cat", "cat", tmp_path / "out", "--key", "dogs/c.jpg")


@pytest.mark.parametrize("maker", foreign_files.MAKERS, ids=lambda maker: maker.__name__)
def test_files_of_other_tools(maker, tmp_path):
    foreign = maker(tmp_path)
    scanned = printed("info", "info", foreign.file)
    assert (scanned["kind"], scanned["indexed"]) == ("file", scanned["format"] == "npy")
    for crc in ([], ["--crc"]):
        (indexed,) = printed("index_of_files", "index", foreign.file, *foreign.options, *crc)["files"]
        info = printed("info", "info", foreign.file)
        assert info["indexed"] and info["samples"] == indexed["samples"]
        assert (info["content_digest"] is None) == (not crc)
    rows = printed("ls", "ls", foreign.file)["rows"]
    assert len(rows) == info["samples"]
    printed("cat", "cat", foreign.file, "0")
    printed("verify", "verify", foreign.file)


def test_arrays_as_they_are(arrays, tmp_path):
    assert printed("info", "info", arrays / "x.npy")["fields"] == [{"name": "x", "kind": "tensor", "type": "uint8 (2, 3)", "dtype": "|u1", "shape": [2, 3]}]
    printed("ls", "ls", arrays / "x.npy")
    printed("resample", "resample", arrays / "x.npy", tmp_path / "out.npy")
    planned = printed("resample", "resample", f"x={arrays / 'x.npy'}", tmp_path / "out", "--to", "npy", "--dry-run")
    assert [plan["field"] for plan in planned["field_plans"]] == ["x"]
    printed("resample", "resample", f"x={arrays / 'x.npy'}", tmp_path / "out", "--to", "npy")
    printed("convert", "convert", arrays / "x.npy", tmp_path / "one.npy")


def test_failures_and_damage(photos, tmp_path):
    printed("failure", "info", tmp_path / "nowhere", code=1)
    printed("failure", "convert", photos, tmp_path / "out", "--to", "tar", code=2)
    out = tmp_path / "out"
    run_shale("convert", photos, out, "--to", "record", "--max-errors", "1", code=4)
    shard = out / "shard-000000.tfrecord"
    content = bytearray(shard.read_bytes())
    content[200] ^= 1
    shard.write_bytes(content)
    assert not printed("verify", "verify", out, code=3)["ok"]
    printed("failure", "cat", out, "0", code=3)
    index = out / "shard-000000.index.npy"
    index.write_bytes(index.read_bytes()[:-1] + b"?")
    assert printed("ls", "ls", out, code=3)["error"]["code"] == "damaged"


def test_parts_merge_and_repair(photos, tmp_path):
    def part(index, where="parts"):
        run_shale("convert", photos, tmp_path / where, "--to", "record", "--part", f"{index}/2", "--max-errors", "1", code=(0, 4))

    part(0)
    assert printed("parts", "parts", tmp_path / "parts", code=1)["array"] == "1"
    part(1)
    assert printed("parts", "parts", tmp_path / "parts")["complete"]
    merged = tmp_path / "merged"
    assert printed("merge", "merge", tmp_path / "parts", merged, code=4)["linked_files"] > 0
    assert printed("merge", "merge", tmp_path / "parts", merged)["was_complete"]
    (merged / "shard-000001.index.npy").unlink()
    (merged / "shard-000000.tfrecord").unlink()
    assert printed("repair", "repair", merged, "--from", photos, "--dry-run", code=3)["left"] == 2
    done = printed("repair", "repair", merged, "--from", photos)
    assert {file["remedy"] for file in done["files"]} == {"made_again", "rebuilt"}


def test_events(photos, tmp_path):
    out = tmp_path / "out"
    runs = [
        run_shale("convert", photos, out, "--to", "record", "--max-errors", "1", "--progress", "json", "--verbose", code=4),
        run_shale("verify", out, "--progress", "json"),
        run_shale("index", out, "--progress", "json"),
        run_shale("verify", tmp_path / "nowhere", "--progress", "json", code=1),
        run_shale("repair", out, "--from", photos, "--progress", "json"),
    ]
    shard = out / "shard-000000.tfrecord"
    shard.write_bytes(shard.read_bytes()[:-40] + bytes(40))
    runs.append(run_shale("verify", out, "--progress", "json", code=3))
    seen = set()
    for run in runs:
        for line in run.stderr.splitlines():
            seen.add(check("event", json.loads(line))["event"])
    assert seen == {"start", "note", "progress", "finding", "hint", "error", "end"}


@pytest.mark.parametrize("name", FORMATS)
def test_reports_of_arrays(name, arrays, tmp_path):
    columns = [f"{field}={arrays / field}.npy" for field in ("x", "label", "real")]
    run_shale("convert", *columns, tmp_path / "out", "--to", name)
    facts = printed("report", "report", tmp_path / "out", "--verify")
    assert [one["name"] for one in facts["fields"]] == ["x", "label", "real"]
    assert facts["integrity"]["state"] == "sound"
    printed("report", "report", arrays / "x.npy")


def test_reports_of_odd_arrays(tmp_path):
    dtype = [("a", "f4"), ("b", "S3"), ("box", [("time", "M8[s]")]), ("v", "u8", (3,))]
    times = np.array(["2020-01-01", "NaT"], "M8[ns]")
    far = np.array([0, 2**64 - 1], "u8")
    ends = np.array([np.finfo("f8").max, -np.finfo("f8").max, np.nan, np.inf])
    odd = {"columns": np.zeros(5, dtype), "times": times, "far": far, "ends": ends, "texts": np.array(["a"]), "none": np.zeros((0, 3))}
    for name, values in odd.items():
        np.save(tmp_path / f"{name}.npy", values)
        printed("report", "report", tmp_path / f"{name}.npy")


@pytest.mark.parametrize("maker", foreign_files.MAKERS, ids=lambda maker: maker.__name__)
def test_reports_of_files_of_other_tools(maker, tmp_path):
    foreign = maker(tmp_path)
    words = foreign.options if "--parse" in foreign.options else ()
    printed("report", "report", foreign.file, *words)
    printed("report", "report", foreign.file, "--verify", *words)


def test_reports_of_images(photos, tmp_path):
    out = tmp_path / "out"
    run_shale("convert", photos, out, "--to", "record", "--max-errors", "1", "--resize", "shorter=4", code=4)
    facts = printed("report", "report", out)
    assert facts["left_out"]["skipped"] == 1 and facts["images"]["odd_images"] == 1 and facts["images"]["repeated"] == 1
    (out / "images.csv").write_bytes(b"key,odd\n")
    (out / "shard-000000.tfrecord").write_bytes(b"")
    damaged = printed("report", "report", out, code=3)
    assert damaged["left_out"]["damaged_lists"] == ["images.csv"] and "odd_images" not in damaged["images"]
    printed("report", "report", out, "--verify", code=3)
    printed("failure", "report", tmp_path / "nowhere", code=1)


def test_reports_of_masks_clips_many_classes_and_none(photos, tmp_path):
    from PIL import Image

    for folder in ("image/a", "mask/a", "clips/a/b", "empty/a"):
        (tmp_path / folder).mkdir(parents=True)
    Image.new("RGB", (8, 6)).save(tmp_path / "image/a/0.png")
    Image.new("L", (8, 6)).save(tmp_path / "mask/a/0.png")
    for frame in range(3):
        Image.new("RGB", (8, 6)).save(tmp_path / f"clips/a/b/{frame}.png")
    run_shale("convert", f"image={tmp_path}/image", f"mask={tmp_path}/mask", tmp_path / "masks", "--to", "record")
    run_shale("convert", tmp_path / "clips", tmp_path / "frames", "--group", "frames", "--to", "record")
    run_shale("convert", tmp_path / "empty", tmp_path / "none", "--allow-empty", "--to", "record")
    np.save(tmp_path / "label.npy", np.arange(300))
    run_shale("convert", f"label={tmp_path}/label.npy", tmp_path / "many", "--to", "npy")
    run_shale("convert", photos, tmp_path / "twice", "--to", "record", "--max-errors", "1", code=4)
    run_shale("convert", tmp_path / "image", tmp_path / "twice", "--append", "--to", "record", code=(0, 1, 2, 4))
    for name in ("masks", "frames", "none", "many", "twice"):
        facts = printed("report", "report", tmp_path / name)
        assert facts["format"] in ("record", "npy")
