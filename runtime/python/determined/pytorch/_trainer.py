"""Trainer: runs a PyTorchTrial from a script."""

import logging
import warnings
from typing import Any, Dict, Optional

from determined.pytorch._plan import CHECKPOINT_FORMATS, CHECKPOINT_POLICIES, TrainingPlan
from determined.pytorch._training_loop import TrainingLoop
from determined.pytorch._units import Batch, Epoch, TrainUnit, read_length

logger = logging.getLogger("determined.pytorch")


class Trainer:
    """Trains a PyTorchTrial.

        with pytorch.init() as context:
            trial = MyTrial(context)
            pytorch.Trainer(trial, context).fit(max_length=pytorch.Epoch(10), validation_period=pytorch.Epoch(1))
    """

    def __init__(self, trial: Any, context: Any) -> None:
        self._trial = trial
        self._context = context

    def configure_profiler(self, *args: Any, **kwargs: Any) -> None:
        """Deprecated: use fit(profiling_enabled=True), or `profiling: {enabled: true}` in the configuration."""
        logger.error("configure_profiler() is deprecated and does nothing: use fit(profiling_enabled=True)")

    def fit(
        self,
        checkpoint_period: Optional[TrainUnit] = None,
        validation_period: Optional[TrainUnit] = None,
        max_length: Optional[TrainUnit] = None,
        reporting_period: TrainUnit = Batch(100),
        checkpoint_policy: str = "best",
        latest_checkpoint: Optional[str] = None,
        step_zero_validation: bool = False,
        test_mode: bool = False,
        profiling_enabled: bool = False,
        checkpoint_format: Optional[str] = None,
    ) -> None:
        """Trains up to a length, or until the trial is preempted or stopped, and saves a checkpoint at the
        end. Collective.

        Args:
            checkpoint_period: how often a checkpoint is saved; None: as the policy says, and at the end
            validation_period: how often the model is validated; None: when the searcher needs it, and at the end
            max_length: how long to train; None, in a trial: the max_length of the searcher
            reporting_period: how often training metrics are reported; they are also reported before each
                validation and checkpoint
            checkpoint_policy: whether a validation is followed by a checkpoint: "best", "all" or "none"
            latest_checkpoint: the storage_id of the checkpoint to continue from; in a trial
                get_cluster_info().latest_checkpoint
            step_zero_validation: validate before the first batch
            test_mode: only outside of a trial: train and validate one batch, whatever max_length is
            profiling_enabled: sample the system metrics of each node
            checkpoint_format: "state": checkpoints are written while the training goes on; "torch": the training
                waits for torch.save, as with Determined. None: slurm.checkpoint_format of the configuration, else
                "state"

        Raises:
            ValueError, TypeError: an argument is missing or can't be used
        """
        if checkpoint_policy not in CHECKPOINT_POLICIES:
            raise ValueError(f"checkpoint_policy must be one of {', '.join(CHECKPOINT_POLICIES)}, not {checkpoint_policy!r}")
        info = self._context._trial_info()
        slurm = (info._config.get("slurm") or {}) if info is not None else {}
        checkpoint_format = checkpoint_format or slurm.get("checkpoint_format") or "state"
        if checkpoint_format not in CHECKPOINT_FORMATS:
            raise ValueError(f"checkpoint_format must be one of {', '.join(CHECKPOINT_FORMATS)}, not {checkpoint_format!r}")
        plan = TrainingPlan(
            max_length=max_length or Batch(1),
            reporting_period=reporting_period,
            validation_period=validation_period,
            checkpoint_period=checkpoint_period,
            checkpoint_policy=checkpoint_policy,
            checkpoint_format=checkpoint_format,
            latest_checkpoint=latest_checkpoint,
            step_zero_validation=step_zero_validation,
            test_mode=test_mode,
            profiling_enabled=profiling_enabled,
            global_batch_size=_find_global_batch_size(self._context),
        )
        if info is None:
            _complete_local(plan, max_length)
        else:
            self._complete_in_trial(plan, max_length, info._config)
        if plan.max_length._length() < 1:  # raises TypeError for a container
            raise ValueError("max_length must be at least 1")
        TrainingLoop(self._trial, self._context, plan).run()

    def _complete_in_trial(self, plan: TrainingPlan, max_length: Optional[TrainUnit], config: Dict[str, Any]) -> None:
        if plan.test_mode:
            raise ValueError("test_mode is for trainings outside of a trial: use det-submit experiment create --test")
        searcher = config.get("searcher") or {}
        plan.records_per_epoch = config.get("records_per_epoch") or 0
        configured = searcher_length(searcher, plan.global_batch_size, plan.records_per_epoch)
        if max_length is None:
            if configured is None:
                raise ValueError("fit() needs max_length: how long to train, for example max_length=pytorch.Epoch(10)")
            warnings.warn("fit() without max_length takes the max_length of the searcher", FutureWarning, stacklevel=3)
            plan.max_length = configured
        elif searcher.get("name") in ("adaptive_asha", "async_halving") and configured not in (None, max_length):
            logger.warning("fit(max_length=%s) differs from the length of the searcher, %s", max_length, configured)
        if plan.latest_checkpoint is None and self._context._core.info.latest_checkpoint is not None:
            logger.warning(
                "the trial has a checkpoint, and fit() begins from the start: pass "
                "latest_checkpoint=det.get_cluster_info().latest_checkpoint"
            )


def searcher_length(
    searcher: Dict[str, Any], global_batch_size: Optional[int], records_per_epoch: int
) -> Optional[TrainUnit]:
    """How long the searcher wants a trial to train; None if no length is configured, or if another metric
    than batches, records or epochs measures it."""
    if searcher.get("max_time") and searcher.get("time_metric") in ("batches", "records", "epochs"):
        return read_length({searcher["time_metric"]: searcher["max_time"]}, global_batch_size, records_per_epoch)
    if searcher.get("max_time") and searcher.get("time_metric"):
        return None
    return read_length(searcher.get("max_length"), global_batch_size, records_per_epoch)


def _complete_local(plan: TrainingPlan, max_length: Optional[TrainUnit]) -> None:
    if plan.test_mode:
        plan.max_length = Batch(1)
    elif max_length is None:
        raise ValueError("fit() needs max_length outside of a trial, for example max_length=pytorch.Epoch(10)")
    elif not isinstance(max_length, (Batch, Epoch)) or not isinstance(max_length.value, int):
        raise TypeError(f"max_length must be Batch or Epoch of an integer, not {max_length!r}")
    if plan.checkpoint_policy == "best":
        logger.warning("outside of a trial the checkpoint policy 'best' is 'all': there is no searcher metric")
        plan.checkpoint_policy = "all"


def _find_global_batch_size(context: Any) -> Optional[int]:
    try:
        return int(context.get_global_batch_size())
    except ValueError:
        return None
