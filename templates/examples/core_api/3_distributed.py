"""Stage 3: several ranks on several nodes. det-launch starts this program once per slot."""

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
    return steps_completed, x


def train(core_context, latest_checkpoint, increment_by):
    is_chief = core_context.distributed.rank == 0
    steps_completed, x = load(core_context, latest_checkpoint)
    steps = core_context.searcher.batches_left(0)  # max_length of the searcher
    while steps_completed < steps:
        x += sum(core_context.distributed.allgather(increment_by))  # the same x on every rank
        steps_completed += 1
        time.sleep(0.05)  # a real program computes here
        if steps_completed % 10 == 0 and is_chief:  # only the chief reports and saves
            core_context.train.report_training_metrics(steps_completed=steps_completed, metrics={"x": x})
        if core_context.preempt.should_preempt():  # every rank asks, and all get the same answer
            if is_chief:
                save(core_context, steps_completed, x)
            return
    if is_chief:
        core_context.train.report_validation_metrics(steps_completed=steps_completed, metrics={"x": x})
        save(core_context, steps_completed, x)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    distributed = det.core.DistributedContext.from_torch_distributed()  # rank and size come from the environment
    with det.core.init(distributed=distributed) as core_context:
        train(core_context, info.latest_checkpoint, info.trial.hparams["increment_by"])
