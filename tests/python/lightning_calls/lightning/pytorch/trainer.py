"""A Trainer on the CPU with one optimizer, for one rank or for those that torchrun's variables name."""

import copy
import os

import torch
import torch.distributed as dist
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.environments import SLURMEnvironment
from lightning.pytorch.plugins.io import CheckpointIO


class LightningModule(torch.nn.Module):
    hparams: dict = {}

    def log(self, name, value, sync_dist=False):
        self._logged[name] = float(value)


class Strategy:
    """Saves on the rank 0 alone, and loads on every rank, as Lightning's for one device and for DDP."""

    def __init__(self, plugins, single):
        self.checkpoint_io = next((each for each in plugins if isinstance(each, CheckpointIO)), None)
        self.cluster_environment = next((each for each in plugins if isinstance(each, SLURMEnvironment)), None)
        self.size = 1 if single else int(os.environ.get("WORLD_SIZE", 1))
        self.is_global_zero = int(os.environ.get("RANK", 0)) == 0
        if self.size > 1:
            dist.init_process_group("gloo")

    def barrier(self):
        if self.size > 1:
            dist.barrier()

    def save_checkpoint(self, checkpoint, filepath, storage_options=None):
        if self.is_global_zero:
            self.checkpoint_io.save_checkpoint(checkpoint, filepath, storage_options=storage_options)

    def load_checkpoint(self, checkpoint_path, weights_only=None):
        return self.checkpoint_io.load_checkpoint(checkpoint_path, weights_only=weights_only)

    def remove_checkpoint(self, filepath):
        if self.is_global_zero:
            self.checkpoint_io.remove_checkpoint(filepath)


class Trainer:
    def __init__(self, max_steps=-1, max_epochs=1, min_steps=None, val_check_interval=1.0, log_every_n_steps=2, accumulate_grad_batches=1,
                 callbacks=(), logger=None, plugins=(), default_root_dir=".",
                 limit_val_batches=None, num_nodes=1, devices="auto", strategy="auto"):  # fmt: skip
        self.max_steps, self.max_epochs, self.val_check_interval = max_steps, max_epochs, val_check_interval
        self.min_steps, self.limit_val_batches = min_steps, limit_val_batches
        self.log_every_n_steps, self.accumulate_grad_batches = log_every_n_steps, accumulate_grad_batches
        self.callbacks = sorted(callbacks, key=lambda each: isinstance(each, ModelCheckpoint))
        self.loggers, self.default_root_dir = [logger], default_root_dir
        self.strategy = Strategy(plugins, devices == 1)
        self.global_step = self.current_epoch = self._batches = self._batches_that_stepped = 0
        self.should_stop = self.sanity_checking = self.requeues_itself = False
        self.callback_metrics = {}

    @property
    def world_size(self):
        return self.strategy.size

    @property
    def estimated_stepping_batches(self):
        if self.num_training_batches == float("inf"):
            return self.max_steps
        of_epochs = self.max_epochs * -(-self.num_training_batches // self.accumulate_grad_batches)
        return of_epochs if self.max_steps == -1 else min(self.max_steps, of_epochs)

    def fit(self, model, train_batches, val_batches, ckpt_path=None):
        try:
            self._fit(model, list(train_batches), list(val_batches), ckpt_path)
        except BaseException as problem:
            self._call("on_exception", problem)
            self.strategy.checkpoint_io.teardown()
            raise
        self.strategy.checkpoint_io.teardown()

    def save_checkpoint(self, filepath, weights_only=False):
        model, optimizer = self._model, self._optimizer
        checkpoint = {
            "epoch": self.current_epoch, "global_step": self.global_step, "pytorch-lightning_version": "2.6.0",
            "state_dict": model.state_dict(), "callbacks": {}, "lr_schedulers": [],
            "optimizer_states": [optimizer.state_dict()], "hparams_name": "kwargs", "hyper_parameters": dict(model.hparams),
            "loops": {"fit_loop": {"batches": self._batches, "stepped": self._batches_that_stepped, "none": None}},
        }  # fmt: skip
        if weights_only:
            for name in ("callbacks", "lr_schedulers", "optimizer_states", "loops"):
                del checkpoint[name]
        self.strategy.save_checkpoint(checkpoint, filepath)
        self.strategy.barrier()

    def _call(self, hook, *arguments):
        for callback in self.callbacks:
            getattr(callback, hook)(self, self._model, *arguments)

    def _log(self, metrics):
        for logger in self.loggers:  # on every rank
            logger.log_metrics({**metrics, "epoch": self.current_epoch}, step=self._batches_that_stepped)
            logger.save()

    def _fit(self, model, train_batches, val_batches, ckpt_path):
        self._model, self._optimizer = model, model.configure_optimizers()
        model._logged = {}
        if self.strategy.size > 1:
            for parameter in model.parameters():
                dist.broadcast(parameter.data, 0)
        # An iterable dataset without a length:
        self.num_training_batches = float("inf") if "TEST_WITHOUT_LENGTH" in os.environ else len(train_batches)
        if isinstance(self.val_check_interval, float):
            self.val_check_interval = int(self.val_check_interval * self.num_training_batches)
        self._call("setup", "fit")
        environment = self.strategy.cluster_environment
        self.requeues_itself = environment is not None and environment.auto_requeue
        if ckpt_path:
            self._restore(copy.deepcopy(self.strategy.load_checkpoint(ckpt_path)))
        for logger in self.loggers:
            logger.log_hyperparams(dict(model.hparams))
        self.sanity_checking = not ckpt_path
        if self.sanity_checking and self.limit_val_batches != 0:
            self._validate(val_batches)
        self.sanity_checking = False
        self._call("on_train_start")
        self._train_epochs(train_batches, val_batches)
        self._call("on_train_end")

    def _train_epochs(self, train_batches, val_batches):
        while not self._is_done():
            for index in range(self._batches, len(train_batches)):
                self._train_batch(train_batches[index], index)
                if (index + 1) % self.val_check_interval == 0 and self.limit_val_batches != 0:
                    self._validate(val_batches)
                self._batches_that_stepped += int(self._has_stepped)
                if self._is_done():
                    return
            self.current_epoch, self._batches = self.current_epoch + 1, 0

    def _is_done(self):
        may_stop = self.min_steps is None or self.global_step >= self.min_steps
        return (self.should_stop and may_stop) or self.global_step == self.max_steps or self.current_epoch >= self.max_epochs

    def _restore(self, checkpoint):
        self._model.load_state_dict(checkpoint["state_dict"])
        self._optimizer.load_state_dict(checkpoint["optimizer_states"][0])
        loop = checkpoint["loops"]["fit_loop"]
        self.global_step, self.current_epoch = checkpoint["global_step"], checkpoint["epoch"]
        self._batches, self._batches_that_stepped = loop["batches"], loop["stepped"]
        # Recent releases count the last batch again, unless the checkpoint was saved in its on_train_batch_end().
        self._batches_that_stepped += int(loop["stepped"] == self.global_step)

    def _train_batch(self, batch, index):
        self._call("on_train_batch_start", batch, index)
        loss = self._model.training_step(batch, index)
        loss.backward()
        self._has_stepped = (index + 1) % self.accumulate_grad_batches == 0 or index + 1 == self.num_training_batches
        if self._has_stepped:
            if self.strategy.size > 1:
                for parameter in self._model.parameters():
                    dist.all_reduce(parameter.grad)
            self._optimizer.step()
            self._optimizer.zero_grad()
            self.global_step += 1
        self._call("on_train_batch_end", loss, batch, index)
        self._batches = index + 1
        logged, self._model._logged = self._model._logged, {}
        if (self._batches_that_stepped + 1) % self.log_every_n_steps == 0 and self._has_stepped:
            self._log(logged)

    def _validate(self, batches):
        with torch.no_grad():
            for index, batch in enumerate(batches):
                self._model.validation_step(batch, index)
        logged, self._model._logged = self._model._logged, {}
        self.callback_metrics = {name: torch.tensor(value) for name, value in logged.items()}
        if not self.sanity_checking:
            self._log(logged)
        self._call("on_validation_end")
