"""Experiments."""

import datetime
import time
from typing import Any, Dict, Iterator, List, Optional, Union

from determined._absent import AbsentNames
from determined.experimental.client import _sort
from determined.experimental.client._checkpoint import Checkpoint
from determined.experimental.client._det_submit import CommandError, ask
from determined.experimental.client._enums import CheckpointSortBy, ExperimentState, OrderBy, TrialSortBy
from determined.experimental.client._times import parse_time
from determined.experimental.client._trial import Trial

_ENDED = (
    ExperimentState.COMPLETED,
    ExperimentState.CANCELED,
    ExperimentState.ERROR,
    ExperimentState.INTERRUPTED,
)


def _time_or_none(text: Optional[str]) -> Optional[datetime.datetime]:
    return None if text is None else parse_time(text)


class Experiment(AbsentNames):
    """An experiment. Obtained from create_experiment(), get_experiment() or list_experiments().

    Attributes:
        id: its number
        state: the ExperimentState
        name, description, notes, labels, archived: as they are now
        username: its owner
        resource_pool: where its trials run
        parent_id: the experiment that it was forked from, or None
        start_time, end_time: of its trials, UTC; None before
    """

    def __init__(self, experiment_id: int, content: Optional[Dict[str, Any]] = None) -> None:
        """Made by the functions of client. content: its entry in a list of experiments; None: it is read."""
        self.id = experiment_id
        self._config: Optional[Dict[str, Any]] = None
        if content is None:
            self.reload()
        else:
            self._set(content)

    def reload(self) -> None:
        """Reads everything again."""
        content = self._describe()
        self._config = content.get("config")
        self._set(content)

    def _set(self, content: Dict[str, Any]) -> None:
        self.state = ExperimentState(content["state"])
        self.name: str = content.get("name", "")
        self.description: str = content.get("description", "")
        self.notes: str = content.get("notes", "")
        self.labels: List[str] = content.get("labels", [])
        self.archived: bool = content.get("archived", False)
        self.username: str = content.get("owner", "")
        self.resource_pool: str = content.get("resource_pool", "")
        self.parent_id: Optional[int] = content.get("parent_id")
        self.start_time = _time_or_none(content.get("started"))
        self.end_time = _time_or_none(content.get("ended"))

    @property
    def config(self) -> Dict[str, Any]:
        """The configuration with all defaults; read at the first use."""
        if self._config is None:
            self._config = ask("experiment", "config", str(self.id)) or {}
        return self._config

    @property
    def progress(self) -> Optional[float]:
        """The mean of what its trials have reported, from 0 to 1; None if it has no trials. Read at each use.

        A completed trial counts as 1, one that has reported nothing as 0.
        """
        return _sort.progress_of(self._describe())

    def _describe(self) -> Dict[str, Any]:
        content: Dict[str, Any] = ask("experiment", "describe", str(self.id))
        return content

    def _do(self, *words: str) -> None:
        """Runs `det-submit experiment WORDS` and reads the experiment again."""
        ask("experiment", *words)
        self.reload()

    def wait(self, interval: float = 5.0) -> ExperimentState:
        """Waits until the experiment has ended, and returns its state. interval: seconds between two readings
        of the state.

        Raises:
            ValueError: the experiment is paused
        """
        while True:
            self.reload()
            if self.state in _ENDED:
                return self.state
            if self.state is ExperimentState.PAUSED:
                raise ValueError(f"experiment {self.id} is paused: activate it first")
            time.sleep(interval)

    def activate(self) -> None:
        """Resumes the experiment after a pause."""
        self._do("activate", str(self.id))

    def pause(self) -> None:
        """Pauses the experiment: its trials save a checkpoint if they can, and free their nodes."""
        self._do("pause", str(self.id))

    def cancel(self) -> None:
        """Ends the experiment. Its trials may save a checkpoint first. Does nothing if it has ended."""
        self._end("cancel")

    def kill(self) -> None:
        """Ends the experiment at once. Does nothing if it has ended."""
        self._end("kill")

    def _end(self, how: str) -> None:
        try:
            ask("experiment", how, str(self.id))
        except CommandError:
            self.reload()
            if self.state not in _ENDED:
                raise
        else:
            self.reload()

    def archive(self) -> None:
        """Hides the experiment in lists."""
        self._do("archive", str(self.id))

    def unarchive(self) -> None:
        """Shows the experiment in lists again."""
        self._do("unarchive", str(self.id))

    def delete(self) -> None:
        """Removes the experiment with its checkpoints, metrics and logs. This can't be undone."""
        ask("experiment", "delete", str(self.id), "--yes")

    def set_name(self, name: str) -> None:
        """Changes the name."""
        self._do("set", "name", str(self.id), name)

    def set_description(self, description: str) -> None:
        """Changes the description."""
        self._do("set", "description", str(self.id), description)

    def set_notes(self, notes: str) -> None:
        """Changes the notes."""
        self._do("set", "notes", str(self.id), notes)

    def add_label(self, label: str) -> None:
        """Adds a label."""
        self._do("label", "add", str(self.id), label)

    def remove_label(self, label: str) -> None:
        """Removes a label."""
        self._do("label", "remove", str(self.id), label)

    def set_labels(self, labels: List[str]) -> None:
        """Replaces the labels. Runs one command for each label that is removed or added."""
        for label in set(self.labels) - set(labels):
            self.remove_label(label)
        for label in set(labels) - set(self.labels):
            self.add_label(label)

    def list_trials(
        self, sort_by: TrialSortBy = TrialSortBy.ID, order_by: OrderBy = OrderBy.ASC
    ) -> List[Trial]:
        """The trials."""
        return list(self.iter_trials(sort_by, order_by))

    get_trials = list_trials

    def iter_trials(
        self,
        sort_by: TrialSortBy = TrialSortBy.ID,
        order_by: OrderBy = OrderBy.ASC,
        limit: Optional[int] = None,
    ) -> Iterator[Trial]:
        """Yields the trials. limit: the maximum number of trials; None: all."""
        contents = self._describe()["trials"]
        for content in _sort.sort_trials(self.id, contents, sort_by, order_by)[:limit]:
            yield Trial(content["id"])

    def await_first_trial(self, interval: float = 0.1) -> Trial:
        """Waits until there is a trial, and returns the first one. interval: seconds between two readings of
        the list."""
        while True:
            trials = self.list_trials()
            if trials:
                return trials[0]
            time.sleep(interval)

    def list_checkpoints(
        self,
        sort_by: Optional[Union[str, CheckpointSortBy]] = None,
        order_by: Optional[OrderBy] = None,
        max_results: Optional[int] = None,
    ) -> List[Checkpoint]:
        """The checkpoints that are complete and have the value they are sorted by; by default the best one
        first.

        Args:
            sort_by: a validation metric or a CheckpointSortBy, given together with order_by

        Raises:
            AssertionError: only one of sort_by and order_by is given
        """
        return _sort.list_checkpoints(self.id, None, sort_by, order_by, max_results)

    get_checkpoints = list_checkpoints

    def top_checkpoint(
        self, sort_by: Optional[str] = None, smaller_is_better: Optional[bool] = None
    ) -> Checkpoint:
        """The best checkpoint. sort_by: a validation metric, given with smaller_is_better; None: the
        searcher's metric.

        Raises:
            AssertionError: there is no such checkpoint, or only one of sort_by and smaller_is_better is given
        """
        found = _sort.best_checkpoints(self.id, None, sort_by, smaller_is_better)
        if not found:
            raise AssertionError(f"experiment {self.id} has no checkpoint that was validated")
        return found[0]

    def top_n_checkpoints(
        self, limit: int, sort_by: Optional[str] = None, smaller_is_better: Optional[bool] = None
    ) -> List[Checkpoint]:
        """The best checkpoint of each of the best `limit` trials. Arguments as for top_checkpoint()."""
        best: Dict[int, Checkpoint] = {}
        for checkpoint in _sort.best_checkpoints(self.id, None, sort_by, smaller_is_better):
            best.setdefault(checkpoint._trial_id, checkpoint)
        return list(best.values())[:limit]

    def download_code(self, output_dir: Optional[str] = None) -> str:
        """Unpacks the code with which the experiment was created.

        Args:
            output_dir: the directory to create; None: experiment_ID

        Returns:
            the directory
        """
        directory = output_dir or f"experiment_{self.id}"
        ask("experiment", "download-model-def", str(self.id), "--output-dir", directory)
        return directory

    def __repr__(self) -> str:
        return f"Experiment(id={self.id})"
