"""How tensors of a state lie in memory, and under which names they are stored."""

import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from determined import _lib
from determined.core import _arrays

# Called with the memory of a tensor that lies row by row; returns what is saved in its place.
Stage = Callable[[_arrays.Array], _arrays.Array]


class Leaf(NamedTuple):
    """A tensor in the state, and its node, which is completed when the tensors have names."""

    node: Dict[str, Any]
    array: _arrays.Array
    name: str


def readable(name: str) -> str:
    """The name without what UTF-8 lacks."""
    return name.encode("utf-8", "backslashreplace").decode()


def unused(name: str, *taken: Any) -> str:
    """A name of a tensor that is not taken."""
    number, free = 2, name
    while any(free in names for names in taken) or free.startswith("__det__.") or free == "__metadata__":
        free = f"state.{name}#{number}"
        number += 1
    return free


def to_save(array: _arrays.Array, stage: Stage) -> _arrays.Array:
    """The same elements row by row in memory that libdet can copy."""
    return stage(array if array.strides is None else _arrays.row_by_row(array))


def memory_of_part(
    name: str, array: _arrays.Array, shape: Tuple[int, ...], begin: Tuple[int, ...], copy_later: bool = False
) -> _lib.Memory:
    """The memory of a part of a tensor.

    Args:
        shape: of the whole tensor
    """
    pair = () if array.components == 1 else (array.components,)
    position = begin + (0,) * len(pair)
    return _lib.Memory(name, array.address, array.stored, shape + pair, position, array.stored_shape(), copy_later)


def empty_memory(name: str, dtype: str, shape: Tuple[int, ...]) -> _lib.Memory:
    """A tensor of torch without elements. No rank holds a part of it, and the chief saves it."""
    form = _arrays.Form("torch", dtype, shape, None)
    return _lib.Memory(name, 0, _arrays.stored_type(form), _arrays.stored_shape(form))


def is_same(one: _arrays.Array, other: _arrays.Array) -> bool:
    return (one.address, one.shape, one.strides, one.stored, one.components) == (
        other.address,
        other.shape,
        other.strides,
        other.stored,
        other.components,
    )


def groups_of(leaves: List[Leaf]) -> List[List[Leaf]]:
    """Groups leaves whose ranges of memory overlap, in the order of the state. Those that interleave without
    sharing an element are in one group too."""
    order = sorted(range(len(leaves)), key=lambda index: (leaves[index].array.device, leaves[index].array.address))
    groups: List[List[int]] = []
    end, device = -1, ""
    for index in order:
        array = leaves[index].array
        if array.span_bytes == 0 or array.device != device or array.address >= end:
            groups.append([])
            end = -1
        if array.span_bytes:
            end, device = max(end, array.address + array.span_bytes), array.device
        groups[-1].append(index)
        if array.span_bytes == 0:
            device = ""  # the next leaf begins a group
    return [[leaves[index] for index in sorted(group)] for group in sorted(groups, key=min)]


def base_of(group: List[Leaf]) -> Optional[Leaf]:
    """The leaf whose memory holds that of all others; None if there is none."""
    if all(is_same(leaf.array, group[0].array) for leaf in group):
        return group[0]
    begin = min(leaf.array.address for leaf in group)
    end = max(leaf.array.address + leaf.array.span_bytes for leaf in group)
    for leaf in group:
        array = leaf.array
        if array.strides is None and array.address == begin and array.address + array.span_bytes == end:
            return leaf
    return None


def bytes_on_device(value: Any, address: int, size: int) -> Any:
    """A tensor of the bytes of the storage of a tensor from an address on."""
    torch = sys.modules["torch"]
    storage = value.untyped_storage() if hasattr(value, "untyped_storage") else value.storage()._untyped()
    whole = torch.empty(0, dtype=torch.uint8, device=value.device).set_(storage)
    offset = address - whole.data_ptr()
    return whole[offset : offset + size]
