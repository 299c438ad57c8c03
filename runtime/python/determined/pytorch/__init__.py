"""PyTorchTrial: a class with a model, its training step and its data, which det-submit trains, validates, saves and resumes.

    from determined import pytorch

    class MyTrial(pytorch.PyTorchTrial):
        ...

    with pytorch.init() as context:
        pytorch.Trainer(MyTrial(context), context).fit(max_length=pytorch.Epoch(10))
"""

try:
    import torch as _torch
except ImportError as _problem:
    raise ImportError(f"determined.pytorch needs PyTorch: {_problem}") from _problem

from determined._absent import refuse_names_of
from determined.pytorch import experimental, samplers
from determined.pytorch._batches import adapt_batch_sampler
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._data import TorchData, data_length, to_device
from determined.pytorch._data_loader import DataLoader
from determined.pytorch._experimental_context import PyTorchExperimentalContext
from determined.pytorch._init import init
from determined.pytorch._load import CheckpointLoadContext, load_trial_from_checkpoint_path
from determined.pytorch._lr_scheduler import LRScheduler
from determined.pytorch._reducer import MetricReducer, Reducer
from determined.pytorch._trainer import Trainer
from determined.pytorch._trial import PyTorchTrial
from determined.pytorch._units import Batch, Epoch, TrainUnit

__getattr__ = refuse_names_of(__name__)

PyTorchTrial.trial_context_class = PyTorchTrialContext

__all__ = [
    "Batch",
    "CheckpointLoadContext",
    "DataLoader",
    "Epoch",
    "LRScheduler",
    "MetricReducer",
    "PyTorchCallback",
    "PyTorchExperimentalContext",
    "PyTorchTrial",
    "PyTorchTrialContext",
    "Reducer",
    "TorchData",
    "TrainUnit",
    "Trainer",
    "adapt_batch_sampler",
    "data_length",
    "experimental",
    "init",
    "load_trial_from_checkpoint_path",
    "samplers",
    "to_device",
]
