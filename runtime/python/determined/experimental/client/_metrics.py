"""Reports of metrics."""

import dataclasses
import datetime
from typing import Any, Dict, Iterator, List, Optional, Type

from determined.experimental.client._det_submit import CommandError, ask
from determined.experimental.client._times import parse_time


@dataclasses.dataclass
class TrialMetrics:
    """One report.

    Attributes:
        trial_run_id: counts the runs of the trial from 1
        end_time: when it was reported, UTC
        batch_metrics: None if the program gave none
    """

    trial_id: int
    trial_run_id: int
    steps_completed: int
    end_time: datetime.datetime
    metrics: Dict[str, Any]
    group: str
    batch_metrics: Optional[List[Dict[str, Any]]] = None

    @property
    def total_batches(self) -> int:
        """Another name of steps_completed."""
        return self.steps_completed


class TrainingMetrics(TrialMetrics):
    """A report of the group "training"."""


class ValidationMetrics(TrialMetrics):
    """A report of the group "validation"."""


_CLASSES: Dict[str, Type[TrialMetrics]] = {"training": TrainingMetrics, "validation": ValidationMetrics}


def read_metrics(trial_id: int, group: Optional[str] = None) -> Iterator[TrialMetrics]:
    """Yields the reports of a trial. group: only those of this group; None or "": all."""
    try:
        reports = ask("trial", "metrics", str(trial_id), *(["--group", group] if group else []))
    except CommandError as problem:
        if "[no-such-metric]" not in str(problem):
            raise
        return  # the trial has not reported any of this group
    for report in reports:
        batch_metrics = report["metrics"].pop("batch_metrics", None)
        yield _CLASSES.get(report["group"], TrialMetrics)(
            trial_id=trial_id,
            trial_run_id=report["run"] + 1,
            steps_completed=report["steps_completed"],
            end_time=parse_time(report["time"]),
            metrics=report["metrics"],
            group=report["group"],
            batch_metrics=batch_metrics,
        )
