#!/usr/bin/env python3
"""Parquet written: a folder of photos beside imagefolder and to_parquet of `datasets`, and a dataset of records beside dd.

sudo python3 bench/parquet_written.py [--only folder,records] [--rounds 3] [--peers PYTHON-ENVIRONMENT] ...
As root (it drops caches), on a machine that does nothing else. bench/README.md explains the protocol.
The peers are those of the tests: tests/install-deps.sh --peers DIR, then --peers DIR (default build/peers).
"""

import harness
import inputs
from harness import ROOT, Step
from inputs import convert, shell

PARTS = ("folder", "records")
# Bytes go into the file, which to_parquet does for nobody who does not ask.
TO_PARQUET = """
import os, sys
os.environ["HF_HOME"], os.environ["HF_HUB_OFFLINE"] = sys.argv[2] + ".cache", "1"
import datasets
from datasets.table import embed_table_storage
rows = datasets.load_dataset("imagefolder", data_dir=sys.argv[1], split="train")
rows.with_format("arrow").map(embed_table_storage, batch_size=1000).with_format(None).to_parquet(sys.argv[2])
"""
COPY = 'cat "$1"/*.tfrecord | dd of="$2" bs=4M iflag=fullblock oflag=direct conv=notrunc'


def bench_folder(arguments, photos):
    python = (arguments.peers or ROOT / "build/peers") / "bin/python"
    out, theirs = arguments.work / "out", arguments.work / "theirs.parquet"
    return "photos to Parquet", [photos], "shale", [
        Step("shale", convert(arguments, photos, out, "parquet"), [photos], output=out),
        Step("datasets", [python, "-c", TO_PARQUET, photos, theirs], [photos], output=theirs),
    ]  # fmt: skip


def write_records(arguments, photos, out):
    harness.measured(Step("records", convert(arguments, photos, out, "record")))


def bench_records(arguments, photos):
    records = inputs.made_once(arguments.work / "records", lambda out: write_records(arguments, photos, out))
    out, copy = arguments.work / "out", arguments.work / "copy"
    return "records to Parquet", [records], "dd", [
        Step("shale", convert(arguments, records, out, "parquet"), [records], output=out),
        Step("dd", shell(COPY, records, copy), [records], output=copy),
    ]  # fmt: skip


def bench(arguments, name, photos):
    title, read, yardstick, steps = globals()[f"bench_{name}"](arguments, photos)
    runs = harness.alternate(steps, arguments.rounds, arguments.work, "warm")
    harness.remove(arguments.work / "theirs.parquet.cache")
    yield f"{title}, warm", runs, harness.table(runs, yardstick, harness.size_of(read), f"{title}, warm")


def main():
    options = harness.parser_of_parts(__doc__, PARTS)
    inputs.add_photos(options)
    arguments = harness.arguments_of_parts(options, PARTS)
    harness.needs_root()
    arguments.work.mkdir(parents=True, exist_ok=True)
    harness.needs_shale(arguments)
    photos = inputs.photos_of(arguments)
    harness.report(arguments, (result for name in arguments.only for result in bench(arguments, name, photos)))


if __name__ == "__main__":
    main()
