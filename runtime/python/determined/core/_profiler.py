"""Profiling of the system: samples of this node's hardware, shown by `det-submit trial profile`."""

import logging
import os
import subprocess
from typing import Any, Optional

from determined._programs import find_program
from determined.core._timings import Span, Timings

logger = logging.getLogger("determined.core")

_SHORTEST_INTERVAL_S = 0.1
_LAST_WRITE_S = 2


def _metrics_file() -> Optional[str]:
    """The journal of this node's system metrics; None if the run has none, or is profiled by its configuration."""
    log = os.environ.get("DET_RANK_LOG")
    if not log or os.environ.get("DET_PROFILING"):
        return None
    return os.path.splitext(log)[0] + ".metrics"


class ProfilerContext:
    """Obtained from `Context.profiler`."""

    def __init__(self, local_rank: int = 0, is_on_cluster: bool = False, sync_timings: bool = False) -> None:
        self._is_active = is_on_cluster and local_rank == 0
        self._sampler: Optional["subprocess.Popen[bytes]"] = None
        self._timings = Timings(waits_for_gpu=sync_timings)

    def on(self, sampling_interval: float = 1, samples_per_report: int = 10) -> None:
        """Samples the system metrics of this node until off(). Only local rank 0 does it, in a process of its
        own.

        Does nothing if it is on already, also by `profiling: {enabled: true}` in the configuration.

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
        file = _metrics_file()
        if not self._is_active or self._sampler is not None or file is None:
            return
        program = find_program("det-launch")
        if program is None:
            logger.warning("profiler.on(): det-launch is neither beside the package determined nor in PATH")
            return
        interval_ms = max(100, round(sampling_interval * 1000))
        options = ["--journal", file, "--interval-ms", str(interval_ms), "--samples", str(samples_per_report)]
        self._sampler = subprocess.Popen([program, "sample-node", *options], stdin=subprocess.PIPE)

    def off(self) -> None:
        """Ends the sampling that on() began."""
        sampler, self._sampler = self._sampler, None
        if sampler is None or sampler.stdin is None:
            return
        sampler.stdin.close()  # the sampler then writes its last averages and ends
        try:
            sampler.wait(_LAST_WRITE_S)
        except subprocess.TimeoutExpired:
            sampler.kill()
            sampler.wait()

    def span(self, name: str) -> Span:
        """Measures the block: `with context.profiler.span("load"):`. The chief reports the sums of each name every ten
        seconds, with its next report, and at the end; `det-submit trial profile` shows them. With `profiling:
        {enabled: true}`, unless `sync_timings` is false, the block begins and ends when the GPU of torch is idle."""
        return Span(self._timings, name)

    def _close(self) -> None:
        self.off()

    def __enter__(self) -> "ProfilerContext":
        return self

    def __exit__(self, *_: Any) -> None:
        self._close()
