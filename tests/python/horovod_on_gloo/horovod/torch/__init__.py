"""horovod.torch"""

import contextlib
import os

import torch
import torch.distributed as dist


class Compression:
    none, fp16 = "none", "fp16"


def init():
    os.environ.setdefault("USE_LIBUV", "0")  # Debian's torch is built without libuv
    dist.init_process_group("gloo")


def rank():
    return dist.get_rank()


def size():
    return dist.get_world_size()


def local_rank():
    return int(os.environ["LOCAL_RANK"])


def local_size():
    return int(os.environ["LOCAL_WORLD_SIZE"])


def cross_rank():
    return 0


def cross_size():
    return 1


def broadcast_parameters(state, root_rank):
    for tensor in state.values():
        dist.broadcast(tensor, root_rank)


def broadcast_optimizer_state(optimizer, root_rank):
    states = [optimizer.state_dict()]
    dist.broadcast_object_list(states, root_rank)
    optimizer.load_state_dict(states[0])


class _Distributed:
    """A base class that DistributedOptimizer() adds to the class of an optimizer."""

    def _prepare(self, named_parameters, compression, passes):
        names = [name for name, _ in named_parameters]
        if len(set(names)) < len(names):
            raise ValueError("Parameter names in named_parameters must be unique")
        self._parameters = [parameter for _, parameter in named_parameters]
        self._compression, self._passes = compression, passes
        self._counts = [0] * len(names)
        self._is_synchronized, self._synchronizes = False, True
        for index, parameter in enumerate(self._parameters):
            parameter.register_hook(lambda _, index=index: self._count(index))

    def _count(self, index):
        self._counts[index] += 1
        if self._counts[index] > self._passes:
            raise AssertionError("Gradients were computed more than backward_passes_per_step times before call to step()")

    def synchronize(self):
        assert self._counts == [self._passes] * len(self._counts), self._counts
        for parameter in self._parameters:
            gradient = parameter.grad.half() if self._compression == Compression.fp16 else parameter.grad
            dist.all_reduce(gradient)
            parameter.grad.copy_(gradient).div_(dist.get_world_size())
        self._counts = [0] * len(self._counts)
        self._is_synchronized = True

    @contextlib.contextmanager
    def skip_synchronize(self):
        self._synchronizes = False
        yield
        self._synchronizes = True

    def step(self, *arguments, **named):
        if self._synchronizes:
            self.synchronize()
        elif not self._is_synchronized:
            raise AssertionError("step() without synchronize() inside of skip_synchronize()")
        self._is_synchronized = False
        return super().step(*arguments, **named)

    def zero_grad(self, *arguments, **named):
        if any(self._counts):
            raise AssertionError("zero_grad() was called after backward() and before step() or synchronize()")
        return super().zero_grad(*arguments, **named)


def DistributedOptimizer(optimizer, named_parameters, compression=Compression.none, backward_passes_per_step=1):
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError("an optimizer of torch is needed")
    kind = type(optimizer)
    optimizer.__class__ = type(kind.__name__, (_Distributed, kind), {})
    optimizer._prepare(list(named_parameters), compression, backward_passes_per_step)
    print(f"horovod: backward_passes_per_step={backward_passes_per_step} compression={compression}", flush=True)
    return optimizer
