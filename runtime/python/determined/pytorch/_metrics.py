"""Training metrics: the means over batches and ranks."""

from typing import Any, Dict, List, Optional

import numpy as np
import torch

from determined.pytorch._data import to_numpy

Metrics = Dict[str, Any]


def read_batch_metrics(result: Any) -> Metrics:
    """The metrics that train_batch() has returned, with arrays in place of tensors. A tensor is the metric
    "loss".

    Raises:
        TypeError: the result is neither a tensor nor a map
    """
    if isinstance(result, torch.Tensor):
        result = {"loss": result}
    if not isinstance(result, dict):
        raise TypeError(f"train_batch() must return a tensor or a dict of metrics, not {type(result).__name__}")
    return {name: to_numpy(value) for name, value in result.items()}


def as_scalar(value: Any) -> Any:
    """Converts an array of no dimensions to a number. Returns other values unchanged."""
    return value.item() if isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0 else value


def mean_of(values: List[Any]) -> Any:
    """The mean of numbers or arrays; leaves out None. Returns None if there is no mean."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    if all(isinstance(value, (int, float)) for value in known):
        return sum(known) / len(known)
    try:
        return as_scalar(np.mean(np.array(known), axis=0))
    except (TypeError, ValueError):
        return None


def mean_of_ranks(ranks: List[List[Metrics]]) -> List[Metrics]:
    """The metrics of each batch, as the means over the ranks. Ranks may have different numbers of batches."""
    if len(ranks) == 1:
        return ranks[0]
    longest = max((len(batches) for batches in ranks), default=0)
    return [_mean_by_name([batches[index] for batches in ranks if index < len(batches)]) for index in range(longest)]


def mean_of_batches(batches: List[Metrics]) -> Metrics:
    """The mean of each metric. A metric that has no mean is None."""
    return _mean_by_name(batches)


def _mean_by_name(maps: List[Metrics]) -> Metrics:
    names: Dict[str, Optional[None]] = {}
    for each in maps:
        names.update(dict.fromkeys(each))
    return {name: mean_of([each.get(name) for each in maps]) for name in names}
