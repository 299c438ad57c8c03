"""Experiments."""

import time
from typing import Any, Dict, Iterator, List, Optional, Union

from determined.experimental.client import _sort
from determined.experimental.client._checkpoint import Checkpoint
from determined.experimental.client._det_submit import ask
from determined.experimental.client._enums import CheckpointSortBy, ExperimentState, OrderBy, TrialSortBy
from determined.experimental.client._trial import Trial

_ENDED = (
    ExperimentState.COMPLETED,
    ExperimentState.CANCELED,
    ExperimentState.ERROR,
    ExperimentState.INTERRUPTED,
)


class Experiment:
    """An experiment. Obtained from create_experiment() or get_experiment().

    Attributes:
        id: its number
        state: the ExperimentState
        config: its configuration with all defaults
        name, description, labels, archived: as they are now
    """

    def __init__(self, experiment_id: int) -> None:
        self.id = experiment_id
        self.reload()

    def reload(self) -> None:
        """Reads everything again."""
        content = self._describe()
        self.state = ExperimentState(content["state"])
        self.config: Dict[str, Any] = content.get("config") or {}
        self.name: str = content.get("name", "")
        self.description: str = content.get("description", "")
        self.labels: List[str] = content.get("labels", [])
        self.archived: bool = content.get("archived", False)

    @property
    def progress(self) -> Optional[float]:
        """The mean of what its trials have reported, from 0 to 1; None if it has no trials. Read at each use.

        A completed trial counts as 1, one that has reported nothing as 0.
        """
        trials = [ask("trial", "describe", str(trial["id"])) for trial in self._describe()["trials"]]
        done = [1.0 if trial["state"] == "COMPLETED" else trial["progress"] or 0.0 for trial in trials]
        return sum(done) / len(done) if done else None

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
        """Ends the experiment. Its trials may save a checkpoint first."""
        self._do("cancel", str(self.id))

    def kill(self) -> None:
        """Ends the experiment at once."""
        self._do("kill", str(self.id))

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
        for content in contents:  # the first run's start time; a trial without a run sorts after all times
            content["started"] = next((run["started"] for run in content["runs"]), None) or "~"
        contents.sort(key=lambda content: content[sort_by.value], reverse=order_by is OrderBy.DESC)
        for content in contents[:limit]:
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
