"""Tests slurm.memory_checkpoints: what a run keeps in memory, and that the next run of the job continues from there."""

import glob
import os
import shutil
import unittest

import torch
from support import RunCase
from trial_support import TrialCase

KEEPING = {"memory_checkpoints": {"every": 2}}


def remove_kept(job):
    for path in glob.glob(f"/dev/shm/det-memory-{os.geteuid()}-{job}-*"):
        shutil.rmtree(path, ignore_errors=True)


class OneJob:
    """The runs of a test are those of one job, whose number no other test of this machine uses."""

    def setUp(self):
        super().setUp()
        job = str(3_500_000_000 + os.getpid())
        self.addCleanup(remove_kept, job)
        self.variables["DET_RUN_JOB"] = job

    def kept_files(self):
        return sorted(glob.glob(f"/dev/shm/det-memory-{os.geteuid()}-{self.variables['DET_RUN_JOB']}-*/*"))


TRAINING = """
import glob, time
class Counter:
    value = 0
    def state_dict(self):
        return {"value": self.value}
    def load_state_dict(self, state):
        self.value = state["value"]

until, keeps = int(os.environ["TEST_UNTIL"]), []
with det.core.init(distributed=connect()) as context:
    checkpoint, counter = context.checkpoint, Counter()
    state = {"counter": counter, "step": 0, "note": "none", "pair": (1, 2.5),
             "rank": det.core.PerRank({"draws": [], "number": rank})}
    loaded = checkpoint.load_state(state)
    print("from", None if loaded is None else (loaded.uuid, loaded.steps_completed, loaded.metadata["x"]))
    own = state["rank"].value
    assert own["number"] == rank
    while state["step"] < until:
        state["step"] += 1
        counter.value += state["step"]
        state["note"] = f"step {state['step']}"
        own["draws"].append(state["step"] * 10 + rank)
        if checkpoint.keep_state(state, state["step"], {"x": state["step"]}):
            keeps.append(state["step"])
    print("kept", keeps)
    print("state", counter.value, state["note"], state["pair"], own["draws"])
    sys.stdout.flush()
    if "TEST_KILL" in os.environ:
        own_file = f"/dev/shm/det-memory-*-{os.environ['DET_RUN_JOB']}-*/0.{keeps[-1]}.{rank}of{size}"
        while not glob.glob(own_file):  # until its checksum is complete
            time.sleep(0.01)
        os.kill(os.getpid(), 9)
"""


class KeptState(OneJob, RunCase):
    config = {**RunCase.config, "slurm": KEEPING}

    def next_run(self, number):
        self.control("again", "", "0", str(number))
        self.join_run(number)

    def killed(self, size, until):
        from support import finish, start_ranks

        results = finish(start_ranks(TRAINING, size, **{**self.variables, "TEST_UNTIL": str(until), "TEST_KILL": "1"}))
        self.assertEqual([code for code, _, _ in results], [-9] * size, results)
        return [out for _, out, _ in results]

    def test_a_run_continues_from_the_newest_state_of_the_run_that_was_killed(self):
        for size in (1, 2):
            out = self.killed(size, 5)
            self.assertIn("from None\nkept [2, 4]\n", out[0])
            self.next_run(1)
            outputs = self.run_ranks(TRAINING, size, TEST_UNTIL="8")
            for rank, out in enumerate(outputs):
                draws = [step * 10 + rank for step in range(1, 9)]
                self.assertEqual(out, f"from ('memory-0-4', 4, 4)\nkept [6, 8]\nstate 36 step 8 (1, 2.5) {draws}\n")
            continued = self.records(1, "continued-from-memory")
            self.assertEqual((continued[-1]["steps_completed"], continued[-1]["run"]), (4, 0))
            remove_kept(self.variables["DET_RUN_JOB"])
            self.next_run(0)

    def test_a_damaged_state_is_passed_over(self):
        self.killed(2, 5)
        newest = [path for path in self.kept_files() if "/0.4.1of2" in path]
        with open(newest[0], "r+b") as file:
            file.seek(4096 + 8)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        self.next_run(1)
        outputs = self.run_ranks(TRAINING, 2, TEST_UNTIL="4")
        for out in outputs:
            self.assertIn("from ('memory-0-2', 2, 2)\n", out)

    def test_files_are_private(self):
        self.killed(1, 3)
        for path in self.kept_files():
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            self.assertEqual(os.stat(os.path.dirname(path)).st_mode & 0o777, 0o700)


class KeptTrial(OneJob, TrialCase):
    config = {
        "hyperparameters": {"global_batch_size": 32, "hidden": 4, "samples": 192},
        "searcher": {"name": "single", "metric": "validation_loss", "max_length": {"batches": 9}},
        "scheduling_unit": 3,
    }

    def test_a_trial_whose_rank_was_killed_ends_with_the_same_bits(self):
        self.add_program("pytorch_trial.py")
        self.train("pytorch_trial:InterruptedTrial")
        undisturbed, validation = self.final_state(), self.reports("validation")[-1]
        self.new_run(slurm=KEEPING)
        self.add_program("pytorch_trial.py")
        self.train_to_failure("pytorch_trial:InterruptedTrial", TEST_EXIT_AT="7")
        self.assertEqual(self.checkpoints(), [])
        self.run_number = 1
        self.control("again", "", "0", "1")
        self.join_run(1)
        outputs = self.train("pytorch_trial:InterruptedTrial")
        # The state after 6 batches counts if all ranks had completed it.
        self.assertRegex(outputs[0], "continuing after [46] batches")
        for name in ("models_state_dict", "optimizers_state_dict"):
            self.assertTrue(is_same(self.final_state()[name], undisturbed[name]), name)
        self.assertEqual(self.reports("validation")[-1], validation)


    def test_a_state_is_kept_when_all_that_was_due_after_its_batch_is_reported(self):
        self.new_run(slurm={"memory_checkpoints": {"every": 1}})
        self.add_program("pytorch_trial.py")
        self.add_program("killed_trial.py", KILLED_TRIAL)
        self.train_to_failure("killed_trial:KilledTrial", TEST_KILL="1")
        self.run_number = 1
        self.control("again", "", "0", "1")
        self.join_run(1)
        outputs = self.train("killed_trial:KilledTrial")
        # What was reported after batch 6 was not written; so a state after it must not count.
        self.assertIn("continuing after 5 batches", outputs[0])
        self.assertIn("initial batch 5\n", outputs[0])
        self.assertEqual([steps for steps, _ in self.reports("training")], [3, 6, 9])


KILLED_TRIAL = """
import glob, os, time
from pytorch_trial import InterruptedTrial

class KilledTrial(InterruptedTrial):
    def __init__(self, context):
        super().__init__(context)
        reduce = self.error.per_slot_reduce
        def kill_and_reduce():
            rank, size = context.distributed.rank, context.distributed.size
            if "TEST_KILL" in os.environ and context.current_train_batch() == 5:
                while not glob.glob(f"/dev/shm/det-memory-*-{os.environ['DET_RUN_JOB']}-*/0.5.{rank}of{size}"):
                    time.sleep(0.01)
                os._exit(9)
            return reduce()
        self.error.per_slot_reduce = kill_and_reduce

    def build_training_data_loader(self):
        print("initial batch", self.context.get_initial_batch())
        return super().build_training_data_loader()
"""


def is_same(one, other):
    """Whether two nests have tensors with the same bits."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one == other


if __name__ == "__main__":
    unittest.main()
