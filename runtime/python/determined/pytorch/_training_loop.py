"""The training loop: trains, reports, validates, saves checkpoints, and stops at the end or when it is asked
to."""

import logging
import sys
from typing import Any, Dict, List, Optional

from determined import errors
from determined.pytorch import _checkpoint_files as files
from determined.pytorch import _plan
from determined.pytorch._batch_training import BatchTraining
from determined.pytorch._best_validation import BestValidation
from determined.pytorch._callback import Callbacks
from determined.pytorch._checkpoint import Checkpoints
from determined.pytorch._evaluation import evaluates_batches, validate
from determined.pytorch._loaders import build_training_loader, build_validation_loader
from determined.pytorch._metrics import Metrics, as_scalar, mean_of_batches, mean_of_ranks, to_host
from determined.pytorch._search_rungs import SearchRungs
from determined.pytorch._tensorboard_metrics import TensorboardMetrics
from determined.pytorch._units import read_length

logger = logging.getLogger("determined.pytorch")


class TrainingLoop:
    """Runs a PyTorchTrial. All ranks run the same batches, validations and checkpoints at the same time.

    The loop asks for a preemption after each batch. The checkpoint that it then saves holds everything that
    the next run needs to continue with the next batch.
    """

    def __init__(self, trial: Any, context: Any, plan: _plan.TrainingPlan) -> None:
        self._trial = trial
        self._context = context
        self._core = context._core
        self._plan = plan
        self._by_batch = evaluates_batches(trial)
        _require_wrapped(context)
        self._callbacks = Callbacks(trial.build_callbacks())
        self._checkpoints = Checkpoints(trial, context, self._callbacks, plan.checkpoint_format)
        self._best = BestValidation(self._core, plan.checkpoint_policy)
        self._progress = files.Progress(trial_id=context.get_trial_id())
        self._preempted = False
        self._has_state = False  # a checkpoint, or a state that was kept in memory, is to be loaded
        self._is_validated = False
        self._status = ""

    def run(self) -> None:
        """Trains up to the length of the plan, or until it is preempted or stopped."""
        progress, is_continued = self._load_progress()
        self._progress = progress
        self._callbacks.call("on_trial_startup", progress.batches_trained, self._plan.latest_checkpoint)
        try:
            self._prepare(is_continued)
            self._train()
            self._batches.stop()
            self._checkpoints.finish()
        finally:
            self._callbacks.call("on_trial_shutdown")
            self._tensorboard.close()

    # Before the first batch.

    def _load_progress(self) -> Any:
        """How far the trial has trained, and whether the checkpoint is its own. From the checkpoint of
        another trial it takes the weights, the state of the optimizers and the random state, and the training
        begins with the first batch. Trainings outside of a trial continue each other's checkpoints."""
        self._tensorboard = TensorboardMetrics(self._context, 0)
        saved = self._checkpoints.read_kept() if self._continues_trial() else None
        if saved is not None:
            self._context._kept_batches = saved.batches_trained
        else:
            if self._plan.latest_checkpoint is None:
                return self._progress, False
            saved = self._checkpoints.read(self._plan.latest_checkpoint)
        self._has_state = True
        if saved.trial_id != self._context.get_trial_id():
            logger.info("starting from a checkpoint of trial %s", saved.trial_id)
            return self._progress, False
        self._is_validated = 0 < saved.batches_trained == saved.last_val
        logger.info("continuing after %d batches", saved.batches_trained)
        return saved, True

    def _continues_trial(self) -> bool:
        """Whether the program asks for the checkpoint from which its trial continues, if there is one."""
        info = self._core.info
        return info is not None and self._plan.latest_checkpoint == info.latest_checkpoint

    def _prepare(self, is_continued: bool) -> None:
        context, batches = self._context, self._progress.batches_trained
        self._tensorboard = TensorboardMetrics(context, batches)
        self._training_loader = build_training_loader(self._trial, context, batches)
        self._validation_loader = build_validation_loader(self._trial, context, self._by_batch)
        self._epoch_length = context._epoch_length
        self._target = _plan.to_batches(self._plan.max_length, self._epoch_length)
        self._rungs = SearchRungs(self._core, self._length_in_batches)
        if self._has_state:
            self._checkpoints.load(is_continued)
        context._exchange.begin_training(context.models, context.optimizers)
        self._checkpoints.begin_training()
        self._batches = BatchTraining(self._trial, context, self._training_loader)
        self._batches.start()
        if self._plan.profiling_enabled:
            self._core.profiler.on()
        self._callbacks.call("on_training_start")
        self._checkpoints.restore_rank(self._progress)

    def _length_in_batches(self, length: Dict[str, int]) -> Optional[int]:
        unit = read_length(length, self._plan.global_batch_size, self._plan.records_per_epoch)
        return None if unit is None else _plan.to_batches(unit, self._epoch_length)

    # The loop.

    def _train(self) -> None:
        batches = self._progress.batches_trained
        if self._plan.step_zero_validation and batches == 0:
            self._validate()
        elif batches > 0 and not self._is_validated and self._needs_validation():
            self._validate_and_save()  # an earlier run was preempted when this validation was due
        is_done = self._is_done()
        while not is_done:
            self._train_window()
            if self._preempted:
                break
            if self._needs_validation():
                self._validate_and_save()
            is_done = self._is_done()
            if is_done:
                break
            if _plan.is_due(self._plan.checkpoint_period, self._progress.batches_trained, self._epoch_length):
                self._save_if_needed()
                is_done = self._is_done()  # a callback of the checkpoint may ask to stop
            self._report_progress()
            self._checkpoints.keep(self._progress)  # with all that was due after this batch
        if not self._preempted and not self._is_validated and self._progress.batches_trained >= self._target:
            self._validate_and_save()
        self._save_if_needed()
        if self._preempted:
            logger.info("preempted after %d batches", self._progress.batches_trained)
        elif self._progress.batches_trained >= self._target:
            self._report_progress()

    def _is_done(self) -> bool:
        return self._preempted or self._stop_requested() or self._progress.batches_trained >= self._target

    def _stop_requested(self) -> bool:
        """Whether any rank has asked to stop. Collective."""
        return any(self._context.distributed.allgather(self._context.get_stop_requested()))

    def _is_window_end(self) -> bool:
        """Whether something is due after the batch that was trained."""
        batches, length, plan = self._progress.batches_trained, self._epoch_length, self._plan
        periods = (plan.reporting_period, plan.validation_period, plan.checkpoint_period)
        is_any_due = any(_plan.is_due(period, batches, length) for period in periods)
        return is_any_due or batches >= self._target or self._rungs.is_reached(batches)

    def _needs_validation(self) -> bool:
        batches = self._progress.batches_trained
        is_due = _plan.is_due(self._plan.validation_period, batches, self._epoch_length)
        return is_due or batches >= self._target or self._rungs.is_reached(batches)

    def _train_window(self) -> None:
        """Trains until a report, validation or checkpoint is due or the trial is preempted, and reports
        training metrics."""
        for model in self._context.models:
            model.train()
        self._context._reducers.reset(is_training=True)
        self._is_validated = False
        self._set_status("training")
        window: List[Metrics] = []
        samples: List[Optional[int]] = []
        while True:
            window.append(self._train_batch())
            samples.append(self._batches.samples)
            self._checkpoints.poll()
            self._preempted = self._core.preempt.should_preempt()
            if self._preempted or self._is_window_end():
                break
            self._checkpoints.keep(self._progress)
        self._report_training(window, samples)

    def _train_batch(self) -> Metrics:
        progress, length = self._progress, self._epoch_length
        batch_idx = progress.batches_trained
        if batch_idx % length == 0:
            self._callbacks.start_epoch(batch_idx // length)
        metrics = self._batches.train(batch_idx)
        progress.batches_trained += 1
        progress.epochs_trained = progress.batches_trained // length
        if progress.batches_trained % length == 0:
            self._callbacks.call("on_training_epoch_end", batch_idx // length)
        return metrics

    def _set_status(self, status: str) -> None:
        if status != self._status:
            self._status = status
            self._core.train.set_status(status)

    # Reports.

    def _report_training(self, window: List[Metrics], samples: List[Optional[int]]) -> None:
        context, distributed = self._context, self._context.distributed
        self._progress.step_id += 1
        with context.profiler.span("from_device"):  # the first wait for the device since the last report
            window = to_host(window)
        with context.profiler.span("reduce_metrics"):
            batch_metrics = window
            if context._optimizations.average_training_metrics and distributed.size > 1:
                ranks = distributed.gather(window)
                counts = distributed.gather(samples) if context._is_elastic else None
                if ranks is not None:
                    batch_metrics = mean_of_ranks(ranks, counts)
            metrics = mean_of_batches(batch_metrics)
            reduced = context._reducers.reduce(True, distributed.allgather)
            metrics.update({name: as_scalar(value) for name, value in reduced.items()})
        self._add_lengths(metrics)
        if distributed.rank == 0:
            steps = self._progress.batches_trained
            self._core.train.report_training_metrics(steps, metrics, batch_metrics)
            self._tensorboard.write(steps, metrics, is_validation=False)
        self._callbacks.call("on_training_workload_end", metrics, batch_metrics)
        self._tensorboard.flush()

    def _add_lengths(self, metrics: Metrics) -> None:
        batches = self._progress.batches_trained
        metrics.setdefault("batches", batches)
        metrics.setdefault("epochs", self._plan.epochs_of(batches, self._epoch_length))

    def _report_progress(self) -> None:
        if self._context.distributed.rank == 0 and self._target < sys.maxsize:
            self._core.train.report_progress(min(self._progress.batches_trained / self._target, 1.0))

    # Validations and checkpoints.

    def _validate(self) -> bool:
        """Validates and reports. Returns whether the checkpoint policy wants a checkpoint."""
        context, steps = self._context, self._progress.batches_trained
        self._set_status("validating")
        self._checkpoints.wait_snapshot()  # a callback may replace the weights for the validation
        max_batches = 1 if self._plan.test_mode else None
        metrics = validate(
            self._trial, context, self._callbacks, self._validation_loader, self._by_batch, max_batches
        )
        metrics = {name: as_scalar(value) for name, value in metrics.items()}
        self._add_lengths(metrics)
        wants_checkpoint = self._best.wants_checkpoint(metrics)
        if context.distributed.rank == 0:
            self._core.train.report_validation_metrics(steps, metrics)
            self._tensorboard.write(steps, metrics, is_validation=True)
            self._tensorboard.flush()
        self._progress.last_val = steps
        self._is_validated = True
        if self._rungs.is_reached(steps):
            self._rungs.complete(steps, self._best.searcher_metric(metrics))
        return wants_checkpoint

    def _validate_and_save(self) -> None:
        if self._validate():
            self._save_if_needed()
        self._preempted = self._core.preempt.should_preempt()

    def _save_if_needed(self) -> None:
        """Saves a checkpoint unless the last one is of the same batch."""
        batches = self._progress.batches_trained
        if batches == 0 or self._progress.last_ckpt == batches:
            return
        self._set_status("checkpointing")
        self._progress.last_ckpt = batches
        self._checkpoints.save(self._progress, self._preempted)
        self._preempted = self._core.preempt.should_preempt() or self._preempted


def _require_wrapped(context: Any) -> None:
    if not context.models:
        raise errors.InvalidExperimentException("the trial has no model: call context.wrap_model() in __init__()")
    if not context.optimizers:
        raise errors.InvalidExperimentException("the trial has no optimizer: call context.wrap_optimizer() in __init__()")
