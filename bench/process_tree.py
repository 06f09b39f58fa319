"""What a process and its children use, from /proc."""

import multiprocessing
import os
import pathlib
import signal

TICKS = os.sysconf("SC_CLK_TCK")


def members(pid):
    """The process and all below it that live."""
    found = [pid]
    for parent in found:
        try:
            for task in os.listdir(f"/proc/{parent}/task"):
                found.extend(int(word) for word in pathlib.Path(f"/proc/{parent}/task/{task}/children").read_text().split())
        except FileNotFoundError:
            continue
    return found


def usage(pid=None):
    """Sums over the tree: rss and pss bytes, CPU seconds, bytes fetched from the disk. PSS counts a page that several share once."""
    total = {"rss": 0, "pss": 0, "cpu": 0.0, "fetched": 0}
    for member in members(pid or os.getpid()):
        proc = pathlib.Path("/proc") / str(member)
        try:
            memory = numbers(proc / "smaps_rollup")
            fields = (proc / "stat").read_text().rpartition(")")[2].split()
            fetched = numbers(proc / "io")["read_bytes"]
        except (FileNotFoundError, ProcessLookupError, KeyError):
            continue
        total["rss"] += memory["Rss"] * 1024
        total["pss"] += memory["Pss"] * 1024
        total["cpu"] += (int(fields[11]) + int(fields[12])) / TICKS
        total["fetched"] += fetched
    return total


def idle_seconds():
    """Of all CPUs of the machine, since it started; waiting for the disk is idle."""
    words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (int(words[4]) + int(words[5])) / TICKS


def numbers(path):
    """The lines "Name: 12 kB" of a file."""
    pairs = (line.partition(":") for line in path.read_text().splitlines())
    return {name: int(value.split()[0]) for name, _, value in pairs if value.split() and value.split()[0].isdigit()}


def end():
    """Ends this process and the workers of its DataLoader at once: orphans look for their parent only every few seconds, and would
    run into the next measurement."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # PyTorch's handler takes the death of a worker for an accident
    for child in multiprocessing.active_children():
        child.kill()
        child.join()
    os._exit(0)
