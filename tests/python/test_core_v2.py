"""Tests core_v2, the Core API as variables of a module."""

from support import RunCase


class CoreV2(RunCase):
    def test_a_program_that_is_started_by_hand_needs_a_config(self):
        del self.variables["DET_RUN_DIR"], self.variables["DET_RUN_PATH"]
        self.run_ranks(
            """
            from determined.experimental import core_v2
            try:
                core_v2.init()
                raise SystemExit("no config was needed")
            except ValueError as problem:
                assert "config" in str(problem)
            core_v2.init(config=core_v2.Config(name="mine", hparams={"lr": 1}))
            core_v2.train.report_training_metrics(steps_completed=1, metrics={"loss": 1})
            with core_v2.checkpoint.store_path({"steps_completed": 1}) as (path, storage_id):
                (path / "weights").write_text("1")
            assert storage_id in os.listdir(os.environ["HOME"] + "/.local/share/determined/checkpoints")
            assert not core_v2.preempt.should_preempt()
            assert core_v2.url_reverse_webui_exp_view() == f"file://{os.environ['HOME']}/.local/share/determined"
            core_v2.close()
            assert core_v2.train is None
            core_v2.close()
            """
        )

    def test_a_program_that_names_its_trial_continues_from_its_checkpoint(self):
        del self.variables["DET_RUN_DIR"], self.variables["DET_RUN_PATH"]
        script = """
            from determined.experimental import core_v2
            config = core_v2.Config(hparams={"lr": 1}, external_experiment_id="my/experiment", external_trial_id="NAME")
            core_v2.init(config=config, checkpoint_storage=os.environ["HOME"] + "/kept")
            assert core_v2.info._trial_info.hparams == {"lr": 1} and core_v2.info.container_addrs == ["127.0.0.1"]
            latest = core_v2.info.latest_checkpoint
            first = 0
            if latest is not None:
                with core_v2.checkpoint.restore_path(latest) as path:
                    first = int((path / "state").read_text())
            core_v2.profiler.on()
            for step in range(first + 1, first + 3):
                with core_v2.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                    (path / "state").write_text(str(step))
            print(first)
            core_v2.close()
            """
        firsts = [self.run_ranks(script.replace("NAME", name)) for name in ("..", "..", "other")]
        self.assertEqual(firsts, [["0\n"], ["2\n"], ["0\n"]])

    def test_in_a_trial_the_last_init_is_closed_at_the_end_of_the_program(self):
        self.run_ranks(
            """
            from determined.experimental import core_v2
            for step in range(2):
                core_v2.init(distributed=connect())
                core_v2.train.report_training_metrics(steps_completed=step, metrics={"loss": 1})
            assert core_v2.info.trial.trial_id == 7000000
            """,
            2,
        )
        self.assertEqual([each["steps_completed"] for each in self.records(kind="metrics")], [0, 1])


del RunCase
