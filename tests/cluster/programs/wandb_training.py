"""A script like those published for wandb: it saves its state in the trial's directory, and ends after SIGTERM."""

import importlib.metadata
import json
import os
import pathlib
import signal
import sys
import time

import wandb

stops = []
signal.signal(signal.SIGTERM, lambda *_: stops.append(True))

state = pathlib.Path(os.environ["DET_TRIAL_DIR"], "state.json")
epoch = json.loads(state.read_text())["epoch"] if state.exists() else 0
rank = int(os.environ["RANK"])

run = wandb.init(project="digits", config={"lr": 0.01, "epochs": 40}, resume="allow")
if rank == 0 and epoch:
    print(f"resumed at epoch {epoch}, step {run.step}", flush=True)
while epoch < wandb.config.epochs and not stops:
    time.sleep(0.1)
    epoch += 1
    wandb.log({"epoch": epoch, "train/loss": 1 / epoch, "val/acc": epoch / 40, "lr": wandb.config.lr})
    if rank == 0:
        state.with_suffix(".new").write_text(json.dumps({"epoch": epoch}))
        state.with_suffix(".new").replace(state)
if epoch == wandb.config.epochs:
    found = importlib.metadata.entry_points()
    points = found.select(group="mlflow.tracking_store") if hasattr(found, "select") else found["mlflow.tracking_store"]
    wandb.run.summary["store"] = os.environ["MLFLOW_TRACKING_URI"].split(":")[0] in [point.name for point in points]
    pathlib.Path(os.environ["DET_DONE_FILE"]).touch()
wandb.finish()
sys.exit(0)
