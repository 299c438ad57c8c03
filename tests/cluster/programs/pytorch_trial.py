"""A PyTorchTrial with a learning rate scheduler, dropout, a custom reducer and a callback, which tests interrupt.

TEST_EXIT_AT=BATCH: the last rank exits at that batch and reports nothing; TEST_PREEMPT_AT=BATCH: the chief runs
TEST_PREEMPT_COMMAND at that batch.
"""

import os
import subprocess
import time

import torch
from determined import pytorch
from torch import nn

FEATURES = 20


def make_data(samples, seed):
    inputs = torch.randn(samples, FEATURES, generator=torch.Generator().manual_seed(seed))
    return torch.utils.data.TensorDataset(inputs, inputs.square().mean(dim=1, keepdim=True))


class MeanError(pytorch.MetricReducer):
    def __init__(self):
        self.reset()

    def reset(self):
        self.total, self.count = 0.0, 0

    def update(self, outputs, wanted):
        self.total += float((outputs - wanted).abs().sum())
        self.count += len(outputs)

    def per_slot_reduce(self):
        return self.total, self.count

    def cross_slot_reduce(self, per_slot_metrics):
        return sum(total for total, _ in per_slot_metrics) / sum(count for _, count in per_slot_metrics)


class CountEpochs(pytorch.PyTorchCallback):
    def __init__(self):
        self.epochs = 0

    def on_training_epoch_end(self, epoch_idx):
        self.epochs += 1
        assert self.epochs == epoch_idx + 1, (self.epochs, epoch_idx)

    def state_dict(self):
        return {"epochs": self.epochs}

    def load_state_dict(self, state_dict):
        self.epochs = state_dict["epochs"]


class InterruptedTrial(pytorch.PyTorchTrial):
    def __init__(self, context):
        torch.set_num_threads(1)
        self.context = context
        hidden = context.get_hparam("hidden")
        network = nn.Sequential(
            nn.Linear(FEATURES, hidden), nn.BatchNorm1d(hidden), nn.Tanh(), nn.Dropout(0.2), nn.Linear(hidden, 1)
        )
        self.model = context.wrap_model(network)
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9))
        self.scheduler = context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.StepLR(self.optimizer, 10, 0.9), pytorch.LRScheduler.StepMode.STEP_EVERY_BATCH
        )
        self.error = context.wrap_reducer(MeanError(), "mean_error")

    def build_callbacks(self):
        return {"count": CountEpochs()}

    def build_training_data_loader(self):
        size = self.context.get_per_slot_batch_size()
        return pytorch.DataLoader(make_data(self.context.get_hparam("samples"), 1), batch_size=size, shuffle=True)

    def build_validation_data_loader(self):
        return pytorch.DataLoader(make_data(100, 2), batch_size=self.context.get_per_slot_batch_size())

    def train_batch(self, batch, epoch_idx, batch_idx):
        self.interrupt(batch_idx)
        inputs, wanted = batch
        outputs = self.model(inputs)
        loss = nn.functional.mse_loss(outputs, wanted)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer, lambda weights: nn.utils.clip_grad_norm_(weights, 1.0))
        self.error.update(outputs.detach(), wanted)
        return {"loss": loss, "rate": self.scheduler.get_last_lr()[0]}

    def evaluate_batch(self, batch):
        inputs, wanted = batch
        outputs = self.model(inputs)
        self.error.update(outputs, wanted)
        return {"validation_loss": nn.functional.mse_loss(outputs, wanted)}

    def interrupt(self, batch_idx):
        # ddp_training_test makes this file while it interrupts, so that no training ends before.
        time.sleep(0.1 if os.path.exists(os.path.expanduser("~/slow")) else self.context.get_hparams().get("pause_s", 0))
        distributed = self.context.distributed
        if os.environ.get("TEST_EXIT_AT") == str(batch_idx) and distributed.rank == distributed.size - 1:
            os._exit(9)
        if os.environ.get("TEST_PREEMPT_AT") == str(batch_idx) and distributed.rank == 0:
            subprocess.run(os.environ["TEST_PREEMPT_COMMAND"].split(), check=True)
