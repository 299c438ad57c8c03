"""DetCheckpointIO: Lightning's checkpoints become those of the trial."""

import json
import logging
import os
import pathlib
import pickle
import tempfile
from typing import IO, Any, Callable, Dict, List, Optional, Set, Union

import torch

from determined import core, errors
from determined.core._state_directory import has_state, read_state
from determined.lightning._package import load
from determined.pytorch._search_rungs import trial_of

logger = logging.getLogger("determined.lightning")
Path = Union[str, "os.PathLike[str]"]
CheckpointIO: Any = load("plugins.io").CheckpointIO

_FILE = "lightning.ckpt"  # of a checkpoint that several ranks have made
_REFERENCE = "determined_checkpoint"  # the key of a file that stands for a checkpoint of the storage


class DetCheckpointIO(CheckpointIO):
    """Saves into the checkpoint storage of the trial, and loads from it.

    At the path that Lightning chooses there is a small file with the UUID of the checkpoint. Each call takes such a path, a
    UUID, or a file of Lightning's own.

    With one rank a checkpoint is saved by save_state(): it is written while the training goes on. With several ranks Lightning
    lets the chief alone save, and save_state() needs all ranks: the chief writes a file of torch, and the others wait. So strategies
    that give a CheckpointIO the whole state work (one device, DDP); Lightning refuses a CheckpointIO for sharded ones.

    What Lightning removes or replaces is deleted from the storage when a newer checkpoint is there: a run can always continue from
    the newest. A checkpoint of weights alone, from which no training can continue, stays a file of Lightning's own.

    Args:
        core_context: of core.init()
    """

    def __init__(self, core_context: core.Context) -> None:
        super().__init__()
        self._checkpoints = core_context.checkpoint
        self._ranks = core_context.distributed
        self._is_in_trial = trial_of(core_context) is not None
        self._saved: Set[str] = set()  # by this object
        self._committed: List[str] = []  # of those, oldest first
        self._removed: List[str] = []  # by Lightning, and not deleted yet

    def save_checkpoint(self, checkpoint: Dict[str, Any], path: Path, storage_options: Optional[Any] = None) -> None:
        """Saves the state of the training. The chief calls it.

        Raises:
            TypeError: storage_options are not supported
            as save_state()
        """
        if storage_options is not None:
            raise TypeError("DetCheckpointIO takes no storage_options: checkpoint_storage of the configuration says where")
        if "optimizer_states" not in checkpoint:
            logger.info("'%s' has only weights: it stays a file, and is no checkpoint of the trial", path)
            _write_file(os.fspath(path), lambda file: torch.save(checkpoint, file))
            return
        replaced = _read_reference(os.fspath(path)) if os.path.exists(path) else None
        steps = int(checkpoint.get("global_step", 0))
        if self._ranks.size == 1:
            self._committed += self._checkpoints.poll()
            uuid = self._checkpoints.save_state(checkpoint, steps)
        else:
            with self._checkpoints.store_path({"steps_completed": steps}) as (directory, uuid):
                torch.save(checkpoint, directory / _FILE)
            self._committed.append(uuid)
        self._saved.add(uuid)
        _write_reference(os.fspath(path), uuid)
        self._note_removed(replaced)

    def load_checkpoint(
        self, path: Path, map_location: Optional[Any] = None, weights_only: Optional[bool] = None, **_: Any
    ) -> Dict[str, Any]:
        """Loads a checkpoint. Every rank calls it, and reads it for itself.

        Args:
            map_location, weights_only: as for torch.load(); a state that save_state() has saved is loaded to the CPU

        Raises:
            CheckpointNotFound: there is no such checkpoint
            InvalidCheckpointException: it has pickled objects, and it is not known who wrote it
        """
        uuid = _read_reference(os.fspath(path))
        if uuid is None:
            loaded: Dict[str, Any] = torch.load(path, map_location=map_location, weights_only=bool(weights_only))
            return loaded
        self.wait()
        with self._checkpoints.restore_path(uuid, core.DownloadMode.NoSharedDownload) as directory:
            if has_state(pathlib.Path(directory)):
                return read_state(pathlib.Path(directory))
            is_limited = bool(weights_only) or not self._is_own(uuid)
            try:
                loaded = torch.load(directory / _FILE, map_location=map_location or "cpu", weights_only=is_limited)
            except pickle.UnpicklingError as error:
                raise errors.InvalidCheckpointException(
                    f"checkpoint {uuid} has pickled objects, which can run code, and it is not known who wrote it, or only weights "
                    "are wanted\n  hint: load it in the experiment that saved it"
                ) from error
            return loaded

    def _is_own(self, uuid: str) -> bool:
        """Whether only programs of this user can have written a checkpoint that restore_path() has given: it refuses those of
        other users in a directory, and in any storage those that differ from the trial's journal."""
        if self._checkpoints._handle().checkpoint_directory(uuid) is not None:
            return True
        return self._is_in_trial and uuid in self._checkpoints._saves().list_loadable()

    def remove_checkpoint(self, path: Path) -> None:
        """Removes a checkpoint that Lightning no longer wants. The chief calls it."""
        uuid = _read_reference(os.fspath(path))
        if os.path.exists(path):
            os.remove(path)
        self._note_removed(uuid)

    def wait(self) -> None:
        """Waits until everything that was saved is a checkpoint."""
        if self._ranks.size == 1:
            self._committed += self._checkpoints.wait()
        self._delete_removed()

    def teardown(self) -> None:
        """Lightning calls it at the end of a training, also after an exception."""
        self.wait()

    def _note_removed(self, uuid: Optional[str]) -> None:
        # A path may be one that trials share: another trial's checkpoint is not ours to delete.
        if uuid is not None and (uuid in self._saved or uuid in self._checkpoints._saves().list_loadable()):
            self._removed.append(uuid)
        self._delete_removed()

    def _delete_removed(self) -> None:
        # A checkpoint of an earlier run is older than all of this one.
        older = self._committed[:-1]
        deletable = [uuid for uuid in self._removed if uuid in older or (self._committed and uuid not in self._saved)]
        self._removed = [uuid for uuid in self._removed if uuid not in deletable]
        for uuid in deletable:
            self._checkpoints.delete(uuid)


def _write_reference(path: str, uuid: str) -> None:
    _write_file(path, lambda file: file.write(json.dumps({_REFERENCE: uuid}).encode()))


def _write_file(path: str, write: Callable[[IO[bytes]], Any]) -> None:
    directory = os.path.dirname(path) or "."
    os.makedirs(directory, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=directory, prefix=".det-", delete=False) as file:
        write(file)
    os.replace(file.name, path)


def _read_reference(path: str) -> Optional[str]:
    """The UUID that a path stands for; None if it is a file of Lightning's own, or no file."""
    if not os.path.exists(path):
        return path if os.path.basename(path) == path and path else None
    with open(path, "rb") as file:
        head = file.read(256)
    try:
        return str(json.loads(head)[_REFERENCE])
    except (ValueError, KeyError, TypeError):
        return None
