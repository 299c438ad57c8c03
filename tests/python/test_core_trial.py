"""Tests the Core API in a run of an experiment, without Slurm."""

import json
import os

from support import BUILD, RunCase, finish, start_ranks


FAKE_TORCH = """
import types
events = []
cuda = types.SimpleNamespace(is_initialized=lambda: USES_GPU, synchronize=lambda: events.append("sync"))
with det.core.init(distributed=connect()) as context:
    with context.profiler.span("before torch is imported"):
        events.append("load")
    sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
    with context.profiler.span("step"):
        events.append("step")
print(events)
"""


class ProfiledTrial(RunCase):
    config = {**RunCase.config, "profiling": {"enabled": True}}

    def test_spans_wait_for_the_gpu(self):
        out = self.run_ranks(FAKE_TORCH.replace("USES_GPU", "True"), 2)
        self.assertEqual(out, ["['load', 'sync', 'step', 'sync']\n"] * 2)

    def test_spans_of_a_program_without_a_gpu_do_not_wait(self):
        out = self.run_ranks(FAKE_TORCH.replace("USES_GPU", "False"), 2)
        self.assertEqual(out, ["['load', 'step']\n"] * 2)


class ProfiledTrialWithoutSynchronisation(RunCase):
    config = {**RunCase.config, "profiling": {"enabled": True, "sync_timings": False}}

    def test_spans_do_not_wait_for_the_gpu(self):
        out = self.run_ranks(FAKE_TORCH.replace("USES_GPU", "True"), 2)
        self.assertEqual(out, ["['load', 'step']\n"] * 2)


class DebuggedTrial(RunCase):
    config = {**RunCase.config, "debug": True, "data": {"path": "/d"}}

    def test_debug_shows_the_messages_of_the_package(self):
        out = self.run_ranks(
            """
            import logging
            with det.core.init(distributed=connect()) as context:
                print(logging.getLogger("determined.core").getEffectiveLevel(), logging.getLogger("mine").getEffectiveLevel())
            """
        )
        self.assertEqual(out, ["10 30\n"])

    def test_the_programs_data_is_given_to_it(self):
        self.run_ranks("assert det.get_cluster_info().user_data == {'path': '/d'}")


class Trial(RunCase):
    def test_a_report_above_16_mib_is_a_value_error_and_later_reports_are_written(self):
        self.run_ranks(
            """
            with det.core.init(distributed=connect()) as context:
                too_large = [0.12345678901234567] * 1_200_000
                for report in (
                    lambda: context.train.report_training_metrics(1, {"list": too_large}),
                    lambda: context.train.report_validation_metrics(1, {"a" * 200 + str(i): i for i in range(100_000)}),
                    lambda: context.train.set_metadata({"list": too_large}),
                    lambda: context.train.set_status("x" * (16 << 20)),
                ):
                    try:
                        report()
                    except ValueError as problem:
                        assert "at most 16777216 (16 MiB) are possible" in str(problem), problem
                    else:
                        raise AssertionError("accepted")
                context.train.report_training_metrics(2, {f"name {i}": i for i in range(100_000)})
                context.train.report_training_metrics(3, {"loss": 0.5})
            """
        )
        metrics = self.records(kind="metrics")
        self.assertEqual([len(record["metrics"]) for record in metrics], [100_000, 1])
        self.assertEqual(metrics[1]["steps_completed"], 3)

    def test_the_chief_reports_into_the_journal(self):
        self.run_ranks(
            """
            import math
            class Scalar:  # as numpy's
                def item(self): return 0.25
            with det.core.init(distributed=connect()) as context:
                context.train.report_training_metrics(1, {"loss": 0.5, "bad": math.nan, "scalar": Scalar()})
                context.train.report_validation_metrics(2, {"loss": 0.75, "raw": b"bytes"})
                context.train.report_validation_metrics(3, {"loss": 0.25})
                context.train.report_metrics("inference", 4, {"rate": [1, 2]})
                context.train.report_progress(0.5)
                context.train.set_status("warming up")
                context.alert("careful", "the loss is NaN", "warn")
                assert context.train.set_metadata({"a": {"b": 1}}) == {"a": {"b": 1}}
                context.distributed.allgather(None)
                assert context.train.get_metadata() == {"a": {"b": 1}}
                if context.distributed.rank == 0:  # writes the chief's reports first
                    assert context.train.get_experiment_best_validation() == 0.25
                means = context.train.report_mean_metrics("mean", 5, {"rank": context.distributed.rank, "one": 1})
                assert means == {"rank": 0.5, "one": 1}, means
                assert context.train.get_experiment_best_validation() == 0.25
                assert context.train.get_tensorboard_path().is_dir()
                assert context.searcher.get_configured_units() is det.core.Unit.BATCHES
            """,
            2,
        )
        metrics = self.records(kind="metrics")
        self.assertEqual([each["group"] for each in metrics], ["training", "validation", "validation", "inference", "mean"])
        self.assertEqual(metrics[4]["metrics"], {"rank": 0.5, "one": 1})
        self.assertEqual(metrics[0]["metrics"], {"loss": 0.5, "bad": "NaN", "scalar": 0.25})
        self.assertEqual(metrics[1]["metrics"], {"loss": 0.75})
        self.assertEqual(self.records(kind="progress")[0]["progress"], 0.5)
        self.assertEqual(self.records(kind="status")[0]["status"], "warming up")
        self.assertEqual(self.records(kind="alert")[0]["level"], "warn")

    def test_metrics_of_all_ranks_are_recorded_with_their_rank(self):
        # As Determined's example unmanaged/3_torch_distributed.py: the ranks report in turn.
        self.run_ranks(
            """
            with det.core.init(distributed=connect()) as context:
                for step in range(100):
                    if step % size == rank:
                        context.train.report_training_metrics(step, {"loss": 1 / (step + 1), "rank": rank})
                        if (step + 1) % 10 == 0:
                            context.train.report_validation_metrics(step, {"loss": step, "note": "x"})
                    context.distributed.allgather(None)
                context.train.report_training_metrics(100, {"loss": 0})  # the same step on each rank
                context.train.report_progress(1.0)
            """,
            2,
        )
        metrics = self.rank_metrics()
        self.assertEqual([each["group"] for each in metrics].count("validation"), 10)
        training = [each for each in metrics if each["group"] == "training"]
        self.assertEqual(sorted(each["steps_completed"] for each in training), list(range(100)) + [100, 100])
        for each in training[:100]:
            self.assertEqual(each.get("rank", 0), each["metrics"]["rank"])
        self.assertEqual(sorted(each.get("rank", 0) for each in training[100:]), [0, 1])
        self.assertEqual({each["rank"] for each in metrics if each["group"] == "validation"}, {1})

    def test_a_number_of_batches_that_is_out_of_range_is_refused(self):
        self.run_ranks(
            """
            import math
            def refuses(value, call):
                try:
                    call()
                except ValueError as problem:
                    assert "steps_completed" in str(problem) and str(value) in str(problem), problem
                    return
                raise SystemExit(f"{value} was accepted")
            with det.core.init(distributed=connect()) as context:
                train, checkpoint = context.train, context.checkpoint
                def store(steps, shard):
                    with checkpoint.store_path({"steps_completed": steps}, shard=shard) as (path, _):
                        (path / f"weights-{rank}").write_text("1")
                for steps in (-1, 2**64, 2**63, math.nan, "many"):
                    refuses(steps, lambda: train.report_training_metrics(steps, {"loss": 1}))
                    refuses(steps, lambda: train.report_validation_metrics(steps, {"loss": 1}))
                    refuses(steps, lambda: train.report_metrics("own", steps, {"loss": 1}))
                    refuses(steps, lambda: train.report_mean_metrics("own", steps, {"loss": 1}))
                    refuses(steps, lambda: context.searcher.batches_left(steps))
                    refuses(steps, lambda: store(steps, True))
                    refuses(steps, lambda: store(steps if rank == 1 else 3, True))
                    refuses(steps, lambda: checkpoint.upload(os.environ["HOME"] + "/node", {"steps_completed": steps}, shard=True))
                    if rank == 0:
                        refuses(steps, lambda: store(steps, False))
                train.report_training_metrics(3.0, {"loss": 1})
            """,
            2,
        )
        self.assertEqual([each["steps_completed"] for each in self.records(kind="metrics")], [3])
        self.assertEqual(self.records(kind="checkpoint"), [])

    def test_several_slots_need_a_distributed_context(self):
        self.run_ranks(
            """
            try:
                det.core.init()
                raise SystemExit("init() needs no DistributedContext")
            except ValueError as problem:
                assert "multi-slot" in str(problem)
            """
        )

    def test_a_program_knows_its_trial(self):
        self.run_ranks(
            """
            info = det.get_cluster_info()
            assert info.trial.trial_id == 7000000 and info.trial.trial_seed == 11 and info.latest_checkpoint is None
            assert info.container_addrs == ["n0"] and info.slot_ids == [0, 1] and info.task_type == "TRIAL"
            """
        )

    def test_the_first_local_rank_samples_while_the_profiler_is_on(self):
        script = """
            with det.core.init(distributed=connect()) as context:
                context.profiler.on(sampling_interval=1, samples_per_report=10)
                context.profiler.on()
                context.profiler.off()
                context.profiler.off()
            """
        log = os.path.join(self.directory, "node-0.log")
        metrics = os.path.join(self.directory, "node-0.metrics")
        self.run_ranks(script, 2, DET_RANK_LOG=log, DET_PROFILING="1")
        self.assertFalse(os.path.exists(metrics))  # with DET_PROFILING the node's wrapper samples instead
        self.run_ranks(script, 2, DET_RANK_LOG=log)
        with open(metrics, "rb") as file:
            self.assertIn(b"memory_free", file.read())

    def test_spans_are_summed_and_reported(self):
        self.run_ranks(
            """
            import time
            with det.core.init(distributed=connect()) as context:
                for step in range(3):
                    with context.profiler.span("load"):
                        time.sleep(0.001)
                context.train.report_training_metrics(3, {"loss": 0.5})
            """,
            2,
        )
        training, timing = self.records(kind="metrics")
        self.assertEqual([timing["group"], timing["steps_completed"]], ["timing", 3])
        self.assertEqual(timing["metrics"]["load.count"], 3)
        self.assertGreaterEqual(timing["metrics"]["load.total_s"], 0.003)
        self.assertGreaterEqual(timing["metrics"]["load.max_s"], 0.001)

    def test_spans_of_a_trial_that_is_not_profiled_do_not_wait_for_the_gpu(self):
        out = self.run_ranks(FAKE_TORCH.replace("USES_GPU", "True"), 2)
        self.assertEqual(out, ["['load', 'step']\n"] * 2)

    def test_the_core_api_may_be_entered_several_times(self):
        self.run_ranks(
            """
            for step in range(3):
                with det.core.init(distributed=connect()) as context:
                    context.train.report_training_metrics(step, {"loss": step})
            """,
            2,
        )
        self.assertEqual([each["steps_completed"] for each in self.records(kind="metrics")], [0, 1, 2])

    def test_invalid_hyperparameters_are_recorded(self):
        self.run_ranks(
            """
            with det.core.init(distributed=connect()) as context:
                raise det.InvalidHP("too deep")
            """,
            2,
        )
        self.assertEqual([each["reason"] for each in self.records(kind="early-exit")], ["INVALID_HP"])

    def test_a_preempted_training_continues_from_its_checkpoint(self):
        training = """
            import time
            info = det.get_cluster_info()
            with det.core.init(distributed=connect()) as context:
                step = 0
                if info.latest_checkpoint:
                    with context.checkpoint.restore_path(info.latest_checkpoint) as path:
                        step = int((path / "step").read_text())
                print("begins at", step, flush=True)
                last = step + int(os.environ["STEPS"])
                while step < last:
                    step += 1
                    time.sleep(0.01)
                    if context.preempt.should_preempt():
                        if rank == 0:
                            with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                                (path / "step").write_text(str(step))
                        print("stops at", step)
                        break
        """
        processes = start_ranks(training, 2, STEPS="100000", **self.variables)
        for process in processes:
            self.assertEqual(process.stdout.readline(), "begins at 0\n")
        self.control("raise")
        results = finish(processes)
        self.assertEqual([code for code, _, _ in results], [0, 0], results[0][2] + results[1][2])
        self.assertEqual(results[0][1], results[1][1])  # all stop at the same step
        stopped_at = int(results[0][1].split()[-1])
        self.assertEqual(len(self.records(kind="acknowledgement")), 1)
        (committed,) = self.records(kind="checkpoint")
        self.assertEqual(committed["metadata"], {"steps_completed": stopped_at})
        self.control("again", committed["uuid"])
        self.join_run(1)
        printed = self.run_ranks(training, 2, STEPS="3")
        self.assertEqual(printed, [f"begins at {stopped_at}\n"] * 2)

    def test_the_acknowledgement_may_be_left_to_the_program(self):
        self.control("raise")
        self.run_ranks(
            """
            with det.core.init(distributed=connect()) as context:
                context.preempt.should_preempt(auto_ack=False)
                assert context.preempt.should_preempt(auto_ack=False)
            """,
            2,
        )
        self.assertEqual(self.records(kind="acknowledgement"), [])


# A published script that uses the older API, unchanged.
OLD_SCRIPT = """
import warnings
warnings.simplefilter("ignore")
def main(core_context):
    steps_completed = int(os.environ.get("STEPS", "0"))
    for op in core_context.searcher.operations():
        while steps_completed < op.length:
            steps_completed += 1
            if core_context.distributed.get_rank() == 0:
                op.report_progress(steps_completed)
            if core_context.preempt.should_preempt():
                print("stops at", steps_completed)
                return
        if core_context.distributed.get_rank() == 0:
            op.report_completed(1 / steps_completed)
        print("completed", op.length)
with det.core.init(distributed=connect()) as core_context:
    main(core_context)
"""


class Operations(RunCase):
    config = {
        "searcher": {"name": "async_halving", "metric": "loss", "max_trials": 9, "max_length": {"batches": 9},
                     "num_rungs": 3, "divisor": 3}
    }

    def test_a_script_of_the_older_api_trains_up_to_each_rung(self):
        self.assertEqual(self.run_ranks(OLD_SCRIPT, 2), ["completed 1\ncompleted 3\ncompleted 9\n"] * 2)
        completed = self.records(kind="operation-completed")
        self.assertEqual([each["length"] for each in completed], [1, 3, 9])
        self.assertEqual([each["metric"] for each in completed], [1, 1 / 3, 1 / 9])
        self.assertEqual(self.records(kind="progress")[-1]["progress"], 1)
        self.assertEqual(self.records(kind="acknowledgement"), [])

    def test_a_preempted_script_of_the_older_api_continues_with_its_operation(self):
        # After a notice operations() does not begin the next operation.
        self.run_ranks(
            """
            import subprocess, warnings
            warnings.simplefilter("ignore")
            with det.core.init(distributed=connect()) as context:
                for op in context.searcher.operations():
                    assert op.length == 1
                    if rank == 0:
                        subprocess.run([os.environ["TEST_RUN"], "raise", os.environ["HOME"]], check=True)
                        op.report_completed(1)
            """,
            2,
            TEST_RUN=f"{BUILD}/tests/test_run",
        )
        self.assertEqual(len(self.records(kind="acknowledgement")), 1)
        self.control("again")
        self.join_run(1)
        self.assertEqual(self.run_ranks(OLD_SCRIPT, 2, STEPS="1"), ["completed 3\ncompleted 9\n"] * 2)
        self.assertEqual([each["length"] for each in self.records(1, "operation-completed")], [3, 9])

    def test_the_end_of_the_operations_may_be_acknowledged_by_the_program(self):
        self.control("raise")
        self.run_ranks(
            """
            import warnings
            warnings.simplefilter("ignore")
            from determined.core import SearcherMode
            with det.core.init(distributed=connect()) as context:
                if rank == 0:
                    assert not list(context.searcher.operations(SearcherMode.ChiefOnly, auto_ack=False))
                else:
                    try:
                        context.searcher.operations(SearcherMode.ChiefOnly)
                        raise SystemExit("a worker may ask")
                    except RuntimeError as problem:
                        assert "ChiefOnly" in str(problem) and "rank=1" in str(problem)
            """,
            2,
        )
        self.assertEqual(self.records(kind="acknowledgement"), [])
        self.run_ranks(
            """
            import warnings
            warnings.simplefilter("ignore")
            with det.core.init(distributed=connect()) as context:
                assert not list(context.searcher.operations(auto_ack=False))
                context.searcher.acknowledge_out_of_ops()
            """,
            2,
        )
        self.assertEqual(len(self.records(kind="acknowledgement")), 1)

    def test_misuses_are_errors(self):
        self.run_ranks(
            """
            import warnings
            warnings.simplefilter("ignore")
            def refuses(call, *words):
                try:
                    call()
                except RuntimeError as problem:
                    assert all(word in str(problem) for word in words), problem
                else:
                    raise SystemExit(f"no error about {words}")
            with det.core.init(distributed=connect()) as context:
                operations = context.searcher.operations()
                op = next(operations)
                refuses(lambda: next(operations), "report_completed")  # on every rank
                if rank == 0:
                    op.report_progress(-1)
                    op.report_progress(100)
                    op.report_completed(float("nan"))
                    refuses(lambda: op.report_completed(1), "op.report_completed()", "twice")
                    refuses(lambda: op.report_progress(1), "op.report_progress()", "after")
                else:
                    refuses(lambda: op.report_completed(1), "op.report_completed()", "chief")
                    refuses(lambda: op.report_progress(1), "op.report_progress()", "chief")
            """,
            2,
        )
        self.assertEqual([each["progress"] for each in self.records(kind="progress")], [0, 1 / 9])
        self.assertEqual([each["metric"] for each in self.records(kind="operation-completed")], [None])


class Epochs(RunCase):
    config = {
        "searcher": {"name": "single", "metric": "loss", "max_length": {"epochs": 3}},
        "records_per_epoch": 100,
        "hyperparameters": {"global_batch_size": 32},
    }

    def test_a_program_asks_how_many_batches_are_left(self):
        self.run_ranks(
            """
            with det.core.init(distributed=connect()) as context:
                left = context.searcher.batches_left
                assert [left(0), left(9), left(10), left(11)] == [10, 1, 0, 0]
                assert context.searcher.get_configured_units() is det.core.Unit.EPOCHS
            """,
            2,
        )


class WithoutMaxLength(RunCase):
    config = {"searcher": {"name": "single", "metric": "loss"}}

    def test_there_are_no_searcher_operations(self):
        self.run_ranks(
            """
            with det.core.init(distributed=connect()) as context:
                try:
                    context.searcher.operations()
                    raise SystemExit("there are operations")
                except ValueError as problem:
                    assert "max_length" in str(problem)
                assert context.searcher.batches_left(0) is None
            """,
            2,
        )


del RunCase
