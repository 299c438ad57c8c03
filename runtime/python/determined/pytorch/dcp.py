"""torch.distributed.checkpoint (DCP) with the checkpoint storage: sharded states of FSDP2, tensor parallelism and so on.

    from determined.pytorch import dcp

    dcp.save(state_dict, storage_writer=dcp.StorageWriter(core_context, steps_completed=100))
    future = dcp.async_save(state_dict, storage_writer=dcp.StorageWriter(core_context, steps_completed=200))
    dcp.load(state_dict, storage_reader=dcp.StorageReader(core_context))

save() and load() are those of torch. StorageWriter and StorageReader may also be passed to torch.distributed.checkpoint.
"""

import concurrent.futures
from typing import Any, Dict, Optional

import torch

if tuple(int(number) for number in torch.__version__.split(".")[:2]) < (2, 6):
    raise ImportError(
        f"determined.pytorch.dcp needs torch 2.6 or newer, and this is {torch.__version__}\n"
        "  hint: with DistributedDataParallel use core_context.checkpoint.save_state()"
    )

from torch.distributed.checkpoint import load, save

from determined import _lib
from determined.pytorch._dcp_reader import StorageReader
from determined.pytorch._dcp_writer import StorageWriter

__all__ = ["Saving", "StorageReader", "StorageWriter", "async_save", "load", "save"]


class Saving(concurrent.futures.Future):  # type: ignore[type-arg]
    """A save in the background. It ends in a call of result(), or of core_context.checkpoint.poll(), wait() or a later
    save.

    Attributes:
        uuid: of the future checkpoint
    """

    uuid: str

    def __init__(self, wait: Any) -> None:
        super().__init__()
        self._wait = wait

    def result(self, timeout: Optional[float] = None) -> str:
        """Waits until all saves are checkpoints. Collective. Returns the UUID.

        Args:
            timeout: ignored, because all ranks wait for the same save

        Raises:
            RuntimeError: a save has failed
        """
        if not self.done():
            self._wait()
        uuid: str = super().result(timeout=0)
        return uuid

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """The error of the save; None if it is a checkpoint. Waits as result() does."""
        try:
            self.result()
        except Exception as problem:
            return problem
        return None

    def _end(self, problem: Optional[_lib.LibraryError]) -> None:
        if problem is None:
            self.set_result(self.uuid)
        else:
            self.set_exception(problem)


def async_save(
    state_dict: Dict[str, Any], *, storage_writer: StorageWriter, checkpoint_id: Any = None, planner: Any = None,
    process_group: Any = None,
) -> Saving:
    """save() that returns when the state has been copied; it may change then. The copy is written by threads of libdet.

    The arguments are those of torch's async_save(). That function itself can't be used with a StorageWriter, because it
    would use core_context in another thread.

    Raises:
        torch.distributed.checkpoint.CheckpointException: a rank has failed; its text has the reasons
    """
    saving: Saving = Saving(storage_writer._checkpoint.wait)
    storage_writer._on_end = saving._end
    try:
        save(
            state_dict, checkpoint_id=checkpoint_id, storage_writer=storage_writer, planner=planner,
            process_group=process_group,
        )  # fmt: skip
    finally:
        storage_writer._on_end = None
    assert storage_writer.uuid is not None
    saving.uuid = storage_writer.uuid
    return saving
