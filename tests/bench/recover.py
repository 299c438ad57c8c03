# recover.py CLUSTER DIRECTORY ROUNDS: kills all processes of one node of a training on a loopback cluster with the state
# directory DIRECTORY, again and again, in one job.
import datetime
import json
import math
import os
import signal
import subprocess
import sys
import time

BUILD = os.environ["DET_BUILD_DIR"]
CLUSTER, DIRECTORY, ROUNDS = sys.argv[1], sys.argv[2], int(sys.argv[3])
NODE = "n1"  # not the first one, on which the supervisor runs
PAUSE_MS = 20
EVERY = 10  # steps between two states in memory
STEPS_BETWEEN = 40  # at least, between two faults
LIMIT_S = 60
HOME = f"{DIRECTORY}/shared/home/researcher"

CONFIG = f"""
name: recover
entrypoint: [{DIRECTORY}/software/tests/kept_in_memory, "1000000000"]
searcher: {{name: single, metric: loss}}
resources: {{slots_per_trial: 6}}
max_restarts: 1000000
environment: {{environment_variables: [PAUSE_MS={PAUSE_MS}]}}
slurm: {{launch: rank, mpi: none, slots_per_node: 2, spare_nodes: 1, bad_node_memory: 0, memory_checkpoints: {{every: {EVERY}}}}}
"""


def shell(script):
    login = [f"{BUILD}/bin/det-loopback", "login", "--name", CLUSTER, "--", "bash", "-c", "cd && " + script]
    return subprocess.run(login, check=True, text=True, stdout=subprocess.PIPE, timeout=120).stdout


def wait_for(what, look):
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.005)
    print(shell("det-submit experiment list; tail -n 20 $DET_ROOT/experiments/1/slurm-*.out"), file=sys.stderr)
    raise RuntimeError(f"waited in vain for {what}")


def processes():
    """The processes of jobs on the node, Slurm's own ones for their steps among them."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                variables = file.read()
        except OSError:
            continue
        if DIRECTORY.encode() in variables and f"SLURMD_NODENAME={NODE}".encode() in variables.split(b"\0"):
            found.append(int(name))
    return found


class Training:
    def __init__(self):
        with open(f"{HOME}/recover.yaml", "w", encoding="utf-8") as config:
            config.write(CONFIG)
        created = shell("mkdir -p code && echo nothing >code/README && det-submit experiment create recover.yaml code --json")
        self.id = json.loads(created)["id"]
        self.runs = f"{DIRECTORY}/shared/det/experiments/{self.id}/trials/0/runs"

    def size(self, run):
        """Of the journal, which grows with each report."""
        try:
            return os.stat(f"{self.runs}/{run}/journal").st_size
        except OSError:
            return 0

    def reports(self, run):
        """The times and steps of what the run has reported, and the step from which it went on in memory."""
        dump = subprocess.run([f"{BUILD}/bin/det-submit", "dump", f"{self.runs}/{run}/journal"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                              timeout=30).stdout if self.size(run) > 0 else ""
        records = [json.loads(line) for line in dump.splitlines()]
        steps = [(seconds_of(each["time"]), each["steps_completed"]) for each in records if each["record"] == "metrics"]
        kept = [each["steps_completed"] for each in records if each["record"] == "continued-from-memory"]
        return steps, kept[-1] if kept else None


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def percentile(values, share):
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def main():
    training = Training()
    durations, repeated, not_from_memory = [], [], 0
    for run in range(ROUNDS):
        wait_for(f"reports of run {run}", lambda: training.size(run) > 0)
        wait_for(f"{STEPS_BETWEEN} steps of run {run}", lambda: len(training.reports(run)[0]) >= STEPS_BETWEEN)
        killed_at = time.time()
        for pid in processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        wait_for(f"reports of run {run + 1}", lambda: training.reports(run + 1)[0])
        before, _ = training.reports(run)
        after, kept = training.reports(run + 1)
        mean_step = (before[-1][0] - before[0][0]) / max(1, len(before) - 1)
        durations.append(after[0][0] - killed_at - mean_step)
        repeated.append(before[-1][1] - after[0][1] + 1)
        not_from_memory += kept is None
        print(f"round {run}: {durations[-1]:.2f} s, {repeated[-1]} steps again", file=sys.stderr, flush=True)
    report = json.loads(shell(f"det-submit experiment report {training.id} --json"))
    requeued = sum(not each["same_allocation"] for each in report["recoveries"])
    shell(f"det-submit experiment kill {training.id}")
    for name, share, mark in (("recover-p50", 0.5, 2), ("recover-p99", 0.99, 5)):
        ours = percentile(durations, share)
        print(json.dumps({"name": name, "ours": float(f"{ours:.4g}"), "peer": mark, "ratio": float(f"{ours / mark:.4g}"),
                          "unit": "s", "better": "lower"}), flush=True)
    print(f"{len(durations)} rounds; at most {max(repeated)} steps again, {not_from_memory} times not from memory, "
          f"{requeued} times requeued", file=sys.stderr)


if __name__ == "__main__":
    main()
