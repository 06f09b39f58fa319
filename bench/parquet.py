#!/usr/bin/env python3
"""Parquet written and read: beside `datasets`, pyarrow and dd.

sudo python3 bench/parquet.py [--only folder,records,index,random,epoch,convert] [--rounds 3] [--peers PYTHON-ENVIRONMENT] ...
As root (it drops caches), on a machine that does nothing else. bench/README.md explains the protocol.
The peers are those of the tests: tests/install-deps.sh --peers DIR, then --peers DIR (default build/peers).

folder: photos to Parquet beside imagefolder and to_parquet of `datasets`. records: a dataset of records to Parquet beside dd. The others read a
file of 500 MB that `datasets` wrote, in row groups of 100 MB: index: cold, beside dd of its bytes. random: an image at a time of which the page
cache has nothing, beside pyarrow, which loads the row group, there and in a file of 100 rows each. epoch: shuffled, decoded and cropped, beside `datasets`
in a DataLoader. convert: to record, warm, beside dd.
"""

import harness
import inputs
from harness import HERE, MIB, ROOT, Step
from inputs import convert, shell

PARTS = ("folder", "records", "index", "random", "epoch", "convert")
FILE_BYTES, FEW_ROWS, GROUP_ROWS = 500_000_000, 100, 900
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


def python_of(arguments):
    return (arguments.peers or ROOT / "build/peers") / "bin/python"


def reading(arguments, name, *words):
    """A step of parquet_readers.py, with the package that was built beside the program."""
    command = [python_of(arguments), HERE / "parquet_readers.py", *words]
    return Step(name, command, reads=[words[1]], syncs=False, reports=True, env={"PYTHONPATH": str(arguments.shale.parent / "python")})


def file_of(arguments, photos, rows):
    def make(out):
        command = [python_of(arguments), HERE / "parquet_readers.py", "make", photos, out, str(FILE_BYTES), str(rows)]
        harness.measured(Step("make", command, env={"HF_HOME": str(out) + ".cache", "HF_HUB_OFFLINE": "1"}))

    return inputs.made_once(arguments.work / f"groups-{rows}.parquet", make)


def bench_folder(arguments, photos):
    out, theirs = arguments.work / "out", arguments.work / "theirs.parquet"
    return "warm", "photos to Parquet", [photos], "shale", [
        Step("shale", convert(arguments, photos, out, "parquet"), [photos], output=out),
        Step("datasets", [python_of(arguments), "-c", TO_PARQUET, photos, theirs], [photos], output=theirs),
    ]  # fmt: skip


def write_records(arguments, photos, out):
    harness.measured(Step("records", convert(arguments, photos, out, "record")))


def bench_records(arguments, photos):
    records = inputs.made_once(arguments.work / "records", lambda out: write_records(arguments, photos, out))
    out, copy = arguments.work / "out", arguments.work / "copy"
    return "warm", "records to Parquet", [records], "dd", [
        Step("shale", convert(arguments, records, out, "parquet"), [records], output=out),
        Step("dd", shell(COPY, records, copy), [records], output=copy),
    ]  # fmt: skip


def bench_index(arguments, photos):
    path = file_of(arguments, photos, GROUP_ROWS)
    index = path.with_name(path.name + ".index")
    return "cold", "index of a file", [path], "dd", [
        Step("shale index", [arguments.shale, "index", path, "--quiet"], [path], output=index),
        Step("dd", shell('dd if="$1" of=/dev/null bs=1M status=none', path), [path]),
    ]  # fmt: skip


def bench_random(arguments, photos):
    large, small = (file_of(arguments, photos, rows) for rows in (GROUP_ROWS, FEW_ROWS))
    for path in (large, small):
        harness.remove(path.with_name(path.name + ".index"))
        harness.measured(Step("index", [arguments.shale, "index", path, "--quiet"]))
    return "cold", "one random image", [], "shale.Dataset", [
        reading(arguments, "shale.Dataset", "shale", large, "200"),
        reading(arguments, "shale.Dataset, 100 rows", "shale", small, "200"),
        reading(arguments, "pyarrow", "pyarrow", large, "20"),
        reading(arguments, "pyarrow, 100 rows", "pyarrow", small, "100"),
    ]  # fmt: skip


def bench_epoch(arguments, photos):
    path = file_of(arguments, photos, GROUP_ROWS)
    return "warm", "a shuffled epoch, cropped", [path], "shale.torch.Loader", [
        reading(arguments, "shale.torch.Loader", "shale-epoch", path, "2"),
        reading(arguments, "datasets, DataLoader(2)", "datasets", path, "2"),
    ]  # fmt: skip


def bench_convert(arguments, photos):
    path = file_of(arguments, photos, GROUP_ROWS)
    out, copy = arguments.work / "out", arguments.work / "copy"
    return "warm", "Parquet to records", [path], "dd", [
        Step("shale", convert(arguments, path, out, "record"), [path], output=out),
        Step("dd", shell('dd if="$1" of="$2" bs=4M oflag=direct conv=notrunc status=none', path, copy), [path], output=copy),
    ]  # fmt: skip


def samples_table(runs, title, yardstick):
    """Microseconds a sample, memory, and bytes fetched from the disk for a byte of image."""
    rows = [
        [
            way,
            f"{harness.median_of(runs[way], 'us'):.1f}",
            f"{max(run.rss_bytes for run in runs[way]) / MIB:.0f}",
            f"{harness.median_of(runs[way], 'times'):.2f}" if "times" in runs[way][0].reported else "-",
            harness.ratio(runs, way, yardstick, "us"),
        ]
        for way in runs
    ]
    return harness.markdown([title, "us a sample", "peak RSS MiB", "bytes read", f"x {yardstick}"], rows)


def bench(arguments, name, photos):
    cache, title, read, yardstick, steps = globals()[f"bench_{name}"](arguments, photos)
    runs = harness.alternate(steps, arguments.rounds, arguments.work, cache)
    harness.remove(arguments.work / "theirs.parquet.cache")
    title = f"{title}, {cache}"
    yield (
        title,
        runs,
        samples_table(runs, title, yardstick) if steps[0].reports else harness.table(runs, yardstick, harness.size_of(read), title),
    )


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
