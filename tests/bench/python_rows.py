# python_rows.py QUESTION DIRECTORY: the rows of the benchmarks of the Python package. `objects` is one of several ranks.
import json
import os
import statistics
import subprocess
import sys
import time

PAIRS = int(os.environ.get("DET_BENCH_PAIRS", "20"))
RANKS = 2


def print_row(name, pairs, unit):
    """Prints the row of pairs of (ours, peer)."""
    ours, peer = zip(*pairs)
    row = {
        "name": name,
        "ours": float(f"{statistics.median(ours):.4g}"),
        "peer": float(f"{statistics.median(peer):.4g}"),
        "ratio": float(f"{statistics.median(a / b for a, b in pairs):.4g}"),
        "unit": unit,
        "better": "lower",
    }
    print(json.dumps(row), flush=True)


def interleave(ours, peer, count=PAIRS):
    """Pairs of the results of two functions. The first pair is not counted, and each is first in every second pair."""
    pairs = []
    for number in range(count + 1):
        if number % 2 == 0:
            a, b = ours(), peer()
        else:
            b, a = peer(), ours()
        pairs.append((a, b))
    return pairs[1:]


def time_of(action, repetitions):
    """Seconds of one call of the action."""
    begun = time.perf_counter()
    for _ in range(repetitions):
        action()
    return (time.perf_counter() - begun) / repetitions


def objects():
    """Started by mpirun: the same processes are ranks of ours and of MPI."""
    import determined as det
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    ranks = det.core.DistributedContext(
        rank=rank, size=size, local_rank=rank, local_size=size, cross_rank=0, cross_size=1, pub_port=os.getppid()
    )
    value = {"bytes": bytes(1024)}
    for name, ours, peer in (
        ("objects-allgather", lambda: ranks.allgather(value), lambda: world.allgather(value)),
        ("objects-broadcast", lambda: ranks.broadcast(value), lambda: world.bcast(value)),
    ):

        def together(action):
            """The time of the slowest rank counts: the object has then reached all."""
            world.Barrier()
            ranks.allgather(None)
            return world.allreduce(time_of(action, 200), MPI.MAX)

        pairs = interleave(lambda: together(ours), lambda: together(peer))
        if rank == 0:
            print_row(name, pairs, "s")
    ranks.close()


def import_time():
    def run(program):
        def measure():
            begun = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True)
            return time.perf_counter() - begun

        return measure

    limit_s = 0.06
    pairs = interleave(run("import determined"), run(""))
    print_row("import", [(ours - bare, limit_s) for ours, bare in pairs], "s")


def join_run(distributed=None):
    import determined as det

    if distributed is None:
        distributed = det.core.DistributedContext(rank=0, size=1)
    return det.core.init(distributed=distributed)


def report():
    metrics = {f"metric_{number}": 0.1234567 * number for number in range(10)}
    repetitions = 2000
    with join_run() as context, open(f"{DIRECTORY}/peer", "ab", buffering=0) as file:
        train = context.train

        def ours():
            return time_of(lambda: train.report_training_metrics(100, metrics), repetitions)

        def peer():
            return time_of(lambda: file.write(json.dumps(metrics).encode()), repetitions)

        print_row("report-python", interleave(ours, peer), "s")


def should_preempt():
    import determined as det

    limit_s = 2e-6
    rank = int(os.environ["TEST_RANK"])
    ranks = det.core.DistributedContext(
        rank=rank, size=RANKS, local_rank=rank, local_size=RANKS, cross_rank=0, cross_size=1
    )
    with join_run(ranks) as context:
        pairs = [(time_of(context.preempt.should_preempt, 20000), limit_s) for _ in range(PAIRS + 1)]
    if rank == 0:
        print_row("should-preempt-python", pairs[1:], "s")


def start_ranks():
    """Starts the ranks of should_preempt() in a run."""
    command = [sys.executable, __file__, "should-preempt-rank", DIRECTORY]
    ranks = [subprocess.Popen(command, env={**os.environ, "TEST_RANK": str(rank)}) for rank in range(RANKS)]
    codes = [rank.wait() for rank in ranks]
    sys.exit(max(codes))


if __name__ == "__main__":
    QUESTION, DIRECTORY = sys.argv[1:]
    {
        "objects": objects,
        "import": import_time,
        "report-python": report,
        "should-preempt-python": start_ranks,
        "should-preempt-rank": should_preempt,
    }[QUESTION]()
