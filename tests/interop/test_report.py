"""`shale report` and shale.report: what the facts say is what NumPy, Pillow and the manifest say; nothing of the dataset changes; damage is told."""

import hashlib
import io
import os
import pathlib
import random
import subprocess
import sys

import foreign_files
import numpy as np
import pytest
import shale
from conftest import jpeg, run_shale, write
from PIL import Image
from report_facts import facts_of, field, flip, sheets


def tree(folder):
    """Every file of a folder, with its content."""
    return {path: hashlib.sha256(path.read_bytes()).digest() for path in pathlib.Path(folder).rglob("*") if path.is_file()}


# ---- numbers --------------------------------------------------------------------------------------------------------


def assert_numbers(one, values):
    """That the facts of a field are NumPy's."""
    values = np.asarray(values)
    numbers = np.hypot(values.real.astype("f8"), values.imag.astype("f8")) if np.iscomplexobj(values) else values
    numbers = numbers.astype("f8").ravel()
    finite = numbers[np.isfinite(numbers)]
    assert one["values"] == numbers.size
    assert one["nan"] == np.isnan(numbers).sum()
    assert one["infinite"] == np.isinf(numbers).sum()
    assert one["zero"] == (numbers == 0).sum()
    # Lengths of complex numbers differ from those of hypot() by an ulp.
    tolerance = 1e-15 if np.iscomplexobj(values) else 0
    np.testing.assert_allclose([one["minimum"], one["maximum"]], [finite.min(), finite.max()], rtol=tolerance)
    np.testing.assert_allclose(one["mean"], finite.mean(), rtol=1e-12, atol=1e-12 * np.abs(finite).max())
    np.testing.assert_allclose(one["deviation"], finite.std(), rtol=1e-9, atol=1e-12 * np.abs(finite).max())
    assert one["constant"] == (finite.size == numbers.size and finite.min() == finite.max())
    bars = one["histogram"]["bars"]
    assert sum(bar[2] for bar in bars) == finite.size
    if not np.issubdtype(values.dtype, np.floating) and not np.iscomplexobj(values) and finite.max() - finite.min() < 40:
        edges = np.arange(finite.min(), finite.max() + 2)
    else:
        edges = [bar[0] for bar in bars] + [bars[-1][1]]
        np.testing.assert_allclose(edges, np.linspace(finite.min(), finite.max(), len(bars) + 1), rtol=1e-12)
    wrong = np.abs(np.array([bar[2] for bar in bars]) - np.histogram(finite, edges)[0]).sum()
    assert wrong <= (2 if np.iscomplexobj(values) else 0) or finite.min() == finite.max()


DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def numbers_of(dtype, shape, dice):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return dice.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return dice.integers(max(info.min, -(2**40)), min(info.max, 2**40), shape, dtype="i8").astype(dtype)
    values = dice.normal(3, 10, shape) + (1j * dice.normal(0, 1, shape) if dtype.kind == "c" else 0)
    values.flat[::17] = np.nan
    values.flat[1::23] = np.inf
    values.flat[2::5] = 0
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (7,), (3, 5)], ids=str)
def test_numbers_of_an_array_are_those_of_numpy(dtype, shape, tmp_path):
    values = numbers_of(dtype, (400, *shape), np.random.default_rng(22))
    np.save(tmp_path / "x.npy", values)
    (one,) = facts_of(tmp_path / "x.npy")["fields"]
    assert_numbers(one, values)
    assert one["from"] == {"looked_at": 400, "of": 400}


@pytest.mark.parametrize("name", ["record", "lmdb", "hdf5", "npy"])
def test_numbers_are_the_same_in_every_format(name, tmp_path):
    dice = np.random.default_rng(1)
    arrays = {"x": dice.normal(size=(500, 6)).astype("f4"), "y": dice.integers(0, 9, 500), "z": dice.normal(size=500)}
    for one, values in arrays.items():
        np.save(tmp_path / f"{one}.npy", values)
    run_shale("convert", *[f"{one}={tmp_path / one}.npy" for one in arrays], tmp_path / "out", "--to", name, "--shard-samples", "64")
    facts = facts_of(tmp_path / "out")
    for one, values in arrays.items():
        assert_numbers(field(facts, one), values)
    counts = np.bincount(arrays["y"], minlength=9)
    assert [(one["label"], one["samples"]) for one in facts["classes"]["classes"]] == list(enumerate(counts))
    assert facts["shards"]["count"] == 8 and facts["shards"]["bound_samples"] == 64


def test_a_sample_is_stated_and_is_a_part_of_the_rows(tmp_path):
    values = np.arange(40_000, dtype="f4").reshape(20_000, 2)
    np.save(tmp_path / "x.npy", values)
    (few,) = facts_of(tmp_path / "x.npy", "--sample", "100")["fields"]
    assert few["from"] == {"looked_at": 100, "of": 20_000} and few["values"] == 200
    assert few["minimum"] > 0 and few["maximum"] < 40_000 - 1  # else it would be a miracle
    (every,) = facts_of(tmp_path / "x.npy", "--sample", "all")["fields"]
    assert_numbers(every, values)


def test_previews_are_pictures_lines_and_words(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).integers(0, 255, (30, 8, 9, 3)).astype("u1"))
    np.save(tmp_path / "v.npy", np.linspace(0, 1, 30 * 500).reshape(30, 500))
    np.save(tmp_path / "t.npy", np.array(["abc", "de"] * 15))
    run_shale("convert", *[f"{one}={tmp_path / one}.npy" for one in "xvt"], tmp_path / "out", "--to", "npy")
    facts = facts_of(tmp_path / "out")
    image = field(facts, "x")["previews"][0]["image"]
    assert (image["media_type"], image["width"], image["height"]) == ("image/png", 9, 8)
    line = field(facts, "v")["previews"][0]
    assert len(line["line"]) == 256
    assert line["line"][0] == pytest.approx(np.load(tmp_path / "v.npy")[line["row"]][0])
    assert "not numbers" in field(facts, "t")["note"]
    assert sheets(facts, "random")[0]["samples"][0]["thumbnail"]["width"] == 9


# ---- images ---------------------------------------------------------------------------------------------------------


def test_images_classes_and_order(dataset, photos):
    facts = facts_of(dataset)
    counts = [len(list((photos / name).iterdir())) for name in ("n00", "n01", "n02")]
    assert [(one["name"], one["samples"]) for one in facts["classes"]["classes"]] == list(zip(["n00", "n01", "n02"], counts))
    assert facts["classes"]["largest"]["name"] == "n01"
    assert facts["images"]["from_manifest"] and facts["images"]["types"] == [{"name": "jpeg", "count": 61}]
    assert facts["order"]["shuffle_score"] < 0.1 and "sorted" in facts["order"]["verdict"]
    assert [sheet["class"] for sheet in sheets(facts, "class")] == ["n01", "n00", "n02"]
    for sheet in facts["sheets"]:
        for sample in sheet["samples"]:
            picture = Image.open(io.BytesIO((photos / sample["key"]).read_bytes()))
            assert (sample["width"], sample["height"]) == picture.size
            shown = sample["thumbnail"]["width"], sample["thumbnail"]["height"]
            assert shown == picture.size if max(picture.size) <= 192 else max(shown) == 192
            assert sample["bytes"] == (photos / sample["key"]).stat().st_size
    assert not facts["damaged"] and facts["integrity"]["state"] == "not asked"


def test_a_shuffled_set_has_a_score_near_one(photos, tmp_path):
    run_shale("convert", photos, tmp_path / "out", "--to", "record", "--shuffle", "--seed", "3")
    assert 0.7 < facts_of(tmp_path / "out")["order"]["shuffle_score"] < 1.3


def test_masks_lie_over_their_images(tmp_path):
    for number in range(3):
        write(tmp_path, f"image/a/{number}.jpg", jpeg(number))
        size = Image.open(tmp_path / f"image/a/{number}.jpg").size
        mask = Image.new("P" if number else "L", size)
        mask.paste(2, (0, 0, size[0] // 2, size[1]))
        (tmp_path / "mask/a").mkdir(parents=True, exist_ok=True)
        mask.save(tmp_path / f"mask/a/{number}.png")
    run_shale("convert", f"image={tmp_path}/image", f"mask={tmp_path}/mask", tmp_path / "out", "--to", "record")
    facts = facts_of(tmp_path / "out")
    assert [(one["name"], one["role"]) for one in facts["fields"]] == [("image", "image"), ("label", "label"), ("mask", "mask")]
    for sample in sheets(facts, "random")[0]["samples"]:
        assert sample["masks"] == [{"name": "mask"}]


def test_frames_of_clips_are_shown(tmp_path):
    for clip in range(3):
        for frame in range(6):
            write(tmp_path, f"videos/a/clip{clip}/{frame:03}.jpg", jpeg(10 * clip + frame))
    run_shale("convert", tmp_path / "videos", tmp_path / "out", "--group", "frames", "--to", "record")
    facts = facts_of(tmp_path / "out")
    assert facts["fields"][0]["role"] == "clip"
    for sample in sheets(facts, "random")[0]["samples"]:
        assert sample["frames"] == 6 and "problem" not in sample


def test_images_that_do_not_decode_are_shown_with_the_reason(tmp_path):
    for number in range(5):
        write(tmp_path, f"photos/a/{number}.jpg", jpeg(number))
    whole = jpeg(7)
    write(tmp_path, "photos/a/bad.jpg", whole[: len(whole) // 2])
    write(tmp_path, "photos/a/text.jpg", b"not an image")
    run_shale("convert", tmp_path / "photos", tmp_path / "out", "--on-error", "keep", "--to", "record", code=(0, 4))
    facts = facts_of(tmp_path / "out")
    bad = {sample["key"]: sample for sample in sheets(facts, "problem")[0]["samples"]}
    assert bad.keys() == {"a/bad.jpg", "a/text.jpg"}
    assert "truncated" in bad["a/bad.jpg"]["problem"] and bad["a/bad.jpg"]["damaged"]
    assert "thumbnail" not in bad["a/text.jpg"]
    assert not facts["damaged"], "it is as it was written"


def test_what_was_left_out_is_counted_by_reason(tmp_path):
    for number in range(300):
        write(tmp_path, f"photos/a/{number}.jpg", jpeg(number % 7))
    write(tmp_path, "photos/a/empty.jpg", b"")
    write(tmp_path, "photos/a/cut.jpg", jpeg(1)[:100])
    write(tmp_path, "photos/a/notes.txt", b"x")
    run_shale("convert", tmp_path / "photos", tmp_path / "out", "--to", "record", code=4)
    left_out = facts_of(tmp_path / "out")["left_out"]
    assert left_out["skipped"] == 2 and left_out["ignored"] == 1
    assert {one["reason"]: one["examples"] for one in left_out["skipped_by"]} == {"empty": ["a/empty.jpg"], "truncated": ["a/cut.jpg"]}
    assert left_out["ignored_by"][0]["examples"] == ["a/notes.txt"]


@pytest.mark.parametrize("maker", foreign_files.MAKERS, ids=lambda maker: maker.__name__)
def test_files_of_other_tools(maker, tmp_path):
    foreign = maker(tmp_path)
    before = tree(tmp_path)
    words = foreign.options if "--parse" in foreign.options else ()
    facts = facts_of(foreign.file, *words)
    assert facts["samples"] == len(foreign.samples) and not facts["damaged"]
    assert len(facts["fields"]) == len(foreign.samples[0])
    assert tree(tmp_path) == before


# ---- what must not happen -------------------------------------------------------------------------------------------


def test_pages_are_the_same_bytes_for_any_jobs_and_nothing_changes(dataset, tmp_path):
    before = tree(dataset)
    pages = []
    for number, words in enumerate((["--jobs", "1"], ["--jobs", "2"], ["--jobs", "5", "--memory", "1GiB"])):
        run_shale("report", dataset, "-o", tmp_path / f"{number}.html", *words)
        pages.append((tmp_path / f"{number}.html").read_bytes())
    assert pages[0] == pages[1] == pages[2]
    assert tree(dataset) == before


def test_arrays_give_the_same_facts_for_any_jobs_and_memory(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(3000, 50)))
    one, two = (facts_of(tmp_path / "x.npy", "--jobs", jobs, "--memory", memory) for jobs, memory in (("1", "16MiB"), ("4", "1GiB")))
    assert one == two


def test_an_output_in_the_dataset_is_refused(dataset, tmp_path):
    before = tree(dataset)
    assert b"is inside the input" in run_shale("report", dataset, "-o", dataset / "report.html", code=2).stderr
    (tmp_path / "link").symlink_to(dataset)
    run_shale("report", dataset, "-o", tmp_path / "link/report.html", code=2)
    assert tree(dataset) == before


def test_an_output_that_exists(dataset, tmp_path):
    page = tmp_path / "report.html"
    run_shale("report", dataset, "-o", page)
    assert b"already exists, and is a report\nhint: choose another output, or pass --overwrite" in run_shale("report", dataset, "-o", page, code=1).stderr
    run_shale("report", dataset, "-o", page, "--overwrite")
    page.write_text("mine")
    assert b"is not a report of shale" in run_shale("report", dataset, "-o", page, "--overwrite", code=1).stderr
    assert page.read_text() == "mine"
    assert os.listdir(tmp_path) == ["report.html"]


def test_usage(dataset):
    for words in ((), ("--sample", "0", "--json"), ("--sample", "few", "--json"), ("-o", "x/")):
        run_shale("report", dataset, *words, code=2)


# ---- odd sets -------------------------------------------------------------------------------------------------------


def test_no_samples_and_one(tmp_path):
    (tmp_path / "empty/a").mkdir(parents=True)
    run_shale("convert", tmp_path / "empty", tmp_path / "none", "--allow-empty", "--to", "record")
    facts = facts_of(tmp_path / "none")
    assert facts["samples"] == 0 and facts["sheets"] == []
    run_shale("report", tmp_path / "none", "-o", tmp_path / "none.html")
    write(tmp_path, "one/a/x.jpg", jpeg(1))
    run_shale("convert", tmp_path / "one", tmp_path / "single", "--to", "lmdb")
    facts = facts_of(tmp_path / "single", "--verify")
    assert facts["samples"] == 1 and facts["integrity"]["state"] == "sound"
    assert "shuffle_score" not in facts["order"]


def test_many_classes_are_summed_up(tmp_path):
    labels = np.repeat(np.arange(100_000), 2)
    labels[:500] = 7
    np.save(tmp_path / "label.npy", labels)
    np.save(tmp_path / "x.npy", np.zeros((200_000, 1), "u1"))
    run_shale("convert", f"x={tmp_path}/x.npy", f"label={tmp_path}/label.npy", tmp_path / "out", "--to", "npy")
    classes = facts_of(tmp_path / "out")["classes"]
    assert classes["count"] == 100_000 - 249
    assert len(classes["classes"]) == 200 and len(classes["by_size"]) == 10_000
    assert classes["largest"] == {"label": 7, "samples": 500}
    assert classes["classes"][-1]["label"] == 99_999
    page = tmp_path / "page.html"
    run_shale("report", tmp_path / "out", "-o", page)
    assert page.stat().st_size < 5 << 20


def test_a_large_value_is_not_read(tmp_path):
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (3, 1 << 30)})
        file.truncate(file.tell() + (3 << 30))
    facts = facts_of(tmp_path / "x.npy", "--memory", "64MiB")
    (one,) = facts["fields"]
    assert one["from"]["looked_at"] == 0 and "too large" in one["note"]
    assert "too large" in one["previews"][0]["text"]


# ---- damage ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def damaged(photos, tmp_path):
    run_shale("convert", photos, tmp_path / "out", "--to", "record", "--shard-samples", "25")
    return tmp_path / "out"


def test_a_damaged_payload_is_told_and_the_rest_is_shown(damaged, tmp_path):
    flip(damaged / "shard-000001.tfrecord", 3000)
    facts = facts_of(damaged, "--verify", code=3)
    assert facts["damaged"] and facts["integrity"]["state"] == "damaged"
    assert facts["integrity"]["first_findings"][0]["file"] == "shard-000001.tfrecord"
    assert facts["samples"] == 61 and facts["classes"]["count"] == 3
    run_shale("report", damaged, "--verify", "-o", tmp_path / "page.html", code=3)
    assert (tmp_path / "page.html").exists()


def test_damage_is_met_without_verify_where_the_report_reads(damaged):
    for number in range(3):
        shard = damaged / f"shard-{number:06}.tfrecord"
        for offset in range(500, shard.stat().st_size, 2000):
            flip(shard, offset)
    facts = facts_of(damaged, code=3)
    assert facts["integrity"]["met"] and facts["integrity"]["met"][0]["message"]
    shown = [sample for sheet in facts["sheets"] for sample in sheet["samples"]]
    assert any("checksum" in sample.get("problem", "") for sample in shown)


@pytest.mark.parametrize("name", ["shard-000001.index.npy", "shard-000001.tfrecord"])
@pytest.mark.parametrize("how", ["flipped", "gone", "short"])
def test_a_damaged_or_missing_file_costs_its_shard(damaged, name, how):
    path = damaged / name
    if how == "flipped":
        flip(path, path.stat().st_size // 2)
    elif how == "gone":
        path.unlink()
    else:
        os.truncate(path, 100)
    is_payload = name.endswith("tfrecord") and how == "flipped"
    facts = facts_of(damaged, code=(0, 3) if is_payload else 3)
    assert facts["samples"] == 61
    if not is_payload:
        assert facts["classes"]["from"] == {"looked_at": 36, "of": 61}
        assert any(name in finding["file"] for finding in facts["integrity"]["met"])


def test_a_damaged_manifest_ends_the_command(damaged, tmp_path):
    flip(damaged / "dataset.json", 300)
    run_shale("report", damaged, "-o", tmp_path / "page.html", code=3)
    assert not (tmp_path / "page.html").exists()


# ---- Python ---------------------------------------------------------------------------------------------------------


def test_the_function_is_the_command(dataset, tmp_path):
    run_shale("report", dataset, "-o", tmp_path / "a.html", "--sample", "30")
    report = shale.report(dataset, sample=30)
    assert report.page == (tmp_path / "a.html").read_text(encoding="utf-8")
    assert report.facts == facts_of(dataset, "--sample", "30")
    assert not report.damaged and "61 samples" in repr(report)
    report.save(tmp_path / "b.html")
    assert (tmp_path / "b.html").read_bytes() == (tmp_path / "a.html").read_bytes()
    with pytest.raises(shale.MismatchError, match="already exists, and is a report"):
        report.save(tmp_path / "b.html")
    report.save(tmp_path / "b.html", overwrite=True)
    with pytest.raises(shale.UsageError, match="inside"):
        report.save(dataset / "b.html")


def test_it_shows_itself_in_a_notebook(dataset):
    import html.parser

    report = shale.report(dataset, sample=30)

    class Frame(html.parser.HTMLParser):
        found = []

        def handle_starttag(self, tag, attributes):
            self.found.append((tag, dict(attributes)))

    frame = Frame()
    frame.feed(report._repr_html_())
    ((tag, attributes),) = frame.found
    assert tag == "iframe" and attributes["srcdoc"] == report.page and attributes["title"]
    assert "allow-same-origin" not in attributes["sandbox"]


def test_the_function_writes_and_refuses(dataset, tmp_path):
    done = []
    shale.report(dataset, tmp_path / "a.html", progress=lambda *of: done.append(of), verify=True)
    assert (tmp_path / "a.html").exists() and done
    with pytest.raises(shale.MismatchError, match="already exists, and is a report"):
        shale.report(dataset, tmp_path / "a.html")
    with pytest.raises(shale.NotFoundError):
        shale.report(tmp_path / "nothing")
    for bad in (0, -1, "some", 1.5, True, False, [1]):
        with pytest.raises(shale.UsageError, match="^sample is .*, expected a number of at least 1, or 'all'"):
            shale.report(dataset, sample=bad)
    assert shale.report(dataset, sample=None).facts["options"]["sample"] == "10000"


# ---- limits ---------------------------------------------------------------------------------------------------------


def test_memory_is_bounded(tmp_path):
    """A child whose peak is measured: large images, small budget."""
    dice = random.Random(3)
    for number in range(6):
        picture = Image.frombytes("RGB", (3000, 2000), dice.randbytes(3000 * 2000 * 3))
        path = tmp_path / f"photos/a/{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(path, compress_level=0)
    run_shale("convert", tmp_path / "photos", tmp_path / "out", "--to", "record")
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True)\n"
        "assert done.returncode == 0, done.stderr\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    shale_program = os.environ["SHALE"]
    words = [shale_program, "report", tmp_path / "out", "--json", "--memory", "64MiB", "--jobs", "4"]
    peak = int(subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, check=True).stdout) * 1024
    if "asan" not in shale_program:
        assert peak < (64 + 64) << 20
