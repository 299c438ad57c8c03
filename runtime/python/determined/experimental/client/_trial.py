"""Trials."""

import datetime
from typing import Any, Dict, Iterator, List, Optional, Union

from determined._absent import AbsentNames
from determined.experimental.client import _checkpoint, _sort
from determined.experimental.client._checkpoint import Checkpoint
from determined.experimental.client._det_submit import CommandError, ask, read_lines
from determined.experimental.client._enums import CheckpointSortBy, LogLevel, OrderBy, TrialState
from determined.experimental.client._metrics import TrialMetrics, read_metrics
from determined.experimental.client._times import format_time

_SUMMARY_NAMES = {"training": "avg_metrics", "validation": "validation_metrics"}
_ENDED = (TrialState.COMPLETED, TrialState.CANCELED, TrialState.ERROR, TrialState.INTERRUPTED)


class Trial(AbsentNames):
    """A trial. Obtained from get_trial() or Experiment.list_trials().

    Attributes:
        id, trial_id: its number
        experiment_id: the number of its experiment
        state: the TrialState
        hparams: its hyperparameters
    """

    def __init__(self, trial_id: int) -> None:
        self.id: int = trial_id
        self.reload()

    def reload(self) -> None:
        """Reads everything again."""
        content = ask("trial", "describe", str(self.id))
        self.id = content["id"]  # the number of an experiment stands for its first trial
        self.experiment_id: int = content["experiment_id"]
        self.state = TrialState(content["state"])
        self.hparams: Dict[str, Any] = content["hyperparameters"]

    @property
    def trial_id(self) -> int:
        """Its number."""
        return self.id

    def kill(self) -> None:
        """Ends the trial at once. Does nothing if it has ended."""
        try:
            ask("trial", "kill", str(self.id))
        except CommandError:
            self.reload()
            if self.state not in _ENDED:
                raise

    def iter_logs(
        self,
        follow: bool = False,
        *,
        head: Optional[int] = None,
        tail: Optional[int] = None,
        container_ids: Optional[List[str]] = None,
        rank_ids: Optional[List[int]] = None,
        stdtypes: Optional[List[str]] = None,
        min_level: Optional[Union[LogLevel, str]] = None,
        timestamp_before: Optional[Union[str, int, datetime.datetime]] = None,
        timestamp_after: Optional[Union[str, int, datetime.datetime]] = None,
        sources: Optional[List[str]] = None,
        search_text: Optional[str] = None,
    ) -> Iterator[str]:
        """Yields the lines of the trial's log, with their line ends.

        Args:
            follow: waits for more lines until the trial has ended
            head, tail: only the first or the last so many lines
            container_ids: a list of one node, by its number in the run or its name: only its lines
            rank_ids: only the lines of these ranks; None: those of all ranks
            stdtypes, sources: accepted and not used: the log has all lines in one stream
            min_level: only lines of at least this level: "info", "warning" ... or a LogLevel
            timestamp_before, timestamp_after: UTC, as 2026-11-21T12:00:00Z, or seconds since 1970, or a datetime
            search_text: only lines that match this POSIX extended regular expression

        Raises:
            ValueError: container_ids has several nodes
            CommandError: while the lines are read, if det-submit fails
        """
        if container_ids is not None and len(container_ids) > 1:
            raise ValueError("det-submit shows the lines of one node or of all: container_ids must have one name")
        options = {
            "--head": head,
            "--tail": tail,
            "--node": container_ids[0] if container_ids else None,
            "--level": None if min_level is None else str(getattr(min_level, "name", min_level)).lower(),
            "--until": None if timestamp_before is None else format_time(timestamp_before),
            "--since": None if timestamp_after is None else format_time(timestamp_after),
            "--grep": search_text,
        }
        words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
        words += [word for rank in rank_ids or () for word in ("--rank", str(rank))]
        return read_lines("trial", "logs", str(self.id), *(["--follow"] if follow else []), *words)

    logs = iter_logs

    def iter_metrics(self, group: Optional[str] = None) -> Iterator[TrialMetrics]:
        """Yields the reports of the trial. group: only those of this group: "training", "validation" or
        another; None: all."""
        return read_metrics(self.id, group)

    stream_metrics = iter_metrics

    def stream_training_metrics(self) -> Iterator[TrialMetrics]:
        """Yields the reports of the group "training"."""
        return read_metrics(self.id, "training")

    def stream_validation_metrics(self) -> Iterator[TrialMetrics]:
        """Yields the reports of the group "validation"."""
        return read_metrics(self.id, "validation")

    @property
    def summary_metrics(self) -> Dict[str, Dict[str, Dict[str, Any]]]:
        """Count, min, max, mean, sum and last of each metric that is a number, by group. As in Determined the
        group "training" is named avg_metrics here, and "validation" validation_metrics."""
        summary = ask("trial", "describe", str(self.id), "--metrics-summary")["summary_metrics"]
        return {
            _SUMMARY_NAMES.get(group, group): {
                name: {**values, "sum": values["mean"] * values["count"]} for name, values in metrics.items()
            }
            for group, metrics in summary.items()
        }

    def list_checkpoints(
        self,
        sort_by: Optional[Union[str, CheckpointSortBy]] = None,
        order_by: Optional[OrderBy] = None,
        max_results: Optional[int] = None,
    ) -> List[Checkpoint]:
        """The checkpoints that are complete and have the value they are sorted by; by default the best one
        first. Arguments and errors as for Experiment.list_checkpoints()."""
        return _sort.list_checkpoints(self.experiment_id, self.id, sort_by, order_by, max_results)

    get_checkpoints = list_checkpoints

    def select_checkpoint(
        self,
        latest: bool = False,
        best: bool = False,
        uuid: Optional[str] = None,
        sort_by: Optional[str] = None,
        smaller_is_better: Optional[bool] = None,
    ) -> Checkpoint:
        """One checkpoint: the latest, the best, or the one with a uuid, which may be of another trial.
        Exactly one of the three is given.

        Args:
            sort_by, smaller_is_better: with best: as for top_checkpoint()

        Raises:
            AssertionError: none or several of latest, best and uuid are given; the trial has no such
                checkpoint
            CheckpointNotFound: there is no checkpoint with this uuid
        """
        if sum([latest, best, uuid is not None]) != 1:
            raise AssertionError("exactly one of latest, best and uuid must be given")
        if uuid is not None:
            return Checkpoint(_checkpoint.find(uuid))
        if best:
            return self.top_checkpoint(sort_by, smaller_is_better)
        newest = self.list_checkpoints(CheckpointSortBy.BATCH_NUMBER, OrderBy.DESC, 1)
        if not newest:
            raise AssertionError(f"trial {self.id} has no checkpoint")
        return newest[0]

    def top_checkpoint(
        self, sort_by: Optional[str] = None, smaller_is_better: Optional[bool] = None
    ) -> Checkpoint:
        """The best checkpoint. sort_by: a validation metric, given with smaller_is_better; None: the
        searcher's metric.

        Raises:
            AssertionError: there is no such checkpoint, or only one of sort_by and smaller_is_better is given
        """
        found = _sort.best_checkpoints(self.experiment_id, self.id, sort_by, smaller_is_better)
        if not found:
            raise AssertionError(f"trial {self.id} has no checkpoint that was validated")
        return found[0]

    def get_experiment(self) -> Any:
        """The experiment of the trial."""
        from determined.experimental.client._experiment import Experiment

        return Experiment(self.experiment_id)

    def __repr__(self) -> str:
        return f"Trial(id={self.id})"
