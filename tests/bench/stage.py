# stage.py BUILD: the rows of the benchmark `stage`, in a job of 16 nodes.
import json
import os
import re
import statistics
import subprocess
import sys
import time

BUILD = sys.argv[1]
PAIRS = int(os.environ.get("DET_BENCH_PAIRS", "20"))
NODES = 16
EXPERIMENT = f"{os.environ['DET_ROOT']}/experiments/1"
IMAGE = os.path.expanduser("~/image")
STEP = ["srun", f"--nodes={NODES}", f"--ntasks={NODES}", "--overlap", "--mpi=none"]
number = 0


def shell(command):
    """Runs a shell command on each node. Returns the seconds and the output of all nodes."""
    begin = time.monotonic()
    out = subprocess.check_output([*STEP, "sh", "-c", command], text=True)
    return time.monotonic() - begin, out


def forget():
    shell("rm -rf /tmp/det-$(id -u)/stage /tmp/by-sbcast")


def stage(hosts):
    """Brings the file to the nodes. The counter of a shell has what its ended children have read by read(2) and the like: files,
    but not sockets. Returns the seconds and the bytes of all nodes."""
    global number
    number += 1
    directory = os.path.expanduser(f"~/step-{number}")
    os.mkdir(directory)
    subprocess.check_call([f"{BUILD}/tests/bench-internode-rank", f"{directory}/rendezvous"])
    seconds, out = shell(f"DET_EXPERIMENT_PATH={EXPERIMENT} DET_STAGE=$SLURM_JOB_ID "
                         f"{BUILD}/bin/det-launch stage-node --directory {directory} --hosts {hosts} --code-bytes 0 --wait-s 600 && "
                         "grep rchar /proc/$$/io")
    counts = [int(count) for count in re.findall(r"rchar: (\d+)", out)]
    if len(counts) != NODES:
        raise RuntimeError(f"{len(counts)} nodes have the file")
    return seconds, sum(counts)


def together():
    forget()
    return stage(os.environ["SLURM_JOB_NODELIST"])


def alone():
    forget()
    return stage("$SLURMD_NODENAME")


def by_sbcast():
    forget()
    begin = time.monotonic()
    subprocess.check_call(["sbcast", "--force", IMAGE, "/tmp/by-sbcast"])
    return time.monotonic() - begin, 0


def again():
    return stage(os.environ["SLURM_JOB_NODELIST"])


def nothing():
    return shell("true")[0], 0


def pairs_of(ours, peer):
    """Pairs of results, each side first in every second pair. The first pair is not counted."""
    pairs = []
    for i in range(PAIRS + 1):
        if i % 2 == 0:
            first = ours()
            pairs.append((first, peer()))
        else:
            second = peer()
            pairs.append((ours(), second))
    return pairs[1:]


def print_row(name, pairs, unit):
    print(json.dumps({
        "name": name,
        "ours": float(f"{statistics.median(a for a, _ in pairs):.4g}"),
        "peer": float(f"{statistics.median(b for _, b in pairs):.4g}"),
        "ratio": float(f"{statistics.median(a / b for a, b in pairs):.4g}"),
        "unit": unit,
        "better": "lower",
    }), flush=True)


measured = pairs_of(together, alone)
print_row("stage-bytes", [(a[1], b[1]) for a, b in measured], "bytes")
print_row("stage-time", [(a[0], b[0]) for a, b in measured], "s")
print_row("stage-sbcast", [(a[0], b[0]) for a, b in pairs_of(together, by_sbcast)], "s")
print_row("stage-again", [(a[0], b[0]) for a, b in pairs_of(again, nothing)], "s")
