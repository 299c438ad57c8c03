"""The Core API in a run of an experiment, without a Slurm."""

import json

from support import RunCase, finish, start_ranks


class Trial(RunCase):
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
                assert context.train.get_experiment_best_validation() == 0.25
                assert context.train.get_tensorboard_path().is_dir()
                assert context.searcher.get_configured_units() is det.core.Unit.BATCHES
            """,
            2,
        )
        metrics = self.records(kind="metrics")
        self.assertEqual([each["group"] for each in metrics], ["training", "validation", "validation", "inference"])
        self.assertEqual(metrics[0]["metrics"], {"loss": 0.5, "bad": "NaN", "scalar": 0.25})
        self.assertEqual(metrics[1]["metrics"], {"loss": 0.75})
        self.assertEqual(self.records(kind="progress")[0]["progress"], 0.5)
        self.assertEqual(self.records(kind="status")[0]["status"], "warming up")
        self.assertEqual(self.records(kind="alert")[0]["level"], "warn")

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
            """,
            2,
        )


del RunCase
