"""The states of the generators of random numbers of this process."""

import contextlib
import random
from typing import Any, Dict, Iterator

import numpy as np
import torch


def seed_all(seed: int) -> None:
    """Seeds random, numpy and torch."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def get_rng_state() -> Dict[str, Any]:
    """The states, under the names in Determined's checkpoints."""
    state: Dict[str, Any] = {
        "cpu_rng_state": torch.random.get_rng_state(),
        "np_rng_state": np.random.get_state(),
        "random_rng_state": random.getstate(),
    }
    if torch.cuda.is_available():
        state["gpu_rng_state"] = torch.cuda.get_rng_state(torch.cuda.current_device())
    return state


def set_rng_state(state: Dict[str, Any]) -> None:
    torch.set_rng_state(state["cpu_rng_state"])
    np.random.set_state(state["np_rng_state"])
    random.setstate(state["random_rng_state"])
    if torch.cuda.is_available() and "gpu_rng_state" in state:
        torch.cuda.set_rng_state(state["gpu_rng_state"], device=torch.cuda.current_device())


class IsolatedRandomness:
    """Random numbers for a sampler, which neither depend on those of the training nor change them."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._state: Any = None

    def begin_epoch(self, epoch: int) -> None:
        """Sets the states from the seed and the epoch. Call it before in_use()."""
        mixed = (self._seed * 1_000_003 + epoch + 1) % 2**32
        self._state = (
            torch.Generator().manual_seed(mixed).get_state(),
            np.random.RandomState(mixed).get_state(legacy=False),
            random.Random(mixed).getstate(),
        )

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """In the block the global generators of the CPU have the sampler's states. The end of the block puts
        back the training's states."""
        training = _get_cpu_state()
        _set_cpu_state(self._state)
        try:
            yield
        finally:
            self._state = _get_cpu_state()
            _set_cpu_state(training)


def _get_cpu_state() -> Any:
    return torch.get_rng_state(), np.random.get_state(legacy=False), random.getstate()


def _set_cpu_state(state: Any) -> None:
    torch.set_rng_state(state[0])
    np.random.set_state(state[1])
    random.setstate(state[2])
