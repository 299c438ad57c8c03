"""Tensors of torch and arrays of numpy as memory: how they lie, how they are named in safetensors files, and how
memory becomes one again. Imports neither library unless the program or a checkpoint has brought it."""

import importlib
import sys
from typing import Any, NamedTuple, Optional, Tuple

from determined import _lib

# The type in safetensors files and the number of such elements in one of ours, by the name in torch.
_TORCH_TYPES = {each.name: (stored, 1) for stored, each in _lib.ELEMENT_TYPES.items()}
_TORCH_TYPES.update(complex32=("F16", 2), complex64=("F32", 2), complex128=("F64", 2))
# The same by the kind and the size of numpy's.
_NUMPY_TYPES = {each.numpy: (stored, 1) for stored, each in _lib.ELEMENT_TYPES.items() if each.numpy}
_NUMPY_TYPES.update(c8=("F32", 2), c16=("F64", 2))


class Array(NamedTuple):
    """A tensor or array as memory.

    Attributes:
        value: the object that keeps the memory; its elements are those of the original
        kind: "torch" or "numpy"
        dtype: its type in that library
        strides: in elements; None if it lies row by row without gaps
        address, span_bytes: the range of memory in which its elements lie
        stored: its type in a safetensors file
        components: the number of such elements in one of its elements
        device: "cpu", or another name of torch
    """

    value: Any
    kind: str
    dtype: str
    shape: Tuple[int, ...]
    strides: Optional[Tuple[int, ...]]
    address: int
    span_bytes: int
    stored: str
    components: int
    device: str = "cpu"

    def stored_shape(self) -> Tuple[int, ...]:
        return self.shape if self.components == 1 else (*self.shape, self.components)

    def size_bytes(self) -> int:
        return count(self.stored_shape()) * item_bytes(self.stored)


def item_bytes(stored: str) -> int:
    """The size of an element, by its type in safetensors files."""
    return _lib.ELEMENT_TYPES[stored].size_bytes


def count(shape: Any) -> int:
    """The number of elements of a shape."""
    number = 1
    for length in shape:
        number *= length
    return number


class Part(NamedTuple):
    """The part of a DTensor that this rank holds.

    Attributes:
        array: its memory; None if the rank holds no element
        dtype, stored, components: as in Array
        shape: of the whole tensor
        begin: position of the part in it
    """

    array: Optional[Array]
    dtype: str
    stored: str
    components: int
    shape: Tuple[int, ...]
    begin: Tuple[int, ...]


def is_sharded(value: Any) -> bool:
    """Whether it is a DTensor of torch. Imports nothing."""
    kind = type(value)
    return kind.__name__ == "DTensor" and kind.__module__.startswith("torch.")


def describe_part(value: Any) -> Part:
    """This rank's part of a DTensor.

    Raises:
        TypeError: it has no elements here, or they are terms of a sum, or lie in several parts
    """
    if any(placement.is_partial() for placement in value.placements):
        raise TypeError("a DTensor whose placement is Partial has terms of a sum: pass full_tensor() or redistribute() it")
    dtype = str(value.dtype)[len("torch.") :]
    stored, components = _TORCH_TYPES.get(dtype, ("", 0))
    if not stored:
        raise TypeError(f"a DTensor of type {dtype} has no type in safetensors files")
    shape = tuple(value.shape)
    if value.device_mesh.get_coordinate() is None:
        return Part(None, dtype, stored, components, shape, (0,) * len(shape))
    # Where DCP takes it from, too. https://pytorch.org/docs/2.6/distributed.checkpoint.html
    chunks = value.__create_chunk_list__()
    if len(chunks) != 1:
        raise TypeError(f"a DTensor with {len(chunks)} parts on one rank can't be saved")
    local = value.detach().to_local()
    array = _describe_torch(sys.modules["torch"], local)
    if array is None:
        raise TypeError(f"a DTensor of {type(local).__name__} can't be saved: its elements do not lie one beside the other")
    return Part(array if count(array.shape) else None, dtype, stored, components, shape, tuple(chunks[0].offsets))


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of torch or an array of numpy, of any type."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    return (torch is not None and isinstance(value, torch.Tensor)) or (
        numpy is not None and isinstance(value, numpy.ndarray)
    )


def describe(value: Any) -> Optional[Array]:
    """The value as memory; None if it is no tensor or array, or one whose elements do not lie in memory one beside
    the other (sparse, quantized, of Python objects), which is to be pickled.

    Raises:
        TypeError: it has no elements here: a tensor on the device `meta`, or part of a DTensor
    """
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.Tensor):
        return _describe_torch(torch, value)
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _describe_numpy(numpy, value)
    return None


def _describe_torch(torch: Any, value: Any) -> Optional[Array]:
    if is_sharded(value):
        raise TypeError("a DTensor has its elements on several ranks")
    if value.device.type == "meta":
        raise TypeError("a tensor on the device 'meta' has no elements to save")
    is_plain = type(value) is torch.Tensor or type(value) is torch.nn.Parameter
    if not is_plain or value.layout is not torch.strided or value.is_quantized:
        return None
    dtype = str(value.dtype)[len("torch.") :]
    stored, components = _TORCH_TYPES.get(dtype, ("", 0))
    if not stored:
        return None
    plain = value.detach()
    if plain.is_conj() or plain.is_neg():
        plain = plain.resolve_conj().resolve_neg()
    shape = tuple(plain.shape)
    strides = None if plain.is_contiguous() else tuple(plain.stride())
    item = plain.element_size()
    span = item * (1 + sum((length - 1) * stride for length, stride in zip(shape, plain.stride()))) if plain.numel() else 0
    return Array(
        plain, "torch", dtype, shape, strides, plain.data_ptr(), span, stored, components, plain.device.type
    )


def _describe_numpy(numpy: Any, value: Any) -> Optional[Array]:
    if type(value) not in (numpy.ndarray, numpy.memmap) or value.dtype.hasobject or value.dtype.names is not None:
        return None
    dtype = value.dtype.str
    stored, components = _stored_numpy(value.dtype)
    if components == 0:
        return None
    shape = tuple(value.shape)
    if value.flags.c_contiguous:
        strides, address, span = None, value.__array_interface__["data"][0], value.nbytes
    else:
        item = value.dtype.itemsize
        if any(stride < 0 or stride % item for stride in value.strides):
            value = numpy.ascontiguousarray(value)
            return _describe_numpy(numpy, value)
        strides, address = tuple(stride // item for stride in value.strides), value.__array_interface__["data"][0]
        span = item * (1 + sum((n - 1) * stride for n, stride in zip(shape, strides))) if value.size else 0
    return Array(value, "numpy", dtype, shape, strides, address, span, stored, components)


def _stored_numpy(dtype: Any) -> Tuple[str, int]:
    """Like an entry of _NUMPY_TYPES. Dates, texts and numbers in the other byte order are stored as bytes."""
    known = _NUMPY_TYPES.get(dtype.str[1:]) if dtype.isnative else None
    return known or ("U8", int(dtype.itemsize))


def row_by_row(array: Array) -> Array:
    """The same elements in memory of their own, row by row."""
    if array.kind == "torch":
        torch = sys.modules["torch"]
        copied = _describe_torch(torch, array.value.clone(memory_format=torch.contiguous_format))
    else:
        numpy = sys.modules["numpy"]
        copied = _describe_numpy(numpy, numpy.array(array.value, order="C"))
    assert copied is not None
    return copied


def new_bytes(kind: str, size_bytes: int) -> Any:
    """Memory for elements: a tensor or an array of bytes."""
    if kind == "torch":
        torch = importlib.import_module("torch")
        return torch.empty(size_bytes, dtype=torch.uint8)
    return importlib.import_module("numpy").empty(size_bytes, dtype="u1")


def as_kind(memory: Any, kind: str) -> Any:
    """The same bytes as a tensor or as an array."""
    is_torch = not hasattr(memory, "__array_interface__") and hasattr(memory, "data_ptr")
    if is_torch == (kind == "torch"):
        return memory
    return importlib.import_module("torch").from_numpy(memory) if kind == "torch" else memory.cpu().numpy()


def bytes_of(array: Array) -> Any:
    """The memory of an array that lies row by row, as a tensor or array of bytes."""
    if array.kind == "torch":
        torch = sys.modules["torch"]
        flat = array.value.reshape(-1)
        if flat.is_complex():
            flat = torch.view_as_real(flat).reshape(-1)
        return flat.view(torch.uint8)
    return array.value.reshape(-1).view("u1")


class Form(NamedTuple):
    """How elements are made of bytes: the part of Array that a checkpoint records."""

    kind: str
    dtype: str
    shape: Tuple[int, ...]
    strides: Optional[Tuple[int, ...]]


def element_bytes(form: Form) -> int:
    if form.kind == "torch":
        stored, components = _TORCH_TYPES[form.dtype]
        return item_bytes(stored) * components
    return int(numpy_dtype(form.dtype).itemsize)


def numpy_dtype(name: str) -> Any:
    """The type of numpy with this name.

    Raises:
        ValueError: its elements are Python objects, which bytes must not become
    """
    dtype = importlib.import_module("numpy").dtype(str(name))
    if dtype.hasobject:
        raise ValueError(f"the type '{name}' has objects")
    return dtype


def stored_shape(form: Form) -> Tuple[int, ...]:
    """The shape of a tensor in a safetensors file with the type stored_type()."""
    components = _TORCH_TYPES[form.dtype][1] if form.kind == "torch" else _stored_numpy(numpy_dtype(form.dtype))[1]
    return form.shape if components == 1 else (*form.shape, components)


def stored_type(form: Form) -> str:
    if form.kind == "torch":
        return _TORCH_TYPES[form.dtype][0]
    return _stored_numpy(numpy_dtype(form.dtype))[0]


def make(memory: Any, offset_bytes: int, form: Form) -> Any:
    """A tensor or array of elements that lie row by row from an offset of the bytes on.

    Raises:
        ValueError: there are not so many bytes
    """
    size = element_bytes(form) * count(form.shape)
    return _typed(_part(memory, form.kind, offset_bytes, size), form).reshape(form.shape)


def make_view(memory: Any, offset_bytes: int, form: Form) -> Any:
    """A tensor or array with strides whose elements are among the bytes.

    Raises:
        ValueError: there are not so many bytes
    """
    strides = form.strides or ()
    if min(form.shape, default=1) < 0 or min(strides, default=0) < 0 or len(strides) != len(form.shape):
        raise ValueError("its strides do not fit its shape")
    elements = 1 + sum((length - 1) * stride for length, stride in zip(form.shape, strides)) if count(form.shape) else 0
    typed = _typed(_part(memory, form.kind, offset_bytes, element_bytes(form) * elements), form)
    if form.kind == "torch":
        return typed.as_strided(form.shape, strides)
    numpy = importlib.import_module("numpy")
    in_bytes = tuple(stride * typed.dtype.itemsize for stride in strides)
    return numpy.lib.stride_tricks.as_strided(typed, form.shape, in_bytes)


def _part(memory: Any, kind: str, offset_bytes: int, size_bytes: int) -> Any:
    memory = as_kind(memory, kind)
    if offset_bytes < 0 or size_bytes < 0 or offset_bytes + size_bytes > memory.shape[0]:
        raise ValueError("it is larger than what is stored")
    return memory[offset_bytes : offset_bytes + size_bytes]


def _typed(part: Any, form: Form) -> Any:
    if form.kind == "numpy":
        return part.view(numpy_dtype(form.dtype))
    torch = importlib.import_module("torch")
    dtype = getattr(torch, form.dtype)
    if part.storage_offset() % max(element_bytes(form), 1) != 0:
        part = part.clone()
    if dtype.is_complex:
        real = {"complex32": torch.float16, "complex64": torch.float32, "complex128": torch.float64}[form.dtype]
        return torch.view_as_complex(part.view(real).reshape(-1, 2))
    return part.view(dtype)


def new_strided(form: Form) -> Any:
    """A new tensor or array of this shape. A tensor also gets the strides."""
    if form.kind == "torch":
        torch = importlib.import_module("torch")
        return torch.empty_strided(form.shape, form.strides, dtype=getattr(torch, form.dtype))
    return importlib.import_module("numpy").empty(form.shape, form.dtype)


def copy_elements(source: Any, target: Any) -> None:
    """Fills a tensor or array with the elements of another one of the same shape."""
    if hasattr(target, "data_ptr"):
        torch = sys.modules["torch"]
        source = source if hasattr(source, "data_ptr") else torch.from_numpy(source)
        for dimension, stride in enumerate(target.stride()):
            if stride == 0 and target.shape[dimension] > 1:  # expanded: its elements are one
                source, target = source.narrow(dimension, 0, 1), target.narrow(dimension, 0, 1)
        with torch.no_grad():
            target.copy_(source)
        return
    target[...] = source.numpy() if hasattr(source, "data_ptr") else source
