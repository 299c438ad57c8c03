"""libdet by ctypes: the calls of det.h that the package uses, as methods of `Handle`."""

from determined._lib._collectives import CROSS, LOCAL, REDUCE_OPS, Group, Operation, writable_address
from determined._lib._dtypes import COLLECTIVE_TYPES, ELEMENT_TYPES
from determined._lib._handle import Draft, Handle, Ranks, check_steps
from determined._lib._library import LibraryError, find_library, load
from determined._lib._tensor_saves import Ended, LoadedFrom, Memory, TensorSaves

__all__ = [
    "COLLECTIVE_TYPES",
    "CROSS",
    "Draft",
    "ELEMENT_TYPES",
    "Ended",
    "Group",
    "Handle",
    "LOCAL",
    "LibraryError",
    "LoadedFrom",
    "Memory",
    "Operation",
    "REDUCE_OPS",
    "Ranks",
    "TensorSaves",
    "check_steps",
    "find_library",
    "load",
    "writable_address",
]
