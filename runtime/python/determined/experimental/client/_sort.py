"""Lists of checkpoints, in the order that the user asks for."""

from typing import Any, Dict, List, Optional, Tuple, Union

from determined.experimental.client._checkpoint import Checkpoint
from determined.experimental.client._det_submit import ask
from determined.experimental.client._enums import CheckpointSortBy, OrderBy


def _validation(trial_id: int, metric: str) -> Dict[int, Any]:
    """The values of a validation metric of a trial, by steps_completed."""
    reports = ask("trial", "metrics", str(trial_id), "--group", "validation")
    return {report["steps_completed"]: report["metrics"].get(metric) for report in reports}


def _values(contents: List[Dict[str, Any]], sort_by: Union[str, CheckpointSortBy]) -> List[Any]:
    if isinstance(sort_by, CheckpointSortBy):
        return [content[sort_by.value] for content in contents]
    trials = {content["trial_id"] for content in contents}
    metrics = {trial: _validation(trial, sort_by) for trial in trials}
    return [metrics[content["trial_id"]].get(content["steps_completed"]) for content in contents]


def _first(pair: Tuple[Any, Dict[str, Any]]) -> Any:
    return pair[0]


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
    ranked = [pair for pair in zip(_values(contents, sort_by), contents) if pair[0] is not None]
    ranked.sort(key=_first, reverse=order_by is OrderBy.DESC)
    return [Checkpoint(content) for _, content in ranked[:max_results]]


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
