"""Experiments, under Determined's name for their module."""

from determined.experimental.client import (
    Experiment,
    ExperimentOrderBy,
    ExperimentReference,
    ExperimentSortBy,
    ExperimentState,
)

__all__ = ["Experiment", "ExperimentOrderBy", "ExperimentReference", "ExperimentSortBy", "ExperimentState"]
