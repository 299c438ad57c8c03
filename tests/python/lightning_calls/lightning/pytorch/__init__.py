from lightning.pytorch.trainer import LightningModule, Trainer

__all__ = ["LightningModule", "Trainer"]
