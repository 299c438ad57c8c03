"""Trains until it is killed. In each step rank 3 computes for 50 ms, and the other ranks wait for it."""
import os
import time

import determined as det

LATE_RANK = 3

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
    while True:
        if context.distributed.rank == LATE_RANK:
            time.sleep(0.05)
        context.distributed.allgather(None)
