"""tensors.py DIRECTORY NODE...: the rows of tensors. A NODE is a network namespace with an address on eth0. The ranks are
this program with RANK set."""

import json
import os
import socket
import subprocess
import sys
import time

KIB, MIB = 1 << 10, 1 << 20
SIZES = [4, KIB, 64 * KIB, MIB, 25 * MIB]
NAMES = {4: "4B", KIB: "1KiB", 64 * KIB: "64KiB", MIB: "1MiB", 25 * MIB: "25MiB"}
CALL_LIMIT_S = 2e-6


def run_rank(kind):
    import determined as det
    import torch
    import torch.distributed as dist
    from python_rows import interleave, print_row, time_of

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    ranks = det.core.DistributedContext.from_torch_distributed()
    is_slow = kind == "internode"

    def measure(all_reduce, size_bytes):
        """Seconds of one call: the mean over the iterations, and the maximum over the ranks. Both sides use the same
        barrier, and write the input again before each call."""
        values = torch.empty(size_bytes // 4)
        iterations = 200 if size_bytes <= 64 * KIB else 20 if size_bytes <= MIB else 1 if is_slow else 4
        total = 0.0
        for number in range(iterations):
            values.fill_(ranks.rank + number)
            ranks.barrier()
            begun = time.perf_counter()
            all_reduce(values)
            total += time.perf_counter() - begun
            assert values.eq(ranks.size * (ranks.size - 1) / 2 + ranks.size * number).all(), "a wrong sum"
        return max(ranks.allgather(total / iterations))

    for size_bytes in SIZES:
        pairs = interleave(
            lambda: measure(ranks.all_reduce, size_bytes), lambda: measure(dist.all_reduce, size_bytes)
        )
        if ranks.rank == 0:
            print_row(f"tensors-{kind}-{NAMES[size_bytes]}", pairs, "s")
    ranks.close()
    if kind == "node" and ranks.rank == 0:
        # A single rank exchanges nothing: this is the time of the interpreter, of ctypes and of the checks.
        with det.core.DistributedContext() as alone:
            value = torch.ones(1)
            times = [time_of(lambda: alone.all_reduce(value), 20000) for _ in range(21)]
        print_row("tensors-call", [(each, CALL_LIMIT_S) for each in times[1:]], "s")


def address_of(node):
    shown = subprocess.check_output(["ip", "-n", node, "-j", "addr", "show", "eth0"])
    return next(entry["local"] for entry in json.loads(shown)[0]["addr_info"] if entry["family"] == "inet")


def start(kind, variables, commands):
    """Starts a rank for each command, which must end with 0."""
    size = str(len(commands))
    processes = []
    for rank, (command, own) in enumerate(commands):
        environment = {**os.environ, **variables, **own, "RANK": str(rank), "WORLD_SIZE": size}
        processes.append(subprocess.Popen([*command, sys.executable, __file__, kind], env=environment))
    codes = [process.wait() for process in processes]
    if any(codes):
        sys.exit(f"the ranks of '{kind}' ended with {codes}")


def main(directory, nodes):
    wanted = os.environ.get("DET_BENCH_ROWS", "node,internode").split(",")
    if "node" in wanted:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        common = {"LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1"}
        start(
            "node",
            {**common, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)},
            [([], {"LOCAL_RANK": str(rank)}) for rank in range(2)],
        )
    if "internode" in wanted:
        rendezvous = os.path.join(directory, "ranks")
        os.makedirs(rendezvous)
        common = {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "GROUP_WORLD_SIZE": str(len(nodes))}
        start(
            "internode",
            {
                **common,
                "MASTER_ADDR": address_of(nodes[0]),
                "MASTER_PORT": "29500",
                "GLOO_SOCKET_IFNAME": "eth0",
                "DET_RENDEZVOUS_DIR": rendezvous,
            },
            [(["ip", "netns", "exec", node], {"GROUP_RANK": str(rank)}) for rank, node in enumerate(nodes)],
        )


run_rank(sys.argv[1]) if "RANK" in os.environ else main(sys.argv[1], sys.argv[2:])
