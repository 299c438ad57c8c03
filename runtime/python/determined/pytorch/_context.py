"""The context of a PyTorchTrial: it wraps models and optimizers, and trains."""

import contextlib
import logging
from typing import Any, Callable, Dict, List, Optional, Union

import torch

from determined import core, errors
from determined.pytorch._data import to_device
from determined.pytorch._exchange import GradientExchange, find_device
from determined.pytorch._experimental_context import PyTorchExperimentalContext
from determined.pytorch._global_batches import warn_of_batch_norm
from determined.pytorch._lr_scheduler import LRScheduler
from determined.pytorch._optimizations import Optimizations
from determined.pytorch._optimizer_step import OptimizerSteps
from determined.pytorch._reducer import MetricReducer, WrappedReducers
from determined.pytorch._trial_values import TrialValues

logger = logging.getLogger("determined.pytorch")


class PyTorchTrialContext(TrialValues):
    """Obtained from pytorch.init(), or as the argument of a PyTorchTrial that a launcher starts.

    Attributes:
        distributed: the ranks, a core.DistributedContext
        device: where this rank trains
        models, optimizers, lr_schedulers: the wrapped objects, in the order in which they were wrapped
        profiler: the profiler of the Core API
        experimental: a PyTorchExperimentalContext
    """

    def __init__(
        self,
        core_context: core.Context,
        exchange: GradientExchange,
        hparams: Optional[Dict[str, Any]],
        exp_conf: Optional[Dict[str, Any]],
        optimizations: Optimizations,
        enable_tensorboard_logging: bool,
    ) -> None:
        super().__init__(core_context, hparams, exp_conf, enable_tensorboard_logging)
        self.device = find_device(core_context.distributed)
        self.models: List[Any] = []
        self.optimizers: List[Any] = []
        self.lr_schedulers: List[LRScheduler] = []
        self.profiler = core_context.profiler
        self.experimental = PyTorchExperimentalContext(self)
        self._exchange = exchange
        self._optimizations = optimizations
        self._steps = OptimizerSteps(exchange, optimizations.aggregation_frequency)
        self._reducers = WrappedReducers()
        self._warned_types: Any = set()
        self._torch_profiler: Any = None
        self._tuned_bucket_mib: Optional[int] = None

    # Wrapping.

    def wrap_model(self, model: Any) -> Any:
        """Moves a model to the device and, with several ranks, makes it exchange gradients between them.

        Returns:
            the model to use, also for the parameters of the optimizer
        """
        model = model.to(self.device)
        if self._is_elastic:
            warn_of_batch_norm(model)
        wrapped = self._exchange.wrap_model(model, self.device, self._optimizations)
        self.models.append(wrapped)
        return wrapped

    def wrap_optimizer(
        self,
        optimizer: Any,
        backward_passes_per_step: int = 1,
        fp16_compression: Optional[bool] = None,
        average_aggregated_gradients: Optional[bool] = None,
    ) -> Any:
        """Registers an optimizer of the parameters of a wrapped model.

        Args:
            backward_passes_per_step: how often train_batch() calls backward() for this optimizer; matters to Horovod
            fp16_compression: exchange gradients with 16 bits; None: as the configuration says
            average_aggregated_gradients: divide the gradients by aggregation_frequency before a step; None: as the
                configuration says

        Returns:
            the optimizer to use

        Raises:
            InvalidExperimentException: backward_passes_per_step is below 1
        """
        if backward_passes_per_step < 1:
            raise errors.InvalidExperimentException(
                f"backward_passes_per_step must be at least 1, not {backward_passes_per_step}"
            )
        optimizations = self._optimizations
        compress = optimizations.gradient_compression if fp16_compression is None else fp16_compression
        averages = (
            optimizations.average_aggregated_gradients
            if average_aggregated_gradients is None
            else average_aggregated_gradients
        )
        batches = backward_passes_per_step * optimizations.aggregation_frequency
        wrapped = self._exchange.wrap_optimizer(optimizer, self.models, batches, compress)
        self._steps.add(wrapped, averages)
        self.optimizers.append(wrapped)
        return wrapped

    def wrap_lr_scheduler(self, lr_scheduler: Any, step_mode: LRScheduler.StepMode, frequency: int = 1) -> Any:
        """Registers a scheduler of torch, whose state checkpoints hold. Its optimizer must be wrapped before.

        Args:
            step_mode: when the training loop calls its step()
            frequency: calls step() once per so many epochs or batches

        Returns:
            the scheduler that was given

        Raises:
            InvalidExperimentException: its optimizer is not wrapped; a ReduceLROnPlateau without MANUAL_STEP
        """
        if isinstance(lr_scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            if step_mode is not LRScheduler.StepMode.MANUAL_STEP:
                raise errors.InvalidExperimentException(
                    "ReduceLROnPlateau needs LRScheduler.StepMode.MANUAL_STEP, because its step() takes a metric: call it "
                    "in a PyTorchCallback, for example\n"
                    "    def on_validation_end(self, metrics):\n"
                    "        self.lr_scheduler.step(metrics['validation_loss'])"
                )
        optimizer = getattr(lr_scheduler, "optimizer", None)
        if optimizer is None or all(optimizer is not each for each in self.optimizers):
            raise errors.InvalidExperimentException(
                "the optimizer of a learning rate scheduler must be wrapped first, by context.wrap_optimizer()"
            )
        self.lr_schedulers.append(LRScheduler(lr_scheduler, step_mode, frequency))
        return lr_scheduler

    def wrap_scaler(self, scaler: Any) -> Any:
        """Registers a GradScaler, whose state checkpoints hold. Call it once, before wrap_model().

        Returns:
            the scaler that was given

        Raises:
            InvalidExperimentException: it is called again, or after wrap_model()
        """
        if self._steps.scaler is not None or self.models:
            raise errors.InvalidExperimentException("wrap_scaler() must be called once, before wrap_model()")
        self._steps.scaler = scaler
        return scaler

    def configure_apex_amp(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: Apex's AMP has been replaced by torch's own."""
        raise errors.InvalidExperimentException(
            "configure_apex_amp() is not available: call context.experimental.use_amp(), which uses torch.autocast"
        )

    def set_profiler(self, *args: Any, **kwargs: Any) -> None:
        """Profiles the training by torch.profiler.profile with these arguments; traces go to get_tensorboard_path()."""
        directory = str(self.get_tensorboard_path())
        kwargs.setdefault("on_trace_ready", torch.profiler.tensorboard_trace_handler(directory))
        self._torch_profiler = torch.profiler.profile(*args, **kwargs)

    # Training.

    def to_device(self, data: Any) -> Any:
        """Moves tensors and arrays to the device, in maps, lists and tuples too."""
        with self.profiler.span("to_device"):
            return to_device(data, self.device, self._warned_types)

    def wait_snapshot(self) -> None:
        """Waits until the last checkpoint has copied the weights and the state of the optimizers. step_optimizer() does so
        by itself: for trials that change weights in another way."""
        self._core.checkpoint.wait_snapshot()

    def backward(
        self, loss: Any, gradient: Any = None, retain_graph: bool = False, create_graph: bool = False
    ) -> None:
        """Computes the gradients of a loss. Use it in place of loss.backward()."""
        self._steps.backward(loss, gradient, retain_graph, create_graph)

    def step_optimizer(
        self,
        optimizer: Any,
        clip_grads: Optional[Callable[[List[Any]], Any]] = None,
        auto_zero_grads: bool = True,
        scaler: Any = None,
    ) -> None:
        """Steps an optimizer and then sets its gradients to zero, in every aggregation_frequency-th batch. In
        other batches does nothing.

        Args:
            clip_grads: called with the parameters before the step, for instance to clip the norm of their gradients
            auto_zero_grads: False: the trial sets gradients to zero itself; not with aggregation_frequency above 1
            scaler: a GradScaler of the trial. The trial calls its update(), and clip_grads sees scaled
                gradients
        """
        if not auto_zero_grads and self._optimizations.aggregation_frequency > 1:
            raise errors.InvalidExperimentException(
                "step_optimizer(auto_zero_grads=False) does not work with aggregation_frequency above 1"
            )
        self._steps.step(optimizer, self._batch_idx(), clip_grads, auto_zero_grads, scaler)

    def _batch_context(self, batch_idx: int) -> Any:
        """A context manager for the call of train_batch()."""
        if not self.experimental._uses_amp:
            return self._steps.batch_context(batch_idx, self.models)
        stack = contextlib.ExitStack()
        stack.enter_context(self._steps.batch_context(batch_idx, self.models))
        stack.enter_context(self.experimental._autocast())
        return stack

    # Metrics.

    def wrap_reducer(
        self,
        reducer: Union[MetricReducer, Callable[..., Any]],
        name: Optional[str] = None,
        for_training: bool = True,
        for_validation: bool = True,
    ) -> MetricReducer:
        """Registers a metric that is computed from all batches of all ranks.

        Args:
            reducer: a MetricReducer, or a function of the list of all values that were passed to update() of
                the returned object
            name: name of the metric; None: the reducer returns a map of names to values

        Returns:
            the reducer, or an object with update(value) for a function
        """
        return self._reducers.add(reducer, name, for_training, for_validation)

    def reset_reducers(self) -> None:
        """Calls reset() of all reducers."""
        self._reducers.reset()

    def get_tensorboard_writer(self) -> Any:
        """A writer of TensorBoard's event files, with add_scalar(name, value, step). It is torch's
        SummaryWriter if the package tensorboard is installed."""
        if self._writer is None:
            from determined.tensorboard import make_writer

            self._writer = make_writer(self.get_tensorboard_path())
        return self._writer
