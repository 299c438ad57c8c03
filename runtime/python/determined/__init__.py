"""Determined's Python API for experiments of det-submit."""

import faulthandler
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

if sys.version_info < (3, 8):  # for example /usr/bin/python3 of older enterprise systems
    raise ImportError("determined needs Python 3.8 or newer, and {} is {}.{}".format(sys.executable, *sys.version_info))

from determined._absent import AbsentModules, refuse_names_of
from determined._backend import _DistributedBackend as _DistributedBackend
from determined._import import import_from_path
from determined._info import ClusterInfo, RendezvousInfo, ResourcesInfo, TrialInfo, get_cluster_info
from determined._version import __version__

if TYPE_CHECKING:
    from determined import core, errors, util

LOG_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"


class InvalidHP(Exception):
    """Raised by a program that cannot train with its hyperparameters."""

    def __init__(self, msg: str = "...") -> None:
        if not isinstance(msg, str):
            raise TypeError(f"InvalidHP takes a message, not {type(msg).__name__}")
        super().__init__(msg)
        self.msg = msg


def _show_stack_on_signal() -> None:
    """Lets SIGUSR1 print the stacks of all threads: det-submit sends it to a rank that hangs
    (slurm.hang_timeout). Does nothing outside of a run, and if the program handles SIGUSR1 or gets it as the
    notice of a preemption."""
    is_notice = "USR1" in os.environ.get("DET_FORWARD_SIGNALS", "").split(",")
    if "DET_RUN_PATH" not in os.environ or is_notice or signal.getsignal(signal.SIGUSR1) is not signal.SIG_DFL:
        return
    try:
        faulthandler.register(signal.SIGUSR1, all_threads=True)
    except (AttributeError, OSError, RuntimeError, ValueError):
        pass  # for instance standard error is closed or replaced


_show_stack_on_signal()

sys.meta_path.append(AbsentModules())


def __getattr__(name: str) -> Any:
    """Imports core, errors and util at their first use, so that `import determined` is fast."""
    if name in ("core", "errors", "util"):
        return importlib.import_module(f"determined.{name}")
    return refuse_names_of(__name__)(name)


__all__ = [
    "ClusterInfo",
    "InvalidHP",
    "LOG_FORMAT",
    "RendezvousInfo",
    "ResourcesInfo",
    "TrialInfo",
    "__version__",
    "core",
    "errors",
    "get_cluster_info",
    "import_from_path",
    "util",
]
