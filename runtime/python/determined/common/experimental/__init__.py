"""The names of determined.experimental.client, under a former name of Determined."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module("determined.experimental.client"), name)
