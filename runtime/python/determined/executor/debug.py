"""Functions that run in the process that submits them, when their result is wanted: for a debugger."""

from typing import Any, List, Optional, Sequence, Set, TypeVar

from determined.executor.core import utils
from determined.executor.core._executor import Executor
from determined.executor.core.core import Info, Job
from determined.executor.core.job_environment import DebugJobEnvironment
from determined.executor.local import _Processes

R = TypeVar("R")

__all__ = ["DebugExecutor", "DebugJob", "DebugJobEnvironment"]


class DebugJob(Job[R]):
    """A call that is made when its result is wanted. Its output is that of the process."""

    watcher = _Processes()

    def __init__(self, folder: utils.Path, submission: utils.DelayedSubmission) -> None:
        super().__init__(folder, f"DEBUG_{id(submission)}")
        self._submission = submission
        self._is_cancelled = False

    def submission(self) -> utils.DelayedSubmission:
        """The call."""
        return self._submission

    def cancel(self, check: bool = True) -> None:
        """Lets the call not be made."""
        self._is_cancelled = True

    def results(self) -> List[R]:
        """Makes the call, and returns what it returns. Raises the exception that it raises, as it is."""
        if self._is_cancelled:
            raise utils.UncompletedJobError(f"{self} was cancelled")
        with utils.environment_variables(SUBMITIT_EXECUTOR="debug", DET_EXECUTOR_DEBUG_ID=self.job_id):
            return [self._submission.result()]

    def exception(self) -> Optional[BaseException]:
        """Makes the call, and returns the exception that it raises; None if it raises none."""
        if self._is_cancelled:
            raise utils.UncompletedJobError(f"{self} was cancelled")
        try:
            self.results()
        except Exception as error:
            return error
        return None

    def wait(self) -> None:
        """Makes the call."""
        self.results()

    def done(self, force_check: bool = False) -> bool:
        """Makes the call, so that a program that waits for it ends."""
        self.results()
        return self._submission.done()

    @property
    def state(self) -> str:
        """QUEUED, DONE or CANCELLED."""
        return "DONE" if self._submission.done() else "CANCELLED" if self._is_cancelled else "QUEUED"

    def get_info(self, mode: str = "force") -> Info:
        """The state, as STATE."""
        return {"STATE": self.state}

    def stdout(self) -> Optional[str]:
        """None: the output is that of the process."""
        return None

    def stderr(self) -> Optional[str]:
        """None: the output is that of the process."""
        return None


class DebugExecutor(Executor):
    """Makes calls in this process.

    Args:
        folder: of no use here
    """

    @classmethod
    def affinity(cls) -> int:
        """See Executor.affinity()."""
        return 0

    @classmethod
    def _valid_parameters(cls) -> Set[str]:
        return set()

    def _internal_update_parameters(self, **kwargs: Any) -> None:
        if kwargs:
            raise ValueError(f"{', '.join(sorted(kwargs))}: without effect where functions run in the process itself")

    def _internal_process_submissions(self, submissions: Sequence[utils.DelayedSubmission]) -> List[Job[Any]]:
        return [DebugJob(self.folder, each) for each in submissions]
