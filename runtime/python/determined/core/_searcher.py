"""The length of the training that the searcher wants."""

import enum
import logging
import warnings
from typing import Any, Iterator, Optional

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

    WorkersAskChief = "WORKERS_ASK_CHIEF"  # all ranks call it and get the chief's operations
    ChiefOnly = "CHIEF_ONLY"


# In the order of det_searcher_mode.
_MODES = [SearcherMode.WorkersAskChief, SearcherMode.ChiefOnly]

# In the order of det_unit. None: the program's own unit, or a metric.
_UNITS = [None, Unit.BATCHES, Unit.RECORDS, Unit.EPOCHS, None]


class SearcherOperation:
    """A training up to a length, which the chief reports as completed."""

    def __init__(self, distributed: DistributedContext, train: TrainContext, length: int, is_on_cluster: bool) -> None:
        self._distributed = distributed
        self._train = train
        self._length = length
        self._is_on_cluster = is_on_cluster
        self._is_completed = False

    @property
    def length(self) -> int:
        """The length at which the operation is complete, counted from the beginning of the trial."""
        return self._length

    def report_progress(self, length: float) -> None:
        """Reports the completed length, which is limited to the range from 0 to the length of the operation.

        Raises:
            RuntimeError: on a rank other than the chief, or after report_completed()
        """
        self._require_chief("report_progress")
        if self._is_completed:
            raise RuntimeError("op.report_progress() was called after op.report_completed()")
        completed = min(max(float(length), 0.0), float(self._length))
        if self._is_on_cluster:
            logger.debug("op.report_progress(%s)", length)
            self._distributed._handle().report_length(completed)
        else:
            self._train.report_progress(completed / self._length)

    def report_completed(self, searcher_metric: Any) -> None:
        """Ends the operation.

        Args:
            searcher_metric: the value of the searcher's metric, a number

        Raises:
            RuntimeError: on a rank other than the chief, or the second time
        """
        self._require_chief("report_completed")
        if self._is_completed:
            raise RuntimeError("op.report_completed() was called twice on the same operation")
        metric = float(searcher_metric)
        logger.debug("op.report_completed(%s)", metric)
        if self._is_on_cluster:
            self._distributed._handle().report_completed(metric)
        self._is_completed = True

    def _require_chief(self, call: str) -> None:
        if self._distributed.rank != 0:
            raise RuntimeError(f"only the chief may call op.{call}()")


class SearcherContext:
    """Obtained from `Context.searcher`: how long the trial is to train.

    A program asks either batches_left() or, as with Determined's older API, operations():

        for op in core_context.searcher.operations():
            while steps_completed < op.length:
                ...  # train; return if core_context.preempt.should_preempt()
            if core_context.distributed.rank == 0:
                op.report_completed(loss)
    """

    def __init__(self, distributed: DistributedContext, train: TrainContext, is_on_cluster: bool = False) -> None:
        self._distributed = distributed
        self._train = train
        self._is_on_cluster = is_on_cluster

    def batches_left(self, steps_completed: int) -> Optional[int]:
        """The number of batches that the trial has yet to train; 0 when it has reached its length.

        Records and epochs of the searcher's max_length are converted by the hyperparameter global_batch_size and by
        records_per_epoch of the configuration. If the conversion needs one that is not configured, steps_completed
        counts in the unit of max_length.

        Args:
            steps_completed: number of batches since the beginning of the trial

        Returns:
            None off the cluster, without max_length, and if time_metric measures the length
        """
        return self._distributed._handle().batches_left(steps_completed) if self._is_on_cluster else None

    def operations(
        self, searcher_mode: SearcherMode = SearcherMode.WorkersAskChief, auto_ack: bool = True
    ) -> Iterator[SearcherOperation]:
        """Yields the operations of the trial that no earlier run has completed, in order.

        There is one operation, the whole length; adaptive_asha and async_halving have one for each rung. Off the
        cluster there is one, of length 1. After a preemption notice there are no more operations. With WorkersAskChief
        each step of the iteration is collective.

        Args:
            auto_ack: if a notice ends the operations, records that the exit is a pause. Without it call
                acknowledge_out_of_ops().

        Raises:
            ValueError: neither searcher.max_length nor max_time is configured
            RuntimeError: with ChiefOnly on another rank than the chief; an operation was not reported as completed
        """
        warnings.warn(
            "searcher.operations() is deprecated: use searcher.batches_left(steps_completed)",
            FutureWarning,
            stacklevel=2,
        )
        mode = SearcherMode(searcher_mode)
        if mode is SearcherMode.ChiefOnly and self._distributed.rank != 0:
            raise RuntimeError(
                "searcher_mode=ChiefOnly but .operations() was called from non-chief worker of "
                f"rank={self._distributed.rank}"
            )
        if not self._is_on_cluster:
            return self._yield_operation_off_cluster()
        self._require_unit()
        return self._yield_operations(_MODES.index(mode), auto_ack)

    def _yield_operations(self, mode: int, auto_ack: bool) -> Iterator[SearcherOperation]:
        while True:
            length = self._distributed._handle().next_operation(mode, auto_ack)
            if length == 0:
                return
            yield SearcherOperation(self._distributed, self._train, length, True)

    def _yield_operation_off_cluster(self) -> Iterator[SearcherOperation]:
        operation = SearcherOperation(self._distributed, self._train, 1, False)
        yield operation
        if self._distributed.rank == 0 and not operation._is_completed:
            raise RuntimeError("you must call op.report_completed() on each operation")

    def acknowledge_out_of_ops(self) -> None:
        """Records that the exit is a pause, if a preemption notice has ended the operations. Otherwise does nothing."""
        if self._is_on_cluster:
            self._distributed._handle().acknowledge_end_of_operations()

    def get_configured_units(self) -> Optional[Unit]:
        """The unit of max_length; None if it is a bare integer or measured by time_metric, and off the cluster.

        Raises:
            ValueError: neither searcher.max_length nor max_time is configured
        """
        return self._require_unit() if self._is_on_cluster else None

    def _require_unit(self) -> Optional[Unit]:
        length, unit = self._distributed._handle().training_length()
        if length == 0:
            raise ValueError("searcher.max_length is not configured, so there are no searcher operations")
        return _UNITS[unit]
