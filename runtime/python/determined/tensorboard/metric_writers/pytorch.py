"""TorchWriter, the writer of older releases of Determined."""

from typing import Any

from determined._absent import refuse_names_of
from determined.tensorboard import make_writer, trial_directory


class TorchWriter:
    """Writes into the trial's directory for TensorBoard.

    Attributes:
        writer: a SummaryWriter of torch, or an EventWriter if the package tensorboard is missing
    """

    def __init__(self) -> None:
        self.writer: Any = make_writer(trial_directory())

    def add_scalar(self, name: str, value: Any, step: int) -> None:
        self.writer.add_scalar(name, value, step)

    def reset(self) -> None:
        """Writes buffered events to the file."""
        self.writer.flush()


__getattr__ = refuse_names_of(__name__)
