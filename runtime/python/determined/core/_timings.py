"""Named spans of a program: how often each was entered, and how long it took."""

import sys
import threading
import time
from typing import Any, Dict, List

_PERIOD_S = 10


def _wait_for_gpu() -> None:
    """Waits until the GPU that torch uses in this process has done its work; does nothing without one."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        cuda.synchronize()


class Span:
    """One pass through a span. Use it as `with profiler.span("load"):`."""

    __slots__ = ("_timings", "_name", "_begin_ns")

    def __init__(self, timings: "Timings", name: str) -> None:
        self._timings = timings
        self._name = name
        self._begin_ns = 0

    def __enter__(self) -> "Span":
        if self._timings.waits_for_gpu:
            _wait_for_gpu()
        self._begin_ns = time.perf_counter_ns()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._timings.waits_for_gpu:
            _wait_for_gpu()
        self._timings.add(self._name, time.perf_counter_ns() - self._begin_ns)


class Timings:
    """The sums of all spans since they were last taken. Threads may add at the same time.

    Attributes:
        waits_for_gpu: whether a span waits for the GPU at its begin and at its end
    """

    def __init__(self, waits_for_gpu: bool = False) -> None:
        self.waits_for_gpu = waits_for_gpu
        self._sums: Dict[str, List[int]] = {}  # count, total and longest time in nanoseconds
        self._lock = threading.Lock()
        self._taken_at = time.monotonic()

    def add(self, name: str, duration_ns: int) -> None:
        with self._lock:
            sums = self._sums.get(name)
            if sums is None:
                sums = self._sums[name] = [0, 0, 0]
            sums[0] += 1
            sums[1] += duration_ns
            if duration_ns > sums[2]:
                sums[2] = duration_ns

    def is_due(self) -> bool:
        return bool(self._sums) and time.monotonic() - self._taken_at >= _PERIOD_S

    def take(self) -> Dict[str, float]:
        """The sums as metrics of the group "timing"."""
        with self._lock:
            sums, self._sums = self._sums, {}
        self._taken_at = time.monotonic()
        metrics: Dict[str, float] = {}
        for name, (count, total_ns, max_ns) in sums.items():
            metrics[f"{name}.count"] = count
            metrics[f"{name}.total_s"] = total_ns / 1e9
            metrics[f"{name}.max_s"] = max_ns / 1e9
        return metrics
