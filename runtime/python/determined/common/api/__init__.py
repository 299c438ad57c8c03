"""Only the errors: there is no master whose REST API could be called."""

import importlib
from typing import Any

from determined._refused import refuse


def __getattr__(name: str) -> Any:
    if name == "errors":
        return importlib.import_module("determined.common.api.errors")
    return refuse(__name__, "there is no master: use determined.experimental.client or `det-submit ... --json`")(name)
