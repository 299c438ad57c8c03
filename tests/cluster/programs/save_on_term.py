"""A training with torch.distributed that saves and ends when it gets TERM. It does not use det-submit.

usage: save_on_term.py FILE. The first run trains until it is preempted, a resumed one for 20 steps more.
"""
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

path = sys.argv[1]
stop = torch.zeros(1)
signal.signal(signal.SIGTERM, lambda *_: stop.fill_(1))

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
if os.path.exists(path):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    step = state["step"]
steps = step + 20 if step > 0 else 3000
print(f"begins at step {step}", flush=True)


def save():
    if rank == 0:
        torch.save({"model": model.state_dict(), "step": step}, path + ".new")
        os.replace(path + ".new", path)
    dist.barrier()


while step < steps:
    shall_stop = stop.clone()
    dist.all_reduce(shall_stop, op=dist.ReduceOp.MAX)
    if shall_stop.item():
        save()
        print(f"saved at step {step}", flush=True)
        sys.exit(0)
    optimizer.zero_grad()
    loss = model(torch.full((2, 4), step / steps + rank)).square().mean()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    time.sleep(0.1)
    step += 1
    if rank == 0 and step % 5 == 0:
        print(f"step {step}", flush=True)
save()
print(f"finished with {model.weight.sum().item():.6f}", flush=True)
