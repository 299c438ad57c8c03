"""Memory that only the step of an optimizer changes: it may be copied until then."""

import sys
import types
import weakref
from typing import Any, Callable, Dict, Iterable, Iterator, List

from determined.core import _arrays


def find_step_memory(optimizers: Iterable[Any]) -> Dict[int, int]:
    """The memory on devices of the parameters of optimizers, and of their state: number of bytes by address.

    An optimizer with `capturable` groups is left out: its step may be part of a CUDA graph, which calls no hook.
    """
    memory: Dict[int, int] = {}
    for optimizer in optimizers:
        if any(group.get("capturable") for group in optimizer.param_groups):
            continue
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        for tensor in _tensors_in([parameters, list(optimizer.state.values())]):
            array = _describe(tensor)
            if array is not None and array.device != "cpu":
                memory[array.address] = max(array.span_bytes, memory.get(array.address, 0))
    return memory


def _tensors_in(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors_in(each)
    elif isinstance(value, sys.modules["torch"].Tensor):
        yield value


def _describe(tensor: Any) -> Any:
    try:
        return _arrays.describe_part(tensor).array if _arrays.is_sharded(tensor) else _arrays.describe(tensor)
    except TypeError:  # it can't be saved
        return None


class StepHooks:
    """Calls a method before each step of optimizers, and knows which of them have stepped."""

    def __init__(self, method: Callable[[], None]) -> None:
        self._method = weakref.WeakMethod(method)  # its object has this one
        self._optimizers: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self._stepped: "weakref.WeakSet[Any]" = weakref.WeakSet()

    def add(self, optimizers: Iterable[Any]) -> None:
        for optimizer in optimizers:
            if optimizer not in self._optimizers:
                self._optimizers.add(optimizer)
                _call_before_step(optimizer, weakref.ref(self))  # the optimizer may live longer

    def take_stepped(self) -> List[Any]:
        """The optimizers whose step() was called since the last call."""
        stepped = list(self._stepped)
        self._stepped.clear()
        return stepped

    def before_step(self, optimizer: Any) -> None:
        self._stepped.add(optimizer)
        method = self._method()
        if method is not None:
            method()


def _call_before_step(optimizer: Any, hooks: "weakref.ref[StepHooks]") -> None:
    def call(stepping: Any, *_: Any) -> None:
        alive = hooks()
        if alive is not None:
            alive.before_step(stepping)

    if hasattr(optimizer, "register_step_pre_hook"):  # since torch 2.0
        optimizer.register_step_pre_hook(call)
        return
    step = optimizer.step

    def call_and_step(stepping: Any, *args: Any, **kwargs: Any) -> Any:
        call(stepping)
        return step(*args, **kwargs)

    # Schedulers of torch 1.13 expect a method, and look for an attribute of it.
    call_and_step.__dict__.update(getattr(step, "__dict__", {}))
    optimizer.step = types.MethodType(call_and_step, optimizer)


def as_list(optimizers: Any) -> List[Any]:
    """A list of an optimizer, of several, or of none (None)."""
    if optimizers is None:
        return []
    return list(optimizers) if isinstance(optimizers, (list, tuple)) else [optimizers]
