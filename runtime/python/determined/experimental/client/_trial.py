"""Trials."""

from typing import Any, Dict, Iterator, List, Optional, Union

from determined.experimental.client import _checkpoint, _sort
from determined.experimental.client._checkpoint import Checkpoint
from determined.experimental.client._det_submit import ask, read_lines
from determined.experimental.client._enums import CheckpointSortBy, OrderBy, TrialState
from determined.experimental.client._metrics import TrialMetrics, read_metrics


class Trial:
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
        """Ends the trial at once."""
        ask("trial", "kill", str(self.id))

    def iter_logs(
        self,
        follow: bool = False,
        *,
        head: Optional[int] = None,
        tail: Optional[int] = None,
        rank_ids: Optional[List[int]] = None,
        min_level: Optional[Any] = None,
        timestamp_before: Optional[str] = None,
        timestamp_after: Optional[str] = None,
        search_text: Optional[str] = None,
    ) -> Iterator[str]:
        """Yields the lines of the trial's log, with their line ends.

        Args:
            follow: waits for more lines until the trial has ended
            head, tail: only the first or the last so many lines
            rank_ids: a list of one rank: only its lines; None: those of all ranks
            min_level: only lines of at least this level: "info", "warning" ... or an enum with such a name
            timestamp_before, timestamp_after: UTC, as 2026-11-21T12:00:00Z
            search_text: only lines that match this POSIX extended regular expression

        Raises:
            ValueError: rank_ids has not exactly one rank
            CommandError: while the lines are read, if det-submit fails
        """
        if rank_ids is not None and len(rank_ids) != 1:
            raise ValueError("det-submit shows the lines of one rank or of all: rank_ids must have one number")
        options = {
            "--head": head,
            "--tail": tail,
            "--rank": rank_ids[0] if rank_ids else None,
            "--level": None if min_level is None else str(getattr(min_level, "name", min_level)).lower(),
            "--until": timestamp_before,
            "--since": timestamp_after,
            "--grep": search_text,
        }
        words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
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
    def summary_metrics(self) -> Dict[str, Dict[str, Any]]:
        """The last value of each metric, by group."""
        last: Dict[str, Dict[str, Any]] = {}
        for report in self.iter_metrics():
            last.setdefault(report.group, {}).update(report.metrics)
        return last

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
