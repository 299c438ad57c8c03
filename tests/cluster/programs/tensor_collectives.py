"""Reduces and exchanges arrays among all ranks, those of a node, and one of each node: two nodes of two ranks."""

import numpy as np

import determined as det


def total_of(all_reduce, rank):
    """The sum of the numbers of the ranks among which all_reduce() works. Large, so that nodes share the sending."""
    values = np.full(100_000, rank, dtype=np.float32)
    all_reduce(values)
    assert (values == values[0]).all()
    return int(values[0])


def main():
    distributed = det.core.DistributedContext.from_torch_distributed()
    with det.core.init(distributed=distributed) as context:
        ranks, rank = context.distributed, context.distributed.rank
        totals = [total_of(call, rank) for call in (ranks.all_reduce, ranks.all_reduce_local, ranks.all_reduce_cross)]
        print("totals of rank", rank, totals)
        parts = np.empty(ranks.size, dtype=np.int64)
        ranks.all_gather_into(parts, np.array([10 * rank]))
        assert parts.tolist() == [10 * each for each in range(ranks.size)], parts
        try:
            ranks.all_reduce(parts if rank != 3 else parts[::2])
        except RuntimeError as problem:
            print("rank", rank, "sees", problem)
        ranks.broadcast_tensor(parts, src=3)
        context.preempt.should_preempt()
        if rank == 0:
            context.train.report_validation_metrics(1, {"x": int(parts.sum())})


main()
