"""Creates an experiment from a file with a Determined object, pauses it, lets it go on, and ends it."""

import os
import time

from checks import check
from determined.experimental import Determined, client


def wait_for(experiment, *states):
    for _ in range(600):
        experiment.reload()
        if experiment.state in states:
            return
        time.sleep(0.1)
    raise SystemExit(f"the experiment is {experiment.state}, not one of {states}")


determined = Determined(master="localhost", user="determined")
experiment = determined.create_experiment("experiment.yaml", "code", includes=["checks.py"])
trial = experiment.await_first_trial()
check(trial.get_experiment().id, experiment.id)
experiment.pause()
wait_for(experiment, client.ExperimentState.PAUSED, client.ExperimentState.COMPLETED)
if experiment.state is client.ExperimentState.PAUSED:
    experiment.activate()
experiment.kill()
wait_for(experiment, client.ExperimentState.CANCELED, client.ExperimentState.COMPLETED)
check(sorted(each.id for each in experiment.list_trials())[0], trial.id)
check(os.path.exists(f"{experiment.download_code()}/checks.py"), True)
experiment.delete()
check(experiment.id in [each.id for each in client.list_experiments()], False)
