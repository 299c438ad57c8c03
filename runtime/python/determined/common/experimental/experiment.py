"""Experiments, under Determined's name for their module."""

from determined.experimental.client import Experiment, ExperimentReference, ExperimentState

__all__ = ["Experiment", "ExperimentReference", "ExperimentState"]
