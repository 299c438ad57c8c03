"""Reports a metric at each step, waits at step 50 for the file that the hyperparameter names, and may fail.

TRIAL in the name of the file stands for the number of the trial in the experiment.
"""
import os
import time

import determined as det

trial = det.get_cluster_info().trial
hparams = trial.hparams
waits_for = hparams["waits_for"].replace("TRIAL", str(trial.trial_id % 1_000_000))
with det.core.init() as core_context:
    for step in range(1, 101):
        time.sleep(0.005)
        core_context.train.report_validation_metrics(step, {"loss": 1 / step})
        while step == 50 and not os.path.exists(waits_for):
            time.sleep(0.1)
        if step == 60 and hparams.get("fails"):
            raise ValueError("this step can't be trained")
