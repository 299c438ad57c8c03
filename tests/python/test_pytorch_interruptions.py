"""Tests that a PyTorchTrial that is preempted and killed ends with the weights of an uninterrupted one."""

import torch

from trial_support import TrialCase

TRIAL = "pytorch_trial:InterruptedTrial"


class Interruptions(TrialCase):
    # Every second checkpoint is in the middle of an aggregation window.
    config = {
        "hyperparameters": {"global_batch_size": 16, "hidden": 16, "samples": 330},
        "searcher": {"name": "single", "metric": "validation_loss", "max_length": {"epochs": 3}},
        "scheduling_unit": 5,
        "min_checkpoint_period": {"batches": 7},
        "min_validation_period": {"epochs": 1},
        "optimizations": {"aggregation_frequency": 2},
    }

    def begin(self):
        self.new_run(**self.more)
        self.add_program("pytorch_trial.py")

    def train_uninterrupted(self):
        self.begin()
        self.train(TRIAL)
        return self.final_state(), self.reports("validation"), [steps for _, steps in self.checkpoints()]

    def train_interrupted(self, saves):
        """Preempts the first run in the middle of an epoch and of a window, and kills a rank of the second one."""
        self.begin()
        self.train(TRIAL, **self.preempt_at(10))
        self.assertIn(self.resume(), (11, 12))
        self.train_to_failure(TRIAL, TEST_EXIT_AT="31")
        # Up to two checkpoints may still be in the memory of the rank.
        self.assertIn(self.resume(), [steps for steps in saves if steps < 31][-3:])
        self.train(TRIAL)
        return self.final_state(), self.reports("validation")

    def check(self, slots, **more):
        self.slots, self.more = slots, more
        whole, validations, saves = self.train_uninterrupted()
        interrupted, others = self.train_interrupted(saves)
        weights, again = whole["models_state_dict"][0], interrupted["models_state_dict"][0]
        for name, value in weights.items():
            self.assertTrue(torch.equal(value, again[name]), (name, float((value - again[name]).abs().max())))
        # A run that was killed may have reported a validation that the next run repeats.
        self.assertEqual(dict(others), dict(validations))
        self.assertTrue(all(each in validations for each in others), others)
        self.assertTrue(torch.equal(whole["rng_state"]["cpu_rng_state"], interrupted["rng_state"]["cpu_rng_state"]))
        for key in ("lr_schedulers_state_dict", "callbacks"):
            self.assertEqual(whole[key], interrupted[key])
        self.assertEqual(whole["callbacks"], {"count": {"epochs": 3}})

    def test_the_weights_of_one_rank_are_the_same(self):
        self.check(1)

    def test_the_weights_of_two_ranks_are_the_same(self):
        self.check(2)

    def test_the_weights_of_four_ranks_are_the_same(self):
        self.check(4)

    def test_the_weights_of_three_ranks_with_several_buckets_are_the_same(self):
        # 1.3 MiB of gradients are two buckets.
        hyperparameters = {**self.config["hyperparameters"], "global_batch_size": 15, "hidden": 15_000}
        optimizations = {**self.config["optimizations"], "tensor_fusion_threshold": 1}
        self.check(3, hyperparameters=hyperparameters, optimizations=optimizations)
