"""What the journal costs a convert, and how long the decision takes to continue 10,000 shards.

    python3 bench/resume.py FOLDER [--runs 5]        SHALE names the program (default build/release/shale)

FOLDER is on the disk to be measured. The cost is the time within fdatasync of the journal, counted by strace over a convert of 20,000 files
into 20 shards, as a share of its wall time; without strace only the second figure is given. The decision is the wall time of a command that
continues a run of 10,000 shards of one sample which lacks the last one, until it says so, the last shard and the moves included.
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHALE = os.environ.get("SHALE", str(ROOT / "build/release/shale"))
sys.path.insert(0, str(ROOT / "tests/support"))


def run(*words):
    began = time.monotonic()
    done = subprocess.run([SHALE, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in (0, 130, -signal.SIGKILL):
        sys.exit(f"shale {words}: exit {done.returncode}\n{done.stderr}")
    return time.monotonic() - began, done


def make_files(folder, count, side):
    from shale_tool import make_photos

    if not folder.exists():
        make_photos(folder, count, sides=(side, side))
    return folder


def journal_cost(place, runs):
    photos = make_files(place / "photos", 20_000, 64)
    shares = []
    for _ in range(runs):
        shutil.rmtree(place / "out", ignore_errors=True)
        words = ["convert", photos, place / "out", "--to", "record", "--shard-samples", 1000]
        trace = place / "trace"
        began = time.monotonic()
        subprocess.run(["strace", "-f", "-y", "-T", "-e", "fdatasync", "-o", trace, SHALE, *map(str, words)], check=True, capture_output=True)
        seconds = time.monotonic() - began
        spent = sum(float(found) for found in re.findall(r"/journal>.*<([0-9.]+)>", trace.read_text()))
        shares.append(100 * spent / seconds)
    return statistics.median(shares)


def decision(place, runs):
    photos = make_files(place / "small", 10_000, 2)
    words = ["convert", photos, place / "many", "--to", "record", "--shard-samples", 1]
    times = []
    for _ in range(runs):
        shutil.rmtree(place / "many", ignore_errors=True)
        process = subprocess.Popen([SHALE, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        journal = place / "many/.shale/journal"
        last = place / "many/.shale/new/shard-009990.tfrecord"
        while process.poll() is None and not last.exists():
            time.sleep(0.01)
        process.kill()
        process.wait()
        if not journal.exists():
            sys.exit("the run ended before it could be killed")
        began = time.monotonic()
        process = subprocess.Popen([SHALE, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if "continuing" in line:
                times.append(time.monotonic() - began)
        process.wait()
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if shutil.which("strace"):
        print(f"journal: {journal_cost(arguments.folder, arguments.runs):.2f} % of a convert (limit 2 %)")
    else:
        print("journal: not measured, strace is missing")
    print(f"decision to continue 10,000 shards: {decision(arguments.folder, arguments.runs):.2f} s (limit 5 s)")


if __name__ == "__main__":
    main()
