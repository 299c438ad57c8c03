"""Checkpoints in several orders."""

from checks import EXPERIMENT_ID, check
from determined.experimental import client
from determined.experimental.client import CheckpointSortBy, OrderBy

experiment = client.get_experiment(EXPERIMENT_ID)
by_end = experiment.list_checkpoints(sort_by=CheckpointSortBy.END_TIME, order_by=OrderBy.DESC)
check([each.report_time for each in by_end], sorted((each.report_time for each in by_end), reverse=True))
by_batch = experiment.list_checkpoints(sort_by=CheckpointSortBy.BATCH_NUMBER, order_by=OrderBy.ASC, max_results=4)
check([each.metadata["steps_completed"] for each in by_batch], [2, 2, 4, 4])
by_metric = experiment.list_checkpoints(sort_by="error", order_by=OrderBy.ASC)
check(by_metric[0].uuid, experiment.top_checkpoint().uuid)
check({each.state for each in by_metric}, {client.CheckpointState.COMPLETED})
check(len(by_end), 6)
