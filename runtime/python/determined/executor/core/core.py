"""Jobs: what a submission returns. A job is done when its result is there, or when the scheduler says that it is over."""

import asyncio
import contextlib
import logging
import pathlib
import subprocess
import time
from typing import Any, Awaitable, ClassVar, Dict, Generic, Iterator, List, Optional, Sequence, Set, Tuple, TypeVar, Union

from determined.executor.core import utils

R = TypeVar("R")
_J = TypeVar("_J", bound="Job[Any]")
Info = Dict[str, str]

_LOG = logging.getLogger("determined.executor")
# The states of Slurm in which a job may still run. A requeued job is COMPLETING, then PENDING.
_GOES_ON = frozenset(
    "READY PENDING RUNNING UNKNOWN COMPLETING CONFIGURING REQUEUED REQUEUE_FED REQUEUE_HOLD RESIZING RESV_DEL_HOLD "
    "SIGNALING SPECIAL_EXIT STAGE_OUT STOPPED SUSPENDED".split()
)


class InfoWatcher:
    """Asks the scheduler about all jobs of this process at once, seldom.

    Args:
        delay_s: the longest time between two questions; the first ones come sooner
    """

    def __init__(self, delay_s: float = 60) -> None:
        self._delay_s = delay_s
        self._registered: Set[str] = set()
        self._finished: Set[str] = set()
        self._gone: Set[str] = set()  # the scheduler answered, and does not know them
        self._info: Dict[str, Info] = {}
        self._registered_at = 0.0
        self._asked_at = float("-inf")
        self._num_calls = 0

    def query(self, job_ids: Set[str]) -> Dict[str, Info]:
        """Asks the scheduler. Returns what it knows of these jobs.

        Raises:
            OSError, subprocess.SubprocessError: it does not answer
        """
        raise NotImplementedError

    @property
    def num_calls(self) -> int:
        """How often the scheduler was asked."""
        return self._num_calls

    def register_job(self, job_id: str) -> None:
        """Adds a job to those that are asked about, and lets the next question come soon."""
        self._registered.add(job_id)
        self._registered_at = time.monotonic()
        self._asked_at = float("-inf")

    def clear(self) -> None:
        """Forgets what the scheduler has answered."""
        self._finished, self._gone, self._info = set(), set(), {}
        self._registered_at = time.monotonic()
        self._asked_at = float("-inf")

    def get_info(self, job_id: str, mode: str = "standard") -> Info:
        """What the scheduler says of a job: State, NodeList ...

        Args:
            mode: "force" asks now, "standard" if the last answer is old, "cache" never
        """
        if job_id not in self._registered:
            self.register_job(job_id)
        self.update_if_long_enough(mode)
        return dict(self._info.get(job_id, {}))

    def get_state(self, job_id: str, mode: str = "standard") -> str:
        """The state of a job in the scheduler's words; UNKNOWN if it does not know the job."""
        return self.get_info(job_id, mode).get("State", "").strip() or "UNKNOWN"

    def is_done(self, job_id: str, mode: str = "standard") -> bool:
        """Whether the job is over. So is one that the scheduler no longer knows."""
        return self.get_state(job_id, mode).upper().split()[0] not in _GOES_ON or job_id in self._gone

    def update_if_long_enough(self, mode: str) -> None:
        """Asks the scheduler if mode and the time of the last answer say so."""
        if mode not in ("standard", "force", "cache"):
            raise ValueError(f"mode is '{mode}': set it to standard, force or cache")
        if mode == "cache":
            return
        now = time.monotonic()
        wait_s = 0.001 if mode == "force" else min(self._delay_s, max(2.0, (now - self._registered_at) / 2))
        if now - self._asked_at > wait_s:
            self.update()

    def update(self) -> None:
        """Asks the scheduler about all jobs that are not known to be over."""
        asked = self._registered - self._finished
        if not asked:
            return
        self._num_calls += 1
        try:
            found = self.query(asked)
        except (OSError, subprocess.SubprocessError) as error:
            _LOG.warning("the states of jobs may be old: %s", error)
        else:
            self._info.update(found)
            self._gone = (self._gone | asked) - set(found)
        self._asked_at = time.monotonic()
        self._finished |= {job for job in asked if self.is_done(job, mode="cache")}


def _read_text(path: pathlib.Path) -> Optional[str]:
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return None


class Job(Generic[R]):
    """A submitted call, as a future.

    Args:
        folder: the folder of the executor
        job_id: the id of the job
        tasks: the ranks; a job of several ranks has a job for each, see task()
    """

    watcher: ClassVar[InfoWatcher] = InfoWatcher()
    _cancel_command: ClassVar[str] = ""
    _results_timeout_s = 15.0  # a file may become visible late on a shared file system

    def __init__(self, folder: utils.Path, job_id: str, tasks: Sequence[int] = (0,)) -> None:
        self._cancel_at_deletion = False
        self._job_id = job_id
        self._tasks = tuple(tasks)
        self._paths = utils.JobPaths(folder, job_id=job_id, task_id=self.task_id)
        self._sub_jobs: List["Job[R]"] = []
        if len(self._tasks) > 1:
            self._sub_jobs = [type(self)(folder, job_id, (rank,)) for rank in self._tasks]
        self._register_in_watcher()

    def _register_in_watcher(self) -> None:
        self.watcher.register_job(self._job_id)

    @property
    def job_id(self) -> str:
        """The id of the job; ARRAY_TASK in an array."""
        return self._job_id

    @property
    def paths(self) -> utils.JobPaths:
        """Where the job's files are."""
        return self._paths

    @property
    def num_tasks(self) -> int:
        """How many ranks the job has."""
        return len(self._sub_jobs) or 1

    @property
    def task_id(self) -> Optional[int]:
        """The rank; None for a job of several."""
        return None if len(self._tasks) > 1 else self._tasks[0]

    def task(self, task_id: int) -> "Job[R]":
        """The job of one rank, which has all methods of a job."""
        if not 0 <= task_id < self.num_tasks:
            raise ValueError(f"task_id {task_id} must be between 0 and {self.num_tasks - 1}")
        return self._sub_jobs[task_id] if self._sub_jobs else self

    def submission(self) -> utils.DelayedSubmission:
        """The call: function, args and kwargs. After an interruption that which checkpoint() has returned."""
        return utils.DelayedSubmission.load(self.paths.submitted_pickle)

    def cancel_at_deletion(self: _J, value: bool = True) -> _J:
        """Sets whether the job is cancelled when this object is deleted. Returns the job."""
        self._cancel_at_deletion = value
        return self

    def cancel(self, check: bool = True) -> None:
        """Cancels the job.

        Args:
            check: raise subprocess.CalledProcessError if the scheduler refuses
        """
        subprocess.run([self._cancel_command, self.job_id], check=check)

    def result(self) -> R:
        """Waits for the job, and returns what the function has returned.

        Raises:
            FailedJobError: the function has raised an exception; the message has its traceback
            UncompletedJobError: the job is over and has no result
            RuntimeError: the job has several ranks: call results()
        """
        if self._sub_jobs:
            raise RuntimeError("the job has several tasks: call results(), or task(i).result()")
        return self.results()[0]

    def results(self) -> List[R]:
        """Waits for the job, and returns what the function has returned on each rank. Raises what result() raises."""
        self.wait()
        if self._sub_jobs:
            return [each.result() for each in self._sub_jobs]
        outcome, result = self._get_outcome_and_result()
        if outcome == "error":
            raise self._failure(result)
        return [result]

    def exception(self) -> Optional[BaseException]:
        """Waits for the job, and returns the exception that result() raises, of the first rank that has one; None if
        there is a result."""
        self.wait()
        if self._sub_jobs:
            return next(filter(None, (each.exception() for each in self._sub_jobs)), None)
        try:
            outcome, result = self._get_outcome_and_result()
        except utils.UncompletedJobError as error:
            return error
        return self._failure(result) if outcome == "error" else None

    def _failure(self, traceback: str) -> utils.FailedJobError:
        return utils.FailedJobError(
            f"job {self.job_id}, task {self.task_id}: the function has raised an exception:\n{traceback}\n"
            f"Its output is in {self.paths.stdout} and {self.paths.stderr}"
        )

    def _get_outcome_and_result(self) -> Tuple[str, Any]:
        """("success", what the function has returned) or ("error", a traceback).

        Raises:
            UncompletedJobError: there is no result
        """
        deadline = time.monotonic() + self._results_timeout_s
        while not self._has_result():
            if time.monotonic() >= deadline:
                raise utils.UncompletedJobError(self._describe_missing_result())
            time.sleep(0.2)
        outcome: Tuple[str, Any] = utils.load_pickle(self.paths.result_pickle)
        return outcome

    def _describe_missing_result(self) -> str:
        lines = [f"job {self.job_id}, task {self.task_id}, has left no result (state: {self.state})"]
        for name, path in (("standard error", self.paths.stderr), ("standard output", self.paths.stdout)):
            text = _read_text(path)
            if text:
                return "\n".join([*lines, f"The end of its {name}, {path}:", *text.splitlines()[-40:]])
        return "\n".join([*lines, f"No output/error stream produced ! There is nothing in {self.paths.stdout}"])

    def _has_result(self) -> bool:
        # A change of the directory's attributes makes NFS look for new files.
        with contextlib.suppress(OSError):
            folder = self.paths.folder
            folder.chmod(folder.stat().st_mode & 0o7777)
        return self.paths.result_pickle.exists()

    def wait(self) -> None:
        """Waits until the job is done."""
        pause_s = 0.05
        while not self.done():
            time.sleep(pause_s)
            pause_s = min(1.0, pause_s * 1.5)

    def done(self, force_check: bool = False) -> bool:
        """Whether there is a result, or the job is over. A job without a result is seen to be over some time later,
        because the scheduler is asked seldom.

        Args:
            force_check: ask the scheduler now
        """
        if self._sub_jobs:
            return all(each.done(force_check) for each in self._sub_jobs)
        return self._has_result() or self.watcher.is_done(self.job_id, mode="force" if force_check else "standard")

    @property
    def state(self) -> str:
        """The state in the scheduler's words: PENDING, RUNNING, COMPLETED, FAILED, CANCELLED, TIMEOUT ..."""
        return self.watcher.get_state(self.job_id)

    def get_info(self, mode: str = "force") -> Info:
        """What the scheduler says of the job: JobID, State, NodeList."""
        return self.watcher.get_info(self.job_id, mode=mode)

    def _output(self, name: str) -> Optional[str]:
        if not self._sub_jobs:
            return _read_text(getattr(self.paths, name))
        texts = [text for text in (each._output(name) for each in self._sub_jobs) if text is not None]
        return "\n".join(texts) if texts else None

    def stdout(self) -> Optional[str]:
        """What the job has printed to standard output, rank by rank; None if there is no file yet."""
        return self._output("stdout")

    def stderr(self) -> Optional[str]:
        """What the job has printed to standard error, rank by rank; None if there is no file yet."""
        return self._output("stderr")

    def awaitable(self) -> "AsyncJobProxy[R]":
        """The job for asyncio: `await job.awaitable().result()`."""
        return AsyncJobProxy(self)

    def __repr__(self) -> str:
        return f'{type(self).__name__}<job_id={self.job_id}, task_id={self.task_id}, state="{self.state}">'

    def __del__(self) -> None:
        if getattr(self, "_cancel_at_deletion", False) and not self.watcher.is_done(self.job_id, mode="cache"):
            self.cancel(check=False)

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._register_in_watcher()


class AsyncJobProxy(Generic[R]):
    """The methods of a job that wait, as coroutines."""

    def __init__(self, job: Job[R]) -> None:
        self.job = job

    async def wait(self, poll_interval: Union[int, float] = 1) -> None:
        """Waits until the job is done, and looks every poll_interval seconds."""
        while not self.job.done():
            await asyncio.sleep(poll_interval)

    async def result(self, poll_interval: Union[int, float] = 1) -> R:
        """See Job.result()."""
        await self.wait(poll_interval)
        return self.job.result()

    async def results(self, poll_interval: Union[int, float] = 1) -> List[R]:
        """See Job.results()."""
        await self.wait(poll_interval)
        return self.job.results()

    def results_as_completed(self, poll_interval: Union[int, float] = 1) -> Iterator[Awaitable[R]]:
        """Yields an awaitable for each rank; the first one to be awaited has the result that is there first."""
        ranks = [self.job.task(i).awaitable().result(poll_interval) for i in range(self.job.num_tasks)]
        yield from asyncio.as_completed(ranks)
