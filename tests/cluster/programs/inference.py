"""A batch inference that tests interrupt like pytorch_trial.py: it writes the samples of each batch into a file.

The hyperparameter pause_s is the duration of a batch in seconds.
"""

import json
import logging
import os
import subprocess
import time

import determined as det
from determined.pytorch import experimental

SAMPLES = 101


class WriteSamples(experimental.TorchBatchProcessor):
    def __init__(self, context):
        self.context = context
        self.total = context.wrap_reducer(sum, "total")

    def process_batch(self, batch, batch_idx):
        time.sleep(self.context.get_hparams().get("pause_s", 0))
        self.total.update(int(batch.sum()))
        with self.context.upload_path() as path:
            (path / f"batch-{batch_idx}.json").write_text(json.dumps(batch.tolist()))
        rank, size = self.context.get_distributed_rank(), self.context.get_distributed_size()
        if os.environ.get("TEST_EXIT_AT") == str(batch_idx) and rank == size - 1:
            os._exit(9)
        if os.environ.get("TEST_PREEMPT_AT") == str(batch_idx) and rank == 0:
            subprocess.run(os.environ["TEST_PREEMPT_COMMAND"].split(), check=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    experimental.torch_batch_process(WriteSamples, range(SAMPLES), batch_size=4, checkpoint_interval=5)
