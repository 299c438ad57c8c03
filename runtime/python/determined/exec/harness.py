"""python3 -m determined.exec.harness MODULE:CLASS: trains a trial class on one rank. A launcher with `--trial
MODULE:CLASS` starts it for each rank."""

import logging
import sys
from typing import Any, Dict, List, Optional

import determined
from determined import errors

USAGE = "usage: python3 -m determined.exec.harness MODULE:CLASS"

logger = logging.getLogger("determined.exec")


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 1


def main(arguments: Optional[List[str]] = None) -> int:
    """Returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if len(words) != 1:
        print(USAGE, file=sys.stderr)
        return _fail("one trial class is needed, for example model_def:MyTrial")
    info = determined.get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        return _fail("a trial class is started by an experiment; a script starts it by determined.pytorch.Trainer")
    logging.basicConfig(level=logging.DEBUG if info.trial._debug else logging.INFO, format=determined.LOG_FORMAT)

    from determined import pytorch
    from determined.pytorch._load import import_trial_class

    trial_class = import_trial_class(words[0])
    if not isinstance(trial_class, type) or not issubclass(trial_class, pytorch.PyTorchTrial):
        return _fail(f"{words[0]} is not a subclass of determined.pytorch.PyTorchTrial")
    run(trial_class, info)
    return 0


def run(trial_class: Any, info: "determined.ClusterInfo") -> None:
    """Trains a PyTorchTrial as the configuration says."""
    from determined import pytorch
    from determined.pytorch._init import make_context
    from determined.pytorch._optimizations import Optimizations

    config = info.trial._config
    with make_context(info.trial.hparams, None, None, Optimizations.from_config(config)) as context:
        if context.distributed.rank != 0 and not info.trial._debug:
            logging.getLogger("determined").setLevel(logging.WARNING)
        trainer = pytorch.Trainer(trial_class(context), context)
        trainer.fit(latest_checkpoint=info.latest_checkpoint, **fit_arguments(config, context))


def fit_arguments(config: Dict[str, Any], context: Any) -> Dict[str, Any]:
    """The arguments of Trainer.fit() for a configuration.

    Raises:
        InvalidConfigurationException: the searcher does not say how long to train
    """
    from determined.pytorch._trainer import _find_global_batch_size, searcher_length
    from determined.pytorch._units import Batch, read_length

    records_per_epoch = config.get("records_per_epoch") or 0
    global_batch_size = _find_global_batch_size(context)
    max_length = searcher_length(config["searcher"], global_batch_size, records_per_epoch)
    if max_length is None:
        raise errors.InvalidConfigurationException(
            config["searcher"], "a trial class needs searcher.max_length, or max_time with time_metric: batches or epochs"
        )

    def period(name: str) -> Any:
        return read_length(config.get(name), global_batch_size, records_per_epoch)

    return {
        "max_length": max_length,
        "checkpoint_period": period("min_checkpoint_period"),
        "validation_period": period("min_validation_period"),
        "reporting_period": Batch(config.get("scheduling_unit") or 100),
        "checkpoint_policy": config.get("checkpoint_policy") or "best",
        "step_zero_validation": bool(config.get("perform_initial_validation")),
        "profiling_enabled": bool((config.get("profiling") or {}).get("enabled")),
    }


if __name__ == "__main__":
    sys.exit(main())
