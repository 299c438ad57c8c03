"""Checkpoints of a program's state that are written while it goes on."""

import json
import logging
import shutil
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from determined import _lib, errors
from determined.core._device_memory import DeviceMemory
from determined.core._distributed import DistributedContext
from determined.core._overlap import StepHooks, as_list, find_step_memory
from determined.core._state_load import SavedState, load_manifest, result_of_ranks
from determined.core._state_pack import Packed, pack

logger = logging.getLogger("determined.core")


OnEnd = Callable[[Optional[_lib.LibraryError]], None]


def _is_in_memory(name: str) -> bool:
    """Whether list_loadable() names a state that was kept in memory, and not a checkpoint."""
    return name.startswith("memory-")


class LoadedState(NamedTuple):
    """The checkpoint from which load_state() has filled a state."""

    uuid: str
    steps_completed: int
    metadata: Dict[str, Any]


class StateCheckpoints:
    """The part of `Context.checkpoint` that saves a state instead of files.

    A state is a nest of dicts, lists and tuples. In it are tensors of torch, arrays of numpy, numbers, texts, and objects
    with state_dict() and load_state_dict(), of which the result of state_dict() is saved. Other objects are pickled.
    With several ranks, every rank calls each method. The chief's state is saved, and all ranks load it; so it is with
    DistributedDataParallel, where only the chief's buffers count too. What each rank has for itself is marked by PerRank.
    The save may have had another number of ranks than the load.
    """

    def __init__(self, distributed: DistributedContext) -> None:
        self._distributed = distributed
        self._tensor_saves: Optional[_lib.TensorSaves] = None
        self._in_flight: Dict[str, Optional[str]] = {}  # UUIDs of saves; their directories of further files
        self._on_end: Dict[str, OnEnd] = {}  # by UUID, for some of the saves
        self._ended: List[str] = []  # checkpoints that no call has returned yet
        self._devices = DeviceMemory(distributed)
        self._copied_later: List[Any] = []  # keeps the memory that the last save has not copied yet
        self._step_hooks = StepHooks(self.wait_snapshot)
        self._on_saved: Optional[Callable[[str], None]] = None  # told of each checkpoint, on the chief

    def save_state(
        self, state: Any, steps_completed: int, metadata: Optional[Dict[str, Any]] = None, overlap: Any = None
    ) -> str:
        """Saves a state while the program goes on. Returns when it has been copied; it may change then.

            core_context.checkpoint.save_state({"model": model, "optimizer": optimizer, "epoch": epoch}, steps)

        The copy is written in the background. It becomes a checkpoint in a later call of a method for states, or when
        the Context is closed. An error of the writing is raised there.

        Args:
            overlap: an optimizer of torch, or a list of them. Their parameters and their state, as far as they are in
                CUDA memory, are copied after the call, beside the next forward and backward passes. step() of these
                optimizers waits until they are copied. Before that the program must not change them in another way
                (load_state_dict(), a change in place, a CUDA graph with the step) unless it calls wait_snapshot().
                Everything else in the state is copied before the call returns: buffers as the statistics of
                BatchNorm, gradients, random states, and all that is in host memory.

        Returns:
            the UUID of the future checkpoint

        Raises:
            TypeError: a value can't be saved
            RuntimeError: an earlier save has failed; the states of the ranks do not fit together
            ValueError: steps_completed is no number from 0 to 2**63 - 1
        """
        return self._save(state, steps_completed, metadata, None, as_list(overlap))

    def wait_snapshot(self) -> None:
        """Waits until the last save has copied what `overlap` of save_state() allows it to copy late. Then everything
        in the state may change. The next save, a load and wait() do so too. Not collective; call it in the thread that
        saves. If a device fails, it is the save that fails, as poll() says.
        """
        if self._copied_later:
            self._saves().wait_snapshot()
            self._copied_later = []

    def save_state_before_preemption(
        self, state: Any, steps_completed: int, metadata: Optional[Dict[str, Any]] = None
    ) -> Optional[str]:
        """Saves the state when should_preempt() has returned True, and waits until it is written. If the time left is
        too short for another save, it completes the saves that have begun instead.

        Returns:
            the UUID of the checkpoint; None if there was too little time

        Raises:
            as save_state()
        """
        return self._save_before_preemption(state, steps_completed, metadata, None)

    def keep_state(self, state: Any, steps_completed: int, metadata: Optional[Dict[str, Any]] = None) -> bool:
        """Keeps the state in the memory of the node, if `slurm.memory_checkpoints` is set and its number of steps has
        passed. A program calls it in every step. Returns when the state has been copied; it may change then.

            core_context.checkpoint.keep_state(state, steps)

        If a rank is killed and the next run begins in the same job, load_state() loads the newest state that was kept. It
        is no checkpoint: the end of the job removes it. With several nodes the state is also copied, in the background, to
        the memory of one other node each, so that it outlives the loss of a node (`slurm.spare_nodes`).

        Returns:
            whether the state was kept. False too while the last one is still being copied to other nodes; a step
            soon after keeps one then. False too if there is too little memory, after a warning

        Raises:
            TypeError, RuntimeError, ValueError: as save_state()
        """
        return self._is_kept(steps_completed) and self._keep(state, steps_completed, metadata)

    def load_state(self, state: Any, uuid: Optional[str] = None) -> Optional[LoadedState]:
        """Fills a state in place: tensors and arrays get the elements that were saved, dicts and lists their other
        values, and objects with load_state_dict() are called with what their state_dict() had returned. What a dict
        lacks is added.

            state = {"model": model, "optimizer": optimizer, "epoch": 0}
            if core_context.checkpoint.load_state(state):
                first_epoch = state["epoch"]

        Names are compared without the prefixes of DistributedDataParallel (module.) and torch.compile (_orig_mod.).
        Objects that were pickled are used only if no other user can have written the checkpoint.

        Args:
            state: a dict, a list, or an object with load_state_dict()
            uuid: the checkpoint; None: the newest state that keep_state() of an earlier run has kept, if it has more
                steps than the checkpoint from which this run continues, else this checkpoint. Off the cluster: the newest
                that a program off the cluster has saved in the same storage

        Returns:
            the checkpoint; None if uuid is None and there is none

        Raises:
            CheckpointNotFound: there is no checkpoint with this UUID
            ValueError, TypeError: the state does not fit to the checkpoint
            InvalidCheckpointException: it has no state, or objects that must not be unpickled here
            RuntimeError: it is damaged, or another user has written it
        """
        saved = self._open(uuid)
        if saved is None:
            return None
        saved.fill(state)
        return LoadedState(saved.uuid, saved.steps_completed, saved.metadata)

    def poll(self) -> List[str]:
        """Completes the saves that all ranks have written by now. Does not wait for a disk. It may be called after each
        step.

        Returns:
            the UUIDs of the checkpoints that were completed since the last call

        Raises:
            RuntimeError: a save has failed
        """
        if self._in_flight:
            self._take(self._saves().poll())
        return self._take_ended()

    def wait(self) -> List[str]:
        """Waits until every save is a checkpoint.

        Returns, raises:
            as poll()
        """
        self.wait_snapshot()
        if self._in_flight:
            self._take(self._saves().finish())
        return self._take_ended()

    def prepare_state(self, state: Any) -> None:
        """Allocates the memory for copies of such a state, so that the first save is as fast as later ones."""
        self._saves().prepare(self._pack(state).tensors)

    # For PyTorchTrial too.

    def _is_kept(self, steps_completed: int) -> bool:
        """Whether keep_state() would copy the state of this step. The same on all ranks."""
        return self._saves().is_kept_in_memory(steps_completed)

    def _keep(self, state: Any, steps_completed: int, metadata: Optional[Dict[str, Any]]) -> bool:
        self.wait_snapshot()
        packed = self._pack(state)  # owns memory that the call copies
        return self._saves().keep_in_memory(steps_completed, json.dumps(metadata or {}), packed.tensors)

    def _list_kept(self) -> List[str]:
        """The states that earlier runs have kept in memory and this run may load, newest first. Collective."""
        import determined

        ranks, info = self._distributed, determined.get_cluster_info()
        if info is None or not self._is_in_trial() or not (info.trial._config.get("slurm") or {}).get("memory_checkpoints"):
            return []
        if ranks.cross_size > 1:
            self._saves().fetch_kept()
        listed = result_of_ranks(ranks, lambda: self._saves().list_loadable() if ranks.rank == 0 else None)
        return [name for name in ranks.broadcast(listed) if _is_in_memory(name)]

    def _save(
        self,
        state: Any,
        steps_completed: int,
        metadata: Optional[Dict[str, Any]],
        directory: Optional[str],
        optimizers: Sequence[Any] = (),
    ) -> str:
        """save_state(). directory: on the chief, its files become files of the checkpoint; it is removed afterwards."""
        self._step_hooks.add(optimizers)
        return self._begin_save(lambda: self._pack(state, optimizers), steps_completed, metadata, directory)

    def _begin_save(
        self,
        pack: Callable[[], Packed],
        steps_completed: int,
        metadata: Optional[Dict[str, Any]],
        directory: Optional[str] = None,
        on_end: Optional[OnEnd] = None,
    ) -> str:
        """Begins a save of what pack() returns. on_end: called with its error, or None, when it has ended."""
        if self._in_flight:
            self._take(self._saves().poll())
        self.wait_snapshot()
        packed = pack()
        uuid = self._saves().save(steps_completed, json.dumps(metadata or {}), packed.tensors, directory)
        if any(memory.copy_later for memory in packed.tensors):
            self._copied_later = packed.keeps
        self._in_flight[uuid] = directory
        if on_end is not None:
            self._on_end[uuid] = on_end
        return uuid

    def _save_before_preemption(
        self, state: Any, steps_completed: int, metadata: Optional[Dict[str, Any]], directory: Optional[str]
    ) -> Optional[str]:
        self.wait_snapshot()
        packed = self._pack(state)
        before = set(self._in_flight)
        ended = self._saves().save_before_preemption(
            steps_completed, json.dumps(metadata or {}), packed.tensors, directory
        )
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)
        self._take(ended)
        new = [each.uuid for each in ended if each.uuid not in before]
        return new[-1] if new else None

    def _saves(self) -> _lib.TensorSaves:
        if self._tensor_saves is None:
            self._tensor_saves = _lib.TensorSaves(self._distributed._handle())
        return self._tensor_saves

    def _pack(self, state: Any, optimizers: Sequence[Any] = ()) -> Packed:
        """Packs the state. With several ranks, all of them raise the same error."""
        ranks = self._distributed
        self._devices.prepare()

        def pack_own() -> Packed:
            return pack(
                state, ranks.rank, ranks.size, self._devices.stage, step_memory=find_step_memory(optimizers)
            )

        if ranks.size == 1:
            return pack_own()
        mine, problem = None, None
        try:
            mine = pack_own()
        except (TypeError, ValueError) as caught:
            problem = caught
        told = None if mine is None else mine.rank_paths
        of_ranks = ranks.allgather((told, None if problem is None else f"rank {ranks.rank}: {problem}"))
        if problem is not None:
            raise problem
        for rank, (paths, text) in enumerate(of_ranks):
            if text is not None:
                raise RuntimeError(text)
            if paths != of_ranks[0][0]:
                raise RuntimeError(f"rank 0 has PerRank at {of_ranks[0][0]}, and rank {rank} at {paths}")
        assert mine is not None
        return mine

    def _log_saved(self, storage_id: str) -> None:
        logger.info("saved checkpoint %s", storage_id)
        if self._on_saved is not None and self._distributed.rank == 0:
            self._on_saved(storage_id)

    def _take(self, ended: List[_lib.Ended]) -> None:
        """Notes the saves that have ended. Raises the error of the first one that failed."""
        failed = []
        for each in ended:
            directory = self._in_flight.pop(each.uuid, None)
            if directory is not None:
                shutil.rmtree(directory, ignore_errors=True)
            self._on_end.pop(each.uuid, lambda problem: None)(each.problem)
            if each.problem is None:
                self._ended.append(each.uuid)
                if self._distributed.rank == 0:
                    self._log_saved(each.uuid)
            else:
                failed.append(each)
        if failed:
            first, problem = failed[0], failed[0].problem
            assert problem is not None
            raise _lib.LibraryError(
                problem.code,
                f"checkpoint {first.uuid} of step {first.steps_completed} was not saved: {problem}",
                status=problem.status,
            )

    def _take_ended(self) -> List[str]:
        ended, self._ended = self._ended, []
        return ended

    def _open(self, uuid: Optional[str]) -> Optional[SavedState]:
        """The checkpoint to load, whose texts are loaded; None if uuid is None and there is none. Collective."""

        def find() -> Optional[str]:
            if uuid is not None:
                return uuid
            listed = [each for each in self._saves().list_loadable() if not _is_in_memory(each)]
            if not listed or self._is_in_trial():
                return listed[0] if listed else None
            # The user's directory also has checkpoints of other programs, which may consist of files.
            return next((each for each in listed if load_manifest(self._distributed, each).get("tensors")), None)

        ranks = self._distributed
        self.wait_snapshot()
        self._devices.prepare()
        kept = self._open_kept() if uuid is None else None
        if kept is not None:
            return kept
        found = result_of_ranks(ranks, lambda: find() if ranks.rank == 0 else None)
        found = ranks.broadcast(found)
        return None if found is None else self._open_named(found)

    def _open_kept(self) -> Optional[SavedState]:
        """The newest state that was kept in memory and can be read; None if there is none. Collective."""
        for name in self._list_kept():
            try:
                return self._open_named(name)
            except (RuntimeError, errors.CheckpointNotFound) as problem:
                self._log_unused(problem)
        return None

    def _log_unused(self, problem: Exception) -> None:
        if self._distributed.rank == 0:
            logger.warning("a state that was kept in memory is not used: %s", problem)

    def _open_named(self, found: str) -> SavedState:
        ranks = self._distributed
        manifest = result_of_ranks(ranks, lambda: load_manifest(ranks, found))
        saved = SavedState(self._saves(), ranks, self._devices, found, manifest)
        saved.load_texts()
        return saved

    def _is_in_trial(self) -> bool:
        import determined

        info = determined.get_cluster_info()
        return info is not None and info.task_type == "TRIAL"
