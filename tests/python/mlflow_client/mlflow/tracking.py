"""MlflowClient: makes the same calls of the store as MLflow's client."""

import functools
import importlib.metadata
import os
import shutil
import time
import urllib.parse

from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException


def _load_plugins():
    found = importlib.metadata.entry_points()
    group = "mlflow.tracking_store"
    points = found.select(group=group) if hasattr(found, "select") else found.get(group, [])
    return {point.name: point.load() for point in points}


_plugins = _load_plugins()  # as in MLflow, before the rest of this module is defined


@functools.lru_cache(maxsize=None)
def _get_store(uri):
    scheme = urllib.parse.urlparse(uri).scheme
    if scheme not in _plugins:
        raise MlflowException(f"no store for '{uri}'")
    return _plugins[scheme](store_uri=uri, artifact_uri=None)


class MlflowClient:
    def __init__(self, tracking_uri=None):
        self.store = _get_store(tracking_uri or os.environ["MLFLOW_TRACKING_URI"])

    def create_experiment(self, name):
        return self.store.create_experiment(name=name, artifact_location=None, tags=[])

    def get_experiment(self, experiment_id):
        return self.store.get_experiment(experiment_id)

    def get_experiment_by_name(self, name):
        return self.store.get_experiment_by_name(name)

    def create_run(self, experiment_id, tags=None, run_name=None):
        return self.store.create_run(
            experiment_id=experiment_id,
            user_id="me",
            start_time=int(time.time() * 1000),
            tags=[RunTag(key, str(value)) for key, value in (tags or {}).items()],
            run_name=run_name,
        )

    def get_run(self, run_id):
        return self.store.get_run(run_id)

    def get_metric_history(self, run_id, key):
        return self.store.get_metric_history(run_id=run_id, metric_key=key)

    def search_runs(self, experiment_ids, filter_string=""):
        return self.store._search_runs(experiment_ids, filter_string)

    def log_metric(self, run_id, key, value, timestamp=None, step=0):
        if not isinstance(value, (int, float)):
            value = float(value)  # a scalar of numpy or torch
        self.store.log_metric(run_id, Metric(key, value, timestamp or int(time.time() * 1000), step or 0))

    def log_param(self, run_id, key, value):
        self.store.log_param(run_id, Param(key, str(value)))

    def set_tag(self, run_id, key, value):
        self.store.set_tag(run_id, RunTag(key, str(value)))

    def log_batch(self, run_id, metrics=(), params=(), tags=()):
        if metrics or params or tags:
            self.store.log_batch(run_id=run_id, metrics=metrics, params=params, tags=tags)

    def set_terminated(self, run_id, status="FINISHED", end_time=None):
        end_time = end_time or int(time.time() * 1000)
        self.store.update_run_info(run_id, run_status=status, end_time=end_time, run_name=None)

    def log_artifact(self, run_id, local_path, artifact_path=None):
        place = urllib.parse.urlparse(self.get_run(run_id).info.artifact_uri).path
        target = os.path.join(place, artifact_path or "")
        os.makedirs(target, exist_ok=True)
        shutil.copy(local_path, target)
