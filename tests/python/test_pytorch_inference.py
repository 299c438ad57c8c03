"""Tests that torch_batch_process() puts each sample into the output once, also after an interruption."""

import json
import os
import pathlib
import unittest

from determined.pytorch import experimental
from determined.pytorch.experimental._batch_process import _check_arguments
from support import Case
from trial_support import TrialCase


class Inference(TrialCase):
    config = {"searcher": {"name": "single", "metric": "total"}, "hyperparameters": {}}

    def infer(self, **more):
        return self.start_ranks("inference.py", **more)

    def check_output(self):
        """Checks that each sample is once in the files of the last checkpoint. Returns the files."""
        uuid, _ = self.checkpoints()[-1]
        files = sorted(pathlib.Path(self.directory, "checkpoints", uuid).glob("rank_*/batch-*.json"))
        samples = [sample for file in files for sample in json.loads(file.read_text(encoding="utf-8"))]
        self.assertEqual(sorted(samples), list(range(101)))
        return files

    def test_each_sample_is_in_the_output_once(self):
        for slots, files in ((1, 26), (2, 26), (3, 26)):
            self.slots = slots
            self.new_run()
            self.add_program("inference.py")
            self.finish_ranks(self.infer())
            self.assertEqual(len(self.check_output()), files)
            ((_, metrics),) = self.reports("validation")
            self.assertEqual(metrics["total"], sum(range(101)))

    def test_an_inference_goes_on_after_a_preemption_and_a_kill(self):
        self.add_program("inference.py")
        self.finish_ranks(self.infer(**self.preempt_at(2)))
        self.assertIn(self.resume(), (3, 4))
        for output in self.fail_ranks(self.infer(TEST_EXIT_AT="7")):
            self.assertIn("continuing after", output)
        self.assertEqual(self.resume(), 5)
        self.finish_ranks(self.infer())
        self.check_output()
        left_over = pathlib.Path(self.directory, "trials/0/inference").glob("*/.unfinished-*")
        self.assertEqual(list(left_over), [])

    def test_a_complete_output_is_not_made_again(self):
        self.add_program("inference.py")
        self.finish_ranks(self.infer())
        self.resume()
        for output in self.finish_ranks(self.infer()):
            self.assertIn("the output was complete before", output)
        self.assertEqual(self.checkpoints(), [])


class Arguments(Case):
    def test_arguments_that_can_not_be_used_are_refused(self):
        for arguments in (
            (iter([]), 1, 5, None),
            ([], 1, 5, {"batch_size": 2}),
            ([], 1, 5, {"shuffle": True}),
            ([], 1, 5, {"sampler": [1]}),
            ([], 1, 0, None),
        ):
            self.assertRaises(ValueError, _check_arguments, *arguments)
        self.assertEqual(_check_arguments([], None, 5, {"num_workers": 0}), {"num_workers": 0, "batch_size": 1})

    def test_it_works_only_in_a_trial(self):
        os.environ.update(self.variables)
        with self.assertRaisesRegex(RuntimeError, "only in a trial"):
            experimental.torch_batch_process(experimental.TorchBatchProcessor, [])


if __name__ == "__main__":
    unittest.main()
