"""The log of a trial with all filters, and reports of a group that nobody has reported."""

import datetime

from checks import EXPERIMENT_ID, check
from determined.experimental import client

trial = client.get_experiment(EXPERIMENT_ID).list_trials()[0]
everything = list(trial.logs())
now = datetime.datetime.now(datetime.timezone.utc)
check(list(trial.logs(timestamp_before=now, stdtypes=["stdout", "stderr"], sources=["task"])), everything)
check(list(trial.iter_logs(timestamp_after=now)), [])
check(list(trial.iter_logs(container_ids=["0"], rank_ids=[0])), everything)
check(len(list(trial.iter_logs(min_level=client.LogLevel.INFO))) <= len(everything), True)
check(list(trial.iter_metrics("inference")), [])
trial.kill()
check(trial.state, client.TrialState.COMPLETED)
