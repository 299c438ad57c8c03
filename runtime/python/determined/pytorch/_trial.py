"""The class that a user writes."""

import abc
from typing import Any, Dict, Union

import torch

from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._data import TorchData, data_length
from determined.pytorch._data_loader import DataLoader
from determined.pytorch._reducer import Reducer


class PyTorchTrial(abc.ABC):
    """A training of a PyTorch model.

        class MyTrial(PyTorchTrial):
            def __init__(self, context):
                self.context = context
                self.model = context.wrap_model(torch.nn.Linear(9, 10))
                self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

            def train_batch(self, batch, epoch_idx, batch_idx):
                loss = torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])
                self.context.backward(loss)
                self.context.step_optimizer(self.optimizer)
                return {"loss": loss}

            ...

    Start it by `python3 -m determined.launch.torch_distributed --trial module:MyTrial`, or in a script by Trainer.
    """

    trial_context_class: Any = None

    @abc.abstractmethod
    def __init__(self, context: Any) -> None:
        """Makes models, optimizers and schedulers, and wraps them by methods of the context.

        Args:
            context: a PyTorchTrialContext
        """

    @abc.abstractmethod
    def train_batch(
        self, batch: TorchData, epoch_idx: int, batch_idx: int
    ) -> Union[torch.Tensor, Dict[str, Any]]:
        """Trains one batch.

        Returns:
            metrics; a tensor is the metric "loss"
        """

    @abc.abstractmethod
    def build_training_data_loader(self) -> DataLoader:
        """The data loader of the training."""

    @abc.abstractmethod
    def build_validation_data_loader(self) -> DataLoader:
        """The data loader of the validation."""

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:
        """The callbacks, by name."""
        return {}

    def evaluate_batch(self, batch: TorchData, batch_idx: int) -> Dict[str, Any]:
        """Metrics of one batch of a validation. Override either this or evaluate_full_dataset(). The parameter
        batch_idx may be left out."""
        raise NotImplementedError

    def evaluation_reducer(self) -> Union[Reducer, Dict[str, Reducer]]:
        """How the values of evaluate_batch() are combined: one Reducer for all metrics, or one for each name."""
        return Reducer.AVG

    def evaluate_full_dataset(self, data_loader: Any) -> Dict[str, Any]:
        """Metrics of a validation, computed by the chief alone with a loader of the whole data set."""
        raise NotImplementedError

    def get_batch_length(self, batch: Any) -> int:
        """The number of samples of a batch."""
        return data_length(batch)
