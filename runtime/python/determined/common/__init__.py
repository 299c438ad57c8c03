"""What published programs import from Determined's common code."""

import importlib
from typing import Any

from determined._refused import refuse

_MODULES = ("api", "experimental", "util", "yaml")


def __getattr__(name: str) -> Any:
    """Imports the modules at their first use."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    return refuse(__name__, "it is internal code of Determined")(name)
