"""Files for TensorBoard."""

import os
import pathlib
from typing import Any

from determined._absent import refuse_names_of
from determined.tensorboard._event_writer import EventWriter

__all__ = ["EventWriter", "make_writer", "trial_directory"]

__getattr__ = refuse_names_of(__name__)


def make_writer(directory: "os.PathLike[str]") -> Any:
    """A SummaryWriter of torch if the package tensorboard is installed, else an EventWriter."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return EventWriter(directory)
    return SummaryWriter(log_dir=os.fspath(directory))


def trial_directory() -> pathlib.Path:
    """The directory of the trial's files for TensorBoard; off the cluster `tensorboard` in the working directory."""
    run = os.environ.get("DET_RUN_PATH")  # EXPERIMENT/trials/N/runs/M
    return pathlib.Path(run).parent.parent / "tensorboard" if run else pathlib.Path("tensorboard").absolute()
