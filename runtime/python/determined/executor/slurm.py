"""Functions as jobs of Slurm, submitted by sbatch."""

import inspect
import math
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, TypeVar, Union

from determined.executor import _slurm_commands
from determined.executor.core import utils
from determined.executor.core._executor import PicklingExecutor, nearest_name
from determined.executor.core.core import Info, InfoWatcher, Job
from determined.executor.core.job_environment import SlurmJobEnvironment, SlurmParseException

R = TypeVar("R")

__all__ = ["SlurmExecutor", "SlurmInfoWatcher", "SlurmJob", "SlurmJobEnvironment", "SlurmParseException"]

# The parameters that all executors have, and the option of sbatch for each.
_GENERIC = {
    "name": "job_name",
    "timeout_min": "time",
    "mem_gb": "mem",
    "nodes": "nodes",
    "cpus_per_task": "cpus_per_task",
    "gpus_per_node": "gpus_per_node",
    "tasks_per_node": "ntasks_per_node",
}
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")


class SlurmInfoWatcher(InfoWatcher):
    """Asks squeue, and sacct about older jobs."""

    def query(self, job_ids: Set[str]) -> Dict[str, Info]:
        """See InfoWatcher.query()."""
        return _slurm_commands.query_jobs(job_ids)


class SlurmJob(Job[R]):
    """A job of Slurm."""

    _cancel_command = "scancel"
    watcher = SlurmInfoWatcher()

    def _interrupt(self, timeout: bool = False) -> None:
        """Sends the job what Slurm sends before a time limit or at a preemption, to try its checkpoint().

        Args:
            timeout: a time limit: without SIGTERM. The job itself tells the two apart by the time that it has run
        """
        if not timeout:
            subprocess.run(["scancel", self.job_id, "--signal", "TERM"], check=True)
        sent = SlurmJobEnvironment._usr_sig().name[len("SIG") :]
        subprocess.run(["scancel", self.job_id, "--signal", sent], check=True)


def _minutes(time: Union[int, float, str]) -> float:
    """The minutes of a time limit as sbatch writes it.

    Raises:
        ValueError: it is none
    """
    if isinstance(time, (int, float)):
        return float(time)
    found = _TIME.fullmatch(time)
    if found is None:
        raise ValueError(f"time is '{time}': set it to minutes, or to text as `sbatch --time` takes it")
    days, *rest = (int(part) if part else 0 for part in found.groups())
    # With days: hours[:minutes[:seconds]]; with three parts: hours:minutes:seconds; else minutes[:seconds].
    if found.group(1) or found.group(4):
        hours, minutes, seconds = rest
    else:
        hours, (minutes, seconds) = 0, rest[:2]
    return (days * 24 + hours) * 60 + minutes + seconds / 60


def convert_mem(mem_gb: float) -> str:
    """Memory as sbatch takes it."""
    return f"{int(mem_gb)}GB" if mem_gb == int(mem_gb) else f"{int(mem_gb * 1024)}MB"


def _option(name: str, value: Any) -> str:
    text = str(value)
    if "\n" in text:
        raise ValueError(f"{name} has a line break, which an #SBATCH line can't have: {text!r}")
    option = f"#SBATCH --{name.replace('_', '-')}"
    return option if value is True else f"{option}={shlex.quote(text)}"


def _check_folder(folder: pathlib.Path) -> None:
    text = str(folder)
    if "\\" in text or "\n" in text or re.search(r"%(?![jt])", text):
        raise ValueError(
            f"folder is {text!r}: Slurm can't write output below a path with a backslash, a line break or a % other "
            "than %j and %t"
        )


def make_sbatch_script(
    command: str,
    folder: utils.Path,
    job_name: str = "submitit",
    partition: Optional[str] = None,
    time: Union[int, float, str] = 5,
    nodes: int = 1,
    ntasks_per_node: Optional[int] = None,
    cpus_per_task: Optional[int] = None,
    cpus_per_gpu: Optional[int] = None,
    num_gpus: Optional[int] = None,
    gpus_per_node: Optional[Union[int, str]] = None,
    gpus_per_task: Optional[Union[int, str]] = None,
    qos: Optional[str] = None,
    setup: Optional[List[str]] = None,
    mem: Optional[str] = None,
    mem_per_gpu: Optional[str] = None,
    mem_per_cpu: Optional[str] = None,
    signal_delay_s: int = 90,
    comment: Optional[str] = None,
    constraint: Optional[str] = None,
    exclude: Optional[str] = None,
    nodelist: Optional[str] = None,
    account: Optional[str] = None,
    gres: Optional[str] = None,
    mail_type: Optional[str] = None,
    mail_user: Optional[str] = None,
    dependency: Optional[str] = None,
    exclusive: Optional[Union[bool, str]] = None,
    array_parallelism: int = 256,
    wckey: Optional[str] = None,
    stderr_to_stdout: bool = False,
    map_count: Optional[int] = None,
    additional_parameters: Optional[Dict[str, Any]] = None,
    srun_args: Optional[Iterable[str]] = None,
    use_srun: bool = True,
) -> str:
    """The batch script of a job. Parameters that are not explained here are options of sbatch.

    Args:
        command: what each task runs, as text for a shell
        folder: where the files of the job are
        num_gpus: the former name of gpus_per_node
        setup: lines of the script above the command
        signal_delay_s: how many seconds before the time limit the function is told
        array_parallelism: how many tasks of an array run at a time
        stderr_to_stdout: standard error goes to the file of standard output
        map_count: how many tasks the array has; None: no array
        additional_parameters: further options of sbatch, or other values of these
        srun_args: options of srun
        use_srun: False: the command runs in the batch step, as one task

    Raises:
        ValueError: a value that sbatch can't be given
    """
    given = {name: value for name, value in locals().items() if value is not None}
    options = {name: given[name] for name in _SBATCH_OPTIONS if name in given and given[name] is not False}
    folder = pathlib.Path(folder)
    tasks = nodes * max(1, ntasks_per_node or 1)
    _check_folder(folder)
    utils.check_folder_of_ranks(folder, tasks)
    if not use_srun and (tasks > 1 or srun_args or stderr_to_stdout):
        raise ValueError("use_srun=False: the function runs once, in the batch step; more tasks, srun_args and "
                         "stderr_to_stdout need srun")
    if num_gpus is not None:
        warnings.warn('"num_gpus" is deprecated, please use "gpus_per_node" instead', stacklevel=4)
        options["gpus_per_node"] = num_gpus
    if cpus_per_gpu is not None and gpus_per_task is None:
        warnings.warn('"cpus_per_gpu" requires to set "gpus_per_task" to work (and not "gpus_per_node")', stacklevel=4)
    limit_min = _minutes(time)
    if isinstance(time, float):
        options["time"] = math.ceil(time)
    # Slurm sends the signal up to 30 s earlier. A delay near the limit would end the function as soon as it begins.
    latest_s = max(10, int(limit_min * 30) - 30)
    delay_s = min(signal_delay_s, latest_s) if limit_min > 0 else signal_delay_s
    options["signal"] = f"{SlurmJobEnvironment._usr_sig().name[len('SIG'):]}@{delay_s}"
    paths = utils.JobPaths(folder)
    files = {"output": str(paths.stdout), **({} if stderr_to_stdout else {"error": str(paths.stderr)})}
    if map_count is not None:
        options["array"] = f"0-{map_count - 1}%{min(map_count, array_parallelism)}"
        files = {name: path.replace("%j", "%A_%a") for name, path in files.items()}
    options.update({name: path.replace("%t", "0") for name, path in files.items()})
    options["open_mode"] = "append"  # the output of the runs before an interruption stays
    options["requeue"] = True
    options.update({name.replace("-", "_"): value for name, value in (additional_parameters or {}).items()})
    if options.get("no_requeue"):
        options.pop("requeue")
    lines = ["#!/bin/bash", "", *(_option(name, options[name]) for name in sorted(options))]
    lines += ["", *(setup or []), "", "export SUBMITIT_EXECUTOR=slurm"]
    if use_srun:
        words = ["srun", "--unbuffered", "--open-mode=append", *(f"--{name}={path}" for name, path in files.items())]
        if cpus_per_task is not None:  # since 22.05 srun does not take it from the job
            words.append(f"--cpus-per-task={cpus_per_task}")
        command = f"{' '.join(map(shlex.quote, [*words, *(srun_args or [])]))} {command}"
    else:
        command = f"exec {command}"  # Slurm signals the process of the batch script alone
    return "\n".join([*lines, command, ""])


_NOT_OPTIONS = frozenset(
    "command folder setup num_gpus signal_delay_s array_parallelism stderr_to_stdout map_count additional_parameters "
    "srun_args use_srun".split()
)
_SBATCH_OPTIONS = [name for name in inspect.signature(make_sbatch_script).parameters if name not in _NOT_OPTIONS]


def default_parameters() -> Dict[str, Any]:
    """The parameters of SlurmExecutor, and their values if they are not set."""
    known = inspect.signature(make_sbatch_script).parameters
    return {name: each.default for name, each in known.items() if name not in ("command", "folder", "map_count")}


class SlurmExecutor(PicklingExecutor):
    """Submits functions to Slurm.

    Args:
        folder: where the files of the jobs are kept: a directory that all nodes see. `%j` stands for a job's id
        max_num_timeout: how often a callable with checkpoint() is queued again after its time limit
        max_pickle_size_gb: a submission whose pickles are together larger is an error
        python: the Python of the jobs, as text for a shell; default: that of this process

    Raises:
        RuntimeError: there is no sbatch in PATH
        ValueError: Slurm can't write to this folder
    """

    job_class = SlurmJob

    def __init__(
        self,
        folder: utils.Path,
        max_num_timeout: int = 3,
        max_pickle_size_gb: float = 1.0,
        python: Optional[str] = None,
    ) -> None:
        super().__init__(folder, max_num_timeout, max_pickle_size_gb)
        if self.affinity() <= 0:
            raise RuntimeError("there is no sbatch in PATH: this is no machine from which jobs of Slurm are submitted")
        _check_folder(self.folder)
        self.python = shlex.quote(sys.executable) if python is None else python

    @classmethod
    def affinity(cls) -> int:
        """See Executor.affinity()."""
        return 2 if _slurm_commands.has_slurm() else -1

    @classmethod
    def _valid_parameters(cls) -> Set[str]:
        return set(default_parameters())

    def _convert_parameters(self, params: Dict[str, Any]) -> Dict[str, Any]:
        converted = {_GENERIC.get(name, name): value for name, value in params.items()}
        if "mem" in converted:
            converted["mem"] = convert_mem(converted["mem"])
        return converted

    def _internal_update_parameters(self, **kwargs: Any) -> None:
        """Sets parameters: those of make_sbatch_script().

        Raises:
            ValueError: there is no such parameter, or its value can't be given to sbatch
        """
        unknown = sorted(set(kwargs) - self._valid_parameters())
        if unknown:
            known = "\n".join(f"  {name} (default: {value!r})" for name, value in sorted(default_parameters().items()))
            hints = [f"there is no parameter '{name}'{nearest_name(name, self._valid_parameters())}" for name in unknown]
            raise ValueError("\n".join([*hints, "There are:", known]))
        make_sbatch_script("", self.folder, **{**self.parameters, **kwargs})
        super()._internal_update_parameters(**kwargs)

    def _num_tasks(self) -> int:
        return int(self.parameters.get("nodes", 1)) * max(1, self.parameters.get("ntasks_per_node") or 1)

    def _internal_process_submissions(self, submissions: Sequence[utils.DelayedSubmission]) -> List[Job[Any]]:
        """The job is submitted held, and released when its files are there: its id is part of their names."""
        directory = utils.JobPaths.get_first_id_independent_folder(self.folder)
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".submission-", dir=directory) as prepared:
            pickles = self._write_pickles(submissions, pathlib.Path(prepared))
            script = pathlib.Path(prepared) / "submission.sh"
            script.write_text(self._make_script(len(pickles) if len(pickles) > 1 else None))
            is_held_by_user = bool((self.parameters.get("additional_parameters") or {}).get("hold"))
            job_id = _slurm_commands.submit(str(script), hold=not is_held_by_user)
            ids = [job_id] if len(pickles) == 1 else [f"{job_id}_{index}" for index in range(len(pickles))]
            try:
                self._place_files(job_id, ids, script, pickles)
                if not is_held_by_user:
                    _slurm_commands.release(job_id)
            except BaseException:
                _slurm_commands.cancel_failed(job_id)
                raise
        return [SlurmJob(self.folder, each, range(self._num_tasks())) for each in ids]

    def _write_pickles(
        self, submissions: Sequence[utils.DelayedSubmission], directory: pathlib.Path
    ) -> List[pathlib.Path]:
        pickles = []
        for index, submission in enumerate(submissions):
            submission.set_timeout(_minutes(self.parameters.get("time", 5)), self.max_num_timeout)
            pickles.append(directory / f"{index}.pkl")
            submission.dump(pickles[-1])
            if index == 0:
                self._check_size(pickles[0], len(submissions))
        return pickles

    def _make_script(self, map_count: Optional[int]) -> str:
        command = f"{self.python} -u -m determined.executor._run {shlex.quote(str(self.folder))}"
        return make_sbatch_script(command, self.folder, map_count=map_count, **self.parameters)

    def _place_files(
        self, job_id: str, ids: Sequence[str], script: pathlib.Path, pickles: Sequence[pathlib.Path]
    ) -> None:
        paths = utils.JobPaths(self.folder, job_id)
        paths.folder.mkdir(parents=True, exist_ok=True)
        os.replace(script, paths.submission_file)
        for each, prepared in zip(ids, pickles):
            for rank in range(self._num_tasks()):
                of_rank = utils.JobPaths(self.folder, each, rank)
                of_rank.folder.mkdir(parents=True, exist_ok=True)
                # Slurm counts its jobs from 1 again after a reset of the site.
                if of_rank.result_pickle.exists():
                    of_rank.result_pickle.unlink()
            os.replace(prepared, utils.JobPaths(self.folder, each).submitted_pickle)
