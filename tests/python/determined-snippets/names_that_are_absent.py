"""Names of Determined that are not here say what serves instead."""

import importlib

from checks import check
from determined.experimental import client


def said_by(call, kind):
    try:
        call()
    except kind as refusal:
        return str(refusal)
    raise SystemExit("it was not refused")


for module in ("keras", "pytorch.lightning", "pytorch.deepspeed", "cli", "deploy", "common.api.bindings"):
    words = said_by(lambda: importlib.import_module(f"determined.{module}"), ImportError)
    check(words.startswith(f"det-submit has no determined.{module}: "), True)
check("use `det-submit resource-pool list --json`" in said_by(lambda: client.ResourcePool, ImportError), True)
