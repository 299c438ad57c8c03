"""save_state() and load_state() of tensors on the device: bits, and times beside pinned copies, torch.save and det.h."""

import os
import statistics
import time
from typing import Any, Dict, List

import determined as det
import torch
from determined import _lib
from rows import require, row
from torch_device import DEVICE, IS_REHEARSAL, bytes_for_state, copy_all, interleave, pinned_like, seconds_of, synchronize

STORAGE = os.environ["DET_GPU_STORAGE"]
PAIRS = 1 if IS_REHEARSAL else 3


def make_tensors(size_bytes: int) -> Dict[str, torch.Tensor]:
    tensors = 200
    elements = max(size_bytes // tensors // 4, 16)
    return {f"layer.{i}": torch.rand(elements, device=DEVICE) for i in range(tensors)}


def make_state() -> Dict[str, Any]:
    """A model, its optimizer after a step, and tensors of every kind that states have."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 8)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.rand(16, 64, device=DEVICE)).sum().backward()
    optimizer.step()
    base = torch.arange(600, device=DEVICE, dtype=torch.float32).reshape(20, 30)
    state = {
        "model": model,
        "optimizer": optimizer,
        "bf16": base.to(torch.bfloat16),
        "bool": base % 3 == 0,
        "scalar": base[3, 4].clone(),
        "complex": torch.complex(base, -base),
        "strided": base.t(),
        "view": base[2:9:3],
        "base": base,
        "empty": torch.zeros(0, device=DEVICE),
        "host": torch.arange(5),
        "step": 1,
    }
    if hasattr(torch, "float8_e4m3fn") and not IS_REHEARSAL:
        state["f8"] = base.to(torch.float8_e4m3fn)
    return state


def tensors_in(value: Any) -> List[torch.Tensor]:
    """The tensors of a nest, in its order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if hasattr(value, "state_dict"):
        value = value.state_dict()
    if isinstance(value, dict):
        return [tensor for each in value.values() for tensor in tensors_in(each)]
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in tensors_in(each)]
    return []


def check_bits(checkpoint: Any) -> None:
    state = make_state()
    saved = [tensor.detach().clone() for tensor in tensors_in(state)]
    uuid = checkpoint.save_state(state, 1)
    for tensor in tensors_in(state):  # while the copy is written
        if tensor.data_ptr() and tensor.numel():
            tensor.detach().view(-1)[:1].zero_() if tensor.is_contiguous() else tensor.zero_()
    checkpoint.wait()
    other = make_state()
    for tensor in tensors_in(other):
        tensor.detach().zero_()
    loaded = checkpoint.load_state(other, uuid)
    require(loaded is not None and loaded.uuid == uuid, "another checkpoint was loaded")
    filled = tensors_in(other)
    require(len(filled) == len(saved), "the loaded state has another number of tensors")
    for number, (before, after) in enumerate(zip(saved, filled)):
        require(before.device == after.device and before.dtype == after.dtype, f"tensor {number} has moved")
        same = torch.equal(before.cpu().float(), after.detach().cpu().float()) if before.element_size() == 1 else torch.equal(before, after)
        require(same, f"tensor {number} of type {before.dtype} differs")
    checkpoint.delete(uuid)


def check_overlap_bits(checkpoint: Any) -> None:
    """What is saved is of the moment of the call, though the next step trains meanwhile."""
    state = make_state()
    model, optimizer = state["model"], state["optimizer"]
    saved = [tensor.detach().clone() for tensor in tensors_in({"model": model, "optimizer": optimizer})]
    uuid = checkpoint.save_state({"model": model, "optimizer": optimizer}, 1, overlap=optimizer)
    optimizer.zero_grad()
    model(torch.rand(16, 64, device=DEVICE)).square().sum().backward()
    optimizer.step()
    checkpoint.wait()
    other = make_state()
    checkpoint.load_state({"model": other["model"], "optimizer": other["optimizer"]}, uuid)
    filled = tensors_in({"model": other["model"], "optimizer": other["optimizer"]})
    require(len(saved) == len(filled), "the loaded state has another number of tensors")
    require(all(torch.equal(before, after) for before, after in zip(saved, filled)), "a tensor has elements of another step")
    checkpoint.delete(uuid)


class Saves:
    """Saves of a large state, of which one is kept."""

    def __init__(self, checkpoint: Any, state: Dict[str, torch.Tensor]) -> None:
        self._checkpoint = checkpoint
        self._state = state
        self.uuid = ""

    def save(self) -> float:
        """How long the program is blocked by a save, while no other one is in progress."""
        before = self.uuid

        def call() -> None:
            self.uuid = self._checkpoint.save_state(self._state, 1)

        blocked = seconds_of(call)
        self._checkpoint.wait()
        if before:
            self._checkpoint.delete(before)
        return blocked


def torch_save(tensors: Dict[str, torch.Tensor]) -> float:
    path = f"{STORAGE}/torch.pt"

    def call() -> None:
        with open(path, "wb") as file:
            torch.save(tensors, file)
            file.flush()
            os.fsync(file.fileno())

    try:
        return seconds_of(call)
    finally:
        os.unlink(path)


def measure_load(context: Any, saves: Saves, tensors: Dict[str, torch.Tensor]) -> Any:
    """The times of load_state() and of det_checkpoint_load_from() into the same memory of the device, which the context
    uses since the first save."""
    memory = [_lib.Memory(name, tensor.data_ptr(), "F32", tuple(tensor.shape)) for name, tensor in tensors.items()]
    in_c = _lib.TensorSaves(context.distributed._handle())
    return interleave(
        lambda: seconds_of(lambda: context.checkpoint.load_state(tensors, saves.uuid)),
        lambda: seconds_of(lambda: in_c.load_from(saves.uuid, memory)),
        min(PAIRS, 2),
    )


class Training:
    """Steps whose forward and backward passes take about 200 ms. Most parameters have no gradient, and do not change."""

    def __init__(self, size_bytes: int) -> None:
        width, wanted_s = (64, 0.001) if IS_REHEARSAL else (4096, 0.2)
        self.model = torch.nn.Linear(width, width).to(DEVICE)
        self.others = torch.nn.ParameterDict(
            {name.replace(".", "-"): torch.nn.Parameter(each) for name, each in make_tensors(size_bytes).items()}
        )
        self.optimizer = torch.optim.AdamW([*self.model.parameters(), *self.others.parameters()])
        self._input = torch.rand(width, width, device=DEVICE)
        self._repeats = 1
        seconds_of(self.step)
        self._repeats = max(1, int(wanted_s / seconds_of(self.step)))

    def step(self) -> None:
        loss = sum(self.model(self._input).square().mean() for _ in range(self._repeats))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def measure_overlap(checkpoint: Any, size_bytes: int) -> Any:
    """The times of a step after a save, and of one without."""
    training = Training(size_bytes)
    state = {"model": training.model, "others": training.others, "optimizer": training.optimizer}
    checkpoint.prepare_state(state)
    with_save, without = [], []
    for number in range(PAIRS + 1):
        without.append(seconds_of(training.step))

        def save_and_step() -> None:
            uuids.append(checkpoint.save_state(state, number, overlap=training.optimizer))
            training.step()

        uuids: List[str] = []
        with_save.append(seconds_of(save_and_step))
        checkpoint.wait()
        checkpoint.delete(uuids[0])
    return statistics.median(with_save[1:]), statistics.median(without[1:])


def main() -> None:
    size_bytes = bytes_for_state(8 << 30)
    with det.core.init() as context:
        checkpoint = context.checkpoint
        with row("torch-state-bits"):
            check_bits(checkpoint)
        with row("torch-state-overlap-bits"):
            check_overlap_bits(checkpoint)
        tensors = make_tensors(size_bytes)
        gib = sum(tensor.numel() * 4 for tensor in tensors.values()) / (1 << 30)
        saves = Saves(checkpoint, tensors)
        with row("torch-state-save") as made:
            begun = time.perf_counter()
            checkpoint.prepare_state(tensors)
            prepared = time.perf_counter() - begun
            targets = pinned_like(list(tensors.values()))
            ours, peer = interleave(saves.save, lambda: seconds_of(lambda: copy_all(targets, list(tensors.values()))), PAIRS)
            note = f"{gib:.2f} GiB: blocked {1e3 * ours:.1f} ms, pinned copies {1e3 * peer:.1f} ms, prepared in {prepared:.2f} s"
            made.set_figure(ours / peer, "x", 1.1, note)
            del targets
        with row("torch-state-load") as made:
            expected = {name: tensor.clone() for name, tensor in tensors.items()}
            for tensor in tensors.values():
                tensor.zero_()
            ours, peer = measure_load(context, saves, tensors)
            require(all(torch.equal(expected[name], tensors[name]) for name in tensors), "the loaded tensors differ")
            made.set_figure(ours / peer, "x", 1.11, f"{gib:.2f} GiB: {ours:.2f} s, det.h {peer:.2f} s")
            del expected
        with row("torch-state-torch-save") as made:
            some = dict(list(tensors.items())[: max(1, len(tensors) // 4)])
            part = Saves(checkpoint, some)
            part.save()
            ours, peer = part.save(), torch_save(some)
            checkpoint.delete(part.uuid)
            note = f"{gib / 4:.2f} GiB: blocked {1e3 * ours:.1f} ms, torch.save and fsync {peer:.2f} s"
            made.set_figure(ours / peer, "x", 0.15, note)
        checkpoint.delete(saves.uuid)
        del tensors, saves, some, part
        synchronize()
        with row("torch-state-overlap") as made:
            with_save, without = measure_overlap(checkpoint, size_bytes)
            note = f"a step of {1e3 * without:.0f} ms, with a save of {gib:.2f} GiB {1e3 * with_save:.0f} ms"
            made.set_figure(1e3 * (with_save - without), "ms", 25, note)


if __name__ == "__main__":
    main()
