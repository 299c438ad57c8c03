"""Copies of tensors that are not on the CPU."""

import sys
from typing import Any, Dict, List

from determined.core import _arrays


class Staging:
    """Copies of tensors on devices in pinned memory of the host, which is kept for the next save."""

    def __init__(self) -> None:
        self._copies: Dict[str, Any] = {}
        self._pending: List[Any] = []

    def stage(self, name: str, array: _arrays.Array) -> _arrays.Array:
        """Starts the copy of a tensor. wait() ends all."""
        torch = sys.modules["torch"]
        value = array.value
        if array.device != "cuda":
            copied = _arrays.describe(value.cpu())
        else:
            host = self._copies.get(name)
            if host is None or host.shape != value.shape or host.dtype != value.dtype:
                host = self._copies[name] = torch.empty(value.shape, dtype=value.dtype, pin_memory=True)
            host.copy_(value, non_blocking=True)
            self._pending.append(value.device)
            copied = _arrays.describe(host)
        assert copied is not None
        return copied

    def wait(self) -> None:
        for device in set(self._pending):
            sys.modules["torch"].cuda.current_stream(device).synchronize()
        self._pending.clear()
