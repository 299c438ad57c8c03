"""A DDP training that saves its whole state while it trains, and reports the loss of each step.

It keeps its state in memory too, if slurm.memory_checkpoints is set.
"""

import time

import determined as det
import torch
import torch.distributed as dist
from torch import nn


def train(context, info):
    hparams, rank = info.trial.hparams, context.distributed.rank
    period = hparams.get("period", 10)
    torch.manual_seed(info.trial.trial_seed)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def make_state(step):
        return {"model": model, "optimizer": optimizer, "step": step}

    state = make_state(0)
    context.checkpoint.load_state(state)
    for step in range(state["step"] + 1, hparams["steps"] + 1):
        # Each step and rank has its own samples, whatever the run.
        inputs = torch.randn(16, 20, generator=torch.Generator().manual_seed(2 * step + rank))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), inputs.square().mean(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()
        time.sleep(hparams["pause_s"])
        if rank == 0:
            context.train.report_training_metrics(step, {"loss": loss.item()})
        if context.preempt.should_preempt():
            context.checkpoint.save_state_before_preemption(make_state(step), step)
            return
        context.checkpoint.keep_state(make_state(step), step)
        if step % period == 0:
            context.checkpoint.save_state(make_state(step), step)
        context.checkpoint.poll()


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with det.core.init(distributed=det.core.DistributedContext.from_torch_distributed()) as core_context:
        train(core_context, det.get_cluster_info())
