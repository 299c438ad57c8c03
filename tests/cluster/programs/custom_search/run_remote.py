"""Runs the search of halving.py from a trial."""

import logging
import random
import sys

sys.path.append(".")

import determined as det  # noqa: E402
from determined import searcher  # noqa: E402
from halving import HalvingSearchMethod  # noqa: E402


def sample_params():
    return {"floor": random.random(), "epoch_seconds": 0.02}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    with det.core.init() as core_context:
        info = det.get_cluster_info()
        assert info is not None
        search_method = HalvingSearchMethod(search_space=sample_params, **info.trial.hparams)
        search_runner = searcher.RemoteSearchRunner(search_method, context=core_context)
        search_runner.run("trial_code/config.yaml", model_dir="trial_code")
