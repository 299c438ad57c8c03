"""search-wins-tpe: the lowest loss that TPE of Optuna finds by determined.optuna, and random search with as many trials.

Each trial trains to its end, on the synthetic benchmark of tests/simulation/search, 16 at a time. Arguments: the program
bench-search-wins, the number of trials, the number of seeds, and the first seed (random if it is not given).
"""

import json
import math
import secrets
import statistics
import subprocess
import sys

import optuna

from determined import _sampler
from determined import optuna as det_optuna

CONCURRENT = 16
Z = 1.959964


def make_study(seed):
    return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True))


class Curves:
    """The benchmark with one seed: bench-search-wins --curves."""

    def __init__(self, program, seed, count):
        command = [program, "--curves", str(seed), str(count)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.space = json.loads(self.process.stdout.readline())
        self.random = [self.read() for _ in range(count)]

    def read(self):
        loss = json.loads(self.process.stdout.readline())
        return math.inf if loss is None else loss

    def loss_of(self, hyperparameters, seed):
        self.process.stdin.write(json.dumps({"hyperparameters": hyperparameters, "seed": seed}) + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def search(curves, seed, count):
    """The lowest loss that TPE finds. A trial ends when CONCURRENT others have begun after it."""
    trials = []
    for index in range(count):
        if index >= CONCURRENT:
            ended = trials[index - CONCURRENT]
            loss = curves.loss_of(ended.hyperparameters, seed * 1000 + ended.trial)
            value = None if math.isinf(loss) else loss
            validations = [] if value is None else [(1000, value)]
            trials[ended.trial] = ended._replace(state="completed", metric=value, validations=validations)
        request = _sampler.Request(
            experiment=1,
            seed=seed,
            max_trials=count,
            searcher={"smaller_is_better": True},
            hyperparameters=curves.space,
            trials=trials,
            question="begin",
            trial=index,
        )
        chosen = det_optuna.answer(request, make_study)["hyperparameters"]
        trials.append(_sampler.Trial(index, "running", chosen, None, [], {}, None))
    losses = [trial.metric for trial in trials if trial.metric is not None]
    losses += [curves.loss_of(each.hyperparameters, seed * 1000 + each.trial) for each in trials[-CONCURRENT:]]
    return min(losses)


def interval(share, count):
    """The 95 % confidence interval of a share, by Wilson."""
    scale = 1 + Z * Z / count
    middle = (share + Z * Z / (2 * count)) / scale
    half = Z * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count)) / scale
    return middle - half, middle + half


def main():
    program, count, seeds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    first = int(sys.argv[4]) if len(sys.argv) > 4 else secrets.randbelow(10**6)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pairs = []
    for seed in range(first, first + seeds):
        curves = Curves(program, seed, count)
        pairs.append((search(curves, seed, count), min(curves.random)))
        curves.close()
    share = sum(ours <= peer for ours, peer in pairs) / seeds
    low, high = interval(share, seeds)
    row = {
        "name": f"search-wins-tpe-{count}",
        "ours": statistics.median(ours for ours, _ in pairs),
        "peer": statistics.median(peer for _, peer in pairs),
        "ratio": statistics.median(ours / peer for ours, peer in pairs),
        "unit": "loss",
        "better": "lower",
        "at_least_as_good": share,
        "interval_low": low,
        "interval_high": high,
        "first_seed": first,
    }
    print(json.dumps({name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in row.items()}))


if __name__ == "__main__":
    main()
