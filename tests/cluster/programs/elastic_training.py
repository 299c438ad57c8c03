"""A training whose runs may have any number of ranks. Its state is sharded: each rank saves a part of a vector, and the
next run, with other ranks, loads other parts of it."""

import os
import time

import determined as det
import numpy as np
from determined import core

ELEMENTS = 120  # a multiple of 1, 2, 3 and 4

info = det.get_cluster_info()
distributed = core.DistributedContext.from_torch_distributed()
steps = info.trial.hparams["steps"]


def require_one_size(rank, size):
    """All sources of the number of ranks and nodes must agree."""
    nodes = len(info.container_addrs)
    assert size == nodes * len(info.slot_ids), (size, info.container_addrs, info.slot_ids)
    for name, value in {"WORLD_SIZE": size, "RANK": rank, "SLURM_NTASKS": size, "SLURM_STEP_NUM_NODES": nodes}.items():
        assert os.environ[name] == str(value), (name, os.environ[name], value)
    assert distributed.cross_size == nodes and distributed.size == size
    hosts = distributed.allgather(os.environ["SLURMD_NODENAME"])
    assert len(set(hosts)) == nodes, hosts


def slice_of(rank, size):
    return slice(rank * ELEMENTS // size, (rank + 1) * ELEMENTS // size)


with core.init(distributed=distributed) as context:
    rank, size = distributed.rank, distributed.size
    require_one_size(rank, size)
    values, step = np.zeros(ELEMENTS), 0
    if info.latest_checkpoint:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            parts = sorted(path.glob("part-*.npy"))
            values = np.concatenate([np.load(part) for part in parts])
            step = int((path / "steps").read_text())
            print(f"rank {rank} of {size} continues at step {step} from {len(parts)} parts", flush=True)
    while step < steps:
        own = slice_of(rank, size)
        values[own] += 1
        step += 1
        gathered = np.concatenate(distributed.allgather(values[own]))
        assert (gathered == step).all(), (step, gathered)
        values = gathered
        if rank == 0:
            context.train.report_training_metrics(step, {"size": size, "sum": float(values.sum())})
        time.sleep(0.1 if os.path.exists(os.path.expanduser("~/slow")) else 0.002)
        stops = context.preempt.should_preempt()
        if stops or step == steps or step % 50 == 0:
            with context.checkpoint.store_path({"steps_completed": step}, shard=True) as (path, _):
                np.save(path / f"part-{rank:03}.npy", values[own])
                if rank == 0:
                    (path / "steps").write_text(str(step))
        if stops:
            break
    if rank == 0 and step == steps:
        context.train.report_validation_metrics(step, {"loss": float(np.abs(values - steps).sum())})
