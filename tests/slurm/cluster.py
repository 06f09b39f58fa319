"""A one-node SLURM of its own: munged, slurmctld and slurmd on loopback, as root, everything they write in one private folder.

It kills a job whose resident set (mapped pages included) is larger than its --mem: see docs/slurm.md. A munge or a SLURM that the
machine runs already is not touched: key, socket, ports, logs and state are the cluster's own. By hand, with a shell in it:

    sudo python3 tests/slurm/cluster.py bash
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "scontrol", "setpriv"]
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
UP_WITHIN_S = 60
DOWN_WITHIN_S = 20

# JobAcctGather*: once a second slurmstepd adds up the RSS of the job's processes, and kills the job above its --mem.
CONF = """\
ClusterName=shale
SlurmctldHost={host}({address})
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
{listen}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
MpiDefault=none
MailProg=/bin/true
MinJobAge=3600
SchedulerParameters=sched_min_interval=100000
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeHostname={host} NodeAddr={address} CPUs={cpus} RealMemory={memory_mib} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=10 State=UP
"""


def why_not():
    """Why no cluster can run here, in words; None if one can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if missing:
        return f"no {', '.join(missing)} here (Debian: apt-get install slurm-wlm munge)"
    if os.geteuid() != 0:
        return "SLURM's daemons take root here"
    return None


class NotUp(Exception):
    """The cluster did not come up; the text has the ends of the daemons' logs."""


class Cluster:
    """Made by `one_node_cluster`."""

    def __init__(self, folder):
        self.folder = folder
        self.node = socket.gethostname().split(".")[0]
        # Without what another SLURM may have put there: this may run inside one of its jobs.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH", "MUNGE"))}
        # Jobs inherit it in turn, so that it marks whatever the cluster started: see processes().
        self.environment = inherited | {"SLURM_CONF": f"{folder}/slurm.conf", "PATH": PATH}

    def run(self, *words, timeout_s=180):
        """Runs a command in the cluster (SLURM_CONF says where it is); returns its stdout, raises on failure."""
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=timeout_s)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr}{self.logs()}")
        return done.stdout

    def show(self, *what):
        """`scontrol show` of one node or job, as a dict of its NAME=VALUE words."""
        words = self.run("scontrol", "--oneliner", "show", *what).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def logs(self, lines=30):
        """The ends of the daemons' logs."""
        text = ""
        for log in sorted(self.folder.glob("*.log")):
            text += f"--- the end of {log.name}\n" + "".join(log.read_text(errors="replace").splitlines(True)[-lines:])
        return text

    def processes(self):
        """The ids of all processes with this cluster's SLURM_CONF: daemons, commands, jobs."""
        mark = f"SLURM_CONF={self.folder}/".encode()
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                    found.append(int(entry.name))
        return found

    def start(self, *command, output):
        # A daemon dies with this process, however that ends; its own session keeps the terminal's Ctrl-C from it.
        with open(self.folder / output, "ab") as log:
            return subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *command],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )

    def wait_until(self, claim, holds, daemons=(), seconds=UP_WITHIN_S):
        """Errors: NotUp when `holds` has not become true in time, or a daemon has ended."""
        deadline = time.monotonic() + seconds
        while not holds():
            dead = [f"{daemon.args[3]} ended with {daemon.returncode}" for daemon in daemons if daemon.poll() is not None]
            if dead or time.monotonic() > deadline:
                raise NotUp(f"not so: {claim}: {', '.join(dead) or f'waited {seconds} s'}\n{self.logs()}")
            time.sleep(0.1)


@contextlib.contextmanager
def one_node_cluster():
    """Yields a `Cluster` whose node is idle. At the end, also of an exception, Ctrl-C or SIGTERM, nothing of it is left.

    SIGKILL leaves the folder and a running job with its slurmstepd; the daemons end even then. Call it in the main thread.

    Errors: NotUp, with the ends of the daemons' logs.
    """
    with contextlib.ExitStack() as undo:
        undo.enter_context(sigterm_as_exit())
        # Not below pytest's folders: munged wants every folder above its socket to be open to others.
        folder = pathlib.Path(tempfile.mkdtemp(prefix="shale-slurm-"))
        undo.callback(shutil.rmtree, folder, ignore_errors=True)
        cluster = Cluster(folder)
        undo.callback(kill_what_is_left, cluster)
        write_settings(cluster)
        daemons = []
        for command, output in daemon_commands(folder):
            daemons.append(cluster.start(*command, output=output))
            undo.callback(end, daemons[-1])
            if command[0] == "munged":
                cluster.wait_until("munged listens", (folder / "munge.socket").exists, daemons)
        cluster.wait_until("the node is idle", lambda: node_state(cluster) == "IDLE", daemons)
        yield cluster


def write_settings(cluster):
    folder = cluster.folder
    folder.chmod(0o711)
    for name in ("state", "spool"):
        (folder / name).mkdir(mode=0o700)
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(128))
    address, listen = loopback()
    ctld_port, slurmd_port = free_ports(2)
    memory_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // (1 << 20)
    (folder / "slurm.conf").write_text(
        CONF.format(
            folder=folder, host=cluster.node, address=address, listen=listen, ctld_port=ctld_port, slurmd_port=slurmd_port,
            cpus=os.cpu_count(), memory_mib=memory_mib * 9 // 10,
        )
    )


def daemon_commands(folder):
    """(command, where its output goes), in the order of starting. slurmctld and slurmd write their own logs as well."""
    munged = [
        "munged", "--foreground", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket",
        f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed",
    ]
    return [(munged, "munged.err.log"), (["slurmctld", "-D"], "slurmctld.err.log"), (["slurmd", "-D"], "slurmd.err.log")]


def loopback():
    """(the address to be reached at, a line of CONF or none). SLURM listens at the address of the host's name, or everywhere."""
    try:
        address = socket.gethostbyname(socket.gethostname())
    except OSError:
        address = ""
    if address.startswith("127."):
        return address, "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny"
    return "127.0.0.1", ""


def free_ports(count):
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def node_state(cluster):
    try:
        return cluster.show("node", cluster.node).get("State")
    except RuntimeError:
        return None  # slurmctld does not answer yet


def end(daemon):
    daemon.terminate()
    try:
        daemon.wait(DOWN_WITHIN_S)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def kill_what_is_left(cluster):
    """slurmd leaves its jobs running when it ends, by design."""
    deadline = time.monotonic() + DOWN_WITHIN_S
    while (left := cluster.processes()) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


@contextlib.contextmanager
def sigterm_as_exit():
    def leave(number, frame):
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    if reason := why_not():
        sys.exit(f"cluster.py: {reason}")
    with one_node_cluster() as here:
        sys.exit(subprocess.call(sys.argv[1:] or ["bash"], env=here.environment))
