"""The class that a user writes for a batch inference, and its context."""

import abc
import contextlib
import logging
import pathlib
from typing import Any, Callable, Dict, Iterator, Optional, Set, Type, Union

from determined import core
from determined.pytorch._data import to_device
from determined.pytorch._exchange import find_device
from determined.pytorch._reducer import MetricReducer, WrappedReducers
from determined.pytorch.experimental._output import InferenceOutput

logger = logging.getLogger("determined.pytorch")


class TorchBatchProcessorContext:
    """The argument of the constructor of a TorchBatchProcessor.

    Attributes:
        device: the torch.device of this rank
    """

    def __init__(self, core_context: core.Context, output: InferenceOutput) -> None:
        self._core = core_context
        self._output = output
        self._reducers = WrappedReducers()
        self._warned_types: Set[Type[Any]] = set()
        self._steps_completed = 0
        self.device = find_device(core_context.distributed)

    def to_device(self, data: Any, warned_types: Optional[Set[Type[Any]]] = None) -> Any:
        """Moves tensors and arrays to the device, in maps, lists and tuples too. warned_types: as in
        pytorch.to_device()."""
        return to_device(data, self.device, self._warned_types if warned_types is None else warned_types)

    def prepare_model_for_inference(self, model: Any) -> Any:
        """Moves the model to the device, sets its evaluation mode, and returns it."""
        model.eval()
        return model.to(self.device)

    @contextlib.contextmanager
    def upload_path(self) -> Iterator[pathlib.Path]:
        """Gives a `with` block a directory for files of the output. The output has a directory
        `rank_<number>` for each rank. When all batches are processed, it is saved as a checkpoint.

        Put the number of the batch into the names of files: after a run was killed, batches since the last
        saved progress are processed again, and their files then replace the earlier ones.
        """
        with self._output.upload_path() as path:
            yield path

    def report_metrics(self, group: str, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Reports metrics of any group. Only those of the chief are written."""
        self._core.train.report_metrics(group, steps_completed, metrics)

    def wrap_reducer(
        self,
        reducer: Union[MetricReducer, Callable[..., Any]],
        name: Optional[str] = None,
        for_training: bool = True,
        for_validation: bool = True,
    ) -> MetricReducer:
        """Registers a metric that is computed from the batches of all ranks. It is reported at the end, with
        the validation metrics, if for_validation. If the inference was interrupted, it has only the batches
        of the last run."""
        return self._reducers.add(reducer, name, for_training, for_validation)

    def get_hparams(self) -> Dict[str, Any]:
        """The hyperparameters of the trial."""
        return dict(self._core.info.trial.hparams)

    def get_tensorboard_path(self) -> Optional[pathlib.Path]:
        """The trial's directory for files of TensorBoard, on the shared file system."""
        return self._core.train.get_tensorboard_path()

    def get_distributed_rank(self) -> int:
        """The number of this rank."""
        return self._core.distributed.rank

    def get_distributed_size(self) -> int:
        """The number of ranks."""
        return self._core.distributed.size

    def report_task_using_model_version(self, model_version: Any) -> None:
        """Has no effect: what a task uses is not recorded."""
        logger.warning("report_task_using_model_version() has no effect: det-submit does not record what a task uses")

    def report_task_using_checkpoint(self, checkpoint: Any) -> None:
        """Has no effect: what a task uses is not recorded."""
        logger.warning("report_task_using_checkpoint() has no effect: det-submit does not record what a task uses")


class TorchBatchProcessor(abc.ABC):
    """A user's class that processes the batches of one rank."""

    @abc.abstractmethod
    def __init__(self, context: TorchBatchProcessorContext) -> None:
        """Loads the model."""

    @abc.abstractmethod
    def process_batch(self, batch: Any, batch_idx: int) -> None:
        """Processes a batch of this rank.

        Args:
            batch: the batch as torch's DataLoader yields it, not moved to the device
            batch_idx: the number of the batch among those of this rank, from 0
        """

    def on_checkpoint_start(self) -> None:
        """Called on each rank before the progress is saved. It must write what is not yet in the output: once
        the progress is saved, the earlier batches are not processed again."""

    def on_finish(self) -> None:
        """Called on each rank after the last batch, before the output is saved as a checkpoint."""
