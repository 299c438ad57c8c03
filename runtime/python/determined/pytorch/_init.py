"""pytorch.init(): connects the ranks and makes the context of a trial."""

import contextlib
import logging
from typing import Any, Dict, Iterator, Optional

import determined
from determined import core
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._exchange import connect_in_trial, connect_locally
from determined.pytorch._optimizations import Optimizations
from determined.pytorch._rng import seed_all

logger = logging.getLogger("determined.pytorch")


@contextlib.contextmanager
def init(
    *,
    hparams: Optional[Dict[str, Any]] = None,
    exp_conf: Optional[Dict[str, Any]] = None,
    distributed: Optional[core.DistributedContext] = None,
    aggregation_frequency: int = 1,
    enable_tensorboard_logging: bool = True,
) -> Iterator[PyTorchTrialContext]:
    """Makes the context with which a PyTorchTrial is built, for a `with` block.

    In a trial the launcher has started the ranks, the configuration is the trial's, and the modules random,
    numpy and torch get the trial's seed, the same on every rank.

    Args:
        hparams: what context.get_hparam() gives; for those of the trial pass det.get_cluster_info().trial.hparams
        exp_conf: what context.get_experiment_config() gives, outside of a trial
        distributed: the ranks, outside of a trial
        aggregation_frequency: number of batches between two steps of the optimizers
        enable_tensorboard_logging: write the reported metrics for TensorBoard

    Raises:
        ValueError: the trial has several slots and no launcher has started a rank for each;
            aggregation_frequency is below 1
    """
    optimizations = Optimizations(aggregation_frequency=aggregation_frequency)
    with make_context(hparams, exp_conf, distributed, optimizations, enable_tensorboard_logging) as context:
        yield context


@contextlib.contextmanager
def make_context(
    hparams: Optional[Dict[str, Any]],
    exp_conf: Optional[Dict[str, Any]],
    distributed: Optional[core.DistributedContext],
    optimizations: Optimizations,
    enable_tensorboard_logging: bool = True,
) -> Iterator[PyTorchTrialContext]:
    """init() with the given optimizations."""
    if optimizations.aggregation_frequency < 1:
        raise ValueError(f"aggregation_frequency must be at least 1, not {optimizations.aggregation_frequency}")
    info = determined.get_cluster_info()
    is_trial = info is not None and info.task_type == "TRIAL"
    if is_trial and info is not None:
        if distributed is not None:
            logger.warning("pytorch.init(distributed=...) has no effect in a trial: the launcher connects the ranks")
        ranks = connect_in_trial(sum(info.container_slot_counts))
        exp_conf = info.trial._config
        seed_all(info.trial.trial_seed)
    else:
        ranks = connect_locally(distributed)
    with core.init(distributed=ranks.distributed, tensorboard_mode=core.TensorboardMode.MANUAL) as core_context:
        context = PyTorchTrialContext(
            core_context, ranks.exchange, hparams, exp_conf, optimizations, enable_tensorboard_logging
        )
        if optimizations.uses_amp():
            context.experimental.use_amp()
        yield context
    ranks.close()  # not after an exception: other ranks may be in a collective operation
