"""A PyTorchTrial trains on the device by itself, and continues from a checkpoint with the same bits."""

import os
import sys
from typing import Dict, Optional, Tuple

import torch
from determined import pytorch
from rows import require, row
from torch_device import DEVICE

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "trial_code"))
from classifier import Classifier  # noqa: E402


def train(batches: int, uuid: Optional[str] = None) -> Tuple[Dict[str, torch.Tensor], str]:
    """Returns the weights at the end, and the checkpoint of them."""
    with pytorch.init(hparams={}, exp_conf={"searcher": {"metric": "loss"}}) as context:
        trial = Classifier(context)
        pytorch.Trainer(trial, context).fit(max_length=pytorch.Batch(batches), latest_checkpoint=uuid, checkpoint_policy="none")
        require(
            all(device.type == DEVICE.type for device in trial.devices), f"it has trained on {trial.devices}"
        )
        weights = {name: value.detach().clone() for name, value in trial.model.state_dict().items()}
    require(trial.uuids, "no checkpoint was saved")
    return weights, trial.uuids[-1]


def main() -> None:
    with row("torch-trial-resumes"):
        whole, _ = train(24)
        _, uuid = train(11)
        resumed, _ = train(24, uuid)
        for name, value in whole.items():
            require(torch.equal(value, resumed[name]), f"{name} differs from that of a training without interruption")


if __name__ == "__main__":
    main()
