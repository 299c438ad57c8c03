"""Base classes of the tests. They start ranks as processes, and make a run of an experiment here."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

BUILD = os.environ["DET_BUILD_DIR"]
TIME_LIMIT_S = 60

# Ranks do not inherit these variables: they may be those of a run in which the tests themselves are started.
FOREIGN = ("DET_RUN_DIR", "DET_RUN_PATH", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT",
           "DET_RENDEZVOUS_DIR")

HEADER = """
import logging, os, sys
import determined as det
rank, size = int(os.environ["TEST_RANK"]), int(os.environ["TEST_SIZE"])
def connect(**more):
    return det.core.DistributedContext(rank=rank, size=size, local_rank=rank, local_size=size, cross_rank=0,
                                       cross_size=1, **more)
"""


def environment_of(rank=0, size=1, **more):
    environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    environment.update(TEST_RANK=str(rank), TEST_SIZE=str(size), PYTHONDONTWRITEBYTECODE="1", **more)
    return environment


def start_ranks(script, size, **more):
    """Starts `size` processes that run HEADER and then the script. more: environment variables."""
    program = HEADER + textwrap.dedent(script)
    return [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env=environment_of(rank, size, **more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]


def finish(processes, limit_s=TIME_LIMIT_S):
    """Waits for processes. Returns (exit code, stdout, stderr) of each. If one does not end, kills all of them and raises
    an error with what they have printed."""
    results = []
    try:
        for process in processes:
            out, err = process.communicate(timeout=limit_s)
            results.append((process.returncode, out, err))
    except subprocess.TimeoutExpired:
        for process in processes:
            process.kill()
        printed = [str(result) for result in results]
        for process in processes[len(results) :]:
            out, err = process.communicate()
            printed.append(f"{out}{err}")
        ranks = "\n".join(f"rank {rank}: {text}" for rank, text in enumerate(printed))
        raise AssertionError(f"rank {len(results)} has not ended after {limit_s} s\n{ranks}") from None
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return results


class Case(unittest.TestCase):
    """A test with a temporary directory, which is HOME and TMPDIR of its ranks."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="det-python-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.variables = {"HOME": self.directory, "XDG_DATA_HOME": "", "TMPDIR": self.directory}

    def run_ranks(self, script, size=1, **more):
        """Runs ranks, which must exit with 0. Returns the standard output of each."""
        results = finish(start_ranks(script, size, **{**self.variables, **more}))
        for rank, (code, _, err) in enumerate(results):
            self.assertEqual(code, 0, f"rank {rank} of {size}:\n{err}")
        return [out for _, out, _ in results]


class RunCase(Case):
    """A test in a run of an experiment with two slots."""

    config = {"searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 5}}}

    def setUp(self):
        super().setUp()
        self.control("make", json.dumps(self.config))
        self.join_run(0)

    def join_run(self, run):
        self.variables.update(
            DET_RUN_DIR=f"{self.directory}/node", DET_RUN_PATH=f"{self.directory}/trials/0/runs/{run}"
        )

    def control(self, command, *arguments):
        return subprocess.run(
            [f"{BUILD}/tests/test_run", command, self.directory, *arguments],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=TIME_LIMIT_S,
            env={**os.environ, "TEST_SLOTS": str(getattr(self, "slots", 1))},
        ).stdout

    def rank_metrics(self, run=0):
        """The reports of metrics of all ranks, in the order of their times."""
        return [json.loads(line) for line in self.control("rank-metrics", str(run)).splitlines()]

    def records(self, run=0, kind=None):
        records = [json.loads(line) for line in self.control("records", str(run)).splitlines()]
        return [record for record in records if kind is None or record["record"] == kind]
