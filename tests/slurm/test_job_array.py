"""samples/slurm/convert.sbatch on a real SLURM: four tasks of a job array, one of them killed and requeued, one missing, retried, merged."""

import json
import os
import pathlib
import subprocess
import sys
import time

import pytest
from cluster import one_node_cluster, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "samples/slurm/convert.sbatch"
SHALE = os.environ.get("SHALE", str(ROOT / "build/release/shale"))
ENDS_WITHIN_S = 600
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY")
os.environ.setdefault("SHALE", SHALE)
sys.path.insert(0, str(ROOT / "tests/support"))
from shale_tool import make_photos

# Task 1 is killed in the middle of its part, by SIGKILL, and its job is requeued; the second time it runs to its end.
WRAPPER = """\
#!/bin/bash
if [ "$1" = convert ] && [ "$SLURM_ARRAY_TASK_ID" = 1 ] && mkdir {mark} 2>/dev/null; then
  {shale} "$@" &
  until [ -s {work}/journal ] && [ "$(cat {work}/journal* | wc -l)" -gt 2 ] || ! kill -0 $!; do :; done
  kill -KILL $!
  scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_1"
  exec tail -f /dev/null
fi
exec {shale} "$@"
"""


@pytest.fixture(scope="module")
def cluster():
    with one_node_cluster() as running:
        yield running


def states(cluster):
    """Of all jobs and tasks: those that wait for a requeue are told not to."""
    found = []
    for line in cluster.run("scontrol", "--oneliner", "show", "job").splitlines():
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        found.append((words["JobId"], words["JobState"]))
        if words["JobState"] == "PENDING" and words["Reason"] == "BeginTime":
            subprocess.run(["scontrol", "update", f"JobId={words['JobId']}", "StartTime=now"], env=cluster.environment, check=False)
    return found


def wait_for_all(cluster):
    """Until all have ended, ten times in a row: between its two runs a job that is requeued may seem to have."""
    deadline, ended = time.monotonic() + ENDS_WITHIN_S, 0
    while ended < 10:
        ended = ended + 1 if all(state in ENDED for _, state in states(cluster)) else 0
        assert time.monotonic() < deadline, f"{states(cluster)}\n{cluster.logs()}"
        time.sleep(0.2)


def facts(folder):
    return json.loads(subprocess.run([SHALE, "info", folder, "--json"], capture_output=True, check=True).stdout)


def test_parts_of_a_job_array_are_retried_and_merged(cluster, tmp_path):
    photos, out = tmp_path / "photos", tmp_path / "train"
    make_photos(photos, 400, sides=(10, 60))
    wrapper = tmp_path / "shale"
    work = f"{out}.parts/part-00001-of-00004/.shale"
    wrapper.write_text(WRAPPER.format(mark=tmp_path / "killed", shale=SHALE, work=work))
    wrapper.chmod(0o755)
    cluster.environment["SHALE"] = str(wrapper)
    options = ["--to", "record", "--shuffle", "--shard-samples", "5", "--jobs", "1", "--quiet"]

    # Task 3 is not submitted.
    words = ["sbatch", "--parsable", "--array=0-2", "--mem=300M", f"--output={tmp_path}/%A_%a.txt", SCRIPT, photos, out, "4", *options]
    cluster.run(*map(str, words))
    wait_for_all(cluster)
    assert (tmp_path / "killed").exists()
    missing = subprocess.run([SHALE, "parts", f"{out}.parts", "--missing"], capture_output=True, text=True)
    printed = "".join(path.read_text() for path in tmp_path.glob("*.txt"))
    assert (missing.stdout, missing.returncode) == ("3\n", 1), printed

    # The script submits what is missing, and the merge behind it.
    said = cluster.run("env", "SBATCH_MEM_PER_NODE=300M", f"SBATCH_OUTPUT={tmp_path}/%j.txt", str(SCRIPT), str(photos), str(out), "4", *options)
    assert "tasks 3\n" in said and "merge: job" in said
    wait_for_all(cluster)
    printed = "".join(path.read_text() for path in tmp_path.glob("*.txt"))
    assert (out / "dataset.json").exists(), f"{printed}\n{states(cluster)}"
    assert not pathlib.Path(f"{out}.parts/part-00000-of-00004").exists()
    subprocess.run([SHALE, "verify", out, "--against", photos, "--quiet"], check=True)
    subprocess.run([SHALE, "convert", photos, tmp_path / "whole", *options], check=True)
    assert facts(out)["ordered_digest"] == facts(tmp_path / "whole")["ordered_digest"]

