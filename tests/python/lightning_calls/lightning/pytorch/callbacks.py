import os


class Callback:
    """Hooks that do nothing. The Trainer calls those of all callbacks in order, ModelCheckpoint last."""

    def setup(self, trainer, pl_module, stage): ...
    def on_train_start(self, trainer, pl_module): ...
    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx): ...
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx): ...
    def on_validation_end(self, trainer, pl_module): ...
    def on_train_end(self, trainer, pl_module): ...
    def on_exception(self, trainer, pl_module, exception): ...


class ModelCheckpoint(Callback):
    """Saves every so many steps, and removes the oldest when there are more than save_top_k."""

    def __init__(self, every_n_train_steps, save_top_k):
        self.every_n_train_steps, self.save_top_k, self.paths = every_n_train_steps, save_top_k, []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.global_step % self.every_n_train_steps != 0 or trainer.global_step == 0:
            return
        logger = trainer.loggers[0]
        path = os.path.join(logger.save_dir, logger.name, logger.version, "checkpoints", f"step={trainer.global_step}.ckpt")
        trainer.save_checkpoint(path)
        self.paths.append(path)
        if len(self.paths) > self.save_top_k:
            trainer.strategy.remove_checkpoint(self.paths.pop(0))
