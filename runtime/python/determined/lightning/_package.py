"""Lightning is published as two packages with classes of their own, `lightning.pytorch` and `pytorch_lightning`."""

import importlib
import importlib.util
import sys
from typing import Any

_NAMES = ("lightning.pytorch", "pytorch_lightning")


def _find_name() -> str:
    """The package that the program has imported, else the one that is installed."""
    for name in _NAMES:
        if name in sys.modules:
            return name
    return _NAMES[0] if importlib.util.find_spec("lightning") is not None else _NAMES[1]


_NAME = _find_name()


def load(module: str) -> Any:
    """A module of Lightning.

    Args:
        module: its name without that of the package, for example "callbacks"

    Raises:
        ModuleNotFoundError: Lightning is not installed
    """
    return importlib.import_module(f"{_NAME}.{module}")
