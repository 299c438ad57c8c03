"""A Core API trial as in Determined's tutorial, whose workers add numbers together. With the argument
`launcher` it starts the workers of a node; with `launched` it is a worker that det-launch has started."""

import logging
import os
import pathlib
import subprocess
import sys
import time

import determined as det


def launcher_main(slots_per_node, cross_rank):
    procs = []
    for local_rank in range(slots_per_node):
        rank = cross_rank * slots_per_node + local_rank
        labelled = ["python3", "-m", "determined.launch.wrap_rank", str(rank), "--"]
        procs.append(subprocess.Popen([*labelled, "python3", __file__, "worker", str(rank), str(local_rank)]))
    codes = [proc.wait() for proc in procs]
    return next((code for code in codes if code != 0), 0)


def load_state(context, storage_id, trial_id):
    with context.checkpoint.restore_path(storage_id) as path:
        x, steps_completed, saved_by = map(int, (path / "state").read_text().split(","))
    return (x, steps_completed) if saved_by == trial_id else (x, 0)


def save_state(context, x, steps_completed, trial_id):
    with context.checkpoint.store_path({"steps_completed": steps_completed}) as (path, _):
        pathlib.Path(path / "state").write_text(f"{x},{steps_completed},{trial_id}")


def train(context, info, increment_by, max_length):
    is_chief = context.distributed.rank == 0
    x, steps_completed = 0, 0
    if info.latest_checkpoint is not None:
        x, steps_completed = load_state(context, info.latest_checkpoint, info.trial.trial_id)
        logging.info("continuing at step %d with x=%d", steps_completed, x)
    while steps_completed < max_length:
        x += sum(context.distributed.allgather(increment_by))
        steps_completed += 1
        time.sleep(0.1)
        if is_chief:
            context.train.report_training_metrics(steps_completed=steps_completed, metrics={"x": x})
            context.train.report_progress(steps_completed / max_length)
        if context.preempt.should_preempt():
            if is_chief:
                save_state(context, x, steps_completed, info.trial.trial_id)
            return
    if is_chief:
        context.train.report_validation_metrics(steps_completed=steps_completed, metrics={"x": x})
        save_state(context, x, steps_completed, info.trial.trial_id)


def main():
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    slots_per_node = len(info.slot_ids)
    num_nodes = len(info.container_addrs)
    if sys.argv[1] == "launcher":
        return launcher_main(slots_per_node, info.container_rank)
    if sys.argv[1] == "launched":
        rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    else:
        rank, local_rank = int(sys.argv[2]), int(sys.argv[3])
    distributed = det.core.DistributedContext(
        rank=rank,
        size=num_nodes * slots_per_node,
        local_rank=local_rank,
        local_size=slots_per_node,
        cross_rank=info.container_rank,
        cross_size=num_nodes,
        chief_ip=info.container_addrs[0],
    )
    with det.core.init(distributed=distributed) as context:
        if info.trial.hparams["fails_on_rank"] == rank:
            raise ValueError("the hyperparameters say so")
        train(context, info, info.trial.hparams["increment_by"], info.trial._config["searcher"]["max_length"])
    return 0


sys.exit(main())
