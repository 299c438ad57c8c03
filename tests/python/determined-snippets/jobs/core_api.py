"""A Core API trial: searcher operations, checkpoints, preemption, and all ranks."""

import logging

import determined as det


def main(context: det.core.Context, hparams) -> None:
    info = det.get_cluster_info()
    start = 0
    if info.latest_checkpoint is not None:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            start = int((path / "steps").read_text())
    for operation in context.searcher.operations():
        for step in range(start + 1, operation.length + 1):
            losses = context.distributed.gather(hparams["loss"] / step)
            if context.distributed.rank == 0:
                mean = sum(losses) / len(losses)
                context.train.report_training_metrics(steps_completed=step, metrics={"loss": mean})
                operation.report_progress(step)
            if context.preempt.should_preempt():
                return
        metadata = {"steps_completed": operation.length, "rank": context.distributed.rank}
        if context.distributed.rank == 0:
            with context.checkpoint.store_path(metadata) as (path, _):
                (path / "steps").write_text(str(operation.length))
            context.train.report_validation_metrics(steps_completed=operation.length, metrics={"loss": 0.5})
            operation.report_completed(0.5)


if __name__ == "__main__":
    logging.basicConfig(format=det.LOG_FORMAT)
    with det.core.init(distributed=det.core.DistributedContext.from_torch_distributed()) as core_context:
        main(core_context, det.get_cluster_info().trial.hparams)
