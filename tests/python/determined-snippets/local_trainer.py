"""Trains with Trainer on the login node, without a cluster."""

import sys

from checks import check
from determined import pytorch

sys.path.insert(0, "code")
from trial import LineTrial

hparams = {"global_batch_size": 4, "lr": 0.1}
with pytorch.init(hparams=hparams, exp_conf={"searcher": {"metric": "error"}}) as context:
    trainer = pytorch.Trainer(LineTrial(context), context)
    trainer.fit(
        max_length=pytorch.Batch(8),
        validation_period=pytorch.Batch(4),
        checkpoint_period=pytorch.Epoch(1),
        checkpoint_policy="all",
        reporting_period=pytorch.Batch(2),
    )
    check(context.current_train_batch() + 1 in (8, 9), True)
