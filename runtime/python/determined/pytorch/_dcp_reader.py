"""Loads for torch.distributed.checkpoint."""

import io
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
from torch.distributed import checkpoint as torch_dcp
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner import LoadItemType

from determined import _lib, errors
from determined.core import Context
from determined.core._state_fill import Filler
from determined.core._state_load import SavedState, result_of_ranks
from determined.pytorch._dcp_errors import logs_errors

Path = Tuple[Any, ...]


class _Entry(NamedTuple):
    """An entry of the flat state_dict: its place in the nest, its node in the text, and what torch wants to know."""

    path: Path
    node: Any
    metadata: Any


class StorageReader(torch_dcp.StorageReader):
    """Loads by torch.distributed.checkpoint from the checkpoint storage, what StorageWriter or save_state() has saved.

        reader = StorageReader(core_context)
        if reader.uuid is not None:
            dcp.load(state_dict, storage_reader=reader)

    The save may have had another number of ranks and another mesh. Making a reader is collective, and so is dcp.load(), in
    the thread that uses core_context. Values that were pickled are loaded only if no other user can have written the
    checkpoint.

    Attributes:
        uuid: of the checkpoint; None if there is none
        steps_completed, metadata: of the checkpoint
    """

    def __init__(self, core_context: Context, uuid: Optional[str] = None) -> None:
        """
        Args:
            uuid: None: the checkpoint that load_state() takes

        Raises:
            CheckpointNotFound: there is no checkpoint with this UUID
            InvalidCheckpointException: it consists of files
        """
        super().__init__()
        self._ranks = core_context.distributed
        self._saved = core_context.checkpoint._open(uuid)
        saved = self._saved
        self._entries: Dict[str, _Entry] = {} if saved is None else self._read_entries(saved)
        self.uuid = None if saved is None else saved.uuid
        self.steps_completed = 0 if saved is None else saved.steps_completed
        self.metadata = {} if saved is None else saved.metadata

    def _read_entries(self, saved: SavedState) -> Dict[str, _Entry]:
        entries: Dict[str, _Entry] = result_of_ranks(self._ranks, lambda: _entries_of(saved.tree()))
        return entries

    def reset(self, checkpoint_id: Any = None) -> None:
        if checkpoint_id is not None and str(checkpoint_id) != self.uuid:
            raise ValueError(f"this reader is of checkpoint {self.uuid}: name another one by StorageReader(uuid=...)")

    @logs_errors
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        self._require()
        return Metadata(
            state_dict_metadata={name: entry.metadata for name, entry in self._entries.items()},
            planner_data={name: entry.path for name, entry in self._entries.items()},
        )

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        pass

    def prepare_local_plan(self, plan: torch_dcp.LoadPlan) -> torch_dcp.LoadPlan:
        return plan

    def prepare_global_plan(self, plans: List[torch_dcp.LoadPlan]) -> List[torch_dcp.LoadPlan]:
        return plans

    @logs_errors
    def read_data(self, plan: torch_dcp.LoadPlan, planner: torch_dcp.LoadPlanner) -> "torch.futures.Future[None]":
        saved = self._require()
        load = _Load(self._entries, planner)
        saved.load(result_of_ranks(self._ranks, lambda: load.plan(plan, saved.filler())))
        load.finish()
        done: "torch.futures.Future[None]" = torch.futures.Future()
        done.set_result(None)
        return done

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        return False

    def _require(self) -> SavedState:
        if self._saved is None:
            raise errors.CheckpointNotFound("there is no checkpoint to load: StorageReader.uuid is None")
        return self._saved


class _Load:
    """One load: the tensors to fill, and the values to pass to the planner."""

    def __init__(self, entries: Dict[str, _Entry], planner: torch_dcp.LoadPlanner) -> None:
        self._entries = entries
        self._planner = planner
        self._filler: Optional[Filler] = None
        self._tensors: List[Tuple[Any, torch.Tensor]] = []
        self._values: List[Tuple[Any, Any]] = []

    def plan(self, plan: torch_dcp.LoadPlan, filler: Filler) -> List[_lib.Memory]:
        self._filler = filler
        for item in plan.items:
            node = self._entries[item.storage_index.fqn].node
            if item.type is LoadItemType.BYTE_IO:
                self._values.append((item, filler.make(node)))
                continue
            target = self._planner.resolve_tensor(item)
            filler.fill_part(target, node, tuple(item.storage_offsets))
            self._tensors.append((item, target))
        return filler.memories()

    def finish(self) -> None:
        assert self._filler is not None
        self._filler.finish()
        for item, target in self._tensors:
            self._planner.commit_tensor(item, target)
        for item, value in self._values:  # the planner unpickles what is pickled here
            content = io.BytesIO()
            torch.save(value, content)
            content.seek(0)
            self._planner.load_bytes(item, content)


def _entries_of(tree: Dict[str, Any]) -> Dict[str, _Entry]:
    """The entries of the flat state_dict, by their names."""
    try:
        if "entries" in tree:
            nodes = _Nodes(tree["root"])
            found = [(name, tuple(path), nodes.at(path)) for name, path in tree["entries"]]
        else:
            found = [(".".join(map(str, path)), path, node) for path, node in _flatten(tree["root"], ())]
        return {name: _Entry(path, node, _metadata_of(node)) for name, path, node in found}
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
        raise errors.InvalidCheckpointException(f"the checkpoint's state is damaged: {problem!r}") from problem


class _Nodes:
    """Finds nodes by their places."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._maps: Dict[int, Dict[Any, Any]] = {}  # of nodes of dicts, by their ids

    def at(self, path: List[Any]) -> Any:
        node = self._root
        for key in path:
            if isinstance(key, int):
                node = node["list"][key]
                continue
            if id(node) not in self._maps:
                self._maps[id(node)] = {key: each for key, each in node["dict"]}
            node = self._maps[id(node)][key]
        return node


def _flatten(node: Any, path: Path) -> List[Tuple[Path, Any]]:
    """The entries of what save_state() has saved, as torch flattens such a state: a list without tensors is one
    value."""
    if isinstance(node, dict) and "dict" in node:
        return [entry for key, each in node["dict"] for entry in _flatten(each, (*path, str(key)))]
    if isinstance(node, dict) and "list" in node and not _is_value(node):
        return [entry for index, each in enumerate(node["list"]) for entry in _flatten(each, (*path, index))]
    return [(path, node)]


def _is_value(node: Any) -> bool:
    if not isinstance(node, dict):
        return True
    return "dict" not in node and not _is_tensor(node) and all(map(_is_value, node.get("list", [])))


def _is_tensor(node: Any) -> bool:
    return isinstance(node, dict) and "tensor" in node and node.get("kind") == "torch"


def _metadata_of(node: Any) -> Any:
    if not _is_tensor(node):
        return BytesStorageMetadata()
    dtype, shape = getattr(torch, node["dtype"]), torch.Size(node["shape"])
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"'{node['dtype']}' is no type of elements")
    # One chunk: libdet finds in which files the parts of a tensor are.
    whole = ChunkStorageMetadata(offsets=torch.Size([0] * len(shape)), sizes=shape)
    return TensorStorageMetadata(TensorProperties(dtype=dtype), shape, [whole])
