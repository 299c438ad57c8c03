"""The part of MLflow's client that a training script uses, for machines without MLflow: the fluent API,
MlflowClient, the search for a store by its entry point, and FileStore with the methods that MLflow calls. If
MLflow is installed, test_mlflow.py runs the same scripts with the real client.
"""

import os
import time

from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

_active_runs = []
_experiment_id = None


class ActiveRun:
    def __init__(self, run):
        self.info, self.data = run.info, run.data

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        end_run("FINISHED" if kind is None else "FAILED")
        return kind is None


def set_experiment(experiment_name):
    global _experiment_id
    client = MlflowClient()
    experiment = client.get_experiment_by_name(experiment_name)
    if experiment is None:
        experiment = client.get_experiment(client.create_experiment(experiment_name))
    _experiment_id = experiment.experiment_id
    return experiment


def start_run(run_id=None, run_name=None, nested=False, tags=None):
    if _active_runs and not nested:
        raise Exception(f"Run with UUID {_active_runs[0].info.run_id} is already active.")
    client = MlflowClient()
    run_id = run_id or os.environ.pop("MLFLOW_RUN_ID", None)
    if run_id:
        client.store.update_run_info(run_id, run_status="RUNNING", end_time=client.get_run(run_id).info.end_time, run_name=None)
        run = client.get_run(run_id)
    else:
        own = {**(tags or {}), **({"mlflow.parentRunId": _active_runs[-1].info.run_id} if _active_runs else {})}
        run = client.create_run(_experiment_id or "0", tags=own, run_name=run_name)
    _active_runs.append(ActiveRun(run))
    return _active_runs[-1]


def end_run(status="FINISHED"):
    if _active_runs:
        MlflowClient().set_terminated(_active_runs.pop().info.run_id, status)


def active_run():
    return _active_runs[-1] if _active_runs else None


def _run_id():
    return (active_run() or start_run()).info.run_id


def log_metric(key, value, step=None):
    MlflowClient().log_metric(_run_id(), key, value, step=step or 0)


def log_metrics(metrics, step=None):
    now = int(time.time() * 1000)
    MlflowClient().log_batch(_run_id(), metrics=[Metric(key, value, now, step or 0) for key, value in metrics.items()])


def log_param(key, value):
    MlflowClient().log_param(_run_id(), key, value)


def log_params(params):
    MlflowClient().log_batch(_run_id(), params=[Param(key, str(value)) for key, value in params.items()])


def set_tag(key, value):
    MlflowClient().set_tag(_run_id(), key, value)


def set_tags(tags):
    MlflowClient().log_batch(_run_id(), tags=[RunTag(key, str(value)) for key, value in tags.items()])


def log_artifact(local_path, artifact_path=None):
    MlflowClient().log_artifact(_run_id(), local_path, artifact_path)


__all__ = ["MlflowClient", "MlflowException", "active_run", "end_run", "log_artifact", "log_metric", "log_metrics", "log_param"]
