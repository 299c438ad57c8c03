"""A training by Lightning's Trainer for test_lightning.py, which chooses its arguments by TEST_ARGUMENTS."""

import json
import logging
import os
import subprocess

import determined as det
import torch
from determined.lightning import DetCallback, DetCheckpointIO, DetLogger, latest_checkpoint
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.plugins.environments import SLURMEnvironment


class Line(LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.layer = torch.nn.Linear(2, 1)
        self.hparams = {"width": 2, "data": {"path": os.sep, "kind": int}}

    def _loss(self, batch):
        return (self.layer(batch) - batch.sum(dim=1, keepdim=True)).square().mean()

    def training_step(self, batch, batch_idx):
        loss = self._loss(batch)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self._loss(batch))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.05)


class RaiseNotice(Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.strategy.is_global_zero and trainer.global_step == int(os.environ.get("TEST_PREEMPT_AT", -1)):
            subprocess.run(os.environ["TEST_PREEMPT_COMMAND"].split(), check=True)


def main():
    logging.basicConfig(level=logging.INFO)
    generator = torch.Generator().manual_seed(5)
    batches = [torch.randn(4, 2, generator=generator) for _ in range(12)]
    ranks = det.core.DistributedContext.from_torch_distributed()
    with det.core.init(distributed=ranks) as core_context:
        plugins = [SLURMEnvironment()] if "TEST_WITHOUT_IO" in os.environ else [DetCheckpointIO(core_context), SLURMEnvironment()]
        trainer = Trainer(
            logger=DetLogger(core_context),
            callbacks=[ModelCheckpoint(every_n_train_steps=6, save_top_k=1), RaiseNotice(), DetCallback(core_context)],
            plugins=plugins,
            **json.loads(os.environ["TEST_ARGUMENTS"]),
        )
        model = Line()
        if "TEST_STOP_AT_ONCE" in os.environ:
            trainer.should_stop = True
        trainer.fit(model, batches, batches[:2], ckpt_path=latest_checkpoint(core_context))
        if "TEST_FITS_AGAIN" in os.environ:
            trainer.should_stop, trainer.max_epochs = False, trainer.max_epochs + 1
            trainer.fit(model, batches, batches[:2])
        trainer.save_checkpoint("final.ckpt")
        if "TEST_SAVES_TWICE" in os.environ:
            trainer.save_checkpoint("final.ckpt")
            trainer.save_checkpoint("weights.ckpt", weights_only=True)
            print("only", sorted(trainer.strategy.checkpoint_io.load_checkpoint("weights.ckpt")))
        trainer.strategy.checkpoint_io.wait()
        if trainer.strategy.is_global_zero:
            weights = trainer.strategy.checkpoint_io.load_checkpoint("final.ckpt")["state_dict"]
            print("weights", [float(each) for value in weights.values() for each in value.flatten()])
        print(f"rank {ranks.rank}: {trainer.global_step} steps, own requeue {trainer.requeues_itself}")


if __name__ == "__main__":
    main()
