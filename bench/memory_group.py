"""A memory cgroup, version 1 or 2, for one run at a time. Takes root.

    with MemoryGroup("shale-bench", 512 << 20) as group:
        subprocess.run(group.around(["python3", "read.py"]))
    group.peak_bytes, group.peak_file_bytes
"""

import pathlib
import threading
import time

ROOT = pathlib.Path("/sys/fs/cgroup")
POLL_SECONDS = 0.02


class MemoryGroup:
    """Made when it is entered, removed when it is left; meanwhile a thread looks at its charge for the page cache."""

    def __init__(self, name, limit_bytes):
        self.is_v1 = (ROOT / "memory/memory.limit_in_bytes").exists()
        self.folder = ROOT / "memory" / name if self.is_v1 else ROOT / name
        self.limit_bytes = limit_bytes
        self.peak_file_bytes = 0
        self.peak_bytes = 0  # of everything, as the kernel counts it; known when the group is left (version 2: from Linux 5.19)
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        try:
            if not self.is_v1:
                (ROOT / "cgroup.subtree_control").write_text("+memory")
            self.folder.mkdir(exist_ok=True)
            limit = "memory.limit_in_bytes" if self.is_v1 else "memory.max"
            (self.folder / limit).write_text(f"{self.limit_bytes}")
        except OSError as error:
            raise SystemExit(f"bench: no memory cgroup can be made: {error}\nhint: run it as root, outside of a container") from error
        self._watcher.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._watcher.join()
        peak = self.folder / ("memory.max_usage_in_bytes" if self.is_v1 else "memory.peak")
        if peak.exists():
            self.peak_bytes = int(peak.read_text())
        for _ in range(100):
            try:
                self.folder.rmdir()
                return
            except OSError:  # its last process is still going
                time.sleep(0.05)

    def around(self, command):
        """The command, run within the group."""
        return ["sh", "-ec", 'echo $$ > "$0"; exec "$@"', self.folder / "cgroup.procs", *command]

    def file_bytes(self):
        """Bytes of page cache that the group is charged for at this moment."""
        word = "total_cache" if self.is_v1 else "file"
        for line in (self.folder / "memory.stat").read_text().splitlines():
            name, value = line.split()
            if name == word:
                return int(value)
        raise SystemExit(f"bench: {self.folder}/memory.stat has no '{word}'\nhint: this kernel accounts memory in another way")

    def _watch(self):
        while not self._stop.wait(POLL_SECONDS):
            self.peak_file_bytes = max(self.peak_file_bytes, self.file_bytes())
