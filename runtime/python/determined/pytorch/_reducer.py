"""How metrics of batches and ranks are combined."""

import abc
import enum
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import numpy as np


class Reducer(enum.Enum):
    """How the values of evaluate_batch() are combined over the elements of arrays, batches and ranks."""

    AVG = 1  # the mean of all batches
    SUM = 2
    MAX = 3
    MIN = 4


_NUMPY_REDUCERS: Dict[Reducer, Callable[..., Any]] = {
    Reducer.AVG: np.mean,
    Reducer.SUM: np.sum,
    Reducer.MAX: np.max,
    Reducer.MIN: np.min,
}


def reduce_values(reducer: Reducer, values: List[Any], counts: Optional[List[int]] = None) -> Any:
    """Combines values to a number: the elements of each value, which may be an array, and then the values.

    Args:
        counts: number of batches of each value, the weights of a mean; None: equal
    """
    reduce = _NUMPY_REDUCERS[reducer]
    numbers = np.array([reduce(value) for value in values])
    if reducer is Reducer.AVG and counts is not None:
        return np.average(numbers, weights=counts)
    return reduce(numbers)


class MetricReducer(abc.ABC):
    """A metric that is computed from all batches of all ranks. Register it by PyTorchTrialContext.wrap_reducer()."""

    @abc.abstractmethod
    def reset(self) -> None:
        """Drops what has been accumulated. Called before the batches of each report of training metrics if
        the reducer is wrapped for training, and before each validation if it is wrapped for validation."""

    @abc.abstractmethod
    def per_slot_reduce(self) -> Any:
        """What this rank has accumulated, as an object that can be pickled."""

    @abc.abstractmethod
    def cross_slot_reduce(self, per_slot_metrics: List[Any]) -> Any:
        """The metric. Called on every rank with the objects of all ranks in rank order."""


class _FunctionReducer(MetricReducer):
    """A function of the list of all values that were passed to update(), ordered by call of update() and then
    by rank."""

    def __init__(self, function: Callable[[List[Any]], Any]) -> None:
        self._function = function
        self._values: List[Any] = []

    def update(self, value: Any) -> None:
        self._values.append(value)

    def reset(self) -> None:
        self._values = []

    def per_slot_reduce(self) -> Any:
        return self._values

    def cross_slot_reduce(self, per_slot_metrics: List[Any]) -> Any:
        longest = max((len(values) for values in per_slot_metrics), default=0)
        flat = [values[index] for index in range(longest) for values in per_slot_metrics if index < len(values)]
        return self._function(flat)


class _Wrapped:
    def __init__(self, reducer: MetricReducer, name: Optional[str], for_training: bool, for_validation: bool) -> None:
        self.reducer = reducer
        self.name = name
        self.for_training = for_training
        self.for_validation = for_validation

    def label(self) -> str:
        return self.name if self.name is not None else type(self.reducer).__name__

    def call(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self.reducer, method)(*arguments)
        except Exception as problem:
            raise ValueError(f"the reducer '{self.label()}' failed in {method}(): {problem}") from problem

    def metrics_of(self, value: Any) -> Dict[str, Any]:
        if self.name is not None:
            assert not isinstance(value, dict), f"the reducer '{self.name}' has a name and returned a dict"
            return {self.name: value}
        assert isinstance(value, dict), f"the reducer '{self.label()}' has no name and returned no dict"
        return value


class WrappedReducers:
    """The reducers of a trial."""

    def __init__(self) -> None:
        self._all: List[_Wrapped] = []

    def add(
        self,
        reducer: Union[MetricReducer, Callable[..., Any]],
        name: Optional[str],
        for_training: bool,
        for_validation: bool,
    ) -> MetricReducer:
        if not isinstance(reducer, MetricReducer):
            assert callable(reducer), f"a reducer must be a MetricReducer or a function, not {reducer!r}"
            reducer = _FunctionReducer(reducer)
        assert for_training or for_validation, "a reducer must be for training or for validation"
        assert all(each.reducer is not reducer for each in self._all), "the reducer is wrapped already"
        self._all.append(_Wrapped(reducer, name, for_training, for_validation))
        return reducer

    def has_any(self) -> bool:
        return bool(self._all)

    def reset(self, is_training: Optional[bool] = None) -> None:
        """Resets the reducers for training (True), those for validation (False), or all (None)."""
        for each in self._chosen(is_training):
            each.call("reset")

    def reduce(self, is_training: bool, allgather: Callable[[Any], List[Any]]) -> Dict[str, Any]:
        """The metrics of the reducers for training or validation. Collective: one allgather for all of them."""
        chosen = self._chosen(is_training)
        if not chosen:
            return {}
        ranks: List[Tuple[Any, ...]] = allgather(tuple(each.call("per_slot_reduce") for each in chosen))
        metrics: Dict[str, Any] = {}
        for index, each in enumerate(chosen):
            value = each.call("cross_slot_reduce", [rank[index] for rank in ranks])
            metrics.update(each.metrics_of(value))
        return metrics

    def _chosen(self, is_training: Optional[bool]) -> List[_Wrapped]:
        if is_training is None:
            return self._all
        return [each for each in self._all if (each.for_training if is_training else each.for_validation)]
