"""Tests slurm.log_wandb with scripts that log by wandb, as they are published."""

import os
import pathlib
import signal
import subprocess
import sys

from support import BUILD, RunCase, environment_of, finish, start_ranks

TRAINING = """
import wandb

wandb.init(project="digits", name="baseline", config={"lr": 0.01, "epochs": 2, "architecture": "CNN"}, tags=["first"])
config = wandb.config
wandb.watch(object(), log="all", log_freq=10)
best = 0
for epoch in range(config.epochs):
    loss, accuracy = 1 / (epoch + 1), 0.5 * (epoch + 1)
    wandb.log({"epoch": epoch, "train/loss": loss, "val/acc": accuracy, "lr": config["lr"]})
    if accuracy > best:
        best = accuracy
        wandb.run.summary["best_accuracy"] = best
wandb.finish()
"""


class Wandb(RunCase):
    config = {
        **RunCase.config,
        "searcher": {"name": "single", "metric": "val/acc"},
        "hyperparameters": {"lr": 0.5, "layers": 3},
    }

    def setUp(self):
        super().setUp()
        files = pathlib.Path(self.directory, "files")
        files.mkdir()
        path = os.environ["PYTHONPATH"]
        self.variables.update(PYTHONPATH=f"{BUILD}/lib/det-submit/python-wandb:{path}", DET_TRIAL_DIR=str(files))

    def run_script(self, script, size=1, **more):
        return self.run_ranks("import os; os.chdir(os.environ['HOME'])\n" + script, size, **more)

    def metrics(self, run=0):
        return [(each["group"], each["steps_completed"], each["metrics"]) for each in self.records(run, "metrics")]

    def metadata(self, run=0):
        return self.records(run, "trial-metadata")[-1]["metadata"]

    def messages(self, script, **more):
        """Runs a script. Returns what it writes to standard error."""
        ((code, _, err),) = finish(start_ranks(script, 1, **{**self.variables, **more}))
        self.assertEqual(code, 0, err)
        return err

    def test_a_published_training_loop_reports_its_metrics(self):
        self.run_script(TRAINING)
        self.assertEqual(
            self.metrics(),
            [
                ("training", 0, {"epoch": 0, "train/loss": 1, "lr": 0.5}),
                ("validation", 0, {"val/acc": 0.5}),
                ("training", 1, {"epoch": 1, "train/loss": 0.5, "lr": 0.5}),
                ("validation", 1, {"val/acc": 1}),
            ],
        )
        kept = self.metadata()["wandb"]
        self.assertEqual((kept["name"], kept["project"]), ("baseline", "digits"))
        self.assertEqual(kept["config"], {"lr": 0.5, "layers": 3, "epochs": 2, "architecture": "CNN"})
        self.assertEqual(kept["summary"]["best_accuracy"], 1)
        self.assertEqual(kept["summary"]["train/loss"], 0.5)

    def test_the_trials_hyperparameters_win_over_the_scripts_config(self):
        err = self.messages(
            """
            import argparse, wandb
            run = wandb.init(config=argparse.Namespace(lr=0.01, batch=8))
            assert wandb.config.lr == 0.5 and wandb.config.batch == 8 and wandb.config["layers"] == 3
            wandb.config.update({"lr": 0.1, "batch": 16}, allow_val_change=True)
            wandb.config.seed = 4
            wandb.config.setdefaults({"batch": 1, "depth": 2})
            assert dict(wandb.config) == {"lr": 0.5, "layers": 3, "batch": 16, "seed": 4, "depth": 2}, wandb.config
            assert wandb.config.get("none") is None and "lr" in wandb.config and not hasattr(wandb.config, "none")
            assert run is wandb.run is wandb.init()
            """
        )
        self.assertEqual(err.count("config.lr stays 0.5, a hyperparameter of the trial"), 1, err)
        self.assertIn("wandb: run 7.0: metrics go to trial 7.0 of det-submit", err)

    def test_steps_are_those_of_the_script(self):
        self.run_script(
            """
import wandb
wandb.init()
wandb.log({"a": 1}, commit=False)
wandb.log({"b": 2})
wandb.log({"a": 3}, step=10)
wandb.log({"b": 4}, step=10)
wandb.log({"a": 5}, step=9)
wandb.log({"a": 6}, step=20, commit=True)
wandb.log({"a": 7})
wandb.log({"a": 8}, commit=False)
assert wandb.run.step == 22
"""
        )
        self.assertEqual(
            [(step, metrics) for _, step, metrics in self.metrics()],
            [(0, {"a": 1, "b": 2}), (10, {"a": 3}), (10, {"b": 4}), (20, {"a": 6}), (21, {"a": 7}), (22, {"a": 8})],
        )

    def test_a_step_metric_gives_the_steps(self):
        self.run_script(
            """
import wandb
run = wandb.init()
run.define_metric("train/global_step")
run.define_metric("*", step_metric="train/global_step", step_sync=True)
run.define_metric("eval/*", step_metric="epoch", summary="max")
run.log({"train/loss": 1.0, "train/global_step": 100})
run.log({"train/loss": 2.0})
run.log({"eval/acc": 0.9, "epoch": 3})
run.log({"eval/acc": 0.8, "epoch": 4.5})
assert run.summary["eval/acc"] == 0.9
"""
        )
        self.assertEqual(
            [(step, metrics) for _, step, metrics in self.metrics()],
            [
                (100, {"train/loss": 1, "train/global_step": 100}),
                (100, {"train/loss": 2}),
                (3, {"eval/acc": 0.9}),
                (100, {"epoch": 3}),
                (3, {"eval/acc": 0.8}),
                (100, {"epoch": 4.5}),
            ],
        )

    def test_values_of_all_kinds_are_recorded_or_noted(self):
        err = self.messages(
            """
            import wandb
            class Scalar:
                def item(self): return 0.25
            run = wandb.init()
            table = wandb.Table(columns=["image", "label"])
            table.add_data(wandb.Image(object()), 3)
            for _ in range(2):
                run.log({"loss": float("nan"), "worst": float("-inf"), "scalar": Scalar(), "phase": "warm-up", "list": [1, 2],
                         "nested": {"a": {"b": 1}}, "none": None,
                         "examples": [wandb.Image(object(), caption="a 7"), wandb.Image(object())],
                         "table": table, "curve": wandb.plot.line(table, "x", "y"), "object": object()})
            """
        )
        first = self.metrics()[:2]
        self.assertEqual(
            first,
            [
                (
                    "training",
                    0,
                    {"loss": "NaN", "worst": "-Infinity", "scalar": 0.25, "phase": "warm-up", "list": [1, 2], "nested.a.b": 1},
                ),
                (
                    "media",
                    0,
                    {
                        "examples": "2 of Image, Image 'a 7'",
                        "table": "Table of 1 rows: image, label",
                        "curve": "plot.line()",
                        "object": "object",
                    },
                ),
            ],
        )
        self.assertEqual(err.count("the group 'media' has a note of each"), 1, err)
        self.assertEqual(err.count("plot.line() has no effect here"), 1, err)

    def test_numbers_of_numpy_and_torch(self):
        self.run_script(
            """
try:
    import numpy, torch
except ImportError:
    raise SystemExit(0)
import wandb
wandb.init()
wandb.log({"n": numpy.float32(0.5), "i": numpy.int64(3), "t": torch.tensor(0.25), "a": numpy.ones((2, 3)), "g": torch.ones(4)})
"""
        )
        if self.metrics():
            self.assertEqual(self.metrics()[0][2], {"n": 0.5, "i": 3, "t": 0.25})
            self.assertEqual(self.metrics()[1][2], {"a": "ndarray of shape (2, 3)", "g": "Tensor of shape (4,)"})

    def test_of_several_ranks_only_the_chief_reports(self):
        ranks = finish(
            start_ranks("os.environ.update(RANK=str(rank), WORLD_SIZE='3')\n" + TRAINING, 3, **self.variables)
        )
        self.assertEqual([code for code, _, _ in ranks], [0, 0, 0], ranks)
        self.assertEqual(len(self.metrics()), 4)
        for rank in (1, 2):
            self.assertIn(f"rank {rank} records nothing", ranks[rank][2])

    def test_a_second_process_of_the_script_records_nothing(self):
        err = self.messages(
            """
            import subprocess, wandb
            wandb.init()
            wandb.log({"loss": 1})
            child = "import wandb; wandb.init(); wandb.log({'loss': 2}); wandb.log({'loss': 3})"
            subprocess.run([sys.executable, "-c", child], check=True)
            if os.fork() == 0:
                wandb.log({"loss": 4})
                os._exit(0)
            os.wait()
            wandb.log({"loss": 5})
            """
        )
        self.assertEqual([metrics["loss"] for _, _, metrics in self.metrics()], [1, 5])
        self.assertEqual(err.count("are not recorded"), 1, err)

    def test_a_preempted_script_that_resumes_counts_on(self):
        script = """
import wandb
run = wandb.init(resume="allow", id="mine")
assert (run.id, run.resumed, run.starting_step) == ("mine", START > 0, START), (run.resumed, run.starting_step)
for _ in range(3):
    wandb.log({"loss": 1})
"""
        self.run_script(script.replace("START", "0"))
        self.control("again", "", "0", "1")
        self.join_run(1)
        self.run_script(script.replace("START", "3"))
        self.assertEqual([step for run in (0, 1) for _, step, _ in self.metrics(run)], [0, 1, 2, 3, 4, 5])
        self.control("again", "", "0", "2")
        self.join_run(2)
        self.run_script(script.replace('resume="allow", ', "").replace("START", "0"))
        self.assertEqual([step for _, step, _ in self.metrics(2)], [0, 1, 2])

    def test_a_script_that_is_killed_has_reported_what_it_logged(self):
        script = """
            import time, wandb
            wandb.init()
            wandb.log({"loss": 1}, step=5)
            wandb.log({"val": 2}, step=5)
            wandb.run._reports.flush()
            print("logged", flush=True)
            time.sleep(60)
            """
        (process,) = start_ranks(script, 1, **self.variables)
        try:
            self.assertEqual(process.stdout.readline(), "logged\n")
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        self.assertEqual(self.metrics(), [("training", 5, {"loss": 1}), ("validation", 5, {"val": 2})])

    def test_further_runs_of_a_script_are_groups_of_their_own(self):
        self.run_script(
            """
import wandb
for fold in range(3):
    with wandb.init(name=None if fold == 1 else f"fold.{fold}", reinit=True) as run:
        run.log({"val_loss": fold})
"""
        )
        self.assertEqual(
            self.metrics(), [("validation", 0, {"val_loss": 0}), ("run-2", 0, {"val_loss": 1}), ("fold_2", 0, {"val_loss": 2})]
        )

    def test_files_are_kept_with_the_trial(self):
        script = """
import wandb
run = wandb.init()
with open("weights.pt", "w") as file:
    file.write("1 2")
artifact = wandb.Artifact("model", type="model", metadata={"epoch": 1})
artifact.add_file("weights.pt", name="last/weights.pt")
run.log_artifact(artifact)
wandb.log_artifact("weights.pt", name="other:v0", type="model")
wandb.save("*.pt")
assert open(run.dir + "/weights.pt").read() == "1 2"
for name in ("../../escape", "/tmp/escape"):
    bad = wandb.Artifact("bad", type="model")
    bad.add_file("weights.pt", name=name)
    try:
        run.log_artifact(bad)
        raise SystemExit("it was stored")
    except ValueError as problem:
        assert "outside of the artifact" in str(problem)
"""
        self.run_script(script)
        self.control("again", "", "0", "1")
        self.join_run(1)
        self.run_script(
            """
import wandb
run = wandb.init()
directory = run.use_artifact("me/digits/model:latest").download()
assert open(directory + "/last/weights.pt").read() == "1 2"
assert os.listdir(wandb.use_artifact("other").download("copy")) == ["weights.pt"]
assert wandb.restore("weights.pt").read() == "1 2"
try:
    run.use_artifact("none:v3")
    raise SystemExit("it was found")
except wandb.CommError as problem:
    assert "'none:v3'" in str(problem)
"""
        )

    def test_unknown_calls_warn_once(self):
        err = self.messages(
            """
            import wandb
            from wandb.sdk.lib import RunDisabled
            from wandb.wandb_run import Run
            run = wandb.init(settings=wandb.Settings(start_method="fork"))
            assert isinstance(run, Run) and not isinstance(run, RunDisabled)
            for _ in range(3):
                wandb.some_new_call(1, two=2)
                with run.some_context() as inner:
                    inner.deeper.call()
            run._label(code="trainer")
            wandb.login(key="secret"), wandb.setup(), wandb.unwatch(), wandb.mark_preempting(), run.log_code(".")
            run.alert("loss", text="diverges", level=wandb.AlertLevel.WARN)
            """
        )
        for name in ("some_new_call", "run.some_context", "run.some_context().deeper.call"):
            self.assertEqual(err.count(f"wandb: {name}() has no effect here"), 1, err)
        self.assertNotIn("secret", err)
        (alert,) = self.records(kind="alert")
        self.assertEqual((alert["title"], alert["description"], alert["level"]), ("loss", "diverges", "warn"))

    def test_parts_of_classes_that_are_missing_warn_once(self):
        err = self.messages(
            """
            import wandb
            run = wandb.init()
            model = torch = object()
            assert wandb.watch(model, torch, log="all") == [] == run.watch(model)
            artifact = wandb.Artifact("notes", type="text")
            table = wandb.Table(columns=["x"], data=[[1], [3]])
            table.add_column("y", (2, 4))
            grown = wandb.Table()
            grown.add_column("x", [1, 2])
            grown.add_column("y", [3, 4])
            assert grown.data == [[1, 3], [2, 4]] and grown.get_column("y") == [3, 4]
            for _ in range(2):
                artifact.add(table, "table")
                artifact.add_reference("s3://bucket/file")
                artifact.manifest.entries["a"].download()
                table.add_computed_columns(lambda index, row: {})
                wandb.Image(object()).to_data_array()
                for artifact_of_run in run.logged_artifacts():
                    raise SystemExit("there is none")
            with artifact.new_file("report.txt") as file:
                file.write("text")
            with artifact.new_file("report.bin", mode="wb") as file:
                file.write(b"bytes")
            wandb.log_artifact(artifact, aliases=["best"]).wait()
            assert not hasattr(artifact, "_private") and artifact.aliases == []
            directory = run.use_artifact("notes:best").download()
            assert open(directory + "/report.txt").read() == "text"
            assert open(directory + "/report.bin", "rb").read() == b"bytes"
            assert table.get_column("y") == [2, 4] and list(table.iterrows()) == [(0, [1, 2]), (1, [3, 4])]
            run.link_model("weights.pt", "registry/model")
            run.log({"matrix": wandb.plot.confusion_matrix(y_true=[1], preds=[1]), "artifact": artifact})
            """
        )
        names = ["watch", "Artifact.add_reference", "Artifact.manifest.entries['a'].download", "Table.add_computed_columns"]
        names += ["Image.to_data_array", "run.logged_artifacts", "run.link_model", "plot.confusion_matrix"]
        for name in names:
            self.assertEqual(err.count(f"wandb: {name}() has no effect here"), 1, err)
        self.assertEqual(err.count("a Table in an artifact is not stored"), 1, err)
        self.assertEqual(err.count("has no effect here"), len(names), err)

    def test_wrong_calls_are_errors(self):
        (out,) = self.run_script(
            """
import wandb
def refuse(call):
    try:
        call()
    except wandb.Error as problem:
        print(type(problem).__name__, problem)
refuse(lambda: wandb.log({"loss": 1}))
refuse(lambda: wandb.config.lr)
refuse(lambda: wandb.sweep({}, project="p"))
refuse(lambda: wandb.Api())
wandb.finish()
"""
        )
        lines = out.splitlines()
        self.assertEqual(lines[0], "Error You must call wandb.init() before wandb.log()")
        self.assertEqual(lines[1], "Error You must call wandb.init() before wandb.config.lr")
        self.assertRegex(lines[2], "^UsageError .*searcher")
        self.assertRegex(lines[3], "^CommError .*asks no server")

    def test_a_disabled_run_records_nothing(self):
        self.run_script(TRAINING.replace("wandb.init(", 'wandb.init(mode="disabled", '))
        self.run_script(TRAINING, WANDB_MODE="disabled")
        self.assertEqual(self.records(), [])

    def test_outside_of_a_trial_nothing_is_recorded(self):
        del self.variables["DET_RUN_DIR"], self.variables["DET_RUN_PATH"]
        err = self.messages("import wandb\nwandb.init(config={'lr': 1})\nwandb.log({'loss': wandb.config.lr})")
        self.assertEqual(err.count("this is no trial of det-submit"), 1, err)

    def test_a_script_may_use_the_core_api_as_well(self):
        self.run_script(
            """
import wandb
wandb.init()
wandb.log({"loss": 1})
with det.core.init(distributed=connect()) as core_context:
    core_context.train.set_metadata({"mine": 1})
    core_context.train.report_validation_metrics(2, {"val/acc": 0.5})
    wandb.log({"loss": 2}, step=2)
wandb.log({"loss": 3})
"""
        )
        self.assertEqual([step for _, step, _ in self.metrics()], [0, 2, 2, 2])

    def test_the_time_of_a_search_is_reported_with_its_metric(self):
        program = "from determined._script_reports import split_groups as split\n"
        program += "asha = {'metric': 'score', 'time_metric': 'epoch'}\n"
        program += "row = {'score': 1, 'epoch': 2, 'train_eval_time': 3, 'loss/val': 4, 'evaluation time': 5, 'value': 6}\n"
        program += "print(split(row, asha))\nprint(split({'epoch': 2}, asha))"
        (out,) = self.run_script(program)
        self.assertEqual(
            out,
            "[('training', {'epoch': 2, 'train_eval_time': 3, 'value': 6}), "
            "('validation', {'score': 1, 'loss/val': 4, 'evaluation time': 5, 'epoch': 2})]\n"
            "[('training', {'epoch': 2})]\n",
        )

    def test_the_distribution_wandb_is_found(self):
        program = "import importlib.metadata as m, wandb; assert m.version('wandb') == wandb.__version__"
        environment = environment_of(**self.variables)
        subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=60)


del RunCase

