"""A small training whose result is right only if each step was done once, in order, with all ranks.

usage: train.py [--launcher none|pytorch|slurm|mpi] [--steps N] [--stop-after N] [--name NAME] [--seed N]

It writes NAME.ckpt after every fifth step, continues from it, and writes NAME.result at its end. --stop-after: the
number of steps after which this process ends, as if its time were up. Each rank prints `rank R of W`, the first one
`step N`.
"""
import argparse
import os
import time

LARGEST = 2147483647  # a prime number
RANKS = {  # launcher: the variables of rank and number of ranks
    "none": (None, None),
    "pytorch": ("RANK", "WORLD_SIZE"),
    "slurm": ("SLURM_PROCID", "SLURM_NTASKS"),
    "mpi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
}


def say(line):
    """One write, so that lines of ranks do not mix."""
    os.write(1, (line + "\n").encode())


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launcher", choices=RANKS, default="none")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--stop-after", type=int, default=None)
    parser.add_argument("--name", default="model")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def sum_of_ranks(value, world_size):
    if world_size == 1:
        return value
    tensor = torch.tensor([value], dtype=torch.int64)
    torch.distributed.all_reduce(tensor)
    return tensor.item()


arguments = parse_arguments()
rank_variable, size_variable = RANKS[arguments.launcher]
rank = int(os.environ[rank_variable]) if rank_variable else 0
world_size = int(os.environ[size_variable]) if size_variable else 1
if world_size > 1:
    import torch
    import torch.distributed

    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world_size))
    torch.distributed.init_process_group("gloo")
say(f"rank {rank} of {world_size}")

checkpoint = arguments.name + ".ckpt"
step, weight = 0, arguments.seed
if os.path.exists(checkpoint):
    with open(checkpoint) as file:
        step, weight = map(int, file.read().split())
    if rank == 0:
        say(f"continues at step {step}")
last = arguments.steps if arguments.stop_after is None else min(arguments.steps, step + arguments.stop_after)
while step < last:
    time.sleep(0.1)
    gradient = sum_of_ranks((weight * (rank + 2) + step) % LARGEST, world_size)
    weight = (3 * weight + gradient) % LARGEST
    step += 1
    if rank != 0:
        continue
    say(f"step {step}")
    if step % 5 == 0:
        with open(checkpoint + ".new", "w") as file:
            file.write(f"{step} {weight}")
        os.replace(checkpoint + ".new", checkpoint)
if rank == 0 and step == arguments.steps:
    with open(arguments.name + ".result", "w") as file:
        file.write(f"{world_size} ranks, {step} steps, weight {weight}\n")
if world_size > 1:
    torch.distributed.barrier()
    os._exit(0)  # torch 1.13 aborts now and then while its threads end with the interpreter
