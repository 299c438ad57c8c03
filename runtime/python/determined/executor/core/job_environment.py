"""What a submitted function can ask about the job in which it runs."""

import os
import re
import signal
import socket
from typing import Any, ClassVar, Dict, List, Optional, Type

EXECUTOR_VARIABLE = "SUBMITIT_EXECUTOR"  # other packages also look for it; the plugin of det-submit is one


class SlurmParseException(Exception):
    """A list of nodes that is not written as Slurm writes it."""


class JobEnvironment:
    """The job of this process: `JobEnvironment()` in a submitted function.

    Attributes:
        cluster: "slurm", "local" or "debug"

    Raises:
        RuntimeError: this process is no job of an executor
    """

    _env: ClassVar[Dict[str, str]] = {}  # property -> environment variable
    _named: ClassVar[Dict[str, Type["JobEnvironment"]]] = {}

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        JobEnvironment._named[cls.name()] = cls

    def __new__(cls, *args: Any) -> "JobEnvironment":
        if cls is JobEnvironment:
            name = os.environ.get(EXECUTOR_VARIABLE, "")
            if name not in JobEnvironment._named:
                raise RuntimeError("JobEnvironment: this process is not in a job of determined.executor")
            cls = JobEnvironment._named[name]
        return super().__new__(cls)

    def __init__(self) -> None:
        self.cluster = self.name()

    @classmethod
    def name(cls) -> str:
        """The name of the cluster's kind."""
        return cls.__name__.replace("JobEnvironment", "").lower()

    @classmethod
    def _usr_sig(cls) -> signal.Signals:
        """The signal that announces the end of a job."""
        return signal.Signals["SIG" + os.environ.get("SUBMITIT_PREEMPT_SIGNAL", "USR2")]

    def activated(self) -> bool:
        """Whether this process is in a job of this kind."""
        return os.environ.get(EXECUTOR_VARIABLE) == self.name()

    def _number(self, name: str, otherwise: int) -> int:
        return int(os.environ.get(self._env[name], otherwise))

    @property
    def hostname(self) -> str:
        """The name of this node."""
        return socket.gethostname()

    @property
    def hostnames(self) -> List[str]:
        """The names of all nodes of the job."""
        return [self.hostname]

    @property
    def job_id(self) -> str:
        """The id of the job, ARRAY_TASK in a job array."""
        array = self.array_job_id
        return f"{array}_{self.array_task_id}" if array else self.raw_job_id

    @property
    def raw_job_id(self) -> str:
        """The id that the scheduler gives to this job alone."""
        return os.environ[self._env["job_id"]]

    @property
    def array_job_id(self) -> Optional[str]:
        """The id of the job array; None outside of one."""
        return os.environ.get(self._env.get("array_job_id", "")) or None

    @property
    def array_task_id(self) -> Optional[str]:
        """The index in the job array; None outside of one."""
        return os.environ.get(self._env.get("array_task_id", "")) or None

    @property
    def num_tasks(self) -> int:
        """How many ranks the job has."""
        return self._number("num_tasks", 1)

    @property
    def num_nodes(self) -> int:
        """How many nodes the job has."""
        return self._number("num_nodes", 1)

    @property
    def node(self) -> int:
        """The index of this node, from 0."""
        return self._number("node", 0)

    @property
    def global_rank(self) -> int:
        """The rank among all of the job."""
        return self._number("global_rank", 0)

    @property
    def local_rank(self) -> int:
        """The rank among those of this node."""
        return self._number("local_rank", 0)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(job_id={self.job_id}, hostname={self.hostname}, "
            f"local_rank={self.local_rank}({self.num_tasks // self.num_nodes}), node={self.node}({self.num_nodes}), "
            f"global_rank={self.global_rank}({self.num_tasks}))"
        )


_GROUP = re.compile(r"([^\[\],]*)\[([^\[\]]*)\]|([^\[\],]+)")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def _expand_numbers(text: str) -> List[str]:
    numbers: List[str] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            raise ValueError(f"'{part}' is neither a number nor a range")
        first, last = found.group(1), found.group(2) or found.group(1)
        numbers += [f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]
    return numbers


def expand_node_list(text: str) -> List[str]:
    """The names in a list of Slurm such as `n[1-3,07],login`.

    Raises:
        SlurmParseException: Slurm does not write lists like that
    """
    try:
        names: List[str] = []
        open_names = [""]  # of the entry that is read
        at = 0
        while at < len(text):
            if text[at] == ",":
                names += open_names
                open_names = [""]
                at += 1
                continue
            group = _GROUP.match(text, at)
            if group is None:
                raise ValueError(f"what is '{text[at:]}'?")
            prefix = group.group(1) if group.group(3) is None else group.group(3)
            numbers = [""] if group.group(3) is not None else _expand_numbers(group.group(2))
            open_names = [name + prefix + number for name in open_names for number in numbers]
            at = group.end()
        return names + open_names
    except ValueError as error:
        raise SlurmParseException(f"'{text}' is no list of nodes: {error}") from error


class SlurmJobEnvironment(JobEnvironment):
    """A job of SlurmExecutor."""

    _env = {
        "job_id": "SLURM_JOB_ID",
        "num_tasks": "SLURM_NTASKS",
        "num_nodes": "SLURM_JOB_NUM_NODES",
        "node": "SLURM_NODEID",
        "nodes": "SLURM_JOB_NODELIST",
        "global_rank": "SLURM_PROCID",
        "local_rank": "SLURM_LOCALID",
        "array_job_id": "SLURM_ARRAY_JOB_ID",
        "array_task_id": "SLURM_ARRAY_TASK_ID",
    }

    @property
    def hostnames(self) -> List[str]:
        """The names of all nodes of the job."""
        nodes = os.environ.get(self._env["nodes"], "")
        return expand_node_list(nodes) if nodes else [self.hostname]


class LocalJobEnvironment(JobEnvironment):
    """A job of LocalExecutor."""

    _env = {
        "job_id": "DET_EXECUTOR_JOB_ID",
        "num_tasks": "DET_EXECUTOR_NUM_TASKS",
        "num_nodes": "DET_EXECUTOR_NUM_NODES",
        "node": "DET_EXECUTOR_NODE",
        "global_rank": "DET_EXECUTOR_RANK",
        "local_rank": "DET_EXECUTOR_RANK",
    }


class DebugJobEnvironment(JobEnvironment):
    """A job of DebugExecutor, which runs in the process that submits it."""

    _env = {
        "job_id": "DET_EXECUTOR_DEBUG_ID",
        "num_tasks": "DET_EXECUTOR_NUM_TASKS",
        "num_nodes": "DET_EXECUTOR_NUM_NODES",
        "node": "DET_EXECUTOR_NODE",
        "global_rank": "DET_EXECUTOR_RANK",
        "local_rank": "DET_EXECUTOR_RANK",
    }
