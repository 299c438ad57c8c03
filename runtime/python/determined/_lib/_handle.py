"""Objects of det.h with methods."""

import ctypes
import os
from ctypes import byref, c_char_p, c_double, c_int32, c_size_t, c_uint64, c_void_p
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from determined._lib import _collectives
from determined._lib._library import (
    SELECT_FUNCTION,
    UUID_SIZE,
    ContextOptions,
    Library,
    RankNumbers,
    load,
)

Selector = Callable[[str], bool]

_STEPS_LIMIT = 2**63


def check_steps(steps_completed: Any) -> int:
    """The number of batches as an int. ctypes would pass only the lowest 64 bits of a number that is out of
    range.

    Raises:
        ValueError: it is no number from 0 to 2**63 - 1
    """
    try:
        number = int(steps_completed)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if 0 <= number < _STEPS_LIMIT:
        return number
    raise ValueError(f"steps_completed must be a number of batches from 0 to 2**63 - 1, not {steps_completed!r}")


class Ranks(NamedTuple):
    """The numbers of a rank.

    `group` is the same on all ranks and differs from that of other programs of this user on the node.
    `chief_address` is an address or a host name of the chief's node; if it is None, ranks of several nodes
    need a run or MPI.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    cross_rank: int = 0
    cross_size: int = 1
    group: str = "default"
    chief_address: Optional[str] = None


class _Selection:
    """A selector as a C function. An exception of the selector is raised again after the call."""

    def __init__(self, selector: Optional[Selector]) -> None:
        self._problem: Optional[BaseException] = None
        self.function = (
            ctypes.cast(0, SELECT_FUNCTION) if selector is None else SELECT_FUNCTION(self._call(selector))
        )

    def _call(self, selector: Selector) -> Callable[[bytes, Optional[int]], int]:
        def select(path: bytes, _user: Optional[int]) -> int:
            if self._problem is not None:
                return 0
            try:
                return 1 if selector(os.fsdecode(path)) else 0
            except BaseException as problem:
                self._problem = problem
                return 0

        return select

    def check(self) -> None:
        if self._problem is not None:
            raise self._problem


class Draft:
    """det_checkpoint_draft: a checkpoint that is being made."""

    def __init__(self, library: Library, pointer: int) -> None:
        self._library = library
        self._pointer = pointer
        self.uuid: str = library.det_checkpoint_draft_uuid(pointer).decode()
        self.directory: str = os.fsdecode(library.det_checkpoint_draft_directory(pointer))

    def commit(self) -> None:
        self._library.check(self._library.det_checkpoint_draft_commit(self._pointer))

    def give_up(self, reason: str) -> None:
        """Takes part in the commit of the other ranks and makes it fail. Ignores the status of the call: it
        is the error that all ranks get."""
        self._library.det_checkpoint_draft_give_up(self._pointer, reason.encode())

    def destroy(self) -> None:
        """Removes the files of a draft that was not committed, unless all ranks share it (sharded)."""
        pointer, self._pointer = self._pointer, 0
        if pointer:
            self._library.det_checkpoint_draft_destroy(pointer)


class Handle:
    """det_context: the ranks, and after join_run() the run.

    One thread at a time may use it, with two exceptions: any thread may report, except by report_mean(), and
    a thread may call restore_path() beside another one. A handle that is not closed disconnects when the
    process ends.
    """

    def __init__(self, ranks: Ranks) -> None:
        self._library = library = load()
        chief = None if ranks.chief_address is None else ranks.chief_address.encode()
        numbers = RankNumbers(ctypes.sizeof(RankNumbers), *ranks[:6], ranks.group.encode(), chief)
        pointer = c_void_p()
        library.check(library.det_context_connect(byref(numbers), None, byref(pointer)))
        self._pointer = pointer
        self._answer = c_int32()
        self._answer_pointer = byref(self._answer)
        self._strings = c_void_p()
        self._strings_pointer = byref(self._strings)
        self._size = c_size_t()
        self._size_pointer = byref(self._size)

    def join_run(self, checkpoint_path: str, checkpoint_storage: Optional[str], preempt_mode: int) -> None:
        """Joins the run. Collective.

        Args:
            checkpoint_path: directory of the checkpoints outside of an experiment
            checkpoint_storage: section checkpoint_storage of a configuration as JSON; None: that of the
                experiment, or checkpoint_path
            preempt_mode: a det_preempt_mode
        """
        options = ContextOptions(struct_size=ctypes.sizeof(ContextOptions), preempt_mode=preempt_mode)
        options.checkpoint_path = os.fsencode(checkpoint_path)
        if checkpoint_storage is not None:
            options.checkpoint_storage = checkpoint_storage.encode()
        self._library.check(self._library.det_context_join_run(self._pointer, byref(options)))

    def close(self) -> None:
        """Collective: returns when all ranks have called it."""
        pointer, self._pointer = self._pointer, c_void_p()
        try:
            self._library.check(self._library.det_context_close(pointer))
        finally:
            self._library.det_context_destroy(pointer)

    # Collectives on memory.

    def group(self) -> _collectives.Group:
        """All ranks."""
        return _collectives.Group(self._library, self._pointer, owns=False)

    def split(self, subset: int) -> _collectives.Group:
        """The ranks of this node (LOCAL), or those with this local rank, one of each node (CROSS)."""
        pointer = c_void_p()
        self._library.check(self._library.det_context_split(self._pointer, subset, byref(pointer)))
        return _collectives.Group(self._library, pointer, owns=True)

    def add_devices(self, is_amd: bool) -> None:
        """Makes the groups that are made afterwards accept memory of the current device. Collective."""
        devices = _collectives.DEVICES_RCCL if is_amd else _collectives.DEVICES_NCCL
        self._library.check(self._library.det_context_add_devices(self._pointer, devices))

    # Collectives on bytes. The output arguments are kept between calls, because making them takes as long as a
    # small exchange.

    def gather(self, value: bytes, local: bool = False) -> List[bytes]:
        library = self._library
        return self._exchange(
            library.det_distributed_gather_bytes_local if local else library.det_distributed_gather_bytes, value
        )

    def allgather(self, value: bytes, local: bool = False) -> List[bytes]:
        library = self._library
        return self._exchange(
            library.det_distributed_allgather_bytes_local if local else library.det_distributed_allgather_bytes,
            value,
        )

    def _exchange(self, call: Callable[..., int], value: bytes) -> List[bytes]:
        status = call(self._pointer, value, len(value), self._strings_pointer)
        if status != 0:
            raise self._library.last_error(status)
        return self._library.take_strings(self._strings.value or 0)

    def send_broadcast(self, value: bytes, local: bool = False) -> None:
        """broadcast() on rank 0, or on local rank 0: gives the other ranks the value."""
        self._broadcast(value, local)
        self._library.det_strings_destroy(self._strings)

    def receive_broadcast(self, local: bool = False) -> bytes:
        """broadcast() on the other ranks."""
        self._broadcast(b"", local)
        library, strings = self._library, self._strings
        value = ctypes.string_at(library.det_strings_get(strings, 0, self._size_pointer), self._size.value)
        library.det_strings_destroy(strings)
        return value

    def _broadcast(self, value: bytes, local: bool) -> None:
        library = self._library
        if local:
            status = library.det_distributed_broadcast_bytes_local(
                self._pointer, value, len(value), self._strings_pointer
            )
        else:
            status = library.det_distributed_broadcast_bytes(
                self._pointer, value, len(value), 0, self._strings_pointer
            )
        if status != 0:
            raise library.last_error(status)

    def _strings_of(self, call: Callable[..., int], *arguments: object) -> List[bytes]:
        strings = c_void_p()
        status = call(self._pointer, *arguments, byref(strings))
        if status != 0:
            raise self._library.last_error(status)
        return self._library.take_strings(strings.value or 0)

    # Preemption.

    def should_preempt(self) -> bool:
        status = self._library.det_preempt_should_preempt(self._pointer, self._answer_pointer)
        if status != 0:
            raise self._library.last_error(status)
        return self._answer.value != 0

    def peek_preempt(self) -> bool:
        """should_preempt() without the acknowledgement."""
        self._library.check(self._library.det_preempt_peek(self._pointer, self._answer_pointer))
        return self._answer.value != 0

    def acknowledge_preemption(self) -> None:
        self._library.check(self._library.det_preempt_acknowledge(self._pointer))

    # Reports. Any rank may report metrics and flush; the other reports are the chief's.

    def report_metrics(self, group: str, steps_completed: int, metrics: str) -> None:
        status = self._library.det_train_report_metrics(
            self._pointer, group.encode(), check_steps(steps_completed), metrics.encode()
        )
        if status != 0:
            raise self._library.last_error(status)

    def report_mean(self, group: str, steps_completed: int, metrics: Dict[str, float]) -> Dict[str, float]:
        """Reports the means over all ranks, and returns them. Collective."""
        count = len(metrics)
        names = (c_char_p * count)(*[name.encode() for name in metrics])
        values = (c_double * count)(*metrics.values())
        means = (c_double * count)()
        self._library.check(
            self._library.det_train_report_mean(
                self._pointer, group.encode(), check_steps(steps_completed), names, values, count, means
            )
        )
        return dict(zip(metrics, means))

    def flush_reports(self) -> None:
        self._library.check(self._library.det_train_flush(self._pointer))

    def report_progress(self, progress: float) -> None:
        self._library.check(self._library.det_train_report_progress(self._pointer, progress))

    def set_status(self, status: str) -> None:
        self._library.check(self._library.det_train_set_status(self._pointer, status.encode()))

    def set_metadata(self, metadata: str) -> None:
        self._library.check(self._library.det_train_set_metadata(self._pointer, metadata.encode()))

    def report_early_exit(self, reason: int) -> None:
        self._library.check(self._library.det_train_report_early_exit(self._pointer, reason))

    def alert(self, title: str, description: str, level: int) -> None:
        self._library.check(
            self._library.det_train_report_alert(self._pointer, title.encode(), description.encode(), level)
        )

    # Any rank may call these.

    def metadata(self) -> str:
        return self._strings_of(self._library.det_train_load_metadata)[0].decode()

    def best_validation(self) -> Optional[float]:
        is_found, best = c_int32(), c_double()
        self._library.check(
            self._library.det_train_find_experiment_best_validation(self._pointer, byref(is_found), byref(best))
        )
        return best.value if is_found.value else None

    def last_steps(self) -> Optional[int]:
        """The largest steps_completed of the trial's metrics; None if there are none."""
        is_found, steps = c_int32(), c_uint64()
        self._library.check(self._library.det_train_find_last_steps(self._pointer, byref(is_found), byref(steps)))
        return steps.value if is_found.value else None

    def tensorboard_path(self) -> Optional[str]:
        paths = self._strings_of(self._library.det_train_make_tensorboard_directory)
        return os.fsdecode(paths[0]) if paths else None

    # The searcher.

    def training_length(self) -> Tuple[int, int]:
        """The length and its det_unit. The length is 0 if none is configured, and outside of an
        experiment."""
        length, unit = c_uint64(), c_int32()
        self._library.check(
            self._library.det_searcher_training_length(self._pointer, byref(length), byref(unit))
        )
        return length.value, unit.value

    def batches_left(self, steps_completed: int) -> Optional[int]:
        is_known, batches = c_int32(), c_uint64()
        self._library.check(
            self._library.det_searcher_batches_left(
                self._pointer, check_steps(steps_completed), byref(is_known), byref(batches)
            )
        )
        return batches.value if is_known.value else None

    def next_operation(self, mode: int, acknowledges: bool) -> int:
        """The length of the next operation; 0 if there are no more. Collective unless mode is DET_SEARCHER_CHIEF_ONLY."""
        library = self._library
        call = library.det_searcher_next_operation if acknowledges else library.det_searcher_peek_operation
        length = c_uint64()
        library.check(call(self._pointer, mode, byref(length)))
        return length.value

    def acknowledge_end_of_operations(self) -> None:
        self._library.check(self._library.det_searcher_acknowledge_end(self._pointer))

    def report_length(self, length: float) -> None:
        self._library.check(self._library.det_searcher_report_progress(self._pointer, length))

    def report_completed(self, metric: float) -> None:
        self._library.check(self._library.det_searcher_report_completed(self._pointer, metric))

    # Checkpoints.

    def open_draft(self, steps_completed: int, metadata: str, sharded: bool) -> Draft:
        library = self._library
        call = library.det_checkpoint_draft_open_sharded if sharded else library.det_checkpoint_draft_open
        pointer = c_void_p()
        library.check(call(self._pointer, check_steps(steps_completed), metadata.encode(), byref(pointer)))
        return Draft(library, pointer.value or 0)

    def upload(
        self, steps_completed: int, metadata: str, directory: Optional[str], selector: Optional[Selector]
    ) -> str:
        """Collective. Returns the UUID."""
        selection = _Selection(selector)
        uuid = ctypes.create_string_buffer(UUID_SIZE)
        path = None if directory is None else os.fsencode(directory)
        status = self._library.det_checkpoint_upload_selected(
            self._pointer, check_steps(steps_completed), metadata.encode(), path, selection.function, None, uuid
        )
        selection.check()
        self._library.check(status)
        return uuid.value.decode()

    def download(self, uuid: str, directory: str, selector: Optional[Selector]) -> None:
        selection = _Selection(selector)
        status = self._library.det_checkpoint_download(
            self._pointer, uuid.encode(), os.fsencode(directory), selection.function, None
        )
        selection.check()
        self._library.check(status)

    def restore_path(self, uuid: str) -> str:
        return os.fsdecode(self._strings_of(self._library.det_checkpoint_restore_path, uuid.encode())[0])

    def checkpoint_directory(self, uuid: str) -> Optional[str]:
        """The directory of a checkpoint, unread; None if it is not kept in a directory."""
        paths = self._strings_of(self._library.det_checkpoint_find_directory, uuid.encode())
        return os.fsdecode(paths[0]) if paths else None

    def manifest(self, uuid: str) -> str:
        return self._strings_of(self._library.det_checkpoint_load_manifest, uuid.encode())[0].decode()

    def delete_checkpoint(self, uuid: str) -> None:
        self._library.check(self._library.det_checkpoint_delete(self._pointer, uuid.encode()))
