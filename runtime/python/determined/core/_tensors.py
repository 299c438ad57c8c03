"""Where the elements of a tensor lie: torch tensors, numpy arrays, and device arrays of other packages.

This module imports neither torch nor numpy: a program that passes a tensor has imported its package already.
"""

import sys
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from determined import _lib


class InvalidTensor(Exception):
    """An argument that no collective accepts. The text says what to do about it."""


class Device(NamedTuple):
    """The CUDA stream on which the program works with a tensor; 0 is the default stream."""

    stream: int


# (address, number of elements, det_dtype, device); the device is None for host memory. A tuple, because a
# class would add a tenth to the time of a small operation.
Elements = Tuple[int, int, int, Optional[Device]]
Reader = Callable[[Any, bool], Elements]


def read(tensor: Any, is_written: bool) -> Elements:
    """Finds the elements of a tensor without copying them.

    Args:
        is_written: the collective writes to it

    Raises:
        InvalidTensor: it is no tensor, is not dense row by row, is read-only and is written, or has elements
            that collectives do not accept
    """
    reader = _readers.get(type(tensor))
    if reader is None:
        reader = _readers[type(tensor)] = _find_reader(tensor)
    return reader(tensor, is_written)


_readers: Dict[type, Reader] = {}


def _find_reader(tensor: Any) -> Reader:
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(tensor, torch.Tensor):
        return _make_torch_reader(torch)
    if numpy is not None and isinstance(tensor, numpy.ndarray):
        return _make_numpy_reader(numpy)
    if hasattr(type(tensor), "__cuda_array_interface__"):
        return _read_cuda_array
    raise InvalidTensor(f"an object of type {type(tensor).__name__} is neither a torch tensor nor a numpy array")


def _wrong_type(name: str, view: str) -> InvalidTensor:
    return InvalidTensor(
        f"collectives accept elements of type {', '.join(_lib.COLLECTIVE_TYPES)}, and not {name}: "
        f"to move them unchanged, pass {view}"
    )


def _not_dense(shape: Any, strides: Any, copy: str) -> InvalidTensor:
    return InvalidTensor(
        f"the tensor of shape {tuple(shape)} with strides {tuple(strides)} is not contiguous: pass {copy}"
    )


def _make_torch_reader(torch: Any) -> Reader:
    numbers = {getattr(torch, name): each.number for name, each in _lib.COLLECTIVE_TYPES.items()}
    strided = torch.strided

    def read_torch(tensor: Any, is_written: bool) -> Elements:
        number = numbers.get(tensor.dtype)
        if number is None:
            raise _wrong_type(str(tensor.dtype).split(".")[-1], "tensor.view(torch.uint8)")
        if tensor.layout is not strided or not tensor.is_contiguous():
            raise _reason(tensor, strided)
        if tensor.is_neg():  # the imaginary part of a conjugate: the elements in memory have the other sign
            raise InvalidTensor("the tensor is a negated view: pass tensor.resolve_neg()")
        if tensor.is_cpu:
            return tensor.data_ptr(), tensor.numel(), number, None
        return tensor.data_ptr(), tensor.numel(), number, _torch_device(torch, tensor)

    return read_torch


def _reason(tensor: Any, strided: Any) -> InvalidTensor:
    if tensor.layout is not strided:
        return InvalidTensor(f"the tensor has the layout {tensor.layout}: pass tensor.to_dense()")
    return _not_dense(tensor.shape, tensor.stride(), "tensor.contiguous()")


def _torch_device(torch: Any, tensor: Any) -> Device:
    if not tensor.is_cuda:
        raise InvalidTensor(f"the tensor is on the device {tensor.device}, and neither on the CPU nor on a CUDA device")
    current = torch.cuda.current_device()
    if tensor.device.index != current:
        raise InvalidTensor(
            f"the tensor is on {tensor.device}, and the current device of this rank is cuda:{current}: call "
            f"torch.cuda.set_device({tensor.device.index}) at the beginning"
        )
    return Device(torch.cuda.current_stream().cuda_stream)


def _make_numpy_reader(numpy: Any) -> Reader:
    # bfloat16 is a type of the package ml_dtypes.
    bfloat16 = _lib.COLLECTIVE_TYPES["bfloat16"].number
    numbers = {numpy.dtype(each.numpy): each.number for each in _lib.COLLECTIVE_TYPES.values() if each.numpy}
    writable_address = _lib.writable_address

    def read_numpy(array: Any, is_written: bool) -> Elements:
        number = numbers.get(array.dtype)
        flags = array.flags
        # carray: dense row by row, aligned and writable
        if number is not None and flags.carray and array.size:
            return writable_address(array), array.size, number, None
        if number is None and array.dtype.name == "bfloat16":
            number = bfloat16
        if number is None:
            raise _wrong_type(str(array.dtype), "array.view(numpy.uint8)")
        if not (flags.c_contiguous and flags.aligned):
            raise _not_dense(array.shape, array.strides, "numpy.ascontiguousarray(array)")
        if is_written and not flags.writeable:
            raise InvalidTensor("the array is read-only, and the result is written to it: pass array.copy()")
        return array.__array_interface__["data"][0], array.size, number, None

    return read_numpy


def _read_cuda_array(array: Any, is_written: bool) -> Elements:
    """CuPy, Numba and others: https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html"""
    interface = array.__cuda_array_interface__
    element = _TYPES_OF_TYPESTR.get(interface["typestr"])
    if element is None:
        raise _wrong_type(interface["typestr"], "a view of it as uint8")
    shape = interface["shape"]
    strides = interface.get("strides")  # None: dense
    count = 1
    for axis in reversed(range(len(shape))):
        if strides is not None and shape[axis] > 1 and strides[axis] != count * element.size_bytes:
            raise _not_dense(shape, strides, "a contiguous copy")
        count *= shape[axis]
    address, is_read_only = interface["data"]
    if is_written and is_read_only:
        raise InvalidTensor("the array is read-only, and the result is written to it: pass a copy")
    stream = interface.get("stream")
    return address, count, element.number, Device(0 if stream in (None, 1) else stream)


_TYPES_OF_TYPESTR = {
    f"{'|' if each.size_bytes == 1 else '<'}{each.numpy}": each for each in _lib.COLLECTIVE_TYPES.values() if each.numpy
}
