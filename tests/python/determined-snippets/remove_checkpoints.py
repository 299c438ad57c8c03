"""Removes files of a checkpoint, and then the checkpoint. Runs last: it removes the worst one."""

from checks import EXPERIMENT_ID, check
from determined.experimental import client

worst = client.get_experiment(EXPERIMENT_ID).list_checkpoints("error", client.OrderBy.DESC)[0]
worst.remove_files(["*.py", "code/*"])
check(worst.state in (client.CheckpointState.COMPLETED, client.CheckpointState.PARTIALLY_DELETED), True)
worst.delete()
check(worst.state, client.CheckpointState.DELETED)
check(len(client.get_experiment(EXPERIMENT_ID).list_checkpoints()), 5)
