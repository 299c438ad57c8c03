"""Reads a state from the directory of a checkpoint, without libdet: for programs that have only its files."""

import ctypes
import json
import os
import pathlib
import pickle
import stat
import struct
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from determined import errors
from determined.core import _arrays
from determined.core._state_fill import Filler, Stored, parse_tree, tree_of_tensors
from determined.core._state_pack import OBJECTS, TREE

_SHARDS = "rank-*.safetensors"


def has_state(directory: pathlib.Path) -> bool:
    """Whether the directory has the files of a checkpoint with a state."""
    return any(directory.glob(_SHARDS))


def read_state(directory: pathlib.Path, keys: Optional[Sequence[str]] = None) -> Dict[str, Any]:
    """The state in a directory that was downloaded, whose files have been compared with their checksums then.

    Args:
        keys: which keys of the outermost dict; None: all

    Raises:
        InvalidCheckpointException: the files are incomplete, or the state has pickled objects, and another user can
            have written them
    """
    files = _Files(directory)
    text = files.read(TREE)
    tree = parse_tree(text) if text is not None else tree_of_tensors(files.stored)
    if keys is not None and isinstance(tree["root"], dict):
        tree["root"]["dict"] = [item for item in tree["root"].get("dict", []) if item[0] in keys]

    def objects() -> List[Any]:
        files.require_own()
        unpickled: List[Any] = pickle.loads(files.read(OBJECTS) or b"")
        return unpickled

    own = files.read(f"{TREE}.rank-0")
    filler = Filler(tree, None if own is None else parse_tree(own).get("values"), files.stored, objects, list)
    state: Dict[str, Any] = {}
    for memory in filler.plan(state):
        files.read_into(memory.name, memory.address)
    filler.finish()
    return state


class _Part(NamedTuple):
    """Where a tensor lies."""

    path: pathlib.Path
    offset_bytes: int


class _Files:
    """The safetensors files of a checkpoint. Each tensor is in one of them, as save_state() writes them."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self._parts: Dict[str, List[_Part]] = {}
        self.stored: Stored = {}
        for path in sorted(directory.glob(_SHARDS)):
            try:
                self._add(path)
            except (OSError, ValueError, KeyError, TypeError, struct.error) as problem:
                raise errors.InvalidCheckpointException(f"{path} can't be read: {problem}") from None

    def _add(self, path: pathlib.Path) -> None:
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > path.stat().st_size:
                raise ValueError("its header is longer than the file")
            header = json.loads(file.read(length))
        for name, tensor in header.items():
            if name != "__metadata__":
                self._parts.setdefault(name, []).append(_Part(path, 8 + length + int(tensor["data_offsets"][0])))
                self.stored[name] = (tensor["dtype"], tuple(tensor["shape"]))

    def read(self, name: str) -> Optional[bytes]:
        """The bytes of a tensor; None if there is none of this name."""
        if name not in self._parts:
            return None
        content = (ctypes.c_char * self._size_of(name))()
        self.read_into(name, ctypes.addressof(content))
        return content.raw

    def read_into(self, name: str, address: int) -> None:
        size = self._size_of(name)
        if size == 0:
            return
        parts = self._parts[name]
        if len(parts) != 1:
            raise errors.InvalidCheckpointException(
                f"tensor '{name}' lies in {len(parts)} parts: load it by core_context.checkpoint.load_state()"
            )
        memory = (ctypes.c_char * size).from_address(address)
        with open(parts[0].path, "rb", buffering=0) as file:
            file.seek(parts[0].offset_bytes)
            view, done = memoryview(memory).cast("B"), 0
            while done < size:
                count = file.readinto(view[done:])
                if not count:
                    raise errors.InvalidCheckpointException(f"{parts[0].path} ends before tensor '{name}'")
                done += count

    def require_own(self) -> None:
        """Raises InvalidCheckpointException if another user can have written the files."""
        paths = {part.path for parts in self._parts.values() for part in parts}
        for path in [self._directory, *sorted(paths)]:
            found = os.stat(path)
            if found.st_uid not in (os.geteuid(), 0) or found.st_mode & stat.S_IWOTH:
                raise errors.InvalidCheckpointException(
                    f"{self._directory} has pickled objects, which can run code, and another user can have written {path}"
                )

    def _size_of(self, name: str) -> int:
        dtype, shape = self.stored[name]
        return _arrays.item_bytes(dtype) * _arrays.count(shape)
