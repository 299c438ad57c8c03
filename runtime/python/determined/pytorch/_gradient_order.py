"""Makes a training that continues from a checkpoint exchange gradients in the same buckets as before.

DistributedDataParallel exchanges gradients in buckets. Before its second exchange it makes new buckets, in the order in
which the gradients of rank 0 became ready in the first exchange. A process that continues from a checkpoint would begin
with the first buckets again. Backends add the values of three and more ranks in an order that depends on the place of a
value in its bucket, so the weights would differ by rounding. Therefore checkpoints hold the order, and before its first
batch the new process exchanges gradients of zero in this order, once.
"""

import functools
import logging
from typing import Any, Dict, List, Optional

import torch

logger = logging.getLogger("determined.pytorch")


class GradientOrder:
    """Records the order in which gradients become ready in the first exchange of a DistributedDataParallel. Its hooks
    are removed at the end of that backward pass.

    Attributes:
        indices: the order, as indices into the parameters that have gradients; None before the first exchange
    """

    def __init__(self, model: Any) -> None:
        self.indices: Optional[List[int]] = None
        self._model = model
        self._parameters = _exchanged_parameters(model.module)
        self._ready: Dict[int, None] = {}
        self._hooks = [
            parameter.register_hook(functools.partial(self._record, index))
            for index, parameter in enumerate(self._parameters)
        ]

    def _record(self, index: int, _: Any) -> None:
        if self.indices is not None or not self._model.require_backward_grad_sync:
            return
        self._ready[index] = None
        if len(self._ready) == len(self._parameters):
            self.indices = list(self._ready)
            torch.autograd.Variable._execution_engine.queue_callback(self.remove_hooks)

    def remove_hooks(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def restore(self, indices: List[int]) -> None:
        """Makes the buckets of a recorded order. Does nothing if the order is that of another model. Collective; call it
        before the first batch."""
        if sorted(indices) != list(range(len(self._parameters))):
            return
        self.remove_hooks()
        if any(_has_hooks(parameter) for parameter in self._parameters):
            return  # hooks of the trial might step an optimizer
        gradients = [parameter.grad for parameter in self._parameters]
        try:
            self._exchange_zeros(indices)
        except AttributeError as problem:  # DistributedDataParallel has no public name for this
            logger.warning("weights may differ by rounding from those of an uninterrupted training: %s", problem)
            return
        finally:
            for parameter, gradient in zip(self._parameters, gradients):
                parameter.grad = gradient
        self.indices = list(indices)

    def _exchange_zeros(self, indices: List[int]) -> None:
        reducer = self._model.reducer
        rebuild = reducer._rebuild_buckets
        if hasattr(reducer, "prepare_for_forward"):  # since torch 1.9
            reducer.prepare_for_forward()
        reducer.prepare_for_backward([])
        for index in indices:
            parameter = self._parameters[index]
            parameter.grad = None
            parameter.backward(torch.zeros_like(parameter))
        rebuild()


def _exchanged_parameters(module: Any) -> List[Any]:
    """The parameters whose gradients are exchanged. None of them if some gradients are sparse, because zeros are not."""
    if any(getattr(each, "sparse", False) is True for each in module.modules()):
        return []
    ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
    named = module.named_parameters()
    return [parameter for name, parameter in named if parameter.requires_grad and name not in ignored]


def _has_hooks(parameter: Any) -> bool:
    return bool(parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None))
