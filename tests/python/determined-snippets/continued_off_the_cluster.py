"""A program off the cluster that names its experiment and trial, and continues from its checkpoint."""

import os

from checks import check
from determined.experimental import core_v2


def train(name):
    config = core_v2.Config(name="detached", hparams={"lr": 1}, external_experiment_id="mine", external_trial_id=name)
    core_v2.init(config=config, checkpoint_storage=os.path.abspath("kept"))
    check(core_v2.info._trial_info.hparams["lr"], 1)
    first = 0
    if core_v2.info.latest_checkpoint is not None:
        with core_v2.checkpoint.restore_path(core_v2.info.latest_checkpoint) as path:
            first = int((path / "step").read_text())
    for step in range(first + 1, first + 4):
        core_v2.train.report_training_metrics(steps_completed=step, metrics={"loss": 1 / step})
    with core_v2.checkpoint.store_path({"steps_completed": first + 3}) as (path, _):
        (path / "step").write_text(str(first + 3))
    core_v2.close()
    return first


check([train("a"), train("a"), train("b")], [0, 3, 0])
