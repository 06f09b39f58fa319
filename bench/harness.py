"""Measures commands side by side, fairly. The protocol is explained in bench/README.md; pack.py shows its use.
Inputs are made by inputs.py.

    steps = [Step("shale", ["shale", ...], reads=["/photos"], output="/x/out"), Step(...)]
    runs = alternate(steps, rounds=5, work="/x", cache="warm")
    print(table(runs, yardstick="shale", payload_bytes=n, title="packing, warm"))
"""

import argparse
import collections
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
MIB = 1 << 20
BACKED_MIB = 3500


@dataclasses.dataclass
class Step:
    """One command, what it reads (in the page cache before a warm run), and what it writes (removed before each run)."""

    name: str
    command: list
    reads: tuple = ()
    output: str = ""
    syncs: bool = True  # the clock runs on until everything is on disk
    reports: bool = False  # the command measures something itself: its last JSON object is the figures
    env: dict = dataclasses.field(default_factory=dict)
    may_end_with: tuple = (0,)  # exit codes that are a result (Run.exit_code); any other ends the benchmark


@dataclasses.dataclass
class Run:
    """What one run of a step took."""

    returned: float  # seconds until the process had ended
    synced: float  # ... until sync(2) had returned as well
    cpu: float  # user + system seconds of the process and its children
    rss_bytes: int  # highest resident set of the process, or of its largest child
    output_bytes: int = 0  # size of what it wrote
    reported: dict = dataclasses.field(default_factory=dict)  # what the command measured itself
    exit_code: int = 0  # negative: the signal that killed it
    read_bytes: int = 0  # fetched from the disk, by it and its children
    written_bytes: int = 0  # sent to it, or left in the page cache to be sent


def say(text):
    print(text, file=sys.stderr, flush=True)


def measured(step):
    """Runs the command of a step once. Its output goes to a log that is shown only if it fails."""
    log = pathlib.Path(os.environ.get("TMPDIR", "/tmp"), f"shale-bench-{os.getpid()}.log")
    with open(log, "wb") as sink:
        begin = time.monotonic()
        pid = os.posix_spawnp(
            step.command[0],
            [os.fspath(word) for word in step.command],
            {**os.environ, **step.env},
            file_actions=[(os.POSIX_SPAWN_DUP2, sink.fileno(), 1), (os.POSIX_SPAWN_DUP2, sink.fileno(), 2)],
        )
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        moved = bytes_moved(pid)
        _, status, usage = os.wait4(pid, 0)
        returned = time.monotonic() - begin
        if step.syncs:
            os.sync()
        synced = time.monotonic() - begin
    exit_code = os.waitstatus_to_exitcode(status)
    if exit_code not in step.may_end_with:
        raise SystemExit(f"bench: '{step.name}' failed: {step.command}\n{log.read_text(errors='replace')}")
    reported = json.loads(last_object(log.read_text(errors="replace"))) if step.reports else {}
    log.unlink()
    written = size_of([pathlib.Path(step.output)]) if step.output else 0
    return Run(returned, synced, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, written, reported, exit_code, *moved)


def bytes_moved(pid):
    """(read from the disk, written) by a process that has ended but is not waited for, and by its children."""
    try:
        words = dict(line.split(": ") for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines())
    except OSError:  # a kernel without this accounting
        return 0, 0
    return int(words["read_bytes"]), int(words["write_bytes"])


def last_object(text):
    """The last line that is a JSON object: what libraries say when they are unloaded comes behind it."""
    return next(line for line in reversed(text.splitlines()) if line.startswith("{"))


def size_of(roots):
    """Bytes of all files below the roots."""
    return sum(f.stat().st_size for root in roots for f in ([root] if root.is_file() else root.rglob("*")) if f.is_file())


def remove(path):
    if path and os.path.isdir(path):
        shutil.rmtree(path)
    elif path and os.path.lexists(path):
        os.unlink(path)


def back_memory(work):
    """Makes the host back our free memory: pages that were in use a moment ago are; idle ones may not be."""
    dummy = os.path.join(work, "dummy")
    subprocess.run(["dd", "if=/dev/zero", f"of={dummy}", "bs=1M", f"count={BACKED_MIB}", "status=none"], check=True)
    os.unlink(dummy)
    os.sync()


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3\n")


def read_all(roots):
    """Reads every file below the roots, so that the page cache holds them."""
    buffer = bytearray(MIB)
    for root in roots:
        paths = [root] if os.path.isfile(root) else (os.path.join(d, n) for d, _, names in os.walk(root) for n in names)
        for path in paths:
            with open(path, "rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass


def alternate(steps, rounds, work, cache, measure=measured, is_settled=lambda step, runs: False):
    """Runs all steps `rounds` times, forwards and backwards in turn (ABBA): {name: [Run of each round]}.

    cache: before each run, "warm" reads what the step will read, "cold" drops all caches. Memory is backed in both.
    measure: called with the step; makes the Run.
    is_settled: called with the step and the runs so far; a step that is settled is not run again.
    """
    runs = collections.defaultdict(list)
    for round_number in range(rounds):
        for step in steps if round_number % 2 == 0 else reversed(steps):
            if is_settled(step, runs):
                continue
            remove(step.output)
            if cache == "warm":
                read_all(step.reads)
            back_memory(work)
            if cache == "cold":
                drop_caches()
            run = measure(step)
            say(f"  {cache} {round_number + 1}/{rounds}: {step.name}: {run.returned:.2f} s, on disk {run.synced:.2f} s")
            runs[step.name].append(run)
            remove(step.output)
    return {step.name: runs[step.name] for step in steps}


def spread(values):
    return f"{min(values):.2f}-{max(values):.2f}"


def markdown(header, rows):
    """A Markdown table: the first column is text, the others are numbers."""
    lines = [f"| {' | '.join(cells)} |" for cells in [header, *rows]]
    lines.insert(1, "|---|" + "--:|" * (len(header) - 1))
    return "\n".join(lines)


def table(runs, yardstick, payload_bytes, title, shows_overhead=False):
    """A Markdown table: medians, spread, and how many times longer than the yardstick each step took.

    The ratio is the median of the ratios of each round, whose runs stood next to each other. shows_overhead: a column that says by
    how much all files of the output are larger than the payload.
    """
    header = [title, "s on disk", "spread", "s to return", "MB/s", "CPU s/GB", "peak RSS MiB", f"x {yardstick}"]
    rows = []
    for name, list_of_runs in runs.items():
        synced = [run.synced for run in list_of_runs]
        rows.append([
            name,
            f"{statistics.median(synced):.2f}",
            spread(synced),
            f"{median_of(list_of_runs, 'returned'):.2f}",
            f"{payload_bytes / statistics.median(synced) / 1e6:.0f}",
            f"{median_of(list_of_runs, 'cpu') / payload_bytes * 1e9:.2f}",
            f"{max(run.rss_bytes for run in list_of_runs) / MIB:.0f}",
            ratio(runs, name, yardstick),
        ])  # fmt: skip
        if shows_overhead:
            rows[-1].append(overhead(list_of_runs, payload_bytes))
    return markdown(header + (["files, % above payload"] if shows_overhead else []), rows)


def median_of(list_of_runs, figure):
    """The median of a member of Run, or of a figure that the commands reported."""
    return statistics.median(run.reported[figure] if figure in run.reported else getattr(run, figure) for run in list_of_runs)


def overhead(list_of_runs, payload_bytes):
    return f"{(median_of(list_of_runs, 'output_bytes') / payload_bytes - 1) * 100:.2f}"


def ratios(runs, name, yardstick, figure="synced"):
    """How many times the yardstick's figure each round gave."""
    return [median_of([mine], figure) / median_of([other], figure) for mine, other in zip(runs[name], runs[yardstick])]


def ratio(runs, name, yardstick, figure="synced"):
    """The same in a cell: median, smallest and largest."""
    if yardstick not in runs:
        return "-"
    found = ratios(runs, name, yardstick, figure)
    return f"{statistics.median(found):.2f} ({spread(found)})"


def as_json(runs):
    return {name: [dataclasses.asdict(run) for run in list_of_runs] for name, list_of_runs in runs.items()}


def file_system_of(path):
    """ "ext4 on /dev/vda", from the longest mount point above the path."""
    real, best = os.path.realpath(path), ("", "?", "?")
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        device, point, kind = line.split()[:3]
        if (real + "/").startswith(point.rstrip("/") + "/") and len(point) >= len(best[0]):
            best = (point, kind, device)
    return f"{best[1]} on {best[2]}"


def machine(work):
    """One line that says where the figures come from."""
    cpu = next(
        (line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")),
        "?",
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return (
        f"{os.cpu_count()} x {cpu}, {memory:.0f} GiB, {file_system_of(work)}, Linux {platform.release()}, "
        f"{datetime.date.today().isoformat()}"
    )


def needs_root():
    if not os.access("/proc/sys/vm/drop_caches", os.W_OK):
        raise SystemExit("bench: dropping caches takes root\nhint: run it as root, or only --cache warm")


def free_bytes(path):
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


def free_inodes(path):
    return os.statvfs(path).f_favail


# ---- the frame of every benchmark ---------------------------------------------------------------------------------------


def parser(doc):
    """The options that all benchmarks have."""
    options = argparse.ArgumentParser(description=doc.splitlines()[0])
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/var/tmp/shale-bench"),
                         help="folder for inputs and outputs, on the disk to be measured")  # fmt: skip
    options.add_argument("--shale", type=pathlib.Path, default=ROOT / "build/release/shale")
    options.add_argument("--peers", type=pathlib.Path, help="Python environment of the peers (default WORK/peers, made if missing)")
    options.add_argument("--json", type=pathlib.Path, help="write every run into this file")
    return options


def parser_of_parts(doc, parts, rounds=3):
    """The same, with --only for some of the parts: read by arguments_of_parts."""
    options = parser(doc)
    options.set_defaults(rounds=rounds)
    options.add_argument("--only", type=lambda text: text.split(","), default=list(parts), help=f"comma-separated: {', '.join(parts)}")
    return options


def arguments_of_parts(options, parts):
    arguments = options.parse_args()
    if unknown := set(arguments.only) - set(parts):
        options.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    return arguments


def needs_shale(arguments):
    arguments.shale = arguments.shale.resolve()
    if not os.access(arguments.shale, os.X_OK):
        raise SystemExit(f"bench: {arguments.shale}: no such program\nhint: build it (tests/run.sh), or name it with --shale")


def run(arguments, results):
    """What benchmarks of shale do: prints what results(arguments) gives."""
    needs_shale(arguments)
    arguments.work.mkdir(parents=True, exist_ok=True)
    report(arguments, results(arguments))


def report(arguments, results):
    """Prints the tables of (title, runs, text) as they come, and writes --json. A text may be empty."""
    line = machine(arguments.work)
    print(f"{line}; {arguments.rounds} rounds, ABBA\n", flush=True)
    facts = {"machine": line, "rounds": arguments.rounds}
    for title, runs, text in results:
        if text:
            print(text, end="\n\n", flush=True)
        facts[title] = as_json(runs)
    if arguments.json:
        arguments.json.write_text(json.dumps(facts, indent=1) + "\n")
