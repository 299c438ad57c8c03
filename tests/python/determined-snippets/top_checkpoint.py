"""Loads the best checkpoint of an experiment and predicts with it."""

import torch
from checks import EXPERIMENT_ID, check
from determined import pytorch
from determined.experimental import client

checkpoint = client.get_experiment(EXPERIMENT_ID).top_checkpoint(sort_by="error", smaller_is_better=True)
path = checkpoint.download()
check(path, f"checkpoints/{checkpoint.uuid}")
trial = pytorch.load_trial_from_checkpoint_path(path)
trial.model.eval()
with torch.no_grad():
    predicted = trial.model(torch.tensor([[1.0], [4.0]]))
check(tuple(predicted.shape), (2, 1))
error = checkpoint.training.validation_metrics["avgMetrics"]["error"]
inputs = torch.arange(5.0).unsqueeze(1)
check(abs(float((trial.model(inputs) - 2 * inputs).abs().mean()) - error) < 1e-5, True)
