"""Packs a state: a nest of containers, tensors and other values becomes named tensors and a text.

The text (JSON) has the form of the nest. Its nodes:

    null, true, 1, 0.5, "x"                      themselves
    {"float": "nan"}, {"complex": [1.0, 2.0]}    numbers that JSON lacks
    {"bytes": BASE64, "type": "bytes"}           short byte strings
    {"number": BASE64, "dtype": "<f4"}           a scalar of numpy
    {"dict": [[KEY, NODE], ...]}                 "ordered": true for an OrderedDict, "metadata": NODE for its _metadata
    {"list": [NODE, ...]}, {"tuple": [...]}
    {"tensor": NAME, "kind": "torch", "dtype": "float32", "shape": [2, 3]}
        "strides" if it does not lie row by row, "offset" (bytes) if it is a view of the stored tensor,
        "parameter": true and "requires_grad": true as in torch
    {"object": 0}                                the n-th object of those that are pickled apart
    {"rank": 0}                                  the n-th PerRank, whose node is in the text of the rank

A DTensor has the same node as the whole tensor. Each rank saves the part that it holds.
"""

import base64
import collections
import json
import pickle
import sys
from typing import Any, Collection, Dict, List, NamedTuple, Optional, Tuple

from determined import _lib
from determined.core import _arrays
from determined.core._state_memory import (
    Leaf,
    Stage,
    base_of,
    bytes_on_device,
    empty_memory,
    groups_of,
    is_same,
    memory_of_part,
    readable,
    to_save,
    unused,
)

TREE = "__det__.tree"  # names of tensors that hold texts and pickles, with .rank-N for those of a rank
OBJECTS = "__det__.objects"
FORMAT = "state/1"

_BYTES_MAX = 1 << 20  # of a byte string in the text
_INTEGER_BITS_MAX = 8000
_SMALLEST_BYTES = 4096


class PerRank:
    """Marks a part of a state that differs between ranks, for instance the state of random numbers.

        state = {"model": model, "random": core.PerRank(torch.get_rng_state())}

    Each rank saves and loads its own. A rank that the save did not have keeps the value that it has. A PerRank lies in
    a dict, list or tuple.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"PerRank({self.value!r})"


class Placed(NamedTuple):
    """Stands in a state for a tensor that the caller saves itself: its node."""

    node: Dict[str, Any]


class Packed(NamedTuple):
    """A state that is ready to be saved.

    Attributes:
        tensors: what this rank saves
        keeps: the objects that keep their memory
        rank_paths: the places of PerRank, which must be the same on all ranks
    """

    tensors: List[_lib.Memory]
    keeps: List[Any]
    rank_paths: List[str]


def is_stateful(value: Any) -> bool:
    """Whether it has state_dict() and load_state_dict(): a module, an optimizer and so on."""
    return (
        callable(getattr(value, "state_dict", None))
        and callable(getattr(value, "load_state_dict", None))
        and not isinstance(value, type)
    )


def plain_keys(keys: Any) -> Dict[Any, Any]:
    """The names that keys of a map have if no module is compiled or wrapped by DistributedDataParallel."""
    names = {
        key: ".".join(part for part in key.split(".") if part != "_orig_mod") if isinstance(key, str) else key
        for key in keys
    }
    prefix = "module."
    if names and all(isinstance(name, str) and name.startswith(prefix) for name in names.values()):
        names = {key: name[len(prefix) :] for key, name in names.items()}
    if len(set(names.values())) != len(names):
        return {key: key for key in keys}
    return names


def to_bytes(tree: Dict[str, Any]) -> bytes:
    return json.dumps(tree, allow_nan=False, separators=(",", ":")).encode()


def pack(
    state: Any,
    rank: int,
    size: int,
    stage: Stage,
    taken: Collection[str] = (),
    more: Optional[Dict[str, Any]] = None,
    step_memory: Optional[Dict[int, int]] = None,
) -> Packed:
    """Packs the state of a rank: that of its PerRank, its parts of DTensors, and on the chief everything else.

    Args:
        stage: called with the memory of each tensor; returns what is saved in its place
        taken: names that no tensor gets
        more: added to the text
        step_memory: what find_step_memory() has found; tensors in it may be copied later

    Raises:
        TypeError: a value can't be saved; the message says where it is
    """
    packer = _Packer(f"__rank-{rank}__.", rank == 0, taken)
    root = packer.pack(state, "", "")
    names = packer.name_tensors()
    tensors = packer.memories(names, stage, step_memory or {})
    keeps: List[Any] = packer.keeps

    def add(name: str, content: bytes, filler: bytes) -> None:
        padded = content.ljust(_round_up(len(content)), filler)
        keeps.append(padded)
        tensors.append(_lib.Memory(name, _address_of(padded), "U8", (len(padded),)))

    if rank == 0:
        add(TREE, to_bytes({"det": FORMAT, "size": size, "root": root, **(more or {})}), b" ")
        if packer.objects:
            add(OBJECTS, _pickle(packer.objects), b"\0")
    if packer.rank_nodes:
        add(f"{TREE}.rank-{rank}", to_bytes({"det": FORMAT, "values": packer.rank_nodes}), b" ")
        if packer.rank_objects:
            add(f"{OBJECTS}.rank-{rank}", _pickle(packer.rank_objects), b"\0")
    return Packed(tensors, keeps, packer.rank_paths)


def _round_up(size: int) -> int:
    """The next power of two, so that most saves have tensors of the same sizes: a new size costs a new plan
    and new memory."""
    rounded = _SMALLEST_BYTES
    while rounded < size:
        rounded *= 2
    return rounded


def _address_of(content: bytes) -> int:
    import ctypes

    return ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p).value or 0


def _pickle(objects: List[Tuple[str, Any]]) -> bytes:
    """Pickles objects together, so that those that refer to each other do so afterwards."""
    try:
        return pickle.dumps([value for _, value in objects], protocol=4)
    except Exception as problem:
        for path, value in objects:
            try:
                pickle.dumps(value, protocol=4)
            except Exception as own:
                raise TypeError(
                    f"state{path} can't be saved: a {type(value).__name__} can't be pickled: {own}"
                ) from None
        raise TypeError(f"the objects of the state can't be pickled: {problem}") from None


class _Packer:
    def __init__(self, rank_prefix: str, is_chief: bool, taken: Collection[str]) -> None:
        self.objects: List[Tuple[str, Any]] = []  # with their places
        self.rank_objects: List[Tuple[str, Any]] = []
        self.rank_nodes: List[Any] = []
        self.rank_paths: List[str] = []
        self.keeps: List[Any] = []
        self._rank_prefix = rank_prefix
        self._is_chief = is_chief
        self._is_of_rank = False
        self._leaves: List[Leaf] = []
        self._stored: Dict[str, _lib.Memory] = {}
        self._taken = taken
        self._parts: Dict[str, _arrays.Part] = {}

    # From values to nodes. `path` is the place for messages, `name` that of tensors.

    def pack(self, value: Any, path: str, name: str) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if value.bit_length() <= _INTEGER_BITS_MAX else self._pack_object(value, path)
        if kind is float:
            return value if value - value == 0.0 else {"float": repr(value)}
        if kind is dict or kind is collections.OrderedDict:
            return self._pack_dict(value, path, name)
        if kind is list or kind is tuple:
            return {kind.__name__: self._pack_items(value, path, name)}
        return self._pack_other(value, path, name)

    def _pack_dict(self, value: Any, path: str, name: str) -> Dict[str, Any]:
        names = plain_keys(value)
        items = [
            [self.pack(key, path, name), self.pack(each, f"{path}[{key!r}]", _join(name, names[key]))]
            for key, each in value.items()
        ]
        node: Dict[str, Any] = {"dict": items}
        if isinstance(value, collections.OrderedDict):
            node["ordered"] = True
            metadata = getattr(value, "_metadata", None)
            if metadata is not None:
                node["metadata"] = self.pack(metadata, path, name)
        return node

    def _pack_items(self, value: Any, path: str, name: str) -> List[Any]:
        return [self.pack(each, f"{path}[{index}]", _join(name, index)) for index, each in enumerate(value)]

    def _pack_other(self, value: Any, path: str, name: str) -> Any:
        if isinstance(value, PerRank):
            return self._pack_of_rank(value.value, path, name)
        if _arrays.is_sharded(value):
            return self._pack_part(value, path, name)
        if not self._is_chief and not self._is_of_rank:  # only PerRank and DTensors count, which are in containers
            if is_stateful(value):
                return self.pack(value.state_dict(), path, name)
            return self._pack_container(value, path, name)
        try:
            array = _arrays.describe(value)
        except TypeError as problem:
            raise TypeError(f"state{path} can't be saved: {problem}") from None
        if array is not None:
            return self._pack_tensor(value, array, name)
        if type(value) is complex:
            parts = [value.real, value.imag]
            if all(part - part == 0.0 for part in parts):
                return {"complex": parts}
        if type(value) in (bytes, bytearray) and len(value) <= _BYTES_MAX:
            return {"bytes": base64.b64encode(value).decode(), "type": type(value).__name__}
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.generic) and value.dtype.kind in "biufc":
            return {"number": base64.b64encode(value.tobytes()).decode(), "dtype": value.dtype.str}
        if is_stateful(value):
            return self.pack(value.state_dict(), path, name)
        if isinstance(value, Placed):
            return value.node
        container = self._pack_container(value, path, name)
        return self._pack_object(value, path) if container is None else container

    def _pack_container(self, value: Any, path: str, name: str) -> Any:
        """Packs an object of a class derived from dict, list or tuple if there are tensors in it, else returns None."""
        base = next((each for each in (dict, list, tuple) if isinstance(value, each)), None)
        if base is None or isinstance(value, Placed) or not _has_tensors(value):
            return None
        return self.pack(base(value), path, name)

    def _pack_of_rank(self, value: Any, path: str, name: str) -> Dict[str, Any]:
        if self._is_of_rank:
            raise TypeError(f"state{path} can't be saved: it is a PerRank inside of another one")
        self._is_of_rank = True
        try:
            self.rank_nodes.append(self.pack(value, path, self._rank_prefix + name))
        finally:
            self._is_of_rank = False
        self.rank_paths.append(path)
        return {"rank": len(self.rank_nodes) - 1}

    def _pack_part(self, value: Any, path: str, name: str) -> Dict[str, Any]:
        """Packs a DTensor. All ranks give it the same name, because they meet the same DTensors in the same order."""
        if self._is_of_rank:
            raise TypeError(f"state{path} can't be saved: a DTensor is of all ranks, and it is inside of a PerRank")
        try:
            part = _arrays.describe_part(value)
        except TypeError as problem:
            raise TypeError(f"state{path} can't be saved: {problem}") from None
        stored_name = unused(readable(name or "state"), self._parts)
        self._parts[stored_name] = part
        node: Dict[str, Any] = {
            "tensor": stored_name, "kind": "torch", "dtype": part.dtype, "shape": list(part.shape)
        }  # fmt: skip
        return _with_flags(node, value)

    def _pack_object(self, value: Any, path: str) -> Dict[str, int]:
        objects = self.rank_objects if self._is_of_rank else self.objects
        objects.append((path, value))
        return {"object": len(objects) - 1}

    def _pack_tensor(self, value: Any, array: _arrays.Array, name: str) -> Dict[str, Any]:
        node: Dict[str, Any] = {"kind": array.kind, "dtype": array.dtype, "shape": list(array.shape)}
        if array.strides is not None:
            node["strides"] = list(array.strides)
        if array.kind == "torch":
            _with_flags(node, value)
        self._leaves.append(Leaf(node, array, readable(name or "state")))
        return node

    # From tensors to memory.

    def name_tensors(self) -> Dict[str, _arrays.Array]:
        """Gives each leaf the tensor in which it is stored. Leaves that overlap in memory share one.
        Returns the arrays to store, by name."""
        arrays: Dict[str, _arrays.Array] = {}
        for group in groups_of(self._leaves):
            base = base_of(group)
            if base is None:
                self._store_range(group, arrays)
                continue
            name = self._unused_beside(base.name, arrays)
            is_shared = len(group) > 1 and any(not is_same(each.array, base.array) for each in group)
            arrays[name] = base.array
            for leaf in group:
                leaf.node["tensor"] = name
                if is_shared and not is_same(leaf.array, base.array):
                    leaf.node["offset"] = leaf.array.address - base.array.address
        return arrays

    def _store_range(self, group: List[Leaf], arrays: Dict[str, _arrays.Array]) -> None:
        """Stores the range of memory of views that overlap, as bytes."""
        begin = min(leaf.array.address for leaf in group)
        end = max(leaf.array.address + leaf.array.span_bytes for leaf in group)
        name = self._unused_beside(f"{group[0].name}#memory", arrays)
        size = end - begin
        first = group[0].array
        if first.device != "cpu":
            storage = bytes_on_device(first.value, begin, size)
            described = _arrays.describe(storage)
            assert described is not None
            arrays[name] = described
        else:
            self._stored[name] = _lib.Memory(name, begin, "U8", (size,))
        self.keeps.extend(leaf.array.value for leaf in group)
        for leaf in group:
            leaf.node["tensor"] = name
            leaf.node["offset"] = leaf.array.address - begin

    def _unused_beside(self, name: str, arrays: Dict[str, _arrays.Array]) -> str:
        return unused(name, arrays, self._stored, self._parts, self._taken)

    def memories(
        self, arrays: Dict[str, _arrays.Array], stage: Stage, step_memory: Dict[int, int]
    ) -> List[_lib.Memory]:
        """The memory of all tensors. Copies those that do not lie row by row."""

        def prepare(array: _arrays.Array) -> Tuple[_arrays.Array, bool]:
            staged = to_save(array, stage)
            self.keeps.append(staged.value)
            # A copy is nobody else's.
            is_copy = bool(step_memory) and staged.address != array.address
            return staged, is_copy or step_memory.get(array.address, -1) >= array.span_bytes

        memories = list(self._stored.values())
        for name, array in arrays.items():
            array, copy_later = prepare(array)
            memories.append(
                _lib.Memory(name, array.address, array.stored, array.stored_shape(), copy_later=copy_later)
            )
        for name, part in self._parts.items():
            if part.array is not None:
                array, copy_later = prepare(part.array)
                memories.append(memory_of_part(name, array, part.shape, part.begin, copy_later))
            elif self._is_chief and _arrays.count(part.shape) == 0:
                memories.append(empty_memory(name, part.dtype, part.shape))
        return memories


def _with_flags(node: Dict[str, Any], value: Any) -> Dict[str, Any]:
    """Adds what a node has of a tensor of torch beside its form."""
    if isinstance(value, sys.modules["torch"].nn.Parameter):
        node["parameter"] = True
    if value.requires_grad:
        node["requires_grad"] = True
    return node


def _join(name: str, key: Any) -> str:
    return f"{name}.{key}" if name and not name.endswith(".") else f"{name}{key}"


def _has_tensors(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_tensors(each) for each in value.values())
    if isinstance(value, (list, tuple)):
        return any(_has_tensors(each) for each in value)
    return _arrays.is_tensor(value) or is_stateful(value)
