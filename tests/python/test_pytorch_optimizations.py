"""Tests the section `optimizations` of a configuration with a PyTorchTrial."""

import unittest

import torch

from determined.pytorch._bucket_tuning import BucketTuning, candidate_sizes
from trial_support import TrialCase

# The number of ranks does not change this training: it has no dropout, and the batch size divides the number
# of samples.
MODEL = """
import torch
from determined import pytorch

class Squares(pytorch.PyTorchTrial):
    def __init__(self, context):
        torch.set_num_threads(1)
        self.context = context
        width = context.get_hparams().get("width", 16)
        self.model = context.wrap_model(
            torch.nn.Sequential(torch.nn.Linear(8, width), torch.nn.Tanh(), torch.nn.Linear(width, 1)))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=1.6 / width, momentum=0.9))

    def build_training_data_loader(self):
        inputs = torch.randn(128, 8, generator=torch.Generator().manual_seed(3))
        data = torch.utils.data.TensorDataset(inputs, inputs.square().mean(dim=1, keepdim=True))
        return pytorch.DataLoader(data, batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    build_validation_data_loader = build_training_data_loader

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = torch.nn.functional.mse_loss(self.model(batch[0]), batch[1])
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss, "rank": self.context.distributed.rank}

    def evaluate_batch(self, batch):
        return {"error": torch.nn.functional.mse_loss(self.model(batch[0]), batch[1])}
"""


class Optimizations(TrialCase):
    config = {
        "hyperparameters": {"global_batch_size": 16},
        "searcher": {"name": "single", "metric": "error", "max_length": {"batches": 24}},
    }

    _trained = {}

    def train_plainly(self):
        """Trains on two ranks without optimizations, once for all tests. Returns the final weights."""
        if not self._trained:
            self._trained.update(self.train_with())
        return self._trained

    def train_with(self, slots=2, batch_size=16, batches=24, width=16, **optimizations):
        """Trains with these optimizations. Returns the final weights."""
        self.slots = slots
        self.new_run(
            hyperparameters={"global_batch_size": batch_size, "width": width},
            searcher={"name": "single", "metric": "error", "max_length": {"batches": batches}},
            optimizations=optimizations,
        )
        self.add_program("squares.py", MODEL)
        self.train("squares:Squares")
        return self.final_state()["models_state_dict"][0]

    def check_close(self, weights, others, tolerance):
        for name, value in weights.items():
            self.assertLessEqual(float((value - others[name]).abs().max()), tolerance, name)

    def test_the_number_of_ranks_does_not_change_the_training(self):
        alone = self.train_with(slots=1)
        self.check_close(self.train_plainly(), alone, 1e-5)
        self.check_close(self.train_with(slots=8), alone, 1e-5)

    def test_a_window_of_batches_is_a_larger_batch(self):
        windows = self.train_with(batch_size=8, batches=32, aggregation_frequency=4)
        self.check_close(windows, self.train_with(batch_size=32, batches=8), 1e-5)

    def test_gradients_of_a_window_may_be_summed(self):
        sums = self.train_with(batches=2, aggregation_frequency=2, average_aggregated_gradients=False)
        means = self.train_with(batches=2, aggregation_frequency=2)
        self.assertTrue(any(float((sums[name] - means[name]).abs().max()) > 1e-4 for name in means))

    def test_compressed_gradients_train_almost_the_same(self):
        compressed, whole = self.train_with(gradient_compression=True), self.train_plainly()
        self.check_close(compressed, whole, 1e-2)
        differ = any(not torch.equal(compressed[name], whole[name]) for name in whole)
        self.assertEqual(differ, self.gloo_adds_half())

    def gloo_adds_half(self):
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
        try:
            torch.distributed.all_reduce(torch.zeros(1, dtype=torch.float16))
        except RuntimeError:
            return False
        finally:
            torch.distributed.destroy_process_group()
        return True

    def test_training_metrics_may_be_those_of_the_chief_and_sizes_of_gradients_are_written(self):
        self.train_with(batches=2)
        self.assertEqual([metrics["rank"] for _, metrics in self.reports("training")], [0.5])
        self.train_with(batches=2, average_training_metrics=False, grad_updates_size_file="sizes.csv")
        self.assertEqual([metrics["rank"] for _, metrics in self.reports("training")], [0])
        lines = (self.code / "sizes.csv").read_text(encoding="utf-8").splitlines()
        self.assertEqual(lines[:2], ["model,parameter,elements,bytes", "0,0.weight,128,512"])
        self.assertEqual(len(lines), 5)

    def test_mixed_precision_trains_on_the_cpu(self):
        half, whole = self.train_with(mixed_precision="O1"), self.train_plainly()
        self.assertTrue(any(not torch.equal(half[name], whole[name]) for name in whole))

    def test_the_size_of_buckets_is_found_in_the_first_steps(self):
        width = 50000  # 2 MB of gradients: one bucket or several
        tuned = self.train_with(batches=20, width=width, auto_tune_tensor_fusion=True)
        ((steps, metrics),) = self.reports("tuning")
        self.assertEqual(steps, 14)
        self.assertIn(metrics["tensor_fusion_threshold"], (1, 5))
        self.assertEqual(self.final_state()["tensor_fusion_threshold"], metrics["tensor_fusion_threshold"])
        self.check_close(tuned, self.train_with(batches=20, width=width, tensor_fusion_threshold=0), 1e-6)


class Tuning(unittest.TestCase):
    def test_sizes_are_tried_up_to_that_of_the_model(self):
        self.assertEqual(candidate_sizes(1 << 20), [1])
        self.assertEqual(candidate_sizes((1 << 20) + 1), [1, 5])
        self.assertEqual(candidate_sizes(30 << 20), [1, 5, 25, 64])
        self.assertEqual(candidate_sizes(1 << 30), [1, 5, 25, 64, 128])

    def test_the_ranks_agree_on_the_size_with_the_smallest_sum(self):
        sizes = []
        # This rank is fastest with 1 MiB. The other one is fastest with 5 MiB, by more.
        tuning = BucketTuning(10 << 20, sizes.append, lambda seconds: [seconds, [9.0, 1.0, 9.0]])
        seconds = {1: 1.0, 5: 2.0, 25: 3.0}
        chosen = [tuning.step(seconds[sizes[-1]]) for _ in range(21)]
        self.assertEqual(chosen, [False] * 20 + [True])
        self.assertEqual((tuning.chosen, sizes), (5, [1, 5, 25, 5]))
        self.assertFalse(tuning.step(1.0))

    def test_a_model_that_fits_into_the_smallest_bucket_is_not_tuned(self):
        sizes = []
        self.assertEqual((BucketTuning(100, sizes.append, list).chosen, sizes), (1, []))


if __name__ == "__main__":
    unittest.main()
