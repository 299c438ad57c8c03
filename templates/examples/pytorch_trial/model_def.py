"""A PyTorchTrial that learns digits of 3x5 dots with noise."""

import torch
from determined import pytorch
from torch import nn

# Digits of 3x5 dots, row by row. Samples are these with noise, so that nothing has to be downloaded.
DOTS = (
    "111101101101111 010110010010111 111001111100111 111001111001111 101101111001001 "
    "111100111001111 111100111101111 111001001001001 111101111101111 111101111001111"
)
DIGITS = torch.tensor([[float(dot) for dot in digit] for digit in DOTS.split()])


def make_data(samples, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (samples,), generator=generator)
    noise = 0.3 * torch.randn(samples, 15, generator=generator)
    return torch.utils.data.TensorDataset(DIGITS[labels] + noise, labels)


class DigitsTrial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        torch.set_num_threads(1)
        hidden = context.get_hparam("hidden_units")
        self.model = context.wrap_model(
            nn.Sequential(nn.Linear(15, hidden), nn.ReLU(), nn.Dropout(context.get_hparam("dropout")), nn.Linear(hidden, 10))
        )
        self.optimizer = context.wrap_optimizer(
            torch.optim.SGD(self.model.parameters(), lr=context.get_hparam("learning_rate"), momentum=0.9)
        )
        self.scheduler = context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=1, gamma=0.9),
            step_mode=pytorch.LRScheduler.StepMode.STEP_EVERY_EPOCH,
        )

    def build_training_data_loader(self):
        return pytorch.DataLoader(make_data(6400, 1), batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self):
        return pytorch.DataLoader(make_data(1000, 2), batch_size=self.context.get_per_slot_batch_size())

    def train_batch(self, batch, epoch_idx, batch_idx):
        inputs, labels = batch
        loss = nn.functional.cross_entropy(self.model(inputs), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        inputs, labels = batch
        outputs = self.model(inputs)
        accuracy = (outputs.argmax(dim=1) == labels).float().mean()
        return {"validation_loss": nn.functional.cross_entropy(outputs, labels), "accuracy": accuracy}
