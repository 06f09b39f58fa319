#!/usr/bin/env python3
"""From a wheel to the first batch, as a new user gets there: pip install, convert, verify, the first 64 photos decoded.

python3 bench/first_batch.py dist/shale-*.whl FOLDER [--python python3.12] [--rounds 5]
FOLDER is an image folder. Each round takes a new environment; the package index, or pip's cache of it, is part of what is measured (NumPy
and Pillow come from there), so the first round is reported apart.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

FIRST_BATCH = """
import sys, shale
ds = shale.Dataset(sys.argv[1], decode="rgb8")
batch = ds.__getitems__(range(min(64, len(ds))))
print(len(batch), batch[0]["image"].shape)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    rounds = []
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            bin_folder, out = work / "env" / "bin", work / "out"
            steps = {
                "new environment": [arguments.python, "-m", "venv", work / "env"],
                "pip install": [bin_folder / "pip", "install", "--quiet", arguments.wheel, "Pillow"],
                "shale convert": [bin_folder / "shale", "convert", arguments.folder, out, "--to", "record", "--quiet"],
                "shale verify": [bin_folder / "shale", "verify", out, "--quiet"],
                "first batch": [bin_folder / "python", "-c", FIRST_BATCH, out],
            }
            seconds = {}
            for name, command in steps.items():
                begin = time.monotonic()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                seconds[name] = time.monotonic() - begin
            rounds.append(seconds)
            shutil.rmtree(out)
    print(f"| step | first round, s | median of {len(rounds)}, s |\n|---|--:|--:|")
    for name in rounds[0]:
        print(f"| {name} | {rounds[0][name]:.1f} | {statistics.median(each[name] for each in rounds):.1f} |")
    totals = [sum(each.values()) for each in rounds]
    print(f"| together | {totals[0]:.1f} | {statistics.median(totals):.1f} |")


if __name__ == "__main__":
    main()
