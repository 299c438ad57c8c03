"""determined.transformers with the real package, which Debian has from sid on (5.12.1 there). Skipped where it is missing."""

import importlib.util
import json
import pathlib
import shutil
import unittest

if any(importlib.util.find_spec(name) is None for name in ("transformers", "accelerate")):
    raise unittest.SkipTest("the packages transformers and accelerate are not installed")

from test_kept_state import OneJob  # noqa: E402  needs torch
from trial_support import TrialCase  # noqa: E402

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "templates/examples/transformers/train.py"
PROGRAM = pathlib.Path(__file__).resolve().parent / "transformers_training.py"
BY_STEPS = {
    "logging_steps": 4, "eval_strategy": "steps", "eval_steps": 8, "save_steps": 8, "max_steps": 24
}  # fmt: skip
BY_EPOCHS = {
    "logging_strategy": "epoch", "eval_strategy": "epoch", "save_strategy": "epoch", "num_train_epochs": 3
}  # fmt: skip


BEST = {
    "load_best_model_at_end": True, "metric_for_best_model": "eval_loss", "greater_is_better": True, "save_total_limit": 1
}  # fmt: skip


class TrainingCase(OneJob, TrialCase):
    """Epochs have 16 steps on one rank, and 8 on two."""

    config = {"searcher": {"name": "single", "metric": "eval_loss", "max_length": {"batches": 24}}}

    def setUp(self):
        super().setUp()
        shutil.copy(PROGRAM, self.code)

    def begin(self, **more):
        self.new_run(**more)
        shutil.copy(PROGRAM, self.code)

    def run_program(self, arguments, **more):
        # Debian's torch has no libuv; det-launch sets this variable in a job.
        return self.start_ranks(PROGRAM.name, TEST_ARGUMENTS=json.dumps(arguments), USE_LIBUV="0", **more)

    def train(self, arguments, **more):
        return self.finish_ranks(self.run_program(arguments, **more))

    def steps(self, group):
        return [steps for steps, _ in self.reports(group)]

    def weights(self):
        uuid, steps = self.checkpoints()[-1]
        directory = pathlib.Path(self.directory, "checkpoints", uuid, f"checkpoint-{steps}")
        return (directory / "model.safetensors").read_bytes()

    def final_weights(self, printed):
        return next(line for line in printed[0].splitlines() if line.startswith("final weights"))

    def check_ends_like_uninterrupted(self, arguments, preempted_at, steps):
        """Trains with and without a preemption at a step, and compares weights and validations."""
        self.begin()
        self.train(arguments)
        weights, validations = self.weights(), dict(self.reports("validation"))
        self.begin()
        printed = self.train(arguments, **self.preempt_at(preempted_at))
        self.assertNotIn("has trained", "".join(printed))  # the program ends inside of Trainer.train()
        self.assertEqual(len(self.records(0, "acknowledgement")), 1)
        # Several ranks agree at the next step or the one after it.
        self.assertIn(self.resume(), range(preempted_at, preempted_at + self.slots))
        shutil.rmtree(self.code / "output")  # as on another node
        printed = self.train(arguments)
        for rank in range(self.slots):
            self.assertIn(f"rank {rank} has trained {steps} steps", "".join(printed))
        self.assertEqual(self.records(1, "acknowledgement"), [])
        self.assertEqual(self.weights(), weights)
        reports = self.reports("validation")
        self.assertEqual(len(reports), len(validations))  # each once
        self.assertEqual({steps: each["eval_loss"] for steps, each in reports},
                         {steps: each["eval_loss"] for steps, each in validations.items()})  # fmt: skip


    def check_continues_from_memory(self, arguments, killed_at):
        """Kills a training after a step, and compares weights and validations of the next run with an undisturbed training."""
        whole, validations = self.final_weights(self.train(arguments)), self.reports("validation")
        self.begin(slurm={"memory_checkpoints": {"every": 1}})
        self.fail_ranks(self.run_program(arguments, TEST_KILL_AT=str(killed_at)))
        self.assertEqual(self.resume(), 8)  # the newest checkpoint
        shutil.rmtree(self.code / "output")
        printed = self.train(arguments)
        self.assertIn(f"continuing from the state of step {killed_at} in the memory", printed[0])
        self.assertEqual(self.final_weights(printed), whole)
        self.assertEqual([(steps, each["eval_loss"]) for steps, each in self.reports("validation")],
                         [(steps, each["eval_loss"]) for steps, each in validations])  # fmt: skip
        self.assertEqual(list((self.code / "output").glob("kept-in-memory*")), [])


class AnyNumberOfRanks:
    """Tests for one rank and for two."""

    def test_a_preempted_training_ends_with_the_weights_of_an_uninterrupted_one(self):
        self.check_ends_like_uninterrupted(BY_STEPS, 11, 24)

    def test_the_best_model_is_loaded_also_if_a_run_before_has_saved_it(self):
        # The loss falls, so the first evaluation is the best one.
        arguments = {**BY_STEPS, **BEST}
        whole = self.final_weights(self.train(arguments))
        self.begin()
        self.train(arguments, **self.preempt_at(19))
        self.assertIn(self.resume(), range(19, 19 + self.slots))
        shutil.rmtree(self.code / "output")
        self.assertEqual(self.final_weights(self.train(arguments, TEST_OUTPUT="other")), whole)


    def test_a_killed_training_continues_from_the_memory_of_its_node(self):
        self.check_continues_from_memory({**BY_STEPS, **BEST}, 15)


class OneRank(AnyNumberOfRanks, TrainingCase):
    slots = 1

    def test_metrics_and_checkpoints_of_the_trainer_are_those_of_the_trial(self):
        self.train(BY_STEPS, TEST_EVALUATES="1")
        self.assertEqual(self.steps("training"), [4, 8, 12, 16, 20, 24])
        self.assertEqual(self.steps("validation"), [8, 16, 24])  # evaluate() after the training repeats the last one
        self.assertEqual([steps for _, steps in self.checkpoints()], [8, 16, 24])
        _, first = self.reports("training")[0]
        self.assertLessEqual({"loss", "learning_rate", "grad_norm", "epoch"}, set(first))
        _, last = self.reports("validation")[-1]
        self.assertLessEqual({"eval_loss", "epoch"}, set(last))

    def test_a_state_is_kept_after_the_log_of_its_step(self):
        self.check_continues_from_memory(BY_STEPS, 12)

    def test_no_state_is_kept_that_would_not_be_whole(self):
        self.begin(slurm={"memory_checkpoints": {"every": 1}})
        printed = self.train({**BY_STEPS, "restore_callback_states_from_checkpoint": True})
        self.assertEqual(printed[0].count("no state is kept in memory with restore_callback_states_from_checkpoint"), 1)
        self.assertEqual(self.kept_files(), [])

    def test_the_files_of_a_checkpoint_are_copied_while_the_training_goes_on(self):
        printed = self.train({**BY_STEPS, "save_total_limit": 1})
        for step in (8, 16, 24):
            self.assertRegex(printed[0], f"step {step}: [12] being written")
        self.assertEqual([steps for _, steps in self.checkpoints()], [8, 16, 24])
        for uuid, steps in self.checkpoints():
            stored = pathlib.Path(self.directory, "checkpoints", uuid, f"checkpoint-{steps}")
            self.assertLessEqual({"model.safetensors", "optimizer.pt", "trainer_state.json"}, {each.name for each in stored.iterdir()})
            own = self.code / "output" / stored.name
            self.assertEqual(own.is_dir(), steps == 24)  # the Trainer keeps the last one only
            if own.is_dir():
                for file in own.iterdir():
                    self.assertEqual((stored / file.name).read_bytes(), file.read_bytes(), file.name)
        self.assertEqual(list((self.code / "output/.det-uploads").iterdir()), [])

    def test_a_preemption_at_an_evaluation_loses_no_validation(self):
        self.check_ends_like_uninterrupted(BY_STEPS, 8, 24)

    def test_a_preemption_at_the_end_of_an_epoch_comes_after_its_evaluation(self):
        self.config = {"searcher": {"name": "single", "metric": "eval_loss", "max_length": {"epochs": 3}}}
        self.check_ends_like_uninterrupted(BY_EPOCHS, 32, 48)

    def test_a_preemption_at_the_last_step_lets_the_program_finish(self):
        printed = self.train(BY_STEPS, **self.preempt_at(24))
        self.assertIn("rank 0 has trained 24 steps", "".join(printed))
        self.assertEqual(self.records(0, "acknowledgement"), [])

    def test_a_preemption_where_another_callback_ends_the_training_lets_the_program_finish(self):
        printed = self.train(BY_STEPS, TEST_STOP_AT="11", **self.preempt_at(11))
        self.assertIn("rank 0 has trained 11 steps", "".join(printed))
        self.assertEqual(self.records(0, "acknowledgement"), [])

    def test_a_preemption_at_the_evaluation_that_ends_the_training_lets_the_program_finish(self):
        printed = self.train(BY_STEPS, TEST_EVALUATION_STOPS_AT="8", **self.preempt_at(8))
        self.assertIn("rank 0 has trained 8 steps", "".join(printed))
        self.assertEqual(self.records(0, "acknowledgement"), [])

    def test_checkpoints_without_an_optimizer_are_refused(self):
        printed = self.fail_ranks(self.run_program({**BY_STEPS, "save_only_model": True}))
        self.assertIn("hint: leave save_only_model out", "".join(printed))

    def test_nodes_that_share_output_dir_write_the_state_of_the_best_checkpoint_at_once(self):
        arguments = {**BY_STEPS, "load_best_model_at_end": True, "metric_for_best_model": "eval_loss"}
        self.train(arguments, **self.preempt_at(19))
        self.resume()
        printed = self.train(arguments, TEST_OTHER_NODE="1")
        self.assertIn("rank 0 has trained 24 steps", "".join(printed))

    def test_a_preemption_saves_also_where_the_trainer_saves_nothing(self):
        arguments = {**BY_STEPS, "save_strategy": "no"}
        self.train(arguments, **self.preempt_at(11))
        self.assertEqual(self.resume(), 11)

    def test_the_searcher_ends_a_longer_training_with_its_metric_and_a_checkpoint(self):
        self.begin(searcher={"name": "single", "metric": "eval_loss", "max_length": {"batches": 10}})
        printed = self.train(BY_STEPS)
        self.assertIn("rank 0 has trained 10 steps", "".join(printed))
        self.assertIn("the searcher ends the training at step 10", "".join(printed))
        self.assertEqual(self.steps("validation"), [8, 10])
        self.assertEqual([steps for _, steps in self.checkpoints()], [8, 10])

    def test_a_training_that_is_shorter_than_the_searcher_wants_is_refused(self):
        for length, wanted in (({"epochs": 2}, 32), ({"records": 97}, 25)):
            self.begin(searcher={"name": "single", "metric": "eval_loss", "max_length": length})
            printed = self.fail_ranks(self.run_program(BY_STEPS))
            self.assertIn(f"({wanted} steps of the optimizer), and the Trainer trains 24 steps", "".join(printed))
            self.assertIn(f"TrainingArguments(max_steps={wanted})", "".join(printed))

    def test_lengths_of_the_searcher_count_steps_of_the_optimizer(self):
        arguments = {**BY_STEPS, "gradient_accumulation_steps": 2}
        for length in ({"epochs": 3}, {"records": 192}, {"batches": 24}):
            self.begin(searcher={"name": "single", "metric": "eval_loss", "max_length": length})
            self.assertIn("rank 0 has trained 24 steps", "".join(self.train(arguments)))

    def test_a_training_without_max_length_reports_its_progress(self):
        self.begin(searcher={"name": "single", "metric": "eval_loss"})
        self.train(BY_STEPS)
        self.assertEqual(self.records(0, "progress")[-1]["progress"], 1.0)

    def test_a_search_gets_its_metric_at_each_rung(self):
        searcher = {"name": "async_halving", "metric": "eval_loss", "max_length": {"batches": 24}, "max_trials": 4,
                    "num_rungs": 2, "divisor": 4}  # fmt: skip
        self.begin(searcher=searcher)
        self.train({**BY_STEPS, "eval_strategy": "no"})
        completed = [(each["length"], each["metric"]) for each in self.records(0, "operation-completed")]
        validations = self.reports("validation")
        self.assertEqual([steps for steps, _ in validations], [6, 24])
        self.assertEqual(completed, [(steps, metrics["eval_loss"]) for steps, metrics in validations])

    def test_a_search_whose_metric_is_never_logged_fails_at_the_first_rung(self):
        searcher = {"name": "async_halving", "metric": "accuracy", "max_length": {"batches": 24}, "max_trials": 4,
                    "num_rungs": 2, "divisor": 4}  # fmt: skip
        self.begin(searcher=searcher)
        printed = self.fail_ranks(self.run_program(BY_STEPS))
        self.assertIn("the search needs the metric 'accuracy' at step 6", "".join(printed))

    def test_metrics_are_filtered_and_user_data_is_in_each_checkpoint(self):
        callback = {"filter_metrics": ["loss"], "user_data": {"tokenizer": "none"}}
        self.train(BY_STEPS, TEST_CALLBACK=json.dumps(callback))
        self.assertEqual(set(self.reports("training")[0][1]), {"loss", "epoch"})
        self.assertEqual(set(self.reports("validation")[0][1]), {"eval_loss", "epoch"})
        for uuid, steps in self.checkpoints():
            path = pathlib.Path(self.directory, "checkpoints", uuid, f"checkpoint-{steps}", "my_data.json")
            self.assertEqual(json.loads(path.read_text(encoding="utf-8")), {"tokenizer": "none"})

    def test_a_checkpoint_of_another_program_is_refused(self):
        self.run_ranks(
            """
            with det.core.init() as context:
                with context.checkpoint.store_path({"steps_completed": 5}) as (path, _):
                    (path / "weights").write_text("1")
            """
        )
        self.resume()
        printed = self.fail_ranks(self.run_program(BY_STEPS))
        self.assertRegex("".join(printed), "ValueError: checkpoint .* was not saved by a Trainer: it has no directory checkpoint-5")

    def test_off_the_cluster_nothing_is_uploaded(self):
        del self.variables["DET_RUN_DIR"], self.variables["DET_RUN_PATH"]
        self.assertIn("rank 0 has trained 24 steps", "".join(self.train(BY_STEPS)))
        self.assertTrue((self.code / "output/checkpoint-24").is_dir())
        self.assertFalse((pathlib.Path(self.directory) / ".local").exists())


class TwoRanks(AnyNumberOfRanks, TrainingCase):
    slots = 2

    def test_the_chief_reports_and_all_ranks_save(self):
        self.train(BY_STEPS)
        self.assertEqual({each.get("rank", 0) for each in self.rank_metrics()}, {0})
        steps = [each["steps_completed"] for each in self.rank_metrics() if each["group"] == "training"]
        self.assertEqual(steps, [4, 8, 12, 16, 20, 24])
        uuid, steps = self.checkpoints()[-1]
        files = {path.name for path in pathlib.Path(self.directory, "checkpoints", uuid, f"checkpoint-{steps}").iterdir()}
        self.assertLessEqual({"rng_state_0.pth", "rng_state_1.pth", "model.safetensors", "optimizer.pt"}, files)

    def test_the_example_trains(self):
        self.begin(hyperparameters={"max_steps": 100, "lr": 0.003}, searcher={**self.config["searcher"], "max_length": {"batches": 100}})
        shutil.copy(EXAMPLE, self.code)
        self.finish_ranks(self.start_ranks(EXAMPLE.name, USE_LIBUV="0"))
        self.assertEqual(self.steps("validation"), [50, 100])
        first, last = (metrics["eval_loss"] for _, metrics in self.reports("validation"))
        self.assertLess(last, first)

    def test_ranks_that_would_train_alone_are_refused(self):
        printed = self.fail_ranks(self.run_program({**BY_STEPS, "use_cpu": False}))
        self.assertIn("the Trainer has 1 ranks, and the trial has 2: each rank would train alone", "".join(printed))

    def test_a_length_in_records_counts_those_of_all_ranks(self):
        self.begin(searcher={"name": "single", "metric": "eval_loss", "max_length": {"records": 192}})
        self.assertIn("rank 1 has trained 24 steps", "".join(self.train(BY_STEPS)))


if __name__ == "__main__":
    unittest.main()
