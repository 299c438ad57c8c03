"""Training metrics: the means over batches and ranks."""

from typing import Any, Callable, Dict, List

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
    """Converts a tensor or an array of one element to a number, and other tensors to arrays. Returns other
    values unchanged."""
    value = to_numpy(value)
    return value.item() if isinstance(value, (np.ndarray, np.generic)) and value.size == 1 else value


def mean_of(values: List[Any]) -> Any:
    """The mean of numbers, and of the elements of arrays; leaves out None. The weight of each value is the
    same. Returns None if there is no mean."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    if all(isinstance(value, (int, float)) for value in known):
        return sum(known) / len(known)
    try:
        return as_scalar(np.mean([np.mean(value) for value in known]))
    except (TypeError, ValueError):
        return None


def _mean_of_elements(values: List[Any]) -> Any:
    """The array of the means of each element if the values are arrays of one shape; else mean_of()."""
    shapes = {np.shape(value) for value in values if isinstance(value, np.ndarray)}
    if len(shapes) != 1 or not all(isinstance(value, np.ndarray) for value in values):
        return mean_of(values)
    try:
        return as_scalar(np.mean(np.array(values), axis=0))
    except (TypeError, ValueError):
        return None


def mean_of_ranks(ranks: List[List[Metrics]]) -> List[Metrics]:
    """The metrics of each batch, as the means over the ranks. Ranks may have different numbers of batches."""
    if len(ranks) == 1:
        return ranks[0]
    longest = max((len(batches) for batches in ranks), default=0)
    return [
        _combine_by_name(_mean_of_elements, [batches[index] for batches in ranks if index < len(batches)])
        for index in range(longest)
    ]


def mean_of_batches(batches: List[Metrics]) -> Metrics:
    """The mean of each metric, a number. A metric that has no mean is None."""
    return _combine_by_name(mean_of, batches)


def _combine_by_name(combine: Callable[[List[Any]], Any], maps: List[Metrics]) -> Metrics:
    names: Dict[str, None] = {}
    for each in maps:
        names.update(dict.fromkeys(each))
    return {name: combine([each.get(name) for each in maps]) for name in names}
