"""Functions as processes of this machine."""

import contextlib
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, TypeVar

from determined.executor._interruption import signals_of_controllers
from determined.executor._slurm_commands import clean_environment
from determined.executor.core import utils
from determined.executor.core._executor import PicklingExecutor
from determined.executor.core.core import Info, InfoWatcher, Job
from determined.executor.core.job_environment import LocalJobEnvironment

R = TypeVar("R")

__all__ = ["LocalExecutor", "LocalJob", "LocalJobEnvironment"]

_DEFAULTS: Dict[str, Any] = {
    "timeout_min": 2.0,
    "gpus_per_node": None,
    "tasks_per_node": 1,
    "nodes": 1,
    "signal_delay_s": 30,
    "visible_gpus": None,
    "setup": [],
    "stderr_to_stdout": False,
}


@contextlib.contextmanager
def _blocked(signals: Set[signal.Signals]) -> Iterator[None]:
    former = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


class _Processes(InfoWatcher):
    def query(self, job_ids: Set[str]) -> Dict[str, Info]:
        """A local job knows its own process."""
        return {}

    def register_job(self, job_id: str) -> None:
        """Nothing is asked."""


class LocalJob(Job[R]):
    """A job of this machine. Its id is the number of its process."""

    watcher = _Processes()

    def __init__(
        self,
        folder: utils.Path,
        job_id: str,
        tasks: Sequence[int] = (0,),
        process: "Optional[subprocess.Popen[bytes]]" = None,
    ) -> None:
        super().__init__(folder, job_id, tasks)
        self._process = process
        for each in self._sub_jobs:
            each._process = process  # type: ignore[attr-defined]

    def _poll(self) -> Optional[int]:
        """The exit code of the job; None while it runs."""
        if self._process is not None:
            return self._process.poll()
        try:  # another process has started it
            command = pathlib.Path(f"/proc/{self.job_id}/cmdline").read_bytes()
        except OSError:
            return 0
        return None if b"determined.executor._local_controller" in command else 0

    def done(self, force_check: bool = False) -> bool:
        """Whether the process of the job has ended."""
        return self._poll() is not None

    @property
    def state(self) -> str:
        """RUNNING, FINISHED, or INTERRUPTED by a signal."""
        code = self._poll()
        return "RUNNING" if code is None else "INTERRUPTED" if code < 0 else "FINISHED"

    def get_info(self, mode: str = "force") -> Info:
        """The state, as jobState."""
        return {"jobState": self.state}

    def cancel(self, check: bool = True) -> None:
        """Ends the job."""
        self._send(signal.SIGINT)

    def _interrupt(self, timeout: bool = False) -> None:
        """Sends the job what a time limit sends, to try its checkpoint()."""
        if not timeout:
            self._send(signal.SIGTERM)
        self._send(LocalJobEnvironment._usr_sig())

    def _send(self, number: int) -> None:
        if self._poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(self.job_id), number)

    def __del__(self) -> None:
        if getattr(self, "_cancel_at_deletion", False):
            self.cancel(check=False)

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_process": None}  # a process can't be pickled


class LocalExecutor(PicklingExecutor):
    """Runs functions in processes of this machine, all at once.

    Args:
        folder: where the files of the jobs are kept
        max_num_timeout: how often a callable with checkpoint() is started again after its time limit
        max_pickle_size_gb: a submission whose pickles are together larger is an error
        python: the Python of the jobs, as text for a shell; default: that of this process
    """

    job_class = LocalJob

    def __init__(
        self,
        folder: utils.Path,
        max_num_timeout: int = 3,
        max_pickle_size_gb: float = 1.0,
        python: Optional[str] = None,
    ) -> None:
        super().__init__(folder, max_num_timeout, max_pickle_size_gb)
        self.python = shlex.quote(sys.executable) if python is None else python

    @classmethod
    def _valid_parameters(cls) -> Set[str]:
        return set(_DEFAULTS)

    def _internal_update_parameters(self, **kwargs: Any) -> None:
        """Sets parameters.

        Args:
            timeout_min, tasks_per_node, signal_delay_s, setup, stderr_to_stdout: as for SlurmExecutor
            gpus_per_node: CUDA_VISIBLE_DEVICES has as many devices
            visible_gpus: CUDA_VISIBLE_DEVICES has these devices
            nodes: 1

        Raises:
            ValueError: there is no such parameter, or the value is impossible here
        """
        unknown = sorted(set(kwargs) - set(_DEFAULTS))
        if unknown:
            raise ValueError(
                f"{', '.join(unknown)}: without effect in a local job, which has the parameters {', '.join(sorted(_DEFAULTS))}"
            )
        utils.check_folder_of_ranks(self.folder, kwargs.get("tasks_per_node") or 1)
        if kwargs.get("nodes", 1) > 1:
            raise ValueError(f"nodes is {kwargs['nodes']}: a local job has one node")
        super()._internal_update_parameters(**kwargs)

    def _value(self, name: str) -> Any:
        value = self.parameters.get(name)
        return _DEFAULTS[name] if value is None else value

    def _cuda_devices(self) -> Optional[str]:
        visible = self._value("visible_gpus")
        count = self._value("gpus_per_node")
        if visible is None and count is None:
            return None
        devices = list(range(count)) if visible is None else list(visible)[:count]
        return ",".join(map(str, devices))

    def _internal_process_submissions(self, submissions: Sequence[utils.DelayedSubmission]) -> List[Job[Any]]:
        return [self._start(each, len(submissions)) for each in submissions]

    def _start(self, submission: utils.DelayedSubmission, count: int) -> Job[Any]:
        directory = utils.JobPaths.get_first_id_independent_folder(self.folder)
        directory.mkdir(parents=True, exist_ok=True)
        ranks = self._value("tasks_per_node")
        submission.set_timeout(self._value("timeout_min"), self.max_num_timeout)
        with tempfile.TemporaryDirectory(prefix=".submission-", dir=directory) as prepared:
            pickle_file = pathlib.Path(prepared) / "0.pkl"
            submission.dump(pickle_file)
            self._check_size(pickle_file, count)
            # The controller waits for the end of its standard input: its number is part of the pickle's name.
            command = f'read -r && exec {shlex.quote(sys.executable)} "$@"'
            with _blocked(signals_of_controllers()):
                process = subprocess.Popen(
                    ["bash", "-c", command, "bash", "-m", "determined.executor._local_controller", self._specification(ranks)],
                    stdin=subprocess.PIPE,
                    env=clean_environment(dict(os.environ)),
                    start_new_session=True,
                )
            paths = utils.JobPaths(self.folder, str(process.pid))
            for rank in range(ranks):
                of_rank = utils.JobPaths(self.folder, str(process.pid), rank)
                of_rank.folder.mkdir(parents=True, exist_ok=True)
                for former in (of_rank.result_pickle, of_rank.stdout, of_rank.stderr):  # numbers of processes return
                    with contextlib.suppress(FileNotFoundError):
                        former.unlink()
            os.replace(pickle_file, paths.submitted_pickle)
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.close()
        return LocalJob(self.folder, str(process.pid), range(ranks), process)

    def _specification(self, ranks: int) -> str:
        return json.dumps(
            {
                "folder": str(self.folder),
                "command": f"{self.python} -u -m determined.executor._run {shlex.quote(str(self.folder))}",
                "setup": self._value("setup"),
                "num_tasks": ranks,
                "timeout_s": self._value("timeout_min") * 60,
                "signal_delay_s": self._value("signal_delay_s"),
                "stderr_to_stdout": self._value("stderr_to_stdout"),
                "cuda_devices": self._cuda_devices(),
            }
        )
