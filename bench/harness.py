"""Measures commands side by side, fairly. The protocol is explained in bench/README.md; pack.py shows its use.

    steps = [Step("shale", ["shale", ...], reads=["/photos"], output="/x/out"), Step(...)]
    runs = alternate(steps, rounds=5, work="/x", cache="warm")
    print(table(runs, yardstick="shale", payload_bytes=n, title="packing, warm"))
"""

import collections
import dataclasses
import datetime
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time

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
    env: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Run:
    """What one run of a step took."""

    returned: float  # seconds until the process had ended
    synced: float  # ... until sync(2) had returned as well
    cpu: float  # user + system seconds of the process and its children
    rss_bytes: int  # highest resident set of the process, or of its largest child


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
        _, status, usage = os.wait4(pid, 0)
        returned = time.monotonic() - begin
        if step.syncs:
            os.sync()
        synced = time.monotonic() - begin
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"bench: '{step.name}' failed: {step.command}\n{log.read_text(errors='replace')}")
    log.unlink()
    return Run(returned, synced, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def remove(path):
    if path and os.path.isdir(path):
        shutil.rmtree(path)
    elif path and os.path.lexists(path):
        os.unlink(path)


def back_memory(work):
    """Makes the host back our free memory: pages that were in use a moment ago are; idle ones may not be."""
    dummy = os.path.join(work, "dummy")
    subprocess.run(
        ["dd", "if=/dev/zero", f"of={dummy}", "bs=1M", f"count={BACKED_MIB}", "status=none"], check=True
    )
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


def alternate(steps, rounds, work, cache):
    """Runs all steps `rounds` times, forwards and backwards in turn (ABBA): {name: [Run of each round]}.

    cache: before each run, "warm" reads what the step will read, "cold" drops all caches. Memory is backed in both.
    """
    runs = collections.defaultdict(list)
    for round_number in range(rounds):
        for step in steps if round_number % 2 == 0 else reversed(steps):
            remove(step.output)
            if cache == "warm":
                read_all(step.reads)
            back_memory(work)
            if cache == "cold":
                drop_caches()
            run = measured(step)
            say(f"  {cache} {round_number + 1}/{rounds}: {step.name}: {run.returned:.2f} s, on disk {run.synced:.2f} s")
            runs[step.name].append(run)
            remove(step.output)
    return {step.name: runs[step.name] for step in steps}


def spread(values):
    return f"{min(values):.2f}-{max(values):.2f}"


def table(runs, yardstick, payload_bytes, title):
    """A Markdown table: medians, spread, and how many times longer than the yardstick each step took.

    The ratio is the median of the ratios of each round, whose runs stood next to each other.
    """
    lines = [
        f"| {title} | s on disk | spread | s to return | MB/s | CPU s/GB | peak RSS MiB | x {yardstick} |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, list_of_runs in runs.items():
        synced = [run.synced for run in list_of_runs]
        middle = statistics.median(synced)
        cells = [
            name,
            f"{middle:.2f}",
            spread(synced),
            f"{statistics.median(run.returned for run in list_of_runs):.2f}",
            f"{payload_bytes / middle / 1e6:.0f}",
            f"{statistics.median(run.cpu for run in list_of_runs) / payload_bytes * 1e9:.2f}",
            f"{max(run.rss_bytes for run in list_of_runs) / MIB:.0f}",
            ratio(runs, name, yardstick),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def ratio(runs, name, yardstick):
    if yardstick not in runs:
        return "-"
    pairs = [mine.synced / other.synced for mine, other in zip(runs[name], runs[yardstick])]
    return f"{statistics.median(pairs):.2f} ({spread(pairs)})"


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
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
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

