"""A training that handles TERM in its own way: exit_on_term.py EXIT_CODE|ignore FILE STEPS"""
import os
import signal
import sys
import time

reaction, path, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
step = 0
if os.path.exists(path):
    with open(path) as file:
        step = int(file.read())
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
