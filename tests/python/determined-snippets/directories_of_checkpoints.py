"""Checkpoints in directories that exist, and what is loaded from them."""

import os
import tempfile

from checks import EXPERIMENT_ID, check
from determined import pytorch
from determined.experimental import checkpoint, client

found = client.get_experiment(EXPERIMENT_ID).top_checkpoint()
with tempfile.TemporaryDirectory() as directory:
    check(found.download(directory, mode=checkpoint.DownloadMode.DIRECT), directory)
    check({"metadata.json", "code"} <= set(os.listdir(directory)), True)
    check(found.download(directory), directory)
    loaded = client.Checkpoint.load_from_path(directory)
    check(type(loaded.model), type(pytorch.load_trial_from_checkpoint_path(directory).model))
check(found.load(path="loaded").model is not None, True)
check(found.allocation_id.startswith(found.task_id), True)
try:
    client.get_checkpoint("00000000-0000-0000-0000-000000000000")
except client.CommandError as problem:
    check(problem.status_code, 404)
else:
    raise SystemExit("there is such a checkpoint")
