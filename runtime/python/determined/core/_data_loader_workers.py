"""Keeps the workers of torch's DataLoader alive when Slurm sends the notice of a preemption to every process."""

import functools
import sys
from typing import Any, Callable

from determined._lib import load


def keep_workers() -> None:
    """Lets forked workers of torch.utils.data.DataLoader ignore Slurm's SIGTERM, which would otherwise end them before
    the rank has saved: they replace the handler of the rank by one of torch. Does nothing if the program has not
    imported torch. May be called several times."""
    handling: Any = sys.modules.get("torch.utils.data._utils.signal_handling")
    install = getattr(handling, "_set_worker_signal_handlers", None)
    if install is not None and not hasattr(install, "__wrapped__"):
        handling._set_worker_signal_handlers = _wrap(install)


def _wrap(install: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(install)
    def set_worker_signal_handlers(*arguments: Any) -> None:
        install(*arguments)
        load().det_preempt_wrap_handler_of_child()

    return set_worker_signal_handlers
