"""Tests that the training loop does not wait for the device in a step."""

import contextlib
from unittest import mock

import numpy as np
import torch

from determined import pytorch
from determined.pytorch import _metrics
from test_pytorch_trial import Line, LocalCase

# The methods of a tensor that wait until the device has computed it.
WAITING = ["item", "tolist", "cpu", "numpy", "__array__", "__float__", "__int__", "__bool__", "__index__", "nonzero"]


@contextlib.contextmanager
def counted_waits():
    """Records the calls of these methods in the block."""
    calls = []

    def counting(name):
        original = getattr(torch.Tensor, name)

        def call(tensor, *arguments, **more):
            calls.append(name)
            return original(tensor, *arguments, **more)

        return mock.patch.object(torch.Tensor, name, call)

    with contextlib.ExitStack() as stack:
        for name in WAITING:
            stack.enter_context(counting(name))
        yield calls


class Metrics(LocalCase):
    def fit_counted(self, batches, trial_class=Line, **arguments):
        """Trains, and returns the number of waits before each batch, and after the training."""
        numbers = []

        class Counted(trial_class):
            def train_batch(self, batch, epoch_idx, batch_idx):
                numbers.append(len(calls))
                return super().train_batch(batch, epoch_idx, batch_idx)

        with counted_waits() as calls, self.reports():
            self.fit(Counted, max_length=pytorch.Batch(batches), checkpoint_policy="none", **arguments)
            return numbers, len(calls)

    def test_the_counter_sees_a_step_that_waits(self):
        class Waiting(Line):
            def train_batch(self, batch, epoch_idx, batch_idx):
                loss = super().train_batch(batch, epoch_idx, batch_idx)
                return {"loss": loss.item()} if batch_idx % 2 else {"loss": float(loss)}

        numbers, _ = self.fit_counted(6, Waiting)
        steps = [after - before for before, after in zip(numbers, numbers[1:])]
        self.assertTrue(all(step >= 1 for step in steps), steps)

    def test_no_step_waits_for_the_device(self):
        class Several(Line):
            def train_batch(self, batch, epoch_idx, batch_idx):
                loss = super().train_batch(batch, epoch_idx, batch_idx)
                return {"loss": loss, "twice": 2 * loss, "each": batch[0], "large": torch.ones(5000)}

        for trial_class in (Line, Several):
            numbers, _ = self.fit_counted(30, trial_class)
            self.assertEqual(set(numbers), {numbers[0]}, trial_class)

    def test_a_report_waits_once_for_each_metric(self):
        totals = [self.fit_counted(batches)[1] for batches in (8, 80)]
        self.assertEqual(*totals)  # one report and one validation each
        numbers, _ = self.fit_counted(20, reporting_period=pytorch.Batch(10))
        self.assertEqual([after - before > 0 for before, after in zip(numbers, numbers[1:])].count(True), 1)

    def test_a_tensor_that_a_later_step_writes_to_keeps_its_value(self):
        class Buffered(Line):
            def train_batch(self, batch, epoch_idx, batch_idx):
                if batch_idx == 0:
                    self.buffer = torch.zeros(())
                super().train_batch(batch, epoch_idx, batch_idx)
                return {"index": self.buffer.fill_(batch_idx)}

        with self.reports() as reports:
            self.fit(Buffered, max_length=pytorch.Batch(5))
        self.assertEqual(reports[0][2]["index"], 2)

    def test_values_of_any_kind_become_arrays(self):
        large = torch.ones(5000)
        batches = [
            {"loss": torch.tensor(1.5, requires_grad=True), "half": torch.ones((), dtype=torch.bfloat16), "text": "a"},
            {"loss": torch.tensor(2.5), "half": torch.zeros((), dtype=torch.bfloat16), "nested": {"a": [torch.ones(2)]}},
            {"loss": torch.ones(3), "large": large, "number": 7, "half": torch.zeros((), dtype=torch.bfloat16)},
        ]
        held = [_metrics.hold_batch_metrics(each) for each in batches]
        self.assertFalse(held[0]["loss"].requires_grad)
        arrays = _metrics.to_host(held)
        self.assertEqual([list(each) for each in arrays], [list(each) for each in batches])
        self.assertEqual([each["loss"].tolist() for each in arrays], [1.5, 2.5, [1, 1, 1]])
        self.assertEqual([each["half"].dtype for each in arrays], [np.float32] * 3)
        self.assertEqual([each["half"].shape for each in arrays], [()] * 3)
        self.assertEqual((arrays[0]["text"], arrays[2]["number"]), ("a", 7))
        self.assertEqual(arrays[1]["nested"]["a"][0].tolist(), [1, 1])
        self.assertEqual(arrays[2]["large"].shape, (5000,))
        self.assertEqual(_metrics.to_host([]), [])
        with self.assertRaises(TypeError):
            _metrics.hold_batch_metrics([1])
