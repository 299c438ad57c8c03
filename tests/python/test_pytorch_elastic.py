"""Tests that a PyTorchTrial of an elastic experiment does not depend on the numbers of ranks of its runs."""

import re
import unittest

import torch

from determined import errors, pytorch
from determined.pytorch._data_loader import DataLoader
from determined.pytorch._global_batches import BatchShares, share_bounds
from determined.pytorch._metrics import mean_of_ranks
from trial_support import TrialCase

TRIAL = "elastic_trial:ElasticTrial"
SAMPLES, BATCH, BATCHES = 322, 16, 63  # three epochs of 21 batches; the last batch of each has two samples


class Shares(unittest.TestCase):
    def test_the_shares_of_a_batch_are_all_of_it_in_order(self):
        for length in range(1, 40):
            for ranks in range(1, 9):
                bounds = [share_bounds(length, ranks, rank) for rank in range(ranks)]
                self.assertEqual([each for begin, end in bounds for each in range(begin, end)], list(range(length)))
                sizes = [end - begin for begin, end in bounds]
                self.assertLessEqual(max(sizes) - min(sizes), 1)

    def test_a_rank_without_a_share_has_a_sample_that_does_not_count(self):
        shares = BatchShares([[7, 8]], 3, 2)
        self.assertEqual(list(shares), [[7]])
        share = shares.take()
        self.assertEqual((share.samples, share.loss_weight), (0, 0.0))

    def test_the_weights_make_the_mean_over_the_batch(self):
        values = torch.arange(16.0)
        for ranks in (1, 2, 3, 4, 5):
            total = 0.0
            for rank in range(ranks):
                shares = BatchShares([list(range(16))], ranks, rank)
                (own,) = list(shares)
                total += float(values[own].mean()) * shares.take().loss_weight / ranks
            self.assertAlmostEqual(total, float(values.mean()), places=5)

    def test_metrics_of_ranks_are_weighted_by_their_samples(self):
        ranks = [[{"loss": 1.0}], [{"loss": 4.0}], [{"loss": 100.0}]]
        self.assertEqual(mean_of_ranks(ranks, [[2], [1], [0]]), [{"loss": 2.0}])
        ranks[1].append({"loss": 5.0})
        self.assertEqual(mean_of_ranks(ranks, [[2], [1, 1], [0]]), [{"loss": 2.0}, {"loss": 5.0}])

    def test_a_loader_that_leaves_the_whole_batch_open_is_refused(self):
        data = list(range(10))
        with self.assertRaisesRegex(errors.InvalidExperimentException, "get_per_slot_batch_size"):
            DataLoader(data, batch_size=3)._build_shares(8, 0, 2, 0, 1)
        sampler = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(data), 4, False)
        with self.assertRaisesRegex(errors.InvalidExperimentException, "batch_sampler"):
            DataLoader(data, batch_sampler=sampler)._build_shares(8, 0, 2, 0, 1)

    def test_a_sampler_of_the_user_gives_the_same_batches_to_any_number_of_ranks(self):
        data = list(range(20))
        of_ranks = []
        for ranks in (1, 2, 3):
            sampler = torch.utils.data.WeightedRandomSampler([1.0] * 20, 20)
            batches = []
            for rank in range(ranks):
                loader = pytorch.DataLoader(data, batch_size=6 // ranks, sampler=sampler)
                built = loader._build_shares(6, 5, ranks, rank, 9)
                iterator = iter(built)
                batches.append([next(iterator)[: built.batch_sampler.take().samples].tolist() for _ in range(4)])
            of_ranks.append([sum(parts, []) for parts in zip(*batches)])
        self.assertEqual(of_ranks[0], of_ranks[1])
        self.assertEqual(of_ranks[0], of_ranks[2])


class Sizes(TrialCase):
    config = {
        "hyperparameters": {"global_batch_size": BATCH, "hidden": 16, "samples": SAMPLES},
        "searcher": {"name": "single", "metric": "error", "max_length": {"batches": BATCHES}},
        "scheduling_unit": 5,
        "min_checkpoint_period": {"batches": 7},
        "min_validation_period": {"batches": 21},
        "optimizations": {"aggregation_frequency": 2},
    }
    elastic = {"resources": {"slots_per_trial": {"min": 1, "max": 4}}}

    def begin(self, **more):
        self.new_run(**{**self.elastic, **more})
        self.add_program("elastic_trial.py")

    def add_samples(self, outputs, batches):
        """Adds the samples of each batch in the order of the ranks. A sample that does not count repeats another."""
        for output in outputs:
            for batch, numbers in re.findall(r"batch (\d+) of \d+ ranks: ([\d ]+)", output):
                known = batches.setdefault(int(batch), [])
                known.extend(number for number in numbers.split() if number not in known)

    def train_with(self, sizes, **more):
        """Trains in runs of so many ranks, of which all but the last are preempted. Returns the final weights, the
        validations, and the samples of each batch."""
        self.slots = sizes[0]
        self.begin(**more)
        batches = {}
        preempted_at = [10, 31]
        for index, self.slots in enumerate(sizes):
            if index > 0:
                self.assertIn(self.resume(), (preempted_at[index - 1] + 1, preempted_at[index - 1] + 2))
            is_last = index == len(sizes) - 1
            variables = {} if is_last else self.preempt_at(preempted_at[index])
            self.add_samples(self.train(TRIAL, **variables), batches)
        errors_at = {steps: values["error"] for steps, values in self.reports("validation")}
        return self.final_state()["models_state_dict"][0], errors_at, batches

    def check(self, **more):
        weights, validations, batches = self.train_with([4], **more)
        others, again, same_batches = self.train_with([2, 4, 3], **more)
        self.assertEqual(sorted(batches), list(range(BATCHES)))
        self.assertEqual({len(each) for each in batches.values()}, {BATCH, SAMPLES % BATCH})
        self.assertEqual(batches, same_batches)
        for name, value in weights.items():
            self.assertLess(float((value - others[name]).abs().max()), 2e-5, name)
        self.assertEqual(sorted(validations), sorted(again))
        for steps, error in validations.items():
            self.assertAlmostEqual(error, again[steps], delta=1e-4 * abs(error), msg=str(steps))

    def test_weights_after_two_four_and_three_ranks_are_those_of_four(self):
        self.check()

    def test_the_same_with_workers_and_the_format_of_torch(self):
        hyperparameters = {**self.config["hyperparameters"], "workers": 2}
        self.check(hyperparameters=hyperparameters, slurm={"checkpoint_format": "torch"})

    def test_a_model_with_batch_norm_is_warned_of(self):
        self.slots = 1
        self.new_run(
            **self.elastic, searcher={"name": "single", "metric": "validation_loss", "max_length": {"batches": 4}}
        )
        self.add_program("pytorch_trial.py")
        (output,) = self.train("pytorch_trial:InterruptedTrial")
        self.assertRegex(output, r"the trial is elastic, and 1 \(BatchNorm1d\) normalises by the samples of one rank")


if __name__ == "__main__":
    unittest.main()
