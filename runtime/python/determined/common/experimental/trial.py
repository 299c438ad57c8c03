"""Trials, under Determined's name for their module."""

from determined.experimental.client import (
    Trial,
    TrialOrderBy,
    TrialReference,
    TrialSortBy,
    TrialState,
)

__all__ = ["Trial", "TrialOrderBy", "TrialReference", "TrialSortBy", "TrialState"]
