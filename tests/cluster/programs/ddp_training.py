"""A DDP training by torch that a test interrupts. Dropout needs each rank's random state, which the checkpoint holds."""

import logging
import os
import time

import determined as det
import torch
import torch.distributed as dist
from torch import nn

FEATURES = 20


def make_network(hidden):
    """A smooth network. A ReLU at its threshold turns a rounding difference of 1e-7 into one of 0.1 of the weights."""
    return nn.Sequential(nn.Linear(FEATURES, hidden), nn.Tanh(), nn.Dropout(0.2), nn.Linear(hidden, 1))


def next_batch(size):
    inputs = torch.randn(size, FEATURES)
    return inputs, inputs.square().mean(dim=1, keepdim=True)


def save(context, model, optimizer, steps_completed):
    rank = context.distributed.rank
    with context.checkpoint.store_path({"steps_completed": steps_completed}, shard=True) as (path, _):
        if rank == 0:
            state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "steps": steps_completed}
            torch.save(state, path / "state.pth")
        torch.save(torch.get_rng_state(), path / f"rng-{rank}.pth")


def load(context, storage_id, model, optimizer):
    with context.checkpoint.restore_path(storage_id) as path:
        state = torch.load(path / "state.pth")
        torch.set_rng_state(torch.load(path / f"rng-{context.distributed.rank}.pth"))
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    logging.info("continuing at step %d", state["steps"])
    return state["steps"]


def train(context, info):
    hparams, rank = info.trial.hparams, context.distributed.rank
    torch.manual_seed(info.trial.trial_seed)
    model = nn.parallel.DistributedDataParallel(make_network(hparams["hidden"]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    torch.manual_seed(info.trial.trial_seed + 1 + rank)  # other batches and dropout on each rank
    step = load(context, info.latest_checkpoint, model, optimizer) if info.latest_checkpoint else 0
    while step < hparams["steps"]:
        inputs, wanted = next_batch(hparams["batch_size"])
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), wanted)
        loss.backward()
        optimizer.step()
        # The test makes this file while it interrupts, so that no training ends before.
        time.sleep(0.1 if os.path.exists(os.path.expanduser("~/slow")) else hparams["pause_s"])
        step += 1
        if rank == 0 and step % 10 == 0:
            context.train.report_training_metrics(step, {"loss": loss.item()})
        stop = context.preempt.should_preempt()
        if stop or step % 100 == 0 or step == hparams["steps"]:
            save(context, model, optimizer, step)
        if stop:
            return


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with det.core.init(distributed=det.core.DistributedContext.from_torch_distributed()) as core_context:
        train(core_context, det.get_cluster_info())
