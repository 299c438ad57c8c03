"""When a learning rate scheduler of torch steps."""

import enum
from typing import Any, Dict, List


class LRScheduler:
    """A scheduler of torch and when the training loop calls its step(). PyTorchTrialContext.wrap_lr_scheduler() makes it.

    Args:
        scheduler: a scheduler of torch.optim.lr_scheduler
        step_mode: an LRScheduler.StepMode
        frequency: calls step() once per so many epochs or batches
    """

    class StepMode(enum.Enum):
        """When the scheduler steps. The training loop calls step() only after a batch at which the optimizers
        have stepped."""

        STEP_EVERY_EPOCH = 1  # once for each epoch, at its end or at the last step of the optimizer before it
        STEP_EVERY_BATCH = 2  # once for each batch since the last step of the optimizers
        MANUAL_STEP = 3  # the trial calls step() itself
        # Once for each step of the optimizers after which the number of batches is a multiple of the
        # frequency.
        STEP_EVERY_OPTIMIZER_STEP = 4

    def __init__(self, scheduler: Any, step_mode: "LRScheduler.StepMode", frequency: int = 1) -> None:
        if not isinstance(step_mode, LRScheduler.StepMode):
            raise TypeError(f"step_mode must be an LRScheduler.StepMode, not {step_mode!r}")
        if frequency < 1:
            raise ValueError(f"frequency must be at least 1, not {frequency}")
        self._scheduler = scheduler
        self._step_mode = step_mode
        self._frequency = frequency

    def step(self, *args: Any, **kwargs: Any) -> None:
        self._scheduler.step(*args, **kwargs)

    def get_last_lr(self) -> List[float]:
        rates: List[float] = self._scheduler.get_last_lr()
        return rates

    def state_dict(self) -> Dict[str, Any]:
        state: Dict[str, Any] = self._scheduler.state_dict()
        return state

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self._scheduler.load_state_dict(state_dict)

    def _steps_after(self, batch_idx: int, aggregation_frequency: int, epoch_length: int) -> int:
        """How many times step() is called after a batch at which the optimizers have stepped."""
        mode, frequency = self._step_mode, self._frequency
        if mode is LRScheduler.StepMode.STEP_EVERY_BATCH:
            first = batch_idx - aggregation_frequency + 1
            return _multiples_between(max(first, 0) + 1, batch_idx + 1, frequency)
        if mode is LRScheduler.StepMode.STEP_EVERY_OPTIMIZER_STEP:
            return 1 if (batch_idx + 1) % frequency == 0 else 0
        if mode is LRScheduler.StepMode.STEP_EVERY_EPOCH:
            # The epochs that end now or before the next step of the optimizers.
            epoch, next_epoch = batch_idx // epoch_length, (batch_idx + aggregation_frequency) // epoch_length
            return _multiples_between(epoch + 1, next_epoch, frequency)
        return 0


def _multiples_between(first: int, last: int, number: int) -> int:
    """How many multiples of `number` there are from `first` to `last`, both included."""
    return last // number - (first - 1) // number if last >= first else 0
