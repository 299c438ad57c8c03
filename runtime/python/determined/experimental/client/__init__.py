"""Reads and creates experiments from Python, by det-submit.

    from determined.experimental import client

    experiment = client.create_experiment("adaptive.yaml", "code")
    if experiment.wait() is client.ExperimentState.COMPLETED:
        experiment.top_checkpoint().download("best")
"""

import collections
import getpass
import json
import os
import tempfile
from typing import Any, Dict, Iterable, Iterator, List, NoReturn, Optional, Union

from determined._absent import refuse_names_of
from determined.experimental.client import _checkpoint, _sort
from determined.experimental.client._checkpoint import Checkpoint, CheckpointTrainingMetadata
from determined.experimental.client._det_submit import CommandError, ask
from determined.experimental.client._enums import (
    CheckpointSortBy,
    CheckpointState,
    DownloadMode,
    ExperimentSortBy,
    ExperimentState,
    LogLevel,
    ModelOrderBy,
    ModelSortBy,
    OrderBy,
    TrialSortBy,
    TrialState,
)
from determined.experimental.client._experiment import Experiment
from determined.experimental.client._metrics import TrainingMetrics, TrialMetrics, ValidationMetrics
from determined.experimental.client._model import Model, ModelVersion
from determined.experimental.client._trial import Trial

Path = Union[str, "os.PathLike[str]"]

# Former names.
ExperimentReference = Experiment
TrialReference = Trial
CheckpointOrderBy = ExperimentOrderBy = TrialOrderBy = OrderBy


def login(*_: Any, **__: Any) -> None:
    """Does nothing: det-submit needs no login, because it runs as the user of this process."""


def logout() -> None:
    """Does nothing: there was no login."""


def get_session_username() -> str:
    """The name of the user of this process."""
    return getpass.getuser()


def create_experiment(
    config: Union[Path, Dict[str, Any]],
    model_dir: Optional[Path] = None,
    includes: Optional[Iterable[Path]] = None,
    project_id: Optional[int] = None,
    template: Optional[str] = None,
) -> Experiment:
    """Submits an experiment.

    Args:
        config: a YAML file or a map
        model_dir: the directory that holds the code
        includes: further files and directories for the working directory
        template: the name of a configuration template of det-submit

    Raises:
        ValueError: config is of another type, or project_id is given
        CommandError: det-submit refuses the configuration, or can't submit it
    """
    if project_id is not None:
        raise ValueError("det-submit has no numbers of projects: set project in the configuration")
    words = [] if model_dir is None else [os.fspath(model_dir)]
    words += [word for path in includes or () for word in ("--include", os.fspath(path))]
    words += [] if template is None else ["--template", template]
    if isinstance(config, (str, os.PathLike)):
        return Experiment(ask("experiment", "create", os.fspath(config), *words)["id"])
    if not isinstance(config, dict):
        raise ValueError(f"config must be a path or a map, not {type(config).__name__}")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        json.dump(config, file)  # JSON is YAML
        file.flush()
        return Experiment(ask("experiment", "create", file.name, *words)["id"])


def get_experiment(experiment_id: int) -> Experiment:
    """An experiment by its number."""
    return Experiment(experiment_id)


def list_experiments(
    sort_by: Optional[ExperimentSortBy] = None,
    order_by: Optional[OrderBy] = None,
    experiment_ids: Optional[List[int]] = None,
    labels: Optional[List[str]] = None,
    users: Optional[List[str]] = None,
    states: Optional[List[ExperimentState]] = None,
    name: Optional[str] = None,
    project_id: Optional[int] = None,
) -> List[Experiment]:
    """The experiments below DET_ROOT, archived ones too.

    Args:
        sort_by: None: their numbers. Those without the value come last
        order_by: None: OrderBy.ASC
        experiment_ids: only these
        labels: only those that have all of these labels
        users: only those of these owners
        states: only those in one of these states. ExperimentState.ACTIVE stands for all that have not ended
            and are not paused
        name: only those whose names contain this, in upper or lower case

    Raises:
        ValueError: project_id is given
    """
    if project_id is not None:
        raise ValueError("det-submit has no numbers of projects")
    wanted = {state.value for state in states or ()}
    if ExperimentState.ACTIVE in (states or ()):
        wanted.update(("SUBMITTING", "QUEUED", "STARTING", "RUNNING"))

    def is_wanted(content: Dict[str, Any]) -> bool:
        return (
            (experiment_ids is None or content["id"] in experiment_ids)
            and set(labels or ()) <= set(content.get("labels", ()))
            and (users is None or content.get("owner") in users)
            and (states is None or content["state"] in wanted)
            and (name or "").lower() in content.get("name", "").lower()
        )

    sort_by = sort_by or ExperimentSortBy.ID
    with_best = ["--metrics"] if sort_by is ExperimentSortBy.SEARCHER_METRIC_VAL else []
    found = [content for content in ask("experiment", "list", "--all", *with_best) if is_wanted(content)]
    return [
        Experiment(content["id"], content)
        for content in _sort.sort_experiments(found, sort_by, order_by or OrderBy.ASC)
    ]


def get_trial(trial_id: int) -> Trial:
    """A trial by its number."""
    return Trial(trial_id)


def get_checkpoint(uuid: str) -> Checkpoint:
    """A checkpoint by its storage_id.

    Raises:
        CheckpointNotFound: there is no such checkpoint
    """
    return Checkpoint(_checkpoint.find(uuid))


def create_model(
    name: str,
    description: Optional[str] = "",
    metadata: Optional[Dict[str, Any]] = None,
    labels: Optional[List[str]] = None,
    workspace_name: Optional[str] = None,
) -> Model:
    """Gives a model a name in the registry, which is in the directory models of the root.

    Args:
        name: no other model of the user has it

    Raises:
        ValueError: workspace_name is given
        CommandError: there is a model of this name
    """
    if workspace_name is not None:
        raise ValueError("det-submit has no workspaces of models")
    words = ["--description", description] if description else []
    words += [] if metadata is None else ["--metadata", json.dumps(metadata)]
    words += [word for label in labels or () for word in ("--label", label)]
    return Model(ask("model", "create", name, *words))


def get_model(identifier: Union[str, int]) -> Model:
    """A model by its name or its number.

    Raises:
        NotFoundException: there is no such model
    """
    return Model(ask("model", "describe", str(identifier)))


def get_model_by_id(model_id: int) -> Model:
    """A model by its number."""
    return get_model(model_id)


def get_models(
    sort_by: ModelSortBy = ModelSortBy.NAME,
    order_by: ModelOrderBy = ModelOrderBy.ASCENDING,
    name: Optional[str] = None,
    description: Optional[str] = None,
    model_id: Optional[int] = None,
    workspace_names: Optional[List[str]] = None,
    workspace_ids: Optional[List[int]] = None,
) -> List[Model]:
    """The models of the registry, archived ones too.

    Args:
        name, description: only those that contain this, in upper or lower case
        model_id: only this one

    Raises:
        ValueError: workspace_names or workspace_ids are given
    """
    if workspace_names or workspace_ids:
        raise ValueError("det-submit has no workspaces of models")
    contents = ask("model", "list", "--sort-by", sort_by.value, "--order-by", order_by.value.lower())
    return [
        Model(content)
        for content in contents
        if (name or "").lower() in content["name"].lower()
        and (description or "").lower() in content["description"].lower()
        and model_id in (None, content["id"])
    ]


list_models = get_models


def get_model_labels() -> List[str]:
    """The labels of all models, the most frequent one first."""
    counts = collections.Counter(label for content in ask("model", "list") for label in content["labels"])
    return [label for label, _ in counts.most_common()]


def iter_trials_metrics(trial_ids: List[int], group: Optional[str] = None) -> Iterator[TrialMetrics]:
    """Yields the reports of several trials."""
    for trial_id in trial_ids:
        yield from Trial(trial_id).iter_metrics(group)


stream_trials_metrics = iter_trials_metrics


def stream_trials_training_metrics(trial_ids: List[int]) -> Iterator[TrialMetrics]:
    """Yields the reports of the group "training" of several trials."""
    return iter_trials_metrics(trial_ids, "training")


def stream_trials_validation_metrics(trial_ids: List[int]) -> Iterator[TrialMetrics]:
    """Yields the reports of the group "validation" of several trials."""
    return iter_trials_metrics(trial_ids, "validation")


class Determined:
    """The functions of this module as methods. The arguments are not used."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    logout = staticmethod(logout)
    get_session_username = staticmethod(get_session_username)
    create_experiment = staticmethod(create_experiment)
    get_experiment = staticmethod(get_experiment)
    list_experiments = staticmethod(list_experiments)
    get_trial = staticmethod(get_trial)
    get_checkpoint = staticmethod(get_checkpoint)
    create_model = staticmethod(create_model)
    get_model = staticmethod(get_model)
    get_model_by_id = staticmethod(get_model_by_id)
    get_models = staticmethod(get_models)
    list_models = staticmethod(list_models)
    get_model_labels = staticmethod(get_model_labels)
    iter_trials_metrics = staticmethod(iter_trials_metrics)
    stream_trials_metrics = staticmethod(stream_trials_metrics)
    stream_trials_training_metrics = staticmethod(stream_trials_training_metrics)
    stream_trials_validation_metrics = staticmethod(stream_trials_validation_metrics)

    def __getattr__(self, name: str) -> Any:
        return _absent(name)


_ABSENT = {
    "create_user get_user_by_id get_user_by_name list_users whoami": (
        "det-submit has no users of its own: use those of the system"
    ),
    "create_project create_workspace delete_workspace get_project get_workspace list_projects list_workspaces": (
        "det-submit has no such objects: write workspace and project in the configuration"
    ),
    "add_oauth_client list_oauth_clients remove_oauth_client": (
        "det-submit has no service to which others could log in"
    ),
    "create_token describe_token list_tokens revoke_token": "det-submit needs no login, and so no tokens",
}
_REASONS = {name: reason for names, reason in _ABSENT.items() for name in names.split()}


def _absent(name: str) -> Any:
    """A function in place of one that det-submit does not have. It raises NotImplementedError when it is
    called."""
    if name not in _REASONS:
        return refuse_names_of("determined.experimental.client")(name)

    def call(*_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"{name}(): {_REASONS[name]}")

    return call


def __getattr__(name: str) -> Any:
    return _absent(name)


__all__ = [
    "Checkpoint",
    "CheckpointOrderBy",
    "CheckpointSortBy",
    "CheckpointState",
    "CheckpointTrainingMetadata",
    "CommandError",
    "Determined",
    "DownloadMode",
    "Experiment",
    "ExperimentOrderBy",
    "ExperimentReference",
    "ExperimentSortBy",
    "ExperimentState",
    "LogLevel",
    "Model",
    "ModelOrderBy",
    "ModelSortBy",
    "ModelVersion",
    "OrderBy",
    "TrainingMetrics",
    "Trial",
    "TrialMetrics",
    "TrialOrderBy",
    "TrialReference",
    "TrialSortBy",
    "TrialState",
    "ValidationMetrics",
    "create_experiment",
    "create_model",
    "get_checkpoint",
    "get_experiment",
    "get_model",
    "get_model_by_id",
    "get_model_labels",
    "get_models",
    "get_session_username",
    "get_trial",
    "iter_trials_metrics",
    "list_experiments",
    "list_models",
    "login",
    "logout",
    "stream_trials_metrics",
    "stream_trials_training_metrics",
    "stream_trials_validation_metrics",
]
