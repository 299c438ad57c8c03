"""A PyTorchTrial for runs with different numbers of ranks: no layer depends on the other samples of a batch, and
nothing is random. It prints the samples of each batch."""

import os
import subprocess
import time

import torch
from determined import pytorch
from torch import nn

FEATURES = 12


def make_data(samples, seed):
    inputs = torch.randn(samples, FEATURES, generator=torch.Generator().manual_seed(seed))
    return torch.utils.data.TensorDataset(torch.arange(samples), inputs, inputs.square().mean(dim=1, keepdim=True))


class MeanError(pytorch.MetricReducer):
    """The mean over all samples, whatever the batches of the ranks are."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.total, self.count = 0.0, 0

    def update(self, outputs, wanted):
        self.total += float((outputs - wanted).double().square().sum())
        self.count += len(outputs)

    def per_slot_reduce(self):
        return self.total, self.count

    def cross_slot_reduce(self, per_slot_metrics):
        return sum(total for total, _ in per_slot_metrics) / sum(count for _, count in per_slot_metrics)


class ElasticTrial(pytorch.PyTorchTrial):
    def __init__(self, context):
        torch.set_num_threads(1)
        self.context = context
        hidden = context.get_hparam("hidden")
        network = nn.Sequential(nn.Linear(FEATURES, hidden), nn.LayerNorm(hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.model = context.wrap_model(network)
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9))
        context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.StepLR(self.optimizer, 10, 0.9), pytorch.LRScheduler.StepMode.STEP_EVERY_BATCH
        )
        self.error = context.wrap_reducer(MeanError(), "error", for_training=False)

    def build_training_data_loader(self):
        data = make_data(self.context.get_hparam("samples"), 1)
        workers = self.context.get_hparams().get("workers", 0)
        return pytorch.DataLoader(
            data, batch_size=self.context.get_per_slot_batch_size(), shuffle=True, num_workers=workers
        )

    def build_validation_data_loader(self):
        return pytorch.DataLoader(make_data(100, 2), batch_size=self.context.get_per_slot_batch_size())

    def train_batch(self, batch, epoch_idx, batch_idx):
        self.interrupt(batch_idx)
        numbers, inputs, wanted = batch
        size = self.context.distributed.size
        print(f"batch {batch_idx} of {size} ranks: {' '.join(map(str, numbers.tolist()))}", flush=True)
        loss = nn.functional.mse_loss(self.model(inputs), wanted)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer, lambda weights: nn.utils.clip_grad_norm_(weights, 1.0))
        return {"loss": loss, "size": float(size)}

    def evaluate_batch(self, batch):
        _, inputs, wanted = batch
        outputs = self.model(inputs)
        self.error.update(outputs, wanted)
        return {"validation_loss": nn.functional.mse_loss(outputs, wanted)}

    def interrupt(self, batch_idx):
        # A test makes this file while it interrupts, so that no training ends before.
        time.sleep(0.1 if os.path.exists(os.path.expanduser("~/slow")) else self.context.get_hparams().get("pause_s", 0))
        if os.environ.get("TEST_PREEMPT_AT") == str(batch_idx) and self.context.distributed.rank == 0:
            subprocess.run(os.environ["TEST_PREEMPT_COMMAND"].split(), check=True)
