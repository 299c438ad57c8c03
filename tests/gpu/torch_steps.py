"""What a PyTorchTrial adds to a training step: a loop of its own, compared with one that reads the loss with each report."""

import json
import os
import subprocess
import time
from typing import Any, Callable, Tuple

import torch
from rows import row
from torch_device import DEVICE, IS_REHEARSAL, interleave, seconds_of, synchronize

REPORT = 10
BATCH = 64


def join_run() -> None:
    """Makes a run of an experiment on this machine, and joins it: reports go into its journal."""
    directory = f"{os.environ['DET_GPU_STORAGE']}/run"
    config = {
        "hyperparameters": {"global_batch_size": BATCH},
        "resources": {"slots_per_trial": 1},
        "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 1000000}},
    }
    os.makedirs(directory)
    subprocess.run([f"{os.environ['DET_GPU_PROGRAMS']}/test_run", "make", directory, json.dumps(config)], check=True)
    os.environ.update(DET_RUN_DIR=f"{directory}/node", DET_RUN_PATH=f"{directory}/trials/0/runs/0")


class Rows(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Samples that torch 2 reads a batch at a time."""

    def __init__(self, count: int, features: int) -> None:
        self.inputs = torch.randn(count, features)
        self.labels = torch.randint(10, (count,))

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> Tuple[torch.Tensor, torch.Tensor]:
        return self.inputs[index], self.labels[index]

    def __getitems__(self, indices: Any) -> Tuple[torch.Tensor, torch.Tensor]:
        chosen = torch.as_tensor(indices)
        return self.inputs[chosen], self.labels[chosen]


def collate(batch: Any) -> Any:
    return batch if isinstance(batch, tuple) else torch.utils.data.default_collate(batch)


class Repeated(torch.nn.Module):
    """A network that the device computes several times, so that a step takes as long as is wanted."""

    def __init__(self, features: int, width: int, repeats: int) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Linear(features, width), torch.nn.Linear(width, 10)
        self.middle = torch.nn.Linear(width, width)
        self.repeats = repeats

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        hidden = self.first(inputs).relu()
        for _ in range(self.repeats):
            hidden = self.middle(hidden).relu()
        return self.last(hidden)


def loss_of(model: torch.nn.Module, batch: Any) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(model(batch[0]), batch[1])


def make_trial(context: Any, make_model: Callable[[], torch.nn.Module], data: Rows, warm: int, steps: int) -> Any:
    from determined import pytorch

    class Trial(pytorch.PyTorchTrial):
        def __init__(self, context: Any) -> None:
            self.context = context
            self.model = context.wrap_model(make_model())
            self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9))

        def build_training_data_loader(self) -> Any:
            return pytorch.DataLoader(
                data, batch_size=BATCH, shuffle=True, collate_fn=collate, pin_memory=DEVICE.type == "cuda", drop_last=True
            )

        build_validation_data_loader = build_training_data_loader

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            if batch_idx == warm:
                synchronize()
                self.begun = time.perf_counter()
            elif batch_idx == warm + steps:
                synchronize()
                self.seconds = time.perf_counter() - self.begun
            loss = loss_of(self.model, batch)
            self.context.backward(loss)
            self.context.step_optimizer(self.optimizer)
            return {"loss": loss}

        def evaluate_batch(self, batch: Any) -> Any:
            return {"loss": loss_of(self.model, batch)}

    context.models.clear()
    context.optimizers.clear()
    return Trial(context)


def train_bare(make_model: Callable[[], torch.nn.Module], data: Rows, warm: int, steps: int) -> float:
    """The time of a step of a loop that adds the losses up on the device."""
    model = make_model().to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader = torch.utils.data.DataLoader(
        data, batch_size=BATCH, shuffle=True, collate_fn=collate, pin_memory=DEVICE.type == "cuda", drop_last=True
    )
    step, total = 0, torch.zeros((), device=DEVICE)
    while True:
        for batch in loader:
            batch = [each.to(DEVICE, non_blocking=True) for each in batch]
            if step == warm:
                synchronize()
                begun = time.perf_counter()
            elif step == warm + steps:
                synchronize()
                return (time.perf_counter() - begun) / steps
            loss = loss_of(model, batch)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
            if step % REPORT == REPORT - 1:
                total.item()
                total.zero_()
            step += 1


def compare(context: Any, make_model: Callable[[], torch.nn.Module], data: Rows, steps: int, pairs: int) -> Tuple[float, float]:
    from determined import pytorch

    warm = max(2, steps // 10)
    trial = make_trial(context, make_model, data, warm, steps)

    def train_trial() -> float:
        length = pytorch.Batch(warm + steps + 1)
        pytorch.Trainer(trial, context).fit(
            max_length=length, reporting_period=pytorch.Batch(REPORT), checkpoint_policy="none"
        )
        return float(trial.seconds) / steps

    return interleave(train_trial, lambda: train_bare(make_model, data, warm, steps), pairs)


def find_repeats(features: int, width: int, wanted_s: float) -> int:
    """How often the middle is to be computed for a step of the wanted time."""
    inputs = torch.randn(BATCH, features, device=DEVICE)

    def step_s(repeats: int) -> float:
        model = Repeated(features, width, repeats).to(DEVICE)
        return min(seconds_of(lambda: model(inputs).sum().backward()) for _ in range(5))

    few, many = step_s(2), step_s(12)
    return max(1, int((wanted_s - few) / max((many - few) / 10, 1e-6)) + 2)


def main() -> None:
    join_run()
    from determined.pytorch._init import make_context
    from determined.pytorch._optimizations import Optimizations

    pairs = 1 if IS_REHEARSAL else 5
    features = 64 if IS_REHEARSAL else 512
    data = Rows(640 if IS_REHEARSAL else 16384, features)
    with make_context({"global_batch_size": BATCH}, None, None, Optimizations(), False) as context:
        for name, width, repeats, steps in (
            ("torch-trial-step-1ms", 64 if IS_REHEARSAL else 1024, 1, 20 if IS_REHEARSAL else 300),
            ("torch-trial-step-12ms", 64 if IS_REHEARSAL else 8192, 0, 10 if IS_REHEARSAL else 60),
        ):
            with row(name) as made:
                repeats = repeats or (2 if IS_REHEARSAL else find_repeats(features, width, 0.012))

                def make_model(width: int = width, repeats: int = repeats) -> torch.nn.Module:
                    return Repeated(features, width, repeats)

                ours, bare = compare(context, make_model, data, steps, pairs)
                made.set_figure(ours / bare, "x", 1.02, f"{1e3 * ours:.3f} ms, bare loop {1e3 * bare:.3f} ms")


if __name__ == "__main__":
    main()
