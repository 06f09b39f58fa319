"""Parts from Python: shale.convert and shale.Writer with `parts`, shale.parts, shale.merge; ranks of a real MPI launcher."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import SHALE, run_shale

shale = pytest.importorskip("shale")
from shale import errors


def test_parts_of_convert_are_merged(photos, tmp_path):
    whole = shale.convert(photos, tmp_path / "whole", "record", shuffle=True)
    for index in (0, 2):
        part = shale.convert(photos, tmp_path / "parts", "record", shuffle=True, parts=(index, 3))
        assert part.output == str(tmp_path / f"parts/part-{index:05}-of-00003")
    found = shale.parts(tmp_path / "parts")
    assert (found.count, found.missing, found.array, found.complete) == (3, (1,), "1", False)
    with pytest.raises(errors.MismatchError, match="missing: 1"):
        shale.merge(tmp_path / "parts", tmp_path / "out")
    shale.convert(photos, tmp_path / "parts", "record", shuffle=True, parts=(np.int64(1), np.int64(3)))
    assert shale.parts([tmp_path / "parts"]).complete
    merged = shale.merge(tmp_path / "parts", tmp_path / "out", move=True)
    assert (merged.ordered_digest, merged.key_digest) == (whole.ordered_digest, whole.key_digest)
    assert merged.linked_files > 0 and not list((tmp_path / "parts").iterdir())
    assert shale.merge(tmp_path / "parts", tmp_path / "out", move=True).was_complete
    assert shale.verify(tmp_path / "out", against=photos).ok


def test_writers_of_parts_make_one_dataset(tmp_path):
    schema = {"text": "str", "label": "int"}
    samples = [{"key": f"k{i}", "text": f"sample {i}", "label": i} for i in range(10)]
    whole = shale.from_iterable(samples, tmp_path / "whole", schema=schema)
    for index, some in enumerate((samples[:3], samples[3:3], samples[3:])):
        result = shale.from_iterable(some, tmp_path / "parts", schema=schema, parts=(index, 3))
        assert result.path.endswith(f"part-{index:05}-of-00003")
    merged = shale.merge(tmp_path / "parts", tmp_path / "out")
    assert (merged.samples, merged.ordered_digest, merged.key_digest) == (10, whole.ordered_digest, whole.keys_digest)
    assert [sample["text"] for sample in shale.Dataset(tmp_path / "out")] == [sample["text"] for sample in samples]


def test_writers_of_parts_may_not_have_a_key_in_common(tmp_path):
    for index in range(2):
        samples = [{"key": f"{index}-{i}", "text": "x"} for i in range(5)] + [{"key": "same", "text": f"{index}"}]
        shale.from_iterable(samples, tmp_path / "parts", schema={"text": "str"}, parts=(index, 2))
    with pytest.raises(errors.SchemaError, match="not unique") as caught:
        shale.merge(tmp_path / "parts", tmp_path / "out")
    assert "same" in str(caught.value) and not (tmp_path / "out").exists()
    assert shale.parts(tmp_path / "parts").complete


def test_rows_of_writers_need_no_keys_where_none_are_stored(tmp_path):
    for index in range(2):
        shale.from_iterable(
            [{"x": np.full(3, 4 * index + i, "f4")} for i in range(4)], tmp_path / "parts", "npy", "first", parts=(index, 2)
        )
    shale.merge(tmp_path / "parts", tmp_path / "out")
    assert [float(sample["x"][0]) for sample in shale.Dataset(tmp_path / "out")] == [0, 1, 2, 3, 4, 5, 6, 7]
    with pytest.raises(errors.UsageError, match="keys"):
        shale.Writer(tmp_path / "other", "lmdb", {"x": ("f4", (3,))}, parts=(0, 2))


@pytest.mark.parametrize("parts", [3, (1,), (2, 2), (0, 0), "two", (0, None), (-1, 3), ("0", 3)])
def test_what_is_not_a_part_is_refused(photos, tmp_path, parts):
    with pytest.raises(errors.UsageError, match="parts"):
        shale.convert(photos, tmp_path / "out", "record", parts=parts)
    with pytest.raises(errors.UsageError, match="parts"):
        shale.Writer(tmp_path / "out", schema={"x": "int"}, parts=parts)
    assert not (tmp_path / "out").exists()


def test_parts_come_from_the_environment(photos, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "1")
    part = shale.convert(photos, tmp_path / "out", "record", parts="slurm/6", part_offset=2)
    assert part.output.endswith("part-00003-of-00006")


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")
def test_each_rank_of_mpirun_makes_its_part(photos, tmp_path):
    """Debian's Open MPI."""
    command = ["mpirun", "-n", "3", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
    command += [SHALE, "convert", photos, tmp_path / "parts", "--to", "record", "--shuffle", "--part", "mpi", "--jobs", "1"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    assert shale.parts(tmp_path / "parts").count == 3
    merged = shale.merge(tmp_path / "parts", tmp_path / "out")
    whole = shale.convert(photos, tmp_path / "whole", "record", shuffle=True)
    assert merged.ordered_digest == whole.ordered_digest
    run_shale("verify", tmp_path / "out", "--against", photos)


def test_tasks_of_a_real_ray_cluster(photos, tmp_path):
    """samples/ray_convert.py with two workers."""
    pytest.importorskip("ray")
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0", "SHALE_JOBS": "1"}
    script = pathlib.Path(__file__).resolve().parents[2] / "samples/ray_convert.py"
    program = f"import ray, runpy, sys; ray.init(num_cpus=2, include_dashboard=False); sys.argv[0] = 'x'; runpy.run_path({str(script)!r}, run_name='__main__')"
    command = [sys.executable, "-c", program, photos, tmp_path / "out", "--parts", "4", "--shuffle", "--to", "lmdb"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=180)
    assert done.returncode == 0, done.stderr
    whole = shale.convert(photos, tmp_path / "whole", "lmdb", shuffle=True)
    assert whole.ordered_digest in done.stdout
    assert shale.info(tmp_path / "out").ordered_digest == whole.ordered_digest
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("out")) == ["out"]
