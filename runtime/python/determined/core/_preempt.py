"""Preemption: when the training loop should save and exit."""

import enum
from typing import Callable, Optional

from determined.core._distributed import DistributedContext


class PreemptMode(enum.Enum):
    """Which ranks call should_preempt(), and how they get the answer."""

    WorkersAskChief = "WORKERS_ASK_CHIEF"  # all ranks call it at the same steps and get the same answer
    ChiefOnly = "CHIEF_ONLY"  # only the chief calls it
    WorkersAskMaster = "WORKERS_ASK_MASTER"  # any rank may call it at any time; answers may differ


# In the order of det_preempt_mode.
MODES = [PreemptMode.WorkersAskChief, PreemptMode.ChiefOnly, PreemptMode.WorkersAskMaster]


class PreemptContext:
    """Obtained from `Context.preempt`."""

    def __init__(
        self, distributed: DistributedContext, preempt_mode: PreemptMode = PreemptMode.WorkersAskChief
    ) -> None:
        self._distributed = distributed
        self._preempt_mode = preempt_mode
        self._ask: Callable[[], bool] = self._ask_before_start
        self._peek: Callable[[], bool] = self._ask_before_start
        self._is_started = False

    def start(self) -> "PreemptContext":
        if self._is_started:
            raise RuntimeError("this PreemptContext is started already")
        self._is_started = True
        handle = self._distributed._handle()
        is_refused = self._preempt_mode is PreemptMode.ChiefOnly and self._distributed.rank != 0
        self._ask = self._refuse if is_refused else handle.should_preempt
        self._peek = self._refuse if is_refused else handle.peek_preempt
        return self

    def close(self) -> None:
        self._ask = self._peek = self._ask_before_start

    def __enter__(self) -> "PreemptContext":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask_before_start(self) -> bool:
        raise RuntimeError("should_preempt() works only inside of 'with core.init() as context'")

    def _refuse(self) -> bool:
        raise RuntimeError(
            "should_preempt() was called with preempt_mode=ChiefOnly but .should_preempt() was called from "
            f"non-chief worker of rank={self._distributed.rank}"
        )

    def should_preempt(self, auto_ack: bool = True) -> bool:
        """Whether the program should save a checkpoint and exit with 0.

        Cheap enough for every step. With WorkersAskChief it is collective.

        Args:
            auto_ack: the first True records that the exit is a pause and not the end of the trial. Without it call
                acknowledge_preemption_signal().

        Raises:
            RuntimeError: outside of `with core.init()`; with ChiefOnly on another rank than the chief
        """
        return self._ask() if auto_ack else self._peek()

    def acknowledge_preemption_signal(self) -> None:
        """Records that the exit is a pause, so that the trial is resumed. Only the chief's call has an effect."""
        if not self._is_started:
            raise RuntimeError(
                "acknowledge_preemption_signal() works only inside of 'with core.init() as context'"
            )
        self._distributed._handle().acknowledge_preemption()


def mode_number(mode: Optional[PreemptMode]) -> int:
    """The det_preempt_mode of a mode."""
    return MODES.index(PreemptMode.WorkersAskChief if mode is None else mode)
