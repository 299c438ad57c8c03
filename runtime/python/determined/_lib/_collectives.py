"""Collectives on memory: the calls of det.h on elements, with numbers and addresses as arguments."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int32, c_size_t, c_void_p
from typing import Any, Dict, Tuple

_OPERATION_OUT = POINTER(c_void_p)

# The arguments of each operation without `context`. Each has a form with start_, whose last argument is the
# det_operation.
_OPERATIONS: Dict[str, Tuple[Any, ...]] = {
    "allreduce": (c_void_p, c_void_p, c_size_t, c_int32, c_int32),
    "reduce": (c_void_p, c_void_p, c_size_t, c_int32, c_int32, c_int32),
    "reduce_scatter": (c_void_p, c_void_p, c_size_t, c_int32, c_int32),
    "allgather": (c_void_p, c_void_p, c_size_t, c_int32),
    "all_to_all": (c_void_p, c_void_p, c_size_t, c_int32),
    "broadcast": (c_void_p, c_size_t, c_int32, c_int32),
}

# Calls that return a status. They may wait for other ranks, so ctypes releases the global interpreter lock.
CALLS: Dict[str, Tuple[Any, ...]] = {
    "det_context_add_devices": (c_void_p, c_int32),
    "det_context_split": (c_void_p, c_int32, POINTER(c_void_p)),
    "det_distributed_barrier": (c_void_p,),
    "det_distributed_refuse": (c_void_p, c_char_p),
    "det_distributed_use_stream": (c_void_p, c_void_p),
    "det_operation_test": (c_void_p, POINTER(c_int32)),
    "det_operation_wait": (c_void_p,),
}
for _name, _arguments in _OPERATIONS.items():
    CALLS[f"det_distributed_{_name}"] = (c_void_p, *_arguments)
    CALLS[f"det_distributed_start_{_name}"] = (c_void_p, *_arguments, _OPERATION_OUT)

# Waits for the operation and can't fail.
SLOW_CALLS: Dict[str, Tuple[Any, ...]] = {"det_operation_destroy": (None, c_void_p)}
SHORT_CALLS: Dict[str, Tuple[Any, ...]] = {
    "det_distributed_rank": (c_int32, c_void_p),
    "det_distributed_size": (c_int32, c_void_p),
}

LOCAL, CROSS = 0, 1  # det_subset
DEVICES_NCCL, DEVICES_RCCL = 1, 2  # det_devices

# det_reduce_op; "avg" and "product" are the names of torch.distributed.
REDUCE_OPS: Dict[str, int] = {"sum": 0, "mean": 1, "avg": 1, "min": 2, "max": 3, "prod": 4, "product": 4}


def writable_address(buffer: Any) -> int:
    """The address of an object with a writable, contiguous buffer that is not empty."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


class Operation:
    """det_operation: an operation that has been started. Its memory must not be freed before it is over."""

    __slots__ = ("_library", "_pointer")

    def __init__(self, library: Any, pointer: c_void_p) -> None:
        self._library = library
        self._pointer = pointer

    def is_over(self) -> bool:
        """Makes progress without waiting."""
        answer = c_int32()
        self._library.check(self._library.det_operation_test(self._pointer, byref(answer)))
        return answer.value != 0

    def wait(self) -> None:
        self._library.check(self._library.det_operation_wait(self._pointer))

    def __del__(self) -> None:
        self._library.det_operation_destroy(self._pointer)


class Group:
    """The ranks of a det_context, for collectives on memory.

    Attributes:
        pointer: the det_context, the first argument of the functions
        rank, size: the number of this rank among them, and how many they are
        allreduce, reduce, ...: the functions of det.h, without a method of Python around them: each of these
            would add a tenth to the time of a small operation. They return a status; pass it to check()
    """

    def __init__(self, library: Any, pointer: c_void_p, owns: bool) -> None:
        self._library = library
        self._owns = owns
        self.pointer = pointer
        self.rank: int = library.det_distributed_rank(pointer)
        self.size: int = library.det_distributed_size(pointer)
        self.allreduce = library.det_distributed_allreduce
        self.reduce = library.det_distributed_reduce
        self.reduce_scatter = library.det_distributed_reduce_scatter
        self.allgather = library.det_distributed_allgather
        self.all_to_all = library.det_distributed_all_to_all
        self.broadcast = library.det_distributed_broadcast
        self.check = library.check

    def start(self, name: str, *arguments: int) -> Operation:
        """Starts an operation without waiting for it."""
        pointer = c_void_p()
        function = getattr(self._library, f"det_distributed_start_{name}")
        self.check(function(self.pointer, *arguments, byref(pointer)))
        return Operation(self._library, pointer)

    def barrier(self) -> None:
        self.check(self._library.det_distributed_barrier(self.pointer))

    def refuse(self, message: str) -> None:
        """Makes the operation that the other ranks call fail on all ranks. Raises their error."""
        self.check(self._library.det_distributed_refuse(self.pointer, message.encode()))

    def use_stream(self, stream: int) -> None:
        """The cudaStream_t of later operations on device memory; 0 is the default stream."""
        # Set before each operation, because groups of one node share their connection, and so its stream.
        self.check(self._library.det_distributed_use_stream(self.pointer, stream))

    def destroy(self) -> None:
        pointer, self.pointer = self.pointer, c_void_p()
        if self._owns:
            self._library.det_context_destroy(pointer)
