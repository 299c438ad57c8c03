"""Lengths and periods of a training, in batches or epochs."""

from typing import Any, Container, Dict, Optional, Union


class TrainUnit:
    """A length or a period. Use Batch or Epoch.

    Args:
        value: a number of units; a number below 1 counts as 1. For a period also a container of the numbers
            of units at which it ends
    """

    def __init__(self, value: Union[int, Container[int]]) -> None:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not is_number and not isinstance(value, Container):
            raise TypeError(f"{type(self).__name__}() takes an integer or a container of integers, not {value!r}")
        self.value: Union[int, Container[int]] = max(value, 1) if isinstance(value, int) else value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.value == getattr(other, "value", None)

    def _is_due(self, count: int) -> bool:
        """Whether the period ends after `count` units."""
        return count % self.value == 0 if isinstance(self.value, int) else count in self.value

    def _length(self) -> int:
        """The number of units of a length.

        Raises:
            TypeError: it is a container
        """
        if not isinstance(self.value, int):
            raise TypeError(f"max_length must be Batch or Epoch of an integer, not {self!r}")
        return self.value


class Batch(TrainUnit):
    """Batches: `Batch(100)` is a length of 100 batches, or a period that ends at each 100th batch."""


class Epoch(TrainUnit):
    """Passes through the training data: `Epoch(2)` is a length of 2 epochs, or a period that ends at each
    second epoch."""


def records_to_batches(records: int, global_batch_size: int) -> int:
    """The number of batches that have so many records, rounded up, at least 1. search::to_batches() must
    convert alike."""
    return max(-(-records // global_batch_size), 1)


def read_length(
    length: Union[int, Dict[str, Any], None], global_batch_size: Optional[int], records_per_epoch: int = 0
) -> Optional[TrainUnit]:
    """A length of a configuration, such as {"epochs": 2} or a bare number of batches.

    Args:
        global_batch_size: needed for records, and for epochs where records_per_epoch is configured
        records_per_epoch: 0: an epoch is a pass through the data loader

    Returns:
        None if there is no length, or it is 0

    Raises:
        ValueError: global_batch_size is needed and missing
    """
    if not length:
        return None
    units = {name: value for name, value in ({"batches": length} if isinstance(length, int) else length).items() if value}
    if not units:
        return None
    ((unit, value),) = units.items()
    if unit == "batches":
        return Batch(value)
    if unit == "epochs" and records_per_epoch <= 0:
        return Epoch(value)
    if global_batch_size is None:
        raise ValueError(f"a length in {unit} needs the hyperparameter global_batch_size")
    return Batch(records_to_batches(value * (records_per_epoch if unit == "epochs" else 1), global_batch_size))
