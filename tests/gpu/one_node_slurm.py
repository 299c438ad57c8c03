"""A Slurm of one node on this machine, without namespaces: the gres gpu has the given device files."""

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from typing import Callable, Dict, Iterator, List, Optional

START_LIMIT_S = 30
STOP_LIMIT_S = 15
DAEMON_DIRECTORIES = ("/usr/sbin", "/usr/local/sbin")


class Slurm:
    """The programs of a Slurm with auth/munge.

    Args:
        prefix: has sbin, bin and plugins; None: the Slurm that is installed on this machine
    """

    def __init__(self, prefix: Optional[str]) -> None:
        self._prefix = prefix

    def program(self, name: str) -> str:
        # The name of the file counts: Slurm's libraries ask whether they are in "slurmctld" or "slurmd".
        if self._prefix is not None:
            return f"{self._prefix}/sbin/{name}"
        found = shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), *DAEMON_DIRECTORIES)))
        return found or ""

    def find_missing(self) -> List[str]:
        """The programs that are not there."""
        names = ("slurmctld", "slurmd", "slurmstepd", "munged")
        return [name for name in names if not os.path.exists(self.program(name))]

    def plugin_line(self) -> str:
        return f"PluginDir={self._prefix}/plugins\n" if self._prefix is not None else ""


def free_ports(count: int) -> List[int]:
    """Ports that nothing listens on at this time."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


def node_name() -> str:
    return socket.gethostname().split(".")[0]


def memory_mib() -> int:
    with open("/proc/meminfo") as file:
        total = next(line for line in file if line.startswith("MemTotal:"))
    return int(total.split()[1]) * 9 // 10 // 1024


def render_slurm_conf(slurm: Slurm, directory: str, gpus: int) -> str:
    controller, node = free_ports(2)
    host, user = socket.gethostname(), getpass.getuser()
    return f"""ClusterName=onenode
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={directory}/munge.socket
{slurm.plugin_line()}SlurmctldPort={controller}
SlurmdPort={node}
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmdSpoolDir={directory}/spool
StateSaveLocation={directory}/state
SlurmctldSyslogDebug=quiet
SlurmdSyslogDebug=quiet
PlugStackConfig={directory}/plugstack.conf
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
KillWait=5
ReturnToService=2
PropagateResourceLimits=NONE
PriorityType=priority/basic
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=1
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName={node_name()} NodeHostname={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory={memory_mib()} Gres=gpu:{gpus} State=UNKNOWN
PartitionName=compute Nodes={node_name()} Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=30 PreemptMode=REQUEUE
PartitionName=urgent Nodes={node_name()} MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""


def write(path: str, content: str) -> None:
    with open(path, "w") as file:
        file.write(content)


def write_configuration(slurm: Slurm, directory: str, gpus: List[str]) -> None:
    for name in ("state", "spool", "cgroup"):
        os.makedirs(f"{directory}/{name}")
    with open(f"{directory}/munge.key", "wb") as key:
        os.fchmod(key.fileno(), 0o400)
        key.write(os.urandom(1024))
    write(f"{directory}/slurm.conf", render_slurm_conf(slurm, directory, len(gpus)))
    write(f"{directory}/gres.conf", "".join(f"NodeName={node_name()} Name=gpu File={gpu}\n" for gpu in gpus))
    write(f"{directory}/plugstack.conf", "")
    # Needed with linuxproc too: without this file slurmd looks for a cgroup v2 tree and exits.
    write(
        f"{directory}/cgroup.conf",
        f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={directory}/cgroup\nCgroupAutomount=no\n",
    )


def wait_until(is_done: Callable[[], bool], limit_s: float, what: str) -> None:
    end = time.monotonic() + limit_s
    while not is_done():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} after {limit_s:.0f} s")
        time.sleep(0.1)


class Cluster:
    """The daemons, and the environment in which commands find them."""

    def __init__(self, slurm: Slurm, directory: str, logs: str) -> None:
        self._slurm = slurm
        self._directory = directory
        self._logs = logs
        self._daemons: List["subprocess.Popen[bytes]"] = []
        self.environment: Dict[str, str] = {**os.environ, "SLURM_CONF": f"{directory}/slurm.conf"}

    def start(self) -> None:
        directory = self._directory
        self._start(
            "munged",
            "--foreground",
            "--force",
            f"--socket={directory}/munge.socket",
            f"--key-file={directory}/munge.key",
            f"--pid-file={directory}/munged.pid",
            f"--seed-file={directory}/munged.seed",
            f"--log-file={self._logs}/munged.log",
        )
        wait_until(lambda: os.path.exists(f"{directory}/munge.socket"), START_LIMIT_S, "munged has no socket")
        self._start("slurmctld", "-D")
        self._start("slurmd", "-D", "-N", node_name(), "-d", self._slurm.program("slurmstepd"))
        wait_until(self._is_idle, START_LIMIT_S, "the node is not idle")

    def run(self, *command: str, limit_s: float = 30) -> str:
        """The output of a command. Raises CalledProcessError if it fails; its stderr goes to the log."""
        return subprocess.run(
            command, env=self.environment, stdout=subprocess.PIPE, text=True, check=True, timeout=limit_s
        ).stdout

    def stop(self) -> None:
        """Cancels all jobs and ends the daemons."""
        with contextlib.suppress(Exception):
            self.run("scancel", f"--user={getpass.getuser()}")
            self.run("scancel", "--signal=KILL", f"--user={getpass.getuser()}")
            wait_until(lambda: not self.run("squeue", "--noheader").strip(), STOP_LIMIT_S, "there are jobs")
        for daemon in reversed(self._daemons):
            daemon.terminate()
        for daemon in reversed(self._daemons):
            try:
                daemon.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def _start(self, name: str, *arguments: str) -> None:
        with open(f"{self._logs}/{name}.output", "wb") as output:
            self._daemons.append(
                subprocess.Popen(
                    [self._slurm.program(name), *arguments],
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            )

    def _is_idle(self) -> bool:
        for daemon in self._daemons:
            if daemon.poll() is not None:
                raise RuntimeError(f"{daemon.args!r} has ended with {daemon.returncode}; see {self._logs}")
        try:
            return "idle" in self.run("sinfo", "--noheader", "--format=%T", limit_s=5).split()
        except subprocess.SubprocessError:
            return False


@contextlib.contextmanager
def one_node_slurm(prefix: Optional[str], directory: str, logs: str, gpus: List[str]) -> Iterator[Cluster]:
    """Runs a Slurm in a directory that does not exist yet.

    Args:
        prefix: as for Slurm
        logs: a directory that exists
        gpus: device files
    """
    slurm = Slurm(prefix)
    missing = slurm.find_missing()
    if missing:
        raise RuntimeError(f"this machine has no {', '.join(missing)}")
    os.makedirs(directory)
    write_configuration(slurm, directory, gpus)
    cluster = Cluster(slurm, directory, logs)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
