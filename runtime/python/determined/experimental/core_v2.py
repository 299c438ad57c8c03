"""The Core API as variables of a module, without a `with` block.

    from determined.experimental import core_v2

    core_v2.init(defaults=core_v2.DefaultConfig(name="mnist"))
    core_v2.train.report_training_metrics(steps_completed=1, metrics={"loss": 0.5})
    core_v2.close()

In a trial the configuration that was submitted is used, and the program's Config is ignored. Off the cluster
reports are logged, and checkpoints are kept in the user's data directory unless checkpoint_storage is given:
det-submit records no experiment then.
"""

import atexit
import dataclasses
import logging
import os
import pathlib
import sys
import warnings
from typing import Any, Dict, List, Optional, Union

import determined
from determined.core import (
    CheckpointContext,
    Context,
    DistributedContext,
    PreemptContext,
    PreemptMode,
    ProfilerContext,
    SearcherContext,
    TensorboardMode,
    TrainContext,
)
from determined.core import init as _init_core
from determined.core._context import user_data_directory
from determined.experimental._unmanaged import LatestCheckpoint, UnmanagedInfo

logger = logging.getLogger("determined.core")

train: Optional[TrainContext] = None
distributed: Optional[DistributedContext] = None
preempt: Optional[PreemptContext] = None
checkpoint: Optional[CheckpointContext] = None
searcher: Optional[SearcherContext] = None
profiler: Optional[ProfilerContext] = None
info: Optional["determined.ClusterInfo"] = None

_context: Optional[Context] = None


@dataclasses.dataclass
class Config:
    """An experiment's configuration that the program gives, used only off the cluster. With
    external_experiment_id and external_trial_id the next program that gives the same two finds the last
    checkpoint in info.latest_checkpoint."""

    name: Optional[str] = None
    hparams: Optional[Dict[str, Any]] = None
    data: Optional[Dict[str, Any]] = None
    description: Optional[str] = None
    labels: Optional[List[str]] = None
    workspace: Optional[str] = None
    project: Optional[str] = None
    checkpoint_storage: Optional[Union[str, Dict[str, Any]]] = None
    searcher: Optional[Dict[str, Any]] = None
    external_experiment_id: Optional[str] = None
    external_trial_id: Optional[str] = None


@dataclasses.dataclass
class DefaultConfig(Config):
    """The former name of Config."""

    def __post_init__(self) -> None:
        warnings.warn("core_v2.DefaultConfig is deprecated: use Config", FutureWarning, stacklevel=3)


@dataclasses.dataclass
class UnmanagedConfig(Config):
    """The former name of Config."""

    def __post_init__(self) -> None:
        warnings.warn("core_v2.UnmanagedConfig is deprecated: use Config", FutureWarning, stacklevel=3)


def init_context(
    *,
    config: Optional[Config] = None,
    defaults: Optional[Config] = None,
    unmanaged: Optional[Config] = None,
    client: Any = None,
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: Optional[Union[str, Dict[str, Any]]] = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> Context:
    """Makes a Context for a `with` block.

    Args:
        config: the configuration; needed off the cluster
        defaults, unmanaged: former names of config
        client: accepted and not used
        distributed, checkpoint_storage, preempt_mode, tensorboard_mode: as for core.init()

    Raises:
        ValueError: off the cluster without a configuration
    """
    given = config or unmanaged or defaults
    if determined.get_cluster_info() is None:
        if given is None:
            raise ValueError("core_v2.init() needs a config off the cluster")
        logger.info("off the cluster: no experiment is recorded for '%s'", given.name or "unmanaged")
        own_storage = os.path.join(user_data_directory(), "checkpoints")
        checkpoint_storage = checkpoint_storage or given.checkpoint_storage or own_storage
    elif distributed is None:
        distributed = DistributedContext(rank=0, size=1)  # no error with several slots, unlike core.init()
    context = _init_core(
        distributed=distributed,
        checkpoint_storage=checkpoint_storage,
        preempt_mode=preempt_mode,
        tensorboard_mode=tensorboard_mode,
    )
    if context.info is None and given is not None:
        _name_unmanaged(context, given)
    return context


def _name_unmanaged(context: Context, config: Config) -> None:
    """Gives a Context off the cluster the configuration of the program, and its latest checkpoint."""
    latest = None
    if config.external_experiment_id and config.external_trial_id:
        names = (config.external_experiment_id, config.external_trial_id)
        file = LatestCheckpoint(user_data_directory(), *names)
        latest = file.read()
        context.checkpoint._on_saved = file.write
    context.info = UnmanagedInfo(dataclasses.asdict(config), config.hparams or {}, latest)


def init(
    *,
    config: Optional[Config] = None,
    defaults: Optional[Config] = None,
    unmanaged: Optional[Config] = None,
    client: Any = None,
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: Optional[Union[str, Dict[str, Any]]] = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> None:
    """Starts a Context and sets the variables of this module. Closes the Context of an earlier call first.
    The arguments are those of init_context()."""
    if _context is not None:
        close()
    context = init_context(
        config=config,
        defaults=defaults,
        unmanaged=unmanaged,
        client=client,
        distributed=distributed,
        checkpoint_storage=checkpoint_storage,
        preempt_mode=preempt_mode,
        tensorboard_mode=tensorboard_mode,
    )
    _set(context.start())
    atexit.register(_close_at_exit)


def _set(context: Context) -> None:
    variables = globals()
    variables["_context"] = context
    for name in ("train", "distributed", "preempt", "checkpoint", "searcher", "profiler", "info"):
        variables[name] = getattr(context, name)


def _close_at_exit() -> None:
    """Calls close(), unless an exception ends the program: close() would wait for the other ranks, which
    instead get an error when this process ends."""
    if getattr(sys, "last_type", None) is None:
        close()


def close() -> None:
    """Closes the Context of init(). Collective.

    It is called at the end of the program if the program has not called it, unless an exception ends the
    program.
    """
    global _context, train
    atexit.unregister(_close_at_exit)
    context, _context = _context, None
    train = None
    if context is not None:
        context.close()


def url_reverse_webui_exp_view() -> str:
    """The file: URL of the experiment's directory, because there is a web page only while det-tracker runs.
    Off the cluster the URL of the user's data directory.

    Raises:
        RuntimeError: init() was not called
    """
    if _context is None:
        raise RuntimeError("core_v2.init() was not called")
    return pathlib.Path(os.environ.get("DET_EXPERIMENT_PATH") or user_data_directory()).absolute().as_uri()


__all__ = [
    "Config",
    "DefaultConfig",
    "DistributedContext",
    "PreemptMode",
    "TensorboardMode",
    "UnmanagedConfig",
    "checkpoint",
    "close",
    "distributed",
    "info",
    "init",
    "init_context",
    "preempt",
    "profiler",
    "searcher",
    "train",
    "url_reverse_webui_exp_view",
]
