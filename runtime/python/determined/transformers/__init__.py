"""Hugging Face's Trainer in a trial: metrics, checkpoints, preemption and the length of the searcher, by one callback.

    callback = DetCallback(core_context, training_arguments)
    trainer.add_callback(callback)
    trainer.train(resume_from_checkpoint=training_arguments.resume_from_checkpoint)
"""

from determined._absent import refuse_names_of
from determined.transformers._callback import DetCallback

__all__ = ["DetCallback"]
__getattr__ = refuse_names_of(__name__)
