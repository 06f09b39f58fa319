#!/usr/bin/env python3
"""A list of labels (CSV: path,label) read by convert --labels --dry-run, beside pyarrow.csv, pyarrow.csv with a sort, and Python's csv.

python3 bench/label_lists.py [--rows 10000000] [--rounds 5] ...
Needs pyarrow for its rows (any Python that has it). bench/README.md explains the rows.
"""

import importlib.util
import sys

import harness
from annotations import PNG
from harness import Step
from inputs import convert, made_once

BY_PYARROW = "import sys, pyarrow.csv; print(pyarrow.csv.read_csv(sys.argv[1]).num_rows, file=sys.stderr)"
# In the order of the paths, where a path that comes twice is beside itself.
BY_PYARROW_SORTED = """
import sys, pyarrow.csv, pyarrow.compute as compute
table = pyarrow.csv.read_csv(sys.argv[1]).sort_by("path").combine_chunks()
paths = table["path"].chunk(0)
print(compute.any(compute.equal(paths.slice(1), paths.slice(0, len(paths) - 1))), file=sys.stderr)
"""
# A path that comes twice would be one entry.
BY_CSV = """
import csv, sys
with open(sys.argv[1], newline="") as file:
    rows = csv.reader(file)
    next(rows)
    labels = {path: int(label) for path, label in rows}
print(len(labels), file=sys.stderr)
"""
CLASSES = 1000


def parse_arguments():
    options = harness.parser(__doc__)
    options.add_argument("--rows", type=int, default=10_000_000)
    return options.parse_args()


def path_of(number):
    kind = number * 7919 % CLASSES
    return f"n{kind:08}/n{kind:08}_{number:08}.JPEG"


def make_list(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.write("path,label\n")
        for number in range(rows):
            file.write(f"{path_of(number)},{number * 7919 % CLASSES}\n")


def make_image(path):
    image = path / path_of(0)
    image.parent.mkdir(parents=True)
    image.write_bytes(PNG)


def results(arguments):
    work = arguments.work
    images = made_once(work / "label-list-image", make_image)
    file = made_once(work / f"label-list-{arguments.rows}.csv", lambda path: make_list(path, arguments.rows))
    command = convert(arguments, images, work / "out", "record", "--labels", file, "--dry-run")
    steps = [Step("shale convert --labels --dry-run", command, [file], syncs=False)]
    if importlib.util.find_spec("pyarrow"):
        steps.append(Step("pyarrow.csv.read_csv", [sys.executable, "-c", BY_PYARROW, file], [file], syncs=False))
        steps.append(Step("pyarrow.csv, sort_by path", [sys.executable, "-c", BY_PYARROW_SORTED, file], [file], syncs=False))
    steps.append(Step("csv.reader into a dict", [sys.executable, "-c", BY_CSV, file], [file], syncs=False))
    runs = harness.alternate(steps, arguments.rounds, work, "warm")
    title = f"{arguments.rows:,} labels"
    yield title, runs, harness.table(runs, "shale convert --labels --dry-run", harness.size_of([file]), title)


if __name__ == "__main__":
    harness.run(parse_arguments(), results)
