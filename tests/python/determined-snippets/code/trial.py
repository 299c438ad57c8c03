"""A PyTorchTrial that learns y = 2x."""

import torch
from determined import pytorch


class LineTrial(pytorch.PyTorchTrial):
    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        torch.set_num_threads(1)
        self.context = context
        self.model = context.wrap_model(torch.nn.Linear(1, 1))
        optimizer = torch.optim.SGD(self.model.parameters(), lr=context.get_hparam("lr"))
        self.optimizer = context.wrap_optimizer(optimizer)

    def build_training_data_loader(self) -> pytorch.DataLoader:
        inputs = torch.arange(16.0).unsqueeze(1) / 16
        data = torch.utils.data.TensorDataset(inputs, 2 * inputs)
        return pytorch.DataLoader(data, batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        inputs = torch.arange(5.0).unsqueeze(1)
        return pytorch.DataLoader(torch.utils.data.TensorDataset(inputs, 2 * inputs), batch_size=5)

    def train_batch(self, batch, epoch_idx: int, batch_idx: int):
        inputs, wanted = batch
        loss = torch.nn.functional.mse_loss(self.model(inputs), wanted)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        print(f"batch {batch_idx} of epoch {epoch_idx}")
        return {"loss": loss}

    def evaluate_batch(self, batch):
        inputs, wanted = batch
        return {"error": (self.model(inputs) - wanted).abs().mean()}
