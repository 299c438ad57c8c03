# A training script that needs its peers: an allreduce of the rank numbers.
import socket

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.ones(1) * dist.get_rank()
dist.all_reduce(total)
print(f"I am {dist.get_rank()} on {socket.gethostname()}, all are {int(total.item())}", flush=True)
