"""Trains DigitsTrial by a Trainer: in an experiment, and by hand on a laptop."""

import logging

import determined as det
from determined import pytorch
from model_def import DigitsTrial


def main():
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()  # None outside of an experiment
    hparams = {"global_batch_size": 64, "hidden_units": 32, "learning_rate": 0.1, "dropout": 0.1}
    with pytorch.init(hparams=info.trial.hparams if info else hparams) as context:
        trainer = pytorch.Trainer(DigitsTrial(context), context)
        trainer.fit(
            max_length=pytorch.Epoch(2),
            validation_period=pytorch.Epoch(1),
            latest_checkpoint=info.latest_checkpoint if info else None,
        )


if __name__ == "__main__":
    main()
