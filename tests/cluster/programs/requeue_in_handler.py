"""A training that saves and requeues its own job in a signal handler, as published training frameworks do.

usage: requeue_in_handler.py SIGNAL AFTERWARDS FILE; AFTERWARDS is `goes-on` (it trains until Slurm ends it) or `ends`
(it ends with 255, and ignores TERM). The first run trains until it is preempted, a resumed one for 20 steps more.
"""
import os
import signal
import subprocess
import sys
import time

name, afterwards, path = sys.argv[1:]
step = 0
if os.path.exists(path):
    with open(path) as file:
        step = int(file.read())
steps = step + 20 if step > 0 else 3000
print(f"begins at step {step}", flush=True)


def job_id():
    if "SLURM_ARRAY_JOB_ID" in os.environ:
        return os.environ["SLURM_ARRAY_JOB_ID"] + "_" + os.environ["SLURM_ARRAY_TASK_ID"]
    return os.environ["SLURM_JOB_ID"]


def save_and_requeue(number, frame):
    with open(path + ".new", "w") as file:
        file.write(str(step))
    os.replace(path + ".new", path)
    print(f"saved at step {step}", flush=True)
    code = subprocess.call(["scontrol", "requeue", job_id()])
    print(f"scontrol requeue {job_id()}: {code}", flush=True)
    if afterwards == "ends":
        sys.exit(-1)


signal.signal(getattr(signal, "SIG" + name), save_and_requeue)
if afterwards == "ends":
    signal.signal(signal.SIGTERM, lambda *_: print("TERM is ignored", flush=True))
while step < steps:
    time.sleep(0.1)
    step += 1
    if step % 5 == 0:
        print(f"step {step}", flush=True)
print(f"finished at step {step}", flush=True)
