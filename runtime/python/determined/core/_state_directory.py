"""Reads a state from the directory of a checkpoint, without libdet: for programs that have only its files."""

import ctypes
import itertools
import json
import os
import pathlib
import pickle
import stat
import struct
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from determined import errors
from determined.core import _arrays
from determined.core._state_fill import Filler, Stored, parse_tree, tree_of_tensors
from determined.core._state_pack import OBJECTS, TREE

_SHARDS = "rank-*.safetensors"
_MANIFEST = "manifest"


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
    """Where a part of a tensor lies: in a file, and in the tensor."""

    path: pathlib.Path
    offset_bytes: int
    begin: Tuple[int, ...]
    shape: Tuple[int, ...]


class _Files:
    """The safetensors files of a checkpoint. A file has at most one part of a tensor; the manifest says which part."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self._parts: Dict[str, List[_Part]] = {}
        self._begins: Dict[Tuple[str, str], Tuple[int, ...]] = {}  # by tensor and file
        self.stored: Stored = {}
        shards = [(path, self._add) for path in sorted(directory.glob(_SHARDS))]
        for path, add in [(directory / _MANIFEST, self._add_manifest), *shards]:
            try:
                add(path)
            except (OSError, ValueError, KeyError, TypeError, struct.error) as problem:
                raise errors.InvalidCheckpointException(f"{path} can't be read: {problem}") from None

    def _add_manifest(self, path: pathlib.Path) -> None:
        """Reads where parts belong. Without a manifest all tensors are whole."""
        if not path.exists():
            return
        for tensor in json.loads(path.read_text(encoding="utf-8"))["body"].get("tensors", []):
            self.stored[tensor["name"]] = (tensor["dtype"], tuple(tensor["shape"]))
            for part in tensor["slices"]:
                self._begins[tensor["name"], part["file"]] = tuple(part["begin"])

    def _add(self, path: pathlib.Path) -> None:
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > path.stat().st_size:
                raise ValueError("its header is longer than the file")
            header = json.loads(file.read(length))
        for name, tensor in header.items():
            if name != "__metadata__":
                shape = tuple(tensor["shape"])
                begin = self._begins.get((name, path.name), (0,) * len(shape))
                part = _Part(path, 8 + length + int(tensor["data_offsets"][0]), begin, shape)
                self._parts.setdefault(name, []).append(part)
                self.stored.setdefault(name, (tensor["dtype"], shape))

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
        dtype, shape = self.stored[name]
        parts = self._parts.get(name, [])
        if sum(_arrays.count(part.shape) for part in parts) != _arrays.count(shape):
            raise errors.InvalidCheckpointException(f"the files in {self._directory} have not all of tensor '{name}'")
        whole = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
        for part in parts:
            if part.shape == shape:
                _read(part, name, whole)
                continue
            content = memoryview(bytearray(_arrays.count(part.shape) * _arrays.item_bytes(dtype)))
            _read(part, name, content)
            _place(part, content, shape, whole)

    def require_own(self) -> None:
        """Raises InvalidCheckpointException if another user can have written the files."""
        paths = {part.path for parts in self._parts.values() for part in parts}
        if self._begins:
            paths.add(self._directory / _MANIFEST)
        for path in [self._directory, *sorted(paths)]:
            found = os.stat(path)
            if found.st_uid not in (os.geteuid(), 0) or found.st_mode & stat.S_IWOTH:
                raise errors.InvalidCheckpointException(
                    f"{self._directory} has pickled objects, which can run code, and another user can have written {path}"
                )

    def _size_of(self, name: str) -> int:
        dtype, shape = self.stored[name]
        return _arrays.item_bytes(dtype) * _arrays.count(shape)


def _read(part: _Part, name: str, target: memoryview) -> None:
    with open(part.path, "rb", buffering=0) as file:
        file.seek(part.offset_bytes)
        done = 0
        while done < len(target):
            count = file.readinto(target[done:])
            if not count:
                raise errors.InvalidCheckpointException(f"{part.path} ends before tensor '{name}'")
            done += count


def _place(part: _Part, content: memoryview, shape: Tuple[int, ...], whole: memoryview) -> None:
    """Copies a part to its place in the tensor, in the longest runs of bytes that lie beside one another in both."""
    outer, run = len(shape), len(content) // _arrays.count(part.shape)
    item_bytes = run
    while outer > 0:
        outer -= 1
        run *= part.shape[outer]
        if part.shape[outer] != shape[outer]:
            break
    for number, at in enumerate(itertools.product(*map(range, part.shape[:outer]))):
        index = 0
        for length, begin, inside in zip(shape, part.begin, at + (0,) * (len(shape) - outer)):
            index = index * length + begin + inside
        whole[index * item_bytes : index * item_bytes + run] = content[number * run : (number + 1) * run]
