"""Trials, under Determined's name for their module."""

from determined.experimental.client import (
    LogLevel,
    Trial,
    TrialOrderBy,
    TrialReference,
    TrialSortBy,
    TrialState,
)

__all__ = ["LogLevel", "Trial", "TrialOrderBy", "TrialReference", "TrialSortBy", "TrialState"]
