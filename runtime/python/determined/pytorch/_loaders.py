"""The data loaders of this rank."""

import sys
from typing import Any

import torch

from determined import errors
from determined.pytorch._data_loader import DataLoader


def _data_seed(context: Any) -> int:
    """The seed of the order of samples, the same on all ranks. Collective."""
    is_trial = context._trial_info() is not None
    return int(context.get_trial_seed() if is_trial else context.distributed.broadcast(torch.initial_seed()))


def _require_own(loader: Any, context: Any, method: str) -> None:
    if context.experimental._checks_loaders and not isinstance(loader, DataLoader):
        raise RuntimeError(
            f"{method}() must return a determined.pytorch.DataLoader, which can be split and resumed, and not a "
            f"{type(loader).__module__}.{type(loader).__name__}. "
            "context.experimental.disable_dataset_reproducibility_checks() allows other loaders"
        )


def build_training_loader(trial: Any, context: Any, skip: int) -> Any:
    """The loader of the training. Sets the length of an epoch in the context, in batches of the chief.
    Collective.

    Args:
        skip: number of this rank's batches to leave out; a loader that is not det-submit's begins at its first batch
    """
    loader = trial.build_training_data_loader()
    _require_own(loader, context, "build_training_data_loader")
    distributed, seed = context.distributed, _data_seed(context)
    if context._is_elastic:
        if not isinstance(loader, DataLoader):
            raise errors.InvalidExperimentException(
                "an elastic trial needs a determined.pytorch.DataLoader for its training, whose batches its ranks share"
            )
        size = context.get_global_batch_size()
        loader = loader._build_shares(size, skip, distributed.size, distributed.rank, seed)
    elif isinstance(loader, DataLoader):
        loader = loader._build(True, skip, distributed.size, distributed.rank, seed)
    length = len(loader) if hasattr(loader, "__len__") and _has_length(loader) else sys.maxsize
    if length == 0:
        raise RuntimeError("the data loader of the training has no batches")
    context._epoch_length = distributed.broadcast(length)
    return loader


def _has_length(loader: Any) -> bool:
    try:
        len(loader)
    except (TypeError, NotImplementedError):
        return False
    return True


def build_validation_loader(trial: Any, context: Any, by_batch: bool) -> Any:
    """The loader of the validation. For evaluate_batch() (by_batch) each rank gets a loader of its share; for
    evaluate_full_dataset() the chief gets one of the whole data set, and other ranks get None. Collective."""
    distributed, seed = context.distributed, _data_seed(context)
    if not by_batch and distributed.rank != 0:
        return None
    loader = trial.build_validation_data_loader()
    if by_batch:
        _require_own(loader, context, "build_validation_data_loader")
    if not isinstance(loader, DataLoader):
        return loader
    replicas, rank = (distributed.size, distributed.rank) if by_batch else (1, 0)
    return loader._build(False, 0, replicas, rank, seed)
