"""The tracking store that MLflow's client uses in a trial. MLflow finds it by the entry point
`mlflow.tracking_store`.

MLFLOW_TRACKING_URI=det-submit://trial, which `slurm: {log_mlflow: true}` sets, selects it. It is MLflow's own
FileStore below the trial's own files, so that MLflow's code stores experiments, runs, parameters, tags and
artifacts. Metrics go to the trial's journal at once, and into MLflow's files in blocks, because these are
many small files on a shared file system. No server is used.
"""

import atexit
import logging
import os
import threading
import warnings
from typing import Any, Dict, List, Optional, Tuple

from determined._script_reports import ScriptReports, group_name, trial_files

# Newer releases of MLflow refuse FileStore without this variable.
os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")

try:
    from mlflow.store.tracking.file_store import FileStore
except ImportError as problem:
    raise ImportError(
        f"slurm.log_mlflow needs a release of MLflow that has the class FileStore: {problem}. Set MLFLOW_TRACKING_URI in "
        "environment_variables to use a server of your own"
    ) from problem

logger = logging.getLogger("determined.scripts")

_BLOCK = 1000  # MLflow's limit on the number of metrics in a call


class _TrialRuns:
    """The runs of MLflow that this process logs to. The first one is the trial's; others are groups of metrics."""

    def __init__(self) -> None:
        self.reports = ScriptReports()
        self.lock = threading.RLock()
        self.unwritten: Dict[str, List[Any]] = {}  # by run: metrics that are not yet in MLflow's files
        self._series: Dict[str, Optional[str]] = {}
        self._contents: Dict[str, Dict[str, Any]] = {}
        self._counts: Dict[Tuple[str, str], int] = {}

    def begin(self, run_id: str, name: str) -> None:
        if run_id in self._series:
            return
        series = group_name(name or run_id) if self._series else None
        if series in self._series.values():
            series = f"{series}-{run_id[:8]}"
        self._series[run_id] = series
        self._contents[run_id] = {"run_id": run_id, "run_name": name, "params": {}, "tags": {}}
        if self.reports.is_recorded and self.reports.info is not None:
            where = "" if series is None else f", group '{series}'"
            logger.info("MLflow run %s: metrics go to trial %s%s", name, self.reports.info.task_id, where)

    def keep(self, run_id: str, kind: str, name: str, value: str) -> None:
        """Adds a parameter or tag to the trial's metadata. kind: "params" or "tags"."""
        content = self._contents.get(run_id)
        if content is None or name.startswith("mlflow."):
            return
        content[kind][name] = value
        series = self._series[run_id]
        self.reports.keep("mlflow" if series is None else f"mlflow {series}", content)

    def report(self, run_id: str, metrics: List[Any]) -> None:
        rows: Dict[Tuple[Optional[str], int], Dict[str, Any]] = {}
        for metric in metrics:
            group = "system" if metric.key.startswith("system/") else self._series[run_id]
            rows.setdefault((group, self._step_of(run_id, metric)), {})[metric.key] = metric.value
        for (group, step), row in rows.items():
            self.reports.report(step, row, group)

    def count_earlier(self, run_id: str, key: str, count: int) -> None:
        """Sets how many values without a step an earlier process has logged, so that their numbers go on."""
        self._counts.setdefault((run_id, key), count)

    def has_counted(self, run_id: str, key: str) -> bool:
        return (run_id, key) in self._counts

    def _step_of(self, run_id: str, metric: Any) -> int:
        """The step of a metric. MLflow passes step 0 if the script gives none: such values are numbered from
        0."""
        if metric.step:
            return int(metric.step)
        count = self._counts.get((run_id, metric.key), 0)
        self._counts[run_id, metric.key] = count + 1
        return count


_runs: Optional[_TrialRuns] = None


def _trial_runs() -> _TrialRuns:
    """The one object that all stores of the process share: MLflow makes several stores."""
    global _runs
    if _runs is None:
        _runs = _TrialRuns()
    return _runs


class TrackingStore(FileStore):
    """The store that MLflow's client makes for the URI scheme `det-submit`."""

    is_plugin = True

    def __init__(self, store_uri: Optional[str] = None, artifact_uri: Optional[str] = None) -> None:
        self._trial = _trial_runs()
        self._is_writing = False
        rank = self._trial.reports.rank
        # Each rank has a directory: ranks create experiments of the same name at the same time, which fails
        # in one directory.
        root = trial_files("mlruns" if rank == 0 else f"mlruns-rank-{rank}")
        os.makedirs(os.path.dirname(root), exist_ok=True)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*filesystem tracking backend", category=FutureWarning)
            super().__init__(root, artifact_uri)
        atexit.register(self._write_at_exit)

    def create_run(self, *arguments: Any, **named: Any) -> Any:
        with self._trial.lock:
            run = super().create_run(*arguments, **named)
            self._begin(run)
            return run

    def log_metric(self, run_id: str, metric: Any) -> None:
        if self._is_writing:
            super().log_metric(run_id, metric)
        else:
            self._log(run_id, [metric])

    def log_batch(self, run_id: str, metrics: Any = (), params: Any = (), tags: Any = ()) -> None:
        if params or tags:
            super().log_batch(run_id, metrics=[], params=params, tags=tags)
            with self._trial.lock:
                for param in params:
                    self._trial.keep(run_id, "params", param.key, param.value)
                for tag in tags:
                    self._trial.keep(run_id, "tags", tag.key, tag.value)
        if metrics:
            self._log(run_id, list(metrics))

    def log_param(self, run_id: str, param: Any) -> Any:
        result = super().log_param(run_id, param)
        with self._trial.lock:
            self._trial.keep(run_id, "params", param.key, param.value)
        return result

    def set_tag(self, run_id: str, tag: Any) -> None:
        super().set_tag(run_id, tag)
        with self._trial.lock:
            self._trial.keep(run_id, "tags", tag.key, tag.value)

    # Calls that read metrics, or end or delete a run, first write its metrics into MLflow's files.

    def get_run(self, run_id: str) -> Any:
        self._write(run_id)
        return super().get_run(run_id)

    def get_metric_history(self, run_id: str, *arguments: Any, **named: Any) -> Any:
        self._write(run_id)
        return super().get_metric_history(run_id, *arguments, **named)

    def _search_runs(self, *arguments: Any, **named: Any) -> Any:
        self._write_all()
        return super()._search_runs(*arguments, **named)

    def update_run_info(self, run_id: str, *arguments: Any, **named: Any) -> Any:
        self._write(run_id)
        info = super().update_run_info(run_id, *arguments, **named)
        if info.status in ("FINISHED", "FAILED", "KILLED"):
            with self._trial.lock:
                self._trial.reports.flush()
        return info

    def delete_run(self, run_id: str) -> Any:
        self._write(run_id)
        return super().delete_run(run_id)

    def _begin(self, run: Any) -> None:
        # Before MLflow 2 the name of a run is a tag only.
        name = getattr(run.info, "run_name", None) or run.data.tags.get("mlflow.runName", "")
        self._trial.begin(run.info.run_id, name)
        for kind in ("params", "tags"):
            for key, value in getattr(run.data, kind).items():
                self._trial.keep(run.info.run_id, kind, key, value)

    def _log(self, run_id: str, metrics: List[Any]) -> None:
        with self._trial.lock:
            if run_id not in self._trial.unwritten:
                self._begin(super().get_run(run_id))  # fails if there is no such run
                self._trial.unwritten[run_id] = []
            for metric in metrics:
                if not metric.step and not self._trial.has_counted(run_id, metric.key):
                    self._trial.count_earlier(run_id, metric.key, self._count_without_step(run_id, metric.key))
            self._trial.report(run_id, metrics)
            self._trial.unwritten[run_id].extend(metrics)
            if len(self._trial.unwritten[run_id]) >= _BLOCK:
                self._write(run_id)

    def _count_without_step(self, run_id: str, key: str) -> int:
        if key not in super().get_run(run_id).data.metrics:
            return 0
        return sum(1 for metric in super().get_metric_history(run_id, key) if not metric.step)

    def _write(self, run_id: str) -> None:
        """Writes the metrics of a run into MLflow's files."""
        with self._trial.lock:
            unwritten = self._trial.unwritten.get(run_id)
            while unwritten and not self._is_writing:
                block = unwritten[:_BLOCK]
                del unwritten[:_BLOCK]
                self._is_writing = True
                try:
                    super().log_batch(run_id, metrics=block, params=[], tags=[])
                finally:
                    self._is_writing = False

    def _write_all(self) -> None:
        for run_id in list(self._trial.unwritten):
            self._write(run_id)

    def _write_at_exit(self) -> None:
        if os.getpid() == self._trial.reports._pid:
            self._write_all()
            self._trial.reports.close()
