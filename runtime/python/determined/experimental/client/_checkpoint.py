"""Checkpoints of experiments."""

import json
import os
import pathlib
from typing import Any, Dict, List, Optional, Union

from determined import errors
from determined._absent import AbsentNames
from determined.experimental.client._det_submit import AbsentError, ask
from determined.experimental.client._enums import CheckpointState, DownloadMode
from determined.experimental.client._metrics import TrialMetrics, read_metrics
from determined.experimental.client._times import parse_time

Path = Union[str, "os.PathLike[str]"]


_ABSENT = 4  # the exit code of det-submit for it


class CheckpointTrainingMetadata:
    """The trial, configuration and metrics from which a checkpoint was made.

    Attributes:
        experiment_config: the configuration
        experiment_id, trial_id: numbers
        hparams: the hyperparameters of the trial
        validation_metrics: {"avgMetrics": the validation metrics that the trial reported at the same step; {}
            if there are none}
    """

    def __init__(self, trial_id: int, steps_completed: int) -> None:
        trial = ask("trial", "describe", str(trial_id))
        self.trial_id = trial_id
        self.experiment_id: int = trial["experiment_id"]
        self.hparams: Dict[str, Any] = trial["hyperparameters"]
        self.experiment_config: Dict[str, Any] = ask("experiment", "config", str(self.experiment_id))
        self.validation_metrics: Dict[str, Any] = {"avgMetrics": {}}
        for report in read_metrics(trial_id, "validation"):
            if report.steps_completed == steps_completed:
                self.validation_metrics = {"avgMetrics": report.metrics}


class Checkpoint(AbsentNames):
    """A checkpoint. Obtained from get_checkpoint() or a list of an Experiment or Trial.

    Attributes:
        uuid: its storage_id
        state: the CheckpointState
        metadata: the metadata that the program gave
        resources: sizes in bytes by path; those of directories end with a slash
        report_time: when it was committed, UTC
        task_id, allocation_id: the trial and the run that saved it: "7.0" and "7.0.0"
    """

    def __init__(self, content: Dict[str, Any]) -> None:
        self._set(content)
        self._training: Optional[CheckpointTrainingMetadata] = None

    def _set(self, content: Dict[str, Any]) -> None:
        self.uuid: str = content["uuid"]
        self.state = CheckpointState(content["state"])
        self.metadata: Dict[str, Any] = content["metadata"] or {}
        self.resources: Dict[str, int] = content["resources"]
        self.report_time = parse_time(content["time"])
        self._trial_id: int = content["trial_id"]
        self.task_id: str = content["trial"]
        self.allocation_id = f"{self.task_id}.{content['run']}"
        self._steps_completed: int = content["steps_completed"]
        self._metric: Optional[float] = content["metric"]

    @property
    def training(self) -> CheckpointTrainingMetadata:
        """The trial, configuration and metrics from which the checkpoint was made; read at the first use."""
        if self._training is None:
            self._training = CheckpointTrainingMetadata(self._trial_id, self._steps_completed)
        return self._training

    def reload(self) -> None:
        """Reads the state again."""
        self._set(find(self.uuid))

    def download(self, path: Optional[Path] = None, mode: DownloadMode = DownloadMode.AUTO) -> str:
        """Copies the files of the checkpoint, and compares them with their checksums.

        Args:
            path: the directory; None: checkpoints/UUID. If it has a checkpoint already, nothing is copied
            mode: accepted and not used

        Returns:
            the directory

        Raises:
            CheckpointStateException: the checkpoint has been deleted
        """
        DownloadMode(mode)
        if self.state is CheckpointState.DELETED:
            raise errors.CheckpointStateException(f"checkpoint {self.uuid} has been deleted")
        directory = os.path.join("checkpoints", self.uuid) if path is None else os.fspath(path)
        if not os.path.exists(os.path.join(directory, "metadata.json")):
            ask("checkpoint", "download", self.uuid, "--output-dir", directory)
        return directory

    def load(self, path: Optional[Path] = None, **kwargs: Any) -> Any:
        """The trial of a PyTorchTrial's checkpoint, as load_from_path() returns it. Downloads it first."""
        return self.load_from_path(self.download(path), **kwargs)

    @staticmethod
    def load_from_path(path: Path, **kwargs: Any) -> Any:
        """A former name of determined.pytorch.load_trial_from_checkpoint_path()."""
        from determined import pytorch

        return pytorch.load_trial_from_checkpoint_path(os.fspath(path), **kwargs)

    def write_metadata_file(self, path: Path) -> None:
        """Writes the metadata as JSON."""
        pathlib.Path(path).write_text(json.dumps(self.metadata, indent=2), encoding="utf-8")

    def delete(self) -> None:
        """Removes the checkpoint from its storage. This can't be undone."""
        ask("checkpoint", "delete", self.uuid, "--yes")
        self.state = CheckpointState.DELETED

    def remove_files(self, globs: List[str]) -> None:
        """Removes the files whose paths match one of the patterns. This can't be undone."""
        options = [word for pattern in globs for word in ("--glob", pattern)]
        ask("checkpoint", "rm", self.uuid, *options, "--yes")
        self.reload()

    def add_metadata(self, metadata: Dict[str, Any]) -> None:
        """Adds entries to the metadata, or replaces them."""
        self._replace_metadata({**find(self.uuid)["metadata"], **metadata})

    def remove_metadata(self, keys: List[str]) -> None:
        """Removes entries of the metadata. steps_completed stays."""
        now = find(self.uuid)["metadata"]
        self._replace_metadata({key: value for key, value in now.items() if key not in keys})

    def _replace_metadata(self, metadata: Dict[str, Any]) -> None:
        answer = ask("checkpoint", "set", "metadata", self.uuid, json.dumps(metadata))
        self.metadata = answer["metadata"]

    def get_metrics(self, group: Optional[str] = None) -> List[TrialMetrics]:
        """The reports that the trial made at the same step. group: only those of this group; None: all."""
        reports = read_metrics(self._trial_id, group)
        return [report for report in reports if report.steps_completed == self._steps_completed]

    def __repr__(self) -> str:
        return f"Checkpoint(uuid={self.uuid}, trial_id={self._trial_id})"


class CheckpointAbsentError(AbsentError, errors.CheckpointNotFound):
    """There is no such checkpoint."""


def find(uuid: str) -> Dict[str, Any]:
    """The entry of a checkpoint in the list of its experiment.

    Raises:
        CheckpointNotFound: there is no such checkpoint, or no trial has saved it
    """
    try:
        run: str = ask("checkpoint", "describe", uuid)["run"]
    except AbsentError as problem:
        raise CheckpointAbsentError(str(problem), problem.exit_code) from None
    if not run:
        raise CheckpointAbsentError(f"checkpoint {uuid} was imported: no trial has saved it", _ABSENT)
    for content in ask("experiment", "list-checkpoints", run.split(".", maxsplit=1)[0]):
        if content["uuid"] == uuid:
            entry: Dict[str, Any] = content
            return entry
    raise CheckpointAbsentError(f"no trial has reported checkpoint {uuid}", _ABSENT)
