"""FileStore: has the calls and errors of MLflow's FileStore. Keeps a JSON file per experiment and run."""

import json
import os
import uuid
import warnings

from mlflow.entities import Experiment, Metric, Run, RunData, RunInfo
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient as MlflowClient  # as MLflow's module does


class FileStore:
    def __init__(self, root_directory=None, artifact_root_uri=None):
        if os.environ.get("MLFLOW_ALLOW_FILE_STORE") != "true":
            raise MlflowException("The filesystem tracking backend is in maintenance mode")
        warnings.warn("The filesystem tracking backend is deprecated", FutureWarning, stacklevel=2)
        self.root_directory = root_directory
        if not os.path.exists(root_directory):
            os.mkdir(root_directory)
            self._save_experiment("0", "Default")

    def _save_experiment(self, experiment_id, name):
        with open(f"{self.root_directory}/experiment-{experiment_id}", "w", encoding="utf-8") as file:
            json.dump({"name": name}, file)
        return experiment_id

    def create_experiment(self, name, artifact_location=None, tags=None):
        if self.get_experiment_by_name(name) is not None:
            raise MlflowException(f"Experiment '{name}' already exists.")
        return self._save_experiment(str(uuid.uuid4().int)[:18], name)

    def get_experiment(self, experiment_id):
        with open(f"{self.root_directory}/experiment-{experiment_id}", encoding="utf-8") as file:
            return Experiment(experiment_id, json.load(file)["name"], f"file://{self.root_directory}/{experiment_id}")

    def get_experiment_by_name(self, name):
        for file in os.listdir(self.root_directory):
            if file.startswith("experiment-") and self.get_experiment(file[11:]).name == name:
                return self.get_experiment(file[11:])
        return None

    def _load(self, run_id):
        path = f"{self.root_directory}/run-{run_id}"
        if not os.path.exists(path):
            raise MlflowException(f"Run '{run_id}' not found")
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def _save(self, content):
        with open(f"{self.root_directory}/run-{content['info']['run_id']}", "w", encoding="utf-8") as file:
            json.dump(content, file)

    def create_run(self, experiment_id, user_id, start_time, tags, run_name):
        run_id = uuid.uuid4().hex
        place = f"{self.get_experiment(experiment_id).artifact_location}/{run_id}/artifacts"
        info = [run_id, experiment_id, run_name or f"calm-fox-{run_id[:3]}", "RUNNING", None, place]
        self._save({"info": vars(RunInfo(*info)), "metrics": [], "params": {}, "tags": {}})
        for tag in tags:
            self.set_tag(run_id, tag)
        return self.get_run(run_id)

    def get_run(self, run_id):
        content = self._load(run_id)
        metrics = {key: value for key, value, _, _ in content["metrics"]}
        return Run(RunInfo(**content["info"]), RunData(metrics, content["params"], content["tags"]))

    def update_run_info(self, run_id, run_status, end_time, run_name):
        content = self._load(run_id)
        content["info"].update(status=run_status, end_time=end_time)
        if run_name:
            content["info"]["run_name"] = run_name
        self._save(content)
        return RunInfo(**content["info"])

    def delete_run(self, run_id):
        os.remove(f"{self.root_directory}/run-{run_id}")

    def get_metric_history(self, run_id, metric_key, max_results=None, page_token=None):
        return [Metric(*each) for each in self._load(run_id)["metrics"] if each[0] == metric_key]

    def _search_runs(self, experiment_ids, filter_string):
        runs = [self.get_run(file[4:]) for file in os.listdir(self.root_directory) if file.startswith("run-")]
        return [run for run in runs if run.info.experiment_id in experiment_ids]

    def log_metric(self, run_id, metric):
        self.log_batch(run_id, metrics=[metric], params=[], tags=[])

    def log_param(self, run_id, param):
        content = self._load(run_id)
        if content["params"].get(param.key, param.value) != param.value:
            raise MlflowException(f"Changing param values is not allowed. Param with key='{param.key}' was already logged")
        content["params"][param.key] = param.value
        self._save(content)

    def set_tag(self, run_id, tag):
        content = self._load(run_id)
        content["tags"][tag.key] = tag.value
        self._save(content)

    def log_batch(self, run_id, metrics, params, tags):
        if len(metrics) > 1000:
            raise MlflowException("A batch logging request can contain at most 1000 metrics.")
        for param in params:
            self.log_param(run_id, param)
        content = self._load(run_id)
        content["metrics"] += [[each.key, each.value, each.timestamp, each.step] for each in metrics]
        self._save(content)
        for tag in tags:
            self.set_tag(run_id, tag)
