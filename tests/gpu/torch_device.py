"""The device of the checks with torch: the GPU, or the CPU in a rehearsal."""

import os
import statistics
import time
from typing import Any, Callable, List, Sequence, Tuple

import torch

IS_REHEARSAL = "DET_GPU_REHEARSAL" in os.environ
DEVICE = torch.device("cpu" if IS_REHEARSAL else "cuda")


def synchronize() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def seconds_of(call: Callable[[], Any]) -> float:
    """The time until a call and the work that it has put on the device are over."""
    synchronize()
    begun = time.perf_counter()
    call()
    synchronize()
    return time.perf_counter() - begun


def interleave(first: Callable[[], float], second: Callable[[], float], pairs: int) -> Tuple[float, float]:
    """The medians of two measurements that take turns. The first pair does not count."""
    results: List[Tuple[float, float]] = []
    for number in range(pairs + 1):
        if number % 2:
            b, a = second(), first()
        else:
            a, b = first(), second()
        results.append((a, b))
    return statistics.median(a for a, _ in results[1:]), statistics.median(b for _, b in results[1:])


def bytes_for_state(wanted: int) -> int:
    """The size of the largest state: `wanted`, or what DET_GPU_STATE_BYTES or the memory allows."""
    wanted = min(wanted, int(os.environ.get("DET_GPU_STATE_BYTES", wanted)))
    if DEVICE.type == "cuda":
        wanted = min(wanted, torch.cuda.mem_get_info()[0] // 3)
    return wanted


def pinned_like(tensors: Sequence[torch.Tensor]) -> List[torch.Tensor]:
    return [torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=DEVICE.type == "cuda") for tensor in tensors]


def copy_all(targets: Sequence[torch.Tensor], sources: Sequence[torch.Tensor]) -> None:
    for target, source in zip(targets, sources):
        target.copy_(source, non_blocking=True)
