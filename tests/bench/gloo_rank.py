# gloo_rank.py RANK RANKS CHIEF_ADDRESS PORT: does the same as bench-internode-rank, with torch's gloo.
import sys
import time

import torch
import torch.distributed as dist


def measure(rank, ranks, size_bytes, iterations):
    values = torch.empty(size_bytes // 4, dtype=torch.float32)
    total = 0.0
    for i in range(iterations):
        values.fill_(rank + i)
        dist.barrier()
        begin = time.perf_counter()
        dist.all_reduce(values)
        total += time.perf_counter() - begin
        assert values.eq(ranks * (ranks - 1) / 2 + ranks * i).all(), "a wrong sum"
    mean = torch.tensor([total / iterations], dtype=torch.float64)
    dist.all_reduce(mean, op=dist.ReduceOp.MAX)
    return mean.item()


def main():
    rank, ranks, address, port = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"tcp://{address}:{port}", rank=rank, world_size=ranks)
    while True:
        words = sys.stdin.readline().split() if rank == 0 else []
        command = torch.tensor([int(word) for word in words] or [0, 0], dtype=torch.int64)
        dist.broadcast(command, 0)
        size_bytes, iterations = command.tolist()
        if iterations == 0:
            return
        seconds = measure(rank, ranks, size_bytes, iterations)
        if rank == 0:
            print(seconds, flush=True)


main()
