#!/usr/bin/env python3
"""What it costs to build shale: processor time by target and by header, and bytes of the program by module.

python3 bench/build.py [--preset release] [--targets shale] [--headers] [--touch lib/shale/ops/convert.cpp] [--define NAME=VALUE ...]

Builds from nothing in a folder of its own, with a compiler per processor. --headers parses everything once more with clang and
-ftime-trace. --touch then builds again as if that file had been edited (use --preset dev: a person edits single files).
docs/building.md has the tables.
"""

import argparse
import collections
import json
import os
import pathlib
import resource
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def parse_arguments():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--preset", default="release")
    options.add_argument("--targets", nargs="+", default=["shale"])
    options.add_argument("--define", nargs="*", default=[], help="of CMake: SHALE_WERROR=ON")
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options.add_argument("--headers", action="store_true", help="also by header (needs clang)")
    options.add_argument("--touch", type=pathlib.Path, help="also the build after an edit of this file")
    options.add_argument("--most", type=int, default=20, help="rows of each table (default: 20)")
    return options.parse_args()


def run(*words, **more):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, cwd=ROOT, **more)


def timed(*words):
    """Seconds of processor time and of wall time."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run(*words)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - begin
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def table(title, rows, unit, most):
    print(f"\n{title}")
    rows = sorted(rows.items(), key=lambda row: -row[1])
    for name, value in rows[:most]:
        print(f"  {value:10,.1f} {unit}  {name}")
    if len(rows) > most:
        print(f"  {sum(value for _, value in rows[most:]):10,.1f} {unit}  {len(rows) - most} others")


def configure(preset, tree, defines):
    run("cmake", "--preset", preset, "-B", tree, *[f"-D{define}" for define in defines], stderr=subprocess.DEVNULL)


def seconds_by_target(tree):
    """From ninja's log: of a step the seconds it took, which with a compiler per processor are processor time."""
    seconds = collections.Counter()
    for line in (tree / ".ninja_log").read_text().splitlines()[1:]:
        begin, end, _, output, _ = line.split("\t")
        folder, found, _ = output.partition(".dir/")
        seconds[folder.removeprefix("tests/CMakeFiles/").removeprefix("CMakeFiles/") if found else "linking and the rest"] += (
            int(end) - int(begin)
        ) / 1000
    return seconds


def bytes_by_module(tree):
    """Code and constants of the objects of each library, and of the program's own."""
    size = collections.Counter()
    for item in sorted(tree.glob("CMakeFiles/*.dir")):
        objects = [str(path) for path in item.rglob("*.o")]
        if not objects:
            continue
        lines = subprocess.run(["size", *objects], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
        size[item.name.removesuffix(".dir")] = sum(int(line.split()[0]) for line in lines) / 1024
    return size


def seconds_by_header(tree):
    """What clang spends in the headers that are named at the top of each source, with all that those include."""
    run("cmake", "--preset", "tidy", "-B", tree, stderr=subprocess.DEVNULL)
    seconds, files = collections.Counter(), collections.Counter()
    for command in json.loads((tree / "compile_commands.json").read_text()):
        words = shlex.split(command["command"])
        output = pathlib.Path(command["directory"], command.get("output", words[words.index("-o") + 1]))
        output.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([*words, "-ftime-trace", "-O0"], cwd=command["directory"], check=True)
        for event in json.loads(output.with_suffix(".json").read_text())["traceEvents"]:
            if event["name"] != "Source":
                continue
            path = event["args"]["detail"]
            name = path.rpartition("/lib/")[2] if "/lib/shale/" in path else path.removeprefix("/usr/include/")
            seconds[name] += event["dur"] / 1e6
            files[name] += 1
    return {f"{name} ({files[name]} times)": spent for name, spent in seconds.items() if not name.endswith(".cpp")}


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="shale-build-") as folder:
        tree = pathlib.Path(folder, "tree")
        configure(arguments.preset, tree, arguments.define)
        build = ["cmake", "--build", tree, "--parallel", arguments.jobs, "--target", *arguments.targets]
        processor, wall = timed(*build)
        print(f"{arguments.preset}, {' '.join(arguments.targets)}: {processor:.0f} s of processor time, {wall:.0f} s with {arguments.jobs} jobs")
        table("seconds by target", seconds_by_target(tree), "s", arguments.most)
        table("code and constants by module", bytes_by_module(tree), "KiB", arguments.most)
        if arguments.touch:
            (ROOT / arguments.touch).touch()
            processor, wall = timed(*build)
            print(f"\nafter an edit of {arguments.touch}: {processor:.0f} s of processor time, {wall:.0f} s")
        if arguments.headers:
            table("seconds by header, with what it includes", seconds_by_header(pathlib.Path(folder, "headers")), "s", arguments.most)


if __name__ == "__main__":
    sys.exit(main())
