"""Errors on their way through torch.distributed.checkpoint."""

import functools
import logging
from typing import Any, Callable, TypeVar

logger = logging.getLogger("determined.pytorch")

_Function = TypeVar("_Function", bound=Callable[..., Any])


def logs_errors(function: _Function) -> _Function:
    """Logs an error before it passes through torch, which may replace it: torch 2.6 does so with Python 3.13."""

    @functools.wraps(function)
    def logging_errors(*arguments: Any, **more: Any) -> Any:
        try:
            return function(*arguments, **more)
        except Exception as problem:
            logger.error("%s", problem)
            raise

    return logging_errors  # type: ignore[return-value]
