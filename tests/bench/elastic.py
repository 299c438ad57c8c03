# elastic.py CLUSTER DIRECTORY: runs a stream of rigid jobs of the partition urgent on a loopback cluster of 16 nodes, beside a training
# that they preempt. The same stream, of the same seed, runs alone, beside an elastic training, and beside trainings of fixed sizes.
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time

BUILD = os.environ["DET_BUILD_DIR"]
CLUSTER, DIRECTORY = sys.argv[1:]
HOME = f"{DIRECTORY}/shared/home/researcher"
SEEDS = [int(seed) for seed in os.environ.get("DET_BENCH_SEEDS", "1 2 3").split()]
WINDOW_S = float(os.environ.get("DET_BENCH_WINDOW", "300"))
FIXED_SIZES = [int(size) for size in os.environ.get("DET_BENCH_SIZES", "4 8 16").split()]
NODES = 16
MEAN_LOAD = 0.7
JOB_SIZES = (1, 2, 4, 8)
MEAN_JOB_S = WINDOW_S / 6
WAIT_LIMIT_S = 120

# Only the first rank is a Python program, so that the begin of a run does not take most of a window on a machine with few cores. The
# other ranks are shells that wait for its end.
ENTRYPOINT = """
ended="$HOME/ended-$DET_ALLOCATION_ID"
if [ "$SLURM_PROCID" = 0 ]; then
  python3 training.py
  code=$?
  touch "$ended"
  exit $code
fi
until [ -e "$ended" ]; do sleep 1; done
"""
PROGRAM = """
import json, time
import determined as det
info = det.get_cluster_info()
with det.core.init(distributed=det.core.DummyDistributedContext()) as context:
    step = 0
    if info.latest_checkpoint:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            step = json.loads((path / "state").read_text())
    while True:
        time.sleep(0.2)
        step += 1
        context.train.report_training_metrics(step, {"nodes": len(info.container_addrs)})
        stops = context.preempt.should_preempt()
        if stops or step % 50 == 0:
            with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                (path / "state").write_text(json.dumps(step))
        if stops:
            break
"""
CONFIG = """
name: bench
entrypoint: bash training.sh
searcher: {{name: single, metric: loss}}
resources: {{slots_per_trial: {slots}}}
slurm: {{launch: rank, {more}}}
max_restarts: 0
"""


def shell(script):
    login = [f"{BUILD}/bin/det-loopback", "login", "--name", CLUSTER, "--", "bash", "-c", "cd && " + script]
    return subprocess.run(login, check=True, text=True, stdout=subprocess.PIPE, timeout=120).stdout


def wait_until(what, is_true):
    deadline = time.monotonic() + WAIT_LIMIT_S
    while not is_true():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited in vain until {what}")
        time.sleep(0.2)


def make_stream(seed):
    """(begin, nodes, seconds) of each job: random begins, sizes and durations with the mean load."""
    draw = random.Random(seed)
    jobs, asked = [], 0.0
    while asked < MEAN_LOAD * NODES * WINDOW_S:
        nodes, seconds = draw.choice(JOB_SIZES), min(draw.expovariate(1 / MEAN_JOB_S), WINDOW_S / 2)
        jobs.append((draw.uniform(0, WINDOW_S * 0.9), nodes, seconds))
        asked += nodes * seconds
    return sorted(jobs)


def submit(number, nodes, seconds):
    started = f"{HOME}/started-{number}"
    submitted = time.time()
    shell(f"sbatch --partition=urgent --exclusive --nodes={nodes} --output=/dev/null --wrap "
          f"'date +%s.%N >{started}; sleep {seconds:.2f}'")
    return submitted, started


def run_stream(stream):
    """Submits the jobs at their times. Returns the wait of each that has started in the window."""
    begun, threads, submissions = time.monotonic(), [], []
    for number, (at, nodes, seconds) in enumerate(stream):
        time.sleep(max(0.0, begun + at - time.monotonic()))
        thread = threading.Thread(target=lambda *job: submissions.append(submit(*job)), args=(number, nodes, seconds))
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()
    time.sleep(max(0.0, begun + WINDOW_S - time.monotonic()))
    waits = []
    for submitted, started in submissions:
        if os.path.exists(started):
            with open(started, encoding="utf-8") as file:
                waits.append(max(0.0, float(file.read()) - submitted))
            os.remove(started)
        else:
            waits.append(max(0.0, time.time() - submitted))  # at least as long as this
    return waits


def measure(stream, slots, more):
    """The waits of the other jobs, and what the report says about the training (None without one)."""
    experiment = None
    if slots is not None:
        with open(f"{HOME}/bench.yaml", "w", encoding="utf-8") as file:
            file.write(CONFIG.format(slots=slots, more=more))
        experiment = json.loads(shell("det-submit experiment create bench.yaml code --json"))["id"]
    waits = run_stream(stream)
    report = None
    if experiment is not None:
        shell(f"det-submit experiment kill {experiment}")
    shell("scancel --partition=urgent")
    wait_until("no job is left", lambda: not shell("squeue --noheader").strip())
    if experiment is not None:
        report = json.loads(shell(f"det-submit experiment report {experiment} --json"))
    return statistics.mean(waits), report


def free_of(stream):
    """Slot-seconds that the other jobs would leave if each began at once: no training can have more, but for their waits."""
    return NODES * WINDOW_S - sum(nodes * max(0.0, min(WINDOW_S - at, seconds)) for at, nodes, seconds in stream)


def lost_of(report):
    return sum(report["uses"][name] for name in ("redone", "lost_to_preemption", "lost_to_node"))


def print_row(name, ours, peer, unit, better):
    row = {"name": name, "ours": ours, "peer": peer, "ratio": ours / peer if peer else None, "unit": unit, "better": better}
    print(json.dumps(row), flush=True)


def main():
    os.makedirs(HOME, exist_ok=True)
    shell("mkdir -p code")
    with open(f"{HOME}/training.py", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    with open(f"{HOME}/training.sh", "w", encoding="utf-8") as file:
        file.write(ENTRYPOINT)
    shell("cp training.py training.sh code")
    for seed in SEEDS:
        stream = make_stream(seed)
        print(f"stream {seed}: " + " ".join(f"{at:.0f}s:{nodes}x{seconds:.0f}s" for at, nodes, seconds in stream),
              file=sys.stderr)
        print(f"stream {seed}: these jobs leave {free_of(stream):.0f} slot-seconds", file=sys.stderr)
        alone, _ = measure(stream, None, "")
        elastic_wait, elastic = measure(stream, "{min: 1, max: 16}", "grow: {after: 10s, every: 10s}")
        fixed = {}
        for size in FIXED_SIZES:
            _, report = measure(stream, size, "")
            fixed[size] = report["uses"]["training"]
            print(f"stream {seed}, {size} slots: {report['uses']}", file=sys.stderr)
        print(f"stream {seed}, elastic: {elastic['uses']}", file=sys.stderr)
        best = max(fixed, key=lambda size: fixed[size])
        print(f"stream {seed}: the best fixed size is {best}", file=sys.stderr)
        print_row(f"elastic-kept-{seed}", elastic["uses"]["training"], fixed[best], "slot_s", "higher")
        print_row(f"elastic-wait-{seed}", elastic_wait, alone, "s", "lower")
        print_row(f"elastic-lost-{seed}", lost_of(elastic), 0, "slot_s", "lower")


main()
