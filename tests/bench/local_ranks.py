"""Starts ranks on this machine as torchrun does: they are the same program with RANK set."""

import os
import socket
import subprocess
import sys


def run_ranks(program, ranks, **variables):
    """Runs a program once per rank, with further variables of the environment. Returns the highest exit code."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    size = {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1"}
    fixed = {**os.environ, **variables, **size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    processes = [
        subprocess.Popen([sys.executable, program], env={**fixed, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(ranks)
    ]
    return max(process.wait() for process in processes)


def start_ranks(program, ranks):
    """Runs a program once per rank, and exits with the highest exit code."""
    sys.exit(run_ranks(program, ranks))
