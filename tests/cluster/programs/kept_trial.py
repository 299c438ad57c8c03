"""A PyTorchTrial that keeps its state in memory (slurm.memory_checkpoints), and makes no checkpoint before its end. In
the first run the ranks of WAIT_ON_NODE wait to be killed after WAIT_AT batches."""

import os
import time

import torch
from determined import pytorch
from torch import nn

PAUSE_S = int(os.environ.get("PAUSE_MS", "0")) / 1000  # of a batch: the copies of a state take a while


def is_to_wait(batches):
    names = ("DET_TRIAL_RUN_ID", "WAIT_AT", "SLURMD_NODENAME")
    return tuple(map(os.environ.get, names)) == ("0", str(batches), os.environ.get("WAIT_ON_NODE"))


class Printer(pytorch.PyTorchCallback):
    def __init__(self, trial):
        self.trial = trial

    def on_trial_shutdown(self):
        if self.trial.context.distributed.rank == 0:
            total = sum(parameter.double().sum().item() for parameter in self.trial.model.parameters())
            print(f"the state is {total!r}", flush=True)


class KeptTrial(pytorch.PyTorchTrial):
    def __init__(self, context):
        torch.set_num_threads(1)
        self.context = context
        self.has_begun = False
        self.model = context.wrap_model(nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Dropout(0.1), nn.Linear(64, 1)))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9))

    def build_callbacks(self):
        return {"printer": Printer(self)}

    def build_training_data_loader(self):
        inputs = torch.randn(480, 20, generator=torch.Generator().manual_seed(1))
        data = torch.utils.data.TensorDataset(inputs, inputs.square().mean(dim=1, keepdim=True))
        return pytorch.DataLoader(data, batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self):
        return self.build_training_data_loader()

    def train_batch(self, batch, epoch_idx, batch_idx):
        time.sleep(PAUSE_S)
        if not self.has_begun and batch_idx > 0 and self.context.distributed.rank == 0:
            print(f"continues at step {batch_idx} from memory", flush=True)  # there is no checkpoint
        self.has_begun = True
        if is_to_wait(batch_idx):
            print("waits to be killed", flush=True)
            time.sleep(300)
            os._exit(1)
        inputs, wanted = batch
        loss = nn.functional.mse_loss(self.model(inputs), wanted)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        inputs, wanted = batch
        return {"loss": nn.functional.mse_loss(self.model(inputs), wanted)}
