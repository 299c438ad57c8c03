"""A validation: evaluate_batch() on the batches of all ranks, or evaluate_full_dataset() on the chief."""

from typing import Any, Dict, List, Optional, Tuple

import torch

from determined import errors, util
from determined.pytorch._data import to_numpy
from determined.pytorch._metrics import as_scalar, hold, to_host
from determined.pytorch._reducer import Reducer, reduce_values

# The result of a rank's batches: the value of each metric, and the number of batches.
RankResult = Tuple[Dict[str, Any], int]


def evaluates_batches(trial: Any) -> bool:
    """Whether a trial has evaluate_batch() rather than evaluate_full_dataset().

    Raises:
        InvalidExperimentException: it has both, or neither
    """
    from determined.pytorch._trial import PyTorchTrial

    by_batch = util.is_overridden(trial.evaluate_batch, PyTorchTrial)
    in_full = util.is_overridden(trial.evaluate_full_dataset, PyTorchTrial)
    if by_batch == in_full:
        raise errors.InvalidExperimentException(
            f"{type(trial).__name__} must have exactly one of evaluate_batch() and evaluate_full_dataset()"
        )
    return bool(by_batch)


def evaluate_batches(trial: Any, context: Any, loader: Any, max_batches: Optional[int]) -> List[Dict[str, Any]]:
    """Calls evaluate_batch() for the batches of this rank. Returns the results, with arrays in place of
    tensors."""
    takes_number = util.has_param(trial.evaluate_batch, "batch_idx", 1)
    outputs: List[Dict[str, Any]] = []
    for batch_idx, batch in enumerate(loader):
        if max_batches is not None and batch_idx >= max_batches:
            break
        if context.experimental._moves_batches:
            batch = context.to_device(batch)
        with context.experimental._autocast():
            result = trial.evaluate_batch(batch, batch_idx) if takes_number else trial.evaluate_batch(batch)
        if not isinstance(result, dict):
            raise TypeError(f"evaluate_batch() must return a dict of metrics, not {type(result).__name__}")
        outputs.append({name: hold(value) for name, value in result.items()})
    return to_host(outputs)


def reduce_outputs(outputs: List[Dict[str, Any]], reducers: Any) -> RankResult:
    """Combines the metrics of one rank's batches.

    Raises:
        ValueError: the batches have different names of metrics
    """
    if not outputs:
        return {}, 0
    for output in outputs:
        if output.keys() != outputs[0].keys():
            raise ValueError(
                "evaluate_batch() must return the same metrics for each batch, and has returned "
                f"{_list(outputs[0])} and {_list(output)}"
            )
    names = list(outputs[0])
    chosen = _reducer_by_name(reducers, names)
    return {
        name: reduce_values(chosen[name], [output[name] for output in outputs]) for name in names
    }, len(outputs)


def combine_ranks(ranks: List[RankResult], reducers: Any) -> Dict[str, Any]:
    """Combines the metrics of all ranks. The weight of a rank in a mean is its number of batches.

    Raises:
        RuntimeError: no rank has a batch
        ValueError: the ranks have different names of metrics
    """
    filled = [rank for rank in ranks if rank[1] > 0]
    if not filled:
        raise RuntimeError("the data loader of the validation has no batches")
    names = list(filled[0][0])
    for values, _ in filled:
        if values.keys() != filled[0][0].keys():
            raise ValueError(f"the ranks have different validation metrics: {_list(filled[0][0])} and {_list(values)}")
    chosen = _reducer_by_name(reducers, names)
    counts = [count for _, count in filled]
    return {
        name: as_scalar(reduce_values(chosen[name], [values[name] for values, _ in filled], counts)) for name in names
    }


def _reducer_by_name(reducers: Any, names: List[str]) -> Dict[str, Reducer]:
    if isinstance(reducers, Reducer):
        return dict.fromkeys(names, reducers)
    if not isinstance(reducers, dict) or set(reducers) != set(names):
        raise errors.InvalidExperimentException(
            "evaluation_reducer() must return a Reducer, or a dict with the names of the metrics "
            f"{', '.join(sorted(names))}, not {reducers!r}"
        )
    return reducers


def _list(metrics: Dict[str, Any]) -> str:
    return ", ".join(sorted(metrics)) or "none"


def validate(
    trial: Any, context: Any, callbacks: Any, loader: Any, by_batch: bool, max_batches: Optional[int] = None
) -> Dict[str, Any]:
    """Validates, and returns the metrics on every rank. Collective."""
    distributed, exchange = context.distributed, context._exchange
    context._reducers.reset(is_training=False)
    callbacks.call("on_validation_start")
    for model in context.models:
        model.eval()
    with torch.no_grad(), exchange.in_evaluation(context.models):
        callbacks.call("on_validation_epoch_start")
        if by_batch:
            outputs = evaluate_batches(trial, context, loader, max_batches)
            callbacks.call("on_validation_epoch_end", outputs)
            reducers = trial.evaluation_reducer()
            ranks = distributed.gather(reduce_outputs(outputs, reducers))
            metrics = combine_ranks(ranks, reducers) if distributed.rank == 0 else {}
        else:
            metrics = _evaluate_full(trial, loader) if distributed.rank == 0 else {}
            callbacks.call("on_validation_epoch_end", [])
    metrics = distributed.broadcast(metrics)
    metrics.update(context._reducers.reduce(False, distributed.allgather))
    callbacks.call("on_validation_end", metrics)
    return dict(metrics)


def _evaluate_full(trial: Any, loader: Any) -> Dict[str, Any]:
    result = trial.evaluate_full_dataset(loader)
    if not isinstance(result, dict):
        raise TypeError(f"evaluate_full_dataset() must return a dict of metrics, not {type(result).__name__}")
    return {name: as_scalar(to_numpy(value)) for name, value in result.items()}
