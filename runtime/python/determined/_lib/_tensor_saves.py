"""Saves and loads of named tensors, with the calls of det.h."""

import contextlib
import ctypes
import os
from ctypes import byref, c_int32, c_uint64, c_void_p
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from determined._lib._dtypes import ELEMENT_TYPES
from determined._lib._handle import Handle, check_steps
from determined._lib._library import Library, LibraryError
from determined._lib._state_calls import Loaded, Outcome, SaveStarted, TensorArguments


class Memory(NamedTuple):
    """A tensor, or the part of it that this rank holds. It lies row by row in memory, which the caller keeps.

    Attributes:
        name: of the tensor in the checkpoint
        address: of the first byte
        dtype: a key of ELEMENT_TYPES
        shape: of the whole tensor
        begin, part_shape: position and shape of the part; None: the whole tensor
        copy_later: a save may copy it from a device until wait_snapshot()
    """

    name: str
    address: int
    dtype: str
    shape: Tuple[int, ...]
    begin: Optional[Tuple[int, ...]] = None
    part_shape: Optional[Tuple[int, ...]] = None
    copy_later: bool = False


def _numbers(values: Optional[Tuple[int, ...]]) -> Any:
    """An array of C; None is NULL."""
    return None if values is None else (c_uint64 * len(values))(*values)


class Ended(NamedTuple):
    """A save that has ended. problem: None if it has become a checkpoint."""

    uuid: str
    steps_completed: int
    problem: Optional[LibraryError]


class LoadedFrom(NamedTuple):
    """A checkpoint that was loaded. is_own: only programs of this user can have written it."""

    uuid: str
    steps_completed: int
    is_own: bool


class TensorSaves:
    """The tensor checkpoints of one context. All calls are collective, except wait_snapshot() and list_loadable()."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._library: Library = handle._library

    def prepare(self, tensors: Sequence[Memory]) -> None:
        """Allocates the memory for copies of such tensors."""
        with self._state(tensors, None) as state:
            self._library.check(self._library.det_checkpoint_prepare(self._handle._pointer, state))

    def save(
        self, steps_completed: int, metadata: str, tensors: Sequence[Memory], directory: Optional[str] = None
    ) -> str:
        """Copies the tensors and begins to write them. Returns the UUID of the future checkpoint.

        Args:
            directory: its files become files of the checkpoint; must stay until the save has ended
        """
        started = SaveStarted(struct_size=ctypes.sizeof(SaveStarted))
        with self._state(tensors, directory) as state:
            self._library.check(
                self._library.det_checkpoint_save(
                    self._handle._pointer, check_steps(steps_completed), metadata.encode(), state, byref(started)
                )
            )
        uuid: bytes = started.uuid
        return uuid.decode()

    def save_before_preemption(
        self, steps_completed: int, metadata: str, tensors: Sequence[Memory], directory: Optional[str] = None
    ) -> List[Ended]:
        """Makes the last save if there is time for it, and waits for the end of all saves."""
        outcomes = c_void_p()
        with self._state(tensors, directory) as state:
            self._library.check(
                self._library.det_checkpoint_save_before_preemption(
                    self._handle._pointer, check_steps(steps_completed), metadata.encode(), state, byref(outcomes)
                )
            )
        return self._take(outcomes)

    def is_kept_in_memory(self, steps_completed: int) -> bool:
        """Whether keep_in_memory() would copy the state of this step. Not collective."""
        is_kept = c_int32()
        self._library.check(
            self._library.det_checkpoint_is_kept_in_memory(
                self._handle._pointer, check_steps(steps_completed), byref(is_kept)
            )
        )
        return is_kept.value != 0

    def keep_in_memory(self, steps_completed: int, metadata: str, tensors: Sequence[Memory]) -> bool:
        """Copies the tensors into the memory of the nodes. Returns False if a rank can't."""
        is_kept = c_int32()
        with self._state(tensors, None) as state:
            self._library.check(
                self._library.det_checkpoint_keep_in_memory(
                    self._handle._pointer, check_steps(steps_completed), metadata.encode(), state, byref(is_kept)
                )
            )
        return is_kept.value != 0

    def fetch_kept(self) -> None:
        """Gets what this node lacks of the newest state that was kept in memory from other nodes."""
        self._library.check(self._library.det_checkpoint_fetch_kept(self._handle._pointer))

    def wait_snapshot(self) -> None:
        """Waits until all tensors of the last save are copied. Not collective."""
        self._library.check(self._library.det_checkpoint_wait_snapshot(self._handle._pointer))

    def poll(self) -> List[Ended]:
        """The saves that have ended since the last call. Does not wait for a disk."""
        outcomes = c_void_p()
        self._library.check(self._library.det_checkpoint_poll(self._handle._pointer, byref(outcomes)))
        return self._take(outcomes)

    def finish(self) -> List[Ended]:
        """poll() after all saves have ended."""
        outcomes = c_void_p()
        self._library.check(self._library.det_checkpoint_finish(self._handle._pointer, byref(outcomes)))
        return self._take(outcomes)

    def load_from(self, uuid: str, tensors: Sequence[Memory]) -> LoadedFrom:
        """Fills the tensors from a checkpoint."""
        loaded = Loaded(struct_size=ctypes.sizeof(Loaded))
        with self._state(tensors, None) as state:
            self._library.check(
                self._library.det_checkpoint_load_from(self._handle._pointer, uuid.encode(), state, byref(loaded))
            )
        return LoadedFrom(loaded.uuid.decode(), loaded.steps_completed, loaded.is_own != 0)

    def list_loadable(self) -> List[str]:
        """The UUIDs of the checkpoints from which this program may continue, newest first."""
        return [uuid.decode() for uuid in self._handle._strings_of(self._library.det_checkpoint_list)]

    @contextlib.contextmanager
    def _state(self, tensors: Sequence[Memory], directory: Optional[str]) -> Iterator[c_void_p]:
        """A det_state of the tensors."""
        library = self._library
        state = c_void_p()
        library.check(library.det_state_create(byref(state)))
        try:
            arguments = TensorArguments(struct_size=ctypes.sizeof(TensorArguments))
            pointer = byref(arguments)
            for name, address, dtype, shape, begin, part_shape, copy_later in tensors:
                arguments.name, arguments.data, arguments.dtype = name.encode(), address or None, ELEMENT_TYPES[dtype].number
                arguments.dimensions = len(shape)
                arguments.shape = _numbers(shape)
                arguments.begin, arguments.part_shape = _numbers(begin), _numbers(part_shape)
                arguments.copy_later = copy_later
                library.check(library.det_state_add(state, pointer))
            if directory is not None:
                library.check(library.det_state_add_directory(state, os.fsencode(directory)))
            yield state
        finally:
            library.det_state_destroy(state)

    def _take(self, outcomes: c_void_p) -> List[Ended]:
        library = self._library
        ended = []
        try:
            for index in range(library.det_outcomes_count(outcomes)):
                outcome = Outcome(struct_size=ctypes.sizeof(Outcome))
                library.check(library.det_outcomes_get(outcomes, index, byref(outcome)))
                problem = None
                if outcome.status != 0:
                    message = (outcome.message or b"").decode("utf-8", errors="replace")
                    problem = LibraryError((outcome.code or b"").decode(), message, status=outcome.status)
                ended.append(Ended(outcome.uuid.decode(), outcome.steps_completed, problem))
        finally:
            library.det_outcomes_destroy(outcomes)
        return ended
