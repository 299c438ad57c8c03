"""Tensors in memory of CUDA devices, which libdet copies itself."""

import logging
import sys
from typing import Any, Callable

from determined import _lib
from determined.core import _arrays
from determined.core._distributed import DistributedContext

logger = logging.getLogger("determined.core")

# Whether libdet reads and writes the memory of a tensor itself.
CanCopy = Callable[[_arrays.Array], bool]


def is_on_host(array: _arrays.Array) -> bool:
    return array.device == "cpu"


class DeviceMemory:
    """Decides which tensors libdet copies from and to a device, by way of its own pinned memory.

    These are the tensors on the rank's current CUDA device. Those on other devices, and all of them if libdet can't use
    CUDA, are copied by torch.
    """

    def __init__(self, ranks: DistributedContext) -> None:
        self._ranks = ranks
        self._is_refused = False

    def prepare(self) -> None:
        """Call it before each save and load. Collective."""
        cuda = _initialized_cuda()
        if not self._ranks._has_devices and not self._is_refused:
            wants = cuda is not None
            if any(self._ranks.allgather(wants)) if self._ranks.size > 1 else wants:
                self._add_devices()
        if cuda is not None and self._ranks._has_devices:
            self._ranks._use_stream(cuda.current_stream().cuda_stream)

    def _add_devices(self) -> None:
        try:
            self._ranks._add_devices()
        except _lib.LibraryError as problem:
            if problem.code != "transport":
                raise
            self._is_refused = True
            logger.warning("tensors on CUDA devices are copied by torch, which takes longer: %s", problem)

    def can_copy(self, array: _arrays.Array) -> bool:
        if is_on_host(array):
            return True
        if array.device != "cuda" or not self._ranks._has_devices:
            return False
        index: int = sys.modules["torch"].cuda.current_device()
        return bool(array.value.device.index == index)

    def stage(self, array: _arrays.Array) -> _arrays.Array:
        """The same elements in memory that libdet can copy."""
        if self.can_copy(array):
            return array
        copied = _arrays.describe(array.value.cpu())
        assert copied is not None
        return copied


def _initialized_cuda() -> Any:
    """torch.cuda if the program uses it, else None."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None
