"""Lists of experiments, trials and checkpoints, in the order that the user asks for."""

from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from determined.experimental.client._checkpoint import Checkpoint
from determined.experimental.client._det_submit import ask
from determined.experimental.client._enums import CheckpointSortBy, ExperimentSortBy, OrderBy, TrialSortBy
from determined.experimental.client._metrics import read_metrics
from determined.experimental.client._times import parse_time

Content = Dict[str, Any]


def _validation(trial_id: int, metric: str) -> Dict[int, Any]:
    """The values of a validation metric of a trial, by steps_completed."""
    reports = read_metrics(trial_id, "validation")
    return {report.steps_completed: report.metrics.get(metric) for report in reports}


def _values(contents: List[Dict[str, Any]], sort_by: Union[str, CheckpointSortBy]) -> List[Any]:
    if isinstance(sort_by, CheckpointSortBy):
        return [content[sort_by.value] for content in contents]
    trials = {content["trial_id"] for content in contents}
    metrics = {trial: _validation(trial, sort_by) for trial in trials}
    return [metrics[content["trial_id"]].get(content["steps_completed"]) for content in contents]


def sort_by_values(contents: List[Content], values: List[Any], order_by: Optional[OrderBy]) -> List[Content]:
    """The contents in the order of their values. Those whose value is None come last in both directions."""

    def value_of(pair: Tuple[Any, Content]) -> Any:
        return pair[0]

    known = [pair for pair in zip(values, contents) if pair[0] is not None]
    known.sort(key=value_of, reverse=order_by is OrderBy.DESC)
    return [content for _, content in known] + [
        content for value, content in zip(values, contents) if value is None
    ]


def _seconds(run: Content) -> float:
    if run["started"] is None or run["ended"] is None:
        return 0
    return (parse_time(run["ended"]) - parse_time(run["started"])).total_seconds()


def _best_validations(experiment_id: int) -> Dict[int, Any]:
    """The best values of the searcher's metric, by trial."""
    trials = ask("experiment", "list-trials", str(experiment_id), "--by-metric")
    best = {trial["id"]: trial.get("best_validation") for trial in trials}
    return {trial_id: value and value["value"] for trial_id, value in best.items()}


def _latest_validation(experiment_id: int, trial_id: int) -> Any:
    searcher = ask("experiment", "config", str(experiment_id)).get("searcher") or {}
    values = _validation(trial_id, searcher.get("metric", ""))
    return values[max(values)] if values else None


def _batches(trial_id: int) -> Optional[int]:
    return max((report.steps_completed for report in read_metrics(trial_id)), default=None)


def _checkpoint_sizes(experiment_id: int) -> Dict[int, int]:
    """The bytes of all checkpoints, by trial."""
    sizes: Dict[int, int] = {}
    for content in ask("experiment", "list-checkpoints", str(experiment_id)):
        trial_id = content["trial_id"]
        sizes[trial_id] = sizes.get(trial_id, 0) + sum(content["resources"].values())
    return sizes


def _for_each(
    by_experiment: Callable[[int], Dict[int, Any]],
) -> Callable[[int, List[Content]], List[Any]]:
    """A function that reads a value of all trials of an experiment at once."""

    def read(experiment_id: int, trials: List[Content]) -> List[Any]:
        found = by_experiment(experiment_id)
        return [found.get(trial["id"]) for trial in trials]

    return read


# The values by which trials are sorted, which are not in the description of their experiment.
_TRIAL_VALUES: Dict[TrialSortBy, Callable[[int, List[Content]], List[Any]]] = {
    TrialSortBy.BEST_VALIDATION_METRIC: _for_each(_best_validations),
    TrialSortBy.CHECKPOINT_SIZE: _for_each(_checkpoint_sizes),
    TrialSortBy.LATEST_VALIDATION_METRIC: lambda experiment_id, trials: [
        _latest_validation(experiment_id, trial["id"]) for trial in trials
    ],
    TrialSortBy.BATCHES_PROCESSED: lambda _, trials: [_batches(trial["id"]) for trial in trials],
    TrialSortBy.START_TIME: lambda _, trials: [
        trial["runs"][0]["started"] if trial["runs"] else None for trial in trials
    ],
    TrialSortBy.END_TIME: lambda _, trials: [
        trial["runs"][-1]["ended"] if trial["runs"] else None for trial in trials
    ],
    TrialSortBy.DURATION: lambda _, trials: [sum(map(_seconds, trial["runs"])) for trial in trials],
    TrialSortBy.RESTARTS: lambda _, trials: [max(len(trial["runs"]) - 1, 0) for trial in trials],
}


def sort_trials(
    experiment_id: int, trials: List[Content], sort_by: TrialSortBy, order_by: OrderBy
) -> List[Content]:
    """The trials of an experiment's description, sorted. Those without the value come last."""
    if sort_by in _TRIAL_VALUES:
        values = _TRIAL_VALUES[sort_by](experiment_id, trials)
    else:
        values = [trial[sort_by.value] for trial in trials]
    return sort_by_values(trials, values, order_by)


def progress_of(experiment: Content) -> Optional[float]:
    """The mean of what the trials of an experiment have reported, from 0 to 1; None if it has no trials."""
    done = []
    for trial in experiment["trials"]:
        is_complete = trial["state"] == "COMPLETED"
        done.append(1.0 if is_complete else ask("trial", "describe", str(trial["id"]))["progress"] or 0.0)
    return sum(done) / len(done) if done else None


def _checkpoints(experiment: Content) -> List[Content]:
    found: List[Content] = ask("experiment", "list-checkpoints", str(experiment["id"]))
    return found


# The values by which experiments are sorted, which are not in the list of experiments.
_EXPERIMENT_VALUES: Dict[ExperimentSortBy, Callable[[Content], Any]] = {
    ExperimentSortBy.NUM_TRIALS: lambda experiment: len(experiment["trials"]),
    ExperimentSortBy.PROGRESS: progress_of,
    ExperimentSortBy.CHECKPOINT_COUNT: lambda experiment: len(_checkpoints(experiment)),
    ExperimentSortBy.CHECKPOINT_SIZE: lambda experiment: sum(
        sum(checkpoint["resources"].values()) for checkpoint in _checkpoints(experiment)
    ),
    ExperimentSortBy.SEARCHER_METRIC_VAL: lambda experiment: experiment["best_trial"]
    and experiment["best_trial"]["value"],
}


def sort_experiments(
    experiments: List[Content], sort_by: ExperimentSortBy, order_by: OrderBy
) -> List[Content]:
    """Entries of the list of experiments, sorted. Those without the value come last.

    Args:
        experiments: for SEARCHER_METRIC_VAL with best_trial
    """

    def in_list(experiment: Content) -> Any:
        return experiment.get(sort_by.value)

    read = _EXPERIMENT_VALUES.get(sort_by, in_list)
    return sort_by_values(experiments, [read(experiment) for experiment in experiments], order_by)


def list_checkpoints(
    experiment_id: int,
    trial_id: Optional[int],
    sort_by: Optional[Union[str, CheckpointSortBy]],
    order_by: Optional[OrderBy],
    max_results: Optional[int] = None,
) -> List[Checkpoint]:
    """Checkpoints of an experiment or of one of its trials that are complete and have the value they are sorted by.

    Args:
        sort_by: the name of a validation metric, or a CheckpointSortBy; None: the searcher's metric
        order_by: given together with sort_by; None: the best ones first

    Raises:
        AssertionError: only one of sort_by and order_by is given
    """
    if (sort_by is None) != (order_by is None):
        raise AssertionError("sort_by and order_by must be given together")
    if sort_by is None:
        sort_by = CheckpointSortBy.SEARCHER_METRIC
        order_by = best_first(experiment_id)
    contents = [
        content
        for content in ask("experiment", "list-checkpoints", str(experiment_id))
        if content["state"] == "COMPLETED" and trial_id in (None, content["trial_id"])
    ]
    values = _values(contents, sort_by)
    with_value = [content for value, content in zip(values, contents) if value is not None]
    found = sort_by_values(with_value, [value for value in values if value is not None], order_by)
    return [Checkpoint(content) for content in found[:max_results]]


def best_first(experiment_id: int) -> OrderBy:
    """The order that puts the best value of the searcher's metric first."""
    searcher = ask("experiment", "config", str(experiment_id)).get("searcher") or {}
    return OrderBy.ASC if searcher.get("smaller_is_better", True) else OrderBy.DESC


def best_checkpoints(
    experiment_id: int, trial_id: Optional[int], sort_by: Optional[str], smaller_is_better: Optional[bool]
) -> List[Checkpoint]:
    """All complete checkpoints that have the metric, the best one first. Arguments as for
    Experiment.top_checkpoint().

    Raises:
        AssertionError: only one of sort_by and smaller_is_better is given
    """
    if (sort_by is None) != (smaller_is_better is None):
        raise AssertionError("sort_by and smaller_is_better must be given together")
    order = None if smaller_is_better is None else OrderBy.ASC if smaller_is_better else OrderBy.DESC
    return list_checkpoints(experiment_id, trial_id, sort_by, order)
