"""Collectives of one rank on tensors of torch, and their time beside torch's own backend in the same process."""

import math
import os
from typing import Any, Callable

import determined as det
import torch
from rows import require, row
from torch_device import DEVICE, IS_REHEARSAL, interleave, seconds_of, synchronize

TYPES = (torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64)


def check_values(ranks: Any) -> int:
    """The result of each collective of one rank is its input. Returns the number of comparisons."""
    checked = 0
    for dtype in TYPES:
        for count in (1, 3, 1000, 262145):
            values = (torch.arange(count, device=DEVICE) % 100 + 1).to(dtype)
            for op in ("sum", "mean", "min", "max", "prod"):
                if op == "mean" and not dtype.is_floating_point:
                    continue
                tensor = values.clone()
                ranks.all_reduce(tensor, op)
                work = ranks.all_reduce(tensor, op, async_op=True)
                work.wait()
                require(torch.equal(tensor, values), f"all_reduce {op} of {count} {dtype} is wrong")
                checked += 1
            for call in (ranks.all_gather_into, ranks.reduce_scatter, ranks.all_to_all):
                target = torch.zeros_like(values)
                call(target, values)
                require(torch.equal(target, values), f"{call.__name__} of {count} {dtype} is wrong")
                checked += 1
            tensor = values.clone()
            ranks.broadcast_tensor(tensor)
            require(torch.equal(tensor, values), f"broadcast_tensor of {count} {dtype} is wrong")
            checked += 1
    return checked


def check_side_stream(ranks: Any) -> None:
    """A collective is ordered behind what the current stream does."""
    if DEVICE.type != "cuda":
        return
    stream = torch.cuda.Stream()
    big = torch.randn(4096, 4096, device=DEVICE)
    with torch.cuda.stream(stream):
        for _ in range(10):
            big = big @ big / 64
        tensor = big.clone()
        ranks.all_reduce(tensor)
        require(torch.equal(tensor, big), "a collective has not waited for its stream")
    synchronize()


def compare(ranks: Any, count: int) -> Any:
    """The times of ours and of torch's backend, in seconds."""
    tensor = torch.ones(count, device=DEVICE)
    rounds = 3 if IS_REHEARSAL else 100

    def repeat(call: Callable[[Any], Any]) -> float:
        def all_rounds() -> None:
            for _ in range(rounds):
                call(tensor)
                synchronize()

        return seconds_of(all_rounds) / rounds

    return interleave(lambda: repeat(ranks.all_reduce), lambda: repeat(torch.distributed.all_reduce), 5)


def main() -> None:
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "0")
    store = torch.distributed.HashStore()
    with det.core.DistributedContext(rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1) as ranks:
        with row("torch-collectives") as made:
            checked = check_values(ranks)
            check_side_stream(ranks)
            made.set_figure(checked, "comparisons")
        backend = "nccl" if DEVICE.type == "cuda" else "gloo"
        torch.distributed.init_process_group(backend, store=store, rank=0, world_size=1)
        for name, count in (("torch-all-reduce-4B", 1), ("torch-all-reduce-64MiB", 1 << 24)):
            with row(name) as made:
                ours, peer = compare(ranks, count)
                note = f"{1e6 * ours:.1f} us, {backend} {1e6 * peer:.1f} us"
                made.set_figure(ours / peer if peer else math.inf, "x", 1.0 if count == 1 else 1.1, note)
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
