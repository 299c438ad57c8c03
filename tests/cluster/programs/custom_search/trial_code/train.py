"""Trains as scripts of Determined with a custom search do: from one operation of the searcher to the next."""

import json
import time
import warnings

import determined as det

warnings.simplefilter("ignore", FutureWarning)


def load_batch(core_context, info):
    if info.latest_checkpoint is None:
        return 0
    with core_context.checkpoint.restore_path(info.latest_checkpoint) as path:
        return json.loads((path / "state.json").read_text())["batch"]


def main():
    info = det.get_cluster_info()
    floor = info.trial.hparams["floor"]
    if floor > info.trial.hparams.get("fails_above", 1):
        raise RuntimeError("the floor is too high")
    with det.core.init() as core_context:
        batch = load_batch(core_context, info)
        print(f"trial {info.trial.trial_id} begins at batch {batch}", flush=True)
        for op in core_context.searcher.operations():
            while batch < op.length:
                time.sleep(info.trial.hparams["epoch_seconds"])
                batch += 1
                if core_context.preempt.should_preempt():
                    return
            loss = floor + 1 / batch
            core_context.train.report_validation_metrics(steps_completed=batch, metrics={"validation_loss": loss})
            with core_context.checkpoint.store_path({"steps_completed": batch}) as (path, _):
                (path / "state.json").write_text(json.dumps({"batch": batch}))
            op.report_completed(loss)


if __name__ == "__main__":
    main()
