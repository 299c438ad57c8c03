"""Reports of the training loop."""

import enum
import json
import logging
import math
import pathlib
from typing import Any, Callable, Dict, List, Optional

from determined._lib import check_steps
from determined.core._distributed import DistributedContext
from determined.core._timings import Timings

logger = logging.getLogger("determined.core")


class EarlyExitReason(enum.Enum):
    """Why a program ends its trial before the end of the training."""

    INVALID_HP = "EXITED_REASON_INVALID_HP"
    USER_REQUESTED_STOP = "EXITED_REASON_USER_REQUESTED_STOP"


# In the order of det_early_exit.
_EARLY_EXITS = [EarlyExitReason.INVALID_HP, EarlyExitReason.USER_REQUESTED_STOP]


class TrainContext:
    """Obtained from `Context.train`. Metrics of any rank are written, with the number of the rank. Curves, best
    values and checkpoints take the value of the lowest rank that has reported a metric for a step; a search is
    decided by the chief's reports. All other reports are the chief's; those of other ranks are only logged."""

    def __init__(self, distributed: DistributedContext, is_on_cluster: bool = False, uploads: bool = True) -> None:
        self._distributed = distributed
        self._is_on_cluster = is_on_cluster
        self._is_chief = distributed.rank == 0
        self._writes_tensorboard = uploads
        self._has_exited_early = False
        self._timings: Optional[Timings] = None
        self._last_steps = 0

    def report_training_metrics(
        self, steps_completed: int, metrics: Dict[str, Any], batch_metrics: Optional[List[Dict[str, Any]]] = None
    ) -> None:
        """Reports metrics of training.

        Args:
            steps_completed: number of batches since the beginning of the trial
            metrics: names and values; values may be anything that JSON has, and arrays and scalars of numpy
            batch_metrics: metrics of each batch

        Raises:
            ValueError: steps_completed is no number from 0 to 2**63 - 1, or the report takes more than 16 MiB in the
                journal
        """
        steps_completed = check_steps(steps_completed)
        self._log("report_training_metrics(steps_completed=%s, metrics=%s)", steps_completed, metrics)
        if batch_metrics is not None:
            metrics = {**metrics, "batch_metrics": batch_metrics}
        self._report("training", steps_completed, metrics)

    def report_validation_metrics(self, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Reports metrics of a validation. Bytes are left out with a warning.

        Raises:
            RuntimeError: a value is None
            ValueError: as report_training_metrics()
        """
        steps_completed = check_steps(steps_completed)
        self._log("report_validation_metrics(steps_completed=%s, metrics=%s)", steps_completed, metrics)
        self._report("validation", steps_completed, _without_bytes(metrics))

    def report_metrics(self, group: str, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Reports metrics of any group.

        Args:
            group: "training", "validation" or another name without a dot

        Raises:
            ValueError: as report_training_metrics()
        """
        steps_completed = check_steps(steps_completed)
        self._log("report_metrics(group=%s, steps_completed=%s, metrics=%s)", group, steps_completed, metrics)
        self._report(group, steps_completed, _without_bytes(metrics) if group == "validation" else metrics)

    def report_mean_metrics(self, group: str, steps_completed: int, metrics: Dict[str, float]) -> Dict[str, float]:
        """Reports the mean of each metric over all ranks. Collective: every rank calls it.

        Args:
            group: "training", "validation" or another name without a dot
            metrics: numbers; the same names in the same order on every rank

        Returns:
            the means, on every rank

        Raises:
            ValueError: as report_training_metrics()
        """
        steps_completed = check_steps(steps_completed)
        numbers = {name: float(value) for name, value in metrics.items()}
        self._log("report_mean_metrics(group=%s, steps_completed=%s, metrics=%s)", group, steps_completed, numbers)
        if self._is_on_cluster or self._distributed.size > 1:
            return self._distributed._handle().report_mean(group, steps_completed, numbers)
        return numbers

    def report_progress(self, progress: float) -> None:
        """Reports the completed part of the training.

        Args:
            progress: from 0 to 1

        Raises:
            ValueError: it is outside of 0 to 1
        """
        logger.debug("report_progress(%s)", progress)
        if not 0 <= progress <= 1:
            raise ValueError(f"progress must be between 0 and 1, not {progress}")
        if not self._is_on_cluster:
            logger.info("report_progress %.4f", progress)
        elif self._is_chief:
            self._distributed._handle().report_progress(float(progress))

    def set_status(self, status: str) -> None:
        """Reports a text for the user about what the program does now. Only the chief's is written."""
        logger.info("status: %s", status)
        if self._is_on_cluster and self._is_chief:
            self._distributed._handle().set_status(status)

    def report_early_exit(self, reason: EarlyExitReason) -> None:
        """Records why the program is about to end. A second call warns and is ignored."""
        if self._has_exited_early:
            logger.warning("report_early_exit() was called again and is ignored")
            return
        self._has_exited_early = True
        reason = EarlyExitReason(reason)
        logger.info("report_early_exit(%s)", reason.name)
        if self._is_on_cluster and self._is_chief:
            self._distributed._handle().report_early_exit(_EARLY_EXITS.index(reason))

    def get_experiment_best_validation(self) -> Optional[float]:
        """The best value of the searcher's metric among all validations of the experiment; None if there is none.

        The chief's call includes its own reports. Reports of other processes are written to their journals,
        and then seen, up to 50 ms after they were made.
        """
        return self._distributed._handle().best_validation() if self._is_on_cluster else None

    def set_metadata(self, metadata: Dict[str, Any]) -> Dict[str, Any]:
        """Replaces the metadata of the trial, a map that later runs of the trial get by get_metadata(). Only
        the chief's call writes it. Returns the map as JSON holds it.

        Raises:
            ValueError: the map takes more than 16 MiB
        """
        text = encode(metadata)
        if self._is_on_cluster and self._is_chief:
            self._distributed._handle().set_metadata(text)
        result: Dict[str, Any] = json.loads(text)
        return result

    def get_metadata(self) -> Optional[Dict[str, Any]]:
        """The metadata of the trial; None if none was set."""
        return json.loads(self._distributed._handle().metadata()) or None if self._is_on_cluster else None

    def get_tensorboard_path(self) -> Optional[pathlib.Path]:
        """The trial's directory for files of TensorBoard, on the shared file system; None off the cluster."""
        path = self._distributed._handle().tensorboard_path() if self._is_on_cluster else None
        return None if path is None else pathlib.Path(path)

    def upload_tensorboard_files(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Callable[[pathlib.Path, int], pathlib.Path] = lambda path, _: path,
    ) -> None:
        """Does nothing: the directory of get_tensorboard_path() is already on the shared file system.

        Raises:
            RuntimeError: core.init() was called with TensorboardMode.AUTO
        """
        if self._writes_tensorboard:
            raise RuntimeError("upload_tensorboard_files() needs core.init(tensorboard_mode=TensorboardMode.MANUAL)")

    def _log(self, text: str, *arguments: Any) -> None:
        logger.log(logging.INFO if self._is_on_cluster else logging.DEBUG, text, *arguments)

    def _report(self, group: str, steps_completed: int, metrics: Dict[str, Any]) -> None:
        if not self._is_on_cluster:
            return
        self._distributed._handle().report_metrics(group, steps_completed, encode(metrics))
        self._last_steps = steps_completed
        if self._is_chief and self._timings is not None and self._timings.is_due():
            self._report_timings()

    def _report_timings(self) -> None:
        metrics = self._timings.take() if self._timings is not None else None
        if metrics and self._is_chief:
            self._report("timing", self._last_steps, metrics)


def _without_bytes(metrics: Dict[str, Any]) -> Dict[str, Any]:
    kept = {}
    for name, value in metrics.items():
        if value is None:
            raise RuntimeError(f"Validation metric '{name}' returned an invalid scalar value: None")
        if isinstance(value, (bytes, bytearray)):
            logger.warning("the validation metric '%s' consists of bytes and is left out", name)
        else:
            kept[name] = value
    return kept


def _convert(value: Any) -> Any:
    """Converts a value that JSON lacks; the encoder calls it. Arrays and scalars of numpy and torch have
    tolist() or item()."""
    for name in ("tolist", "item"):
        method = getattr(value, name, None)
        if method is not None:
            return _finite(method())
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", errors="replace")
    if isinstance(value, (set, frozenset)):
        return _finite(list(value))
    raise TypeError(f"a value of type {type(value).__name__} can't be reported")


def _finite(value: Any) -> Any:
    """Replaces the floats that JSON lacks by their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value


_encode_finite = json.JSONEncoder(allow_nan=False, default=_convert, separators=(",", ":")).encode


def encode(value: Any) -> str:
    """JSON of metrics. NaN and infinities become "NaN", "Infinity" and "-Infinity"."""
    try:
        return _encode_finite(value)
    except ValueError:
        return _encode_finite(_finite(value))
