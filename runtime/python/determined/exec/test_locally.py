"""python3 -m determined.exec.test_locally MODULE:CLASS: trains and validates one batch of a trial class, without
a cluster. `det-submit experiment create --local --test` starts it, and gives it {"config": ..., "hparams": ...} on
its standard input."""

import json
import logging
import sys

import determined


def main() -> None:
    """Raises what the trial class raises."""
    content = json.load(sys.stdin)
    logging.basicConfig(level=logging.INFO, format=determined.LOG_FORMAT)

    from determined import pytorch
    from determined.pytorch._load import import_trial_class

    trial_class = import_trial_class(sys.argv[1])
    with pytorch.init(hparams=content["hparams"], exp_conf=content["config"]) as context:
        pytorch.Trainer(trial_class(context), context).fit(max_length=pytorch.Batch(1), test_mode=True)
    print(f"{sys.argv[1]} has trained and validated a batch")


if __name__ == "__main__":
    main()
