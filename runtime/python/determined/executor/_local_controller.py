"""The process of a local job: starts the ranks, announces the time limit, ends them at it, and starts them again if they ask
for that. `python -m determined.executor._local_controller SPECIFICATION`, a JSON map."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional

from determined.executor._interruption import LOCAL_REQUEUE_EXIT_CODE, signals_of_controllers
from determined.executor.core.job_environment import JobEnvironment
from determined.executor.core.utils import JobPaths

_POLL_S = 0.05
_KILL_AFTER_S = 2.0


class Controller:
    """Runs a local job. Each rank has a process group. When the ranks have ended, what they have left in their groups is killed,
    as Slurm does at the end of a step. Until then no rank is waited for, so that its number stays that of its group.

    Args:
        specification: folder, command, setup, num_tasks, timeout_s, signal_delay_s, stderr_to_stdout, cuda_devices
    """

    def __init__(self, specification: Dict[str, Any]) -> None:
        self._spec = specification
        self._job_id = str(os.getpid())
        self._ranks: List["subprocess.Popen[bytes]"] = []

    def run(self) -> int:
        """Runs the ranks until they have ended and do not ask to be started again. Returns the exit code of the job."""
        for number in (JobEnvironment._usr_sig(), signal.SIGTERM):
            signal.signal(number, lambda received, frame: self._send(received))
        signal.signal(signal.SIGINT, self._cancel)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals_of_controllers())
        while True:
            codes = self._run_once()
            if LOCAL_REQUEUE_EXIT_CODE not in codes:
                return next((code for code in codes if code != 0), 0)

    def _run_once(self) -> List[int]:
        self._start_ranks()
        begin = time.monotonic()
        is_announced = False
        while any(_exit_code(rank) is None for rank in self._ranks):
            passed_s = time.monotonic() - begin
            if passed_s >= self._spec["timeout_s"]:
                self._end_ranks()
            elif not is_announced and passed_s >= self._spec["timeout_s"] - self._spec["signal_delay_s"]:
                is_announced = True
                self._send(JobEnvironment._usr_sig())
            elif _exit_code(self._ranks[0]) == LOCAL_REQUEUE_EXIT_CODE:
                self._end_ranks()
            time.sleep(_POLL_S)
        return self._reap()

    def _start_ranks(self) -> None:
        folder = pathlib.Path(self._spec["folder"])
        self._ranks = []
        for index in range(self._spec["num_tasks"]):
            paths = JobPaths(folder, self._job_id, index)
            environment = {
                **os.environ,
                "SUBMITIT_EXECUTOR": "local",
                "DET_EXECUTOR_JOB_ID": self._job_id,
                "DET_EXECUTOR_NUM_TASKS": str(self._spec["num_tasks"]),
                "DET_EXECUTOR_NUM_NODES": "1",
                "DET_EXECUTOR_NODE": "0",
                "DET_EXECUTOR_RANK": str(index),
            }
            if self._spec["cuda_devices"] is not None:
                environment["CUDA_VISIBLE_DEVICES"] = self._spec["cuda_devices"]
            paths.folder.mkdir(parents=True, exist_ok=True)
            with open(paths.stdout, "ab") as out, open(paths.stdout if self._spec["stderr_to_stdout"] else paths.stderr, "ab") as err:
                script = "\n".join([*self._spec["setup"], f"exec {self._spec['command']}"])
                self._ranks.append(
                    subprocess.Popen(
                        ["bash", "-c", script],
                        stdin=subprocess.DEVNULL,
                        stdout=out,
                        stderr=err,
                        env=environment,
                        preexec_fn=os.setpgrp,  # this process has one thread
                    )
                )

    def _send(self, number: int) -> None:
        for rank in self._ranks:
            if _exit_code(rank) is None:
                os.kill(rank.pid, number)

    def _end_ranks(self) -> None:
        self._send(signal.SIGINT)
        deadline = time.monotonic() + _KILL_AFTER_S
        while any(_exit_code(rank) is None for rank in self._ranks) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        self._send(signal.SIGKILL)

    def _reap(self) -> List[int]:
        """Kills what is left in the groups, and waits for the ranks. Returns their exit codes."""
        for rank in self._ranks:
            if rank.returncode is None:
                os.killpg(rank.pid, signal.SIGKILL)
        return [rank.wait() for rank in self._ranks]

    def _cancel(self, *_: Any) -> None:
        self._end_ranks()
        self._reap()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)  # so that the job is seen to be interrupted


def _exit_code(rank: "subprocess.Popen[bytes]") -> Optional[int]:
    """The exit code of a rank, which stays a zombie; None if it runs."""
    if rank.returncode is not None:
        return rank.returncode
    ended = os.waitid(os.P_PID, rank.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


if __name__ == "__main__":
    sys.exit(Controller(json.loads(sys.argv[1])).run())
