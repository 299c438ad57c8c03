"""Profiling of the system: the calls are there, and nothing is sampled yet."""

import logging
from typing import Any

logger = logging.getLogger("determined.core")

_SHORTEST_INTERVAL_S = 0.1


class ProfilerContext:
    """Obtained from `Context.profiler`."""

    def __init__(self, local_rank: int = 0, is_on_cluster: bool = False) -> None:
        self._is_active = is_on_cluster and local_rank == 0
        self._is_on = False

    def on(self, sampling_interval: float = 1, samples_per_report: int = 10) -> None:
        """Checks its arguments and warns that nothing is sampled.

        Args:
            sampling_interval: seconds between samples
            samples_per_report: number of samples that are averaged

        Raises:
            ValueError: the interval is below 0.1 s, or the number is not an integer of at least 1
        """
        if not isinstance(sampling_interval, (int, float)) or sampling_interval < _SHORTEST_INTERVAL_S:
            raise ValueError(f"sampling_interval must be at least {_SHORTEST_INTERVAL_S} s, not {sampling_interval}")
        is_count = isinstance(samples_per_report, int) and not isinstance(samples_per_report, bool)
        if not is_count or samples_per_report < 1:
            raise ValueError(f"samples_per_report must be an integer of at least 1, not {samples_per_report}")
        if self._is_active and not self._is_on:
            logger.warning("profiler.on(): this version of det-submit does not sample system metrics")
        self._is_on = True

    def off(self) -> None:
        self._is_on = False

    def _close(self) -> None:
        self._is_on = False

    def __enter__(self) -> "ProfilerContext":
        return self

    def __exit__(self, *_: Any) -> None:
        self._close()
