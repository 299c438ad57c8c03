"""Pretends to train: the loss falls with each epoch towards the hyperparameter `floor`.

Each epoch takes `epoch_seconds` and ends with a validation and a checkpoint, so that a restarted trial goes on where it was.
Hyperparameters with a floor above `invalid_above` are reported as invalid. While `hold_file` exists, no epoch begins.
"""

import json
import os
import pathlib
import time

import determined as det


def load_epoch(core_context, info):
    if info.latest_checkpoint is None:
        return 0
    with core_context.checkpoint.restore_path(info.latest_checkpoint) as path:
        return json.loads((path / "state.json").read_text())["epoch"]


def write_text(path, text):
    """Repeats a write that fails, as on NFS with a soft mount: the library knows nothing of it."""
    for _ in range(9):
        try:
            return path.write_text(text)
        except OSError as error:
            print(f"repeats a write: {error}", flush=True)
            time.sleep(0.1)
    return path.write_text(text)


def save_epoch(core_context, epoch):
    with core_context.checkpoint.store_path({"steps_completed": epoch}) as (path, _):
        write_text(path / "state.json", json.dumps({"epoch": epoch}))


def wait_while_held(core_context, hold_file):
    while hold_file and os.path.exists(hold_file) and not core_context.preempt.should_preempt():
        time.sleep(0.05)


def train(core_context, info):
    hparams = info.trial.hparams
    if hparams["floor"] > hparams.get("invalid_above", 2):
        raise det.InvalidHP("the floor is too high")
    epoch = load_epoch(core_context, info)
    print(f"trial {info.trial.trial_id} begins at epoch {epoch}", flush=True)
    while epoch < hparams.get("epochs", 27):
        write_text(pathlib.Path("pid"), str(os.getpid()))
        time.sleep(hparams.get("epoch_seconds", 0.1))
        epoch += 1
        loss = hparams["floor"] + 1 / epoch
        core_context.train.report_validation_metrics(steps_completed=epoch, metrics={"loss": loss})
        save_epoch(core_context, epoch)
        wait_while_held(core_context, hparams.get("hold_file"))
        if core_context.preempt.should_preempt():
            return


if __name__ == "__main__":
    with det.core.init() as core_context:
        train(core_context, det.get_cluster_info())
