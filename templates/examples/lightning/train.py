"""A line fitted by Lightning on all ranks of the trial."""

import determined as det
import lightning.pytorch as pl
import torch
from determined.lightning import DetCallback, DetCheckpointIO, DetLogger, latest_checkpoint


class Line(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def loss(self, batch):
        return (self.layer(batch[0]) - batch[0].sum(dim=1, keepdim=True)).square().mean()

    def training_step(self, batch, batch_idx):
        loss = self.loss(batch)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self.loss(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main():
    data = torch.utils.data.TensorDataset(torch.randn(4096, 2, generator=torch.Generator().manual_seed(1)))
    loader = torch.utils.data.DataLoader(data, batch_size=16)
    ranks = det.core.DistributedContext.from_torch_distributed()
    with det.core.init(distributed=ranks) as core_context:
        trainer = pl.Trainer(
            num_nodes=ranks.cross_size, devices=ranks.local_size, strategy="ddp", max_epochs=10,
            logger=DetLogger(core_context), callbacks=[DetCallback(core_context)], plugins=[DetCheckpointIO(core_context)],
        )  # fmt: skip
        trainer.fit(Line(), loader, loader, ckpt_path=latest_checkpoint(core_context))


if __name__ == "__main__":
    main()
