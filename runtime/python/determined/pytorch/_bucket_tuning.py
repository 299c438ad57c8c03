"""optimizations.auto_tune_tensor_fusion: finds the size of DistributedDataParallel's buckets that trains fastest.

Measures the first steps of the training with one size after the other. The ranks choose the size with the
smallest mean time.
"""

import logging
from typing import Any, Callable, List, Optional

logger = logging.getLogger("determined.pytorch")

SIZES_MIB = (1, 5, 25, 64, 128)
_UNMEASURED_STEPS = 2  # torch rebuilds its buckets in the second step
_MEASURED_STEPS = 5


def candidate_sizes(model_bytes: int) -> List[int]:
    """The sizes to try, in MiB: those of SIZES_MIB up to the first one that holds all gradients of a
    model."""
    fitting = [size for size in SIZES_MIB if size << 20 < model_bytes]
    return [*fitting, *SIZES_MIB[len(fitting) : len(fitting) + 1]]


class BucketTuning:
    """Tries the sizes. All ranks call step() after each step in which gradients are exchanged.

    Args:
        model_bytes: the size of all gradients
        set_size: sets the bucket size of the models, in MiB
        allgather: the method of the DistributedContext

    Attributes:
        chosen: the size in MiB; None while the sizes are tried
    """

    def __init__(
        self, model_bytes: int, set_size: Callable[[int], None], allgather: Callable[[Any], List[Any]]
    ) -> None:
        self.chosen: Optional[int] = None
        self._set_size = set_size
        self._allgather = allgather
        self._sizes = candidate_sizes(model_bytes)
        self._seconds: List[float] = []
        self._steps = 0
        self._sum = 0.0
        if len(self._sizes) == 1:
            self.chosen = self._sizes[0]
        else:
            set_size(self._sizes[0])

    def step(self, seconds: float) -> bool:
        """Records the duration of a step. Returns True for the step after which the ranks choose the size.
        Collective."""
        if self.chosen is not None:
            return False
        self._steps += 1
        if self._steps > _UNMEASURED_STEPS:
            self._sum += seconds
        if self._steps < _UNMEASURED_STEPS + _MEASURED_STEPS:
            return False
        self._seconds.append(self._sum / _MEASURED_STEPS)
        self._steps, self._sum = 0, 0.0
        if len(self._seconds) < len(self._sizes):
            self._set_size(self._sizes[len(self._seconds)])
            return False
        self.chosen = self._choose()
        self._set_size(self.chosen)
        return True

    def _choose(self) -> int:
        totals = [sum(seconds) for seconds in zip(*self._allgather(self._seconds))]
        logger.info(
            "seconds of a step by tensor_fusion_threshold: %s",
            ", ".join(f"{size}: {total:.4f}" for size, total in zip(self._sizes, totals)),
        )
        return self._sizes[totals.index(min(totals))]
