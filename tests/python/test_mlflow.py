"""slurm.log_mlflow: scripts that log by MLflow, as they are published.

They run with the part of MLflow's client in mlflow_client/, and with the real client where it is installed.
"""

import importlib.util
import json
import os
import pathlib

from support import RunCase

TESTS = pathlib.Path(__file__).resolve().parent

TRAINING = """
import mlflow

mlflow.set_experiment("digits")
with mlflow.start_run(run_name="baseline") as run:
    mlflow.log_param("batch_size", 32)
    mlflow.log_params({"lr": 0.01, "optimizer": "sgd"})
    mlflow.set_tag("dataset", "digits-v2")
    for epoch in range(1, 3):
        mlflow.log_metric("train_loss", 1 / epoch, step=epoch)
        mlflow.log_metrics({"val_loss": 2 / epoch, "val_acc": 0.5 * epoch}, step=epoch)
    with open("weights.txt", "w") as file:
        file.write("1 2 3")
    mlflow.log_artifact("weights.txt", artifact_path="model")
"""


class Mlflow(RunCase):
    config = {**RunCase.config, "searcher": {"name": "single", "metric": "val_acc"}}
    client = str(TESTS / "mlflow_client")

    def setUp(self):
        super().setUp()
        files = pathlib.Path(self.directory, "files")
        files.mkdir()
        path = os.environ["PYTHONPATH"]
        self.variables.update(
            PYTHONPATH=f"{self.client}:{path}" if self.client else path,
            MLFLOW_TRACKING_URI="det-submit://trial",
            DET_TRIAL_DIR=str(files),
        )

    def run_script(self, script, size=1, **more):
        begin = "import os, warnings; os.chdir(os.environ['HOME']); warnings.simplefilter('error', FutureWarning)\n"
        return self.run_ranks(begin + script, size, **more)

    def metrics(self, run=0):
        return [(each["group"], each["steps_completed"], each["metrics"]) for each in self.records(run, "metrics")]

    def metadata(self, run=0):
        return self.records(run, "trial-metadata")[-1]["metadata"]

    def test_a_published_training_loop_reports_its_metrics(self):
        self.run_script(TRAINING)
        self.assertEqual(
            self.metrics(),
            [
                ("training", 1, {"train_loss": 1}),
                ("validation", 1, {"val_acc": 0.5, "val_loss": 2}),
                ("training", 2, {"train_loss": 0.5}),
                ("validation", 2, {"val_acc": 1, "val_loss": 1}),
            ],
        )
        kept = self.metadata()["mlflow"]
        self.assertEqual(kept["run_name"], "baseline")
        self.assertEqual(kept["params"], {"batch_size": "32", "lr": "0.01", "optimizer": "sgd"})
        self.assertEqual(kept["tags"], {"dataset": "digits-v2"})
        (weights,) = pathlib.Path(self.directory, "files/mlruns").glob("*/*/artifacts/model/weights.txt")
        self.assertEqual(weights.read_text(encoding="utf-8"), "1 2 3")

    def test_the_client_reads_what_was_logged(self):
        (out,) = self.run_script(
            TRAINING
            + """
client = mlflow.MlflowClient()
again = client.get_run(run.info.run_id)
assert again.info.status == "FINISHED", again.info
assert again.data.metrics == {"train_loss": 0.5, "val_loss": 1, "val_acc": 1}, again.data
assert again.data.params["lr"] == "0.01"
assert [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, "val_loss")] == [(1, 2), (2, 1)]
found = client.search_runs([run.info.experiment_id])
assert [each.info.run_id for each in found] == [run.info.run_id]
print("read")
"""
        )
        self.assertEqual(out, "read\n")

    def test_metrics_without_a_step_are_numbered(self):
        self.run_script(
            """
import mlflow
for loss in (3.0, 2.0, 1.0):
    mlflow.log_metric("loss", loss)
mlflow.log_metric("accuracy", 0.5)
"""
        )
        steps = [(step, metrics) for _, step, metrics in self.metrics()]
        self.assertEqual(steps, [(0, {"loss": 3}), (1, {"loss": 2}), (2, {"loss": 1}), (0, {"accuracy": 0.5})])

    def test_values_that_are_no_numbers_are_recorded(self):
        self.run_script(
            """
import mlflow
mlflow.log_metric("loss", float("nan"), step=1)
mlflow.log_metric("loss", float("inf"), step=2)
run = mlflow.active_run()
mlflow.end_run()
assert str(mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")[0].value) == "nan"
"""
        )
        self.assertEqual([each[2]["loss"] for each in self.metrics()], ["NaN", "Infinity"])

    def test_of_several_ranks_only_the_chief_reports(self):
        variables = "os.environ.update(RANK=str(rank), WORLD_SIZE='3')\n"
        self.run_script(variables + TRAINING.replace("weights.txt", "weights-{rank}.txt").replace('"weights', 'f"weights'), 3)
        self.assertEqual(len(self.metrics()), 4)
        roots = sorted(path.name for path in pathlib.Path(self.directory, "files").iterdir())
        self.assertEqual(roots, ["mlruns", "mlruns-rank-1", "mlruns-rank-2"])

    def test_further_runs_of_a_script_are_groups_of_their_own(self):
        self.run_script(
            """
import mlflow
with mlflow.start_run(run_name="folds"):
    mlflow.log_metric("loss", 9, step=1)
    for fold in range(2):
        with mlflow.start_run(run_name=f"fold.{fold}", nested=True):
            mlflow.log_param("fold", fold)
            mlflow.log_metric("val_loss", fold, step=1)
with mlflow.start_run(run_name="fold.1"):
    mlflow.log_metric("val_loss", 5, step=1)
"""
        )
        groups = [(group, metrics) for group, _, metrics in self.metrics()]
        self.assertEqual(
            groups[:3], [("training", {"loss": 9}), ("fold_0", {"val_loss": 0}), ("fold_1", {"val_loss": 1})]
        )
        self.assertRegex(groups[3][0], "^fold_1-[0-9a-f]{8}$")
        self.assertEqual(self.metadata()["mlflow fold_1"]["params"], {"fold": "1"})

    def test_a_run_that_a_preempted_script_resumes_by_its_id_goes_on(self):
        script = """
import mlflow
state = os.path.join(os.environ["DET_TRIAL_DIR"], "run-id")
run_id = open(state).read() if os.path.exists(state) else None
with mlflow.start_run(run_id=run_id) as run:
    open(state, "w").write(run.info.run_id)
    mlflow.log_param("lr", 0.1)
    for _ in range(2):
        mlflow.log_metric("loss", 1.0)
        mlflow.log_metric("val_loss", 2.0, step=10)
assert len(mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")) == (4 if run_id else 2)
"""
        self.run_script(script)
        self.control("again", "", "0", "1")
        self.join_run(1)
        self.run_script(script)
        losses = [step for run in (0, 1) for group, step, _ in self.metrics(run) if group == "training"]
        self.assertEqual(losses, [0, 1, 2, 3])

    def test_a_script_that_is_killed_has_reported_what_it_logged(self):
        program = "import mlflow, signal\nmlflow.log_metric('loss', 1.0, step=1)\n"
        program += "from determined import _mlflow_store as store\nstore._trial_runs().reports.flush()\n"
        program += "os.kill(os.getpid(), signal.SIGKILL)\n"
        with self.assertRaisesRegex(AssertionError, "-9"):
            self.run_script(program)
        self.assertEqual(self.metrics(), [("training", 1, {"loss": 1})])

    def test_more_metrics_than_a_call_of_mlflow_takes(self):
        self.run_script(
            """
import mlflow
with mlflow.start_run() as run:
    for step in range(1, 2502):
        mlflow.log_metric("loss", step, step=step)
history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")
assert [metric.step for metric in history] == list(range(1, 2502)), len(history)
"""
        )
        self.assertEqual(len(self.metrics()), 2501)

    def test_importing_mlflow_imports_nothing_of_ours(self):
        script = "import sys, mlflow\nassert not [name for name in sys.modules if 'mlflow_store' in name], sys.modules\n"
        self.run_script(script)

    def test_calls_that_mlflow_refuses_are_refused(self):
        (out,) = self.run_script(
            """
import mlflow
mlflow.log_param("lr", 1)
try:
    mlflow.log_param("lr", 2)
except mlflow.MlflowException as problem:
    print("refused")
try:
    mlflow.MlflowClient().log_metric("0" * 32, "loss", 1.0)
except mlflow.MlflowException as problem:
    print("refused")
"""
        )
        self.assertEqual(out, "refused\nrefused\n")
        self.assertEqual(self.metrics(), [])

    def test_a_script_may_use_the_core_api_as_well(self):
        self.run_script(
            """
import mlflow
mlflow.log_metric("loss", 1.0, step=1)
with det.core.init(distributed=connect()) as core_context:
    core_context.train.report_validation_metrics(2, {"accuracy": 0.5})
    mlflow.log_metric("loss", 2.0, step=2)
mlflow.log_metric("loss", 3.0, step=3)
"""
        )
        self.assertEqual([step for _, step, _ in self.metrics()], [1, 2, 2, 3])

    def test_a_trial_without_a_searcher(self):
        config = {key: value for key, value in self.config.items() if key != "searcher"}
        self.control("make", json.dumps(config))
        self.run_script(TRAINING)
        self.assertEqual(len(self.metrics()), 4)


if importlib.util.find_spec("mlflow") is not None:

    class MlflowOfThisMachine(Mlflow):
        client = ""


del RunCase
