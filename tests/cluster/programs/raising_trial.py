"""A PyTorchTrial whose training raises while two workers of its data loader wait for more work."""

import torch
from determined import pytorch


class RaisingTrial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(torch.nn.Linear(1, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

    def build_training_data_loader(self):
        data = torch.utils.data.TensorDataset(torch.zeros(1000, 1))
        return pytorch.DataLoader(data, batch_size=4, num_workers=2)

    def build_validation_data_loader(self):
        return self.build_training_data_loader()

    def train_batch(self, batch, epoch_idx, batch_idx):
        raise RuntimeError("the training raises")

    def evaluate_batch(self, batch):
        return {"loss": 0.0}
