"""A module in place of wandb. With `slurm: {log_wandb: true}` in the configuration, a script that logs by
wandb runs unchanged, and its metrics go to the journal of its trial. No server is used.

    import wandb

    run = wandb.init(project="digits", config={"lr": 0.1})
    wandb.log({"loss": 0.5, "val_accuracy": 0.9})

Only rank 0 reports: on other ranks, and outside of a trial, wandb.init() returns a run that records nothing.
"""

import atexit
import logging
import os
import sys
from typing import Any, Dict, List, Optional

from determined._script_reports import ScriptReports
from wandb import errors as errors
from wandb import util as util
from wandb._artifacts import Artifact
from wandb._notes import (
    Audio,
    Histogram,
    Html,
    Image,
    Molecule,
    Object3D,
    Plotly,
    Table,
    Unknown,
    Video,
    warn_once,
)
from wandb._run import Run, make_run
from wandb._values import Config, as_map
from wandb.errors import CommError, Error, UsageError

__version__ = "0.18.0"

logger = logging.getLogger("wandb")

run: Optional[Run] = None

_reports: Optional[ScriptReports] = None
_count = 0  # number of runs that this process has begun


class AlertLevel:
    """Levels of alert()."""

    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


class Settings:
    """Settings of wandb. Only `mode` has an effect."""

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)


def init(
    project: Optional[str] = None,
    entity: Optional[str] = None,
    config: Any = None,
    name: Optional[str] = None,
    id: Optional[str] = None,
    group: Optional[str] = None,
    job_type: Optional[str] = None,
    tags: Any = None,
    notes: Optional[str] = None,
    mode: Optional[str] = None,
    resume: Any = None,
    reinit: Any = None,
    settings: Any = None,
    config_exclude_keys: Any = (),
    **other: Any,
) -> Run:
    """Begins a run, or returns the current one unless `reinit` asks for another. The first run of a process
    is the trial's; the metrics of others are groups of their own.

    Args:
        config: a map, or an object with attributes; the trial's hyperparameters override it
        mode: "disabled" records nothing; any other mode reports to the trial
        resume: any value but None, False and "never": the first run of the process counts steps from the one
            after the last step that the trial has reported
        reinit: any value but None, False and "return_previous" finishes the current run and begins another
        other: accepted, without effect

    Raises:
        UsageError: config is the name of a file
    """
    global run, _reports, _count
    if run is not None and not run._is_finished:
        if reinit in (None, False, "return_previous"):
            return run
        finish()
    if _reports is None:
        _reports = ScriptReports()
        atexit.register(_finish_at_exit)
    if isinstance(config, str):
        raise UsageError("config is a file, which det-submit does not read: pass a map")
    excluded = set(config_exclude_keys or ())
    if excluded:
        config = {key: value for key, value in as_map(config).items() if key not in excluded}
    names = {
        "project": project or os.environ.get("WANDB_PROJECT"),
        "entity": entity or os.environ.get("WANDB_ENTITY"),
        "name": name or os.environ.get("WANDB_NAME"),
        "id": id or os.environ.get("WANDB_RUN_ID"),
        "group": group or os.environ.get("WANDB_RUN_GROUP"),
        "job_type": job_type,
        "tags": [tags] if isinstance(tags, str) else tags,
        "notes": notes,
    }
    mode = mode or getattr(settings, "mode", None) or os.environ.get("WANDB_MODE")
    if os.environ.get("WANDB_DISABLED", "").lower() in ("1", "true"):
        mode = "disabled"
    run = make_run(_reports, _count, names, config, mode, resume or os.environ.get("WANDB_RESUME"))
    _count += 1
    _tell(run, _reports, mode)
    return run


def _tell(begun: Run, reports: ScriptReports, mode: Optional[str]) -> None:
    if mode == "disabled":
        return
    if begun._is_recorded:
        task = reports.info.task_id if reports.info is not None else ""
        where = f"trial {task}" if begun._series is None else f"trial {task}, group '{begun._series}'"
        print(f"wandb: run {begun.name}: metrics go to {where} of det-submit", file=sys.stderr)
    elif reports.rank > 0:
        warn_once("rank", f"rank {reports.rank} records nothing: the metrics of rank 0 are those of the trial")
    else:
        warn_once("off", "this is no trial of det-submit: metrics are not recorded")


def _finish_at_exit() -> None:
    if run is not None and os.getpid() == run._reports._pid:
        run.finish()


def _require_run(call: str) -> Run:
    if run is None:
        raise Error(f"You must call wandb.init() before {call}")
    return run


def log(data: Dict[str, Any], step: Optional[int] = None, commit: Optional[bool] = None, sync: Optional[bool] = None) -> None:
    """Calls Run.log() of the current run."""
    _require_run("wandb.log()").log(data, step, commit, sync)


def finish(exit_code: Optional[int] = None, quiet: Optional[bool] = None) -> None:
    """Ends the current run. Does nothing if there is none."""
    global run
    if run is not None:
        run.finish(exit_code, quiet)
        run = None


def join(exit_code: Optional[int] = None) -> None:
    finish(exit_code)


def watch(*arguments: Any, **named: Any) -> List[Any]:
    return _require_run("wandb.watch()").watch(*arguments, **named)


def unwatch(*_: Any, **__: Any) -> None:
    """Does nothing, because watch() does nothing."""


def save(glob_str: Optional[str] = None, base_path: Optional[str] = None, policy: str = "live") -> Any:
    return _require_run("wandb.save()").save(glob_str, base_path, policy)


def define_metric(name: str, *arguments: Any, **named: Any) -> None:
    _require_run("wandb.define_metric()").define_metric(name, *arguments, **named)


def log_artifact(*arguments: Any, **named: Any) -> Artifact:
    return _require_run("wandb.log_artifact()").log_artifact(*arguments, **named)


def use_artifact(*arguments: Any, **named: Any) -> Artifact:
    return _require_run("wandb.use_artifact()").use_artifact(*arguments, **named)


def alert(title: str, text: str = "", level: Any = "INFO", wait_duration: Any = None) -> None:
    _require_run("wandb.alert()").alert(title, text, level, wait_duration)


def login(*_: Any, **__: Any) -> bool:
    """Does nothing: there is no server to log in to."""
    return True


def setup(*_: Any, **__: Any) -> None:
    """Does nothing: there is no process of wandb to start."""


def teardown(exit_code: Optional[int] = None) -> None:
    finish(exit_code)


def require(*_: Any, **__: Any) -> None:
    """Does nothing."""


def mark_preempting() -> None:
    """Does nothing: det-submit records preemptions itself."""


def sweep(*_: Any, **__: Any) -> str:
    raise UsageError("searches are experiments here: write the parameters as hyperparameters, and choose a searcher")


def agent(*_: Any, **__: Any) -> None:
    sweep()


def Api(*_: Any, **__: Any) -> Any:
    raise CommError("det-submit asks no server: 'det-submit trial metrics' and determined.experimental.client read metrics")


def restore(name: str, *_: Any, **__: Any) -> Any:
    """Opens a text file that save() has stored in this or an earlier run of the trial; None if there is
    none."""
    path = os.path.join(_require_run("wandb.restore()").dir, name)
    return open(path, encoding="utf-8") if os.path.exists(path) else None


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'wandb' has no attribute '{name}'")
    if name in ("config", "summary"):
        if run is None:
            return _Before(name)
        return getattr(run, name)
    return Unknown(name)


class _Before:
    """wandb.config and wandb.summary before wandb.init()."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, name: str) -> Any:
        raise Error(f"You must call wandb.init() before wandb.{self._name}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        self.__getattr__(name)

    def __getitem__(self, name: str) -> Any:
        self.__getattr__(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.__getattr__(name)

    _name: str


__all__ = [
    "AlertLevel",
    "Api",
    "Artifact",
    "Audio",
    "CommError",
    "Config",
    "Error",
    "Histogram",
    "Html",
    "Image",
    "Molecule",
    "Object3D",
    "Plotly",
    "Run",
    "Settings",
    "Table",
    "UsageError",
    "Video",
    "agent",
    "alert",
    "define_metric",
    "finish",
    "init",
    "log",
    "log_artifact",
    "login",
    "restore",
    "run",
    "save",
    "setup",
    "sweep",
    "unwatch",
    "use_artifact",
    "watch",
]
