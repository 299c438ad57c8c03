"""What programs use beside executors: callables that go on after an interruption, commands as functions, waiting for jobs."""

import collections
import contextlib
import datetime
import os
import pathlib
import random
import shutil
import subprocess
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, TypeVar, Union

from determined.executor.core.core import Job
from determined.executor.core.job_environment import JobEnvironment
from determined.executor.core.utils import CommandFunction, DelayedSubmission, Path, environment_variables

R = TypeVar("R")

__all__ = [
    "Checkpointable",
    "CommandFunction",
    "DelayedSubmission",
    "FunctionSequence",
    "RsyncSnapshot",
    "TorchDistributedEnvironment",
    "as_completed",
    "clean_env",
    "environment_variables",
    "monitor_jobs",
]


class Checkpointable:
    """A base class of callables. One that is interrupted is stored as it is at that moment, and called again with the same
    arguments. checkpoint() may be overridden."""

    def __new__(cls, *args: Any, **kwargs: Any) -> "Checkpointable":
        instance = super().__new__(cls)
        if not callable(instance):
            raise TypeError(f"{cls.__name__} needs a method __call__, because it is Checkpointable")
        return instance

    def checkpoint(self, *args: Any, **kwargs: Any) -> Optional[DelayedSubmission]:
        """Returns the call of the next run; None if there must be none. Called in the job, with the arguments of __call__."""
        return DelayedSubmission(self, *args, **kwargs)  # type: ignore[arg-type]


class FunctionSequence(Checkpointable):
    """Calls functions one after the other, and returns the list of what they return. After an interruption those that have
    ended are not called again.

    Args:
        verbose: print how many have ended before
    """

    def __init__(self, verbose: bool = False) -> None:
        self.verbose = verbose
        self.delayed_functions: List[DelayedSubmission] = []

    def add(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Adds a call."""
        self.delayed_functions.append(DelayedSubmission(func, *args, **kwargs))

    def __len__(self) -> int:
        return len(self.delayed_functions)

    def __iter__(self) -> Iterator[DelayedSubmission]:
        return iter(self.delayed_functions)

    def __call__(self) -> List[Any]:
        """Makes the calls."""
        if self.verbose:
            print(f"Starting from {sum(each.done() for each in self)}/{len(self)}", flush=True)
        return [each.result() for each in self]


def as_completed(
    jobs: Sequence[Job[R]], timeout: Optional[Union[int, float]] = None, poll_frequency: float = 10
) -> Iterator[Job[R]]:
    """Yields jobs in the order in which they end.

    Args:
        timeout: seconds
        poll_frequency: seconds between two looks

    Raises:
        TimeoutError: not all have ended in time
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    waiting = list(jobs)
    while waiting:
        ended = [job for job in waiting if job.done()]
        waiting = [job for job in waiting if not any(job is each for each in ended)]
        yield from ended
        if not waiting:
            return
        if deadline is not None and time.monotonic() >= deadline:
            raise TimeoutError(f"{len(waiting)} of {len(jobs)} jobs have not ended after {timeout} s")
        time.sleep(poll_frequency)


def _print_states(begin: float, n_jobs: int, states: Dict[str, Set[int]]) -> None:
    now = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S")
    failed = sorted(states["FAILED"])
    print(
        f"[{now}] {int(time.time() - begin) // 60} minutes, of {n_jobs} jobs: {len(states['RUNNING'])} running, "
        f"{len(failed)} failed, {len(states['DONE']) - len(failed)} done" + (f"; failed: {failed}" if failed else ""),
        flush=True,
    )


def monitor_jobs(
    jobs: Sequence[Job[R]],
    poll_frequency: float = 30,
    test_mode: bool = False,
    custom_logging: Callable[[float, int, Dict[str, Set[int]]], None] = _print_states,
) -> None:
    """Prints the states of jobs until all have ended.

    Args:
        poll_frequency: seconds between two looks, at least 30
        test_mode: allows shorter times
        custom_logging: called with the time of the begin, the number of jobs, and the indices of the jobs in each state
    """
    if poll_frequency < 30 and not test_mode:
        raise ValueError(f"poll_frequency is {poll_frequency}: set it to 30 or more, to spare the scheduler")
    begin = time.time()
    while True:
        states: Dict[str, Set[int]] = collections.defaultdict(set)
        for index, job in enumerate(jobs):
            states[job.state.upper()].add(index)
            if job.done():
                states["DONE"].add(index)
        if len(states["DONE"]) == len(jobs):
            print(f"All jobs finished, jobs with indices {sorted(states['FAILED'])} failed", flush=True)
            return
        custom_logging(begin, len(jobs), states)
        time.sleep(poll_frequency)


@contextlib.contextmanager
def clean_env(extra_names: Sequence[str] = ()) -> Iterator[None]:
    """Removes the variables of a job from the environment, and restores them at the end: for a job that starts srun."""
    prefixes = ("SLURM_", "SLURMD_", "SRUN_", "SBATCH_", "SUBMITIT_", "DET_EXECUTOR_")
    removed = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(prefixes) or name in extra_names}
    try:
        yield
    finally:
        os.environ.update(removed)


class TorchDistributedEnvironment:
    """What torch.distributed reads to find its peers, from the job of this process.

    Attributes:
        master_addr, master_port: where rank 0 listens
        rank, world_size, local_rank, local_world_size: of this process
    """

    def __init__(self) -> None:
        job = JobEnvironment()
        self.master_addr = job.hostnames[0]
        given = os.environ.get("MASTER_PORT")
        # All ranks draw the same port from the id of the job.
        self.master_port = int(given) if given else random.Random(job.job_id).randint(20000, 60000)
        self.rank = job.global_rank
        self.world_size = job.num_tasks
        self.local_rank = job.local_rank
        self.local_world_size = job.num_tasks // job.num_nodes

    def export(self, set_cuda_visible_devices: bool = True, overwrite: bool = False) -> "TorchDistributedEnvironment":
        """Sets MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE.

        Args:
            set_cuda_visible_devices: let this rank see the device of its local rank alone
            overwrite: also those that are set

        Raises:
            RuntimeError: one of them is set
        """
        names = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
        values = {name: str(getattr(self, name.lower())) for name in names}
        present = [name for name in names if name in os.environ]
        if present and not overwrite:
            raise RuntimeError(f"{', '.join(present)} is set already; export(overwrite=True) replaces it")
        if set_cuda_visible_devices:
            values["CUDA_VISIBLE_DEVICES"] = str(self.local_rank)
        os.environ.update(values)
        return self


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], stdout=subprocess.PIPE, text=True, check=True).stdout


class RsyncSnapshot:
    """Copies the files that git knows to a directory, and enters it: jobs that are submitted inside of this context run
    that code, whatever changes later.

    Args:
        snapshot_dir: where the copy is made
        root_dir: the directory to copy; default: the repository of the current directory
        with_submodules: also the files of submodules
        exclude: patterns of rsync
        include: further files, relative to root_dir
    """

    def __init__(
        self,
        snapshot_dir: Path,
        root_dir: Optional[Path] = None,
        with_submodules: bool = False,
        exclude: Sequence[str] = (),
        include: Sequence[str] = (),
    ) -> None:
        if not self.available(throw=False):
            raise RuntimeError("RsyncSnapshot needs rsync and git in PATH")
        self.snapshot_dir = pathlib.Path(snapshot_dir).absolute()
        self.root_dir = pathlib.Path(root_dir or _git("rev-parse", "--show-toplevel").strip())
        self.original_dir = pathlib.Path.cwd()
        self.with_submodules = with_submodules
        self.exclude = list(exclude)
        self.include = list(include)

    @staticmethod
    def available(throw: bool = False) -> bool:
        """Whether rsync and git are in PATH."""
        found = bool(shutil.which("rsync") and shutil.which("git"))
        if throw and not found:
            raise RuntimeError("RsyncSnapshot needs rsync and git in PATH")
        return found

    def __enter__(self) -> None:
        self.original_dir = pathlib.Path.cwd()
        options = ["--recurse-submodules"] if self.with_submodules else []
        listed = _git("-C", str(self.root_dir), "ls-files", "-z", *options).split("\0")
        files = [name for name in listed if name and not (self.root_dir / name).is_dir()] + self.include
        self.snapshot_dir.mkdir(parents=True, exist_ok=True)
        exclude = [f"--exclude={pattern}" for pattern in self.exclude]
        subprocess.run(
            ["rsync", "-a", "--from0", "--files-from=-", *exclude, f"{self.root_dir}/", f"{self.snapshot_dir}/"],
            input="\0".join(files).encode(),
            check=True,
        )
        os.chdir(self.snapshot_dir)

    def __exit__(self, *_: Any) -> None:
        os.chdir(self.original_dir)
