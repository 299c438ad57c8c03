"""Backward passes and steps of the optimizers. A window is the batches between two steps."""

import contextlib
from typing import Any, Callable, Dict, List, Optional

from determined.pytorch._exchange import GradientExchange


class OptimizerSteps:
    """Steps the optimizers of a trial after each aggregation_frequency batches.

    Attributes:
        scaler: the GradScaler of the trial; None without one
        scales_losses: whether backward() and step() use the scaler by themselves
        loss_weight: by what backward() multiplies losses, in an elastic trial
    """

    def __init__(self, exchange: GradientExchange, aggregation_frequency: int) -> None:
        self.scaler: Any = None
        self.scales_losses = False
        self.loss_weight = 1.0
        self._exchange = exchange
        self._frequency = aggregation_frequency
        self._averages: Dict[int, bool] = {}

    def add(self, optimizer: Any, averages: bool) -> None:
        self._averages[id(optimizer)] = averages

    def ends_window(self, batch_idx: int) -> bool:
        """Whether the optimizers step after this batch."""
        return (batch_idx + 1) % self._frequency == 0

    def batch_context(self, batch_idx: int, models: List[Any]) -> Any:
        """A context manager for the training of a batch: ranks exchange gradients only in the last batch of a
        window."""
        return contextlib.nullcontext() if self.ends_window(batch_idx) else self._exchange.inside_window(models)

    def backward(self, loss: Any, gradient: Any, retain_graph: bool, create_graph: bool) -> None:
        if self.loss_weight != 1.0:
            loss = loss * self.loss_weight
        if self.scales_losses:
            loss = self.scaler.scale(loss)
        loss.backward(gradient=gradient, retain_graph=retain_graph, create_graph=create_graph)

    def step(
        self,
        optimizer: Any,
        batch_idx: int,
        clip_grads: Optional[Callable[[List[Any]], Any]],
        zeroes: bool,
        scaler: Any,
    ) -> None:
        if not self.ends_window(batch_idx):
            return
        self._exchange.finish_gradients(optimizer)
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        if self._frequency > 1 and self._averages.get(id(optimizer), True):
            _divide_gradients(parameters, self._frequency)
        if scaler is None and self.scales_losses:
            scaler = self.scaler
            if clip_grads is not None:
                scaler.unscale_(optimizer)
        if clip_grads is not None:
            clip_grads(parameters)
        self._exchange.step(optimizer, optimizer.step if scaler is None else lambda: scaler.step(optimizer))
        if zeroes:
            optimizer.zero_grad()

    def end_batch(self, batch_idx: int) -> None:
        """Call it after each batch: at the end of a window it adapts the scale of losses."""
        if self.scales_losses and self.ends_window(batch_idx):
            self.scaler.update()


def _divide_gradients(parameters: List[Any], divisor: int) -> None:
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad.data.div_(divisor)
