"""How ranks exchange gradients: not at all, by torch's DistributedDataParallel, or by Horovod."""

import contextlib
import logging
import os
from typing import Any, Callable, Dict, Iterator, List, Optional

import torch
import torch.distributed as dist

import determined
from determined.core import DistributedContext
from determined.pytorch._gradient_order import GradientOrder
from determined.pytorch._optimizations import Optimizations

_logger = logging.getLogger("determined.pytorch")


def _can_add_half(device: torch.device) -> bool:
    """Whether torch's backend adds numbers of 16 bits; gloo of Debian's torch 2.14 does not. Collective; warns."""
    try:
        dist.all_reduce(torch.zeros(1, dtype=torch.float16, device=device))
    except RuntimeError as problem:
        backend = f"{dist.get_backend()} of torch {torch.__version__}"
        _logger.warning("gradient_compression has no effect: %s: %s", backend, problem)
        return False
    return True


class WrappedModel(torch.nn.parallel.DistributedDataParallel):
    """DistributedDataParallel that also has the attributes of its model, and whose bucket size can be
    changed.

    Attributes:
        gradient_order: the order in which gradients become ready
    """

    def __init__(self, model: Any, device_ids: Any, bucket_mib: Optional[float], compresses: bool) -> None:
        self.__dict__["_wrapped_with"] = (model, device_ids, compresses)
        buckets = {} if bucket_mib is None else {"bucket_cap_mb": bucket_mib}
        super().__init__(model, device_ids=device_ids, **buckets)
        self.__dict__["_wrapped_with"] = (model, device_ids, False)
        self.gradient_order = GradientOrder(self)
        if compresses:
            self.compress_gradients()

    def compress_gradients(self) -> None:
        """Makes the ranks exchange gradients as numbers of 16 bits. Call it before the first step."""
        model, device_ids, compresses = self._wrapped_with
        if not compresses and _can_add_half(next(model.parameters()).device):
            from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

            self.register_comm_hook(None, default_hooks.fp16_compress_hook)
            self.__dict__["_wrapped_with"] = (model, device_ids, True)

    def set_bucket_size(self, bucket_mib: float) -> None:
        """Sets the bucket size, in MiB, from the next batch on."""
        model, device_ids, compresses = self._wrapped_with
        is_training = self.training
        self.gradient_order.remove_hooks()
        self.__init__(model, device_ids, bucket_mib, compresses)  # type: ignore[misc]
        self.train(is_training)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("module"), name)


def unwrap(model: Any) -> Any:
    """The model inside of DistributedDataParallel, or the model itself."""
    return model.module if isinstance(model, torch.nn.parallel.DistributedDataParallel) else model


class GradientExchange:
    """How ranks exchange gradients. This base class is for a single rank and exchanges nothing."""

    def wrap_model(self, model: Any, device: Any, optimizations: Optimizations) -> Any:
        return model

    def wrap_optimizer(self, optimizer: Any, models: List[Any], batches: int, compress: bool) -> Any:
        """Returns the optimizer to use.

        Args:
            batches: number of backward passes between two steps
            compress: exchange numbers of 16 bits
        """
        return optimizer

    @contextlib.contextmanager
    def inside_window(self, models: List[Any]) -> Iterator[None]:
        """A block that trains a batch after which no optimizer steps."""
        yield

    def set_bucket_size(self, models: List[Any], bucket_mib: float) -> None:
        """Sets the size of the buckets in which gradients are exchanged, in MiB."""

    def gradient_orders(self, models: List[Any]) -> Optional[List[Optional[List[int]]]]:
        """The order in which the gradients of each model become ready; None if this does not matter."""
        return None

    def restore_gradient_orders(self, models: List[Any], orders: List[Optional[List[int]]]) -> None:
        """Makes the ranks exchange gradients as those that recorded these orders. Collective; call it before the first
        batch."""

    def average(self, tensor: Any) -> Any:
        """The mean of a tensor over the ranks. Collective."""
        return tensor

    def begin_training(self, models: List[Any], optimizers: List[Any]) -> None:
        """Sends the chief's weights to all ranks, if wrap_model() has not done so."""

    def finish_gradients(self, optimizer: Any) -> None:
        """Waits until the gradients of all ranks are combined, if backward() does not do so."""

    def step(self, optimizer: Any, step: Callable[[], Any]) -> None:
        """Calls step(). The caller has called finish_gradients()."""
        step()

    @contextlib.contextmanager
    def in_evaluation(self, models: List[Any]) -> Iterator[None]:
        """A block that validates. Ranks may have different numbers of batches in it."""
        yield


class TorchExchange(GradientExchange):
    """DistributedDataParallel averages the gradients of all ranks."""

    def wrap_model(self, model: Any, device: Any, optimizations: Optimizations) -> Any:
        if not any(parameter.requires_grad for parameter in model.parameters()):
            return model  # DistributedDataParallel refuses it
        devices = [device.index] if device.type == "cuda" else None
        return WrappedModel(
            model, devices, optimizations.tensor_fusion_threshold, optimizations.gradient_compression
        )

    def wrap_optimizer(self, optimizer: Any, models: List[Any], batches: int, compress: bool) -> Any:
        if compress:
            for model in _wrapped(models):
                model.compress_gradients()
        return optimizer

    def set_bucket_size(self, models: List[Any], bucket_mib: float) -> None:
        for model in _wrapped(models):
            model.set_bucket_size(bucket_mib)

    def gradient_orders(self, models: List[Any]) -> Optional[List[Optional[List[int]]]]:
        return [model.gradient_order.indices for model in _wrapped(models)]

    def restore_gradient_orders(self, models: List[Any], orders: List[Optional[List[int]]]) -> None:
        for model, indices in zip(_wrapped(models), orders):
            if indices is not None:
                model.gradient_order.restore(indices)

    def average(self, tensor: Any) -> Any:
        mean = tensor.detach().clone()
        dist.all_reduce(mean)
        return mean.div_(dist.get_world_size())

    @contextlib.contextmanager
    def inside_window(self, models: List[Any]) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for model in _wrapped(models):
                stack.enter_context(model.no_sync())
            yield

    @contextlib.contextmanager
    def in_evaluation(self, models: List[Any]) -> Iterator[None]:
        """Sends the chief's buffers to all ranks. Otherwise DistributedDataParallel does so in the first
        forward(), and waits forever for ranks that have no batch."""
        for model in _wrapped(models):
            for buffer in model.module.buffers():
                dist.broadcast(buffer, 0)
            model.require_forward_param_sync = False
        yield


def _wrapped(models: List[Any]) -> List[Any]:
    return [model for model in models if isinstance(model, torch.nn.parallel.DistributedDataParallel)]


class HorovodExchange(GradientExchange):
    """Horovod's DistributedOptimizer combines the gradients of all ranks."""

    def __init__(self, hvd: Any) -> None:
        self._hvd = hvd

    def wrap_optimizer(self, optimizer: Any, models: List[Any], batches: int, compress: bool) -> Any:
        compression = self._hvd.Compression.fp16 if compress else self._hvd.Compression.none
        return self._hvd.DistributedOptimizer(
            optimizer,
            named_parameters=_named_parameters_of(optimizer, models),
            backward_passes_per_step=batches,
            compression=compression,
        )

    def average(self, tensor: Any) -> Any:
        return self._hvd.allreduce(tensor.detach())

    def begin_training(self, models: List[Any], optimizers: List[Any]) -> None:
        for model in models:
            self._hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        for optimizer in optimizers:
            self._hvd.broadcast_optimizer_state(optimizer, root_rank=0)

    def finish_gradients(self, optimizer: Any) -> None:
        optimizer.synchronize()

    def step(self, optimizer: Any, step: Callable[[], Any]) -> None:
        with optimizer.skip_synchronize():
            step()


def _named_parameters_of(optimizer: Any, models: List[Any]) -> Any:
    """The parameters of an optimizer with names that are unique among all models."""
    names: Dict[int, str] = {}
    for index, model in enumerate(models):
        for name, parameter in model.named_parameters():
            names[id(parameter)] = f"{index}.{name}"
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    return [(names.get(id(each), f"parameter.{index}"), each) for index, each in enumerate(parameters)]


class Ranks:
    """The ranks of the training and how they exchange gradients. distributed is None for a single rank.

    owns_process_group: close() destroys torch's process group
    """

    def __init__(
        self, distributed: Optional[DistributedContext], exchange: GradientExchange, owns_process_group: bool = False
    ) -> None:
        self.distributed = distributed
        self.exchange = exchange
        self._owns_process_group = owns_process_group

    def close(self) -> None:
        """Destroys the process group if this object has made it. Call it when all ranks have finished their
        collective operations, because the other ranks of an unfinished one would fail."""
        if self._owns_process_group and dist.is_initialized():
            dist.destroy_process_group()
        self._owns_process_group = False


def connect_in_trial(slots: int) -> Ranks:
    """Connects the ranks that a launcher of det-submit has started.

    Raises:
        ValueError: there are several slots and no launcher
    """
    backend = determined._DistributedBackend()
    if backend.use_horovod():
        from determined.horovod import hvd

        hvd.require_horovod_type("torch", "PyTorchTrial")
        hvd.init()
        return Ranks(DistributedContext.from_horovod(hvd), HorovodExchange(hvd))
    # With `slurm: {launch: rank}` srun starts each rank with torchrun's variables, and no launcher sets
    # USE_TORCH_DISTRIBUTED.
    if backend.use_torch() or (slots > 1 and "LOCAL_WORLD_SIZE" in os.environ and "RANK" in os.environ):
        return _connect_torch(DistributedContext.from_torch_distributed())
    if slots > 1:
        raise ValueError(
            "several slots need a launcher, which starts a rank for each: "
            "python3 -m determined.launch.torch_distributed (or determined.launch.horovod)"
        )
    return Ranks(None, GradientExchange())


def connect_locally(distributed: Optional[DistributedContext]) -> Ranks:
    """The ranks that a program outside of a trial has connected, if any."""
    if distributed is None or distributed.size < 2:
        return Ranks(distributed, GradientExchange())
    return _connect_torch(distributed)


def find_device(distributed: DistributedContext) -> torch.device:
    """The device on which this rank trains: with several ranks the GPU with the number of the local rank, else
    the first GPU; without GPUs the CPU. Makes a GPU the current device.

    Raises:
        ValueError: the node shows this rank fewer GPUs than it has ranks
    """
    if not torch.cuda.is_available():
        return torch.device("cpu")
    index, visible = distributed.local_rank if distributed.size > 1 else 0, torch.cuda.device_count()
    if index >= visible:
        raise ValueError(
            f"rank {distributed.rank} is local rank {index} and needs the GPU with this number, but sees {visible} "
            f"{'GPU' if visible == 1 else 'GPUs'} (CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', 'not set')}): "
            "each rank of a node needs a GPU of its own, and must see those of all its node's ranks. Ask for a slot "
            "for each rank (resources.slots_per_trial), start no more ranks on a node than it has slots, and do not "
            "bind GPUs to tasks (--gpus-per-task, --gpu-bind)"
        )
    device = torch.device("cuda", index)
    torch.cuda.set_device(device)
    return device


def _connect_torch(distributed: DistributedContext) -> Ranks:
    backend = "nccl" if find_device(distributed).type == "cuda" else "gloo"
    owns_process_group = not dist.is_initialized()
    if owns_process_group:
        _init_process_group(backend)
    exchange = TorchExchange() if distributed.size > 1 else GradientExchange()
    return Ranks(distributed, exchange, owns_process_group)


def _init_process_group(backend: str) -> None:
    try:
        dist.init_process_group(backend)
    except RuntimeError as problem:
        # Torch 2.4 and newer uses libuv by default. Some builds, for instance Debian's, lack it.
        if "libuv" not in str(problem):
            raise
        os.environ["USE_LIBUV"] = "0"
        dist.init_process_group(backend)
