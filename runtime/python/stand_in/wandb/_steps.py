"""The steps of the metrics that log() reports."""

import fnmatch
from typing import Any, Dict, Optional, Tuple

from wandb._notes import warn_once


class Steps:
    """The counter of a run's log() calls, with the rows that commit=False collects.

    Attributes:
        current: the step of the next row
    """

    def __init__(self, first: int = 0) -> None:
        self.current = first
        self._collected: Dict[str, Any] = {}

    def add(self, row: Dict[str, Any], step: Optional[int], commit: Optional[bool]) -> Optional[Tuple[int, Dict[str, Any]]]:
        """Adds a row of log(). Returns the step and the metrics to report now; None if there are none yet.

        A row with a step is reported at once. The script may log more metrics for the same step.
        """
        if step is None:
            self._collected.update(row)
            return None if commit is False else self._take(self.current + 1)
        if step < self.current:
            warn_once("step", f"log(step={step}) is ignored: the run is at step {self.current}, and steps can't go back")
            return None
        self._collected.update(row)
        self.current = step
        return self._take(step + 1 if commit else step)

    def take_rest(self) -> Optional[Tuple[int, Dict[str, Any]]]:
        """The step and the metrics that commit=False has left at the end of the run; None if there are
        none."""
        return self._take(self.current) if self._collected else None

    def _take(self, following: int) -> Tuple[int, Dict[str, Any]]:
        row, self._collected = self._collected, {}
        step, self.current = self.current, following
        return step, row


class StepMetrics:
    """The rules of define_metric(): which metric has another metric's value as its step, and what the summary
    keeps."""

    def __init__(self) -> None:
        self._rules: Dict[str, str] = {}
        self._summaries: Dict[str, str] = {}
        self._last: Dict[str, Any] = {}

    def define(self, name: str, step_metric: Optional[str], summary: Optional[str]) -> None:
        if step_metric is not None:
            self._rules[name] = step_metric
        if summary is not None:
            self._summaries[name] = summary.split(",")[0]

    def summary_of(self, name: str) -> str:
        return self._find(self._summaries, name) or "last"

    def split(self, step: int, row: Dict[str, Any]) -> Dict[int, Dict[str, Any]]:
        """Divides a row by the steps of its metrics. A step metric has no effect if it was never logged, or
        if its value is negative or no whole number."""
        self._last.update({name: row[name] for name in self._rules.values() if name in row})
        rows: Dict[int, Dict[str, Any]] = {}
        for name, value in row.items():
            axis = self._find(self._rules, name)
            place = self._last.get(axis if axis is not None else "", step)
            if name in self._rules.values() and axis is None:
                place = value  # the value of the step metric is its own step
            is_step = isinstance(place, (int, float)) and not isinstance(place, bool) and place == place // 1 and place >= 0
            rows.setdefault(int(place) if is_step else step, {})[name] = value
        return rows

    @staticmethod
    def _find(rules: Dict[str, str], name: str) -> Optional[str]:
        if name in rules:
            return rules[name]
        matches = [pattern for pattern in rules if "*" in pattern and fnmatch.fnmatchcase(name, pattern)]
        return rules[max(matches, key=len)] if matches else None
