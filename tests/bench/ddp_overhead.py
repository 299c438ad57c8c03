# ddp_overhead.py: the row of ddp-overhead. It starts the ranks, which are this program with RANK set.
import os
import time

from local_ranks import start_ranks

RANKS = 2
STEPS = 100  # of one run of a pair, with one checkpoint
FEATURES, HIDDEN, BATCH = 512, 1024, 4  # 1.05 million parameters: a checkpoint of 4.2 MB; a step of about 10 ms


def train(steps, model, optimizer, context=None):
    """Trains for some steps. With a context each step reports and asks should_preempt(), and the last one saves."""
    import torch

    for step in range(1, steps + 1):
        inputs = torch.randn(BATCH, FEATURES)
        optimizer.zero_grad()
        loss = (model(inputs) - inputs).square().mean()
        loss.backward()
        optimizer.step()
        loss_value = loss.item()
        if context is None:
            continue
        if context.distributed.rank == 0:
            context.train.report_training_metrics(step, {"loss": loss_value})
        assert not context.preempt.should_preempt()
        if step == steps and context.distributed.rank == 0:
            with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                torch.save(model.module.state_dict(), path / "state.pth")


def run_rank():
    import determined as det
    import torch
    import torch.distributed as dist
    from python_rows import interleave, print_row

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    network = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, FEATURES)
    )
    model = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with det.core.init(distributed=det.core.DistributedContext.from_torch_distributed()) as context:

        def measure(reporting):
            """Seconds of a step. The ranks begin together; a step ends on all ranks before the next one."""
            dist.barrier()
            begun = time.perf_counter()
            train(STEPS, model, optimizer, reporting)
            dist.barrier()
            return (time.perf_counter() - begun) / STEPS

        pairs = interleave(lambda: measure(context), lambda: measure(None))
    if dist.get_rank() == 0:
        print_row("ddp-overhead", pairs, "s")


run_rank() if "RANK" in os.environ else start_ranks(__file__, RANKS)
