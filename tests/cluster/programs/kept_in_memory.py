"""A DDP training that keeps its state in memory in every step (slurm.memory_checkpoints). It makes no checkpoint. In
the first run the ranks of WAIT_ON_NODE wait to be killed after WAIT_AT steps."""

import os
import time

import determined as det
import torch
import torch.distributed as dist
from torch import nn

STEPS = int(os.environ.get("STEPS", "60"))
PAUSE_S = int(os.environ.get("PAUSE_MS", "0")) / 1000  # of a step: the copies of a state take a while


def is_to_wait(step):
    names = ("DET_TRIAL_RUN_ID", "WAIT_AT", "SLURMD_NODENAME")
    return tuple(map(os.environ.get, names)) == ("0", str(step), os.environ.get("WAIT_ON_NODE"))


def train(context):
    rank = context.distributed.rank
    torch.manual_seed(1)
    # By default torch orders the gradients of the first step of each process in another way than those of later steps
    # (it rebuilds its buckets), and gloo sums each position of a bucket in another order of ranks. The step after a
    # restart then has other last bits. With find_unused_parameters torch does not rebuild them.
    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 1)), find_unused_parameters=True
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    torch.manual_seed(2 + rank)  # other batches on each rank
    state = {
        "model": model,
        "optimizer": optimizer,
        "step": 0,
        "random": det.core.PerRank(torch.get_rng_state()),
    }
    loaded = context.checkpoint.load_state(state)
    if loaded:
        torch.set_rng_state(state["random"].value)
        if rank == 0:
            print(f"continues at step {loaded.steps_completed} from {loaded.uuid}", flush=True)
    while state["step"] < STEPS:
        time.sleep(PAUSE_S)
        inputs = torch.randn(8, 20)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), inputs.square().mean(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()
        state["step"] += 1
        state["random"] = det.core.PerRank(torch.get_rng_state())
        context.checkpoint.keep_state(state, state["step"])
        if rank == 0:
            context.train.report_training_metrics(state["step"], {"loss": loss.item()})
        if is_to_wait(state["step"]):
            print("waits to be killed", flush=True)
            time.sleep(300)
            os._exit(1)
    if rank == 0:
        total = sum(parameter.double().sum().item() for parameter in model.parameters())
        print(f"the state is {total!r}", flush=True)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    with det.core.init(distributed=det.core.DistributedContext.from_torch_distributed()) as core_context:
        train(core_context)
    dist.destroy_process_group()
