"""Fills a state in place from what _state_pack has packed.

It has two steps, because the tensors are loaded by all ranks together: plan() walks through the state and finds the
memory for each stored tensor, and after the load finish() does what needs the elements.
"""

import base64
import collections
import importlib
import json
import logging
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from determined import _lib, errors
from determined.core import _arrays
from determined.core._device_memory import CanCopy, is_on_host
from determined.core._state_pack import FORMAT, PerRank, is_stateful, plain_keys

logger = logging.getLogger("determined.core")

Stored = Dict[str, Tuple[str, Tuple[int, ...]]]  # type and shape of the tensors of a checkpoint, by name

_ABSENT = object()


def parse_tree(text: bytes) -> Dict[str, Any]:
    """The text of a state.

    Raises:
        InvalidCheckpointException: it is none, or one of a newer version
    """
    try:
        tree: Dict[str, Any] = json.loads(text.decode())
        version = tree["det"]
    except (ValueError, KeyError, TypeError) as problem:
        raise errors.InvalidCheckpointException(f"the checkpoint's state can't be read: {problem}") from None
    if version != FORMAT:
        raise errors.InvalidCheckpointException(
            f"the checkpoint's state has the form '{version}', and this version of det-submit reads '{FORMAT}'"
        )
    return tree


def tree_of_tensors(stored: Stored) -> Dict[str, Any]:
    """The text for a checkpoint that has only tensors, as those of C programs: a map of names."""
    items = []
    for name, (dtype, shape) in stored.items():
        element = _lib.ELEMENT_TYPES.get(dtype)
        if element is not None:
            items.append([name, {"tensor": name, "kind": "torch", "dtype": element.name, "shape": list(shape)}])
    return {"det": FORMAT, "size": 0, "root": {"dict": items}}


class _Memory(NamedTuple):
    """Where a stored tensor is loaded to: bytes as a tensor or array, and their address."""

    memory: Any
    address: int


class Filler:
    """Fills one state.

    Args:
        tree: the text that ranks share
        rank_values: the nodes of this rank's PerRank; None if the save did not have this rank
        stored: the tensors of the checkpoint
        objects, rank_objects: return what was pickled; they raise an error if it must not be unpickled
        can_copy: whether a tensor can be loaded into memory of a device without a copy by torch
    """

    def __init__(
        self,
        tree: Dict[str, Any],
        rank_values: Optional[List[Any]],
        stored: Stored,
        objects: Callable[[], List[Any]],
        rank_objects: Callable[[], List[Any]],
        can_copy: CanCopy = is_on_host,
    ) -> None:
        self._root = tree.get("root")
        self._rank_values = rank_values
        self._stored = stored
        self._objects = objects
        self._rank_objects = rank_objects
        self._can_copy = can_copy
        self._is_of_rank = False
        self._memories: Dict[str, _Memory] = {}
        self._parts: List[_lib.Memory] = []
        self._made: Dict[str, Any] = {}
        self._copies: List[Tuple[Any, Any]] = []
        self._last_steps: List[Callable[[], Any]] = []

    def plan(self, state: Any) -> List[_lib.Memory]:
        """Puts values that are no tensors into the state. Returns the memory to load the tensors into.

        Raises:
            InvalidCheckpointException: the checkpoint contradicts itself
            ValueError, TypeError: the state has another form than the checkpoint
        """
        if isinstance(state, tuple) or not (isinstance(state, (dict, list)) or is_stateful(state)):
            raise TypeError(f"load_state() fills a dict, a list or an object with load_state_dict(), not {type(state).__name__}")
        try:
            self._fill(state, self._root, "")
        except (KeyError, IndexError, AttributeError) as problem:
            raise errors.InvalidCheckpointException(f"the checkpoint's state is damaged: {problem!r}") from problem
        return self.memories()

    def memories(self) -> List[_lib.Memory]:
        """The memory to load the tensors into. Several parts may be of one tensor."""
        whole = [_lib.Memory(name, each.address, *self._stored[name]) for name, each in self._memories.items()]
        return whole + self._parts

    def finish(self) -> None:
        """Call it when the tensors are loaded."""
        for source, target in self._copies:
            _arrays.copy_elements(source, target)
        for step in self._last_steps:
            step()

    # Values that exist.

    def _fill(self, target: Any, node: Any, path: str) -> Any:
        """Fills a value. Returns what its container is to hold: the value itself if it can be changed."""
        if isinstance(target, PerRank):
            target.value = self._fill(target.value, node, path)
            return target
        if isinstance(node, dict) and "rank" in node:
            return self._fill_of_rank(target, node["rank"], path)
        if _arrays.is_sharded(target):
            return self._fill_sharded(target, node, path)
        array = None if target is None else _arrays.describe(target)
        if array is not None:
            return self._fill_tensor(target, array, node, path)
        if isinstance(target, dict) and isinstance(node, dict) and "dict" in node:
            return self._fill_dict(target, node, path)
        items = _items_of(node)
        if items is not None and isinstance(target, list):
            target[:] = self._fill_items(target, items, path)
            return target
        if items is not None and isinstance(target, tuple):
            values = self._fill_items(target, items, path)
            return type(target)(*values) if hasattr(target, "_fields") else type(target)(values)
        if is_stateful(target) and isinstance(node, dict) and "dict" in node:
            filled = self._fill(target.state_dict(), node, path)
            self._last_steps.append(lambda: target.load_state_dict(filled))
            return target
        return self._make(node)

    def _fill_of_rank(self, target: Any, index: int, path: str) -> Any:
        if self._rank_values is None:
            return target
        self._is_of_rank = True
        try:
            return self._fill(target, self._rank_values[index], path)
        finally:
            self._is_of_rank = False

    def _fill_dict(self, target: Any, node: Dict[str, Any], path: str) -> Any:
        saved = {self._make(key): each for key, each in node["dict"]}
        before = list(target)
        own = {name: key for key, name in plain_keys(target).items()}
        found = set()
        for key, name in plain_keys(saved).items():
            own_key = own.get(name, key)
            if own_key in target:
                found.add(own_key)
                target[own_key] = self._fill(target[own_key], saved[key], f"{path}[{own_key!r}]")
                continue
            value = self._make(saved[key])
            if value is not _ABSENT:
                target[own_key] = value
        for key in before:
            if key not in found:
                self._check_missing(target[key], f"{path}[{key!r}]")
        return target

    def _check_missing(self, value: Any, path: str) -> None:
        if _arrays.is_tensor(value) or is_stateful(value):
            raise ValueError(f"the checkpoint has no state{path}")
        if not isinstance(value, PerRank):
            logger.warning("the checkpoint has no state%s, which keeps its value", path)

    def _fill_items(self, target: Any, items: List[Any], path: str) -> List[Any]:
        filled = [self._fill(old, node, f"{path}[{index}]") for index, (old, node) in enumerate(zip(target, items))]
        return filled + [self._make(node) for node in items[len(filled) :]]

    def _fill_sharded(self, target: Any, node: Any, path: str) -> Any:
        part = _arrays.describe_part(target)
        self._check_tensor(_arrays.Form("torch", part.dtype, part.shape, None), node, path)
        if part.array is not None:
            self.fill_part(target.detach().to_local(), node, part.begin)
        return target

    def fill_part(self, target: Any, node: Dict[str, Any], begin: Tuple[int, ...]) -> None:
        """Fills a tensor with the elements that a stored one has from a position on, in the type of the former.

        Raises:
            TypeError: the elements of the tensor do not lie one beside the other
            InvalidCheckpointException: the stored tensor is smaller
        """
        array, form = _arrays.describe(target), _form_of(node)
        if array is None:
            raise TypeError(f"a {type(target).__name__} can't be filled: its elements do not lie one beside the other")
        ends = [first + length for first, length in zip(begin, array.shape)]
        if len(form.shape) != len(ends) or any(end > length for end, length in zip(ends, form.shape)):
            raise errors.InvalidCheckpointException(f"the checkpoint's tensor has the shape {form.shape}, too small for {ends}")
        if array.span_bytes == 0:
            return
        name = node["tensor"]
        if "offset" in node or self._stored.get(name) != (_arrays.stored_type(form), _arrays.stored_shape(form)):
            whole = _arrays.as_kind(self._elements(name, form, node.get("offset")), "torch")
            self._copies.append((whole[tuple(map(slice, begin, ends))], target.detach()))
            return
        pair = len(_arrays.stored_shape(form)) - len(form.shape)  # 1 if an element is two numbers
        part_form = _arrays.Form("torch", form.dtype, array.shape, None)
        address = array.address
        can_be_read_to = array.strides is None and self._can_copy(array) and _is_memory_of(array, target)
        if not can_be_read_to or array.dtype != form.dtype:
            memory = _arrays.new_bytes("torch", _arrays.element_bytes(part_form) * _arrays.count(array.shape))
            address = _address_of(memory)
            self._copies.append((_arrays.make(memory, 0, part_form), target.detach()))
        self._parts.append(
            _lib.Memory(name, address, *self._stored[name], tuple(begin) + (0,) * pair, _arrays.stored_shape(part_form))
        )

    def _check_tensor(self, own: _arrays.Form, node: Any, path: str) -> None:
        """Raises ValueError if the checkpoint has no tensor of this form there."""
        if not isinstance(node, dict) or "tensor" not in node:
            raise ValueError(f"state{path} is a tensor, and the checkpoint has another kind of value there")
        form = _form_of(node)
        if form.shape != own.shape:
            raise ValueError(f"state{path} has the shape {own.shape}, and the checkpoint {form.shape}")
        if _arrays.stored_type(form) != _arrays.stored_type(own) or _arrays.element_bytes(form) != _arrays.element_bytes(own):
            raise ValueError(f"state{path} is {own.dtype}, and the checkpoint has {form.dtype}")

    def _fill_tensor(self, target: Any, array: _arrays.Array, node: Any, path: str) -> Any:
        self._check_tensor(_form(array), node, path)
        name, form = node["tensor"], _form_of(node)
        if array.kind == "numpy" and not array.value.flags.writeable:
            return self._make(node)
        stored_bytes = self._size_of(name)
        is_whole = "offset" not in node and array.size_bytes() == stored_bytes
        can_be_read_to = array.strides is None and self._can_copy(array) and _is_memory_of(array, target)
        if is_whole and can_be_read_to:
            known = self._memories.get(name)
            if known is None:
                self._memories[name] = _Memory(_arrays.bytes_of(array), array.address)
                return target
            if known.address == array.address:
                return target
        source = self._elements(name, form, node.get("offset"))
        self._copies.append((source, target.detach() if array.kind == "torch" else target))
        return target

    # New values.

    def make(self, node: Any) -> Any:
        """A new value. Its tensors have their elements after finish().

        Raises:
            InvalidCheckpointException: the node is damaged, or has objects that must not be unpickled
        """
        try:
            value = self._make(node)
        except (KeyError, IndexError, AttributeError, TypeError, ValueError) as problem:
            raise errors.InvalidCheckpointException(f"the checkpoint's state is damaged: {problem!r}") from problem
        return None if value is _ABSENT else value

    def _make(self, node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        for key, make in self._MAKERS.items():
            if key in node:
                return make(self, node)
        raise errors.InvalidCheckpointException(f"the checkpoint's state has an unknown kind of value: {sorted(node)}")

    def _make_dict(self, node: Dict[str, Any]) -> Any:
        values: Any = collections.OrderedDict() if node.get("ordered") else {}
        for key, each in node["dict"]:
            value = self._make(each)
            if value is not _ABSENT:
                values[self._make(key)] = value
        if "metadata" in node:
            values._metadata = self._make(node["metadata"])
        return values

    def _make_items(self, node: Dict[str, Any]) -> List[Any]:
        values = [self._make(each) for each in _items_of(node) or []]
        return [None if value is _ABSENT else value for value in values]

    def _make_of_rank(self, node: Dict[str, Any]) -> Any:
        if self._rank_values is None:
            return _ABSENT
        self._is_of_rank = True
        try:
            return self._make(self._rank_values[node["rank"]])
        finally:
            self._is_of_rank = False

    def _make_object(self, node: Dict[str, Any]) -> Any:
        return (self._rank_objects if self._is_of_rank else self._objects)()[node["object"]]

    def _make_bytes(self, node: Dict[str, Any]) -> Any:
        content = base64.b64decode(node["bytes"])
        return bytearray(content) if node.get("type") == "bytearray" else content

    def _make_number(self, node: Dict[str, Any]) -> Any:
        numpy = importlib.import_module("numpy")
        return numpy.frombuffer(base64.b64decode(node["number"]), dtype=_arrays.numpy_dtype(node["dtype"]))[0]

    def _make_tensor(self, node: Dict[str, Any]) -> Any:
        identity = json.dumps(node, sort_keys=True)
        if identity not in self._made:
            self._made[identity] = self._new_tensor(node)
        return self._made[identity]

    def _new_tensor(self, node: Dict[str, Any]) -> Any:
        name, form = node["tensor"], _form_of(node)
        if form.strides is not None and "offset" not in node:
            value = _arrays.new_strided(form)
            self._copies.append((self._elements(name, form, None), value))
        else:
            value = self._elements(name, form, node.get("offset"))
        if form.kind == "torch" and (node.get("parameter") or node.get("requires_grad")):
            torch = importlib.import_module("torch")
            if node.get("parameter"):
                return torch.nn.Parameter(value, requires_grad=bool(node.get("requires_grad")))
            value.requires_grad_(True)
        return value

    _MAKERS: Dict[str, Callable[["Filler", Dict[str, Any]], Any]] = {
        "dict": _make_dict,
        "list": _make_items,
        "tuple": lambda self, node: tuple(self._make_items(node)),
        "tensor": _make_tensor,
        "float": lambda self, node: float(node["float"]),
        "complex": lambda self, node: complex(*node["complex"]),
        "bytes": _make_bytes,
        "number": _make_number,
        "object": _make_object,
        "rank": _make_of_rank,
    }

    # Elements of stored tensors.

    def _elements(self, name: str, form: _arrays.Form, offset: Optional[int]) -> Any:
        """A tensor or array of the memory into which a stored tensor is loaded.

        Args:
            offset: of a view; None: the stored tensor itself, row by row
        """
        if name not in self._memories:
            memory = _arrays.new_bytes(form.kind, self._size_of(name))
            self._memories[name] = _Memory(memory, _address_of(memory))
        memory = self._memories[name].memory
        try:
            if offset is None or form.strides is None:
                return _arrays.make(memory, offset or 0, form)
            return _arrays.make_view(memory, offset, form)
        except (ValueError, RuntimeError, TypeError) as problem:
            raise errors.InvalidCheckpointException(f"the checkpoint's tensor '{name}' is damaged: {problem}") from None

    def _size_of(self, name: str) -> int:
        if name not in self._stored:
            raise errors.InvalidCheckpointException(f"the checkpoint has no tensor '{name}'")
        dtype, shape = self._stored[name]
        return _arrays.item_bytes(dtype) * _arrays.count(shape)


def _items_of(node: Any) -> Optional[List[Any]]:
    if not isinstance(node, dict):
        return None
    items = node.get("list", node.get("tuple"))
    return items if isinstance(items, list) else None


def _form_of(node: Dict[str, Any]) -> _arrays.Form:
    strides = node.get("strides")
    return _arrays.Form(node["kind"], node["dtype"], tuple(node["shape"]), None if strides is None else tuple(strides))


def _form(array: _arrays.Array) -> _arrays.Form:
    return _arrays.Form(array.kind, array.dtype, array.shape, array.strides)


def _is_memory_of(array: _arrays.Array, target: Any) -> bool:
    """Whether the described memory is that of the target, and no resolved copy of it."""
    if array.kind == "torch":
        return bool(target.data_ptr() == array.address)
    return bool(target.__array_interface__["data"][0] == array.address)


def _address_of(memory: Any) -> int:
    return int(memory.data_ptr()) if hasattr(memory, "data_ptr") else int(memory.__array_interface__["data"][0])
