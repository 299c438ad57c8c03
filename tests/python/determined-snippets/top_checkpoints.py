"""The best checkpoint of each of the best trials."""

from checks import EXPERIMENT_ID, check
from determined.experimental import client

experiment = client.get_experiment(EXPERIMENT_ID)
best = experiment.top_n_checkpoints(5)
check(len(best), 2)
errors = [checkpoint.training.validation_metrics["avgMetrics"]["error"] for checkpoint in best]
check(errors, sorted(errors))
check(experiment.top_n_checkpoints(1, sort_by="error", smaller_is_better=True)[0].uuid, best[0].uuid)
check(experiment.top_n_checkpoints(1, sort_by="error", smaller_is_better=False)[0].uuid == best[0].uuid, False)
