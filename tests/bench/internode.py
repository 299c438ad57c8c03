# internode.py NODE...: compares our allreduce between nodes with gloo, Open MPI and the rate of the links. A NODE is a network
# namespace with an address on eth0. All contestants keep running; those that are not measured are stopped with SIGSTOP.
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.environ["DET_BUILD_DIR"]
HERE = os.path.dirname(os.path.abspath(__file__))
WIRE_BYTES_PER_S = 1e9 / 8
MIB = 1 << 20
PAIRS = int(os.environ.get("DET_BENCH_PAIRS", "20"))
ANSWER_TIMEOUT_S = 120
KILLS = 100
FAILURE_LIMIT_S = 3


def address_of(node):
    shown = subprocess.check_output(["ip", "-n", node, "-j", "addr", "show", "eth0"])
    return next(entry["local"] for entry in json.loads(shown)[0]["addr_info"] if entry["family"] == "inet")


class Contestant:
    """The processes of one implementation. The first one reads commands and writes answers."""

    def __init__(self, commands, all_answer=False):
        pipe = subprocess.PIPE
        self.processes = [
            subprocess.Popen(command, stdin=pipe if i == 0 else subprocess.DEVNULL,
                             stdout=pipe if i == 0 or all_answer else None, text=True, start_new_session=True)
            for i, command in enumerate(commands)
        ]
        self.ask(8, 1)  # waits until all ranks run
        self.signal(signal.SIGSTOP)

    def ask(self, size_bytes, iterations):
        chief = self.processes[0]
        print(size_bytes, iterations, file=chief.stdin, flush=True)
        signal.alarm(ANSWER_TIMEOUT_S)
        answer = chief.stdout.readline()
        signal.alarm(0)
        if not answer:
            raise RuntimeError(f"{chief.args} has ended")
        return float(answer)

    def measure(self, size_bytes, iterations):
        self.signal(signal.SIGCONT)
        self.ask(8, 1)  # wakes all ranks
        seconds = self.ask(size_bytes, iterations)
        self.signal(signal.SIGSTOP)
        return seconds

    def signal(self, number):
        for process in self.processes:
            os.killpg(process.pid, number)

    def end(self):
        for process in self.processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def ours(nodes, directory):
    rendezvous = os.path.join(directory, "rendezvous")
    program = f"{BUILD}/tests/bench-internode-rank"
    subprocess.check_call([program, rendezvous])
    chief = address_of(nodes[0])
    return [["ip", "netns", "exec", node, program, str(rank), str(len(nodes)), rendezvous, chief, address_of(node)]
            for rank, node in enumerate(nodes)]


def gloo(nodes, _):
    chief = address_of(nodes[0])
    return [["ip", "netns", "exec", node, "env", "GLOO_SOCKET_IFNAME=eth0", "/usr/bin/python3", f"{HERE}/gloo_rank.py", str(rank),
             str(len(nodes)), chief, "29500"] for rank, node in enumerate(nodes)]


def time_to_errors(commands, number):
    """Seconds from kill -9 of a rank until the last of the other ranks has the error."""
    ranks = Contestant(commands, all_answer=True)
    try:
        victim, *others = ranks.processes[2], *ranks.processes[:2], *ranks.processes[3:]
        ranks.signal(signal.SIGCONT)
        print(40_000, 0, file=ranks.processes[0].stdin, flush=True)
        time.sleep(0.02 + number % 20 * 0.0037)  # the kill hits different phases of an operation
        killed_at = time.monotonic()
        os.killpg(victim.pid, signal.SIGKILL)
        signal.alarm(ANSWER_TIMEOUT_S)
        times = [float(rank.stdout.readline()) - killed_at for rank in others]
        signal.alarm(0)
        if min(times) < 0:
            raise RuntimeError("a rank had an error before the kill")
        return max(times)
    finally:
        ranks.end()


def failure_row(nodes):
    times = []
    for number in range(KILLS):
        with tempfile.TemporaryDirectory() as directory:
            times.append(time_to_errors(ours(nodes, directory), number))
    slowest = sorted(times)[KILLS * 99 // 100 - 1]
    return row("failure-internode", [(slowest, FAILURE_LIMIT_S)], "s", "lower")


def open_mpi(nodes, directory):
    # mpirun starts a daemon in each namespace with this replacement for ssh. Each daemon needs a different host name.
    agent = os.path.join(directory, "agent")
    names = dict(zip((address_of(node) for node in nodes), nodes))
    cases = "\n".join(f"  {address}) node={node} ;;" for address, node in names.items())
    with open(agent, "w") as file:
        file.write(f'#!/bin/sh\ncase $1 in\n{cases}\nesac\nshift\n'
                   'exec ip netns exec $node unshare --uts sh -c "hostname $node; $*"\n')
    os.chmod(agent, 0o755)
    hosts = ",".join(f"{address}:1" for address in names)
    return [["ip", "netns", "exec", nodes[0], "mpirun", "--allow-run-as-root", "-n", str(len(nodes)), "--host", hosts,
             "--mca", "plm_rsh_agent", agent, "--mca", "pml", "ob1", "--mca", "btl", "self,tcp",
             "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0", "--mca", "mpi_yield_when_idle", "1",
             f"{BUILD}/tests/bench-internode-mpi"]]


def row(name, pairs, unit, better):
    return json.dumps({
        "name": name,
        "ours": float(f"{statistics.median(a for a, _ in pairs):.4g}"),
        "peer": float(f"{statistics.median(b for _, b in pairs):.4g}"),
        "ratio": float(f"{statistics.median(a / b for a, b in pairs):.4g}"),
        "unit": unit,
        "better": better,
    })


def contest(a, b, size_bytes, iterations, pairs=PAIRS):
    results = []
    for i in range(pairs):
        if i % 2 == 0:
            first = a.measure(size_bytes, iterations)
            results.append((first, b.measure(size_bytes, iterations)))
        else:
            second = b.measure(size_bytes, iterations)
            results.append((a.measure(size_bytes, iterations), second))
    return results


def size_name(size_bytes):
    for unit, name in ((MIB, "MiB"), (1024, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes // unit}{name}"
    return f"{size_bytes}B"


def iterations_of(size_bytes):
    return 100 if size_bytes <= 65536 else 10 if size_bytes <= MIB else 1


def wire_seconds(size_bytes, ranks):
    return 2 * size_bytes * (ranks - 1) / ranks / WIRE_BYTES_PER_S


def main(nodes):
    wanted = os.environ.get("DET_BENCH_ROWS", "failure,mpi,gloo,wire").split(",")
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("no answer")))
    if "failure" in wanted:
        print(failure_row(nodes), flush=True)
    contestants = []
    with tempfile.TemporaryDirectory() as directory:
        try:
            def join(make):
                contestants.append(Contestant(make(nodes, directory)))
                return contestants[-1]

            us = join(ours)
            if "mpi" in wanted:
                print(row("internode-8B", contest(us, join(open_mpi), 8, 100), "s", "lower"), flush=True)
            if "gloo" in wanted:
                peer = join(gloo)
                for size in (8, 1024, 65536, MIB, 8 * MIB, 64 * MIB):
                    pairs = PAIRS
                    print(row(f"internode-gloo-{size_name(size)}", contest(us, peer, size, iterations_of(size), pairs), "s",
                              "lower"), flush=True)
            if "wire" in wanted:
                for size in (8 * MIB, 16 * MIB, 32 * MIB, 64 * MIB):
                    wire = wire_seconds(size, len(nodes))
                    # Share of the rate of the links.
                    pairs = [(wire / us.measure(size, max(2, 40 * MIB // size)), 1.0) for _ in range(PAIRS)]
                    print(row(f"internode-wire-{size_name(size)}", pairs, "of the wire", "higher"), flush=True)
        finally:
            for contestant in contestants:
                contestant.end()


main(sys.argv[1:])
