"""The length of batches, and how they are moved to a device."""

import logging
from typing import Any, Dict, Optional, Sequence, Set, Type, Union

import numpy as np
import torch

logger = logging.getLogger("determined.pytorch")

TorchData = Union[Dict[str, torch.Tensor], Sequence[torch.Tensor], torch.Tensor]

_CONVERTIBLE_KINDS = "fciub"  # of numpy.dtype.kind: floats, complex numbers, integers, booleans


def data_length(data: Any) -> int:
    """The number of samples of a batch: the length of an array or tensor, or of the first value of a map or a list.

    Raises:
        ValueError: a map or a list is empty
        TypeError: the batch is of another type
    """
    if isinstance(data, (np.ndarray, torch.Tensor)):
        return len(data)
    if isinstance(data, (dict, list, tuple)):
        values = list(data.values()) if isinstance(data, dict) else data
        if not values:
            raise ValueError("an empty batch has no length")
        return data_length(values[0])
    raise TypeError(f"the length of a batch of type {type(data).__name__} is not known: override get_batch_length()")


def to_device(data: Any, device: Any, warned_types: Optional[Set[Type[Any]]] = None) -> Any:
    """Moves tensors to a device, in maps, lists and tuples too. Arrays of numbers become tensors.

    Values of other types are moved by their method to(). Values without one are returned unchanged, with a
    warning.

    Args:
        warned_types: types about which this function has warned; it adds to them and warns once for each
            type. None: it warns for each value
    """
    if isinstance(data, torch.Tensor):
        return data.to(device, non_blocking=True)
    if isinstance(data, dict):
        return {key: to_device(value, device, warned_types) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(to_device(value, device, warned_types) for value in data))
    if isinstance(data, (list, tuple)):
        return type(data)(to_device(value, device, warned_types) for value in data)
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind in _CONVERTIBLE_KINDS:
        return torch.from_numpy(np.asarray(data)).to(device)
    if hasattr(data, "to"):
        return data.to(device)
    if warned_types is None or type(data) not in warned_types:
        if warned_types is not None:
            warned_types.add(type(data))
        logger.warning("values of type %s stay where they are: only tensors and arrays are moved", type(data).__name__)
    return data


def to_numpy(value: Any) -> Any:
    """Converts tensors to arrays on the CPU, in maps, lists and tuples too; tuples become lists. Returns
    other values unchanged."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype is torch.bfloat16 else value).numpy()
    if isinstance(value, dict):
        return {key: to_numpy(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_numpy(each) for each in value]
    return value
