"""The latest, the best, and a named checkpoint of a trial."""

from checks import EXPERIMENT_ID, check
from determined.experimental import client

trial = client.get_experiment(EXPERIMENT_ID).get_trials()[0]
latest = trial.select_checkpoint(latest=True)
check(latest.metadata["steps_completed"], 6)
check(trial.select_checkpoint(best=True).uuid, trial.top_checkpoint("error", True).uuid)
check(trial.select_checkpoint(uuid=latest.uuid).report_time, latest.report_time)
check(len(trial.get_checkpoints()), 3)
check(client.get_trial(trial.id).hparams["global_batch_size"], 4)
