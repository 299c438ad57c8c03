"""Trains ten steps and saves after five. In the first run of the trial rank 3 then waits for an event that never comes, and the
other ranks wait for it."""
import os
import pathlib
import threading

import determined as det

STEPS, SAVED_AT, HANGING_RANK = 10, 5, 3


def wait_for_nothing():
    threading.Event().wait()


def save(context, step):
    with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
        pathlib.Path(path / "state").write_text(str(step))


def load(context, checkpoint):
    with context.checkpoint.restore_path(checkpoint) as path:
        return int((path / "state").read_text())


def train(context, info):
    rank = context.distributed.rank
    step = load(context, info.latest_checkpoint) if info.latest_checkpoint else 0
    if rank == 0:
        print(f"begins at step {step}")
    while step < STEPS:
        if step == SAVED_AT and rank == HANGING_RANK and os.environ["DET_TRIAL_RUN_ID"] == "0":
            wait_for_nothing()
        context.distributed.allgather(step)
        step += 1
        if rank == 0:
            context.train.report_training_metrics(steps_completed=step, metrics={"x": step})
            if step == SAVED_AT:
                save(context, step)


info = det.get_cluster_info()
local_size, nodes = len(info.slot_ids), len(info.container_addrs)
distributed = det.core.DistributedContext(
    rank=int(os.environ["RANK"]),
    size=nodes * local_size,
    local_rank=int(os.environ["LOCAL_RANK"]),
    local_size=local_size,
    cross_rank=info.container_rank,
    cross_size=nodes,
    chief_ip=info.container_addrs[0],
)
with det.core.init(distributed=distributed) as context:
    train(context, info)
