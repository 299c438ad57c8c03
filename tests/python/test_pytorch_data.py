"""Tests data loaders, samplers, units and values of determined.pytorch."""

import random
import unittest

import numpy as np
import torch
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler, WeightedRandomSampler

from determined import pytorch
from determined.pytorch import samplers
from determined.pytorch._units import read_length

DATA = list(range(23))


def batches_of(loader, count, skip=0, replicas=1, rank=0, seed=5):
    """The samples of the first `count` batches."""
    found = []
    for batch in loader._build(True, skip, replicas, rank, seed):
        found.append(batch.tolist())
        if len(found) == count:
            break
    return found


class OwnGenerator(RandomSampler):
    """A user's class. determined.pytorch must assume that its passes depend on earlier ones."""


class Loaders(unittest.TestCase):
    def loaders(self):
        return {
            "in order": pytorch.DataLoader(DATA, batch_size=4),
            "shuffled": pytorch.DataLoader(DATA, batch_size=4, shuffle=True),
            "without the rest": pytorch.DataLoader(DATA, batch_size=4, shuffle=True, drop_last=True),
            "a sampler of torch": pytorch.DataLoader(DATA, batch_size=4, sampler=RandomSampler(DATA)),
            "weighted": pytorch.DataLoader(DATA, batch_size=4, sampler=WeightedRandomSampler([1.0] * 23, 23)),
            "a sampler of the user": pytorch.DataLoader(DATA, batch_size=4, sampler=OwnGenerator(DATA)),
            "batches of the user": pytorch.DataLoader(
                DATA, batch_sampler=samplers.ReproducibleShuffleBatchSampler(
                    BatchSampler(SequentialSampler(DATA), 4, False), 3)),
        }

    def test_a_training_goes_on_at_any_batch_on_any_rank(self):
        for name in self.loaders():
            for replicas in (1, 2, 3):
                for rank in range(replicas):
                    whole = batches_of(self.loaders()[name], 14, 0, replicas, rank)
                    for skip in (1, 5, 6, 13):
                        rest = batches_of(self.loaders()[name], 14 - skip, skip, replicas, rank)
                        self.assertEqual(rest, whole[skip:], (name, replicas, rank, skip))

    def test_the_ranks_share_the_batches_of_an_epoch(self):
        for name, loader in self.loaders().items():
            whole = batches_of(self.loaders()[name], 12)
            parts = [batches_of(self.loaders()[name], 6, 0, 2, rank) for rank in range(2)]
            self.assertEqual([parts[index % 2][index // 2] for index in range(12)], whole, name)
            self.assertEqual(len(loader), 5 if name == "without the rest" else 6, name)

    def test_an_epoch_has_each_sample_once_and_another_order_than_the_last(self):
        both = batches_of(pytorch.DataLoader(DATA, batch_size=4, shuffle=True), 12)
        first, second = (sum(both[:6], []), sum(both[6:], []))
        self.assertEqual(sorted(first), DATA)
        self.assertEqual(sorted(second), DATA)
        self.assertNotEqual(first, second)

    def test_samplers_neither_use_nor_change_the_random_numbers_of_the_training(self):
        for name in self.loaders():
            torch.manual_seed(1), np.random.seed(1), random.seed(1)
            expected = batches_of(self.loaders()[name], 14)
            drawn = torch.rand(1).item(), np.random.rand(), random.random()
            torch.manual_seed(1), np.random.seed(1), random.seed(1)
            self.assertEqual(drawn, (torch.rand(1).item(), np.random.rand(), random.random()), name)
            self.assertEqual(batches_of(self.loaders()[name], 14), expected, name)

    def test_workers_give_the_same_batches(self):
        loader = pytorch.DataLoader(DATA, batch_size=4, shuffle=True, num_workers=2)
        self.assertEqual(batches_of(loader, 9, 3), batches_of(pytorch.DataLoader(DATA, 4, True), 12)[3:])

    def test_a_validation_has_each_sample_once(self):
        loader = pytorch.DataLoader(DATA, batch_size=4)
        parts = [list(loader.get_data_loader(False, 0, 4, rank)) for rank in range(4)]
        self.assertEqual(sorted(sample for part in parts for batch in part for sample in batch.tolist()), DATA)

    def test_a_loader_works_alone(self):
        loader = pytorch.DataLoader(DATA, batch_size=4, shuffle=True)
        first, second = ([sample for batch in loader for sample in batch.tolist()] for _ in range(2))
        self.assertEqual(sorted(first), DATA)
        self.assertNotEqual(first, second)

    def test_arguments_that_exclude_each_other_are_refused(self):
        sampler, batches = SequentialSampler(DATA), BatchSampler(SequentialSampler(DATA), 4, False)
        for arguments in (
            {"sampler": sampler, "shuffle": True},
            {"batch_sampler": batches, "batch_size": 2},
            {"batch_sampler": batches, "shuffle": True},
            {"batch_sampler": batches, "sampler": sampler},
            {"batch_sampler": batches, "drop_last": True},
            {"batch_size": None},
            {"batch_size": 0},
        ):
            with self.assertRaises(ValueError, msg=str(arguments)):
                pytorch.DataLoader(DATA, **arguments)

        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(DATA)

        with self.assertRaisesRegex(ValueError, "disable_dataset_reproducibility_checks"):
            pytorch.DataLoader(Stream())


class Samplers(unittest.TestCase):
    def test_samplers_repeat_split_and_skip(self):
        numbers = SequentialSampler(range(5))
        repeated = iter(samplers.RepeatSampler(numbers))
        self.assertEqual([next(repeated) for _ in range(7)], [0, 1, 2, 3, 4, 0, 1])
        self.assertEqual(list(samplers.DistributedSampler(numbers, 2, 1)), [1, 3])
        self.assertEqual([len(samplers.DistributedSampler(numbers, 2, rank)) for rank in (0, 1)], [3, 2])
        self.assertEqual(list(samplers.SkipSampler(numbers, 3)), [3, 4])
        self.assertEqual(list(samplers.SkipSampler(numbers, 9)), [])
        self.assertEqual(list(samplers.RepeatSampler([])), [])

    def test_batches_are_adapted_to_a_rank(self):
        batches = BatchSampler(SequentialSampler(range(6)), 2, False)
        adapted = iter(pytorch.adapt_batch_sampler(batches, repeat=True, skip=1, num_replicas=2, rank=1))
        self.assertEqual([next(adapted) for _ in range(2)], [[0, 1], [4, 5]])

    def test_a_shuffled_sampler_repeats_its_orders(self):
        orders = [list(samplers.ReproducibleShuffleSampler(range(9), 3)) for _ in range(2)]
        self.assertEqual(orders[0], orders[1])
        self.assertEqual(sorted(orders[0]), list(range(9)))

    def test_wrong_numbers_are_refused(self):
        for make in (
            lambda: samplers.DistributedSampler([], 0, 0),
            lambda: samplers.DistributedBatchSampler([], 2, 2),
            lambda: samplers.SkipBatchSampler([], -1),
        ):
            self.assertRaises(ValueError, make)


class Values(unittest.TestCase):
    def test_the_length_of_a_batch_is_known(self):
        tensor = torch.zeros(3, 2)
        for batch in (tensor, tensor.numpy(), [tensor, 1], (tensor,), {"a": tensor, "b": 1}):
            self.assertEqual(pytorch.data_length(batch), 3)
        self.assertRaises(ValueError, pytorch.data_length, {})
        self.assertRaises(TypeError, pytorch.data_length, 5)

    def test_arrays_become_tensors_in_any_structure(self):
        moved = pytorch.to_device({"a": [np.ones(2), (torch.zeros(1), "text")]}, torch.device("cpu"), set())
        self.assertTrue(torch.equal(moved["a"][0], torch.ones(2, dtype=torch.float64)))
        self.assertEqual(moved["a"][1][1], "text")

    def test_lengths_are_read_from_a_configuration(self):
        self.assertEqual(read_length({"batches": 3}, None), pytorch.Batch(3))
        self.assertEqual(read_length({"epochs": 3}, None), pytorch.Epoch(3))
        self.assertEqual(read_length({"records": 65}, 16), pytorch.Batch(5))
        self.assertEqual(read_length({"epochs": 2}, 16, 24), pytorch.Batch(3))
        self.assertEqual(read_length(7, None), pytorch.Batch(7))
        self.assertIsNone(read_length({"batches": 0}, None))
        self.assertIsNone(read_length(None, None))
        self.assertRaises(ValueError, read_length, {"records": 65}, None)

    def test_a_period_is_a_number_or_the_numbers_themselves(self):
        self.assertEqual([batch for batch in range(1, 9) if pytorch.Batch(3)._is_due(batch)], [3, 6])
        self.assertEqual([batch for batch in range(1, 9) if pytorch.Batch([2, 7])._is_due(batch)], [2, 7])
        self.assertEqual(pytorch.Batch(0).value, 1)
        self.assertRaises(TypeError, pytorch.Batch, 1.5)

    def test_a_scheduler_steps_only_with_the_optimizer(self):
        mode = pytorch.LRScheduler.StepMode
        steps = {}
        for name, kind, frequency in (
            ("batch", mode.STEP_EVERY_BATCH, 1),
            ("third batch", mode.STEP_EVERY_BATCH, 3),
            ("step", mode.STEP_EVERY_OPTIMIZER_STEP, 1),
            ("epoch", mode.STEP_EVERY_EPOCH, 1),
            ("manual", mode.MANUAL_STEP, 1),
        ):
            scheduler = pytorch.LRScheduler(None, kind, frequency)
            # The optimizer steps after the batches 1, 3, 5 and 7; an epoch has 3 batches.
            steps[name] = [scheduler._steps_after(batch, 2, 3) for batch in (1, 3, 5, 7)]
        self.assertEqual(
            steps,
            {
                "batch": [2, 2, 2, 2],
                "third batch": [0, 1, 1, 0],
                "step": [1, 1, 1, 1],
                "epoch": [1, 0, 1, 1],
                "manual": [0, 0, 0, 0],
            },
        )
        self.assertRaises(TypeError, pytorch.LRScheduler, None, 2)


if __name__ == "__main__":
    unittest.main()
