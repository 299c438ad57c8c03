"""The metrics of trials, of one and of several."""

from checks import EXPERIMENT_ID, check
from determined.experimental import client

trials = client.get_experiment(EXPERIMENT_ID).list_trials()
steps = [report.steps_completed for report in trials[0].iter_metrics("validation")]
check(steps, [2, 4, 6])
check([report.total_batches for report in trials[0].stream_training_metrics()], list(range(1, 7)))
check([report.steps_completed for report in trials[0].stream_validation_metrics()], steps)
ids = [trial.id for trial in trials]
reports = list(client.stream_trials_validation_metrics(ids))
check([report.trial_id for report in reports], [ids[0]] * 3 + [ids[1]] * 3)
check(len(list(client.stream_trials_training_metrics(ids))), 12)
check(len(list(client.iter_trials_metrics(ids, "validation"))), 6)
summary = trials[0].summary_metrics["validation_metrics"]["error"]
check((summary["count"], summary["last"]), (3, list(trials[0].iter_metrics("validation"))[-1].metrics["error"]))
