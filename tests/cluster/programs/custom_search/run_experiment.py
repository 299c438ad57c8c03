"""Runs the search of halving.py from the login node."""

import logging
import pathlib
import random
import sys

sys.path.append(".")

from determined import searcher  # noqa: E402
from halving import HalvingSearchMethod  # noqa: E402


def sample_params():
    return {"floor": random.random(), "epoch_seconds": 0.02}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    print("the search begins")
    search_method = HalvingSearchMethod(
        search_space=sample_params, max_length=16, max_trials=8, num_rungs=3, divisor=2, concurrent=4
    )
    search_runner = searcher.LocalSearchRunner(search_method, searcher_dir=pathlib.Path("searcher_dir"))
    experiment_id = search_runner.run("trial_code/config.yaml", model_dir="trial_code")
    print(f"Experiment {experiment_id} has been completed.")
