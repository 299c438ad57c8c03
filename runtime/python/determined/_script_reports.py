"""Reports of scripts that log by wandb or MLflow and do not call the Core API: metrics go to the trial's journal.

The chief reports; other ranks do nothing. If the script uses the Core API too, its Context is used, because a run has one
writer of its journal.
"""

import logging
import os
import re
from typing import Any, Dict, Iterable, List, Optional, Tuple

import determined
from determined import core
from determined._lib import LibraryError
from determined.core import _context

logger = logging.getLogger("determined.scripts")

# A variable by which a launcher is recognized, and its variable with the rank; the order is libdet's. If none
# is set, the program is one process per node.
_RANK_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK"),
    ("MPI_LOCALNRANKS", "PMI_RANK"),
    ("HOROVOD_RANK", "HOROVOD_RANK"),
    ("RANK", "RANK"),
)
_TRAINING_WORDS = {"train", "training"}
_VALIDATION_WORDS = {"val", "valid", "validation", "eval", "evaluation", "test"}


def find_rank(info: "determined.ClusterInfo") -> int:
    """The rank of this process, from the variables of its launcher."""
    for mark, variable in _RANK_VARIABLES:
        if mark in os.environ and os.environ.get(variable, "").isdigit():
            return int(os.environ[variable])
    return info.container_rank


def split_groups(metrics: Dict[str, Any], searcher: Dict[str, Any]) -> Iterable[Tuple[str, Dict[str, Any]]]:
    """Divides metrics into the groups training and validation.

    The searcher's metric is validation, and so is a name that has a word like val, eval or test and not the
    word train. A search needs the metric and the time of a validation in one report: searcher.time_metric is
    also put into validation.
    """
    groups: Dict[str, Dict[str, Any]] = {"training": {}, "validation": {}}
    for name, value in metrics.items():
        words = set(re.split(r"[^a-z0-9]+", name.lower()))
        is_validation = bool(words & _VALIDATION_WORDS) and not words & _TRAINING_WORDS
        group = "validation" if is_validation or name == searcher.get("metric") else "training"
        groups[group][name] = value
    time_metric = searcher.get("time_metric")
    if groups["validation"] and time_metric in metrics:
        groups["validation"][time_metric] = metrics[time_metric]
    return [(group, part) for group, part in groups.items() if part]


def group_name(name: str) -> str:
    """Makes a name for a group of metrics, which must not contain a dot."""
    return re.sub(r"[^\w-]+", "_", name) or "run"


class ScriptReports:
    """The reports of one process.

    Attributes:
        is_recorded: whether this process reports: it is the chief of a trial, and has not failed to join the
            run
        info: the ClusterInfo; None off the cluster
        rank: the number of this process; 0 off the cluster
    """

    def __init__(self) -> None:
        self.info = determined.get_cluster_info()
        is_trial = self.info is not None and self.info.task_type == "TRIAL"
        self.rank = find_rank(self.info) if self.info is not None else 0
        self.is_recorded = is_trial and self.rank == 0
        config = self.info.trial._config if self.info is not None and is_trial else {}
        self._searcher: Dict[str, Any] = config.get("searcher") or {}
        self._pid = os.getpid()
        self._metadata: Optional[Dict[str, Any]] = None
        self._unsaved: Dict[str, Any] = {}

    def hyperparameters(self) -> Dict[str, Any]:
        """The hyperparameters of the trial; empty outside of a trial. Every rank may call this."""
        return dict(self.info.trial.hparams) if self.info is not None and self.info.task_type == "TRIAL" else {}

    def report(self, steps_completed: int, metrics: Dict[str, Any], group: Optional[str] = None) -> None:
        """Reports metrics. group: None: split_groups() chooses the groups by the names."""
        context = self._find_context() if metrics else None
        if context is None:
            return
        self._save_metadata(context)
        groups = [(group, metrics)] if group is not None else split_groups(metrics, self._searcher)
        for name, part in groups:
            context.train._report(name, max(0, int(steps_completed)), part)

    def keep(self, key: str, value: Dict[str, Any]) -> None:
        """Sets an entry of the trial's metadata. It is written before the next report and by flush()."""
        self._unsaved[key] = value

    def last_steps(self) -> Optional[int]:
        """The largest number of steps that a run of the trial has reported; None if there is none."""
        context = self._find_context()
        return None if context is None else context.distributed._handle().last_steps()

    def alert(self, title: str, text: str, level: str) -> None:
        context = self._find_context()
        if context is not None:
            context.alert(title, text, level)

    def flush(self) -> None:
        """Returns when all reports are in the journal."""
        context = self._find_context()
        if context is not None:
            self._save_metadata(context)
            context.distributed._handle().flush_reports()

    def close(self) -> None:
        """Calls flush(), and leaves the run if this object has joined it. A later report joins it again."""
        if not self.is_recorded or os.getpid() != self._pid:
            return
        context = _context.active_context()
        if context is not None or self._unsaved:
            self.flush()
        if context is not None and context._is_implicit:
            context.close()

    def _save_metadata(self, context: core.Context) -> None:
        if not self._unsaved:
            return
        if self._metadata is None:
            self._metadata = context.train.get_metadata() or {}
        unsaved, self._unsaved = self._unsaved, {}
        self._metadata = context.train.set_metadata({**self._metadata, **unsaved})

    def _find_context(self) -> Optional[core.Context]:
        """The Context of the program, else one that this object makes; None if this process does not
        report."""
        if not self.is_recorded or os.getpid() != self._pid:  # after a fork the Context is the parent's
            return None
        context = _context.active_context()
        if context is not None:
            return context if context.distributed.rank == 0 else None
        own = core.init(
            distributed=core.DistributedContext(rank=0, size=1), preempt_mode=core.PreemptMode.ChiefOnly
        )
        own._is_implicit = True
        try:
            return own.start()
        except LibraryError as problem:
            self.is_recorded = False
            logger.warning("metrics of process %d are not recorded: %s", self._pid, problem)
            return None


def trial_files(*names: str) -> str:
    """A path below the trial's own files on the shared file system; below the working directory off the cluster."""
    return os.path.join(os.environ.get("DET_TRIAL_DIR") or os.getcwd(), *names)


def flatten(values: Dict[Any, Any], prefix: str = "") -> Dict[str, Any]:
    """Nested maps as one map with names like "outer.inner"."""
    flat: Dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat.update(flatten(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


__all__: List[str] = ["ScriptReports", "find_rank", "flatten", "group_name", "split_groups", "trial_files"]
