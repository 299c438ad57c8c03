"""The lengths at which the searcher needs a validation."""

from typing import Any, Callable, Dict, Optional

# In the order of det_unit. A bare integer, the first, counts as batches. The last is a metric of the program
# (time_metric), which can't be converted to batches.
UNITS = ["batches", "batches", "records", "epochs", None]
_ASHA = ("adaptive_asha", "async_halving")
_WORKERS_ASK_CHIEF = 0


class SearchRungs:
    """The rungs of a trial of adaptive_asha or async_halving. Other searches have none. The constructor and
    complete() are collective.

    Args:
        to_batches: converts a length such as {"epochs": 2} to batches

    Attributes:
        next_batch: the number of batches at which the trial reaches the next rung; None if there is none
    """

    def __init__(self, core_context: Any, to_batches: Callable[[Dict[str, int]], Optional[int]]) -> None:
        self._core = core_context
        self._to_batches = to_batches
        self.next_batch: Optional[int] = None
        self._unit: Optional[str] = None
        searcher = searcher_of(core_context)
        if searcher.get("name") not in _ASHA:
            return
        length, unit = core_context.distributed._handle().training_length()
        self._unit = UNITS[unit] if length else None
        self._advance()

    def _advance(self) -> None:
        if self._unit is None:
            return
        length = self._core.distributed._handle().next_operation(_WORKERS_ASK_CHIEF, False)
        self.next_batch = self._to_batches({self._unit: length}) if length else None

    def is_reached(self, batches: int) -> bool:
        return self.next_batch is not None and batches >= self.next_batch

    def complete(self, batches: int, metric: Any) -> None:
        """Reports the searcher's metric for each rung that is reached."""
        while self.is_reached(batches):
            if self._core.distributed.rank == 0:
                self._core.distributed._handle().report_completed(float(metric))
            self._advance()


def trial_of(core_context: Any) -> Any:
    """The TrialInfo; None outside of a trial."""
    info = core_context.info
    return info.trial if info is not None and info.task_type == "TRIAL" else None


def searcher_of(core_context: Any) -> Dict[str, Any]:
    """The section searcher of the trial's configuration; empty outside of a trial."""
    trial = trial_of(core_context)
    return {} if trial is None else trial._config.get("searcher") or {}
