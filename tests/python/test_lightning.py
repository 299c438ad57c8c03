"""determined.lightning with the documented calls of Lightning in lightning_calls/, and not with Lightning itself: no release of
Debian has it."""

import json
import os
import pathlib
import shutil
import unittest

from trial_support import TrialCase

TESTS = pathlib.Path(__file__).resolve().parent
PROGRAM = TESTS / "lightning_training.py"
EXAMPLE = TESTS.parent.parent / "templates/examples/lightning/train.py"
TRAINING = {"max_epochs": 2, "val_check_interval": 4}  # epochs of 12 batches


class LightningCase(TrialCase):
    config = {"name": "line", "searcher": {"name": "single", "metric": "val_loss"}}

    def begin(self, **more):
        self.new_run(**more)
        shutil.copy(PROGRAM, self.code)
        files = pathlib.Path(self.directory, "files")
        files.mkdir()
        self.variables.update(
            PYTHONPATH=f"{TESTS / 'lightning_calls'}:{os.environ['PYTHONPATH']}", DET_TRIAL_DIR=str(files)
        )

    def setUp(self):
        super().setUp()
        self.begin()

    def run_program(self, arguments, **more):
        return self.start_ranks(PROGRAM.name, TEST_ARGUMENTS=json.dumps(arguments), **more)

    def train(self, arguments=TRAINING, **more):
        return "".join(self.finish_ranks(self.run_program(arguments, **more)))

    def fail_to_train(self, arguments=TRAINING, **more):
        return "".join(self.fail_ranks(self.run_program(arguments, **more)))

    def stored(self):
        """The step of each checkpoint in the storage."""
        manifests = pathlib.Path(self.directory, "checkpoints").glob("*/manifest")
        return sorted(json.loads(path.read_text(encoding="utf-8"))["body"]["steps_completed"] for path in manifests)

    def weights(self, printed):
        return next(line for line in printed.splitlines() if line.startswith("weights"))

    def check_ends_like_uninterrupted(self, arguments, preempted_at, steps):
        whole = self.train(arguments)
        validations = self.reports("validation")
        self.begin()
        printed = self.train(arguments, **self.preempt_at(preempted_at))
        self.assertNotIn("steps, own requeue", printed)  # the program ends inside of Trainer.fit()
        self.assertEqual(len(self.records(0, "acknowledgement")), 1)
        # Several ranks agree at the next step or the one after it.
        self.assertIn(self.resume(), range(preempted_at, preempted_at + self.slots))
        printed = self.train(arguments)
        self.assertIn(f"rank {self.slots - 1}: {steps} steps", printed)
        self.assertEqual(self.records(1, "acknowledgement"), [])
        self.assertEqual(self.weights(printed), self.weights(whole))
        self.assertEqual(self.reports("validation"), validations)  # each once


class OneRank(LightningCase):
    slots = 1

    def test_metrics_are_those_of_completed_steps(self):
        self.train()
        self.assertEqual([steps for steps, _ in self.reports("training")], list(range(2, 25, 2)))
        self.assertEqual([steps for steps, _ in self.reports("validation")], [4, 8, 12, 16, 20, 24])
        self.assertEqual(set(self.reports("validation")[0][1]), {"val_loss"})
        self.assertEqual({each.get("rank", 0) for each in self.rank_metrics()}, {0})
        self.assertEqual(self.records(0, "progress")[-1]["progress"], 1.0)

    def test_hyperparameters_of_the_module_are_metadata(self):
        self.train()
        metadata = self.records(0, "trial-metadata")[-1]["metadata"]["hyperparameters"]
        self.assertEqual(metadata, {"width": 2, "data.path": "/", "data.kind": "<class 'int'>"})

    def test_what_lightning_removes_is_deleted_but_the_newest_stays(self):
        self.train()
        self.assertEqual([steps for _, steps in self.checkpoints()], [6, 12, 18, 24, 24])
        self.assertEqual(self.stored(), [24, 24])  # save_top_k=1, and final.ckpt
        (reference,) = pathlib.Path(self.directory, "files/lightning/line").glob("*/checkpoints/*")
        self.assertEqual(reference.name, "step=24.ckpt")
        self.assertLess(reference.stat().st_size, 100)

    def test_a_preempted_training_ends_with_the_weights_of_an_uninterrupted_one(self):
        self.check_ends_like_uninterrupted(TRAINING, 9, 24)

    def test_a_preemption_after_a_validation_repeats_none(self):
        self.check_ends_like_uninterrupted(TRAINING, 8, 24)

    def test_a_preemption_waits_for_the_step_of_accumulated_gradients(self):
        self.check_ends_like_uninterrupted({**TRAINING, "accumulate_grad_batches": 3}, 2, 8)

    def test_a_preemption_at_the_last_step_lets_the_program_finish(self):
        self.assertIn("rank 0: 24 steps", self.train(**self.preempt_at(24)))
        self.assertEqual(self.records(0, "acknowledgement"), [])

    def test_lightnings_own_requeue_is_switched_off(self):
        self.assertIn("own requeue False", self.train())

    def test_the_searcher_ends_the_training(self):
        self.begin(searcher={"name": "single", "metric": "val_loss", "max_length": {"batches": 10}})
        self.assertIn("rank 0: 10 steps", self.train())
        self.begin(searcher={"name": "single", "metric": "val_loss", "max_length": {"epochs": 1}})
        self.assertIn("rank 0: 12 steps", self.train())

    def test_a_training_that_is_shorter_than_the_searcher_wants_is_refused(self):
        self.begin(searcher={"name": "single", "metric": "val_loss", "max_length": {"batches": 25}})
        self.assertIn("hint: pass Trainer(max_steps=25)", self.fail_to_train())

    def test_a_length_in_records_has_no_effect_and_says_so(self):
        self.begin(searcher={"name": "single", "metric": "val_loss", "max_length": {"records": 8}})
        printed = self.train()
        self.assertIn("searcher.max_length has no effect here: 8 records can't be converted to steps", printed)
        self.assertIn("rank 0: 24 steps", printed)

    def test_a_search_gets_its_metric_from_the_first_validation_after_a_rung(self):
        searcher = {"name": "async_halving", "metric": "val_loss", "max_length": {"batches": 24}, "max_trials": 4,
                    "num_rungs": 2, "divisor": 4}  # fmt: skip
        self.begin(searcher=searcher)
        self.train()
        metrics = {steps: each["val_loss"] for steps, each in self.reports("validation")}
        completed = [(each["length"], each["metric"]) for each in self.records(0, "operation-completed")]
        self.assertEqual([length for length, _ in completed], [6, 24])
        for (_, metric), step in zip(completed, (8, 24)):
            self.assertAlmostEqual(metric, metrics[step], places=6)
        self.begin(searcher={**searcher, "metric": "accuracy"})
        self.assertIn("the search needs the metric 'accuracy' at step 8", self.fail_to_train())

    def test_a_search_whose_training_ends_without_a_validation_fails(self):
        searcher = {"name": "async_halving", "metric": "val_loss", "max_length": {"batches": 24}, "max_trials": 4,
                    "num_rungs": 2, "divisor": 4}  # fmt: skip
        self.begin(searcher=searcher)
        self.assertIn("the search needs the metric 'val_loss' at step 24", self.fail_to_train({**TRAINING, "limit_val_batches": 0}))

    def test_a_second_training_of_a_search_goes_on_at_its_rung(self):
        searcher = {"name": "async_halving", "metric": "val_loss", "max_length": {"batches": 24}, "max_trials": 4,
                    "num_rungs": 2, "divisor": 4}  # fmt: skip
        self.begin(searcher=searcher)
        self.train(TEST_FITS_AGAIN="1")
        self.assertEqual([each["length"] for each in self.records(0, "operation-completed")], [6, 24])

    def test_a_training_of_unknown_length_is_ended_by_the_searcher(self):
        self.begin(searcher={"name": "single", "metric": "val_loss", "max_length": {"batches": 10}})
        self.assertIn("rank 0: 10 steps", self.train(TEST_WITHOUT_LENGTH="1"))

    def test_a_training_that_is_to_stop_and_goes_on_to_min_steps_is_preempted(self):
        arguments = {**TRAINING, "min_steps": 20}
        self.train(arguments, TEST_STOP_AT_ONCE="1", **self.preempt_at(9))
        self.assertEqual(len(self.records(0, "acknowledgement")), 1)
        self.assertEqual(self.resume(), 9)

    def test_what_is_overwritten_is_deleted_and_weights_alone_are_a_file(self):
        printed = self.train(TEST_SAVES_TWICE="1")
        self.assertIn("only ['epoch', 'global_step', 'hparams_name', 'hyper_parameters', 'pytorch-lightning_version', 'state_dict']", printed)
        self.assertEqual([steps for _, steps in self.checkpoints()], [6, 12, 18, 24, 24, 24])
        self.assertEqual(self.stored(), [24, 24])

    def test_pickled_objects_of_an_unknown_user_are_not_loaded(self):
        (printed,) = self.run_ranks(
            """
            import fractions, torch
            from unittest import mock
            from determined.lightning import DetCheckpointIO
            with det.core.init() as context:
                io = DetCheckpointIO(context)
                for content in ({"a": 1}, {"a": fractions.Fraction(1, 2)}):
                    with context.checkpoint.store_path({"steps_completed": 5}) as (path, uuid):
                        torch.save(content, path / "lightning.ckpt")
                    print(io.load_checkpoint(uuid))
                    # As in a storage whose files have no owners, and of another trial:
                    handle = mock.patch.object(type(context.checkpoint._handle()), "checkpoint_directory", return_value=None)
                    saves = mock.patch.object(type(context.checkpoint._saves()), "list_loadable", return_value=[])
                    with handle, saves:
                        try:
                            print(io.load_checkpoint(uuid))
                        except det.errors.InvalidCheckpointException as error:
                            print("refused:", error)
            """
        )
        lines = printed.splitlines()
        self.assertEqual(lines[:3], ["{'a': 1}", "{'a': 1}", "{'a': Fraction(1, 2)}"])
        self.assertRegex(lines[3], "^refused: checkpoint .* has pickled objects, which can run code")

    def test_what_a_run_before_has_saved_is_deleted_too(self):
        self.train(**self.preempt_at(9))
        first = self.stored()
        self.resume()
        (reference,) = pathlib.Path(self.directory, "files/lightning/line").glob("*/checkpoints/step=6.ckpt")
        self.run_ranks(
            f"""
            from determined.lightning import DetCheckpointIO
            with det.core.init() as context:
                io = DetCheckpointIO(context)
                state = {{"optimizer_states": [], "global_step": 10}}
                io.save_checkpoint(state, {self.directory!r} + "/other.ckpt")
                io.remove_checkpoint({str(reference)!r})
                io.save_checkpoint(state, {self.directory!r} + "/last.ckpt")
                io.teardown()
            """
        )
        self.assertEqual(first, [6, 9])
        self.assertEqual(self.stored(), [9, 10, 10])

    def test_a_trainer_without_a_checkpoint_io_is_refused(self):
        self.assertIn("hint: pass Trainer(plugins=[DetCheckpointIO(core_context)])", self.fail_to_train(TEST_WITHOUT_IO="1"))


class TwoRanks(LightningCase):
    slots = 2

    def test_the_example_trains(self):
        self.begin(searcher={"name": "single", "metric": "val_loss", "max_length": {"epochs": 10}})
        shutil.copy(EXAMPLE, self.code)
        self.finish_ranks(self.start_ranks(EXAMPLE.name))
        losses = [metrics["val_loss"] for _, metrics in self.reports("validation")]
        self.assertEqual([steps for steps, _ in self.reports("validation")], list(range(256, 2561, 256)))
        self.assertLess(losses[-1], 1e-3)

    def test_ranks_that_would_train_alone_are_refused(self):
        printed = self.fail_to_train({**TRAINING, "devices": 1})
        self.assertIn("Lightning has 1 ranks, and the trial has 2", printed)

    def test_a_preempted_training_ends_with_the_weights_of_an_uninterrupted_one(self):
        self.check_ends_like_uninterrupted(TRAINING, 9, 24)
        self.assertEqual({each.get("rank", 0) for each in self.rank_metrics()}, {0})
        self.assertEqual([steps for steps in self.stored() if steps > 10], [24, 24])  # 12 and 18 were removed


if __name__ == "__main__":
    unittest.main()
