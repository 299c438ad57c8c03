"""A small network for digits, data-parallel by torch's DistributedDataParallel."""

import logging

import determined as det
import torch
import torch.distributed as dist
from torch import nn

# Digits of 3x5 dots, row by row. Samples are these with noise, so that nothing has to be downloaded.
DOTS = (
    "111101101101111 010110010010111 111001111100111 111001111001111 101101111001001 "
    "111100111001111 111100111101111 111001001001001 111101111101111 111101111001111"
)
DIGITS = torch.tensor([[float(dot) for dot in digit] for digit in DOTS.split()])


def make_batch(seed, size):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (size,), generator=generator)
    return DIGITS[labels] + 0.3 * torch.randn(size, 15, generator=generator), labels


def make_network(hparams):
    hidden = hparams["hidden_units"]
    return nn.Sequential(nn.Linear(15, hidden), nn.ReLU(), nn.Linear(hidden, 10))


def save(core_context, model, optimizer, steps_completed):
    with core_context.checkpoint.store_path({"steps_completed": steps_completed}) as (path, _):
        state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "steps": steps_completed}
        torch.save(state, path / "state.pth")


def load(core_context, storage_id, model, optimizer):
    with core_context.checkpoint.restore_path(storage_id) as path:
        state = torch.load(path / "state.pth", map_location="cpu")
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["steps"]


def accuracy(model):
    inputs, labels = make_batch(0, 1000)
    with torch.no_grad():
        return (model.module(inputs).argmax(1) == labels).float().mean().item()


def train(core_context, info):
    hparams, rank, size = info.trial.hparams, core_context.distributed.rank, core_context.distributed.size
    torch.manual_seed(info.trial.trial_seed)
    model = nn.parallel.DistributedDataParallel(make_network(hparams))
    optimizer = torch.optim.SGD(model.parameters(), lr=hparams["learning_rate"], momentum=0.9)
    step = load(core_context, info.latest_checkpoint, model, optimizer) if info.latest_checkpoint else 0
    steps = core_context.searcher.batches_left(0)  # max_length of the searcher
    while step < steps:
        # The batch depends on step, rank and size only: a continued run gets the same batches.
        inputs, labels = make_batch(1 + step * size + rank, hparams["global_batch_size"] // size)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0 and rank == 0:
            core_context.train.report_training_metrics(step, {"loss": loss.item()})
            core_context.train.report_progress(step / steps)
        if core_context.preempt.should_preempt():
            if rank == 0:
                save(core_context, model, optimizer, step)
            return
    if rank == 0:
        core_context.train.report_validation_metrics(step, {"accuracy": accuracy(model)})
        save(core_context, model, optimizer, step)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with det.core.init(distributed=det.core.DistributedContext.from_torch_distributed()) as core_context:
        train(core_context, det.get_cluster_info())
