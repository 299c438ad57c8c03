"""core.init(): the parts of the Core API of one program."""

import enum
import faulthandler
import json
import logging
import os
import signal
import sys
from types import TracebackType
from typing import Any, Dict, List, NoReturn, Optional, Type, Union

from determined import _sampler
from determined._absent import AbsentNames
from determined.core._checkpoint import CheckpointContext
from determined.core._data_loader_workers import keep_workers
from determined.core._distributed import DistributedContext
from determined.core._preempt import PreemptContext, PreemptMode, mode_number
from determined.core._profiler import ProfilerContext
from determined.core._searcher import SearcherContext
from determined.core._train import EarlyExitReason, TrainContext

logger = logging.getLogger("determined.core")

_ALERT_LEVELS = ["debug", "info", "warn", "error"]  # in the order of det_alert_level


class TensorboardMode(enum.Enum):
    """Whether the program may call upload_tensorboard_files(). det-submit uploads nothing in either mode,
    because the files are on the shared file system."""

    AUTO = "AUTO"
    MANUAL = "MANUAL"


class Experimental(AbsentNames):
    """What Determined calls experimental in a Context. det-submit has nothing of it."""


class Context:
    """The Core API. Use it as `with core.init() as context`: the program joins its run when it enters the
    block.

    Attributes:
        checkpoint, distributed, preempt, profiler, searcher, train: the parts of the API
        info: the ClusterInfo; None off the cluster
    """

    def __init__(
        self,
        distributed: DistributedContext,
        info: Any,
        checkpoint_storage: Optional[str],
        preempt_mode: PreemptMode,
        tensorboard_mode: TensorboardMode,
    ) -> None:
        trial = info.trial if info is not None and info.task_type == "TRIAL" else None
        self.info = info
        self.distributed = distributed
        self.checkpoint = CheckpointContext(distributed)
        self.preempt = PreemptContext(distributed, preempt_mode)
        self.train = TrainContext(distributed, trial is not None, tensorboard_mode is TensorboardMode.AUTO)
        self.searcher = SearcherContext(distributed, self.train, trial is not None)
        self.profiler = ProfilerContext(distributed.local_rank, trial is not None, _syncs_timings(trial))
        self.train._timings = self.profiler._timings
        self.experimental = Experimental()
        self._is_trial = trial is not None
        self._checkpoint_storage = checkpoint_storage
        self._preempt_mode = preempt_mode
        self._is_started = False
        self._is_implicit = False  # made by ScriptReports; start() of another Context closes it

    def start(self) -> "Context":
        """Joins the run. Collective. `with` calls it.

        Raises:
            RuntimeError: it was started before
        """
        if self._is_started:
            raise RuntimeError("this Context is started already")
        self._is_started = True
        other = active_context()
        if other is not None and other._is_implicit:
            other.close()
        _print_stacks_on_signal()
        self.distributed._handle().join_run(
            user_data_directory(), self._checkpoint_storage, mode_number(self._preempt_mode)
        )
        self.preempt.start()
        if self._is_trial:
            keep_workers()
            _active.append(self)
        return self

    def close(self) -> None:
        """Leaves the run. Collective: returns when all ranks have called it."""
        if self in _active:
            _active.remove(self)
        self.preempt.close()
        self.profiler._close()
        self.train._report_timings()
        try:
            self.checkpoint.wait()
        finally:
            self.distributed.close()

    def alert(
        self, title: Optional[str] = None, description: Optional[str] = None, level: str = "info"
    ) -> None:
        """Writes a message for the user to the log and, if the chief calls it, to the journal of the trial.

        Args:
            level: "debug", "info", "warn" or "error"

        Raises:
            ValueError: outside of a trial, or an unknown level
        """
        if not self._is_trial:
            raise ValueError("alert() works only in a trial")
        if level not in _ALERT_LEVELS:
            raise ValueError(f"level must be one of {', '.join(_ALERT_LEVELS)}, not '{level}'")
        number = _ALERT_LEVELS.index(level)
        logger.log([10, 20, 30, 40][number], "alert: %s", ": ".join(filter(None, [title, description])))
        if self.distributed.rank == 0:
            self.distributed._handle().alert(title or "", description or "", number)

    def __enter__(self) -> "Context":
        return self.start()

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if kind is None or (isinstance(value, SystemExit) and value.code in (None, 0)):
            self.close()
            return
        import determined

        if isinstance(value, determined.InvalidHP):
            self._end_with_invalid_hyperparameters(value)
        # Does not close the connection, because that would wait for the other ranks. They get an error when
        # this process ends, after its traceback has been printed.
        self.preempt.close()
        self.profiler._close()

    def _end_with_invalid_hyperparameters(self, problem: BaseException) -> NoReturn:
        logger.info("InvalidHP: %s", problem)
        self.train.report_early_exit(EarlyExitReason.INVALID_HP)
        sys.exit(0)


_active: List[Context] = []  # those of this process that have joined a trial, oldest first


def active_context() -> Optional[Context]:
    """The newest Context of this process that has joined a trial and is not closed."""
    return _active[-1] if _active else None


def init(
    *,
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: Optional[Union[str, Dict[str, Any]]] = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> Context:
    """Makes the Core API of this program.

    Args:
        distributed: the ranks; needed in a task with several slots or nodes
        checkpoint_storage: where checkpoints are kept. None: where the configuration says, or the user's data directory
            off the cluster. A path or file: URL, s3://bucket/prefix, or a map like checkpoint_storage of a configuration
        preempt_mode: which ranks call should_preempt()
        tensorboard_mode: with MANUAL, upload_tensorboard_files() may be called

    Raises:
        ValueError: distributed is missing, or checkpoint_storage is not valid
        TypeError, NotImplementedError: checkpoint_storage is of another type or scheme
    """
    import determined

    info = None if _sampler.is_asked() else determined.get_cluster_info()
    if distributed is None:
        slots = 1 if info is None else max(len(info.container_addrs), len(info.slot_ids))
        if slots > 1:
            raise ValueError(
                "core.init() needs a valid DistributedContext for a multi-slot task: pass distributed="
                "core.DistributedContext.from_torch_distributed(), or make one with the numbers of this rank"
            )
        distributed = DistributedContext(rank=0, size=1)
    storage = None if checkpoint_storage is None else json.dumps(read_storage(checkpoint_storage))
    if info is None:
        logger.debug("off the cluster: reports are logged")
    elif info.task_type == "TRIAL" and info.trial._config.get("debug") is True:
        show_debug_messages()
    return Context(distributed, info, storage, preempt_mode, tensorboard_mode)


def show_debug_messages() -> None:
    """Shows all messages of this package, as `debug: true` of a configuration asks for. Keeps the program's own handlers."""
    logging.basicConfig(format="%(levelname)s: [%(process)s] %(name)s: %(message)s")
    logging.getLogger("determined").setLevel(logging.DEBUG)
    logger.debug("debug: true of the configuration shows the messages of determined")


def read_storage(storage: Union[str, Dict[str, Any]]) -> Dict[str, Any]:
    """The argument checkpoint_storage as a section checkpoint_storage of a configuration."""
    import urllib.parse

    if isinstance(storage, dict):
        if storage.get("type") == "shared_fs":
            raise ValueError("checkpoint_storage of type shared_fs is not supported: pass the path as a string")
        return storage
    if not isinstance(storage, str):
        raise TypeError(f"checkpoint_storage must be a string or a map, not {type(storage).__name__}")
    url = urllib.parse.urlparse(storage)
    if not url.scheme:
        return {"type": "directory", "container_path": os.path.abspath(storage)}
    if url.query or url.fragment:
        raise ValueError(f"checkpoint_storage '{storage}' must have neither a query nor a fragment")
    if url.scheme == "file":
        return {"type": "directory", "container_path": os.path.abspath(url.path)}
    if url.scheme == "s3":
        return {"type": "s3", "bucket": url.netloc, "prefix": url.path.strip("/")}
    if url.scheme == "gs":
        return {"type": "gcs", "bucket": url.netloc, "prefix": url.path.strip("/")}
    raise NotImplementedError(f"checkpoint_storage '{storage}' has an unknown scheme")


def user_data_directory() -> str:
    """The directory of this user's data of Determined, where checkpoints are kept off the cluster."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(data, "determined")


def _syncs_timings(trial: Any) -> bool:
    """Whether the trial is profiled and spans wait for the GPU."""
    profiling = {} if trial is None else trial._config.get("profiling") or {}
    return bool(profiling.get("enabled")) and bool(profiling.get("sync_timings", True))


def _print_stacks_on_signal() -> None:
    """SIGUSR1 prints the stacks of all threads to stderr, and then calls the handler that was there."""
    previous = signal.getsignal(signal.SIGUSR1)
    chain = previous not in (signal.SIG_DFL, signal.SIG_IGN, None)
    try:
        faulthandler.register(signal.SIGUSR1, file=sys.__stderr__, all_threads=True, chain=chain)
    except (AttributeError, RuntimeError, ValueError, OSError) as problem:
        logger.debug("SIGUSR1 does not print stacks: %s", problem)


def _dummy_init(
    *,
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: Optional[Union[str, Dict[str, Any]]] = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    **_: Any,
) -> Context:
    """init() that ignores the trial, as off the cluster."""
    storage = None if checkpoint_storage is None else json.dumps(read_storage(checkpoint_storage))
    ranks = distributed or DistributedContext(rank=0, size=1)
    return Context(ranks, None, storage, preempt_mode, TensorboardMode.AUTO)
