"""`hvd`, a stand-in of horovod.torch (or of another part of Horovod) that is imported at its first use."""

import importlib
from typing import Any, Optional


class _Horovod:
    def __init__(self) -> None:
        self._type: Optional[str] = None
        self._reason = ""
        self._module: Any = None

    def require_horovod_type(self, horovod_type: str, reason: str) -> None:
        """Chooses "torch" or "tensorflow" or "tensorflow.keras". A later call must choose the same.

        Args:
            reason: what needs it, for the message
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
