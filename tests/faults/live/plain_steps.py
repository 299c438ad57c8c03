"""plain_steps.py STEPS TRACE: a program of a batch script that knows nothing of det-submit.

Saves its step in the file `step` every 5 steps, and appends what it does to the file TRACE, where the campaign reads it.
"""

import os
import sys
import time


def read_step():
    try:
        with open("step") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


def save_step(step):
    with open("step.new", "w") as file:
        file.write(str(step))
        file.flush()
        os.fsync(file.fileno())
    os.replace("step.new", "step")


def main(steps, trace_path):
    step = read_step()
    if os.environ["SLURM_PROCID"] != "0":
        while step < steps:
            time.sleep(0.1)
            step = read_step()
        return
    run = os.environ.get("DET_TRIAL_RUN_ID", "0")
    with open(trace_path, "a", buffering=1) as trace:
        trace.write(f"{run} resumed {step}\n")
        while step < steps:
            time.sleep(0.04)
            step += 1
            trace.write(f"{run} step {step}\n")
            if step % 5 == 0 or step == steps:
                save_step(step)
                trace.write(f"{run} saved {step}\n")


main(int(sys.argv[1]), sys.argv[2])
