"""samples/slurm/requeue on a real SLURM: a job is warned (SIGUSR1), stops, is requeued, and its second run finishes the same bytes."""

import filecmp
import os
import pathlib
import subprocess
import sys
import time

import pytest
from cluster import one_node_cluster, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "samples/slurm/requeue/convert.sbatch"
SHALE = os.environ.get("SHALE", str(ROOT / "build/release/shale"))
ENDS_WITHIN_S = 600
os.environ.setdefault("SHALE", SHALE)
sys.path.insert(0, str(ROOT / "tests/support"))
from shale_tool import make_photos

# The first run is paused with some shards complete until the warning has come; then it goes on, and hears it.
WRAPPER = """\
#!/bin/bash
echo run >> {runs}
[ "$(wc -l < {runs})" = 1 ] || exec {shale} "$@" --shard-samples 5 --jobs 1
{shale} "$@" --shard-samples 5 --jobs 1 &
run=$!
trap 'kill -USR1 "$run"; touch {warned}' USR1
until [ -s {journal} ] && [ "$(cat {journal}* | wc -l)" -gt 3 ] || ! kill -0 "$run"; do :; done
kill -STOP "$run"
touch {paused}
until [ -e {warned} ]; do sleep 0.05; done
kill -CONT "$run"
wait "$run"
code=$?
echo "$code" >> {codes}
exit "$code"
"""


def job(cluster, number):
    facts = cluster.show("job", number)
    if facts["JobState"] == "PENDING" and facts["Reason"] == "BeginTime":  # a requeued job waits two minutes
        subprocess.run(["scontrol", "update", f"JobId={number}", "StartTime=now"], env=cluster.environment, check=False)
    return facts


def wait_until(cluster, claim, holds):
    deadline = time.monotonic() + ENDS_WITHIN_S
    while not holds():
        assert time.monotonic() < deadline, f"{claim}\n{cluster.logs()}"
        time.sleep(0.2)


def test_a_job_that_is_warned_is_requeued_and_continues(tmp_path):
    photos, out = tmp_path / "photos", tmp_path / "out"
    make_photos(photos, 300, sides=(10, 60))
    names = {name: tmp_path / name for name in ("runs", "warned", "paused", "codes")}
    wrapper = tmp_path / "bin/shale"
    wrapper.parent.mkdir()
    wrapper.write_text(WRAPPER.format(shale=SHALE, journal=out / ".shale/journal", **names))
    wrapper.chmod(0o755)
    with one_node_cluster() as cluster:
        cluster.environment["PATH"] = f"{wrapper.parent}:{cluster.environment['PATH']}"
        words = ["sbatch", "--parsable", "--cpus-per-task=1", "--mem=300M", "--time=5", f"--output={tmp_path}/%j.txt", SCRIPT, photos, out]
        number = cluster.run(*map(str, words)).strip()
        wait_until(cluster, "some shards are complete", names["paused"].exists)
        # As SLURM does it before the time limit: --signal=B:USR1, to the script alone.
        cluster.run("scancel", "--signal=USR1", "--batch", number)
        wait_until(cluster, "the job ends", lambda: job(cluster, number)["JobState"] in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"))
        facts, printed = job(cluster, number), (tmp_path / f"{number}.txt").read_text()
    assert facts["JobState"] == "COMPLETED", printed
    assert facts["Restarts"] == "1", printed
    assert names["codes"].read_text() == "130\n", printed
    assert "run the same command again to continue" in printed
    reference = tmp_path / "reference"
    options = ["--to", "record", "--shuffle", "--shard-samples", "5", "--quiet"]
    subprocess.run([SHALE, "convert", photos, reference, *options], check=True)
    files = sorted(os.listdir(reference))
    assert sorted(os.listdir(out)) == files
    assert filecmp.cmpfiles(out, reference, files, shallow=False)[0] == files
