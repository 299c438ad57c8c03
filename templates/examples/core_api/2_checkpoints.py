"""Stage 2: the loop also saves checkpoints, continues from the latest one, and stops when it is asked to."""

import logging
import time

import determined as det


def save(core_context, steps_completed, x):
    with core_context.checkpoint.store_path({"steps_completed": steps_completed}) as (path, _):
        (path / "state").write_text(f"{steps_completed},{x}")


def load(core_context, storage_id):
    if storage_id is None:
        return 0, 0
    with core_context.checkpoint.restore_path(storage_id) as path:
        steps_completed, x = map(int, (path / "state").read_text().split(","))
    logging.info("continuing at step %d", steps_completed)
    return steps_completed, x


def train(core_context, latest_checkpoint, increment_by):
    steps_completed, x = load(core_context, latest_checkpoint)
    saved_at = steps_completed
    steps = core_context.searcher.batches_left(0) or 100  # max_length of the searcher; None without an experiment
    while steps_completed < steps:
        x += increment_by
        steps_completed += 1
        time.sleep(0.05)  # a real program computes here
        if steps_completed % 10 == 0:
            core_context.train.report_training_metrics(steps_completed=steps_completed, metrics={"x": x})
            save(core_context, steps_completed, x)
            saved_at = steps_completed
        if core_context.preempt.should_preempt():  # paused, preempted by Slurm, or near the time limit
            if saved_at < steps_completed:
                save(core_context, steps_completed, x)
            return
    core_context.train.report_validation_metrics(steps_completed=steps, metrics={"x": x})


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    hparams = info.trial.hparams if info else {"increment_by": 1}
    with det.core.init() as core_context:
        train(core_context, info.latest_checkpoint if info else None, hparams["increment_by"])
