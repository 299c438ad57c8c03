"""Interfaces that Determined calls experimental."""

import importlib
from typing import TYPE_CHECKING, Any

from determined._refused import refuse

if TYPE_CHECKING:
    from determined.experimental.client import (
        Checkpoint,
        CheckpointState,
        Determined,
        Experiment,
        ExperimentReference,
        ExperimentState,
        Model,
        ModelOrderBy,
        ModelSortBy,
        ModelVersion,
        OrderBy,
        Trial,
        TrialOrderBy,
        TrialReference,
        TrialSortBy,
    )

_INSTEAD = {
    "create": "use determined.experimental.client.create_experiment",
    "test_one_batch": "use `det-submit experiment create --test`",
}


def __getattr__(name: str) -> Any:
    """Imports the names of client at their first use, so that programs in jobs don't import client."""
    if name in __all__:
        return getattr(importlib.import_module("determined.experimental.client"), name)
    return refuse(__name__, _INSTEAD.get(name, ""), list(_INSTEAD))(name)


__all__ = [
    "Checkpoint",
    "CheckpointState",
    "Determined",
    "Experiment",
    "ExperimentReference",
    "ExperimentState",
    "Model",
    "ModelOrderBy",
    "ModelSortBy",
    "ModelVersion",
    "OrderBy",
    "Trial",
    "TrialOrderBy",
    "TrialReference",
    "TrialSortBy",
]
