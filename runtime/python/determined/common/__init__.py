"""What published programs import from Determined's common code."""

import importlib
from typing import Any

from determined._absent import refuse_names_of

_MODULES = ("api", "experimental", "util", "yaml")


def __getattr__(name: str) -> Any:
    """Imports the modules at their first use."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    return refuse_names_of(__name__)(name)
