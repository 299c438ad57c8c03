"""Trains batch by batch."""

from typing import Any, Iterator

from determined.pytorch._metrics import Metrics, read_batch_metrics


class BatchTraining:
    """Trains one batch: takes it from the loader, calls train_batch() and steps the learning rate schedulers."""

    def __init__(self, trial: Any, context: Any, loader: Any) -> None:
        self._trial = trial
        self._context = context
        self._loader = loader
        self._span = context.profiler.span
        self._batches = self._endless()

    def start(self) -> None:
        """Makes the loader's iterator, which starts its workers and draws random numbers."""
        self._iterator = iter(self._loader)

    def _endless(self) -> Iterator[Any]:
        """The batches of the loader. One that is not det-submit's begins again at its end."""
        while True:
            is_empty = True
            for batch in self._iterator:
                is_empty = False
                yield batch
            if is_empty:
                raise RuntimeError("the data loader of the training has no batches")
            self._iterator = iter(self._loader)

    def train(self, batch_idx: int) -> Metrics:
        """Trains the next batch. Returns its metrics."""
        context, span = self._context, self._span
        context._current_batch_idx = batch_idx
        with span("dataloader_next"):
            batch = next(self._batches)
        if context.experimental._moves_batches:
            batch = context.to_device(batch)
        epoch_idx = batch_idx // context._epoch_length
        with span("train_batch"), context._batch_context(batch_idx):
            result = self._trial.train_batch(batch=batch, epoch_idx=epoch_idx, batch_idx=batch_idx)
        context._steps.end_batch(batch_idx)
        if context.lr_schedulers:
            with span("step_lr_schedulers"):
                self._step_schedulers(batch_idx)
        with span("from_device"):
            metrics = read_batch_metrics(result)
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
