"""A program that reports without being a trial."""

from checks import check
from determined.experimental import core_v2

with core_v2.init_context(config=core_v2.Config(name="detached", checkpoint_storage="kept")) as context:
    for step in range(1, 4):
        context.train.report_training_metrics(steps_completed=step, metrics={"loss": 1 / step})
    with context.checkpoint.store_path({"steps_completed": 3}) as (path, uuid):
        (path / "state").write_text("3")
with core_v2.init_context(config=core_v2.Config(name="detached", checkpoint_storage="kept")) as context:
    with context.checkpoint.restore_path(uuid) as path:
        check((path / "state").read_text(), "3")
    check(context.checkpoint.get_metadata(uuid)["steps_completed"], 3)
