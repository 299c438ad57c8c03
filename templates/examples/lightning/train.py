"""A line fitted by Lightning on all ranks of the trial."""

import determined as det
import lightning.pytorch as pl
import torch
from determined.lightning import DetCallback, DetCheckpointIO, DetLogger, latest_checkpoint
from torch.utils.data import DataLoader, TensorDataset


class Line(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def training_step(self, batch, batch_idx, name="train_loss"):
        loss = (self.layer(batch[0]) - batch[0].sum(dim=1, keepdim=True)).square().mean()
        self.log(name, loss, sync_dist=True)
        return loss

    def validation_step(self, batch, batch_idx):
        self.training_step(batch, batch_idx, "val_loss")

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


data = DataLoader(TensorDataset(torch.randn(4096, 2, generator=torch.Generator().manual_seed(1))), batch_size=16)
ranks = det.core.DistributedContext.from_torch_distributed()
with det.core.init(distributed=ranks) as core_context:
    trainer = pl.Trainer(
        num_nodes=ranks.cross_size, devices=ranks.local_size, strategy="ddp", max_epochs=10, logger=DetLogger(core_context),
        callbacks=[DetCallback(core_context)], plugins=[DetCheckpointIO(core_context)],
    )  # fmt: skip
    trainer.fit(Line(), data, data, ckpt_path=latest_checkpoint(core_context))
