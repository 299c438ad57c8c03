"""A trial of one slot that counts its steps, saves for a second every 20 steps, and dies once at step 30."""

import os
import pathlib
import time

import determined as det


def main():
    info = det.get_cluster_info()
    steps = info.trial.hparams["steps"]
    latest = info.latest_checkpoint
    with det.core.init() as context:
        first = 1
        if latest:
            with context.checkpoint.restore_path(latest) as path:
                first = int((path / "step").read_text()) + 1
        for step in range(first, steps + 1):
            time.sleep(0.1)
            context.train.report_training_metrics(steps_completed=step, metrics={"loss": 1 / step})
            if step % 20 == 0:
                with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                    (pathlib.Path(path) / "step").write_text(str(step))
                    time.sleep(1)
            if step == 30 and not latest:
                os._exit(3)
            if context.preempt.should_preempt():
                return


main()
