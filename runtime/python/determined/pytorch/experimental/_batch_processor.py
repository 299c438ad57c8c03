"""What a user writes for a batch inference, and what it gets."""

import abc
import contextlib
import logging
import pathlib
from typing import Any, Callable, Dict, Iterator, Optional, Set, Type, Union

from determined import core
from determined.pytorch._context import _find_device
from determined.pytorch._data import to_device
from determined.pytorch._reducer import MetricReducer, WrappedReducers
from determined.pytorch.experimental._output import InferenceOutput

logger = logging.getLogger("determined.pytorch")


class TorchBatchProcessorContext:
    """The argument of a TorchBatchProcessor.

    Attributes:
        device: where this rank computes
    """

    def __init__(self, core_context: core.Context, output: InferenceOutput) -> None:
        self._core = core_context
        self._output = output
        self._reducers = WrappedReducers()
        self._warned_types: Set[Type[Any]] = set()
        self._steps_completed = 0
        self.device = _find_device(core_context.distributed)

    def to_device(self, data: Any, warned_types: Optional[Set[Type[Any]]] = None) -> Any:
        """Moves tensors and arrays to the device, in maps, lists and tuples too."""
        return to_device(data, self.device, self._warned_types if warned_types is None else warned_types)

    def prepare_model_for_inference(self, model: Any) -> Any:
        """The model on the device, in evaluation mode."""
        model.eval()
        return model.to(self.device)

    @contextlib.contextmanager
    def upload_path(self) -> Iterator[pathlib.Path]:
        """A directory for files of the output, for a `with` block. The output has a directory `rank_<number>` of each rank; at the
        end it becomes a checkpoint.

        Name files by the number of the batch: a batch that is processed again, because the run was preempted or killed,
        then replaces its files.
        """
        with self._output.upload_path() as path:
            yield path

    def report_metrics(self, group: str, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Reports metrics. Those of the chief are written."""
        self._core.train.report_metrics(group, steps_completed, metrics)

    def wrap_reducer(
        self,
        reducer: Union[MetricReducer, Callable[..., Any]],
        name: Optional[str] = None,
        for_training: bool = True,
        for_validation: bool = True,
    ) -> MetricReducer:
        """Registers a metric over the batches of all ranks, which is reported at the end if it is for validation. After a
        resumption it has only the batches of the last run."""
        return self._reducers.add(reducer, name, for_training, for_validation)

    def get_hparams(self) -> Dict[str, Any]:
        """The hyperparameters of the trial."""
        return dict(self._core.info.trial.hparams)

    def get_tensorboard_path(self) -> Optional[pathlib.Path]:
        """The trial's directory for files of TensorBoard."""
        return self._core.train.get_tensorboard_path()

    def get_distributed_rank(self) -> int:
        """The number of this rank."""
        return self._core.distributed.rank

    def get_distributed_size(self) -> int:
        """The number of ranks."""
        return self._core.distributed.size

    def report_task_using_model_version(self, model_version: Any) -> None:
        """Has no effect: there is no model registry."""
        logger.warning("report_task_using_model_version() has no effect: det-submit has no model registry")

    def report_task_using_checkpoint(self, checkpoint: Any) -> None:
        """Has no effect: there is no model registry."""
        logger.warning("report_task_using_checkpoint() has no effect: det-submit has no model registry")


class TorchBatchProcessor(abc.ABC):
    """What is done with each batch."""

    @abc.abstractmethod
    def __init__(self, context: TorchBatchProcessorContext) -> None:
        """Loads the model."""

    @abc.abstractmethod
    def process_batch(self, batch: Any, batch_idx: int) -> None:
        """Processes a batch of this rank.

        Args:
            batch_idx: its number among the batches of this rank, from 0
        """

    def on_checkpoint_start(self) -> None:
        """Before the progress is saved: what has been processed must now be in the output. Batches before this point are not
        processed again."""

    def on_finish(self) -> None:
        """After the last batch, before the output becomes a checkpoint."""
