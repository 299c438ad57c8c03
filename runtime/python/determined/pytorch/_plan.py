"""The plan of a training: its length, and when it reports, validates and saves checkpoints."""

import dataclasses
import sys
from typing import Any, Optional

from determined.pytorch._units import Batch, Epoch, TrainUnit

CHECKPOINT_POLICIES = ("best", "all", "none")
CHECKPOINT_FORMATS = ("state", "torch")


@dataclasses.dataclass
class TrainingPlan:
    """The checked arguments of Trainer.fit(), with values of the configuration."""

    max_length: TrainUnit
    reporting_period: TrainUnit = dataclasses.field(default_factory=lambda: Batch(100))
    validation_period: Optional[TrainUnit] = None
    checkpoint_period: Optional[TrainUnit] = None
    checkpoint_policy: str = "best"
    checkpoint_format: str = "state"
    latest_checkpoint: Optional[str] = None
    step_zero_validation: bool = False
    test_mode: bool = False
    profiling_enabled: bool = False
    global_batch_size: Optional[int] = None
    records_per_epoch: int = 0  # of the configuration, for lengths in epochs; 0: an epoch is a pass through the loader

    def epochs_of(self, batches: int, epoch_length: int) -> Any:
        """The value of the metric "epochs" after so many batches."""
        if self.records_per_epoch > 0 and self.global_batch_size:
            return batches * self.global_batch_size / self.records_per_epoch
        return batches // epoch_length


def to_batches(length: TrainUnit, epoch_length: int) -> int:
    """Converts a length to batches. sys.maxsize: the length of an epoch is not known."""
    count = length._length()
    if not isinstance(length, Epoch):
        return count
    return sys.maxsize if epoch_length == sys.maxsize else count * epoch_length


def is_due(period: Optional[TrainUnit], batches: int, epoch_length: int) -> bool:
    """Whether a period ends after so many batches."""
    if period is None:
        return False
    if not isinstance(period, Epoch):
        return period._is_due(batches)
    return batches % epoch_length == 0 and period._is_due(batches // epoch_length)
