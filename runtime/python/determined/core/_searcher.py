"""The length of the training that the searcher wants."""

import enum
import logging
import warnings
from typing import Any, Dict, Iterator, Optional, Tuple, Union

from determined.core._distributed import DistributedContext
from determined.core._train import TrainContext

logger = logging.getLogger("determined.core")


class Unit(enum.Enum):
    """The unit of the length of a training."""

    EPOCHS = "UNIT_EPOCHS"
    RECORDS = "UNIT_RECORDS"
    BATCHES = "UNIT_BATCHES"


class SearcherMode(enum.Enum):
    """Which ranks call operations()."""

    WorkersAskChief = "WORKERS_ASK_CHIEF"  # all ranks; the chief's operations are broadcast
    ChiefOnly = "CHIEF_ONLY"


_UNITS = {"batches": Unit.BATCHES, "records": Unit.RECORDS, "epochs": Unit.EPOCHS}

Length = Tuple[int, Optional[Unit]]


def read_max_length(searcher: Dict[str, Any]) -> Optional[Length]:
    """The max_length of the section `searcher` of a configuration; None if it has none."""
    configured: Union[None, int, Dict[str, int]] = searcher.get("max_length")
    if isinstance(configured, int):
        return configured, None
    for name, value in (configured or {}).items():
        if name in _UNITS and value is not None:
            return value, _UNITS[name]
    return None


class SearcherOperation:
    """A training up to a length, which the chief reports as completed."""

    def __init__(self, train: TrainContext, length: int, is_chief: bool) -> None:
        self._train = train
        self._length = length
        self._is_chief = is_chief
        self._is_completed = False

    @property
    def length(self) -> int:
        """The length at which the operation is complete, counted from the beginning of the trial."""
        return self._length

    def report_progress(self, length: float) -> None:
        """Reports the completed length.

        Raises:
            RuntimeError: on a rank other than the chief, or after report_completed()
        """
        self._require_chief("report_progress")
        if self._is_completed:
            raise RuntimeError("op.report_progress() was called after op.report_completed()")
        self._train.report_progress(min(max(length / self._length, 0.0), 1.0) if self._length else 1.0)

    def report_completed(self, searcher_metric: Any) -> None:
        """Ends the operation.

        Args:
            searcher_metric: the value of the searcher's metric

        Raises:
            RuntimeError: on a rank other than the chief, or the second time
        """
        self._require_chief("report_completed")
        if self._is_completed:
            raise RuntimeError("op.report_completed() was called twice on the same operation")
        self._is_completed = True
        logger.debug("op.report_completed(%s)", searcher_metric)

    def _require_chief(self, call: str) -> None:
        if not self._is_chief:
            raise RuntimeError(f"only the chief may call op.{call}()")


class SearcherContext:
    """Obtained from `Context.searcher`. One operation of the searcher's max_length."""

    def __init__(self, distributed: DistributedContext, train: TrainContext, max_length: Optional[Length]) -> None:
        self._distributed = distributed
        self._train = train
        self._max_length = max_length

    def operations(
        self, searcher_mode: SearcherMode = SearcherMode.WorkersAskChief, auto_ack: bool = True
    ) -> Iterator[SearcherOperation]:
        """Yields the operations of the trial, in order.

        Raises:
            ValueError: searcher.max_length is not configured
            RuntimeError: with ChiefOnly on another rank than the chief; an operation was not reported as completed
        """
        warnings.warn(
            "searcher.operations() is deprecated: train up to the configured length", FutureWarning, stacklevel=2
        )
        length, _ = self._require_length()
        is_chief = self._distributed.rank == 0
        if SearcherMode(searcher_mode) is SearcherMode.ChiefOnly and not is_chief:
            raise RuntimeError(
                "searcher_mode=ChiefOnly but .operations() was called from non-chief worker of "
                f"rank={self._distributed.rank}"
            )
        return self._yield_operations(length, is_chief)

    def _yield_operations(self, length: int, is_chief: bool) -> Iterator[SearcherOperation]:
        operation = SearcherOperation(self._train, length, is_chief)
        yield operation
        if is_chief and not operation._is_completed:
            raise RuntimeError("you must call op.report_completed() on each operation")

    def acknowledge_out_of_ops(self) -> None:
        """Does nothing: there is nobody to tell."""

    def get_configured_units(self) -> Optional[Unit]:
        """The unit of max_length; None if it is a bare integer."""
        return self._require_length()[1]

    def _require_length(self) -> Length:
        if self._max_length is None:
            raise ValueError("searcher.max_length is not configured, so there are no searcher operations")
        return self._max_length
