"""Trials in several orders."""

from checks import EXPERIMENT_ID, check
from determined.experimental import client
from determined.experimental.client import OrderBy, TrialSortBy

experiment = client.get_experiment(EXPERIMENT_ID)
ids = [trial.id for trial in experiment.get_trials(sort_by=TrialSortBy.ID, order_by=OrderBy.ASC)]
check(len(ids), 2)
check([trial.id for trial in experiment.iter_trials(TrialSortBy.ID, OrderBy.DESC, limit=1)], ids[-1:])
best = next(experiment.iter_trials(TrialSortBy.BEST_VALIDATION_METRIC, OrderBy.ASC, limit=1))
check(best.id, experiment.top_checkpoint().training.trial_id)
check({trial.state for trial in experiment.list_trials()}, {client.TrialState.COMPLETED})
check(client.get_trial(ids[0]).get_experiment().id, EXPERIMENT_ID)
