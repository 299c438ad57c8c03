"""Where the searcher ends a training whose loop belongs to another library, and where it needs a metric."""

import logging
import math
from typing import Any, Callable, Dict, Optional

from determined import core
from determined.pytorch._search_rungs import UNITS, SearchRungs, searcher_of, trial_of

logger = logging.getLogger("determined.core")

# Converts a length of the searcher to steps. None: it can't be converted.
ToSteps = Callable[[str, int], Optional[int]]


class TrainingEnd:
    """The searcher's length in steps. One step is one step of the optimizer, and is a batch of the searcher. Outside of a
    trial and without searcher.max_length the library alone decides.

    Attributes:
        metric: the name of the searcher's metric
    """

    def __init__(self, core_context: core.Context) -> None:
        self._core = core_context
        self._trial = trial_of(core_context)
        self.metric = str(searcher_of(core_context).get("metric", ""))
        self._steps: Optional[int] = None
        self._rungs: Optional[SearchRungs] = None
        self._noted_step = -1  # the last step at which the metric was logged

    def begin(self, to_steps: ToSteps, planned_steps: float, arguments: str) -> None:
        """Converts the length. Collective; called when a training begins.

        Args:
            planned_steps: the number of steps that the library is about to train; infinity is allowed, and a negative number,
                which means that it is not known
            arguments: what has the argument max_steps, for the hint of the error

        Raises:
            ValueError: the library would train less than the searcher wants
        """
        if self._trial is None:
            return
        planned_steps = math.inf if planned_steps < 0 else planned_steps
        length, unit = self._core.distributed._handle().training_length()
        name = UNITS[unit] if length else None
        self._steps = None if name is None else to_steps(name, length)
        if name is not None and self._steps is None and self._core.distributed.rank == 0:
            logger.warning("searcher.max_length has no effect here: %d %s can't be converted to steps", length, name)
        if self._steps is not None and planned_steps < self._steps:
            raise ValueError(
                f"searcher.max_length is {length} {name} ({self._steps} steps of the optimizer), and the Trainer trains "
                f"{planned_steps} steps\n  hint: pass {arguments}(max_steps={self._steps}), or shorten searcher.max_length"
            )
        if self._steps is not None and planned_steps > self._steps and self._core.distributed.rank == 0:
            logger.warning("the searcher ends the training at step %d of %s", self._steps, planned_steps)
        if self._rungs is None:  # a second training goes on at the rung of the first
            self._rungs = SearchRungs(self._core, lambda rung: to_steps(*next(iter(rung.items()))))

    def has_length(self) -> bool:
        return self._steps is not None

    def is_reached(self, step: int) -> bool:
        """Whether the searcher wants no more steps."""
        return self._steps is not None and step >= self._steps

    def needs_metric(self, step: int) -> bool:
        """Whether the searcher needs its metric at this step, at the end or at a rung, and has not got it."""
        return (self.is_reached(step) or self._is_rung(step)) and self._noted_step != step

    def note(self, step: int, metrics: Dict[str, Any]) -> None:
        """Takes metrics that were logged. Collective at a rung."""
        if self.metric not in metrics:
            return
        self._noted_step = step
        if self._rungs is not None and self._is_rung(step):
            self._rungs.complete(step, metrics[self.metric])

    def require_metric(self, step: int) -> None:
        """Called when everything that is due at a step was logged.

        Raises:
            ValueError: the searcher has got no metric for its rung
        """
        if self._is_rung(step):
            raise ValueError(
                f"the search needs the metric '{self.metric}' at step {step}, and the Trainer has not logged it\n"
                "  hint: searcher.metric names a metric of the validation, as the Trainer logs it"
            )

    def _is_rung(self, step: int) -> bool:
        return self._rungs is not None and self._rungs.is_reached(step)
