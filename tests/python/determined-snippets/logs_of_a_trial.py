"""The log of a trial: all of it, its ends, and lines that match."""

from checks import EXPERIMENT_ID, check
from determined.experimental import client

trial = client.get_experiment(EXPERIMENT_ID).get_trials()[0]
lines = list(trial.logs(follow=True))
check(list(trial.iter_logs(head=2)), lines[:2])
check(list(trial.iter_logs(tail=2)), lines[-2:])
check(len(list(trial.iter_logs(search_text="batch [0-9] of epoch"))), 6)
check("batch 0 of epoch 0" in "".join(trial.iter_logs(rank_ids=[0])), True)
