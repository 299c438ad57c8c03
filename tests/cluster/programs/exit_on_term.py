"""A training that handles TERM in its own way.

usage: exit_on_term.py EXIT_CODE|ignore FILE. The first run trains until it is preempted, a resumed one for 20 steps more.
"""
import os
import signal
import sys
import time

reaction, path = sys.argv[1:]
step = 0
if os.path.exists(path):
    with open(path) as file:
        step = int(file.read())
steps = step + 20 if step > 0 else 3000
print(f"begins at step {step}", flush=True)


def on_term(number, frame):
    print(f"TERM at step {step}", flush=True)
    if reaction != "ignore":
        sys.exit(int(reaction))


signal.signal(signal.SIGTERM, on_term)
while step < steps:
    time.sleep(0.1)
    step += 1
    with open(path + ".new", "w") as file:
        file.write(str(step))
    os.replace(path + ".new", path)
    if step % 5 == 0:
        print(f"step {step}", flush=True)
print(f"finished at step {step}", flush=True)
