"""DetLogger: metrics that Lightning logs become those of the trial."""

import argparse
from typing import Any, Dict, Optional, Union

from determined import core
from determined._script_reports import flatten, split_groups, trial_files
from determined.lightning._package import load
from determined.pytorch._search_rungs import searcher_of, trial_of

Logger: Any = load("loggers.logger").Logger


class DetLogger(Logger):
    """Reports what a LightningModule logs, by the chief.

    The searcher's metric and metrics with a word like val, eval or test in their names are those of validation, all others
    those of training. They are reported as of the number of completed steps of the optimizer, like a checkpoint that is saved then.
    Lightning's own number is not that: it begins at 0, and some releases count one more after each resumption.
    Hyperparameters of the LightningModule become metadata of the trial.

    Args:
        core_context: of core.init()
    """

    def __init__(self, core_context: core.Context) -> None:
        super().__init__()
        self._core = core_context
        self._trial = trial_of(core_context)
        self._searcher = searcher_of(core_context)
        self._trainer: Any = None  # DetCallback gives it

    def follow(self, trainer: Any) -> None:
        """Reports as of this Trainer's number of steps. Without it the number is Lightning's, plus 1."""
        self._trainer = trainer

    @property
    def experiment(self) -> core.TrainContext:
        """The object that reports, for calls of the program's own."""
        return self._core.train

    @property
    def name(self) -> str:
        return "determined" if self._trial is None else str(self._trial._config.get("name") or "determined")

    @property
    def version(self) -> str:
        return "0" if self._trial is None else str(self._trial.trial_id)

    @property
    def save_dir(self) -> str:
        """The trial's own directory on the shared file system; the working directory off the cluster."""
        return trial_files("lightning")

    root_dir = log_dir = save_dir

    def log_metrics(self, metrics: Dict[str, float], step: Optional[int] = None) -> None:
        if self._core.distributed.rank != 0:
            return
        if self._trainer is not None:
            steps_completed = int(self._trainer.global_step)
        else:
            steps_completed = 0 if step is None else int(step) + 1
        for group, part in split_groups(metrics, self._searcher):
            if set(part) != {"epoch"}:  # Lightning adds it to every report
                self._core.train.report_metrics(group, steps_completed, part)

    def log_hyperparams(self, params: Union[Dict[str, Any], argparse.Namespace], *_: Any, **__: Any) -> None:
        if self._core.distributed.rank != 0:
            return
        values = vars(params) if isinstance(params, argparse.Namespace) else dict(params or {})
        plain = {str(name): value if _is_plain(value) else str(value) for name, value in flatten(values).items()}
        if plain:
            self._core.train.set_metadata({**(self._core.train.get_metadata() or {}), "hyperparameters": plain})


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))
