# preempt.py CLUSTER DIRECTORY: preempts experiments on a loopback cluster with the state directory DIRECTORY. Both numbers of
# a pair come from one experiment: the peer is its own earlier checkpoints, or its own first start.
import datetime
import json
import os
import re
import select
import statistics
import subprocess
import sys
import time

BUILD = os.environ["DET_BUILD_DIR"]
CLUSTER, DIRECTORY = sys.argv[1:]
PAIRS = int(os.environ.get("DET_BENCH_PAIRS", "20"))
STATE_MIB = 64
SAVES_BEFORE = 5
FREE_NODES_LIMIT_S = 10
WAIT_LIMIT_S = 60
IDLE_S = 6  # the host of a virtual machine reclaims free memory; this gives both starts the same idle time before

CONFIG = """
name: bench
entrypoint: [{programs}/bench-preempt-rank, {trace}, "{mib}"]
searcher: {{name: single, metric: loss}}
resources: {{slots_per_trial: 4}}
slurm: {{launch: rank, slots_per_node: 2}}
"""


def shell(script):
    login = [f"{BUILD}/bin/det-loopback", "login", "--name", CLUSTER, "--", "bash", "-c", "cd && " + script]
    return subprocess.run(login, check=True, text=True, stdout=subprocess.PIPE, timeout=120).stdout


def seconds_of(text):
    """Converts a UTC time of a journal to seconds."""
    parsed = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return parsed.timestamp()


def wait_for(what, look):
    deadline = time.monotonic() + WAIT_LIMIT_S
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.01)
    raise RuntimeError(f"waited in vain for {what}")


class Experiment:
    def __init__(self, number):
        self.home = f"{DIRECTORY}/shared/home/researcher"
        self.trace = f"{self.home}/trace-{number}"
        with open(f"{self.home}/bench.yaml", "w", encoding="utf-8") as config:
            config.write(CONFIG.format(programs=f"{DIRECTORY}/software/tests", trace=self.trace, mib=STATE_MIB))
        created = shell("mkdir -p code && echo nothing >code/README && "
                        "det-submit experiment create bench.yaml code --json")
        self.id = json.loads(created)["id"]

    def records(self, run, journal):
        path = f"{DIRECTORY}/shared/det/experiments/{self.id}/trials/0/runs/{run}/{journal}"
        if not os.path.exists(path):
            return {}
        dump = subprocess.run([f"{BUILD}/bin/det-submit", "dump", path], text=True, stdout=subprocess.PIPE,
                              check=False, timeout=30).stdout
        return {record["record"]: record for record in map(json.loads, dump.splitlines())}

    def time_of(self, run, journal, record):
        return seconds_of(wait_for(f"{record} of run {run}", lambda: self.records(run, journal).get(record))["time"])

    def traced(self, run, word):
        if not os.path.exists(self.trace):
            return []
        with open(self.trace, encoding="utf-8") as trace:
            lines = [line.split() for line in trace]
        return [float(line[2]) for line in lines if line[:2] == [str(run), word]]

    def job_starts(self):
        """The start times of its job from slurmctld's log."""
        job = self.records(0, "life")["run-started"]["job"]
        pattern = re.compile(r"\[([^]]+)\] .*(?:Allocate|Started) JobId=" + re.escape(job) + r"\b")
        with open(f"{DIRECTORY}/log/slurmctld.log", encoding="utf-8") as log:
            found = [pattern.match(line) for line in log]
        return [datetime.datetime.fromisoformat(match[1]).timestamp() for match in found if match]

    def ranks(self):
        pids = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", encoding="utf-8") as line:
                    argv = line.read().split("\0")
            except OSError:
                continue
            if argv[0].endswith("/bench-preempt-rank") and self.trace in argv:
                pids.append(int(name))
        return pids


def preempt(experiment):
    """The time at which its last rank had exited."""
    files = [os.pidfd_open(pid) for pid in experiment.ranks()]
    if len(files) != 4:
        raise RuntimeError(f"{len(files)} ranks run, not 4")
    left = set(files)
    urgent = subprocess.Popen([f"{BUILD}/bin/det-loopback", "login", "--name", CLUSTER, "--", "srun",
                               "--partition=urgent", "--nodes=2", "true"])
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    deadline = time.monotonic() + WAIT_LIMIT_S
    while left and time.monotonic() < deadline:
        for file, _ in poll.poll(1000):
            left.discard(file)
            poll.unregister(file)
            gone_at = time.time()
    for file in files:
        os.close(file)
    if left or urgent.wait(WAIT_LIMIT_S) != 0:
        raise RuntimeError("it was not preempted")
    return gone_at


def measure(number):
    time.sleep(IDLE_S)
    experiment = Experiment(number)
    wait_for("checkpoints", lambda: len(experiment.traced(0, "saved")) >= SAVES_BEFORE)
    gone_at = preempt(experiment)
    acknowledgement = experiment.records(0, "journal")["acknowledgement"]
    noticed_at, acknowledged_at = seconds_of(acknowledgement["noticed"]), seconds_of(acknowledgement["time"])
    # Polls only this file: a program that reads journals would use the cores that the start needs.
    wait_for("a checkpoint of the second start", lambda: experiment.traced(1, "saved"))
    first, again = (experiment.time_of(run, "journal", "first-step") for run in (0, 1))
    shell(f"det-submit experiment kill {experiment.id}")
    starts = experiment.job_starts()
    checkpoint = statistics.median(experiment.traced(0, "saved"))
    wait_for("free nodes", lambda: not shell("squeue --noheader").strip())
    return {
        "preempt-exit": (gone_at - noticed_at - experiment.traced(0, "left")[0], checkpoint),
        "preempt-requeue": (again - starts[1], first - starts[0]),
        "preempt-queue": (starts[1] - acknowledged_at, FREE_NODES_LIMIT_S),
    }


def main():
    measure(0)
    pairs = [measure(number) for number in range(1, PAIRS + 1)]
    for name in pairs[0]:
        ours, peer = zip(*(pair[name] for pair in pairs))
        ratio = statistics.median(a / b for a, b in zip(ours, peer))
        print(json.dumps({
            "name": name,
            "ours": float(f"{statistics.median(ours):.4g}"),
            "peer": float(f"{statistics.median(peer):.4g}"),
            "ratio": float(f"{ratio:.4g}"),
            "unit": "s",
            "better": "lower",
        }))


main()
