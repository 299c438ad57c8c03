"""Reports a metric at each step, waits at step 50 for the file that the hyperparameter names, and may fail."""
import os
import time

import determined as det

hparams = det.get_cluster_info().trial.hparams
with det.core.init() as core_context:
    for step in range(1, 101):
        time.sleep(0.005)
        core_context.train.report_validation_metrics(step, {"loss": 1 / step})
        while step == 50 and not os.path.exists(hparams["waits_for"]):
            time.sleep(0.1)
        if step == 60 and hparams.get("fails"):
            raise ValueError("this step can't be trained")
