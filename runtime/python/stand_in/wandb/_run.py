"""The object that wandb.init() returns. It reports to the trial of det-submit."""

import os
import time
from types import TracebackType
from typing import Any, Dict, List, Optional, Type, Union

from determined._script_reports import ScriptReports, flatten, group_name, trial_files
from wandb._artifacts import Artifact, find_artifact, save_files
from wandb._notes import Unknown, describe, to_metric, warn_once
from wandb._steps import StepMetrics, Steps
from wandb._values import Config, Summary

_ALERT_LEVELS = {"INFO": "info", "WARN": "warn", "ERROR": "error"}


class Run:
    """A run of wandb.

    Attributes:
        config, summary: maps whose entries are attributes too
        id, name, project, entity, group, job_type, tags, notes: the values of init() or the environment, else
            defaults
        step: the step of the next log() that has no step of its own
        resumed: whether steps are counted on from an earlier run of the trial
    """

    def __init__(
        self,
        reports: ScriptReports,
        names: Dict[str, Any],
        config: Any,
        is_recorded: bool,
        first_step: int,
        series: Optional[str],
    ) -> None:
        self._reports = reports
        self._is_recorded = is_recorded
        self._series = series
        self._steps = Steps(first_step)
        self._step_metrics = StepMetrics()
        self._is_finished = False
        self.id: str = names["id"]
        self.name: str = names["name"]
        self.project: str = names["project"]
        self.entity: str = names["entity"]
        self.group: Optional[str] = names.get("group")
        self.job_type: Optional[str] = names.get("job_type")
        self.tags = tuple(names.get("tags") or ())
        self.notes: Optional[str] = names.get("notes")
        self.resumed = first_step > 0
        self.starting_step = first_step
        self.start_time = time.time()
        self.disabled = not is_recorded
        self.offline = True
        self.sweep_id: Optional[str] = None
        self.summary = Summary(self._keep)
        self.config = Config(reports.hyperparameters(), self._keep)
        self.config.update(config)
        self._keep()

    @property
    def step(self) -> int:
        return self._steps.current

    @property
    def path(self) -> str:
        return f"{self.entity}/{self.project}/{self.id}"

    @property
    def dir(self) -> str:
        """A directory for files of the script, on the shared file system."""
        path = trial_files("wandb", "files")
        os.makedirs(path, exist_ok=True)
        return path

    @property
    def url(self) -> str:
        return "file://" + trial_files("wandb")

    def get_url(self) -> str:
        return self.url

    def log(
        self,
        data: Dict[str, Any],
        step: Optional[int] = None,
        commit: Optional[bool] = None,
        sync: Optional[bool] = None,
    ) -> None:
        """Reports metrics.

        Args:
            data: numbers, texts and lists of them become metrics, anything else a note in the group `media`
            step: None: the run's step, which such a call then increments unless commit is False. A step sets
                the run's step; with commit=True the one after it. A step below the run's step is ignored with
                a warning
            commit: False without a step: the metrics are reported with the next log(), or by finish()

        Raises:
            ValueError: data is no dict
        """
        if not isinstance(data, dict):
            raise ValueError("log() takes a map of names to values")
        row = self._steps.add(flatten(data), None if step is None else int(step), commit)
        if row is not None:
            self._report(*row)

    def _report(self, step: int, row: Dict[str, Any]) -> None:
        metrics, notes = {}, {}
        for name, value in row.items():
            metric = to_metric(value)
            if metric is not None:
                metrics[name] = metric
                self.summary._log(name, metric, self._step_metrics.summary_of(name))
            elif value is not None:
                notes[name] = describe(value)
        if not self._is_recorded:
            return
        for place, part in self._step_metrics.split(step, metrics).items():
            self._reports.report(place, part, self._series)
        if notes:
            warn_once("media", "images, tables and the like are not stored: the group 'media' has a note of each")
            self._reports.report(step, notes, "media")

    def define_metric(
        self, name: str, step_metric: Any = None, step_sync: Any = None, hidden: Any = None, summary: Optional[str] = None, **_: Any
    ) -> None:
        """Sets the step metric of a metric and what the summary keeps of it.

        Args:
            name: a metric, or a pattern with *
            step_metric: the metric whose last value is used as the step of this one
            summary: "last", "min", "max" or "none"; of a list with commas the first counts
        """
        axis = getattr(step_metric, "name", step_metric)
        self._step_metrics.define(name, axis, summary)

    def finish(self, exit_code: Optional[int] = None, quiet: Optional[bool] = None) -> None:
        """Ends the run. Returns when all its reports are in the trial's journal."""
        if self._is_finished:
            return
        self._is_finished = True
        rest = self._steps.take_rest()
        if rest is not None:
            self._report(*rest)
        self._keep()
        if self._is_recorded:
            self._reports.close()

    def join(self, exit_code: Optional[int] = None) -> None:
        self.finish(exit_code)

    def watch(self, *_: Any, **__: Any) -> List[Any]:
        warn_once("watch", "watch() has no effect here: gradients and parameters are not recorded")
        return []

    def unwatch(self, *_: Any, **__: Any) -> None:
        """Does nothing, because watch() does nothing."""

    def save(self, glob_str: Optional[str] = None, base_path: Optional[str] = None, policy: str = "live") -> Any:
        """Copies the files that match the pattern now to `dir`. Returns the copies; True without a
        pattern."""
        if glob_str is None or not self._is_recorded:
            return True
        return save_files(os.fspath(glob_str), None if base_path is None else os.fspath(base_path), self.dir)

    def log_artifact(
        self, artifact_or_path: Union[Artifact, str], name: Optional[str] = None, type: Optional[str] = None, **_: Any
    ) -> Artifact:
        """Copies the files of an artifact, or of a file or directory, below the trial's own files."""
        artifact = artifact_or_path
        if not isinstance(artifact, Artifact):
            path = os.fspath(artifact)
            artifact = Artifact(name or os.path.basename(path), type or "")
            artifact.add_dir(path) if os.path.isdir(path) else artifact.add_file(path)
        if self._is_recorded:
            artifact._store()
        return artifact

    def use_artifact(self, artifact_or_name: Any, *_: Any, **__: Any) -> Artifact:
        """An artifact that a run of this trial has logged."""
        return artifact_or_name if isinstance(artifact_or_name, Artifact) else find_artifact(artifact_or_name)

    def alert(self, title: str, text: str = "", level: Any = "INFO", wait_duration: Any = None) -> None:
        name = str(getattr(level, "value", level) or "INFO").upper()
        if self._is_recorded:
            self._reports.alert(title, text, _ALERT_LEVELS.get(name, "info"))

    def log_code(self, *_: Any, **__: Any) -> None:
        """Does nothing: the experiment keeps the code with which it was created."""

    def mark_preempting(self) -> None:
        """Does nothing: det-submit records preemptions itself."""

    def _label(self, *_: Any, **__: Any) -> None:
        """Does nothing. Libraries call it to record that they use wandb."""

    def _keep(self) -> None:
        """Puts config and summary into the trial's metadata, which the next report or flush() writes."""
        if not self._is_recorded:
            return
        content = {
            "id": self.id,
            "name": self.name,
            "project": self.project,
            "config": _as_metadata(self.config.as_dict()),
            "summary": _as_metadata(self.summary.as_dict()),
        }
        self._reports.keep("wandb" if self._series is None else f"wandb {self._series}", content)

    def __enter__(self) -> "Run":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> None:
        self.finish(0 if kind is None else 1)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Unknown(f"run.{name}")


def _as_metadata(value: Any) -> Any:
    """Converts a value to one that JSON can hold; values of other types to text."""
    if isinstance(value, dict):
        return {str(name): _as_metadata(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_metadata(each) for each in value]
    metric = to_metric(value)
    return metric if metric is not None or value is None else str(value)


def make_run(
    reports: ScriptReports, number: int, names: Dict[str, Any], config: Any, mode: Optional[str], resume: Any
) -> Run:
    """Makes a run.

    Args:
        number: number of runs that the process has begun before. Run 0 is the trial's; the metrics of another
            run are a group with the name of the run
    """
    is_recorded = reports.is_recorded and mode != "disabled"
    task = reports.info.task_id if reports.info is not None else "run"
    given = names.get("name")
    names = {**names, "id": names.get("id") or task.replace(".", "-")}
    names["name"] = given or (task if number == 0 else f"{task}-{number + 1}")
    names["project"] = names.get("project") or "uncategorized"
    names["entity"] = names.get("entity") or os.environ.get("USER", "det-submit")
    series = None if number == 0 else group_name(given or f"run-{number + 1}")
    last = reports.last_steps() if is_recorded and number == 0 and resume not in (None, False, "never") else None
    return Run(reports, names, config, is_recorded, 0 if last is None else last + 1, series)
