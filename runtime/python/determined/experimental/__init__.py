"""Interfaces that Determined calls experimental."""

import importlib
from typing import TYPE_CHECKING, Any

from determined._absent import refuse_names_of

if TYPE_CHECKING:
    from determined.experimental.client import (
        Checkpoint,
        CheckpointOrderBy,
        CheckpointSortBy,
        CheckpointState,
        Determined,
        DownloadMode,
        Experiment,
        ExperimentOrderBy,
        ExperimentReference,
        ExperimentSortBy,
        ExperimentState,
        LogLevel,
        Model,
        ModelOrderBy,
        ModelSortBy,
        ModelVersion,
        OrderBy,
        TrainingMetrics,
        Trial,
        TrialMetrics,
        TrialOrderBy,
        TrialReference,
        TrialSortBy,
        TrialState,
        ValidationMetrics,
    )

_MODULES = ("determined", "experiment", "metrics", "model", "trial")  # of determined.common.experimental


def __getattr__(name: str) -> Any:
    """Imports the names of client at their first use, so that programs in jobs don't import client."""
    if name in __all__:
        return getattr(importlib.import_module("determined.experimental.client"), name)
    if name in _MODULES:
        return importlib.import_module(f"determined.common.experimental.{name}")
    return refuse_names_of(__name__)(name)


__all__ = [
    "Checkpoint",
    "CheckpointOrderBy",
    "CheckpointSortBy",
    "CheckpointState",
    "Determined",
    "DownloadMode",
    "Experiment",
    "ExperimentOrderBy",
    "ExperimentReference",
    "ExperimentSortBy",
    "ExperimentState",
    "LogLevel",
    "Model",
    "ModelOrderBy",
    "ModelSortBy",
    "ModelVersion",
    "OrderBy",
    "TrainingMetrics",
    "Trial",
    "TrialMetrics",
    "TrialOrderBy",
    "TrialReference",
    "TrialSortBy",
    "TrialState",
    "ValidationMetrics",
]
