"""Only the errors: there is no master whose REST API could be called."""

import importlib
from typing import Any

from determined._absent import refuse_names_of


def __getattr__(name: str) -> Any:
    if name == "errors":
        return importlib.import_module("determined.common.api.errors")
    return refuse_names_of(__name__)(name)
