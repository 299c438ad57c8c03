"""Lightning 2 in a trial: metrics by a Logger, checkpoints by a CheckpointIO, preemption and the searcher's length by a Callback.

    trainer = Trainer(
        logger=DetLogger(core_context),
        callbacks=[DetCallback(core_context)],
        plugins=[DetCheckpointIO(core_context)],
    )
    trainer.fit(model, ckpt_path=latest_checkpoint(core_context))

Written and tested against Lightning's documented calls; no release of Debian has Lightning.
"""

from determined._absent import refuse_names_of
from determined.lightning._callback import DetCallback, latest_checkpoint
from determined.lightning._checkpoint_io import DetCheckpointIO
from determined.lightning._logger import DetLogger

__all__ = ["DetCallback", "DetCheckpointIO", "DetLogger", "latest_checkpoint"]
__getattr__ = refuse_names_of(__name__)
