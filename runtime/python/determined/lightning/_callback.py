"""DetCallback: preemption and the searcher's length in a training of Lightning's Trainer."""

import logging
import math
import os
from typing import Any, Optional

from determined import core
from determined._training_end import TrainingEnd
from determined.lightning._checkpoint_io import DetCheckpointIO
from determined.lightning._logger import DetLogger
from determined.lightning._package import load

logger = logging.getLogger("determined.lightning")

Callback: Any = load("callbacks").Callback
SLURMEnvironment: Any = load("plugins.environments").SLURMEnvironment


def latest_checkpoint(core_context: core.Context) -> Optional[str]:
    """What Trainer.fit(ckpt_path=...) takes: the checkpoint from which this run continues; None if it starts from the beginning."""
    return None if core_context.info is None else core_context.info.latest_checkpoint


class DetCallback(Callback):
    """Makes the training of a Trainer the training of a trial. Every rank makes one.

    - All ranks ask for a preemption before a batch that begins a step of the optimizer. Then the Trainer saves, and the program
      ends by SystemExit(0). The requeue is det-submit's: Lightning's own (SLURMEnvironment(auto_requeue=True)) is switched off.
    - The training ends at the length of the searcher. Searches by adaptive_asha and async_halving get the searcher's metric from
      the first validation at or after each rung.

    Args:
        core_context: of core.init(), with the default preempt_mode
    """

    def __init__(self, core_context: core.Context) -> None:
        super().__init__()
        self._core = core_context
        self._end = TrainingEnd(core_context)

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Called before Lightning registers its handlers of signals.

        Raises:
            ValueError: the Trainer has no DetCheckpointIO, or another number of ranks than core_context
        """
        if trainer.world_size != self._core.distributed.size:
            raise ValueError(
                f"Lightning has {trainer.world_size} ranks, and the trial has {self._core.distributed.size}\n"
                "  hint: Trainer(num_nodes=..., devices=...) give the number of ranks, which det-submit has started"
            )
        if not isinstance(trainer.strategy.checkpoint_io, DetCheckpointIO):
            raise ValueError(
                "DetCallback needs a DetCheckpointIO, which saves into the trial's storage, and without a wrapper around it\n"
                "  hint: pass Trainer(plugins=[DetCheckpointIO(core_context)])"
            )
        for each in trainer.loggers:
            if isinstance(each, DetLogger):
                each.follow(trainer)
        environment = getattr(trainer.strategy, "cluster_environment", None)
        if isinstance(environment, SLURMEnvironment) and environment.auto_requeue:
            environment.auto_requeue = False
            logger.info("the requeue of Lightning is switched off: det-submit requeues the job")

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        def to_steps(unit: str, length: int) -> Optional[int]:
            return _to_steps(unit, length, trainer)

        self._end.begin(to_steps, trainer.estimated_stepping_batches, "Trainer")

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        # Between two steps of the optimizer: gradients that are being accumulated are in no checkpoint of Lightning.
        # After should_stop Lightning trains on only until min_steps or min_epochs: a batch that starts is no end.
        if batch_idx % trainer.accumulate_grad_batches != 0:
            return
        if not self._core.preempt.should_preempt(auto_ack=False):
            return
        trainer.save_checkpoint(os.path.join(trainer.default_root_dir, f"preempted-{trainer.global_step}.ckpt"))
        trainer.strategy.checkpoint_io.wait()
        self._core.preempt.acknowledge_preemption_signal()
        logger.info("preempted at step %d", trainer.global_step)
        raise SystemExit(0)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self._end.is_reached(trainer.global_step):
            trainer.should_stop = True
        planned = trainer.estimated_stepping_batches
        is_due = trainer.global_step % max(1, trainer.log_every_n_steps) == 0 and math.isfinite(planned) and planned > 0
        if is_due and not self._end.has_length() and self._core.distributed.rank == 0:
            self._core.train.report_progress(min(1.0, trainer.global_step / planned))

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.sanity_checking:
            return
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items() if name == self._end.metric}
        self._end.note(trainer.global_step, metrics)
        self._end.require_metric(trainer.global_step)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._end.require_metric(trainer.global_step)


def _to_steps(unit: str, length: int, trainer: Any) -> Optional[int]:
    """Converts a length of the searcher; None if the number of batches of an epoch is not known, and for records."""
    if unit == "batches":
        return length
    if unit == "records" or not math.isfinite(trainer.num_training_batches):
        return None
    steps_of_epoch: int = math.ceil(trainer.num_training_batches / trainer.accumulate_grad_batches)
    return length * steps_of_epoch
