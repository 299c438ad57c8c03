"""The metrics that belong to a checkpoint."""

import datetime

from checks import EXPERIMENT_ID, check
from determined.experimental import client

checkpoint = client.get_experiment(EXPERIMENT_ID).top_checkpoint()
(validation,) = checkpoint.get_metrics("validation")
check(validation.group, "validation")
check(validation.steps_completed, checkpoint.metadata["steps_completed"])
check(validation.metrics, checkpoint.training.validation_metrics["avgMetrics"])
check(isinstance(validation.end_time, datetime.datetime), True)
check(validation.trial_run_id, 1)
check({report.group for report in checkpoint.get_metrics()} >= {"training", "validation"}, True)
