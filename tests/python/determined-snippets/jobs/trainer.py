"""A script that trains with Trainer on all slots."""

import logging

import determined as det
from determined import pytorch
from trial import LineTrial


def main() -> None:
    info = det.get_cluster_info()
    hparams = info.trial.hparams
    with pytorch.init(hparams=hparams) as context:
        trainer = pytorch.Trainer(LineTrial(context), context)
        trainer.fit(
            max_length=pytorch.Batch(6),
            checkpoint_policy="best",
            validation_period=pytorch.Batch(2),
            latest_checkpoint=info.latest_checkpoint,
        )


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    main()
