"""A DDP training that writes a snapshot into its working directory after each epoch and handles no signal.

usage: torchrun snapshot_every_epoch.py EPOCHS
"""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

SNAPSHOT = "snapshot.pt"


class Trainer:
    def __init__(self):
        self.rank = int(os.environ["RANK"])
        self.epochs_run = 0
        model = torch.nn.Linear(20, 1)
        if os.path.exists(SNAPSHOT):
            snapshot = torch.load(SNAPSHOT, map_location="cpu")
            model.load_state_dict(snapshot["model"])
            self.epochs_run = snapshot["epochs_run"]
        print(f"[{self.rank}] begins at epoch {self.epochs_run}", flush=True)
        self.model = DistributedDataParallel(model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)

    def run_epoch(self, epoch):
        torch.manual_seed(epoch)
        for _ in range(4):
            inputs, targets = torch.rand(8, 20), torch.rand(8, 1)
            self.optimizer.zero_grad()
            torch.nn.functional.mse_loss(self.model(inputs), targets).backward()
            self.optimizer.step()
        time.sleep(0.25)

    def save_snapshot(self, epoch):
        torch.save({"model": self.model.module.state_dict(), "epochs_run": epoch + 1}, SNAPSHOT + ".new")
        os.replace(SNAPSHOT + ".new", SNAPSHOT)
        print(f"snapshot of epoch {epoch}", flush=True)

    def train(self, epochs):
        for epoch in range(self.epochs_run, epochs):
            self.run_epoch(epoch)
            if self.rank == 0:
                self.save_snapshot(epoch)


dist.init_process_group("gloo")
Trainer().train(int(sys.argv[1]))
print("finished", flush=True)
dist.destroy_process_group()
