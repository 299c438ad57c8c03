"""A PyTorchTrial that says where it trains."""

import time
from typing import Any, Dict, List

import torch
from determined import pytorch

SAMPLES = 320


class Classifier(pytorch.PyTorchTrial):
    def __init__(self, context: Any) -> None:
        self.context = context
        torch.manual_seed(5)
        network = torch.nn.Sequential(
            torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 10)
        )
        self.model = context.wrap_model(network)
        self.optimizer = context.wrap_optimizer(torch.optim.AdamW(self.model.parameters(), lr=0.01))
        self.step_s = context.get_hparams().get("step_s", 0)
        self.devices: List[torch.device] = []
        self.uuids: List[str] = []

    def _data(self) -> Any:
        generator = torch.Generator().manual_seed(7)
        inputs = torch.randn(SAMPLES, 32, generator=generator)
        return torch.utils.data.TensorDataset(inputs, inputs[:, :10].argmax(1))

    def build_training_data_loader(self) -> Any:
        return pytorch.DataLoader(self._data(), batch_size=16, shuffle=True)

    def build_validation_data_loader(self) -> Any:
        return pytorch.DataLoader(self._data(), batch_size=64)

    def build_callbacks(self) -> Dict[str, Any]:
        callback = pytorch.PyTorchCallback()
        callback.on_checkpoint_upload_end = self.uuids.append  # type: ignore[method-assign]
        return {"uuids": callback}

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        inputs, labels = batch
        if not self.devices:
            print(f"TRAINS {inputs.device.type} batch {batch_idx}", flush=True)
        self.devices = [inputs.device, next(self.model.parameters()).device]
        time.sleep(self.step_s)
        loss = torch.nn.functional.cross_entropy(self.model(inputs), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any) -> Dict[str, Any]:
        inputs, labels = batch
        return {"loss": torch.nn.functional.cross_entropy(self.model(inputs), labels)}
