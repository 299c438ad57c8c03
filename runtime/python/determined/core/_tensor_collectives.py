"""Collectives on tensors: among all ranks, the ranks of a node, or one rank of each node."""

import sys
from typing import Any, Callable, NoReturn, Optional, Tuple

from determined import _lib
from determined.core._tensors import Device, Elements, InvalidTensor, read


class Work:
    """An operation that was started with async_op=True. Its tensors must not be used before it is done.

    It keeps the tensors alive until it is done. Work that the program drops waits for its operation.
    """

    def __init__(self, operation: _lib.Operation, tensors: Tuple[Any, ...]) -> None:
        self._operation: Optional[_lib.Operation] = operation
        self._tensors: Optional[Tuple[Any, ...]] = tensors
        self._problem: Optional[Exception] = None

    def done(self) -> bool:
        """Whether wait() would return or raise at once. Makes progress on operations in host memory."""
        if self._operation is not None:
            try:
                if not self._operation.is_over():
                    return False
            except _lib.LibraryError:
                pass  # wait() raises it
            self._finish()
        return True

    def wait(self) -> None:
        """Blocks until the operation is done. May be called again.

        Raises:
            LibraryError: the operation has failed
        """
        self._finish()
        if self._problem is not None:
            raise self._problem

    def _finish(self) -> None:
        operation = self._operation
        if operation is None:
            return
        try:
            operation.wait()
        except _lib.LibraryError as problem:
            self._problem = problem
        self._operation = None
        self._tensors = None


class TensorGroup:
    """Collectives among the ranks of a group. DistributedContext documents the methods.

    A rank that finds that its arguments are wrong makes the call fail on all ranks, because they would wait for
    it otherwise.
    """

    def __init__(self, make_group: Callable[[], _lib.Group], require_devices: Callable[[], None]) -> None:
        self._make_group = make_group
        self._require_devices = require_devices
        self._use_group(make_group())

    def _use_group(self, group: _lib.Group) -> None:
        self._group = group
        # Attributes of this object for all_reduce(), where an attribute of an attribute can be measured.
        self._pointer = group.pointer
        self._allreduce = group.allreduce
        self._check = group.check

    def make_again(self) -> None:
        """Makes the group again, which then accepts memory of the devices that its context has got."""
        self.destroy()
        self._use_group(self._make_group())

    def all_reduce(self, tensor: Any, op: Any, async_op: bool) -> Optional[Work]:
        try:
            address, count, dtype, device = read(tensor, True)
            number = _REDUCE_OPS.get(op)
            if number is None:
                number = _reduce_op(op)
        except InvalidTensor as problem:
            self._refuse("all_reduce", problem)
        if device is not None:
            self._use(device)
        if async_op:
            return self._start((tensor,), "allreduce", address, address, count, dtype, number)
        status = self._allreduce(self._pointer, address, address, count, dtype, number)
        if status != 0:
            self._check(status)
        return None

    def reduce(self, tensor: Any, dst: int, op: Any, async_op: bool) -> Optional[Work]:
        try:
            address, count, dtype, device = read(tensor, dst == self._group.rank)
            number = _reduce_op(op)
        except InvalidTensor as problem:
            self._refuse("reduce", problem)
        return self._run((tensor,), device, async_op, "reduce", address, address, count, dtype, number, _rank(dst))

    def reduce_scatter(self, output: Any, input: Any, op: Any, async_op: bool) -> Optional[Work]:
        try:
            whole, part = read(input, False), read(output, True)
            self._check_parts(whole, part, "input", "output")
            number = _reduce_op(op)
        except InvalidTensor as problem:
            self._refuse("reduce_scatter", problem)
        return self._run(
            (output, input), part[3], async_op, "reduce_scatter", whole[0], part[0], part[1], part[2], number
        )

    def all_gather_into(self, output: Any, input: Any, async_op: bool) -> Optional[Work]:
        try:
            part, whole = read(input, False), read(output, True)
            self._check_parts(whole, part, "output", "input")
        except InvalidTensor as problem:
            self._refuse("all_gather_into", problem)
        return self._run((output, input), part[3], async_op, "allgather", part[0], whole[0], part[1], part[2])

    def all_to_all(self, output: Any, input: Any, async_op: bool) -> Optional[Work]:
        size = self._group.size
        try:
            given, taken = read(input, False), read(output, True)
            if given[1] % size != 0:
                raise InvalidTensor(f"{given[1]} elements cannot be divided among {size} ranks")
            if given[1:3] != taken[1:3]:
                raise InvalidTensor(f"the input has {_describe(given)} and the output {_describe(taken)}")
            _check_overlap(given, taken, given[0] == taken[0])
        except InvalidTensor as problem:
            self._refuse("all_to_all", problem)
        return self._run(
            (output, input), given[3], async_op, "all_to_all", given[0], taken[0], given[1] // size, given[2]
        )

    def broadcast(self, tensor: Any, src: int, async_op: bool) -> Optional[Work]:
        try:
            address, count, dtype, device = read(tensor, src != self._group.rank)
        except InvalidTensor as problem:
            self._refuse("broadcast_tensor", problem)
        return self._run((tensor,), device, async_op, "broadcast", address, count, dtype, _rank(src))

    def barrier(self) -> None:
        self._group.barrier()

    def destroy(self) -> None:
        self._group.destroy()

    def _run(
        self, tensors: Tuple[Any, ...], device: Optional[Device], async_op: bool, name: str, *arguments: int
    ) -> Optional[Work]:
        if device is not None:
            self._use(device)
        if async_op:
            return self._start(tensors, name, *arguments)
        status = getattr(self._group, name)(self._pointer, *arguments)
        if status != 0:
            self._check(status)
        return None

    def _start(self, tensors: Tuple[Any, ...], name: str, *arguments: int) -> Work:
        return Work(self._group.start(name, *arguments), tensors)

    def _use(self, device: Device) -> None:
        """Makes the group accept device memory, in the order of the program's stream."""
        self._require_devices()
        self._group.use_stream(device.stream)

    def _refuse(self, method: str, problem: InvalidTensor) -> NoReturn:
        self._group.refuse(f"{method}(): {problem}")
        raise problem  # not reached: refuse() raises the error that all ranks get

    def _check_parts(self, whole: Elements, part: Elements, whole_name: str, part_name: str) -> None:
        """Checks that `whole` has room for a part of each rank. `part` may be this rank's part of it."""
        size, rank = self._group.size, self._group.rank
        if whole[1] != part[1] * size or whole[2] != part[2]:
            raise InvalidTensor(
                f"the {part_name} has {_describe(part)} and the {whole_name} {_describe(whole)}, for {size} ranks"
            )
        _check_overlap(whole, part, part[0] == whole[0] + rank * part[1] * _SIZES[part[2]])


def _check_overlap(a: Elements, b: Elements, is_in_place: bool) -> None:
    if (a[3] is None) != (b[3] is None):
        raise InvalidTensor("one tensor is in memory of a device and the other in host memory")
    size_bytes = _SIZES[a[2]]
    if not is_in_place and a[0] < b[0] + b[1] * size_bytes and b[0] < a[0] + a[1] * size_bytes:
        raise InvalidTensor("the input and the output overlap")


# By det_dtype
_NAMES = {each.number: each.name for each in _lib.COLLECTIVE_TYPES.values()}
_SIZES = {each.number: each.size_bytes for each in _lib.COLLECTIVE_TYPES.values()}


def _describe(elements: Elements) -> str:
    return f"{elements[1]} {_NAMES[elements[2]]}"


_REDUCE_OPS = _lib.REDUCE_OPS


def _reduce_op(op: Any) -> int:
    """The number of a reduction: its name, or a member of torch.distributed.ReduceOp."""
    op = getattr(op, "op", op)  # torch 1.13 wraps the members of the enumeration
    number = _REDUCE_OPS.get(str(getattr(op, "name", op)).lower())
    if number is None:
        raise InvalidTensor(f"there is no reduction {op!r}: there are sum, mean, min, max and prod")
    return number


def _rank(number: Any) -> int:
    """A rank for libdet, which refuses one that does not exist. ctypes would pass only the lowest 32 bits."""
    return int(number) if -(2**31) <= int(number) < 2**31 else -1


def _uses_rocm() -> bool:
    """Whether "cuda" means GPUs of AMD: torch is a build for ROCm."""
    torch = sys.modules.get("torch")
    return torch is not None and getattr(torch.version, "hip", None) is not None


class TensorCollectives:
    """The collectives on tensors of DistributedContext.

    A tensor is a torch tensor or a numpy array in host memory, or a torch tensor or an array with
    `__cuda_array_interface__` in memory of this rank's CUDA device, or its GPU of AMD if torch is a build for ROCm
    (compiled, not run on AMD). It is read and written where it lies, without
    a copy, and its shape does not matter. It is contiguous, of the type uint8, int32, int64, float16, bfloat16,
    float32 or float64, and has the same type and number of elements on all ranks.

    `op` is "sum", "mean", "min", "max" or "prod", or a member of torch.distributed.ReduceOp. The mean is for
    floating point only. In host memory float16 and bfloat16 are added as float32 and rounded once, and results have
    the same bits on all ranks and in every run. NCCL, or RCCL, moves device memory; it is loaded when the first tensor is on a
    device.

    A call blocks until this rank has its result. With async_op=True it returns Work at once; on several nodes it
    returns when an operation in host memory is done. All ranks make the same calls in the same order.

    Methods that end in _local work among the ranks of each node, in the order of their local ranks; those that
    end in _cross among the ranks with the same local rank, one of each node, in the order of the nodes. `src` and
    `dst` count in this order. All ranks of all nodes call them.

    Raises:
        LibraryError (a RuntimeError): its code is "misuse", on all ranks, if a tensor is not valid on one of them, or
            if the ranks differ in the call, its type, size or arguments; the message names the ranks. "transport": a
            rank is lost. "timed-out": DET_COLLECTIVE_TIMEOUT_S has passed.
    """

    _tensors_all: Optional[TensorGroup] = None
    _tensors_local: Optional[TensorGroup] = None
    _tensors_cross: Optional[TensorGroup] = None
    _has_devices = False

    def _handle(self) -> _lib.Handle:
        raise NotImplementedError

    def _all(self) -> TensorGroup:
        if self._tensors_all is None:
            self._tensors_all = TensorGroup(self._handle().group, self._add_devices)
        return self._tensors_all

    def _local(self) -> TensorGroup:
        if self._tensors_local is None:
            handle = self._handle()
            self._tensors_local = TensorGroup(lambda: handle.split(_lib.LOCAL), self._add_devices)
        return self._tensors_local

    def _cross(self) -> TensorGroup:
        if self._tensors_cross is None:
            handle = self._handle()
            self._tensors_cross = TensorGroup(lambda: handle.split(_lib.CROSS), self._add_devices)
        return self._tensors_cross

    def _add_devices(self) -> None:
        """Makes libdet accept memory of the current CUDA device, or GPU of AMD. Collective."""
        if self._has_devices:
            return
        self._handle().add_devices(_uses_rocm())
        self._has_devices = True
        for part in (self._tensors_local, self._tensors_cross):
            if part is not None:
                part.make_again()

    def _use_stream(self, stream: int) -> None:
        """The cudaStream_t for copies of device memory. Call it after _add_devices()."""
        self._all()._group.use_stream(stream)

    def _destroy_groups(self) -> None:
        for group in (self._tensors_all, self._tensors_local, self._tensors_cross):
            if group is not None:
                group.destroy()
        self._tensors_all = self._tensors_local = self._tensors_cross = None

    def all_reduce(self, tensor: Any, op: Any = "sum", async_op: bool = False) -> Optional[Work]:
        """Reduces the tensors of all ranks, element by element, into each of them. Collective."""
        return (self._tensors_all or self._all()).all_reduce(tensor, op, async_op)

    def all_reduce_local(self, tensor: Any, op: Any = "sum", async_op: bool = False) -> Optional[Work]:
        """all_reduce() among the ranks of a node."""
        return self._local().all_reduce(tensor, op, async_op)

    def all_reduce_cross(self, tensor: Any, op: Any = "sum", async_op: bool = False) -> Optional[Work]:
        """all_reduce() among one rank of each node."""
        return self._cross().all_reduce(tensor, op, async_op)

    def reduce(self, tensor: Any, dst: int = 0, op: Any = "sum", async_op: bool = False) -> Optional[Work]:
        """Reduces the tensors of all ranks into that of rank `dst`. Collective."""
        return self._all().reduce(tensor, dst, op, async_op)

    def reduce_local(self, tensor: Any, dst: int = 0, op: Any = "sum", async_op: bool = False) -> Optional[Work]:
        """reduce() among the ranks of a node."""
        return self._local().reduce(tensor, dst, op, async_op)

    def reduce_cross(self, tensor: Any, dst: int = 0, op: Any = "sum", async_op: bool = False) -> Optional[Work]:
        """reduce() among one rank of each node."""
        return self._cross().reduce(tensor, dst, op, async_op)

    def reduce_scatter(self, output: Any, input: Any, op: Any = "sum", async_op: bool = False) -> Optional[Work]:
        """Reduces the inputs of all ranks; each rank gets its part of the result. Collective.

        Args:
            output: the part of this rank; may lie where this part of `input` is
            input: `size` parts in the order of the ranks
        """
        return self._all().reduce_scatter(output, input, op, async_op)

    def reduce_scatter_local(self, output: Any, input: Any, op: Any = "sum", async_op: bool = False) -> Optional[Work]:
        """reduce_scatter() among the ranks of a node: `input` has `local_size` parts."""
        return self._local().reduce_scatter(output, input, op, async_op)

    def reduce_scatter_cross(self, output: Any, input: Any, op: Any = "sum", async_op: bool = False) -> Optional[Work]:
        """reduce_scatter() among one rank of each node: `input` has a part for each."""
        return self._cross().reduce_scatter(output, input, op, async_op)

    def all_gather_into(self, output: Any, input: Any, async_op: bool = False) -> Optional[Work]:
        """Gives every rank the tensors of all ranks. Collective.

        Args:
            output: `size` parts, which are filled in the order of the ranks
            input: the part of this rank; may lie where this part of `output` is
        """
        return self._all().all_gather_into(output, input, async_op)

    def all_gather_into_local(self, output: Any, input: Any, async_op: bool = False) -> Optional[Work]:
        """all_gather_into() among the ranks of a node: `output` has `local_size` parts."""
        return self._local().all_gather_into(output, input, async_op)

    def all_gather_into_cross(self, output: Any, input: Any, async_op: bool = False) -> Optional[Work]:
        """all_gather_into() among one rank of each node: `output` has a part for each."""
        return self._cross().all_gather_into(output, input, async_op)

    def all_to_all(self, output: Any, input: Any, async_op: bool = False) -> Optional[Work]:
        """Sends part r of `input` to rank r, and receives part r of `output` from rank r. Collective.

        Args:
            output, input: `size` parts each; may be the same tensor
        """
        return self._all().all_to_all(output, input, async_op)

    def all_to_all_local(self, output: Any, input: Any, async_op: bool = False) -> Optional[Work]:
        """all_to_all() among the ranks of a node, with `local_size` parts."""
        return self._local().all_to_all(output, input, async_op)

    def all_to_all_cross(self, output: Any, input: Any, async_op: bool = False) -> Optional[Work]:
        """all_to_all() among one rank of each node, with a part for each."""
        return self._cross().all_to_all(output, input, async_op)

    def broadcast_tensor(self, tensor: Any, src: int = 0, async_op: bool = False) -> Optional[Work]:
        """Gives every rank the elements of rank `src`. Collective.

        Args:
            tensor: read on `src`, written on the other ranks
        """
        return self._all().broadcast(tensor, src, async_op)

    def broadcast_tensor_local(self, tensor: Any, src: int = 0, async_op: bool = False) -> Optional[Work]:
        """broadcast_tensor() among the ranks of a node."""
        return self._local().broadcast(tensor, src, async_op)

    def broadcast_tensor_cross(self, tensor: Any, src: int = 0, async_op: bool = False) -> Optional[Work]:
        """broadcast_tensor() among one rank of each node."""
        return self._cross().broadcast(tensor, src, async_op)

    def barrier(self) -> None:
        """Returns when all ranks have entered. Collective."""
        self._all().barrier()

    def barrier_local(self) -> None:
        """Returns when all ranks of this node have entered."""
        self._local().barrier()

    def barrier_cross(self) -> None:
        """Returns when the ranks with this local rank have entered, one of each node."""
        self._cross().barrier()
