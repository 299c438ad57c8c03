"""What a job does when Slurm announces its end: it stores the call that goes on, and is queued again.

Slurm sends SIGUSR2 to each rank before the time limit (`#SBATCH --signal`) and, where the site has
SlurmctldParameters=preempt_send_user_signal, at a preemption. It always sends SIGTERM at a preemption: at the begin of the
grace period or, without one, when it has already queued the job again. scancel sends SIGTERM too. So after SIGTERM
rank 0 asks Slurm, and only a job that Slurm preempts is queued again; a cancelled one never is.

`scontrol requeue Incomplete` leaves a job alone that has been cancelled in the meantime. An incarnation of the job that
runs on, on a node that Slurm has given up, writes nothing and queues nothing: Slurm's count of restarts is not its own.
"""

import abc
import contextlib
import logging
import os
import signal
import socket
import sys
import time
import types
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from determined.executor._slurm_commands import call_scontrol, query_own_job
from determined.executor.core.job_environment import JobEnvironment
from determined.executor.core.utils import DelayedSubmission, JobPaths, UncompletedJobError, dump_pickle

LOCAL_REQUEUE_EXIT_CODE = 144
_LOG = logging.getLogger("determined.executor")
_ATTEMPTS = 5
_PAUSE_S = 3.0
# After a requeue, unless the start of the job is set to a moment after the end of this run, Slurm lets it wait for two
# minutes. Ranks other than 0 are killed after KillWait, 30 s by default.
_END_OF_ONE_RANK_S = 8
_END_OF_RANKS_S = 40


class Queue(abc.ABC):
    """Where a job is queued again."""

    exit_code = 1  # of a rank that ends for the next run

    @abc.abstractmethod
    def look(self) -> None:
        """Asks about the job."""

    @abc.abstractmethod
    def is_outdated(self) -> bool:
        """Whether the job was started anew elsewhere."""

    @abc.abstractmethod
    def is_preempted(self) -> bool:
        """Whether the job is being preempted."""

    @abc.abstractmethod
    def requeue(self) -> str:
        """Queues the job again. Returns why that was refused; empty if it was not."""


@contextlib.contextmanager
def _children_ignore_term() -> Iterator[None]:
    """SIGTERM, of which Slurm sends several, also reaches the commands that this process starts. They inherit that it is
    ignored."""
    former = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


class SlurmQueue(Queue):
    """The queue of Slurm.

    Args:
        env: the job of this process
    """

    def __init__(self, env: JobEnvironment) -> None:
        # ARRAY_TASK in an array: the bare id of its last task is the id of the whole array.
        self._job_id = env.job_id
        self._end_s = _END_OF_ONE_RANK_S if env.num_tasks == 1 else _END_OF_RANKS_S
        self._hosts = env.hostnames
        self._restarts = int(os.environ.get("SLURM_RESTART_COUNT") or 0)
        self._job: Optional[Dict[str, str]] = None

    def _is(self, name: str, value: str) -> bool:
        return self._job is not None and self._job.get(name) == value

    def _has_preempt_time(self) -> bool:
        return self._job is not None and self._job.get("PreemptTime", "None") not in ("None", "Unknown", "N/A", "")

    def look(self) -> None:
        """Asks Slurm about the job."""
        with _children_ignore_term():
            self._job = query_own_job(self._job_id)

    def is_outdated(self) -> bool:
        """Whether Slurm has started the job anew elsewhere."""
        if self._job is None:
            return False
        is_elsewhere = self._job.get("BatchHost", self._hosts[0]) not in self._hosts
        return is_elsewhere or not (self._is("Restarts", str(self._restarts)) or self.is_queued())

    def is_queued(self) -> bool:
        """Whether Slurm has already queued the job again: a preemption without a grace period. Then it has counted the
        restart, and the job has no end, or that of its time limit."""
        is_counted = self._is("Restarts", str(self._restarts + 1)) or self._is("EndTime", "Unknown")
        return self._is("JobState", "COMPLETING") and is_counted and not self._has_preempt_time()

    def is_preempted(self) -> bool:
        """Whether Slurm is preempting the job."""
        is_alive = self._is("JobState", "RUNNING") or self._is("JobState", "COMPLETING")
        return self.is_queued() or (is_alive and self._has_preempt_time())

    def requeue(self) -> str:
        """Queues the job again. Returns why that was refused; empty if it was not."""
        with _children_ignore_term():
            refusal = "" if self.is_queued() else self._request_requeue()
            if not refusal:
                call_scontrol(["update", f"JobId={self._job_id}", f"StartTime=now+{self._end_s}"])
            return refusal

    def _request_requeue(self) -> str:
        scope = [] if self._is("JobState", "COMPLETING") else ["Incomplete"]
        refusal = "it was not tried"
        for attempt in range(_ATTEMPTS):
            refusal = call_scontrol(["requeue", *scope, self._job_id])
            if not refusal or "nable to contact" not in refusal:
                break
            time.sleep(_PAUSE_S * (attempt < _ATTEMPTS - 1))
        return refusal


class LocalQueue(Queue):
    """In a local job the controller starts the ranks again after this exit code."""

    exit_code = LOCAL_REQUEUE_EXIT_CODE

    def look(self) -> None:
        """There is nobody to ask."""

    def is_outdated(self) -> bool:
        """A local job runs once."""
        return False

    def is_preempted(self) -> bool:
        """Nobody preempts a local job."""
        return False

    def requeue(self) -> str:
        """Does nothing: the exit code says it."""
        return ""


def signals_of_controllers() -> Set[signal.Signals]:
    """The signals that the controller of a local job handles. It is started with these blocked, so that they wait for it."""
    return {JobEnvironment._usr_sig(), signal.SIGTERM, signal.SIGINT}


@contextlib.contextmanager
def _ends_of_children_do_not_interrupt() -> Iterator[None]:
    """Slurm sends SIGTERM to all processes of a step. A handler of SIGCHLD like torch's, which raises an exception when a
    worker of a DataLoader has died, must not interrupt rank 0 while it asks Slurm and stores the next call."""
    former = signal.getsignal(signal.SIGCHLD)
    if not callable(former):
        yield
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, former)


class SignalHandler:
    """Handles the signals that announce the end of a job, in the process of the rank alone. In children that it forks, such as
    workers of a DataLoader, SIGTERM has its usual effect, so that Process.terminate() ends them, and the other signals have none.

    Args:
        env: the job
        paths: its files
        submission: its call
    """

    def __init__(self, env: JobEnvironment, paths: JobPaths, submission: DelayedSubmission) -> None:
        self._env = env
        self._paths = paths
        self._submission = submission
        self._queue: Queue = SlurmQueue(env) if env.cluster == "slurm" else LocalQueue()
        self._started_at = time.time()
        self._pid = os.getpid()
        self._has_begun = False
        self._is_handling = False
        self._pending: List[Tuple[Callable[[int], None], int]] = []
        self.exits = False
        self.is_announced = False  # the end of the job

    def install(self) -> None:
        """Handles the signals from now on, in the main thread: during a call into C it waits for its end."""
        signal.signal(self._env._usr_sig(), self.checkpoint_and_try_requeue)
        signal.signal(signal.SIGTERM, self.requeue_if_preempted)
        signal.signal(signal.SIGCONT, self.bypass)
        os.register_at_fork(after_in_child=self._leave_to_parent)

    def _leave_to_parent(self) -> None:
        # A handler, unlike SIG_IGN, is not inherited by the programs that the child starts.
        actions: Dict[signal.Signals, Any] = {
            self._env._usr_sig(): lambda *_: None,
            signal.SIGTERM: signal.SIG_DFL,
            signal.SIGCONT: signal.SIG_DFL,
        }
        for number, action in actions.items():
            if getattr(signal.getsignal(number), "__self__", None) is self:
                signal.signal(number, action)

    def finish(self) -> None:
        """The function has returned: signals have no effect from now on, so that its result is stored."""
        self._has_begun = True

    def _acts(self) -> bool:
        # Rank 0 acts for all; an exit of another rank might end rank 0. A child of it is not rank 0.
        return not self._has_begun and self._env.global_rank == 0 and os.getpid() == self._pid

    def _handle(self, action: Callable[[int], None], signum: int) -> None:
        # A signal that comes while another is handled waits for its end. Slurm sends SIGCONT with the others, and an
        # exception raised within a call of logging, whose handlers print it and go on, would have no effect.
        self._pending.append((action, signum))
        if self._is_handling:
            return
        self._is_handling = True
        try:
            while self._pending:
                following, number = self._pending.pop(0)
                following(number)
        finally:
            self._is_handling = False

    def bypass(self, signum: int, frame: Optional[types.FrameType] = None) -> None:
        """Logs a signal that has no effect."""
        self._handle(self._log_without_effect, signum)

    def _log_without_effect(self, signum: int) -> None:
        _LOG.info("%s: nothing to do", signal.Signals(signum).name)

    def requeue_if_preempted(self, signum: int, frame: Optional[types.FrameType] = None) -> None:
        """After SIGTERM: goes on if Slurm does not preempt the job. scancel also sends it, and SIGKILL later."""
        self._handle(self._requeue_if_preempted, signum)

    def _requeue_if_preempted(self, signum: int) -> None:
        self.is_announced = True
        with _ends_of_children_do_not_interrupt():
            if self._acts():
                self._queue.look()
            if self._acts() and self._queue.is_preempted():
                self._interrupt(signum)
            else:
                self._log_without_effect(signum)

    def checkpoint_and_try_requeue(self, signum: int, frame: Optional[types.FrameType] = None) -> None:
        """Stores the call that goes on, queues the job again and exits.

        Raises:
            UncompletedJobError: the job must not be queued again
        """
        self._handle(self._checkpoint_and_try_requeue, signum)

    def _checkpoint_and_try_requeue(self, signum: int) -> None:
        self.is_announced = True
        with _ends_of_children_do_not_interrupt():
            if self._acts():
                self._queue.look()
                self._interrupt(signum)
            else:
                self._log_without_effect(signum)

    def _has_timed_out(self) -> bool:
        """submitit's rule, unless Slurm itself says that it preempts the job."""
        if self._queue.is_preempted():
            return False
        limit_s = self._submission._timeout_min * 60
        return time.time() - self._started_at >= min(limit_s * 0.8, limit_s - 600)

    def _interrupt(self, signum: int) -> None:
        self._has_begun = True
        if self._queue.is_outdated():
            _LOG.warning("Slurm has started this job anew: this process ends and changes nothing")
            self._exit(1)
        is_late = self._has_timed_out()
        cause = "timed-out" if is_late else "preempted"
        _LOG.warning("%s on %s: this job is %s", signal.Signals(signum).name, socket.gethostname(), cause)
        left = self._submission._timeout_countdown - int(is_late)
        reason = self._prepare_next_run(left, is_late) or self._queue.requeue()
        if reason:
            message = f"Job not requeued because: {reason}."
            _LOG.warning("%s", message)
            # If the function catches the error, such as a handler of logging does, it goes on, perhaps until Slurm kills it.
            # Then this is the result; if it ends before, what it returns replaces it.
            dump_pickle(("error", message), self._paths.result_pickle)
            raise UncompletedJobError(message)
        _LOG.warning("Requeued job %s (%d remaining timeouts)", self._env.job_id, left)
        self._exit(self._queue.exit_code)

    def _prepare_next_run(self, left: int, is_late: bool) -> str:
        """Stores the call of the next run. Returns why there must be none; empty if there may."""
        if left < 0:
            return "timed-out too many times"
        method = self._submission.find_checkpoint()
        if method is None:
            return "timed-out and not checkpointable" if is_late else ""
        call = method(*self._submission.args, **self._submission.kwargs)
        if call is None:
            return "checkpoint function returned None"
        call.set_timeout(self._submission._timeout_min, left)
        call.dump(self._paths.submitted_pickle)
        return ""

    def _exit(self, code: int) -> None:
        self.exits = True
        sys.exit(code)
