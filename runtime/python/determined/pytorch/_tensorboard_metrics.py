"""Writes the reported metrics for TensorBoard."""

import logging
from typing import Any, Dict, List, Optional

import numpy as np

from determined.tensorboard import EventWriter

logger = logging.getLogger("determined.pytorch")


class TensorboardMetrics:
    """Scalars `Determined/<name>`, and `Determined/val_<name>` for validations unless the name begins with "val". In a trial
    the chief writes them, unless libdet does because of `slurm: {tensorboard: true}`. Outside of a trial they
    are not written."""

    def __init__(self, context: Any, first_batch: int) -> None:
        slurm = (context._exp_conf or {}).get("slurm") or {}
        is_trial = context._trial_info() is not None
        self._is_active = is_trial and context.distributed.rank == 0 and not slurm.get("tensorboard")
        self._context = context
        self._first_batch = first_batch
        self._writer: Optional[EventWriter] = None

    def write(self, steps_completed: int, metrics: Dict[str, Any], is_validation: bool) -> None:
        if not self._is_active or not self._context.get_enable_tensorboard_logging():
            return
        try:
            for name, value in metrics.items():
                if isinstance(value, (int, float, np.number)):
                    prefix = "val_" if is_validation and not name.startswith("val") else ""
                    self._require_writer().add_scalar(f"Determined/{prefix}{name}", value, steps_completed)
        except OSError as problem:
            self._give_up(problem)

    def _require_writer(self) -> EventWriter:
        if self._writer is None:
            purged = self._first_batch + 1 if self._first_batch > 0 else None
            self._writer = EventWriter(self._context.get_tensorboard_path(), purged)
        return self._writer

    def flush(self) -> None:
        for writer in self._writers():
            try:
                writer.flush()
            except OSError as problem:
                self._give_up(problem)

    def close(self) -> None:
        for writer in self._writers():
            try:
                writer.close()
            except OSError as problem:
                self._give_up(problem)

    def _writers(self) -> List[EventWriter]:
        return [writer for writer in (self._writer, self._context._writer) if writer is not None]

    def _give_up(self, problem: OSError) -> None:
        """A full disk must not end the training: the metrics are in the journal too."""
        logger.warning("metrics are no longer written for TensorBoard: %s", problem)
        self._is_active = False
