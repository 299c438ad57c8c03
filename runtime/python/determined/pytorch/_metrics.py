"""Training metrics: the means over batches and ranks."""

from typing import Any, Callable, Dict, List, Optional

import numpy as np
import torch

from determined.pytorch._data import to_numpy

Metrics = Dict[str, Any]


# A metric of up to so many elements stays on its device until it is reported.
_SMALL_ELEMENTS = 1024


def hold_batch_metrics(result: Any) -> Metrics:
    """Copies the metrics that train_batch() has returned, without waiting for the device: a later step may
    write to the same tensors. A tensor is the metric "loss". Pass the batches to to_host() before they are read.

    Raises:
        TypeError: the result is neither a tensor nor a map
    """
    if isinstance(result, torch.Tensor):
        result = {"loss": result}
    if not isinstance(result, dict):
        raise TypeError(f"train_batch() must return a tensor or a dict of metrics, not {type(result).__name__}")
    return {name: hold(value) for name, value in result.items()}


def hold(value: Any) -> Any:
    """Copies tensors, in maps, lists and tuples too, without waiting for the device. Small tensors are copied on
    it; large ones would fill its memory, and are copied to host memory while it works on. Large tensors on the
    CPU are not copied."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        if value.numel() <= _SMALL_ELEMENTS:
            return value.clone()
        return value.to("cpu", non_blocking=True)
    if isinstance(value, dict):
        return {key: hold(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [hold(each) for each in value]
    return value


def to_host(batches: List[Metrics]) -> List[Metrics]:
    """Converts what hold() has copied to arrays. Waits once for all values of a metric that have the same shape."""
    _finish_copies()
    arrays: List[Metrics] = [dict.fromkeys(each) for each in batches]
    for name in dict.fromkeys(name for each in batches for name in each):
        holders = [index for index, each in enumerate(batches) if name in each]
        for index, array in zip(holders, _to_arrays([batches[index][name] for index in holders])):
            arrays[index][name] = array
    return arrays


def _to_arrays(values: List[Any]) -> List[Any]:
    first = values[0]
    if not all(_is_like(first, value) for value in values):
        return [to_numpy(value) for value in values]
    stacked = to_numpy(torch.stack(values))
    return [stacked[index : index + 1].reshape(first.shape) for index in range(len(values))]


def _is_like(first: Any, value: Any) -> bool:
    """Whether two values are small tensors that can be stacked."""
    if not isinstance(first, torch.Tensor) or not isinstance(value, torch.Tensor) or value.numel() > _SMALL_ELEMENTS:
        return False
    return value.shape == first.shape and value.dtype == first.dtype and value.device == first.device


def _finish_copies() -> None:
    """Waits for the copies of large tensors, which are in pinned memory."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.current_stream().synchronize()


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


def _weighted_mean(values: List[Any], weights: List[int]) -> Any:
    """The mean of numbers or of arrays of one shape, by element; leaves out None and values of the weight 0. The mean
    of the elements of other arrays. None if there is no mean."""
    known = [(value, weight) for value, weight in zip(values, weights) if value is not None and weight > 0]
    try:
        arrays = [np.asarray(value, dtype=float) for value, _ in known]
        if len({array.shape for array in arrays}) > 1:
            arrays = [np.mean(array) for array in arrays]
        return as_scalar(np.average(np.array(arrays), axis=0, weights=[weight for _, weight in known]))
    except (TypeError, ValueError, ZeroDivisionError):
        return None


def _weighted_mean_of_batch(ranks: List[List[Metrics]], samples: List[List[Any]], index: int) -> Metrics:
    present = [(batches[index], counts[index]) for batches, counts in zip(ranks, samples) if index < len(batches)]
    weights = [count for _, count in present]
    return _combine_by_name(lambda values: _weighted_mean(values, weights), [batch for batch, _ in present])


def mean_of_ranks(
    ranks: List[List[Metrics]], samples: Optional[List[List[Optional[int]]]] = None
) -> List[Metrics]:
    """The metrics of each batch, as the means over the ranks. Ranks may have different numbers of batches.

    Args:
        samples: of each batch of each rank, as the weights of the means; None: all have the same weight
    """
    if len(ranks) == 1:
        return ranks[0]
    longest = max((len(batches) for batches in ranks), default=0)
    if samples is not None and all(count is not None for counts in samples for count in counts):
        return [_weighted_mean_of_batch(ranks, samples, index) for index in range(longest)]
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
