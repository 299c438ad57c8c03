"""The files of a checkpoint of a trial."""

import dataclasses
import errno
import json
import logging
import os
import pathlib
import pickle
import shutil
import time
from typing import Any, Callable, Dict, Iterator, List, Optional

import torch

from determined import errors
from determined.core._state_directory import has_state, read_state

logger = logging.getLogger("determined.pytorch")

STATE_FILE = "state_dict.pth"
PROGRESS_FILE = "trial_state.pkl"
LOAD_FILE = "load_data.json"
CODE_DIRECTORY = "code"

_CODE_SUFFIXES = (".py", ".yaml", ".yml", ".json", ".toml")
_CODE_FILE_BYTES_MAX = 1 << 20
_FILES_MAX = 10_000
_SECONDS_BETWEEN_ATTEMPTS = 0.5
_ERRORS_THAT_MAY_PASS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


@dataclasses.dataclass
class Progress:
    """How far a trial has trained."""

    trial_id: int = 0
    last_ckpt: int = 0  # number of batches at the last checkpoint
    step_id: int = 0  # number of reports of training metrics
    last_val: int = 0  # number of batches at the last validation
    batches_trained: int = 0
    epochs_trained: int = 0


def load_file(path: Any, **kwargs: Any) -> Any:
    """Calls torch.load() for a file that may hold any Python object."""
    kwargs.setdefault("map_location", "cpu")
    try:
        return torch.load(path, **{"weights_only": False, **kwargs})
    except TypeError:  # torch before 1.13 has no weights_only
        return torch.load(path, **kwargs)


def find_state_file(directory: pathlib.Path) -> Optional[pathlib.Path]:
    """The file with the weights, also where older releases of Determined put it; None if there is none."""
    for name in (STATE_FILE, f"determined/{STATE_FILE}", f"pedl/{STATE_FILE}", "checkpoint.pt"):
        if (directory / name).exists():
            return directory / name
    return None


def load_state(directory: pathlib.Path, **kwargs: Any) -> Dict[str, Any]:
    """The state of models, optimizers and so on, from a checkpoint of either format.

    Args:
        kwargs: of torch.load(), for a checkpoint of its format

    Raises:
        InvalidCheckpointException: the checkpoint has no file with weights
    """
    path = find_state_file(directory)
    if path is None and has_state(directory):
        return read_state(directory)
    if path is None:
        raise errors.InvalidCheckpointException(f"the checkpoint in {directory} has no {STATE_FILE}")
    state: Dict[str, Any] = load_file(path, **kwargs)
    return state


def load_progress(directory: pathlib.Path) -> Progress:
    """How far the trial of a checkpoint had trained; all zero if the checkpoint does not say."""
    for name in (PROGRESS_FILE, "workload_sequencer.pkl"):
        if not (directory / name).exists():
            continue
        with open(directory / name, "rb") as file:
            saved: Dict[str, Any] = pickle.load(file)
        known = {field.name for field in dataclasses.fields(Progress)}
        values = {key: value for key, value in saved.items() if key in known and value is not None}
        for former_name in ("steps_completed", "latest_batch"):
            if "batches_trained" not in values and former_name in saved:
                values["batches_trained"] = saved[former_name]
        return Progress(**values)
    return Progress()


def repeat_write(write: Callable[[], Any]) -> Any:
    """Calls `write` until it succeeds, while the file system can't take its bytes: for DET_STORAGE_TIMEOUT_S seconds
    (300) at most. `write` replaces what an earlier call has written. Returns what it returns."""
    give_up_at = time.monotonic() + int(os.environ.get("DET_STORAGE_TIMEOUT_S") or 300)
    is_first = True
    while True:
        try:
            return write()
        except OSError as problem:
            if problem.errno not in _ERRORS_THAT_MAY_PASS or time.monotonic() >= give_up_at:
                raise
            if is_first:
                logger.warning("the checkpoint can't be written now, and is tried again: %s", problem)
            is_first = False
        time.sleep(_SECONDS_BETWEEN_ATTEMPTS)


def save(state: Any, path: pathlib.Path) -> None:
    """Calls torch.save(). Repeats writes that the file system can't take now."""
    file = _RepeatingFile(path)
    try:
        torch.save(state, file)
    finally:
        file.close()


class _RepeatingFile:
    """A file for torch.save(), whose C++ part may abort the process after a write that fails. So an error that
    remains is raised by close(), and bytes after it are discarded."""

    def __init__(self, path: pathlib.Path) -> None:
        self._file: int = repeat_write(lambda: os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666))
        self._problem: Optional[OSError] = None

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            while left and self._problem is None:
                left = left[repeat_write(lambda: os.write(self._file, left)) :]
        except OSError as problem:
            self._problem = problem
        return size

    def flush(self) -> None:
        """torch.save() calls it. Nothing is buffered here."""

    def close(self) -> None:
        os.close(self._file)
        if self._problem is not None:
            raise self._problem


def write_progress(directory: pathlib.Path, progress: Progress) -> None:
    with open(directory / PROGRESS_FILE, "wb") as file:
        pickle.dump(dataclasses.asdict(progress), file)


def write_load_data(directory: pathlib.Path, trial_class: Any, hparams: Any, config: Any) -> None:
    """Writes the file that load_trial_from_checkpoint_path() reads."""
    content = {
        "trial_type": "PyTorchTrial",
        "experiment_config": config,
        "hparams": hparams,
        "trial_cls_spec": _specify(trial_class),
        "is_trainer": True,
    }
    (directory / LOAD_FILE).write_text(json.dumps(content, indent=2, default=str), encoding="utf-8")


def _specify(trial_class: Any) -> str:
    """MODULE:CLASS of a class. The module of a script is its file's name."""
    module = trial_class.__module__
    if module == "__main__":
        import __main__

        module = pathlib.Path(getattr(__main__, "__file__", "__main__")).stem
    return f"{module}:{trial_class.__qualname__}"


def list_code(directory: str) -> List[str]:
    """The Python, YAML, JSON and TOML files below a directory, as relative paths. Leaves out virtual
    environments, hidden directories, __pycache__ and files of 1 MiB or more. Stops at the directory with
    which it has seen more than 10,000 files of any kind."""
    return sorted(_walk_code(directory))


def _walk_code(directory: str) -> Iterator[str]:
    visited = 0
    for folder, directories, files in os.walk(directory):
        directories[:] = [
            name
            for name in directories
            if not name.startswith((".", "__pycache__")) and not os.path.exists(f"{folder}/{name}/pyvenv.cfg")
        ]
        visited += len(files)
        if visited > _FILES_MAX:
            return
        for name in files:
            path = os.path.join(folder, name)
            if name.endswith(_CODE_SUFFIXES) and os.path.isfile(path) and os.path.getsize(path) < _CODE_FILE_BYTES_MAX:
                yield os.path.relpath(path, directory)


def copy_code(source: str, paths: List[str], checkpoint: pathlib.Path) -> None:
    for path in paths:
        target = checkpoint / CODE_DIRECTORY / path
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(os.path.join(source, path), target)
        except OSError as problem:  # for instance the file was removed while the trial trains
            logger.warning("the checkpoint has no copy of %s: %s", path, problem)
