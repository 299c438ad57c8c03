"""A base class for tests that run a PyTorchTrial on this machine."""

import contextlib
import json
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile

from determined.pytorch._checkpoint_files import load_state
from support import BUILD, RunCase, environment_of, finish

LIMIT_S = 150  # torch takes long to start on a busy machine
PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "cluster/programs"


def free_port():
    """A port that nobody listens on. It is not one of those that Linux gives to outgoing connections: they may take it
    before the ranks listen."""
    choose = random.SystemRandom()
    while True:
        port = choose.randrange(10000, 20000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class TrialCase(RunCase):
    """A test with a run of `slots` ranks. Programs are in the directory `code`."""

    slots = 2

    def setUp(self):
        super().setUp()
        self.new_run()

    def new_run(self, **more):
        """Makes run 0 in a new directory. more: sections that replace those of the configuration."""
        directory = tempfile.TemporaryDirectory(prefix="det-python-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.variables.update(HOME=self.directory, TMPDIR=self.directory)
        self.code = pathlib.Path(self.directory, "code")
        self.code.mkdir()
        self.run_number = 0
        config = {**self.config, "resources": {"slots_per_trial": self.slots}, **more}
        self.control("make", json.dumps(config))
        self.join_run(0)

    def add_program(self, name, text=None):
        if text is None:
            shutil.copy(PROGRAMS / name, self.code)
        else:
            (self.code / name).write_text(text, encoding="utf-8")

    def start_ranks(self, *command, **more):
        """Starts a process per slot, with the variables of torchrun. more: further environment variables."""
        port = str(free_port())
        processes = []
        for rank in range(self.slots):
            variables = {
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(self.slots),
                "LOCAL_WORLD_SIZE": str(self.slots),
                "GROUP_RANK": "0",
                "GROUP_WORLD_SIZE": "1",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
                "USE_TORCH_DISTRIBUTED": "True",
                "OMP_NUM_THREADS": "1",
            }
            processes.append(
                subprocess.Popen(
                    [sys.executable, *command],
                    cwd=self.code,
                    env={**environment_of(rank, self.slots, **self.variables), **variables, **more},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        return processes

    def train(self, trial_class, **more):
        """Runs the harness on each rank, which must exit with 0. Returns the output of each rank."""
        return self.finish_ranks(self.start_ranks("-m", "determined.exec.harness", trial_class, **more))

    def finish_ranks(self, processes):
        results = finish(processes, LIMIT_S)
        for rank, (code, _, err) in enumerate(results):
            self.assertEqual(code, 0, f"rank {rank} of {self.slots}:\n{err}")
        return [out + err for _, out, err in results]

    def train_to_failure(self, trial_class, **more):
        return self.fail_ranks(self.start_ranks("-m", "determined.exec.harness", trial_class, **more))

    def fail_ranks(self, processes):
        results = finish(processes, LIMIT_S)
        self.assertTrue(all(code != 0 for code, _, _ in results), results)
        return [out + err for _, out, err in results]

    def preempt_at(self, batch):
        """The variables with which the test programs raise the preemption notice at a batch."""
        return {
            "TEST_PREEMPT_AT": str(batch),
            "TEST_PREEMPT_COMMAND": f"{BUILD}/tests/test_run raise {self.directory}",
        }

    def checkpoints(self, run=None):
        """(storage_id, steps_completed) of the checkpoints of a run, oldest first."""
        records = self.records(self.run_number if run is None else run, "checkpoint")
        return [(record["uuid"], record["steps_completed"]) for record in records]

    def resume(self):
        """Makes the next run, which continues from the newest checkpoint. Returns its steps_completed."""
        found = [each for run in range(self.run_number + 1) for each in self.checkpoints(run)]
        uuid, steps = found[-1]
        self.run_number += 1
        self.control("again", uuid, str(steps), str(self.run_number))
        self.join_run(self.run_number)
        return steps

    def final_state(self):
        uuid, _ = self.checkpoints()[-1]
        return load_state(pathlib.Path(self.directory, "checkpoints", uuid))

    def reports(self, group):
        """(steps_completed, metrics) of all reports of a group in all runs, oldest first."""
        records = [each for run in range(self.run_number + 1) for each in self.records(run, "metrics")]
        return [(each["steps_completed"], each["metrics"]) for each in records if each["group"] == group]
