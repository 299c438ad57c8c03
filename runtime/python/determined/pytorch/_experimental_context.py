"""The part of a context that Determined calls experimental."""

import contextlib
from typing import Any

import torch


def _make_scaler() -> Any:
    newer = getattr(torch.amp, "GradScaler", None)  # torch 2.3 and newer
    return torch.cuda.amp.GradScaler() if newer is None else newer("cuda")


class PyTorchExperimentalContext:
    """Obtained from `PyTorchTrialContext.experimental`."""

    def __init__(self, parent: Any) -> None:
        self._parent = parent
        self._moves_batches = True
        self._checks_loaders = True
        self._uses_amp = False

    def use_amp(self) -> None:
        """Trains with numbers of 16 bits where that is accurate enough, by torch.autocast. On a GPU a
        GradScaler scales the losses. Call it before wrap_model(). `optimizations: {mixed_precision: O1}` in
        the configuration does the same."""
        if self._parent.device.type == "cuda" and not self._uses_amp:
            self._parent.wrap_scaler(_make_scaler())
            self._parent._steps.scales_losses = True
        self._uses_amp = True

    def disable_dataset_reproducibility_checks(self) -> None:
        """Allows data loaders other than determined.pytorch.DataLoader. They are used unchanged: each rank
        trains with what its loader yields, and a run that continues begins at the first batch of the
        loader."""
        self._checks_loaders = False

    def disable_auto_to_device(self) -> None:
        """Does not move batches to the device: the trial calls context.to_device() itself."""
        self._moves_batches = False

    def _autocast(self) -> Any:
        """A context manager for the calls of train_batch() and evaluate_batch()."""
        if not self._uses_amp:
            return contextlib.nullcontext()
        is_gpu = self._parent.device.type == "cuda"
        return torch.autocast(self._parent.device.type, dtype=torch.float16 if is_gpu else torch.bfloat16)
