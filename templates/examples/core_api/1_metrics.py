"""Stage 1: a training loop that reports metrics."""

import logging
import time

import determined as det


def train(core_context, increment_by):
    x = 0
    steps = core_context.searcher.batches_left(0) or 100  # max_length of the searcher; None without an experiment
    for steps_completed in range(1, steps + 1):
        x += increment_by
        time.sleep(0.05)  # a real program computes here
        if steps_completed % 10 == 0:
            core_context.train.report_training_metrics(steps_completed=steps_completed, metrics={"x": x})
            core_context.train.report_progress(steps_completed / steps)
    core_context.train.report_validation_metrics(steps_completed=steps, metrics={"x": x})


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    hparams = info.trial.hparams if info else {"increment_by": 1}  # also runs without an experiment
    with det.core.init() as core_context:
        train(core_context, hparams["increment_by"])
