# recover.py CLUSTER DIRECTORY ROUNDS KIND...: trainings on a loopback cluster with the state directory DIRECTORY, in which
# one node is lost again and again. A kind is the fault and the program, for example killed-cpp: see FAULTS and PROGRAMS.
import datetime
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time

BUILD = os.environ["DET_BUILD_DIR"]
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLUSTER, DIRECTORY, ROUNDS, KINDS = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
NODES = ("n1", "n2", "n3")  # those that may be lost: on n0 the supervisor runs
PAUSE_MS = 20
NODE_TIMEOUT_S = 4
EVERY = 10  # steps between two states in memory
STEPS_BETWEEN = 40  # at least, between two faults
LIMIT_S = 60
HOME = f"{DIRECTORY}/shared/home/researcher"

CONFIG = f"""
name: recover
searcher: {{name: single, metric: loss}}
resources: {{slots_per_trial: 6}}
max_restarts: 1000000
environment: {{environment_variables: [PAUSE_MS={PAUSE_MS}, STEPS=1000000000]}}
slurm:
  slots_per_node: 2
  spare_nodes: 1
  bad_node_memory: 0
  node_timeout: {NODE_TIMEOUT_S}
  memory_checkpoints: {{every: {EVERY}}}
  mpi: none
"""
PROGRAMS = {  # what is added to CONFIG
    "cpp": f"""  launch: rank
entrypoint: [{DIRECTORY}/software/tests/kept_in_memory, "1000000000"]
""",
    "ddp": """  warm_start: true
entrypoint: python3 -m determined.launch.torch_distributed python3 kept_in_memory.py
""",
}


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


def processes(node, variable=None):
    """The processes of jobs on the node, Slurm's own ones for their steps among them; of those only the ones that have the variable."""
    wanted = {f"SLURMD_NODENAME={node}".encode()} | ({variable.encode()} if variable else set())
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                variables = file.read()
        except OSError:
            continue
        if DIRECTORY.encode() in variables and wanted <= set(variables.split(b"\0")):
            found.append(int(name))
    return found


def run_variable(run):
    return f"DET_TRIAL_RUN_ID={run}"


def kill_processes(node):
    for pid in processes(node):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def set_network(node, state):
    subprocess.run([f"{BUILD}/bin/det-loopback", "node", state, node, "--name", CLUSTER], check=True, timeout=60,
                   stdout=subprocess.DEVNULL)


FAULTS = {"killed": kill_processes, "cut": lambda node: set_network(node, "cut")}
# With bad_node_memory: 0 a node whose processes were killed is used again in the same job; one whose network was cut is not.
FAULTS_PER_JOB = {"killed": ROUNDS, "cut": 1}
MARKS = {"killed": ((0.5, 2), (0.99, 5)), "cut": ((0.99, NODE_TIMEOUT_S + 5),)}


class Training:
    def __init__(self, program):
        with open(f"{HOME}/recover.yaml", "w", encoding="utf-8") as config:
            config.write(CONFIG + PROGRAMS[program])
        shell("mkdir -p code")
        shutil.copy(f"{SOURCE}/cluster/programs/kept_in_memory.py", f"{HOME}/code")
        created = shell("det-submit experiment create recover.yaml code --json")
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


class Recoveries:
    """What the faults of one kind have cost."""

    def __init__(self):
        self.durations, self.repeated = [], []
        self.not_from_memory = self.requeued = 0

    def add(self, training, run, lost_at):
        before, _ = training.reports(run)
        after, kept = training.reports(run + 1)
        mean_step = (before[-1][0] - before[0][0]) / max(1, len(before) - 1)
        self.durations.append(after[0][0] - lost_at - mean_step)
        self.repeated.append(before[-1][1] - after[0][1] + 1)
        self.not_from_memory += kept is None

    def end_job(self, training):
        report = json.loads(shell(f"det-submit experiment report {training.id} --json"))
        self.requeued += sum(not each["same_allocation"] for each in report["recoveries"])
        shell(f"det-submit experiment kill {training.id}")
        for node in NODES:
            set_network(node, "heal")
        wait_for("the end of the job", lambda: not shell("squeue --noheader").strip())


def measure(kind):
    fault, program = kind.split("-")
    recoveries = Recoveries()
    while len(recoveries.durations) < ROUNDS:
        training = Training(program)
        for run in range(FAULTS_PER_JOB[fault]):
            wait_for(f"reports of run {run}", lambda: training.size(run) > 0)
            wait_for(f"{STEPS_BETWEEN} steps of run {run}", lambda: len(training.reports(run)[0]) >= STEPS_BETWEEN)
            node = next(each for each in NODES if processes(each, run_variable(run)))
            lost_at = time.time()
            FAULTS[fault](node)
            wait_for(f"reports of run {run + 1}", lambda: training.reports(run + 1)[0])
            recoveries.add(training, run, lost_at)
            print(f"{kind}: {recoveries.durations[-1]:.2f} s, {recoveries.repeated[-1]} steps again", file=sys.stderr, flush=True)
        recoveries.end_job(training)
    for share, mark in MARKS[fault]:
        ours = percentile(recoveries.durations, share)
        print(json.dumps({"name": f"recover-{kind}-p{share * 100:.0f}", "ours": float(f"{ours:.4g}"), "peer": mark,
                          "ratio": float(f"{ours / mark:.4g}"), "unit": "s", "better": "lower"}), flush=True)
    print(f"{kind}: {ROUNDS} faults; at most {max(recoveries.repeated)} steps again, {recoveries.not_from_memory} times not from "
          f"memory, {recoveries.requeued} times requeued", file=sys.stderr)


if __name__ == "__main__":
    for each_kind in KINDS:
        measure(each_kind)
