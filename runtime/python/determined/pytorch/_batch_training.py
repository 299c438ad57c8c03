"""Trains batch by batch."""

import time
from typing import Any, Iterator, Optional

from determined.pytorch._bucket_tuning import BucketTuning
from determined.pytorch._global_batches import BatchShares
from determined.pytorch._gradient_sizes import gradient_bytes, write_gradient_sizes
from determined.pytorch._metrics import Metrics, hold_batch_metrics


class BatchTraining:
    """Trains one batch: takes it from the loader, calls train_batch() and steps the learning rate schedulers.

    Attributes:
        samples: number of samples of the last batch that count in metrics; None: each rank counts the same
    """

    samples: Optional[int] = None

    def __init__(self, trial: Any, context: Any, loader: Any) -> None:
        self._trial = trial
        self._context = context
        self._loader = loader
        self._span = context.profiler.span
        self._batches = self._endless()
        sampler = getattr(loader, "batch_sampler", None)
        self._shares = sampler if isinstance(sampler, BatchShares) else None
        self._tuning: Optional[BucketTuning] = None
        self._sizes_file: Optional[str] = context._optimizations.grad_updates_size_file

    def start(self) -> None:
        """Makes the loader's iterator, which starts the loader's workers and may draw random numbers. Starts
        the tuning and the profiler of the trial."""
        self._iterator = iter(self._loader)
        self._begin_tuning()
        if self._context._torch_profiler is not None:
            self._context._torch_profiler.start()

    def stop(self) -> None:
        """Stops the profiler of the trial, if context.set_profiler() has set one."""
        if self._context._torch_profiler is not None:
            self._context._torch_profiler.stop()

    def _begin_tuning(self) -> None:
        """Uses the bucket size that an earlier run of the trial has found, or starts to try sizes."""
        context = self._context
        if not context._optimizations.auto_tune_tensor_fusion or context.distributed.size < 2:
            return

        def set_size(mib: int) -> None:
            context._exchange.set_bucket_size(context.models, mib)

        if context._tuned_bucket_mib is not None:
            set_size(context._tuned_bucket_mib)
        else:
            self._tuning = BucketTuning(gradient_bytes(context.models), set_size, context.distributed.allgather)
            context._tuned_bucket_mib = self._tuning.chosen

    def _tune(self, batch_idx: int, seconds: float) -> None:
        if self._tuning is None or not self._context._steps.ends_window(batch_idx) or not self._tuning.step(seconds):
            return
        size = self._context._tuned_bucket_mib = self._tuning.chosen
        if self._context.distributed.rank == 0:
            self._context._core.train.report_metrics("tuning", batch_idx + 1, {"tensor_fusion_threshold": size})

    def _endless(self) -> Iterator[Any]:
        """Yields the batches of the loader without end. det-submit's loaders repeat by themselves; others are
        started again.

        Raises:
            RuntimeError: the loader has no batches
        """
        while True:
            is_empty = True
            for batch in self._iterator:
                is_empty = False
                yield batch
            if is_empty:
                raise RuntimeError("the data loader of the training has no batches")
            self._iterator = iter(self._loader)

    def train(self, batch_idx: int) -> Metrics:
        """Trains the next batch. Returns its metrics as hold_batch_metrics() does."""
        context, span = self._context, self._span
        context._current_batch_idx = batch_idx
        with span("dataloader_next"):
            batch = next(self._batches)
        if self._shares is not None:
            share = self._shares.take()
            self.samples, context._steps.loss_weight = share.samples, share.loss_weight
        if context.experimental._moves_batches:
            batch = context.to_device(batch)
        epoch_idx = batch_idx // context._epoch_length
        begun = time.perf_counter()
        with span("train_batch"), context._batch_context(batch_idx):
            result = self._trial.train_batch(batch=batch, epoch_idx=epoch_idx, batch_idx=batch_idx)
        context._steps.end_batch(batch_idx)
        self._tune(batch_idx, time.perf_counter() - begun)
        if self._sizes_file is not None and context._steps.ends_window(batch_idx):
            write_gradient_sizes(self._sizes_file, context)
            self._sizes_file = None
        if context.lr_schedulers:
            with span("step_lr_schedulers"):
                self._step_schedulers(batch_idx)
        metrics = hold_batch_metrics(result)
        if context._torch_profiler is not None:
            context._torch_profiler.step()
        return metrics

    def _step_schedulers(self, batch_idx: int) -> None:
        context = self._context
        if not context._steps.ends_window(batch_idx):
            return
        frequency = context._optimizations.aggregation_frequency
        for scheduler in context.lr_schedulers:
            for _ in range(scheduler._steps_after(batch_idx, frequency, context._epoch_length)):
                scheduler.step()
