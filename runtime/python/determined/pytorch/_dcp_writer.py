"""Saves for torch.distributed.checkpoint. What it saves is a checkpoint of save_state() too."""

import io
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
from torch.distributed import checkpoint as torch_dcp
from torch.distributed.checkpoint.planner import WriteItemType
from torch.distributed.checkpoint.storage import WriteResult

from determined import _lib
from determined.core import Context, _arrays
from determined.core._state import OnEnd
from determined.core._state_load import result_of_ranks
from determined.core._state_memory import empty_memory, memory_of_part, readable, to_save, unused
from determined.core._state_pack import Packed, Placed, pack
from determined.pytorch._dcp_errors import logs_errors

Path = Tuple[Any, ...]  # keys of dicts (texts) and positions in lists


class _Entry(NamedTuple):
    """An entry of the flat state_dict.

    Attributes:
        path: its place in the state_dict that was passed
        tensor: its type and shape; None if it is no tensor
        content: what torch.save has made of a value that is no tensor
    """

    name: str
    path: Path
    tensor: Optional[Tuple[str, Tuple[int, ...]]]
    content: bytes = b""


class StorageWriter(torch_dcp.StorageWriter):
    """Saves by torch.distributed.checkpoint into the checkpoint storage.

        dcp.save(state_dict, storage_writer=StorageWriter(core_context, steps_completed=100))

    All ranks of core_context call dcp.save() together, in the thread that uses core_context. If a rank fails, all
    get an error, and there is no checkpoint. A writer may be used several times, and makes a checkpoint each time.

    Attributes:
        uuid: of the checkpoint that was saved last; None before
    """

    # With these, torch's async_save() takes the writer for an AsyncStager and calls stage().
    _synchronize_after_execute = False
    should_synchronize_after_execute = False

    def __init__(self, core_context: Context, steps_completed: int, metadata: Optional[Dict[str, Any]] = None) -> None:
        """
        Args:
            metadata: a map, as for save_state()
        """
        super().__init__()
        self.uuid: Optional[str] = None
        self._checkpoint = core_context.checkpoint
        self._ranks = core_context.distributed
        self._steps_completed = _lib.check_steps(steps_completed)
        self._metadata = dict(metadata or {})
        self._name: Optional[str] = None  # the program's, for one save
        self._on_end: Optional[OnEnd] = None  # of a save in the background

    # For torch.

    def reset(self, checkpoint_id: Any = None) -> None:
        """checkpoint_id: kept in the metadata, because checkpoints are named by their UUIDs"""
        self._name = None if checkpoint_id is None else str(checkpoint_id)

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        pass

    def prepare_local_plan(self, plan: torch_dcp.SavePlan) -> torch_dcp.SavePlan:
        return plan

    def prepare_global_plan(self, plans: List[torch_dcp.SavePlan]) -> List[torch_dcp.SavePlan]:
        return plans

    @logs_errors
    def write_data(
        self, plan: torch_dcp.SavePlan, planner: torch_dcp.SavePlanner
    ) -> "torch.futures.Future[List[WriteResult]]":
        metadata = self._metadata if self._name is None else {**self._metadata, "checkpoint_id": self._name}
        self.uuid = self._checkpoint._begin_save(
            lambda: self._pack(plan, planner), self._steps_completed, metadata, on_end=self._on_end
        )
        if self._on_end is None:
            self._checkpoint.wait()
        written: "torch.futures.Future[List[WriteResult]]" = torch.futures.Future()
        written.set_result([WriteResult(item.index, item.tensor_storage_size() or 0, None) for item in plan.items])
        return written

    def finish(self, metadata: Any, results: List[List[WriteResult]]) -> None:
        pass

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        return False

    def stage(self, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "torch's async_save() would use core_context in a thread beside the program's own: call "
            "determined.pytorch.dcp.async_save() instead, whose checkpoints are written in the background too"
        )

    def synchronize_staging(self) -> None:
        pass

    # The state.

    def _pack(self, plan: torch_dcp.SavePlan, planner: torch_dcp.SavePlanner) -> Packed:
        """The tensors of this rank, and on the chief the text of the whole state. Collective."""
        ranks = self._ranks
        self._checkpoint._devices.prepare()
        entries, parts, keeps = result_of_ranks(ranks, lambda: self._resolve(plan, planner))
        of_ranks = ranks.gather(entries)
        whole = result_of_ranks(ranks, lambda: None if of_ranks is None else self._pack_whole(of_ranks, _paths_in(plan)))
        if whole is not None:
            parts, keeps = parts + whole.tensors, keeps + whole.keeps
        return Packed(parts, keeps, [])

    def _resolve(
        self, plan: torch_dcp.SavePlan, planner: torch_dcp.SavePlanner
    ) -> Tuple[List[_Entry], List[_lib.Memory], List[Any]]:
        """What this rank saves: entries, its parts of tensors, and the objects that keep their memory."""
        paths = _paths_in(plan)
        entries: List[_Entry] = []
        parts: Dict[str, _lib.Memory] = {}
        keeps: List[Any] = []
        stage = self._checkpoint._devices.stage
        for item in plan.items:
            name = item.index.fqn
            path = tuple(paths.get(name, (name,)))
            if ".".join(map(str, path)) != name:
                path = (name,)
            data = planner.resolve_data(item)
            if item.type is WriteItemType.BYTE_IO:
                entries.append(_Entry(name, path, None, data.getvalue()))
                continue
            array = _arrays.describe(data.detach())
            if array is None:
                raise TypeError(f"entry '{name}' can't be saved: the elements of {type(data).__name__} do not lie in memory")
            shape, begin = tuple(item.tensor_data.size), tuple(item.tensor_data.chunk.offsets)
            entries.append(_Entry(name, path, (array.dtype, shape)))
            if array.span_bytes == 0:
                continue
            stored_name = _stored_name(name)
            if stored_name in parts:
                raise TypeError(f"entry '{name}' can't be saved: one rank holds several parts of it")
            array = to_save(array, stage)
            keeps.append(array.value)
            parts[stored_name] = memory_of_part(stored_name, array, shape, begin)
        return entries, list(parts.values()), keeps

    def _pack_whole(self, of_ranks: List[List[_Entry]], order: Dict[str, Any]) -> Packed:
        """On the chief: the values that are no tensors, and the text with all entries. Those of DCP are pickles of
        torch.save, which come from this program. They become what save_state() makes of such values, so that
        numbers, texts and tensors among them are loaded without unpickling.

        Args:
            order: the names of entries in the order of the state_dict, as far as the chief knows them
        """
        unordered = {entry.name: entry for of_rank in of_ranks for entry in of_rank}
        entries = {name: unordered[name] for name in [*filter(unordered.__contains__, order), *unordered]}
        nest: Dict[Any, Any] = {}
        empty: List[_lib.Memory] = []
        for entry in entries.values():
            if entry.tensor is None:
                value = torch.load(io.BytesIO(entry.content), map_location="cpu", weights_only=False)
            else:
                dtype, shape = entry.tensor
                name = _stored_name(entry.name)
                value = Placed({"tensor": name, "kind": "torch", "dtype": dtype, "shape": list(shape)})
                if _arrays.count(shape) == 0:
                    empty.append(empty_memory(name, dtype, shape))
            _put(nest, entry.path, value)
        packed = pack(
            _with_lists(nest),
            0,
            self._ranks.size,
            self._checkpoint._devices.stage,
            taken={_stored_name(name) for name in entries},
            more={"entries": [[entry.name, list(entry.path)] for entry in entries.values()]},
        )
        return packed._replace(tensors=packed.tensors + empty)


def _paths_in(plan: torch_dcp.SavePlan) -> Dict[str, Path]:
    """The places of entries by their names, in the order of the state_dict, if the planner tells them."""
    return plan.planner_data if isinstance(plan.planner_data, dict) else {}


def _stored_name(name: str) -> str:
    """The name of an entry's tensor, which all ranks find alike."""
    return unused(readable(name))


class _List(Dict[Any, Any]):
    """A list whose values come in any order."""


def _put(nest: Dict[Any, Any], path: Path, value: Any) -> None:
    """Puts a value at its place. Makes the containers."""
    at = nest
    for key, inner in zip(path, path[1:]):
        at = at.setdefault(key, _List() if isinstance(inner, int) else {})
    at[path[-1]] = value


def _with_lists(nest: Any) -> Any:
    """The nest with lists. Containers that are values are not changed: they have no _List inside."""
    if isinstance(nest, _List):
        return [_with_lists(nest.get(index)) for index in range(max(nest) + 1)]
    return {key: _with_lists(value) for key, value in nest.items()} if type(nest) is dict else nest
