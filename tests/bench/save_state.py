"""save_state.py DIRECTORY: the rows of save-state."""

import ctypes
import os
import sys
import time

import determined as det
import torch
from determined import _lib, pytorch
from determined.core import _arrays
from determined.pytorch._init import make_context
from determined.pytorch._optimizations import Optimizations

os.environ.setdefault("DET_BENCH_PAIRS", "10")  # each pair writes 2 GiB to the disk
from python_rows import interleave, print_row  # noqa: E402

SIZE_BYTES = int(os.environ.get("DET_BENCH_MIB", "1024")) << 20
TENSORS = 64
directory = sys.argv[1]


def seconds(action):
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


class Copy:
    """memcpy of tensors into memory whose pages exist, one thread."""

    def __init__(self, tensors):
        self._pairs = [(torch.zeros_like(tensor), tensor) for tensor in tensors]

    def __call__(self):
        for to, tensor in self._pairs:
            ctypes.memmove(to.data_ptr(), tensor.data_ptr(), tensor.numel() * tensor.element_size())


def torch_save(state):
    path = f"{directory}/torch.pt"
    if os.path.exists(path):
        os.unlink(path)

    def save():
        with open(path, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())

    return seconds(save)


def compare_states():
    elements = SIZE_BYTES // TENSORS // 4
    state = {f"layer{i}": torch.rand(elements) for i in range(TENSORS)}
    copy = Copy(state.values())
    with det.core.init() as context:
        checkpoint = context.checkpoint
        saved = []

        def save():
            blocked = seconds(lambda: saved.append(checkpoint.save_state(state, len(saved))))
            checkpoint.wait()
            while len(saved) > 2:
                checkpoint.delete(saved.pop(0))
            return blocked

        print_row("save-state-first", [(save(), seconds(copy))], "s")
        save()  # the second copy in memory
        print_row("save-state-memcpy", interleave(save, lambda: seconds(copy)), "s")
        print_row("save-state-torch", interleave(save, lambda: torch_save(state)), "s")

        memory = [
            _lib.Memory(name, array.address, array.stored, array.shape)
            for name, array in ((name, _arrays.describe(tensor)) for name, tensor in state.items())
        ]
        in_c = _lib.TensorSaves(context.distributed._handle())

        def load():
            return seconds(lambda: checkpoint.load_state(state, saved[-1]))

        print_row(
            "save-state-load", interleave(load, lambda: seconds(lambda: in_c.load_from(saved[-1], memory))), "s"
        )
        for uuid in saved:
            checkpoint.delete(uuid)


class Table(pytorch.PyTorchTrial):
    """Half of the state is the weights, half the momentum of the optimizer."""

    def __init__(self, context):
        self.context = context
        rows = SIZE_BYTES // 2 // 4 // 1024
        self.model = context.wrap_model(torch.nn.Embedding(rows, 1024))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9))

    def build_training_data_loader(self):
        return pytorch.DataLoader(torch.utils.data.TensorDataset(torch.arange(1000)), batch_size=4)

    build_validation_data_loader = build_training_data_loader

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = self.model(batch[0]).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": 0.0}

    def evaluate_batch(self, batch):
        return {"loss": 0.0}


def compare_trial():
    """What a checkpoint of a PyTorchTrial adds to the time of its training loop."""
    with make_context({}, None, None, Optimizations()) as context:
        trial = Table(context)
        trainer = pytorch.Trainer(trial, context)
        saves, checkpoints = [], []
        callback = pytorch.PyTorchCallback()
        callback.on_checkpoint_upload_end = checkpoints.append
        trial.build_callbacks = lambda: {"saved": callback}
        from determined.pytorch import _checkpoint

        original = _checkpoint.Checkpoints.save

        def timed(self, *arguments):
            saves.append(seconds(lambda: original(self, *arguments)))

        _checkpoint.Checkpoints.save = timed
        batches = 0

        def save():
            nonlocal batches
            batches += 1
            trainer.fit(max_length=pytorch.Batch(1), checkpoint_policy="none")  # one batch, and a checkpoint at its end
            while len(checkpoints) > 1:
                context._core.checkpoint.delete(checkpoints.pop(0))
            return saves[-1]

        save()
        save()
        weight = trial.model.weight
        momentum = trial.optimizer.state[weight]["momentum_buffer"]
        copy = Copy([weight.detach(), momentum])
        print_row("save-state-trial-memcpy", interleave(save, lambda: seconds(copy)), "s")
        state = {"model": trial.model.state_dict(), "optimizer": trial.optimizer.state_dict()}
        print_row("save-state-trial-torch", interleave(save, lambda: torch_save(state)), "s")


compare_states()
compare_trial()
