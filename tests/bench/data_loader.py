"""data_loader.py: the rows of dataloader and resume-epoch. `data_loader.py dataloader | resume-epoch DIRECTORY`."""

import sys
import time

import torch
from determined import pytorch
from determined.pytorch._init import make_context
from determined.pytorch._optimizations import Optimizations
from python_rows import interleave, print_row

SAMPLES, FEATURES, BATCH, RANKS = 64_000, 32, 64, 2
EPOCH, WIDTH = 1_000_000, 5_000  # 25 million weights: a checkpoint of 100 MB


def compare_loaders():
    """An epoch of one rank of two, shuffled."""
    data = torch.utils.data.TensorDataset(torch.randn(SAMPLES, FEATURES))
    ours = pytorch.DataLoader(data, batch_size=BATCH, shuffle=True)
    sampler = torch.utils.data.DistributedSampler(data, RANKS, 0)
    peer = torch.utils.data.DataLoader(data, batch_size=BATCH, sampler=sampler)
    batches = SAMPLES // BATCH // RANKS

    def read(loader):
        begun, iterator = time.perf_counter(), iter(loader)
        for _ in range(batches):
            next(iterator)
        return time.perf_counter() - begun

    print_row("dataloader", interleave(lambda: read(ours._build(True, 0, RANKS, 0, 1)), lambda: read(peer)), "s")


class Reached(Exception):
    """The first batch of the run begins."""


class Large(pytorch.PyTorchTrial):
    """A trial whose checkpoint is large and whose epoch is long. It trains nothing."""

    stops_at = None

    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(torch.nn.Linear(WIDTH, WIDTH, bias=False))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.01))
        self.data = torch.utils.data.TensorDataset(torch.zeros(EPOCH, 1))

    def build_training_data_loader(self):
        return pytorch.DataLoader(self.data, batch_size=100, shuffle=True)

    def build_validation_data_loader(self):
        return pytorch.DataLoader(torch.utils.data.Subset(self.data, range(4)), batch_size=4)

    def train_batch(self, batch, epoch_idx, batch_idx):
        if batch_idx == self.stops_at:
            raise Reached
        return {"loss": 0.0}

    def evaluate_batch(self, batch):
        return {"loss": 0.0}


def compare_resumption(directory):
    """From fit() to the first batch, in the middle of an epoch."""
    middle = EPOCH // 100 // 2
    saved = []
    with make_context({}, None, None, Optimizations()) as context:
        trial = Large(context)
        callback = pytorch.PyTorchCallback()
        callback.on_checkpoint_upload_end = saved.append
        trial.build_callbacks = lambda: {"saved": callback}
        trainer = pytorch.Trainer(trial, context)
        for checkpoint_format in ("torch", "state"):
            trainer.fit(max_length=pytorch.Batch(middle), checkpoint_policy="none", checkpoint_format=checkpoint_format)
        file = f"{directory}/checkpoints/{saved[-2]}/state_dict.pth"
        trial.stops_at = middle

        def resume():
            begun = time.perf_counter()
            try:
                trainer.fit(max_length=pytorch.Epoch(1), latest_checkpoint=saved[-1], checkpoint_policy="none")
            except Reached:
                return time.perf_counter() - begun
            raise RuntimeError("the training did not begin at the middle of the epoch")

        def load():
            begun = time.perf_counter()
            trial.model.load_state_dict(torch.load(file, map_location="cpu", weights_only=False)["models_state_dict"][0])
            return time.perf_counter() - begun

        print_row("resume-epoch", interleave(resume, load), "s")


compare_loaders() if sys.argv[1] == "dataloader" else compare_resumption(sys.argv[2])
