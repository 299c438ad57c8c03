"""`hvd` stands for horovod.torch, or for another module of Horovod, and imports that module at the first
use."""

import importlib
from typing import Any, Optional


class _Horovod:
    def __init__(self) -> None:
        self._type: Optional[str] = None
        self._reason = ""
        self._module: Any = None

    def require_horovod_type(self, horovod_type: str, reason: str) -> None:
        """Chooses the module: "torch", "tensorflow" or "tensorflow.keras". A later call must choose the same
        one.

        Args:
            reason: what needs the module, for the message of the ValueError
        """
        if self._type not in (None, horovod_type):
            raise ValueError(
                f"{reason} needs horovod.{horovod_type}, but horovod.{self._type} is needed already: {self._reason}"
            )
        self._type, self._reason = horovod_type, reason

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._module is None:
            self._module = importlib.import_module(f"horovod.{self._type or 'torch'}")
        return getattr(self._module, name)


hvd = _Horovod()
